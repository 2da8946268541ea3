"""Recorded runs on SQLite and DuckDB inside this process, several threads on one database (DESIGN §8, §10).

A contended mix of reads and writes; what fails for a conflict or a lock is rolled back and logged as aborted. Does not
know what the products promise.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

SCHEMA = "CREATE TABLE items (id INTEGER PRIMARY KEY, grp INTEGER NOT NULL, qty INTEGER NOT NULL)"
ROWS = [(n, n % 2, n) for n in range(1, 7)]
_READS = (
    "SELECT qty FROM items WHERE id = {id}",
    "SELECT id, qty FROM items WHERE grp = {grp} ORDER BY id",
    "SELECT COUNT(*), SUM(qty) FROM items",
    "SELECT id FROM items WHERE qty < {qty}",
)
_WRITES = (
    "UPDATE items SET qty = qty + 1 WHERE id = {id}",
    "UPDATE items SET qty = qty + 1 WHERE grp = {grp} AND qty < {qty}",
    "UPDATE items SET grp = 1 - grp WHERE id = {id}",
    "DELETE FROM items WHERE id = {id}",
    "INSERT INTO items VALUES ({id}, {grp}, {qty})",
)


def now() -> int:
    """Microseconds of the one clock."""
    return time.monotonic_ns() // 1000


class Run:
    """Threads that run transactions on connections of their own until so many have committed."""

    def __init__(
        self,
        dialect: str,
        connect: Callable[[], Any],
        begin: Callable[[Random], str],
        wanted: int,
        *,
        one_column: bool = False,
    ) -> None:
        self._writes = [
            text for text in _WRITES if not one_column or not text.startswith(("DELETE", "UPDATE items SET grp"))
        ]
        self.dialect = dialect
        self.lines: list[dict[str, Any]] = []
        self.committed = 0
        self._connect, self._begin, self._wanted = connect, begin, wanted
        self._lock = threading.Lock()

    def write(self, path: Path, sessions: int) -> None:
        """Run, and write the log."""
        threads = [threading.Thread(target=self._work, args=(number,)) for number in range(sessions)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        header = {"format": "troubadour-log", "version": 1, "dialect": self.dialect, "schema": [SCHEMA]}
        initial = {"items": {"columns": ["id", "grp", "qty"], "rows": ROWS}}
        end = {"kind": "end", "transactions": len(self.lines)}
        lines = [header | {"isolation": self.dialect, "initial": initial}, *self.lines, end]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")

    def _work(self, number: int) -> None:
        random, connection = Random(number), self._connect()
        count = 0
        while self.committed < self._wanted:
            count += 1
            line = self._transaction(random, connection) | {"id": f"s{number}-{count}", "session": f"s{number}"}
            with self._lock:
                self.lines.append(line)
                self.committed += line["status"] == "committed"
        connection.close()

    def _transaction(self, random: Random, connection: Any) -> dict[str, Any]:
        statements: list[dict[str, Any]] = []
        invoked = now()
        status = "aborted"
        sent = invoked
        try:
            connection.execute(self._begin(random))
            for _ in range(random.randint(1, 4)):
                sql = random.choice(_READS if random.random() < 0.55 else self._writes)
                sql = sql.format(id=random.randint(1, 7), grp=random.randint(0, 1), qty=random.randint(0, 20))
                put = now()
                cursor = connection.execute(sql)
                rows = cursor.fetchall()
                statement: dict[str, Any] = {"sql": sql, "invoked": put, "returned": now()}
                if sql.startswith("SELECT"):
                    width = len(cursor.description)
                    statement["result"] = {"columns": [f"c{n}" for n in range(width)], "rows": [list(r) for r in rows]}
                else:
                    statement["affected"] = rows[0][0] if rows else cursor.rowcount
                statements.append(statement)
                if random.random() < 0.3:
                    time.sleep(0.0005)
            sent = now()
            connection.execute("COMMIT")
            status = "committed"
        except Exception as error:  # whatever the product calls a conflict; anything else is raised again
            if not any(word in str(error).lower() for word in ("lock", "conflict", "constraint", "aborted", "busy")):
                raise
            try:
                connection.execute("ROLLBACK")
            except Exception as again:
                if "transaction" not in str(again).lower():
                    raise
        answered = now()
        end = {"invoked": sent, "returned": answered}
        return {
            "status": status,
            "statements": statements,
            "invoked": invoked,
            "returned": answered,
            **({"end": end} if status == "committed" else {}),
        }

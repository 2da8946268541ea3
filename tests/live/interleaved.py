"""A few transactions on as many connections, statement by statement in a random order, on a real server (DESIGN §10).

Whoever waits for a lock is passed over until it has its answer. What fails ends its transaction, or does not where the
product lets it go on. Does not know what the products promise.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from queue import SimpleQueue
from random import Random
from typing import Any

PATIENCE = 0.02
"""Seconds after which a statement without an answer is taken to wait for a lock."""

Execute = Callable[[str], tuple[list[str] | None, Sequence[Sequence[Any]], int]]
"""One statement: the names of its columns (None for a write), the rows, the count of affected ones."""


@dataclass(frozen=True, slots=True)
class Product:
    """One of a dialect's connections after another; `execute` raises what `state_of` knows the SQLSTATE of. `undoes`: a
    failed statement leaves nothing but its transaction as it was before."""

    dialect: str
    connect: Callable[[], Execute]
    state_of: Callable[[Exception], str | None]
    undoes: bool


@dataclass(slots=True)
class Session:
    """One connection in a thread of its own, and the transaction that it is in."""

    product: Product
    execute: Execute
    name: str
    lines: list[dict[str, Any]]
    pending: list[str] = field(default_factory=list)
    orders: SimpleQueue[str | None] = field(default_factory=SimpleQueue)
    idle: threading.Event = field(default_factory=threading.Event)
    line: dict[str, Any] = field(default_factory=dict)
    failure: Exception | None = None

    def work(self) -> None:
        """Run what is ordered until there is nothing more."""
        while (sql := self.orders.get()) is not None:
            try:
                self._step(sql)
            except Exception as error:  # raised again in the thread that waits
                self.failure = error
            self.idle.set()

    def _step(self, sql: str) -> None:
        put = now()
        line = self.line
        if not line:
            self.line = line = {"session": self.name, "invoked": put, "statements": [], "status": "committed"}
            self.execute("BEGIN")
        failed = None
        found: tuple[list[str] | None, Sequence[Sequence[Any]], int] = (None, (), 0)
        put = now()
        try:
            found = self.execute(sql)
        except Exception as error:
            failed = self.product.state_of(error)
            if failed is None:
                raise
        got = now()
        if sql in ("COMMIT", "ROLLBACK"):
            self._end(put, got, sql == "COMMIT" and failed is None)
            return
        statement: dict[str, Any] = {"sql": sql, "invoked": put, "returned": got}
        columns, rows, count = found
        if failed is not None:
            statement["error"] = {"sqlstate": failed}
        elif columns is None:
            statement["affected"] = count
        else:
            statement["result"] = {"columns": columns, "rows": [[plain(value) for value in row] for row in rows]}
        line["statements"].append(statement)
        if failed is not None and (not self.product.undoes or failed.startswith("40") or failed == "HY000"):
            self.execute("ROLLBACK")
            del self.pending[: self.pending.index("COMMIT") + 1]
            self._end(got, now(), False)

    def _end(self, put: int, got: int, committed: bool) -> None:
        line, self.line = self.line, {}
        line |= {"end": {"invoked": put, "returned": got}, "returned": got}
        line["status"] = "committed" if committed else "aborted"
        line["id"] = f"{self.name}{len(self.lines)}"
        self.lines.append(line)


def now() -> int:
    """Microseconds of the one clock."""
    return time.monotonic_ns() // 1000


def plain(value: Any) -> Any:
    """A value as a log has it."""
    return str(value) if isinstance(value, Decimal) else value


def interleave(
    product: Product, header: dict[str, Any], scripts: Sequence[Sequence[Sequence[str]]], random: Random, path: Path
) -> None:
    """Run each session's transactions (lists of statements; COMMIT is added) and write the log."""
    lines: list[dict[str, Any]] = []
    sessions = [
        Session(product, product.connect(), "abcdef"[n], lines, [sql for each in script for sql in (*each, "COMMIT")])
        for n, script in enumerate(scripts)
    ]
    threads = [threading.Thread(target=session.work) for session in sessions]
    for thread, session in zip(threads, sessions, strict=True):
        session.idle.set()
        thread.start()
    while any(session.pending for session in sessions) or not all(session.idle.is_set() for session in sessions):
        ready = [session for session in sessions if session.pending and session.idle.is_set()]
        if not ready:
            time.sleep(PATIENCE / 10)
            continue
        session = random.choice(ready)
        session.idle.clear()
        session.orders.put(session.pending.pop(0))
        session.idle.wait(PATIENCE)
    for thread, session in zip(threads, sessions, strict=True):
        session.orders.put(None)
        thread.join()
        if session.failure is not None:
            raise session.failure
    head = {"format": "troubadour-log", "version": 1, "dialect": product.dialect} | header
    end = {"kind": "end", "transactions": len(lines)}
    path.write_text("".join(json.dumps(line) + "\n" for line in (head, *lines, end)), encoding="utf-8")

"""A few transactions on as many connections, statement by statement in a random order, on a real server.

Whoever waits for a lock is passed over until it has its answer. What fails ends its transaction, or does not where the
product lets it go on. Does not know what the products promise.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from pathlib import Path
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
    """One connection in a thread of its own, and the transaction that it is in. `seen`: the first value of what its
    last query answered, which stands for ``{seen}`` in later texts."""

    product: Product
    execute: Execute
    name: str
    lines: list[dict[str, Any]]
    pending: list[str] = field(default_factory=list)
    line: dict[str, Any] = field(default_factory=dict)
    thread: ThreadPoolExecutor = field(default_factory=partial(ThreadPoolExecutor, 1))
    running: Future[None] | None = None
    seen: Any = None

    @property
    def idle(self) -> bool:
        """Whether it has its answer. Raises what went wrong."""
        if self.running is not None and self.running.done():
            self.running.result()
            self.running = None
        return self.running is None

    def next(self) -> None:
        """Send its next statement, and see whether it is answered soon."""
        self.running = self.thread.submit(self._step, self.pending.pop(0))
        wait([self.running], PATIENCE)

    def _step(self, sql: str) -> None:
        put = now()
        sql = sql.replace("{seen}", "NULL" if self.seen is None else str(self.seen))
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
            self.seen = rows[0][0] if rows else None
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
    while not all(session.idle and not session.pending for session in sessions):
        ready = [session for session in sessions if session.idle and session.pending]
        if ready:
            random.choice(ready).next()
        else:
            time.sleep(PATIENCE / 10)
    head = {"format": "troubadour-log", "version": 1, "dialect": product.dialect} | header
    end = {"kind": "end", "transactions": len(lines)}
    path.write_text("".join(json.dumps(line) + "\n" for line in (head, *lines, end)), encoding="utf-8")

"""A key-value history and its form as a log of SQL (the histories of Biswas and Enea 2019).

One table ``kv (k, v)``; a transaction reads and writes rows by key. What a client saw is a read's value, and of a
write that it met its row. Does not know in which order the transactions ran.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from troubadour.formats.write import LogWriter

Value = int | None


class Absent(Enum):
    """A row that is not there."""

    ABSENT = "absent"


ABSENT = Absent.ABSENT
Version = Value | Absent


class Kind(Enum):
    """What an operation does with its row. A write or an increment met the row; an insert met none."""

    READ = "read"
    WRITE = "write"
    INSERT = "insert"
    INCREMENT = "increment"


@dataclass(frozen=True, slots=True)
class Operation:
    """One statement on one key. `value`: what was read or is written; of an increment, by how much."""

    kind: Kind
    key: int
    value: Version


@dataclass(frozen=True, slots=True)
class Transaction:
    """One committed transaction; `sent` and `returned` are of the clock, None where no time is told."""

    name: str
    operations: tuple[Operation, ...]
    session: str | None = None
    clock: str | None = None
    invoked: int | None = None
    returned: int | None = None


@dataclass(frozen=True, slots=True)
class History:
    """Committed transactions in the order of the file; `initial` holds the rows that are there at first."""

    transactions: tuple[Transaction, ...]
    initial: Mapping[int, Value]
    dialect: str = "postgres"
    note: str = ""
    header: Mapping[str, Any] = field(default_factory=dict)

    def write(self, path: Path) -> None:
        """As a log."""
        schema = "CREATE TABLE kv (k INT PRIMARY KEY, v BIGINT)"
        header = {"dialect": self.dialect, "isolation": "serializable", "schema": [schema], **self.header}
        if not self.initial:
            header["initial"] = {"kv": {"columns": ["k", "v"], "rows": []}}
        with LogWriter(path, header) as writer:
            if self.initial:
                writer.rows("kv", ("k", "v"), sorted(self.initial.items()))
            for transaction in self.transactions:
                writer.transaction(_entry(transaction, self.dialect))


def _entry(transaction: Transaction, dialect: str) -> dict[str, Any]:
    entry: dict[str, Any] = {"id": transaction.name, "status": "committed"}
    for name in ("session", "clock", "invoked", "returned"):
        value = getattr(transaction, name)
        if value is not None:
            entry[name] = value
    entry["statements"] = [_statement(operation, dialect) for operation in transaction.operations]
    return entry


def _statement(operation: Operation, dialect: str) -> dict[str, Any]:
    key, value = operation.key, operation.value
    first, second = ("?", "?") if dialect != "postgres" else ("$1", "$2")
    if operation.kind is Kind.READ:
        rows: Sequence[Sequence[Value]] = [] if value is ABSENT else [[value]]
        sql = f"SELECT v FROM kv WHERE k = {first}"
        return {"sql": sql, "params": [key], "result": {"columns": ["v"], "rows": rows}}
    if operation.kind is Kind.INSERT:
        return {"sql": f"INSERT INTO kv (k, v) VALUES ({first}, {second})", "params": [key, value], "affected": 1}
    change = "v + 1" if operation.kind is Kind.INCREMENT else first
    params = [key] if operation.kind is Kind.INCREMENT else [value, key]
    where = first if operation.kind is Kind.INCREMENT else second
    return {"sql": f"UPDATE kv SET v = {change} WHERE k = {where}", "params": params, "affected": 1}

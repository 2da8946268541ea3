"""TPC-C as plain texts with literals, for what is given SQL one statement at a time. Does not know how they are run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

from troubadour.record import Answer, Draws
from troubadour.workloads.texts import DialectName
from troubadour.workloads.tpcc.workload import Tpcc


def small(dialect: DialectName) -> Tpcc:
    """Two warehouses with two districts of twelve customers, and forty items."""
    return Tpcc(dialect, "procedures", warehouses=2, districts=2, customers=12, items=40)


def rows(workload: Tpcc) -> Iterator[str]:
    """INSERT statements of the first rows."""
    for table, columns, found in workload.rows():
        for row in found:
            yield f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join(map(literal, row))})"


def calls(workload: Tpcc, seed: int, count: int) -> Iterator[str]:
    """The calls of `count` transactions."""
    for sql, params in drawn(workload, seed, count):
        for number in range(len(params), 0, -1):
            sql = sql.replace(f"${number}", literal(params[number - 1]))
        yield sql


def drawn(workload: Tpcc, seed: int, count: int) -> Iterator[tuple[str, Sequence[Any]]]:
    """The calls with their parameters."""
    random = Draws(seed, "texts")
    for _ in range(count):
        kept = _Kept()
        workload.draw(random)(kept)
        yield from kept.calls


def literal(value: object) -> str:
    """A number, a text or NULL as SQL writes it."""
    if value is None:
        return "NULL"
    if isinstance(value, int | Decimal):
        return str(value)
    if isinstance(value, str) and "'" not in value and "\\" not in value:
        return f"'{value}'"
    raise ValueError(f"no literal for {value!r}")


class _Kept:
    """Runs nothing, and keeps what it is given."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Sequence[object]]] = []

    def execute(self, sql: str, params: Sequence[object] = ()) -> Answer:
        self.calls.append((sql, params))
        return Answer([], None)

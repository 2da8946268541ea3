"""A guarded database for tests: per row a guard and scalars, writes applied as if-then-else. Knows no levels."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence

from sql_semantics.run import MemoryView
from sql_semantics.terms import (
    FALSE,
    Guard,
    Scalar,
    atom,
    conj,
    disj,
    evaluate,
    evaluate_guard,
    is_concrete,
    ite,
    neg,
    unknown,
)
from sql_semantics.values.types import SqlType, Value
from sql_semantics.view import GuardedRow, Mark, RowId


class Choice:
    """An assignment of atoms and unknowns; atoms named nowhere are false."""

    def __init__(self, atoms: Mapping[Hashable, bool], unknowns: Mapping[Hashable, Value] | None = None) -> None:
        self.atoms = atoms
        self.unknowns = unknowns or {}

    def holds(self, key: Hashable) -> bool:
        return self.atoms.get(key, False)

    def value(self, key: Hashable) -> Value:
        return self.unknowns[key]


class GuardedMemory:
    """A GuardedView over lists; `lookup` leaves out only what certainly differs."""

    def __init__(self, tables: Mapping[str, Iterable[tuple[Guard, tuple[Scalar, ...]]]]) -> None:
        self.tables: dict[str, dict[RowId, tuple[Guard, tuple[Scalar, ...]]]] = {}
        self.begun: list[Guard] = []
        self.scans: list[str] = []
        self.lookups: list[tuple[str, tuple[int, ...], tuple[Value, ...]]] = []
        self.savepoints: list[tuple[str, Mark]] = []
        self._next = 0
        for table, rows in tables.items():
            self.tables[table] = {}
            for guard, values in rows:
                self.insert(table, guard, values)

    def begin(self, path: Guard) -> int:
        self.begun.append(path)
        return len(self.begun) - 1

    def resume(self, execution: int) -> None:
        assert execution < len(self.begun)

    def scan(self, table: str) -> list[GuardedRow]:
        self.scans.append(table)
        return self._rows(table)

    def _rows(self, table: str) -> list[GuardedRow]:
        return [(row, guard, values) for row, (guard, values) in self.tables[table].items() if guard is not FALSE]

    def lookup(self, table: str, columns: Sequence[int], key: Sequence[Value]) -> list[GuardedRow]:
        self.lookups.append((table, tuple(columns), tuple(key)))
        return [
            row
            for row in self._rows(table)
            if all(not is_concrete(row[2][c]) or row[2][c] == k for c, k in zip(columns, key, strict=True))
        ]

    def rivals(self, table: str, columns: Sequence[int], key: Sequence[Value]) -> list[GuardedRow]:
        return self.lookup(table, columns, key) if columns else self.scan(table)

    def update(self, table: str, row: RowId, guard: Guard, values: tuple[Scalar, ...]) -> None:
        exists, old = self.tables[table][row]
        merged = tuple(ite(guard, new, before) for new, before in zip(values, old, strict=True))
        self.tables[table][row] = (exists, merged)

    def delete(self, table: str, row: RowId, guard: Guard) -> None:
        exists, old = self.tables[table][row]
        self.tables[table][row] = (conj(exists, neg(guard)), old)

    def insert(self, table: str, guard: Guard, values: tuple[Scalar, ...]) -> RowId:
        self._next += 1
        self.tables[table][self._next] = (guard, values)
        return self._next

    def free(self, source: str, name: str, type: SqlType, ordinal: int) -> Scalar:
        return unknown(("free", len(self.begun), source, name, ordinal), type.kind)

    def option(self, ordinal: int, number: int) -> Guard:
        return atom(("option", len(self.begun), ordinal, number))

    def savepoint(self) -> Mark:
        return {table: dict(rows) for table, rows in self.tables.items()}

    def rollback(self, mark: Mark, guard: Guard) -> None:
        for table, rows in self.tables.items():
            for row, (exists, values) in rows.items():
                before, old = mark.get(table, {}).get(row, (FALSE, values))
                merged = tuple(ite(guard, o, v) for o, v in zip(old, values, strict=True))
                rows[row] = (disj(conj(guard, before), conj(neg(guard), exists)), merged)

    def checkpoint(self) -> Mark:
        return self.savepoint(), len(self.begun)

    def abandon(self, mark: Mark) -> None:
        tables, begun = mark
        self.tables = {table: dict(rows) for table, rows in tables.items()}
        del self.begun[begun:]

    def under(self, choice: Choice) -> dict[str, list[tuple[Value, ...]]]:
        """The concrete tables under an assignment."""
        return {
            table: [
                tuple(evaluate(value, choice) for value in values)
                for guard, values in rows.values()
                if evaluate_guard(guard, choice)
            ]
            for table, rows in self.tables.items()
        }

    def concrete(self, choice: Choice) -> MemoryView:
        """A concrete view of the tables under an assignment."""
        view = MemoryView(self.under(choice))
        # no option that a path asks for is taken, so that it goes the last way
        view.picking = lambda count: count - 1
        return view

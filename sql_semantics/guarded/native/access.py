"""Rows of one table for one statement execution (paper §7.1, H1 indexing). Does not know conditions beyond equality.

The access path is the concrete runtime's. A key that has cases is looked up once per case; a key with an unknown
among them, or too many cases, becomes a scan. Either way a row's guard is narrowed to where it equals the key, as the
concrete runtime would not look at it elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from typing import cast

from sql_semantics.guarded.execution import Execution
from sql_semantics.plan.access import AccessPath
from sql_semantics.terms import FALSE, TRUE, Cases, Guard, Scalar, Term, compare, conj, disj, items_of
from sql_semantics.values.types import Value
from sql_semantics.view import GuardedRow, RowId

KEY_LIMIT = 64
"""Keys looked up one by one before a scan is cheaper."""


def equal(left: Scalar, right: Scalar) -> Guard:
    """Where both are equal and not NULL."""
    if not isinstance(left, Cases | Term) and not isinstance(right, Cases | Term):
        return TRUE if left is not None and left == right else FALSE
    parts = [
        conj(guard1, guard2, compare("=", leaf1, leaf2))
        for guard1, leaf1 in items_of(left)
        if leaf1 is not None
        for guard2, leaf2 in items_of(right)
        if leaf2 is not None
    ]
    return disj(*parts)


class Reads:
    """What one statement execution reads of one table, every scan and lookup done once."""

    __slots__ = ("_columns", "_execution", "_found", "_padded", "_scanned", "_table")

    def __init__(self, execution: Execution, table: str, path: AccessPath | None) -> None:
        self._execution = execution
        self._table = table
        self._columns = () if path is None else path.columns
        self._padded = path is not None and path.padded
        self._found: dict[tuple[Value, ...], list[GuardedRow]] = {}
        self._scanned: list[GuardedRow] | None = None

    def all(self) -> list[GuardedRow]:
        """Every row that may exist within the path."""
        if self._scanned is None:
            self._scanned = self._possible(self._execution.view.scan(self._table))
        return self._scanned

    def matching(self, keys: Sequence[Scalar]) -> list[GuardedRow]:
        """The rows where their columns equal the keys (CHAR columns: perhaps more rows, callers filter again)."""
        concrete = _concrete_keys(keys)
        if concrete is None:
            candidates = self.all()
        elif len(concrete) == 1:
            candidates = self._lookup(concrete[0])
        else:
            united: dict[RowId, GuardedRow] = {}
            for key in concrete:
                for row in self._lookup(key):
                    united.setdefault(row[0], row)
            candidates = list(united.values())
        if self._padded:
            return candidates
        rows: list[GuardedRow] = []
        for identity, guard, values in candidates:
            equalities = [equal(values[c], key) for c, key in zip(self._columns, keys, strict=True)]
            narrowed = conj(guard, *equalities)
            if narrowed is not FALSE:
                rows.append((identity, narrowed, values))
        return rows

    def _lookup(self, key: tuple[Value, ...]) -> list[GuardedRow]:
        found = self._found.get(key)
        if found is None:
            found = self._possible(self._execution.view.lookup(self._table, self._columns, key))
            self._found[key] = found
        return found

    def _possible(self, rows: Iterable[GuardedRow]) -> list[GuardedRow]:
        path = self._execution.path
        return [row for row in rows if conj(path, row[1]) is not FALSE]


def _concrete_keys(keys: Sequence[Scalar]) -> list[tuple[Value, ...]] | None:
    """The possible keys without NULLs, or None where a scan is called for."""
    options: list[list[Value]] = []
    count = 1
    for key in keys:
        leaves = [leaf for _, leaf in items_of(key) if leaf is not None]
        if any(isinstance(leaf, Term) for leaf in leaves):
            return None
        options.append(cast("list[Value]", leaves))
        count *= len(leaves)
    return None if count > KEY_LIMIT else list(product(*options))

"""The part of a log that made what one transaction looked at: the last writers of these rows, and a state before them.

What a writer did to other rows is left out with the statements that did it. The part is run, so that it is known to
leave the rows as they were before the transaction looked. Does not know whether the log leaves another order.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

import msgspec

from sql_semantics.errors import SqlSemanticsError
from sql_semantics.view import Row, RowId
from troubadour.model.log import Log, Statement, Transaction
from troubadour.replay.newest.judge import Unexplained
from troubadour.replay.newest.rows import NotPlain
from troubadour.replay.newest.writers import Link

_FEW = 8
"""Rows of which more writers than the last one are taken, and how many."""


@dataclass(frozen=True, slots=True)
class Slice:
    """Rows by table, and transactions that come from them to what the last one of them looked at: those `rows`. What
    is `assumed` of the rows is what others left before these transactions, by tables."""

    initial: Mapping[str, list[Row]]
    transactions: list[Transaction]
    rows: frozenset[tuple[str, RowId]]
    assumed: frozenset[tuple[str, Row]]


def slice_before(stopped: Unexplained, log: Log, most: int, *, whole: bool) -> Slice | None:
    """What a transaction looked at that was not explained; None where more than `most` wrote that last, where that is
    the whole log, or where one of them cannot be taken so. `whole`: all rows are kept, and not those alone that are
    looked at. What the state is afterwards is not told."""
    return _Slicing(stopped, log).taken(most, whole=whole)


@dataclass(frozen=True, slots=True)
class _Left:
    """A row of a table as a writer left it (None: gone), and before it (None: not there)."""

    table: str
    now: Row | None
    before: Row | None


class _Slicing:
    """One part, in the making."""

    def __init__(self, stopped: Unexplained, log: Log) -> None:
        self._stopped = stopped
        self._rows = stopped.rows
        self._log = log
        self._met: dict[str, set[RowId]] = defaultdict(set)

    def taken(self, most: int, *, whole: bool) -> Slice | None:
        """The part."""
        rows = self._rows
        reader = self._log.transactions[self._stopped.place]
        written = self._looked_at(reader)
        looked = frozenset((table, row) for table, met in self._met.items() for row in met)
        by_writer: dict[int, dict[RowId, _Left]] = defaultdict(dict)
        assumed: set[tuple[str, Row]] = set()
        for row, (table, now, link) in written.items():
            wanted = _FEW if len(written) <= _FEW else 1
            for _ in range(wanted):
                place, before, older, _, complete = link
                by_writer[place][row] = _Left(table, now, before)
                now = before
                if older is None or wanted == 1:
                    break
                link = older
            rows.put_back(table, row, now)
            if now is not None and not (complete and older is None):
                assumed.add((table, now))
        if len(by_writer) > most or len(by_writer) + 1 == len(self._log.transactions):
            return None
        initial = {table: dict(rows.found(table, None, ())) for table in rows.tables}
        transactions: list[Transaction] = []
        for place in sorted(by_writer):
            made = self._shortened(self._log.transactions[place], by_writer[place])
            if made is None:
                return None
            transactions.append(made)
        kept = {
            table: [values for row, values in found.items() if whole or row in self._met[table]]
            for table, found in initial.items()
        }
        return Slice(kept, [*transactions, reader], looked, frozenset(assumed))

    def _looked_at(self, reader: Transaction) -> dict[RowId, tuple[str, Row | None, Link]]:
        """The rows that a transaction looked at and that one before it wrote: their tables, what they are (None: gone)
        and their last writers."""
        rows, writers = self._rows, self._stopped.writers
        rows.looks, rows.journal, rows.savepoints = [], [], []
        with suppress(NotPlain, SqlSemanticsError):
            self._stopped.run(reader)
        looks = {look[1:] for look in rows.looks}
        rows.rollback(0)
        rows.looks = None
        found: dict[RowId, tuple[str, Row | None, Link]] = {}
        for table, columns, key in looks:
            for row, now in rows.found(table, columns, key):
                self._met[table].add(row)
                link = writers.of(row)
                if link is not None:
                    found[row] = table, now, link
            for row, link in writers.gone(table, columns, key):
                self._met[table].add(row)
                found[row] = table, None, link
        return found

    def _shortened(self, one: Transaction, written: Mapping[RowId, _Left]) -> Transaction | None:
        """A writer with those statements alone that met these rows and no others; None where they do not leave the rows
        as they were."""
        rows, kept, own = self._rows, list[Statement](), set(written)
        for statement in one.statements:
            rows.looks, rows.journal, rows.savepoints = [], [], []
            try:
                self._stopped.run(msgspec.structs.replace(one, statements=(statement,)))
            except (NotPlain, SqlSemanticsError):
                rows.rollback(0)
                continue
            if rows.savepoints:
                return None
            added = {row for _, row, before, _ in rows.journal if before is None}
            met = {row for _, row, _, _ in rows.journal}
            met.update(row for _, table, columns, key in rows.looks for row, _ in rows.found(table, columns, key))
            if met <= own | added:
                own |= added
                kept.append(statement)
            else:
                rows.rollback(0)
        rows.looks = None
        now: dict[str, Counter[Row]] = defaultdict(Counter)
        wanted: dict[str, Counter[Row]] = defaultdict(Counter)
        for table in {left.table for left in written.values()}:
            now[table].update(values for row, values in rows.found(table, None, ()) if row in own)
        for left in written.values():
            if left.now is not None:
                wanted[left.table][left.now] += 1
        return msgspec.structs.replace(one, statements=tuple(kept)) if now == wanted else None

"""The part of a log that made what few transactions looked at: the last writers of these rows, and a state before them.

What a writer did to other rows is left out with the statements that did it. The part is run, so that it is known to
leave the rows as they were before the transaction looked. Does not know whether the log leaves another order.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

import msgspec

from sql_semantics.errors import SqlSemanticsError
from sql_semantics.records import dataclass
from sql_semantics.view import Row, RowId
from troubadour.model.log import Log, Statement, Transaction
from troubadour.replay.newest.judge import Unexplained
from troubadour.replay.newest.kept import Written
from troubadour.replay.newest.rows import NotPlain
from troubadour.replay.newest.writers import Link

_FEW = 8
"""Rows of which more writers than the last one are taken, and how many."""


@dataclass(frozen=True, slots=True)
class Slice:
    """Rows by table, and transactions that come from them to what the last of them, so many `readers`, looked at: those
    `rows`. What is `assumed` of the rows is what others left before these transactions, by tables."""

    initial: Mapping[str, list[Row]]
    transactions: list[Transaction]
    readers: int
    rows: frozenset[tuple[str, RowId]]
    assumed: frozenset[tuple[str, Row]]


def slice_before(stopped: Unexplained, log: Log, window: range, most: int, *, whole: bool) -> Slice | None:
    """What the transactions at some places looked at, that one among them which was not explained; None where more than
    `most` wrote that last, where that is the whole log, or where one of them cannot be taken so. `whole`: all rows are
    kept, and not those alone that are looked at. The state is afterwards what it was."""
    with _put_back(stopped), suppress(_Forgotten):
        return _Slicing(stopped, log, window).taken(most, whole=whole)
    return None


def rows_before(stopped: Unexplained, log: Log, window: range) -> Mapping[str, list[Row]] | None:
    """The rows before the transactions at some places, that one among them which was not explained, by tables; None
    where they are not remembered. The state is afterwards what it was."""
    rows = stopped.rows
    with _put_back(stopped), suppress(_Forgotten):
        _Slicing(stopped, log, window).go_back()
        return {table: [values for _, values in rows.found(table, None, ())] for table in rows.tables}
    return None


def effective(log: Log, window: range) -> list[Transaction]:
    """The transactions at some places, without those that were aborted: these may have run at any time, and left
    nothing."""
    return [one for place in window if (one := log.transactions[place]).status != "aborted"]


@contextmanager
def _put_back(stopped: Unexplained) -> Iterator[None]:
    """Let the rows be as they are now once more, whatever is done to them."""
    rows = stopped.rows
    before = {table: dict(rows.found(table, None, ())) for table in rows.tables}
    try:
        yield
    finally:
        for table, held in before.items():
            now = dict(rows.found(table, None, ()))
            for row in now.keys() | held.keys():
                if now.get(row) is not held.get(row):
                    rows.put_back(table, row, held.get(row))


class _Forgotten(Exception):
    """What a row was is not remembered."""


@dataclass(frozen=True, slots=True)
class _Left:
    """A row of a table as a writer left it (None: gone), and before it (None: not there)."""

    table: str
    now: Row | None
    before: Row | None


class _Slicing:
    """One part, in the making."""

    def __init__(self, stopped: Unexplained, log: Log, window: range) -> None:
        self._stopped = stopped
        self._rows = stopped.rows
        self._log = log
        self._window = window
        self._met: dict[str, set[RowId]] = defaultdict(set)
        self._links: dict[RowId, Link | None] = {}
        """The last writers before the window of rows that were written in it."""

    def taken(self, most: int, *, whole: bool) -> Slice | None:
        """The part."""
        rows = self._rows
        self.go_back()
        readers = effective(self._log, self._window)
        if not whole and any(one.error is not None for reader in readers for one in reader.statements):
            return None  # a row that was in the way of its key is not looked at
        done = [one for reader in readers for one in self._run(reader)]
        for table, row, before, _ in reversed(done):
            rows.put_back(table, row, before)
        written = self._written()
        looked = frozenset((table, row) for table, met in self._met.items() for row in met)
        by_writer: dict[int, dict[RowId, _Left]] = defaultdict(dict)
        assumed: set[tuple[str, Row]] = set()
        for row, (table, now, link) in written.items():
            wanted = _FEW if len(written) <= _FEW * len(readers) else 1
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
        if len(by_writer) > most or len(by_writer) + len(readers) == len(self._log.transactions):
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
        return Slice(kept, [*transactions, *readers], len(readers), looked, frozenset(assumed))

    def go_back(self) -> None:
        """Let the rows be as they were before the window. Raises _Forgotten."""
        first, rows, writers = self._window.start, self._rows, self._stopped.writers
        if first == self._stopped.place:
            return
        if not writers.has_all_gone_since(first):
            raise _Forgotten
        there = [(table, row, writers.of(row)) for table in rows.tables for row, _ in rows.found(table, None, ())]
        gone = [(table, row, link) for table in rows.tables for row, link in writers.gone(table, None, ())]
        for table, row, link in [*there, *gone]:
            if link is None or link[0] < first:
                continue
            before: Row | None = None
            while link is not None and link[0] >= first:
                if link[2] is None and not link[4]:
                    raise _Forgotten
                before, link = link[1], link[2]
            rows.put_back(table, row, before)
            self._links[row] = link

    def _run(self, reader: Transaction) -> list[Written]:
        """Run a transaction of the window, as far as that goes, and note which rows it looked at; what it wrote."""
        rows, writers = self._rows, self._stopped.writers
        rows.looks, rows.journal, rows.savepoints = [], [], []
        try:
            self._stopped.run(reader)
        except (NotPlain, SqlSemanticsError):
            for statement in reader.statements[rows.statement + 1 :]:
                with suppress(NotPlain, SqlSemanticsError):
                    self._stopped.run(msgspec.structs.replace(reader, statements=(statement,)))
        looks, wrote = {look[1:] for look in rows.looks}, list(rows.journal)
        rows.rollback(0)
        rows.looks = None
        for table, columns, key in looks:
            self._met[table].update(row for row, _ in rows.found(table, columns, key))
            self._met[table].update(row for row, _ in writers.gone(table, columns, key))
        for table, row, _, after in wrote:
            rows.put_back(table, row, after)
        return wrote

    def _written(self) -> dict[RowId, tuple[str, Row | None, Link]]:
        """The rows that were looked at and that one before the window wrote: their tables, what they are (None: gone)
        and their last writers."""
        rows, writers = self._rows, self._stopped.writers
        found: dict[RowId, tuple[str, Row | None, Link]] = {}
        for table, met in self._met.items():
            now = dict(rows.found(table, None, ()))
            last = {row: writers.of(row) for row in met & now.keys()}
            last |= {row: link for row, link in writers.gone(table, None, ()) if row in met and row not in now}
            for row, link in last.items():
                link = self._links.get(row, link)
                if link is not None:
                    found[row] = table, now.get(row), link
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

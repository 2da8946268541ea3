"""Rows that a statement writes or locks, where they may be newer than those that it reads.

The statement finds rows in its snapshot; of each it then takes the newest version and tests its condition on that
again, other tables' rows being as they were found (PostgreSQL manual, 13.2.1). Rows that match only now are not looked
for. An IN or EXISTS may have been planned as a join: then only the row that it was joined with is tested again, and
after NOT EXISTS none. Does not know which version is the newest: `View.current` does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache

from sql_semantics.errors import Unsupported
from sql_semantics.ir.expressions import Exists, Expr, InQuery, Unary
from sql_semantics.ir.queries import BaseTable, RowLock, Select
from sql_semantics.ir.statements import JoinedWrite
from sql_semantics.ir.walks.traverse import columns_read, conjuncts
from sql_semantics.outcome import Locked
from sql_semantics.run.expressions.expressions import Arguments, Frame, Predicate, Row, compile_predicate
from sql_semantics.run.queries.join import Matches, compile_matches, compile_sources
from sql_semantics.values.dialect import Dialect
from sql_semantics.view import RowId, View

Met = tuple[Row, Row, tuple[Locked, ...]]
"""A row as it was found, as it is, and what is locked of it that the view was not told of."""
Retest = Callable[[View, Row, Row, Arguments, Frame], bool]
"""f(view, row as it was found, row as it is, args, frame) -> whether it still satisfies the condition."""


def compile_retest(conditions: Iterable[Expr | None], dialect: Dialect, *, may: bool = False) -> Retest:
    """The test of a row that was found by these conditions, and has changed since; compiled when it is needed."""
    parts = [part for condition in conditions for part in conjuncts(condition)]

    @cache
    def tests() -> tuple[list[Predicate], list[tuple[Predicate, frozenset[int], bool]]]:
        plain: list[Predicate] = []
        joined: list[tuple[Predicate, frozenset[int], bool]] = []
        for part in parts:
            negated = isinstance(part, Unary) and part.op == "not"
            inner = part.operand if isinstance(part, Unary) and negated else part
            test = compile_predicate(part, dialect, may=may)
            if isinstance(inner, Exists | InQuery):
                joined.append((test, columns_read(part), negated != inner.negated))
            else:
                plain.append(test)
        return plain, joined

    def retest(view: View, found: Row, now: Row, args: Arguments, frame: Frame) -> bool:
        plain, joined = tests()
        if not all(test(now, args, frame) for test in plain):
            return False
        for test, columns, negated in joined:
            if all(found[column] == now[column] for column in columns):
                continue
            holds = bool(test(now, args, frame))
            # a join may have lost its row, and the want of a row is not looked into again
            if holds != negated and view.choose(2, "a subquery of a row that has changed, planned as a join or not"):
                holds = not holds
            if not holds:
                return False
        return True

    return retest


def rechecked(
    view: View, table: str, found: list[tuple[RowId, Row]], retest: Retest, args: Arguments, frame: Frame
) -> list[tuple[RowId, Row]]:
    """The rows found as they are now, those left out that are gone or do not satisfy the condition any more."""
    kept: list[tuple[RowId, Row]] = []
    for identity, row in found:
        now = view.current(table, identity, row)
        if now is row or (now is not None and retest(view, row, now, args, frame)):
            kept.append((identity, now))
    return kept


def is_of_one_table(select: Select) -> bool:
    """Whether a query reads a single table."""
    return len(select.sources) == 1 and isinstance(select.sources[0].relation, BaseTable)


def locks_sorted_rows(select: Select, dialect: Dialect) -> bool:
    """Whether a query locks its rows after it has sorted them."""
    return bool(select.locking and select.order) and dialect.rules.running.locks_sorted_rows


def compile_locked(select: Select, dialect: Dialect) -> Callable[[View, Arguments, Frame], list[Met]]:
    """f(view, args, frame) -> the rows of a query that locks them, where `view.rechecks` or `view.locks`.

    Raises Unsupported, when run, for outer joins of a row that is newer, and as `_met` does.
    """
    relation = select.sources[0].relation if len(select.sources) == 1 else None
    every = select.limit is None and not select.skip_locked
    if not isinstance(relation, BaseTable):
        return _compile_joined(select, dialect, every=every)
    name, (lock,) = relation.name, select.locks
    seen: Matches = compile_matches(name, select.where, dialect)
    retest = compile_retest([select.where], dialect)

    def locked(view: View, args: Arguments, frame: Frame) -> list[Met]:
        if view.locks:
            return [
                (found[1], found[1], _held(view, name, [found], lock, every=every)) for found in seen(view, args, frame)
            ]
        pairs: list[Met] = []
        current = view.current if lock.keys is None else None
        for identity, row in seen(view, args, frame):
            if current is not None:
                now = current(name, identity, row, locks=every)
            else:
                now = _met(view, name, identity, row, lock, every=every)
            if now is row or (now is not None and retest(view, row, now, args, frame)):
                pairs.append((row, now, ()))
        return pairs

    return locked


def _held(view: View, name: str, rows: list[tuple[RowId, Row]], lock: RowLock, *, every: bool) -> tuple[Locked, ...]:
    """What is locked of a row of the answer that comes of one of some `rows`, which are alike. Where every row of the
    answer is locked, and that is all there is to say, the view is told at once."""
    if every and lock.keys is None and len(rows) == 1:
        view.current(name, *rows[0])
        return ()
    return (Locked(name, tuple(identity for identity, _ in rows), rows[0][1], lock.keys),)


def _met(view: View, name: str, identity: RowId, row: Row, lock: RowLock, *, every: bool) -> Row | None:
    """A row that is found, as it is locked; None where it is gone. FOR KEY SHARE is content with the version found
    where all that came later left the keys as they were. Raises Unsupported where the keys have changed."""
    if lock.keys is None:
        return view.current(name, identity, row, locks=every)
    now = view.current(name, identity, row, locks=False)
    if now is row:
        return row
    if now is not None and any(now[column] != row[column] for column in lock.keys):
        raise Unsupported("FOR KEY SHARE of a row whose keys have changed since the snapshot")
    return now if view.choose(2, "FOR KEY SHARE of a row that has changed") else row


def _compile_joined(select: Select, dialect: Dialect, *, every: bool) -> Callable[[View, Arguments, Frame], list[Met]]:
    """The same for several tables: the rows of those that are not locked stay as they were found."""
    rows_of = compile_sources(select.sources, select.where, dialect)
    retest = compile_retest([*(source.on for source in select.sources), select.where], dialect)
    plain = all(source.kind in ("cross", "inner") for source in select.sources)
    locks = [
        (lock, source.relation.name, source.offset, source.offset + source.width)
        for lock in select.locks
        if isinstance((source := select.sources[lock.place]).relation, BaseTable)
    ]

    def held(view: View, found: Row) -> tuple[Locked, ...]:
        parts: tuple[Locked, ...] = ()
        for lock, name, start, end in locks:
            alike = _alike(view, name, found[start:end])
            if alike:  # else the row of an outer join that has none
                parts += _held(view, name, alike, lock, every=every)
        return parts

    def locked(view: View, args: Arguments, frame: Frame) -> list[Met]:
        if view.locks:
            return [(found, found, held(view, found)) for found in rows_of(view, args, frame)]
        pairs: list[Met] = []
        for found in rows_of(view, args, frame):
            now: Row | None = found
            for lock, name, start, end in locks:
                if now is None:
                    break
                identity, row = _identified(view, name, found[start:end])
                renewed = _met(view, name, identity, row, lock, every=every)
                if renewed is not row:
                    now = None if renewed is None else now[:start] + renewed + now[end:]
            if now is found:
                pairs.append((found, found, ()))
                continue
            if not plain:
                raise Unsupported("FOR UPDATE over an outer join of a row that is newer than the snapshot")
            if now is not None and retest(view, found, now, args, frame):
                pairs.append((found, now, ()))
        return pairs

    return locked


def _alike(view: View, name: str, values: Row) -> list[tuple[RowId, Row]]:
    """The rows of a table that have these values."""
    columns = tuple(place for place, value in enumerate(values) if value is not None)
    if not columns:
        return []
    return [found for found in view.lookup(name, columns, tuple(values[c] for c in columns)) if found[1] == values]


def _identified(view: View, name: str, values: Row) -> tuple[RowId, Row]:
    """The one row of a table that has these values. Raises Unsupported where several have."""
    rows = _alike(view, name, values)
    if len(rows) != 1:
        raise Unsupported("FOR UPDATE over several tables, of rows without a key that are alike")
    return rows[0]


def compile_recheck(
    statement: JoinedWrite, dialect: Dialect
) -> Callable[[View, list[Row], Arguments, Frame], list[Row]]:
    """f(view, environment rows, args, frame) -> those that still satisfy all conditions with the targets' rows as they
    are now. Raises Unsupported, when run, for outer joins of a row that is newer."""
    plain = all(source.kind in ("cross", "inner") for source in statement.sources)
    retest = compile_retest([*(source.on for source in statement.sources), statement.where], dialect, may=True)

    def recheck(view: View, rows: list[Row], args: Arguments, frame: Frame) -> list[Row]:
        kept: list[Row] = []
        for row in rows:
            changed = False
            renewed: Row | None = row
            for target in statement.targets:
                start = target.offset
                end = _end(statement, start)
                if renewed is None or renewed[end] is None:
                    continue
                old = renewed[start:end]
                now = view.current(target.table, renewed[end], old)
                if now is old:
                    continue
                changed = True
                renewed = None if now is None else renewed[:start] + now + renewed[end:]
            if changed and not plain:
                raise Unsupported("a write over an outer join of a row that is newer than the snapshot")
            if renewed is not None and (not changed or retest(view, row, renewed, args, frame)):
                kept.append(renewed)
        return kept

    return recheck


def _end(statement: JoinedWrite, start: int) -> int:
    """Where the columns of the target at `start` end: its row's identity stands there."""
    source = next(source for source in statement.sources if source.offset == start)
    return start + source.width - 1

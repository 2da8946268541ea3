"""FROM and WHERE over guarded rows. Does not know the clauses above.

The plan is the concrete runtime's: sources from left to right, lookups where the condition allows them, conjuncts
that cannot raise as soon as their columns are there. A left row is extended by NULLs where no right row matches it.
"""

from __future__ import annotations

from collections.abc import Callable

from sql_semantics.errors import Unsupported
from sql_semantics.guarded.execution import Execution, GuardedRows
from sql_semantics.guarded.lifting import too_many
from sql_semantics.guarded.native.access import Reads
from sql_semantics.guarded.native.expressions import Evaluate, Test, compile_scalar, compile_test
from sql_semantics.guarded.native.relations import Fetch, compile_relation
from sql_semantics.ir.expressions import Expr
from sql_semantics.ir.queries import BaseTable, Identified, Source
from sql_semantics.ir.walks.traverse import base_table, can_raise, columns_read, conjunction, conjuncts
from sql_semantics.plan.access import AccessPath, access_path
from sql_semantics.plan.arrangement import Arrangement, arrange
from sql_semantics.records import dataclass
from sql_semantics.terms import FALSE, TRUE, Guard, Scalar, conj, disj, neg
from sql_semantics.values.dialect import Dialect
from sql_semantics.view import GuardedRow

Rows = Callable[[Execution], GuardedRows]
Matches = Callable[[Execution], list[GuardedRow]]

ROW_LIMIT = 200_000
"""Joined rows beyond which a statement is not run symbolically."""


def compile_matches(table: str, where: Expr | None, dialect: Dialect, *, may: bool = False) -> Matches:
    """The rows of one table where they satisfy a condition, with their identities; `may` marks its errors."""
    path = access_path(where, dialect)
    keys = _compile_keys(path, dialect)
    test = None if where is None else compile_test(where, dialect, may=may)

    def matches(execution: Execution) -> list[GuardedRow]:
        args, frame = execution.arguments, execution.frame
        reads = Reads(execution, table, path)
        rows = reads.all() if path is None else reads.matching([key((), args, frame) for key in keys])
        if test is None:
            return rows
        found: list[GuardedRow] = []
        for identity, guard, values in rows:
            narrowed = execution.holds(guard, test(values, args, frame))
            if conj(execution.path, narrowed) is not FALSE:
                found.append((identity, narrowed, values))
        return found

    return matches


def _compile_keys(path: AccessPath | None, dialect: Dialect) -> list[Evaluate]:
    return [] if path is None else [compile_scalar(key, dialect) for key in path.keys]


@dataclass(frozen=True, slots=True)
class _Step:
    """How one source joins: its lookup (keys over the left row), and what is tested on the joined row."""

    table: str | None
    identified: bool
    fetch: Fetch | None
    kind: str
    left_width: int
    width: int
    path: AccessPath | None
    keys: list[Evaluate]
    on: Test | None
    after: Test | None


def compile_sources(sources: tuple[Source, ...], where: Expr | None, dialect: Dialect, *, may: bool = False) -> Rows:
    """The environment rows of FROM where they satisfy WHERE. Without sources: one empty row."""
    if not sources:
        test = None if where is None else compile_test(where, dialect, may=may)

        def one_row(execution: Execution) -> GuardedRows:
            if test is None:
                return [(TRUE, ())]
            guard = execution.holds(TRUE, test((), execution.arguments, execution.frame))
            return [] if guard is FALSE else [(guard, ())]

        return one_row
    if len(sources) == 1 and isinstance(sources[0].relation, BaseTable):
        matches = compile_matches(base_table(sources[0]), where, dialect, may=may)
        return lambda execution: [(guard, values) for _, guard, values in matches(execution)]
    arrangement = arrange(sources, where, dialect)
    if arrangement is not None:
        return _arranged(arrangement, dialect)
    return _compile_in_order(sources, where, dialect)


def _arranged(arrangement: Arrangement, dialect: Dialect) -> Rows:
    fetch, written, last = arrangement.compiled(
        lambda sources, where: _compile_in_order(sources, where, dialect),
        lambda last: compile_test(last, dialect, may=True),
    )

    def rows(execution: Execution) -> GuardedRows:
        found = [(guard, written(row)) for guard, row in fetch(execution)]
        return found if last is None else _filtered(found, last, execution)

    return rows


def _compile_in_order(sources: tuple[Source, ...], where: Expr | None, dialect: Dialect) -> Rows:
    steps, last = _plan(sources, where, dialect)

    def rows(execution: Execution) -> GuardedRows:
        current: GuardedRows = [(TRUE, ())]
        for step in steps:
            current = _join(current, step, execution)
        return current if last is None else _filtered(current, last, execution)

    return rows


def _filtered(rows: GuardedRows, test: Test, execution: Execution) -> GuardedRows:
    kept: GuardedRows = []
    for guard, row in rows:
        narrowed = execution.holds(guard, test(row, execution.arguments, execution.frame))
        if narrowed is not FALSE:
            kept.append((narrowed, row))
    return kept


def _plan(sources: tuple[Source, ...], where: Expr | None, dialect: Dialect) -> tuple[list[_Step], Test | None]:
    parts = conjuncts(where)
    late = conjunction(tuple(part for part in parts if can_raise(part)))
    early = [part for part in parts if not can_raise(part)]
    # What stands left of a RIGHT or FULL join may still be extended with NULLs there.
    extended = max((i for i, source in enumerate(sources) if source.kind in ("right", "full")), default=0)
    steps: list[_Step] = []
    for number, source in enumerate(sources):
        if source.kind not in ("cross", "inner", "left", "right", "full"):
            raise Unsupported(f"{source.kind} join")
        end = source.offset + source.width
        ready: tuple[Expr, ...] = ()
        if number >= extended:
            ready = tuple(part for part in early if all(position < end for position in columns_read(part)))
            early = [part for part in early if part not in ready]
        table = source.relation.name if isinstance(source.relation, BaseTable | Identified) else None
        usable = (*conjuncts(source.on), *ready) if source.kind in ("cross", "inner") else conjuncts(source.on)
        path = None
        if table is not None and source.kind not in ("right", "full"):
            path = access_path(conjunction(usable), dialect, offset=source.offset, width=source.width)
        after = conjunction(ready)
        steps.append(
            _Step(
                table=table,
                identified=isinstance(source.relation, Identified),
                fetch=None if table is not None else compile_relation(source.relation, dialect),
                kind=source.kind,
                left_width=source.offset,
                width=source.width,
                path=path,
                keys=_compile_keys(path, dialect),
                on=None if source.on is None else compile_test(source.on, dialect, may=True),
                after=None if after is None else compile_test(after, dialect),
            )
        )
    return steps, None if late is None else compile_test(late, dialect, may=True)


def _join(left: GuardedRows, step: _Step, execution: Execution) -> GuardedRows:
    """The left rows extended by the rows of the step's table, where they match."""
    args, frame = execution.arguments, execution.frame
    find = _finder(step, execution)
    nulls: tuple[Scalar, ...] = (None,) * step.width
    taken: dict[int, list[Guard]] = {}
    joined: GuardedRows = []
    for guard, row in left:
        matched: list[Guard] = []
        for place, (_, right_guard, values) in enumerate(find(row)):
            both = conj(guard, right_guard)
            if both is FALSE:
                continue
            whole = row + values
            if step.on is not None:
                both = execution.holds(both, step.on(whole, args, frame))
            if both is not FALSE:
                matched.append(both)
                taken.setdefault(place, []).append(both)
                joined.append((both, whole))
        if step.kind in ("left", "full"):
            alone = conj(guard, neg(disj(*matched)))
            if alone is not FALSE:
                joined.append((alone, row + nulls))
        if len(joined) > ROW_LIMIT:
            raise too_many("a join")
    if step.kind in ("right", "full"):
        # every left row met the same rows on the right, in the same places
        before: tuple[Scalar, ...] = (None,) * step.left_width
        for place, (_, right_guard, values) in enumerate(find(before)):
            alone = conj(right_guard, neg(disj(*taken.get(place, ()))))
            if alone is not FALSE:
                joined.append((alone, before + values))
    return joined if step.after is None else _filtered(joined, step.after, execution)


def _finder(step: _Step, execution: Execution) -> Callable[[tuple[Scalar, ...]], list[GuardedRow]]:
    """f(left row) -> the rows that may match it."""
    if step.table is None:
        assert step.fetch is not None
        fetched: list[GuardedRow] = [(None, guard, values) for guard, values in step.fetch(execution)]
        return lambda row: fetched
    reads = Reads(execution, step.table, step.path)
    args, frame = execution.arguments, execution.frame

    def find(row: tuple[Scalar, ...]) -> list[GuardedRow]:
        rows = reads.all() if step.path is None else reads.matching([key(row, args, frame) for key in step.keys])
        if step.identified:
            return [(identity, guard, (*values, identity)) for identity, guard, values in rows]
        return rows

    return find

"""FROM and WHERE over guarded rows (DESIGN §3, "a row in a table is guarded too"). Does not know the clauses above.

The plan is the concrete runtime's: sources from left to right, lookups where the condition allows them, conjuncts
that cannot raise as soon as their columns are there. A left row is extended by NULLs where no right row matches it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sql_semantics.errors import Unsupported
from sql_semantics.ir.expressions import Expr
from sql_semantics.ir.statements import Source
from sql_semantics.run.access import AccessPath, access_path
from sql_semantics.run.guarded.access import Reads
from sql_semantics.run.guarded.execution import Execution, GuardedRows
from sql_semantics.run.guarded.expressions import Evaluate, Test, compile_scalar, compile_test
from sql_semantics.run.guarded.lifting import too_many
from sql_semantics.run.traverse import base_table, can_raise, columns_read, conjunction, conjuncts
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

    table: str
    width: int
    outer: bool
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
    if len(sources) == 1:
        matches = compile_matches(base_table(sources[0]), where, dialect, may=may)
        return lambda execution: [(guard, values) for _, guard, values in matches(execution)]
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
    steps: list[_Step] = []
    for source in sources:
        if source.kind not in ("cross", "inner", "left"):
            raise Unsupported(f"{source.kind} join")
        end = source.offset + source.width
        ready = tuple(part for part in early if all(position < end for position in columns_read(part)))
        early = [part for part in early if part not in ready]
        outer = source.kind == "left"
        usable = conjuncts(source.on) if outer else (*conjuncts(source.on), *ready)
        path = access_path(conjunction(usable), dialect, offset=source.offset, width=source.width)
        after = conjunction(ready)
        steps.append(
            _Step(
                table=base_table(source),
                width=source.width,
                outer=outer,
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
    reads = Reads(execution, step.table, step.path)
    nulls: tuple[Scalar, ...] = (None,) * step.width
    joined: GuardedRows = []
    for guard, row in left:
        right = reads.matching([key(row, args, frame) for key in step.keys]) if step.path is not None else reads.all()
        matched: list[Guard] = []
        for _, right_guard, values in right:
            both = conj(guard, right_guard)
            if both is FALSE:
                continue
            whole = row + values
            if step.on is not None:
                both = execution.holds(both, step.on(whole, args, frame))
            if both is not FALSE:
                matched.append(both)
                joined.append((both, whole))
        if step.outer:
            alone = conj(guard, neg(disj(*matched)))
            if alone is not FALSE:
                joined.append((alone, row + nulls))
        if len(joined) > ROW_LIMIT:
            raise too_many("a join")
    return joined if step.after is None else _filtered(joined, step.after, execution)

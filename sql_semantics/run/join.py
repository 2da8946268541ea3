"""FROM and WHERE: the environment rows of a query (DESIGN §3; paper §7.1 for lookups instead of scans).

Sources are joined from left to right, each by a lookup per left row where ON or WHERE equates its columns with what
is known by then, else by one scan. A WHERE conjunct that cannot raise is tested as soon as its columns are there:
later joins only extend a row, so that removes the same rows. Does not know guarded rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sql_semantics.errors import Unsupported
from sql_semantics.ir.expressions import Expr
from sql_semantics.ir.statements import Source
from sql_semantics.run.access import AccessPath, access_path
from sql_semantics.run.expressions import (
    Arguments,
    Emitter,
    EvaluateRow,
    Frame,
    Predicate,
    Row,
    compile_predicate,
    compile_row,
)
from sql_semantics.run.traverse import can_raise, columns_read, conjunction, conjuncts
from sql_semantics.values.dialect import Dialect
from sql_semantics.view import RowId, View

Rows = Callable[[View, Arguments, Frame], list[Row]]
Matches = Callable[[View, Arguments, Frame], list[tuple[RowId, Row]]]

_HASH_JOIN_FROM = 500
"""Left rows from which one scan and a hash table replace the lookups."""


def compile_access(emitter: Emitter, table: str, path: AccessPath | None) -> tuple[str, str]:
    """Source of (statements that bind `pairs`, condition under which no row qualifies).

    The statements stand inside a function with `view`, `args` and `frame`; keys read no columns.
    """
    if path is None:
        return f"pairs = view.scan({table!r})", "False"
    keys = [emitter.value(key) for key in path.keys]
    names = [f"key{i}" for i in range(len(keys))]
    bind = "; ".join(f"{name} = {key}" for name, key in zip(names, keys, strict=True))
    empty = " or ".join(f"{name} is None" for name in names)
    lookup = f"view.lookup({table!r}, {path.columns!r}, ({', '.join(names)},))"
    return f"{bind}; pairs = () if {empty} else {lookup}", empty


def compile_matches(table: str, where: Expr | None, dialect: Dialect) -> Matches:
    """The rows of one table that satisfy a condition, with their identities, as a list."""
    emitter = Emitter(dialect)
    bind, _ = compile_access(emitter, table, access_path(where, dialect))
    if where is None:
        source = f"def matches(view, args, frame):\n    {bind}\n    return list(pairs)\n"
    else:
        source = (
            "def matches(view, args, frame):\n"
            f"    {bind}\n"
            "    found = []\n"
            "    append = found.append\n"
            "    for pair in pairs:\n"
            "        row = pair[1]\n"
            f"        if {emitter.truth(where)}: append(pair)\n"
            "    return found\n"
        )
    return emitter.define(source, "matches")


def compile_single(
    table: str, where: Expr | None, outputs: tuple[Expr, ...] | None, dialect: Dialect, may: bool, partial: bool
) -> Rows:
    """The qualifying rows of one table (`outputs` None), or the tuple of `outputs` over each.

    `may` marks the errors of `outputs`, `partial` those of the condition (not every row need be looked at).
    """
    emitter = Emitter(dialect, partial)
    bind, _ = compile_access(emitter, table, access_path(where, dialect))
    test = "True" if where is None else emitter.truth(where)
    emitter.may = may
    result = "row" if outputs is None else "(" + "".join(f"{emitter.value(e)}, " for e in outputs) + ")"
    source = (
        "def rows(view, args, frame):\n"
        f"    {bind}\n"
        "    found = []\n"
        "    append = found.append\n"
        "    for _, row in pairs:\n"
        f"        if {test}: append({result})\n"
        "    return found\n"
    )
    return emitter.define(source, "rows")


@dataclass(frozen=True, slots=True)
class _Step:
    """How one source joins: its access path (keys over the left row), and what is tested on the joined row."""

    table: str
    width: int
    outer: bool
    columns: tuple[int, ...]
    keys: EvaluateRow | None
    hashable: bool
    on: Predicate | None
    after: Predicate | None


def compile_sources(sources: tuple[Source, ...], where: Expr | None, dialect: Dialect, *, may: bool = False) -> Rows:
    """The environment rows of FROM that satisfy WHERE, in no particular order. Without sources: one empty row."""
    if not sources:
        test = None if where is None else compile_predicate(where, dialect, may=may)
        return lambda view, args, frame: [()] if test is None or test((), args, frame) else []
    if len(sources) == 1:
        return compile_single(sources[0].table, where, None, dialect, may, may)
    steps, last = _plan(sources, where, dialect)

    def rows(view: View, args: Arguments, frame: Frame) -> list[Row]:
        current: list[Row] = [()]
        for step in steps:
            current = _join(current, step, view, args, frame)
        if last is not None:
            current = [row for row in current if last(row, args, frame)]
        return current

    return rows


def _plan(
    sources: tuple[Source, ...], where: Expr | None, dialect: Dialect
) -> tuple[tuple[_Step, ...], Predicate | None]:
    parts = conjuncts(where)
    late = tuple(part for part in parts if can_raise(part))
    early = [part for part in parts if not can_raise(part)]
    steps = []
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
                table=source.table,
                width=source.width,
                outer=outer,
                columns=() if path is None else path.columns,
                keys=None if path is None else compile_row(path.keys, dialect),
                hashable=path is not None and not path.padded,
                on=None if source.on is None else compile_predicate(source.on, dialect, may=True),
                after=None if after is None else compile_predicate(after, dialect),
            )
        )
    remaining = conjunction(late)
    return tuple(steps), None if remaining is None else compile_predicate(remaining, dialect, may=True)


def _join(left: list[Row], step: _Step, view: View, args: Arguments, frame: Frame) -> list[Row]:
    """The left rows extended by the matching rows of the step's table."""
    if not left:
        return []
    candidates = _candidates(left, step, view, args, frame)
    on, after = step.on, step.after
    nulls = (None,) * step.width
    joined: list[Row] = []
    for row in left:
        matched = False
        for right in candidates(row):
            whole = row + right
            if on is None or on(whole, args, frame):
                matched = True
                if after is None or after(whole, args, frame):
                    joined.append(whole)
        if step.outer and not matched:
            whole = row + nulls
            if after is None or after(whole, args, frame):
                joined.append(whole)
    return joined


def _candidates(left: list[Row], step: _Step, view: View, args: Arguments, frame: Frame) -> Callable[[Row], list[Row]]:
    keys, columns, table = step.keys, step.columns, step.table
    if keys is None:
        everything = [row for _, row in view.scan(table)]
        return lambda row: everything
    if len(left) < _HASH_JOIN_FROM or not step.hashable:
        seen: dict[Row, list[Row]] = {}

        def look_up(row: Row) -> list[Row]:
            key = keys(row, args, frame)
            found = seen.get(key)
            if found is None:
                found = [] if None in key else [other for _, other in view.lookup(table, columns, key)]
                seen[key] = found
            return found

        return look_up
    index: dict[Row, list[Row]] = {}
    for _, other in view.scan(table):
        index.setdefault(tuple([other[c] for c in columns]), []).append(other)
    none: list[Row] = []

    def probe(row: Row) -> list[Row]:
        key = keys(row, args, frame)
        return none if None in key else index.get(key, none)

    return probe

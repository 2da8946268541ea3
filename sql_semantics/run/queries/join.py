"""FROM and WHERE: the environment rows of a query (paper §7.1 for lookups instead of scans).

Items are joined from left to right, or as `arrange` puts them: a stored table by a lookup per left row where ON or
WHERE equates its columns with what is known by then, else by one scan. A WHERE conjunct that cannot raise is tested as
soon as its columns are there: later joins only extend a row, so that removes the same rows. What reads the joined item
only is tested before it is joined. Does not know guarded rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.ir.expressions import Expr
from sql_semantics.ir.queries import BaseTable, Derived, Identified, Source
from sql_semantics.ir.walks.traverse import can_raise, columns_read, conjunction, conjuncts, has_queries
from sql_semantics.plan.access import SPAN, AccessPath, ListedPath, SpanPath, access_path, listed_path, span_path
from sql_semantics.plan.arrangement import Arrangement, arrange
from sql_semantics.records import dataclass
from sql_semantics.run.delegating import DelegatingView
from sql_semantics.run.expressions.expressions import (
    Arguments,
    Emitter,
    Evaluate,
    EvaluateRow,
    Frame,
    Predicate,
    Row,
    compile_predicate,
    compile_row,
)
from sql_semantics.run.expressions.frames import query_frame
from sql_semantics.run.expressions.loops import Filter, compile_filter, loop_over
from sql_semantics.run.queries.probing import Found, Join, LookedUp, compile_join, hashed, undecided
from sql_semantics.run.queries.relations import Fetch, compile_relation
from sql_semantics.values.dialect import Dialect
from sql_semantics.view import RowId, View

Rows = Callable[[View, Arguments, Frame], list[Row]]
Seek = Callable[[View, Arguments, Frame], Iterable[tuple[RowId, Row]]]
Matches = Callable[[View, Arguments, Frame], list[tuple[RowId, Row]]]

_HASH_JOIN_FROM = 8000
"""Left rows from which one scan and a hash table replace the lookups."""

_HASH_AGAIN_FROM = 16
"""The same for a table that an item before has scanned: the second scan costs what the first did and looks at no other
rows."""


def compile_access(emitter: Emitter, table: str, path: AccessPath | ListedPath | SpanPath | None) -> tuple[str, str]:
    """Source of (statements that bind `pairs`, condition under which no row qualifies).

    The statements stand inside a function with `view`, `args` and `frame`; keys read no columns.
    """
    if path is None:
        return f"pairs = view.scan({table!r})", "False"
    if isinstance(path, ListedPath):
        listed = "".join(f"{emitter.value(key)}, " for key in path.keys)
        lookup = f"view.lookup({table!r}, {(path.column,)!r}, (key,))"
        found = f"for key in dict.fromkeys(({listed})) if key is not None for pair in {lookup}"
        return f"pairs = dict([pair {found}]).items()", "False"  # a view without index gives a row for every key
    if isinstance(path, SpanPath):
        return f"pairs = {emitter.name(_seek_in_span(emitter, table, path))}(view, args, frame)", "False"
    if path.may_raise:
        seek = _seek_or_scan(table, path.columns, [emitter.apart(key) for key in path.keys])
        return f"pairs = {emitter.name(seek)}(view, args, frame)", "False"
    keys = [emitter.value(key) for key in path.keys]
    names = [f"key{i}" for i in range(len(keys))]
    bind = "; ".join(f"{name} = {key}" for name, key in zip(names, keys, strict=True))
    empty = " or ".join(f"{name} is None" for name in names)
    lookup = f"view.lookup({table!r}, {path.columns!r}, ({', '.join(names)},))"
    return f"{bind}; pairs = () if {empty} else {lookup}", empty


class _Deciding(DelegatingView):
    """A view that notes in `chose` whether the DBMS might have gone several ways."""

    def __init__(self, view: View) -> None:
        super().__init__(view)
        self.chose = False

    def choose(self, count: int, what: str) -> int:
        """As the view below."""
        self.chose = True
        return super().choose(count, what)

    def arbitrary(self, what: str) -> None:
        """As the view below."""
        self.chose = True
        super().arbitrary(what)


def _seek_or_scan(table: str, columns: tuple[int, ...], keys: Sequence[Evaluate]) -> Seek:
    """The rows of a lookup by what functions answer; all rows where one of them raises or has several ways to go:
    what that means is seen where rows have it evaluated."""

    def rows(view: View, args: Arguments, frame: Frame) -> Iterable[tuple[RowId, Row]]:
        within = query_frame(frame)
        mark = view.suspend()
        view.resume(mark)
        deciding = within.view = _Deciding(view)
        try:
            key = tuple([evaluate((), args, frame) for evaluate in keys])
        except SqlError:
            view.resume(mark)
            return view.scan(table)
        finally:
            within.view = view
        if deciding.chose:
            return view.scan(table)
        return () if None in key else view.lookup(table, columns, key)

    return rows


def _seek_in_span(emitter: Emitter, table: str, path: SpanPath) -> Seek:
    """The rows of a lookup for each integer of a span; those of its prefix where it has too many, or a bound raises,
    which is seen where rows have it evaluated."""
    prefix = () if path.prefix is None else path.prefix.columns
    keys = [emitter.apart(key) for key in (() if path.prefix is None else path.prefix.keys)]
    low, high = emitter.apart(path.low), emitter.apart(path.high)
    columns, place, (up, down) = path.columns, path.place, path.steps

    def others(view: View, key: Row) -> Iterable[tuple[RowId, Row]]:
        return view.lookup(table, prefix, key) if prefix else view.scan(table)

    def rows(view: View, args: Arguments, frame: Frame) -> Iterable[tuple[RowId, Row]]:
        key = tuple([evaluate((), args, frame) for evaluate in keys])
        if None in key:
            return ()
        try:
            first, last = low((), args, frame), high((), args, frame)
        except SqlError:
            return others(view, key)
        if first is None or last is None:
            return ()
        if not isinstance(first, int) or not isinstance(last, int) or last - first > SPAN:
            return others(view, key)
        before, after = key[:place], key[place:]
        found: dict[RowId, Row] = {}
        for one in range(first + up, last + down + 1):
            found.update(view.lookup(table, columns, (*before, one, *after)))
        return found.items()

    return rows


def compile_matches(table: str, where: Expr | None, dialect: Dialect) -> Matches:
    """The rows of one table that satisfy a condition, with their identities, as a list."""
    emitter = Emitter(dialect)
    bind, _ = compile_access(emitter, table, access_path(where, dialect, may_raise=True))
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
    table: str,
    where: Expr | None,
    outputs: tuple[Expr, ...] | None,
    dialect: Dialect,
    may: bool,
    partial: bool,
    late: Sequence[Expr] = (),
    width: int | None = None,
) -> Rows:
    """The qualifying rows of one table (`outputs` None), or the tuple of `outputs` over each. Of those that `late`
    conditions on rows that begin with its `width` columns do not hold for, some may be left out.

    `may` marks the errors of `outputs`, `partial` those of the condition (not every row need be looked at).
    """
    emitter = Emitter(dialect, partial)
    partial = emitter.may

    def emit() -> tuple[str, str]:
        emitter.may = partial
        test = "True" if where is None else emitter.truth(where)
        emitter.may = may or dialect.rules.running.elides_errors
        return test, "row" if outputs is None else "(" + "".join(f"{emitter.value(e)}, " for e in outputs) + ")"

    path = _path(where, dialect, late, width)
    bind, _ = compile_access(emitter, table, path)
    if path is None:
        loop = loop_over(emitter, "for _, row in pairs", emit)
        return emitter.define(f"def rows(view, args, frame):\n    {bind}\n{loop}", "rows")
    test, result = emit()
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


def _path(
    where: Expr | None, dialect: Dialect, late: Sequence[Expr] = (), width: int | None = None
) -> AccessPath | ListedPath | SpanPath | None:
    """How the qualifying rows of one table are found; None: by a scan."""
    span = span_path(where, dialect, late, width)
    if span is not None:
        return span
    path = access_path(where, dialect) or listed_path(where, dialect)
    return path or access_path(where, dialect, may_raise=True)


@dataclass(frozen=True, slots=True)
class _Step:
    """How one source joins: its access path (keys over the left row), and what is tested on the joined row.

    `table` is the stored table, None for any other item; `fetch` gives all rows, for a LATERAL item per left row;
    `keep` are those of them that can be joined at all; from `hash_from` left rows on a hash table replaces lookups.
    """

    table: str | None
    identified: bool
    fetch: Fetch
    lateral: bool
    keep: Filter | None
    kind: str
    left_width: int
    width: int
    columns: tuple[int, ...]
    keys: EvaluateRow | None
    hashable: bool
    hash_from: int
    on: Predicate | None
    after: Predicate | None
    probe: Join
    hashed: Callable[[], Join]


def compile_sources(sources: tuple[Source, ...], where: Expr | None, dialect: Dialect, *, may: bool = False) -> Rows:
    """The environment rows of FROM that satisfy WHERE, in no particular order. Without sources: one empty row."""
    if not sources:
        test = None if where is None else compile_predicate(where, dialect, may=may)
        return lambda view, args, frame: [()] if test is None or test((), args, frame) else []
    if len(sources) == 1:
        relation = sources[0].relation
        if isinstance(relation, BaseTable):
            return compile_single(relation.name, where, None, dialect, may, may)
        if sources[0].kind == "cross" and not _is_lateral(sources[0]):
            return _filtered(compile_relation(relation, dialect), where, dialect)
    arrangement = arrange(sources, where, dialect)
    if arrangement is not None:
        return _arranged(arrangement, dialect)
    return _compile_in_order(sources, where, dialect)


def _arranged(arrangement: Arrangement, dialect: Dialect) -> Rows:
    fetch, written, last = arrangement.compiled(
        lambda sources, where: _compile_in_order(sources, where, dialect),
        lambda last: compile_predicate(last, dialect, may=True),
    )

    def rows(view: View, args: Arguments, frame: Frame) -> list[Row]:
        found = map(written, fetch(view, args, frame))
        return list(found) if last is None else [row for row in found if last(row, args, frame)]

    return rows


def _compile_in_order(sources: tuple[Source, ...], where: Expr | None, dialect: Dialect) -> Rows:
    start, steps, last = _plan(sources, where, dialect)

    def rows(view: View, args: Arguments, frame: Frame) -> list[Row]:
        current: list[Row] = [()] if start is None else start(view, args, frame)
        for step in steps:
            current = _join(current, step, view, args, frame)
        if last is not None:
            current = [row for row in current if last(row, args, frame)]
        return current

    return rows


def _filtered(fetch: Fetch, where: Expr | None, dialect: Dialect) -> Rows:
    """The rows of a query in FROM. Conditions may be evaluated inside of it, so their errors are `may`."""
    if where is None:
        return fetch
    test = compile_predicate(where, dialect, may=True)
    return lambda view, args, frame: [row for row in fetch(view, args, frame) if test(row, args, frame)]


def _is_lateral(source: Source) -> bool:
    return isinstance(source.relation, Derived) and source.relation.lateral


def _plan(
    sources: tuple[Source, ...], where: Expr | None, dialect: Dialect
) -> tuple[Rows | None, tuple[_Step, ...], Predicate | None]:
    """How the items are joined: the rows of the first one, where that is a table; the steps; what is tested last."""
    parts = conjuncts(where)
    late = tuple(part for part in parts if can_raise(part))
    early = [part for part in parts if not can_raise(part)]
    # What stands left of a RIGHT or FULL join may still be extended with NULLs there.
    extended = max((i for i, source in enumerate(sources) if source.kind in ("right", "full")), default=0)
    start: Rows | None = None
    scanned: set[str] = set()
    steps = []
    for number, source in enumerate(sources):
        if source.kind not in ("cross", "inner", "left", "right", "full"):
            raise Unsupported(f"{source.kind} join")
        end = source.offset + source.width
        ready: tuple[Expr, ...] = ()
        if number >= extended:
            ready = tuple(part for part in early if all(position < end for position in columns_read(part)))
            early = [part for part in early if part not in ready]
        inner = source.kind in ("cross", "inner")
        if number == 0 and inner and source.on is None and isinstance(source.relation, BaseTable):
            only = conjunction(ready)
            bounds = () if any(map(_may_fail, sources[1:])) else late
            start = compile_single(source.relation.name, only, None, dialect, False, False, bounds, source.width)
            if _path(only, dialect, bounds, source.width) is None:
                scanned.add(source.relation.name)
            continue
        usable = (*conjuncts(source.on), *ready) if inner else conjuncts(source.on)
        path = access_path(conjunction(usable), dialect, offset=source.offset, width=source.width)
        lateral = _is_lateral(source)
        if lateral:
            path = None
        plain = not lateral and source.kind not in ("right", "full")
        alone: tuple[Expr, ...] = ()
        on = source.on
        if plain:
            alone = tuple(part for part in usable if _is_of_item(part, source))
            on = conjunction(tuple(part for part in conjuncts(on) if part not in alone))
            ready = tuple(part for part in ready if not inner or part not in alone)
        only = conjunction(alone)
        after = conjunction(ready)
        table = source.relation.name if isinstance(source.relation, BaseTable | Identified) else None
        steps.append(
            _Step(
                table=table,
                identified=isinstance(source.relation, Identified),
                fetch=compile_relation(source.relation, dialect),
                lateral=lateral,
                keep=None if only is None else compile_filter(only, source.offset, dialect),
                kind=source.kind,
                left_width=source.offset,
                width=source.width,
                columns=() if path is None else path.columns,
                keys=None if path is None else compile_row(path.keys, dialect),
                hashable=path is not None and not path.padded,
                hash_from=_HASH_AGAIN_FROM if table in scanned else _HASH_JOIN_FROM,
                on=None if source.on is None or plain else compile_predicate(source.on, dialect, may=True),
                after=None if after is None or plain else compile_predicate(after, dialect),
                probe=_compile_probe(source, path, on, after, dialect),
                hashed=cache(partial(_compile_probe, source, path, on, after, dialect, decided=True)),
            )
        )
        if table is not None and path is None:
            scanned.add(table)
    remaining = conjunction(late)
    return start, tuple(steps), None if remaining is None else compile_predicate(remaining, dialect, may=True)


def _may_fail(source: Source) -> bool:
    """Whether an item may raise where it is joined to a row that the conditions on the joined ones would remove."""
    return not isinstance(source.relation, BaseTable) or (source.on is not None and can_raise(source.on))


def _is_of_item(part: Expr, source: Source) -> bool:
    """Whether a condition can be tested on rows of the item alone, before they are joined."""
    end = source.offset + source.width
    columns = columns_read(part)
    inside = bool(columns) and all(source.offset <= position < end for position in columns)
    return inside and not can_raise(part) and not has_queries(part)


def _compile_probe(
    source: Source,
    path: AccessPath | None,
    on: Expr | None,
    after: Expr | None,
    dialect: Dialect,
    *,
    decided: bool = False,
) -> Join:
    """The loop of an inner or left join; `decided`: the rows found by a key have all that a hash table decides."""
    outer = source.kind == "left"
    if decided and path is not None:
        on = undecided(on, path, dialect, source.offset, source.width)
        after = after if outer else undecided(after, path, dialect, source.offset, source.width)
    width = source.width if outer else None
    return compile_join(() if path is None else path.keys, on, after, width, dialect, hashed=decided)


def _join(left: list[Row], step: _Step, view: View, args: Arguments, frame: Frame) -> list[Row]:
    """The left rows extended by the matching rows of the step's item."""
    if step.kind in ("right", "full"):
        return _join_keeping_right(left, step, view, args, frame)
    if not left:
        return []
    if not step.lateral:
        join, found = _found(left, step, view, args, frame)
        return join(left, found, args, frame)
    candidates = _lateral(step, view, args, frame)
    on, after = step.on, step.after
    outer = step.kind == "left"
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
        if outer and not matched:
            whole = row + nulls
            if after is None or after(whole, args, frame):
                joined.append(whole)
    return joined


def _join_keeping_right(left: list[Row], step: _Step, view: View, args: Arguments, frame: Frame) -> list[Row]:
    """RIGHT and FULL joins: right rows without a match are kept, extended by NULLs on the left."""
    everything = step.fetch(view, args, frame)
    numbered = list(enumerate(everything))
    keys, columns = step.keys, step.columns
    index: dict[Row, list[tuple[int, Row]]] = {}
    if keys is not None and step.hashable:
        for item in numbered:
            index.setdefault(tuple([item[1][c] for c in columns]), []).append(item)
    on, after = step.on, step.after
    nulls = (None,) * step.width
    matched: set[int] = set()
    joined: list[Row] = []
    for row in left:
        candidates = numbered
        if keys is not None and step.hashable:
            key = keys(row, args, frame)
            candidates = [] if None in key else index.get(key, [])
        alone = True
        for number, right in candidates:
            whole = row + right
            if on is None or on(whole, args, frame):
                alone = False
                matched.add(number)
                joined.append(whole)
        if alone and step.kind == "full":
            joined.append(row + nulls)
    nulls = (None,) * step.left_width
    joined += [nulls + right for number, right in numbered if number not in matched]
    return joined if after is None else [row for row in joined if after(row, args, frame)]


def _found(left: list[Row], step: _Step, view: View, args: Arguments, frame: Frame) -> tuple[Join, Found]:
    """The loop to join by, and the right rows for it: by lookups, by a hash table, or all of them."""
    keep = step.keep
    if step.keys is not None and step.table is not None and (len(left) < step.hash_from or not step.hashable):
        kept = None if keep is None else lambda rows: keep(rows, args, frame)
        return step.probe, LookedUp(view, step.table, step.columns, step.identified, kept)
    rows = step.fetch(view, args, frame)
    if keep is not None:
        rows = keep(rows, args, frame)
    if step.keys is None:
        return step.probe, Found({}, rows)
    if not step.hashable:
        return step.probe, Found({}, rows)
    return step.hashed(), hashed(rows, step.columns)


def _lateral(step: _Step, view: View, args: Arguments, frame: Frame) -> Callable[[Row], list[Row]]:
    outside = query_frame(frame).rows
    fetch = step.fetch

    def fetch_for(row: Row) -> list[Row]:
        outside.append(row)
        try:
            return fetch(view, args, frame)
        finally:
            outside.pop()

    return fetch_for

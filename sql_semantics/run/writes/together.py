"""A statement under WITH items that write, against a concrete view (PostgreSQL 7.8.2).

Each part runs by itself on the rows as they were before the statement; what it writes is kept apart, so that no other
part sees it, and written in the end, when foreign keys are enforced once for all. In which order the DBMS runs the
parts is its own choice, between single rows even: where two of them write one row, or one looks for a key that another
one writes, the answer is not known. Does not know what the parts are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.ir.queries import OutputColumn, Query
from sql_semantics.ir.schema import Catalog
from sql_semantics.ir.statements import Delete, Insert, JoinedWrite, Merge, RowWrite, Together, Update
from sql_semantics.ir.walks.effects import written_tables
from sql_semantics.ir.walks.nesting import nested
from sql_semantics.outcome import Outcome
from sql_semantics.records import dataclass, replace
from sql_semantics.run.delegating import DelegatingView
from sql_semantics.run.expressions.expressions import Arguments, Frame
from sql_semantics.run.expressions.frames import QueryFrame
from sql_semantics.run.planned import planned
from sql_semantics.run.queries.queries import compile_query
from sql_semantics.run.writes.joined import compile_joined_write
from sql_semantics.run.writes.merge import compile_merge
from sql_semantics.run.writes.rows.references import Change, Enforce
from sql_semantics.run.writes.rows.triggers import compile_consequences, refuse_before
from sql_semantics.run.writes.write import Write, compile_delete, compile_insert, compile_update
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import Value
from sql_semantics.view import Mark, Row, RowId, View


@dataclass(frozen=True, slots=True, eq=False)
class _New:
    """The identity of a row that a part inserted, for as long as it is kept apart."""

    table: str


class _Apart(DelegatingView):
    """The view of one part, which sees its own writes only. `changes` are these, in order, and `sought` the keys that
    it looked for among the newest rows: table, columns, values."""

    def __init__(self, view: View) -> None:
        super().__init__(view)
        self._kept: dict[RowId, tuple[str, Row | None]] = {}
        self.changes: list[Change] = []
        self.sought: list[tuple[str, tuple[int, ...], tuple[Value, ...]]] = []

    def current(self, table: str, row: RowId, values: Row, *, locks: bool = True) -> Row | None:
        """Own writes first."""
        return values if row in self._kept else self._view.current(table, row, values, locks=locks)

    def scan(self, table: str) -> Iterable[tuple[RowId, Row]]:
        """Own writes first."""
        return self._over(table, self._view.scan(table))

    def lookup(self, table: str, columns: Sequence[int], key: Sequence[Value]) -> Iterable[tuple[RowId, Row]]:
        """Own writes first."""
        return self._over(table, self._view.lookup(table, columns, key))

    def rivals(self, table: str, columns: Sequence[int], key: Sequence[Value]) -> Iterable[tuple[RowId, Row]]:
        """Own writes first."""
        self.sought.append((table, tuple(columns), tuple(key)))
        return self._over(table, self._view.rivals(table, columns, key))

    def held(self, table: str, columns: Sequence[int], key: Sequence[Value]) -> Iterable[tuple[RowId, Row]]:
        """Own writes first."""
        self.sought.append((table, tuple(columns), tuple(key)))
        return self._over(table, self._view.held(table, columns, key))

    def own(self, table: str) -> Iterable[tuple[RowId, Row]]:
        """Own writes first."""
        return self._over(table, self._view.own(table))

    def _over(self, table: str, rows: Iterable[tuple[RowId, Row]]) -> Iterable[tuple[RowId, Row]]:
        if not self._kept:
            return rows
        found = [(row, values) for row, values in rows if row not in self._kept]
        found += [(row, new) for row, (of, new) in self._kept.items() if of == table and new is not None]
        return found

    def insert(self, table: str, values: Row) -> RowId:
        """Kept apart."""
        row = _New(table)
        self._kept[row] = table, values
        return row

    def update(self, table: str, row: RowId, values: Row) -> None:
        """Kept apart."""
        self._kept[row] = table, values

    def delete(self, table: str, row: RowId) -> None:
        """Kept apart."""
        self._kept[row] = table, None

    def savepoint(self) -> Mark:
        """The writes kept so far."""
        return dict(self._kept)

    def rollback(self, mark: Mark) -> None:
        """Back to those."""
        self._kept = dict(mark)


def compile_together(
    statement: Together, catalog: Catalog, dialect: Dialect
) -> Callable[[View, Arguments, Frame], Outcome]:
    """f(view, args, frame): does not call `view.begin`. Raises as `compile_statement` says."""
    items = [(item, _compile_part(item.write, catalog, dialect)) for item in statement.items]
    main = statement.main
    query = compile_query(main, dialect) if isinstance(main, Query) else None
    write = None if isinstance(main, Query) else _compile_part(main, catalog, dialect)
    refuse_before(statement, catalog)
    enforce = compile_consequences(statement, catalog, dialect)
    if enforce is not None and _acts_on_others(statement, catalog):
        raise Unsupported("WITH items that change data beside a foreign key that acts on other rows")

    def run(view: View, args: Arguments, frame: Frame) -> Outcome:
        shared = QueryFrame(view, frame)
        parts: list[_Apart] = []
        for item, compute in items:
            parts.append(_Apart(view))
            returned = compute(parts[-1], args, shared)[2]
            shared.memo[item] = {(): [] if returned is None else _inner(returned.rows, item.write.returning or ())}
        if query is not None:
            outcome = Outcome([query(view, args, shared)])
        elif write is not None:
            parts.append(_Apart(view))
            affected, matched, result = write(parts[-1], args, shared)
            outcome = Outcome([] if result is None else [result], affected, matched)
        _check_order(parts)
        _write(view, parts, enforce)
        return outcome

    whole: Callable[[View, Arguments, Frame], Outcome] = run
    for part in (main, *(item.write for item in statement.items)):
        whole = planned(part, whole, dialect)
    return whole


def _compile_part(statement: RowWrite, catalog: Catalog, dialect: Dialect) -> Write:
    match statement:
        case Insert():
            return compile_insert(statement, catalog, dialect, enforce=_keep)
        case Update():
            return compile_update(statement, catalog, dialect, enforce=_keep)
        case Delete():
            return compile_delete(statement, catalog, dialect, enforce=_keep)
        case JoinedWrite():
            return compile_joined_write(statement, catalog, dialect, enforce=_keep)
        case Merge():
            return compile_merge(statement, catalog, dialect, enforce=_keep)


def _keep(view: View, changes: Sequence[Change]) -> Sequence[Change]:
    """A part is over; foreign keys are looked at when all parts are."""
    assert isinstance(view, _Apart)
    view.changes.extend(changes)
    return changes


def _inner(rows: list[Row], returning: Sequence[OutputColumn]) -> list[Row]:
    """What RETURNING answers, as the other parts read it: CHAR(n) without its blanks."""
    padded = [place for place, output in enumerate(returning) if output.expression.type.padded]
    if not padded:
        return rows
    return [
        tuple([value.rstrip(" ") if place in padded and isinstance(value, str) else value for place, value in cells])
        for cells in map(enumerate, rows)
    ]


def _acts_on_others(statement: Together, catalog: Catalog) -> bool:
    """Whether several parts write, and a foreign key acts on what some of them did before all of them are over."""
    parts = [part for part in nested(statement) if not isinstance(part, Query)]
    keys = (key for name, _ in written_tables(parts, catalog) for _, key in catalog.references_to(name))
    return len(parts) > 1 and any(key.acts for key in keys)


def _check_order(parts: Sequence[_Apart]) -> None:
    """Raises Unsupported where what the parts did hangs on which came first."""
    for part in parts:
        for other in parts:
            if other is part:
                continue
            written = {change.identity for change in other.changes}
            if any(change.identity in written for change in part.changes):
                raise Unsupported("a row that two parts of a statement with WITH items change")
            for table, columns, key in part.sought:
                for change in other.changes:
                    versions = (row for row in (change.old, change.new) if row is not None)
                    if change.table == table and any(_has(row, columns, key) for row in versions):
                        raise Unsupported("a key in a conflict clause that another part of the statement writes")


def _has(row: Row, columns: Sequence[int], key: Sequence[Value]) -> bool:
    return all(row[column] == value for column, value in zip(columns, key, strict=False))


def _write(view: View, parts: Sequence[_Apart], enforce: Enforce | None) -> None:
    """What the parts wrote, at last, and the foreign keys; nothing is left of it where these fail."""
    mark = None if enforce is None else view.savepoint()
    done: list[Change] = []
    for part in parts:
        identities: dict[RowId, RowId] = {}
        for change in part.changes:
            identity = identities.get(change.identity, change.identity)
            if change.old is None and change.new is not None:
                identity = identities[change.identity] = view.insert(change.table, change.new)
            elif change.new is not None:
                view.update(change.table, identity, change.new)
            else:
                view.delete(change.table, identity)
            done.append(replace(change, identity=identity))
    if enforce is None or not done:
        return
    try:
        enforce(view, done)
    except SqlError:
        view.rollback(mark)
        raise

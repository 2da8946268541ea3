"""Triggers FOR EACH ROW (PostgreSQL 37.1): before a row is written, and when the statement and its keys are over.

The triggers of a statement that are run after it come row by row, in the order of the writes, and by name for one row;
those that rows bring along which foreign keys changed come behind them. Does not know what triggers do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.ir.queries import BaseTable, Identified
from sql_semantics.ir.schema import Catalog, Trigger
from sql_semantics.ir.statements import Insert, Statement, Together, Write
from sql_semantics.ir.walks.effects import reached, triggers_of, written_tables
from sql_semantics.ir.walks.parts import walk_parts
from sql_semantics.records import dataclass, field
from sql_semantics.run.delegating import DelegatingView
from sql_semantics.run.expressions.expressions import Predicate, compile_predicate
from sql_semantics.run.writes.rows.references import Change, Enforce, compile_references
from sql_semantics.values.dialect import Dialect
from sql_semantics.view import Row, RowId, View

DEPTH = 30
"""Triggers that fire triggers beyond which they are not followed."""
ORDER = "the order in which the triggers of several rows are run"


@dataclass(frozen=True, slots=True)
class Before:
    """`run`: f(view, old row, new row) -> the row that is written, or (of a deletion) the one that goes; None: nothing
    is done. `commute` as in `_commute`."""

    run: Callable[[View, Row | None, Row | None], Row | None]
    commute: bool


def compile_consequences(statement: Write | Together, catalog: Catalog, dialect: Dialect) -> Enforce | None:
    """As `compile_references`, with the triggers that are run when all of that is over."""
    references = compile_references(statement, catalog, dialect)
    fired = [trigger for trigger in triggers_of_all(statement, catalog) if not trigger.before]
    if not fired:
        return references
    return _Firing(references, catalog, dialect, _commute(fired, catalog, None)).enforce


def triggers_of_all(statement: Statement, catalog: Catalog) -> list[Trigger]:
    """The triggers of a statement's parts, too."""
    if not isinstance(statement, Together):
        return triggers_of(statement, catalog)
    parts = [statement.main, *(item.write for item in statement.items)]
    return list(dict.fromkeys(trigger for part in parts for trigger in triggers_of(part, catalog)))


def refuse_before(statement: Statement, catalog: Catalog) -> None:
    """Raise Unsupported for a statement with triggers that are run before its rows are written."""
    for trigger in triggers_of_all(statement, catalog):
        if trigger.before:
            raise Unsupported(f"{trigger.construct}, before such a write")


def compile_before(statement: Write, table: str, event: str, catalog: Catalog, dialect: Dialect) -> Before | None:
    """What the triggers make of a row before it is written; None where there are none. Raises Unsupported where foreign
    keys bring rows along that have such triggers; running it does where a trigger writes to the same table."""
    found = [trigger for trigger in triggers_of(statement, catalog) if trigger.before]
    own = [trigger for trigger in found if trigger in catalog.triggers.get(table, ()) and event in trigger.events]
    for trigger in found:
        if trigger not in own:
            raise Unsupported(f"{trigger.construct}, before a foreign key's action")
    if not own:
        return None
    runs = [(_compile(trigger, catalog, dialect), _writing(trigger, table, catalog)) for trigger in own]

    def before(view: View, old: Row | None, new: Row | None) -> Row | None:
        _refuse_inside(view, table)
        row = new if event != "delete" else old
        for run, writes in runs:
            seen = view if writes is None else _Unwritten(view, table, writes)
            found = run(seen, event, old, row if event != "delete" else None)
            if found is None:
                return None
            if found is not _SPARED and event != "delete":
                row = found
        return row

    return Before(before, _commute(own, catalog, table))


def _writing(trigger: Trigger, table: str, catalog: Catalog) -> str | None:
    """The trigger's name, where its function may write to the table."""
    body = [] if trigger.routine.procedure is None else trigger.routine.procedure.body
    return trigger.construct if any(name == table for name, _ in written_tables(body, catalog)) else None


class _Unwritten(DelegatingView):
    """The view of a trigger while a row of the `table` is being written. A write to this table raises Unsupported: what
    that row, or a later one of the statement, is then, is not modelled."""

    def __init__(self, view: View, table: str, construct: str) -> None:
        super().__init__(view)
        self._table = table
        self._construct = construct

    def update(self, table: str, row: RowId, values: Row) -> None:
        """Of another table."""
        self.refuse(table)
        self._view.update(table, row, values)

    def delete(self, table: str, row: RowId) -> None:
        """Of another table."""
        self.refuse(table)
        self._view.delete(table, row)

    def insert(self, table: str, values: Row) -> RowId:
        """Into another table."""
        self.refuse(table)
        return self._view.insert(table, values)

    def refuse(self, table: str) -> None:
        """Raise Unsupported for the view's table."""
        if table == self._table:
            raise Unsupported(f"{self._construct}, which writes to that table")


def _refuse_inside(view: View, table: str) -> None:
    """Raise Unsupported where a trigger of a row of the table is about to write another one."""
    while isinstance(view, DelegatingView):
        if isinstance(view, _Unwritten):
            view.refuse(table)
        view = view.below


_SPARED: Row = ("the condition of the trigger does not hold",)


def _commute(fired: Sequence[Trigger], catalog: Catalog, between: str | None) -> bool:
    """Whether it makes no difference in which order the triggers of several rows are run: they insert rows into tables
    that they do not read, and do nothing else. `between`: the table to which a row is written after those of each."""
    bodies = [trigger.routine.procedure.body for trigger in fired if trigger.routine.procedure is not None]
    statements = [inner for body in bodies for inner in body]
    statements += [inner for procedure in reached(statements, catalog) for inner in procedure.body]
    written = written_tables(statements, catalog)
    read = {part.name for part in walk_parts(tuple(statements)) if isinstance(part, BaseTable | Identified)}
    conflicts = any(isinstance(part, Insert) and part.conflict is not None for part in walk_parts(tuple(statements)))
    return (
        not conflicts
        and between not in read
        and all(action == "insert" and name not in read for name, action in written)
    )


@dataclass(slots=True)
class _Firing:
    """The foreign keys and the triggers of one statement."""

    references: Enforce | None
    catalog: Catalog
    dialect: Dialect
    commute: bool
    _runs: dict[str, Callable[..., Row | None]] = field(default_factory=dict)
    _depth: int = 0

    def enforce(self, view: View, changes: Sequence[Change]) -> Sequence[Change]:
        """See `compile_consequences`."""
        done = changes
        if self.references is not None:
            try:
                done = self.references(view, changes)
            except SqlError as error:
                if len(changes) > 1:
                    raise Unsupported("a foreign key that is violated beside triggers of several rows") from error
                raise
            if len(done) > len(changes) > 1:
                raise Unsupported("actions of foreign keys beside triggers of several rows")
        waiting = list(self._waiting(done))
        if not self.commute and len({id(change) for change, _ in waiting}) > 1:
            view.arbitrary(ORDER)
        if self._depth >= DEPTH:
            raise Unsupported(f"triggers that fire triggers more than {DEPTH} deep")
        self._depth += 1
        try:
            for change, trigger in waiting:
                self._run(trigger)(view, _event(change), change.old, change.new)
        except SqlError:
            if len(waiting) > 1:  # another may fail first, and with another error
                view.arbitrary(ORDER)
            raise
        finally:
            self._depth -= 1
        return done

    def _waiting(self, changes: Sequence[Change]) -> Iterator[tuple[Change, Trigger]]:
        """The triggers that the changes fire, whether their conditions hold or not."""
        for change in changes:
            event = _event(change)
            for trigger in self.catalog.triggers.get(change.table, ()):
                if trigger.before or event not in trigger.events:
                    continue
                if event == "update" and trigger.columns is not None:
                    if change.assigned is None:
                        raise Unsupported(f"{trigger.construct}, of columns, after such a write")
                    if not trigger.columns & change.assigned:
                        continue
                yield change, trigger

    def _run(self, trigger: Trigger) -> Callable[..., Row | None]:
        found = self._runs.get(trigger.construct)
        if found is None:
            found = self._runs[trigger.construct] = _compile(trigger, self.catalog, self.dialect)
        return found


def _event(change: Change) -> str:
    return "insert" if change.old is None else "delete" if change.new is None else "update"


def _compile(trigger: Trigger, catalog: Catalog, dialect: Dialect) -> Callable[..., Row | None]:
    """f(view, event, old row, new row) -> the row that it gives back, `_SPARED` where its condition does not hold."""
    from sql_semantics.run.routines.routines import invoker  # routines hold writes

    dialect = dialect.in_routine()
    holds: Predicate | None = None
    if trigger.condition is not None:
        holds = compile_predicate(trigger.condition, dialect)
    invoke = invoker(trigger.routine, dialect)

    def run(view: View, event: str, old: Row | None, new: Row | None) -> Row | None:
        present = old if old is not None else new
        assert present is not None
        nulls: Row = (None,) * len(present)
        both = (*(old or nulls), *(new or nulls))
        if holds is not None and not holds(both, (), []):
            return _SPARED
        found: Row | None = invoke(view, (*both, event.upper()), None)
        return found

    return run

"""Triggers FOR EACH ROW (PostgreSQL 37.1): before a row is written, and when the statement and its keys are over.

The triggers of a statement that are run after it come row by row, in the order of the writes, and by name for one row;
those that rows bring along which foreign keys changed come behind them. Does not know what triggers do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.ir.schema import Catalog, Trigger
from sql_semantics.ir.statements import Statement, Together, Write
from sql_semantics.ir.walks.effects import triggers_of, written_tables
from sql_semantics.records import dataclass, field
from sql_semantics.run.delegating import DelegatingView
from sql_semantics.run.expressions.expressions import Predicate, compile_predicate
from sql_semantics.run.writes.rows.intertwined import apart, beside_references, commute, numbered, refuse_at_once
from sql_semantics.run.writes.rows.references import Change, Enforce, compile_references
from sql_semantics.values.dialect import Dialect
from sql_semantics.view import Row, RowId, View

DEPTH = 30
"""Triggers that fire triggers beyond which they are not followed."""
ORDER = "the order in which the triggers of several rows are run"
IN_NO_ORDER = "several triggers of a row, which are run in no certain order"


@dataclass(frozen=True, slots=True)
class Before:
    """`run`: f(view, old row, new row) -> the row that is written, or (of a deletion) the one that goes; None: nothing
    is done. `commute`: it makes no difference in which order several rows come; `apart`: nor that rows are written in
    between triggers."""

    run: Callable[[View, Row | None, Row | None], Row | None]
    commute: bool
    apart: bool


def compile_consequences(statement: Write | Together, catalog: Catalog, dialect: Dialect) -> Enforce | None:
    """As `compile_references`, with the triggers that are run when all of that is over."""
    references = compile_references(statement, catalog, dialect)
    every = triggers_of_all(statement, catalog)
    at_once = dialect.rules.running.fires_at_once
    if at_once:
        refuse_at_once(statement, every, catalog, dialect)
    fired = [trigger for trigger in every if not trigger.before]
    if not fired:
        return references
    separate = not at_once or apart(statement, every, catalog)
    indifferent = commute(fired, catalog, None) and not (at_once and numbered(every, catalog))
    waits = beside_references(statement, every, catalog, dialect)
    return _Firing(references, catalog, dialect, indifferent and separate, separate, waits).enforce


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
    rules = dialect.rules
    for trigger in found:
        if trigger not in own and rules.running.actions_fire:
            raise Unsupported(f"{trigger.construct}, before a foreign key's action")
    if not own:
        return None
    at_once = rules.running.fires_at_once
    every = triggers_of(statement, catalog)
    separate = not at_once or apart(statement, every, catalog)
    between = None if at_once else table
    indifferent = separate and commute(own, catalog, between) and not (at_once and numbered(every, catalog))
    if len(own) > 1 and not indifferent and rules.definitions.trigger_order == "none":
        raise Unsupported(IN_NO_ORDER)
    waits = beside_references(statement, every, catalog, dialect)
    runs = [(_compile(trigger, catalog, dialect, waits), _writing(trigger, table, catalog)) for trigger in own]

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

    return Before(before, indifferent, separate)


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


@dataclass(slots=True)
class _Firing:
    """The foreign keys and the triggers of one statement; `waits`: these keys are checked when all is done. `commute`
    and `apart` as in `Before`."""

    references: Enforce | None
    catalog: Catalog
    dialect: Dialect
    commute: bool
    apart: bool
    waits: bool
    _runs: dict[str, Callable[..., Row | None]] = field(default_factory=dict)
    _depth: int = 0

    def enforce(self, view: View, changes: Sequence[Change]) -> Sequence[Change]:
        """See `compile_consequences`."""
        rules = self.dialect.rules
        done = changes
        written = [change for change in changes if not change.kept]
        if self.references is not None and written:
            try:
                done = [*(change for change in changes if change.kept), *self.references(view, written)]
            except SqlError as error:
                if len(changes) > 1 or self.waits:
                    raise Unsupported("a foreign key that is violated beside triggers of several rows") from error
                raise
            if len(done) > len(changes) > 1:
                raise Unsupported("actions of foreign keys beside triggers of several rows")
        waiting = list(self._waiting(done if rules.running.actions_fire else changes))
        rows = len({id(change) for change, _ in waiting})
        if waiting and not self.apart and len(done) > 1:
            raise Unsupported("triggers of several rows, each of which sees what those before it left")
        if not self.commute and rows < len(waiting) and rules.definitions.trigger_order == "none":
            raise Unsupported(IN_NO_ORDER)
        if not self.commute and rows > 1:
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
            found = self._runs[trigger.construct] = _compile(trigger, self.catalog, self.dialect, self.waits)
        return found


def _event(change: Change) -> str:
    return "insert" if change.old is None else "delete" if change.new is None else "update"


def _compile(trigger: Trigger, catalog: Catalog, dialect: Dialect, waits: bool) -> Callable[..., Row | None]:
    """f(view, event, old row, new row) -> the row that it gives back, `_SPARED` where its condition does not hold.
    `waits` as in `_Firing`: what fails in it may be such a key."""
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
        try:
            found: Row | None = invoke(view, (*both, event.upper()), None)
        except SqlError as error:
            if waits:
                raise Unsupported("a trigger that fails beside foreign keys") from error
            raise
        return found

    return run

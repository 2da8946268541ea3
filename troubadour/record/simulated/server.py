"""The simulated server: snapshots, commits with first committer wins, and what goes wrong with them.

At ``snapshot`` a transaction reads the state before its first statement, at ``read-committed`` each statement the state
before it; at ``serializable`` a commit is refused where a table that was read has changed since. Nothing ever waits:
who would have to is refused at its commit. Knows neither sessions nor logs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sql_semantics.errors import SqlError
from sql_semantics.library import SqlLibrary
from sql_semantics.records import dataclass, field
from sql_semantics.view import Row, RowId
from troubadour.record.errors import RecordError
from troubadour.record.simulated.faults import Faults
from troubadour.record.simulated.store import State, StateView, Writes, each, over

LEVELS = ("read-committed", "snapshot", "serializable")
SKEW = 40
"""Ticks that a clock may be off."""


@dataclass(eq=False)
class Running:
    """A transaction under way: its view, and the server's time of its snapshot. Timestamps are told as the server's
    clock has them, which may be wrong."""

    view: StateView
    start: int
    skew: int = 0


@dataclass
class _Hidden:
    """Rows of a commit that are not shown yet, each with what is shown instead, for so many more snapshots."""

    rows: Writes
    shown: int


@dataclass
class SimulatedServer:
    """`initial` rows by table, in the order of the schema's columns. `clock` counts events. Raises RecordError for a
    level that is not in `LEVELS` and for foreign keys, which it does not keep."""

    library: SqlLibrary
    initial: Mapping[str, Sequence[Row]]
    level: str
    faults: Faults
    clock: int = 0
    states: list[State] = field(init=False)

    def __post_init__(self) -> None:
        if self.level not in LEVELS:
            raise RecordError(f"the simulated server has no level {self.level!r}, only {', '.join(LEVELS)}")
        if self.library.has_references:
            raise RecordError("the simulated server keeps no foreign keys")
        self._identities = 0
        self._running: list[Running] = []
        self._hidden: _Hidden | None = None
        self._late: Writes | None = None
        first: dict[str, dict[RowId, Row]] = {table: {} for table in self.library.catalog.tables}
        for table, rows in self.initial.items():
            first[table] = {self._fresh(): tuple(row) for row in rows}
        self.states = [first]

    def tick(self) -> int:
        """The next moment."""
        self.clock += 1
        return self.clock

    def begin(self) -> Running:
        """A transaction with the snapshot of this moment."""
        view = StateView(self._snapshot(), lambda: self.states[-1], self._fresh, self.faults)
        running = Running(view, self.tick())
        if self.faults.now("clock-skew"):
            running.skew = self.faults.random.choice((-1, 1)) * self.faults.random.randint(SKEW // 4, SKEW)
        self._running.append(running)
        return running

    def statement(self, running: Running) -> None:
        """Before each statement but the first."""
        if self.level == "read-committed":
            running.view.base = self._snapshot()

    def commit(self, running: Running) -> int | None:
        """The timestamp of the commit; None where it is refused, and undone."""
        self._running.remove(running)
        writes = {table: rows for table, rows in running.view.writes.items() if rows}
        if self._refused(running, writes):
            self._undo(writes, running)
            return None
        if writes:
            self._install(self._spoilt(writes))
        return self.tick()

    def rollback(self, running: Running) -> None:
        """Forget what it wrote."""
        self._running.remove(running)
        self._undo({table: rows for table, rows in running.view.writes.items() if rows}, running)

    def _snapshot(self) -> State:
        faults = self.faults
        if len(self.states) > 1 and faults.now("stale-snapshot"):
            return self.states[max(0, len(self.states) - 1 - faults.random.randint(1, 5))]
        newest = self.states[-1]
        if self._hidden is not None:
            shown = over(newest, self._hidden.rows)
            self._hidden.shown -= 1
            if not self._hidden.shown:
                self._hidden = None
            return shown
        others = [other for other in self._running if any(other.view.writes.values())]
        if others and faults.now("dirty-read"):
            return over(newest, faults.random.choice(others).view.writes)
        return newest

    def _refused(self, running: Running, writes: Writes) -> bool:
        newest, view = self.states[-1], running.view
        for table, identity, row in each(writes):
            before = view.base[table].get(identity)
            changed = newest[table].get(identity) is not before
            if self.level == "read-committed":
                changed = before is not None and identity not in newest[table]
            if changed and not self.faults.now("lost-update"):
                return True
            if self._late is not None and identity in self._late.get(table, {}):
                return True
            if row is not None and self.faults.kind != "uniqueness" and self._clashes(table, identity, row, writes):
                return True
        if self.level == "serializable":
            changed = any(newest[table] is not view.base[table] for table in view.read)
            return changed and not self._overlooked(running)
        return False

    def _overlooked(self, running: Running) -> bool:
        """Whether what was read has changed, but that goes unnoticed."""
        if self.faults.kind == "missed-conflict":
            return self.faults.now("missed-conflict")
        newest, base = self.states[-1], running.view.base
        kinds = set()
        for table in running.view.read:
            old, new = base[table], newest[table]
            for identity in old.keys() | new.keys():
                if old.get(identity) is new.get(identity):
                    continue
                if identity not in old:
                    again = self._versions(table, identity) > 1
                    kinds.add("updated-insert" if again and self.faults.kind == "updated-insert" else "missed-insert")
                else:
                    kinds.add("missed-delete" if identity not in new else "missed-conflict")
        return len(kinds) == 1 and self.faults.now(kinds.pop())

    def _versions(self, table: str, identity: RowId) -> int:
        """How many versions a row has had."""
        return len({id(state[table][identity]) for state in self.states if identity in state[table]})

    def check_keys(self, running: Running, before: Writes) -> None:
        """After a statement: raises SqlError 23505 where a row that it gave a new key has the key of another, in the
        newest state or of the transaction's own. `before`: the transaction's writes before the statement."""
        writes, base = running.view.writes, running.view.base
        for table, identity, row in each(writes):
            if row is None:
                continue
            old = before[table].get(identity, base[table].get(identity))
            if old is not None and all(key.value(old) == key.value(row) for key in self.library.keys[table]):
                continue
            if self._clashes(table, identity, row, writes) and not self.faults.now("uniqueness"):
                raise SqlError("23505", "a row with this key exists already")

    def _clashes(self, table: str, identity: RowId, row: Row, writes: Writes) -> bool:
        """Whether another row has one of its keys: of the newest state, about to be there, or of the same writes."""
        own = writes.get(table, {})
        others = [found for other, found in own.items() if other != identity]
        for rows in (self.states[-1][table], (self._late or {}).get(table, {})):
            others += [found for other, found in rows.items() if other not in own]
        for key in self.library.keys[table]:
            value = key.value(row)
            if value is not None:
                for other in others:
                    theirs = None if other is None else key.value(other)
                    if theirs is not None and key.equal(value, theirs):
                        return True
        return False

    def _spoilt(self, writes: Writes) -> Writes:
        if self.faults.now("write-dropped"):
            table, identity, _ = self.faults.random.choice(list(each(writes)))
            kept = {name: dict(rows) for name, rows in writes.items()}
            del kept[table][identity]
            return kept
        return writes

    def _install(self, writes: Writes) -> None:
        late, self._late = self._late, None
        before = self.states[-1]
        if late is None and self.faults.now("order-inversion"):
            self._late = writes
            return
        self.states.append(over(before, writes))
        if late is not None:
            self.states.append(over(self.states[-1], late))
        rows = list(each(writes))
        if self._hidden is None and len(rows) > 1 and self.faults.now("non-atomic-visibility"):
            hidden: Writes = {}
            for table, identity, _ in self.faults.random.sample(rows, self.faults.random.randint(1, len(rows) - 1)):
                hidden.setdefault(table, {})[identity] = before[table].get(identity)
            self._hidden = _Hidden(hidden, self.faults.random.randint(1, 3))

    def _undo(self, writes: Writes, running: Running) -> None:
        """Nothing was installed, so there is nothing to undo; unless the fault is that it was."""
        if not writes or self.faults.kind != "aborted-read":
            return
        newest, base = self.states[-1], running.view.base
        for table, identity, row in each(writes):
            if newest[table].get(identity) is not base[table].get(identity):
                return
            if row is not None and self._clashes(table, identity, row, writes):
                return
        if self.faults.now("aborted-read"):
            self.states.append(over(newest, writes))

    def _fresh(self) -> int:
        self._identities += 1
        return self._identities

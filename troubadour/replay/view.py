"""What a transaction sees under a witness: one state, exceptions, own writes first (paper §3.2, readVal).

A `sql_semantics.view.View` over the store. Does not know which states the level allows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import msgspec

from sql_semantics.errors import Unsupported
from sql_semantics.ir.walks.effects import within
from sql_semantics.outcome import Locked
from sql_semantics.run.delegating import DelegatingView
from sql_semantics.run.writes.rows.chosen import last_rowid
from sql_semantics.values.types import SqlType, Value
from sql_semantics.view import Acting, Mark, Row, RowId, View
from troubadour.execution.observations.locked_rows import Claim
from troubadour.execution.views.first_of_key import Sought, by_one_key, shown_of_each_key
from troubadour.model.log import TransactionId
from troubadour.replay.clustered import KeysWritten
from troubadour.replay.store import RowName, Store, StoredTable, Versions
from troubadour.replay.witness.drawn import Draws
from troubadour.replay.witness.reads import Exceptions, Execution, FreeChoices, LateRead, RowStates, StatementReads

Found = list[tuple[RowId, Row]]
OwnRows = Mapping[RowName, Row | None]


class WitnessView:
    """Reads of one transaction from `state`, but for the `exceptions`. Constraints meet the rows of state `newest`
    (None: those that are read). `statements` may say otherwise of single executions; `taken` lists what each of
    them read. `rechecks`: see `View`. With `acts` what writes or locks reads the newest state, and own writes hide
    the others' rows by clustered key. With `by_row` it reads the rows in `exceptions` from those states, none older
    than that of the execution, which the others come from; what it writes or locks must be the newest version, and
    `kept` is the latest state that made such a one, by execution. Exceptions of other executions do not count then.
    With `locks` what a query locks must not be newer than what it reads. `once`: see
    `PreparedTransaction.looked_up_once`.

    No read of states sees the versions made by those in `hidden`. `late[n]` are the states made by commits that
    statement n cannot depend on: unlisted rows skip their versions, listed ones raise LateRead. `choices` are the
    values that the DBMS chose, by (statement, execution, ordinal); those used are `drawn`. The statements in
    `released` failed or were undone, so that what they locked was free again; `outdated` are rows, with the
    statement, that were locked for good in another version than the newest. Without them what needs such a value is
    Unsupported.
    """

    def __init__(
        self,
        store: Store,
        transaction: TransactionId,
        state: int,
        exceptions: Exceptions | None = None,
        late: Sequence[Collection[int]] | None = None,
        newest: int | None = None,
        choices: FreeChoices | None = None,
        statements: StatementReads | None = None,
        hidden: Collection[int] = (),
        *,
        released: Collection[int] = (),
        rechecks: bool = False,
        acts: bool = False,
        by_row: bool = False,
        locks: bool = False,
        apart: bool = False,
        once: Mapping[int, Mapping[str, bool]] | None = None,
    ) -> None:
        self._once = once or {}
        self.rechecks = rechecks
        self._acts = acts
        self._by_row = by_row
        self.locks = locks
        self.apart = apart
        self._in_moments = False
        self._kind: Acting = "reads"
        self._caller: Acting | None = None
        self.kept: dict[Execution, int] = {}
        self._released = released
        self._blocks = 0
        self.outdated: list[tuple[int, RowName]] = []
        self._address: Execution = (0, -1)
        self._newest = newest
        self._defaults = state, newest
        self._statements = statements
        self.taken: dict[Execution, tuple[int, int | None]] = {}
        self._store = store
        self._author = msgspec.json.encode(transaction).decode()
        self._state = state
        self._all_exceptions = exceptions
        self._all_late = late
        self._hidden = hidden
        self._statement = 0
        self._execution = -1
        self._exceptions: RowStates | None = None
        self._late: Collection[int] = ()
        self._skipped: Collection[int] = hidden
        self._inserted: dict[str, int] = {}
        self._last_inserted: tuple[str, Sequence[Value]] | None = None
        self.savepoints: list[tuple[str, Mark]] = []
        self._draws = Draws(choices)
        self.drawn = self._draws.made
        self.used = self._draws.used
        self.writes: dict[str, dict[RowName, Row | None]] = {}
        self._keys = KeysWritten()

    def statement(self, index: int) -> None:
        """The logged statement `index` begins."""
        self._statement = index
        self._execution = -1
        if self._all_late is not None:
            self._late = self._all_late[index]
            self._skipped = {*self._late, *self._hidden} if self._hidden else self._late

    def begin(self, acting: Acting = "reads") -> None:
        """The next SQL statement execution inside the logged statement begins."""
        self._execution += 1
        self._kind = acting = within(acting, self._caller)
        if self._all_exceptions is not None:
            self._exceptions = self._all_exceptions.get((self._statement, self._execution))
        if self._by_row:
            self._in_moments = acting not in ("reads", "inserts")
            if not self._in_moments:
                self._exceptions = None
        if self._statements is not None:
            self._address = self._statement, self._execution
            if self._in_moments:
                kept = max(self.kept.values(), default=0)
                self._state = self._statements.since(self._address, self._defaults[0], kept)
            else:
                self._state = self._statements.state(self._address, self._defaults[0])
            self._newest = None
            self.taken[self._address] = self._state, None
        if self._acts:
            if acting == "mixed":
                raise Unsupported("a locking read of which parts do not lock")
            self._state = self._defaults[0] if acting == "reads" else self._store.newest

    def suspend(self) -> Mark:
        """See `View`."""
        kinds = self._kind, self._caller
        self._caller = self._kind
        return self._address, self._state, self._newest, self._in_moments, self._exceptions, kinds

    def resume(self, mark: Mark) -> None:
        """See `View`."""
        *mark, (self._kind, self._caller) = mark
        if self._statements is not None or self._acts:
            self._address, self._state, self._newest, self._in_moments, exceptions = mark
            if self._by_row:
                self._exceptions = exceptions

    def aside(self) -> View:
        """The subqueries of an UPDATE that takes its rows one by one read the state in which it begins."""
        if not self._in_moments:
            return self
        assert self._statements is not None
        self._state = self._statements.beside(self._address, self._state)
        self.taken[self._address] = self._state, None
        return _Aside(self)

    def in_one_state(self, read: Callable[[], Iterable[tuple[RowId, Row]]]) -> list[tuple[RowId, Row]]:
        """What is read where no row comes from a state of its own."""
        before = self._exceptions, self._in_moments
        self._exceptions, self._in_moments = None, False
        try:
            return list(read())
        finally:
            self._exceptions, self._in_moments = before

    def current(self, table: str, row: RowId, values: Row, *, locks: bool = True) -> Row | None:
        """The row as it is when the statement writes or locks it: nobody else writes it before the commit."""
        versions = self._store.tables[table].rows.get(_name(row))
        if not (self.rechecks or self.locks) or versions is None or _name(row) in self.writes.get(table, ()):
            return values
        if self.locks:
            if locks and not self._is_temporary() and self._is_later(versions):
                self.outdated.append((self._statement, _name(row)))
            return values
        if self._by_row:
            if self._in_moments and locks and not self._is_temporary():
                self._keep(_name(row), versions)
            return values
        made = versions.made_at(self._store.newest)
        if made is None or made <= self._state:
            return values
        if self._is_temporary():
            self._meet()
            met = versions.made_at(self._state if self._newest is None else self._newest)
            if met != made and locks:
                self.outdated.append((self._statement, _name(row)))
            return values if met is None or met <= self._state else versions.at(met)
        if not locks and made in self._late:
            return None
        if locks:
            self._hold(_name(row), made)
        return versions.at(made)

    def _is_later(self, versions: Versions) -> bool:
        """Whether a row was written after the snapshot. Where the snapshot is not what locks read, writing the value
        that is there is no writing."""
        snapshot, newest = self._defaults[0] if self._acts else self._state, self._store.newest
        made = versions.made_at(newest)
        if made is None or made <= snapshot:
            return False
        return not self._acts or any(versions.at(n) != versions.at(n + 1) for n in range(snapshot, newest))

    def lock(self, claims: Iterable[Claim]) -> None:
        """An answer tells how many rows were locked, of some: so many must not have been written since the snapshot."""
        if self._is_temporary():
            return
        for claim in claims:
            lockable = [all(map(self._is_lockable, locks)) for locks in claim.choices]
            if lockable.count(True) < claim.count:
                refused = claim.choices[lockable.index(False)]
                name = next(name for locked in refused for name in locked.rows if not self._is_lockable(locked))
                self.outdated.append((self._statement, _name(name)))

    def _is_lockable(self, locked: Locked) -> bool:
        """Whether one of the rows that it may be is as the snapshot has it, or, FOR KEY SHARE, has the key that it has
        there."""
        table, own = self._store.tables[locked.table], self.writes.get(locked.table, {})
        for row in locked.rows:
            versions = table.rows.get(_name(row))
            if versions is None or _name(row) in own or not self._is_later(versions):
                return True
            now = versions.at(self._store.newest)
            keys = locked.keys
            if keys is not None and now is not None and all(now[column] == locked.values[column] for column in keys):
                return True
        return False

    def _keep(self, name: RowName, versions: Versions) -> None:
        """The row is written or locked as it was read: that must be its newest version."""
        made = versions.made_at(self._store.newest)
        if made != versions.made_at(self._moment(name)):
            self.outdated.append((self._statement, name))
        elif made is not None:
            self.kept[self._address] = max(made, self.kept.get(self._address, 0))

    def _moment(self, name: RowName) -> int:
        """The state that an execution which reads row by row takes a row from."""
        listed = -1 if self._exceptions is None else self._exceptions.get(name, -1)
        return max(listed, self._state)

    def _is_temporary(self) -> bool:
        """Whether what is locked now may be free again before the transaction's end."""
        return self._blocks > 0 or self._statement in self._released

    def _meet(self) -> None:
        """The execution meets newer rows than it reads: the witness says those of which state."""
        assert self._statements is not None
        self._newest = self._statements.newest(self._address, self._state, self._defaults[1])
        self.taken[self._address] = self._state, self._newest

    def _hold(self, row: RowName, made: int) -> None:
        if made in self._late:
            raise LateRead(f"{row} is as state {made} made it, which was sent after the answer")

    def held(self, table: str, columns: Sequence[int], key: Sequence[Value]) -> Iterable[tuple[RowId, Row]]:
        """As `rivals`, of the newest rows: the execution holds them."""
        if self._is_temporary():
            return self._held_for_now(table, columns, key)
        stored = self._store.tables[table]
        own = self.writes.get(table, {})
        found: Found = []
        columns, wanted = tuple(columns), tuple(key)
        for name in stored.matching(columns, wanted, self._store.newest) if columns else stored.newest:
            values = stored.newest.get(name)
            if values is None or name in own:
                continue
            if columns and tuple([values[column] for column in columns]) == wanted:
                self._hold(name, stored.rows[name].states[-1])
            found.append((name, values))
        return found + [(name, values) for name, values in own.items() if values is not None]

    def _held_for_now(self, table: str, columns: Sequence[int], key: Sequence[Value]) -> Iterable[tuple[RowId, Row]]:
        found = list(self.rivals(table, columns, key))
        newest = self._store.tables[table].newest
        own = self.writes.get(table, {})
        self.outdated += [(self._statement, name) for name, row in found if name not in own and newest.get(name) != row]
        return found

    def scan(self, table: str) -> Iterable[tuple[RowId, Row]]:
        """Every row of the table that the transaction sees."""
        stored = self._store.tables[table]
        own = self.writes.get(table)
        if own and self._acts and self._kind == "reads":
            return self._by_key(stored, stored.lately(self._oldest()).items(), own, None)
        if self._exceptions is None and not self._skipped and self._state == self._store.newest:
            if not own:
                return stored.newest.items()
            found: Found = [row for row in stored.newest.items() if row[0] not in own]
        elif self._exceptions is None and not self._in_moments:
            found = [row for row in stored.at(self._state, self._skipped) if not own or row[0] not in own]
        else:
            found = self._seen(stored.lately(self._oldest()).items(), own)
        if own:
            found += [(name, values) for name, values in own.items() if values is not None]
        return found

    def lookup(self, table: str, columns: Sequence[int], key: Sequence[Value]) -> Iterable[tuple[RowId, Row]]:
        """Every row seen with these values in these columns, and perhaps others."""
        stored = self._store.tables[table]
        own = self.writes.get(table)
        columns = tuple(columns)
        if own and self._acts and self._kind == "reads":
            if table in self._once.get(self._statement, ()):
                columns, key = by_one_key(stored.schema, columns, key)
            rows = stored.matching(tuple(columns), tuple(key), self._oldest())
            return self._by_key(stored, rows.items(), own, (columns, key))
        if self._exceptions is None and not self._skipped and self._state == self._store.newest:
            found = _held(stored, columns, tuple(key), own)
        else:
            found = None
        if found is None:
            found = self._seen(stored.matching(columns, tuple(key), self._oldest()).items(), own)
        if own:
            found += [(name, values) for name, values in own.items() if values is not None]
        return found

    def rivals(self, table: str, columns: Sequence[int], key: Sequence[Value]) -> Iterable[tuple[RowId, Row]]:
        """The rows that a constraint meets: at least those with these values in these columns, all for no columns."""
        if self._acts:
            return self.lookup(table, columns, key) if columns else self.scan(table)
        if self._statements is not None:
            self._meet()
        newest = self._newest
        if newest is None and self._hidden:
            newest = self._state
        if newest is None:
            return self.lookup(table, columns, key) if columns else self.scan(table)
        own = self.writes.get(table, {})
        found: Found = []
        stored = self._store.tables[table]
        oldest = min([newest, *(position - 1 for position in self._late)])
        rows = stored.matching(tuple(columns), tuple(key), oldest) if columns else stored.lately(oldest)
        for name, versions in rows.items():
            values = versions.skipping(newest, self._late)
            if name not in own and values is not None:
                found.append((name, values))
        return found + [(name, values) for name, values in own.items() if values is not None]

    def _oldest(self) -> int:
        """The oldest state from which this execution may take a row."""
        skipped = (position - 1 for position in self._skipped)
        listed = self._exceptions
        if listed is not None and not isinstance(listed, Mapping):
            # said row by row, when asked
            return 0
        states: Collection[int] = () if listed is None else listed.values()
        return min([self._state, *skipped, *states])

    def own(self, table: str) -> Iterable[tuple[RowId, Row]]:
        """The rows that this transaction wrote."""
        return [(name, values) for name, values in self.writes.get(table, {}).items() if values is not None]

    def _by_key(
        self, stored: StoredTable, rows: Iterable[tuple[RowName, Versions]], own: OwnRows, sought: Sought
    ) -> Found:
        """Own rows, and those of the snapshot that they do not hide."""
        seen = [row for row in self._seen(rows, None) if not self._keys.hide(stored, *row, own=row[0] in own)]
        seen += [(name, values) for name, values in own.items() if values is not None]
        once = self._once.get(self._statement, {})
        if stored.schema.name not in once:
            return seen
        return shown_of_each_key(self, stored.schema, seen, sought, loose=once[stored.schema.name])

    def _seen(self, rows: Iterable[tuple[RowName, Versions]], own: Collection[RowName] | None) -> Found:
        """Those of the rows that exist where this execution reads them; own writes come from elsewhere."""
        state = self._state
        exceptions, late, skipped, in_moments = self._exceptions, self._late, self._skipped, self._in_moments
        found: Found = []
        if exceptions is None and not skipped and not in_moments:
            for name, versions in rows:
                values = versions.values[-1] if versions.states[-1] <= state else versions.at(state)
                if values is not None and (not own or name not in own):
                    found.append((name, values))
            return found
        for name, versions in rows:
            if own and name in own:
                continue
            if in_moments:
                moment = self._moment(name)
                made = versions.made_at(moment)
                if late and made is not None and made >= min(late):
                    raise LateRead(f"{name} is read as state {made} made it, which was not there before the answer")
                values = versions.at(moment)
                if values is not None:
                    found.append((name, values))
                continue
            if exceptions is not None:
                listed = exceptions.get(name, -1)
                if listed >= 0:
                    if late and versions.made_at(listed) in late:
                        raise LateRead(f"{name} is read from state {listed}, which was sent after the answer")
                    values = versions.at(listed)
                    if values is not None:
                        found.append((name, values))
                    continue
            values = versions.skipping(state, skipped) if skipped else versions.at(state)
            if values is not None:
                found.append((name, values))
        return found

    def update(self, table: str, row: RowId, values: Row) -> None:
        """Replace a row, whole."""
        self._write(table, _name(row), values)

    def delete(self, table: str, row: RowId) -> None:
        """Remove a row."""
        self._write(table, _name(row), None)

    def insert(self, table: str, values: Row) -> RowId:
        """Add a row; it is named by this transaction and its ordinal among the rows inserted here."""
        ordinal = self._inserted.get(table, 0)
        self._inserted[table] = ordinal + 1
        name = f"{table}:{self._author}:{ordinal}"
        self._write(table, name, values)
        self._last_inserted = (table, values)
        return name

    def _write(self, table: str, name: RowName, values: Row | None) -> None:
        own = self.writes.setdefault(table, {})
        if self._acts:
            stored = self._store.tables[table]
            self._keys.note(stored, own.get(name, stored.newest.get(name)), values)
        own[name] = values

    def free(self, source: str, name: str, type: SqlType) -> Value:
        """See `Draws.value`."""
        told = last_rowid(name, self._last_inserted) if source == "last_insert_rowid" else None
        if told is not None:
            return told
        return self._draws.value(source, name, type, (self._statement, self._execution))

    def choose(self, count: int, what: str) -> int:
        """See `Draws.way`."""
        return self._draws.way(count, what, (self._statement, self._execution))

    def failed(self) -> None:
        """A statement failed, so that what it drew is not known."""
        self._last_inserted = None
        self._draws.failed()

    def arbitrary(self, what: str) -> None:
        """What is possible is all that a witness has to show."""

    def attempting(self, step: int) -> None:
        """A block with exception handlers begins or ends."""
        self._blocks += step

    def savepoint(self) -> Mark:
        """What `rollback` needs to undo everything written since."""
        writes = {table: rows.copy() for table, rows in self.writes.items()}
        return writes, self._inserted.copy(), len(self.outdated), self._keys.copy()

    def rollback(self, mark: Mark) -> None:
        """Undo the writes since the savepoint; ordinals are given again."""
        writes, inserted, outdated, keys = mark
        self._keys = keys.copy()
        del self.outdated[outdated:]
        self.writes = {table: rows.copy() for table, rows in writes.items()}
        self._inserted = inserted.copy()


class _Aside(DelegatingView):
    """What subqueries see beside the rows that are taken one by one."""

    def __init__(self, view: WitnessView) -> None:
        super().__init__(view)
        self._whole = view

    def scan(self, table: str) -> Iterable[tuple[RowId, Row]]:
        """See `View`."""
        return self._whole.in_one_state(lambda: self._whole.scan(table))

    def lookup(self, table: str, columns: Sequence[int], key: Sequence[Value]) -> Iterable[tuple[RowId, Row]]:
        """See `View`."""
        return self._whole.in_one_state(lambda: self._whole.lookup(table, columns, key))


def _held(stored: StoredTable, columns: tuple[int, ...], key: Row, own: Collection[RowName] | None) -> Found | None:
    """The newest state's row with this key, where the columns are a key; None where they are not."""
    if stored.folded:
        return None
    for held, holders in stored.holders:
        if held == columns:
            name = holders.get(key)
            if name is None or (own and name in own):
                return []
            return [(name, stored.newest[name])]
    return None


def _name(row: RowId) -> RowName:
    assert isinstance(row, str)
    return row

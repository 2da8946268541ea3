"""A log without what is not modelled: each such statement may have answered anything and written
anything that it can reach, so that it is left out, and with it every statement that may depend on what it wrote.

Whatever explains the log explains what is left of it, so that a violation there is one of the log. A statement that is
left out keeps its place and its times: it may still be what took the snapshot. Rows that it may have written are not
judged from the moment at which its commit was sent, for nothing reads a commit that was sent after the answer came. Of
a column to which only an unmodelled value was written, only the values are not judged. Does not know levels.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace

import msgspec

from sql_semantics.errors import Unsupported
from sql_semantics.ir.reach import Reach
from sql_semantics.library import SqlLibrary
from troubadour.coverage.changed_rows import ChangedRows
from troubadour.coverage.facts import Facts, facts_of
from troubadour.coverage.reduced import Gap, Place, Reduced, ends_in_error, is_observed
from troubadour.execution.definitions import PASSING, passing_tables
from troubadour.execution.prepared import (
    CALLED_ALONE,
    UnsupportedStatement,
    is_alone,
    may_fail_halfway,
    prepare,
    prepare_statement,
)
from troubadour.isolation.levels import LEVELS
from troubadour.isolation.times import Times, times_of
from troubadour.model.log import Log, Statement, Transaction
from troubadour.model.values import param_shape
from troubadour.model.verdict import StatementRef
from troubadour.model.witness import GivenUp


def reduce_log(
    log: Log,
    library: SqlLibrary,
    isolation: str | None = None,
    given_up: Iterable[GivenUp] = (),
    *,
    order_recorded: bool = False,
) -> Reduced:
    """Leave out what is not modelled; `given_up`: what turned out not to be when it was run. `isolation` None: the
    levels in the log. `order_recorded`: the hint order is bound. Raises LogError for what cannot be used."""
    named = [isolation] if isolation else [log.header.isolation, *(t.isolation for t in log.transactions)]
    levels = {name for name in named if name is not None}
    return _Reduction(log, library, levels, given_up, order_recorded).run()


class _Reduction:
    def __init__(
        self, log: Log, library: SqlLibrary, levels: Collection[str], given_up: Iterable[GivenUp], recorded: bool
    ) -> None:
        self.log = log
        self.whole = library
        self.library = library
        self.transactions: Sequence[Transaction] = log.transactions
        self.statements = [transaction.statements for transaction in self.transactions]
        self.gaps: dict[Place, Gap] = {}
        self.partly: dict[Place, Gap] = {}
        self.opaque: dict[Place, Gap] = {}
        self.rows: dict[str, ChangedRows] = {}
        self.own: dict[int, dict[str, Gap]] = {}
        self.roots: set[Place] = set()
        self.columns: dict[tuple[str, str], str] = {}
        self._forgotten: dict[tuple[str, str], str] = {}
        self.sessions: dict[str, list[tuple[Place, Gap]]] = {}
        self.shared: list[tuple[Place, Gap]] = []
        self.dissolved: dict[int, Gap] = {}
        self.draws: Gap | None = None
        self._passing = ""
        self._passes = passing_tables(library) | library.changing
        self.defines: Gap | None = None
        self.changed = False
        self._facts: dict[object, Facts] = {}
        self._times: dict[int, Times] = {}
        known = [LEVELS[name] for name in levels if name in LEVELS]
        self._dirty = any(level.dirty for level in known)
        self._strict = all(level.real_time for level in known)
        self._recorded = recorded
        self._tables = frozenset(name.lower() for name in library.catalog.tables)
        fired = [fired for table in library.catalog.tables.values() for fired in table.fires]
        self._draws_beside = Gap(fired[0].construct, None) if fired else None
        self._given_up(given_up)

    def run(self) -> Reduced:
        while True:
            self._settle()
            reduced = self._reduced()
            refused = list(_refused(reduced, self.library))
            if not refused:
                break
            for place, index, construct in refused:
                self._give_up(place, index, construct)
        self._check_values()
        gaps = {**self.partly, **self.gaps}
        judged = [
            transaction.status
            for place, (transaction, statements) in enumerate(zip(self.transactions, self.statements, strict=True))
            if any(self._is_judged(place, n) for n in range(len(statements)))
        ]
        opaque = {place: gap for place, gap in self.opaque.items() if place not in gaps}
        log = self.log if not gaps else self.log.with_transactions(reduced)
        return Reduced(
            log,
            self.library,
            gaps,
            opaque,
            dict(self.columns),
            bool(judged),
            judged.count("committed"),
            sum(map(is_observed, (one for statements in self.statements for one in statements))),
            self._sees(),
            self._first([*gaps, *opaque]),
        )

    def _sees(self) -> bool:
        """Whether something was observed of what is judged."""
        return any(
            (ends_in_error(transaction) and place not in self.dissolved)
            or any(self._is_judged(place, n) and self._is_seen(one) for n, one in enumerate(self.statements[place]))
            for place, transaction in enumerate(self.transactions)
        )

    def _is_seen(self, statement: Statement) -> bool:
        return is_observed(statement) or (self._facts_of(statement).answers_nothing and not statement.outcome_unknown)

    def _first(self, places: Sequence[Place]) -> StatementRef | None:
        """The first of these statements that is not modelled itself, or else the first of them."""
        if not places:
            return None
        place, index = min([place for place in places if place in self.roots] or places)
        return StatementRef(self.transactions[place].id, index)

    def _check_values(self) -> None:
        """Raise LogError for parameters and values that fit no column, in what is left out, too; not where it may be
        that columns were given other types."""
        if self.defines is not None:
            return
        for place, index in self.gaps:
            statement = self.statements[place][index]
            facts = self._facts_of(statement)
            if not (facts.construct or facts.wrong):
                with suppress(UnsupportedStatement):
                    prepare_statement(statement, index, self.transactions[place], self.library)

    # --- what is given up because of how it ran ----------------------------------------------------------------------

    def _given_up(self, given_up: Iterable[GivenUp]) -> None:
        wanted = {(type(ref.transaction), ref.transaction, ref.index): ref.construct for ref in given_up}
        if not wanted:
            return
        self._passing = next((construct for construct in wanted.values() if construct.startswith(PASSING)), "")
        for place, transaction in enumerate(self.transactions):
            for index in range(max(len(transaction.statements), 1)):
                construct = wanted.get((type(transaction.id), transaction.id, index))
                if construct is not None:
                    self._give_up(place, index, construct)

    def _give_up(self, place: int, index: int, construct: str) -> None:
        """A statement that cannot be run; where it is left out already, what became of its transaction is not known."""
        if (place, index) in self.gaps or index >= len(self.statements[place]):
            self._dissolve(place, Gap(construct, None))
        else:
            self.roots.add((place, index))
            self._leave_out(place, index, construct, None)

    # --- to a fixed point --------------------------------------------------------------------------------------------

    def _settle(self) -> None:
        self.changed = True
        while self.changed:
            self.changed = False
            self.partly.clear()
            self.opaque.clear()
            for place, statements in enumerate(self.statements):
                for index in range(len(statements)):
                    if (place, index) not in self.gaps:
                        self._look(place, index)
            if self._forgotten:  # all at once, as everything is bound anew then
                self.columns |= self._forgotten
                self._forgotten.clear()
                self.library = self.whole.forgetting(self.columns)
                self._facts.clear()
                self.changed = True

    def _look(self, place: int, index: int) -> None:
        """Leave a statement out if it is not modelled or may depend on what is not."""
        statement = self.statements[place][index]
        gap = self.dissolved.get(place) or self._of_session(place, index)
        if gap is not None:
            self._leave_out(place, index, gap.construct, gap.table)
            return
        facts = self._facts_of(statement)
        if self.library.unreached and not facts.nameless:
            self.roots.add((place, index))
            self._leave_out(place, index, self.library.unreached, None)
            return
        if facts.construct:
            self.roots.add((place, index))
            self._leave_out(place, index, facts.construct, None, facts.column)
            return
        if facts.apart and is_alone(self.transactions[place]):
            self.roots.add((place, index))
            self._dissolve(place, Gap(CALLED_ALONE, None))
            return
        if self._passing and facts.touched & self._passes:
            self.roots.add((place, index))
            self._leave_out(place, index, self._passing, None)
            return
        gap = self._reason(place, index, statement, facts)
        if gap is not None:
            self._leave_out(place, index, gap.construct, gap.table)
            return
        if facts.beside.writes and statement.error is None:
            self._spread(place, index, facts.beside, Gap(facts.fires, None))
        table = min(facts.touched, default=None) if len(facts.touched) == 1 else None
        if facts.partly:
            self.partly[place, index] = Gap(facts.partly[0], table)
        elif facts.miscounts and statement.affected is not None:
            self.partly[place, index] = Gap(facts.miscounts, table)
        elif facts.opaque and statement.results is not None:
            self.opaque[place, index] = Gap(facts.opaque[0], table)

    def _reason(self, place: int, index: int, statement: Statement, facts: Facts) -> Gap | None:
        """What a statement that is modelled may depend on that is not."""
        failed = statement.error is not None
        if facts.wrong or facts.nameless:
            return None if failed else self.defines or (self._any_loose() if facts.wrong else None)
        if facts.loose and (failed or facts.hangs_on_loose):
            return Gap(facts.loose[0], None)
        if failed and facts.partly:
            return Gap(facts.partly[0], None)
        if facts.draws and self.draws is not None:
            return self.draws
        if failed and facts.fires:
            return Gap(facts.fires, None)
        if facts.recalls and self._draws_beside is not None:
            return self._draws_beside
        met = sorted(facts.beside.tables & facts.touched)
        if met:
            return Gap(facts.fires, met[0])
        own = self.own.get(place, {})
        for name in sorted(facts.touched):
            if name in own:
                return own[name]
            rows = self.rows.get(name)
            if rows is not None and rows.reaches(self._time(place), index):
                return Gap(rows.gap.construct, name)
        return None

    def _any_loose(self) -> Gap | None:
        """Something of the schema that is not modelled, which may be why a text looks wrong."""
        for table in self.library.catalog.tables.values():
            unknown = [column.type.name for column in table.columns if column.type.name]
            for reason in (*table.refusing, *unknown):
                return Gap(reason, table.name)
        return None

    def _facts_of(self, statement: Statement) -> Facts:
        try:
            shape = param_shape(statement.params)
        except Unsupported as error:
            return Facts(construct=error.construct)
        key = (statement.sql, shape, statement.scope, statement.references)
        found = self._facts.get(key)
        if found is None:
            found = facts_of(statement.sql, shape, self.library, statement.scope, statement.references)
            self._facts[key] = found
        return found

    def _of_session(self, place: int, index: int) -> Gap | None:
        """What was done on the session that may decide what a statement means; not what came after it."""
        session = self.transactions[place].session
        own = [] if session is None else self.sessions.get(session, [])
        causes = [*own, *self.shared]
        return next((gap for cause, gap in causes if not self._is_before(place, index, cause)), None)

    def _is_before(self, place: int, index: int, cause: Place) -> bool:
        """Whether a statement was over for certain as another was sent, of its session or of another one."""
        if place == cause[0]:
            return index < cause[1]
        earlier, later = self.transactions[place], self.transactions[cause[0]]
        if earlier.status == "unknown":
            return False
        over, begun = _over(earlier), self._time(cause[0]).begun
        if over is not None and begun is not None and over != begun and earlier.clock == later.clock:
            return over < begun
        together = earlier.session is not None and earlier.session == later.session
        return together and place < cause[0] and earlier.place < later.place

    def _time(self, place: int) -> Times:
        found = self._times.get(place)
        if found is None:
            dialect = self.library.dialect.name
            found = self._times[place] = times_of(self.transactions[place], place, dialect, self._tables)
        return found

    # --- leaving out -------------------------------------------------------------------------------------------------

    def _leave_out(self, place: int, index: int, construct: str, table: str | None, column: str = "") -> None:
        statement = self.statements[place][index]
        facts = self._facts_of(statement)
        reach = self._reach(statement, facts)
        if (
            column
            and statement.error is None
            and not statement.outcome_unknown
            and self._forget((place, index), reach, column, construct)
        ):
            return
        self.changed = True
        tables = reach.tables or reach.named or facts.touched
        if table is None and len(tables) == 1:
            (table,) = tables
        gap = Gap(construct, table)
        self.gaps[place, index] = gap
        if statement.error is not None and not may_fail_halfway(statement, self.library):
            ends = reach.ends and self.library.dialect.rules.running.definitions_commit
            reach = Reach(ends=ends)
        elif statement.error is not None and len(self.statements[place]) == 1:
            # outside a transaction what FAIL keeps is committed
            reach = replace(reach, ends=reach.ends or self.library.fails_halfway(statement.sql))
        self._spread(place, index, reach, gap)

    def _reach(self, statement: Statement, facts: Facts) -> Reach:
        modelled = not (facts.construct or facts.wrong or facts.nameless or facts.commits)
        return facts.changes if modelled else self.library.reach(statement.sql, statement.scope)

    def _spread(self, place: int, index: int, reach: Reach, gap: Gap) -> None:
        """Take what a statement may have changed for changed."""
        transaction = self.transactions[place]
        if reach.defines and self.defines is None:
            self.defines = gap
            self.changed = True
        if reach.session and transaction.session is not None and self._of_session(place, index) is None:
            self.sessions.setdefault(transaction.session, []).append(((place, index), gap))
            self.changed = True
            if self.library.dialect.rules.running.settings_are_shared:
                self.shared.append(((place, index), gap))
        if reach.ends or (reach.session and transaction.session is None):
            self._dissolve(place, gap)
        if reach.everything and self.draws is None:
            self.draws = gap
        names: Collection[str] = self.library.catalog.tables if reach.everything else reach.rows
        for name in names:
            self._change_rows(place, name, gap)
        for name, column in reach.columns:
            if name not in names and not self._forget_column(name, column, gap.construct):
                self._change_rows(place, name, gap)

    def _dissolve(self, place: int, gap: Gap) -> None:
        if place not in self.dissolved:
            self.dissolved[place] = gap
            self.changed = True
            for name, reason in list(self.own.get(place, {}).items()):
                self._change_rows(place, name, reason)
            for index in range(len(self.statements[place])):
                if (place, index) not in self.gaps:
                    self._leave_out(place, index, gap.construct, gap.table)

    def _change_rows(self, place: int, name: str, gap: Gap) -> None:
        """Rows of a table may be others after a transaction's commit, and for the transaction itself at once: what it
        writes there besides may have been undone again."""
        own = self.own.setdefault(place, {})
        if name not in own:
            own[name] = Gap(gap.construct, name)
            self.changed = True
        transaction = self.transactions[place]
        dissolved = place in self.dissolved
        if transaction.status == "aborted" and not self._dirty and not dissolved:
            return
        rows = self.rows.setdefault(name, ChangedRows(Gap(gap.construct, name)))
        times = self._time(place)
        sent = None if self._dirty else times.asked if dissolved else times.sent
        started = times.start if self._strict and not dissolved else None
        rank = place if self._recorded and transaction.status != "unknown" else None
        self.changed |= rows.add(transaction.clock, sent, started, rank)

    def _forget(self, place: Place, reach: Reach, column: str, construct: str) -> bool:
        """Whether it is enough to take the value of a column for unknown that a statement stores."""
        if not reach.harmless or reach.everything or reach.session:
            return False
        tables = self.library.catalog.tables
        owners = [
            name for name in reach.tables if name in tables and any(c.name == column for c in tables[name].columns)
        ]
        if len(owners) != 1 or not self._forget_column(owners[0], column, construct):
            return False
        hidden = self.library.catalog.hidden.get(owners[0])
        if hidden is not None and any(each.unread for each in tables[owners[0]].columns):
            # a default that is not modelled may do more than to give a value
            written = hidden.written
            self._spread(*place, replace(written, rows=written.rows - {owners[0]}), Gap(construct, None))
        return True

    def _forget_column(self, name: str, column: str, construct: str) -> bool:
        """Take a column's values for unknown; False where rows hang on them."""
        table = self.library.catalog.tables[name]
        if name in self.library.catalog.transient or table.query is not None or table.refused:
            return False
        place = next((n for n, c in enumerate(table.columns) if c.name == column), None)
        if place is None:
            return False
        keys = {n for key in table.foreign_keys for n in key.columns}
        keys |= {n for _, key in self.library.catalog.references_to(name) for n in key.parent_columns}
        if place in keys:
            return False
        if (name, column) not in self.columns:
            self._forgotten.setdefault((name, column), construct)
            self.changed = True
        return True

    # --- what is left ------------------------------------------------------------------------------------------------

    def _reduced(self) -> list[Transaction]:
        found: list[Transaction] = []
        for place, transaction in enumerate(self.transactions):
            statements = tuple(
                self._told(place, index, statement) for index, statement in enumerate(transaction.statements)
            )
            if any(new is not old for new, old in zip(statements, transaction.statements, strict=True)):
                transaction = msgspec.structs.replace(transaction, statements=statements)
            found.append(transaction)
        return found

    def _told(self, place: int, index: int, statement: Statement) -> Statement:
        gap = self.gaps.get((place, index))
        if gap is None:
            if (place, index) in self.partly and statement.affected is not None and self._facts_of(statement).miscounts:
                return msgspec.structs.replace(statement, affected=None)
            return statement
        error, unknown = statement.error, statement.outcome_unknown
        if place in self.dissolved:
            error, unknown = None, False
        return Statement(
            statement.sql,
            error=error,
            outcome_unknown=unknown,
            invoked=statement.invoked,
            returned=statement.returned,
            unjudged=gap.construct,
            references=statement.references,
        )

    def _is_judged(self, place: int, index: int) -> bool:
        return (place, index) not in self.gaps and not self._facts_of(self.statements[place][index]).idle


def _over(transaction: Transaction) -> int | None:
    """When its end was answered."""
    end = transaction.end
    return end.returned if end is not None and end.returned is not None else transaction.returned


def _refused(transactions: Iterable[Transaction], library: SqlLibrary) -> Iterable[tuple[int, int, str]]:
    """What is still not modelled, one statement of each transaction: its values, or what its errors left behind."""
    for place, transaction in enumerate(transactions):
        try:
            prepare(transaction, library)
        except UnsupportedStatement as error:
            yield place, error.index, error.construct

"""What a transaction's answers prove where its statements read views of their own.

Each statement is run by itself, on rows of which nothing is known: what its answer says holds of the one state that a
query read, and of the newest version of each row that a write changed, which stays so until the commit. What the
transaction may have written itself by then is left out of what was met. Where each row read may be of a state of its
own, an answer says the less. Does not know the order of transactions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence, Set
from functools import cached_property

from sql_semantics.ir.queries import Query
from sql_semantics.ir.statements import Delete, Insert, Release, RollbackTo, Savepoint, Statement, Update
from sql_semantics.ir.walks.effects import acting_of, fired_by, looks_again, looks_once, reached, references
from sql_semantics.ir.walks.traverse import has_subquery
from sql_semantics.records import dataclass, field, replace
from troubadour.execution.observations.lifecycle import Fate
from troubadour.execution.prepared import PreparedStatement
from troubadour.facts.sql.effects import Account, Accounts, Known, Place, Unknown, Written, may_agree
from troubadour.facts.sql.events import view_moment
from troubadour.isolation.levels import Conflict, Level, Scope
from troubadour.problem.problem import Problem


def reads_views(problem: Problem, level: Level) -> bool:
    """Whether each query of a transaction reads one state, and what is written is the newest version of each row, where
    rows are all that it meets."""
    return (
        level.own_states
        and level.scope is not Scope.ROW
        and level.dialect is not None
        and not level.dirty
        and level.conflict is not Conflict.COLUMNS
        and not problem.library.has_references
        and not problem.library.catalog.transient
    )


def reads_rows(problem: Problem, level: Level) -> bool:
    """Whether each row that a query of a transaction reads may be of a state of its own, which was there before the
    transaction's commit, where rows are all that it meets."""
    return (
        level.scope is Scope.ROW
        and not level.dirty
        and not level.acts
        and not problem.library.has_references
        and not problem.library.catalog.transient
    )


def accounts_for(problem: Problem, level: Level) -> Accounts:
    """The accounts of a problem whose transactions are all at a level."""
    kind = RowAccounts if reads_rows(problem, level) else ViewAccounts if reads_views(problem, level) else Accounts
    return kind(problem, latest=level.horizon.latest)


class ViewAccounts(Accounts):
    """The accounts of transactions whose statements read views of their own.

    A row that a transaction inserted itself it may meet beside an older one of that key, which another transaction
    deleted: then an answer about that place tells nothing.
    """

    def __init__(self, problem: Problem, *, latest: bool) -> None:
        super().__init__(problem, latest=latest)
        self._plain: dict[int, tuple[Statement, bool]] = {}
        """By the identity of a bound statement, which is kept."""
        self._by_statement: dict[tuple[int, int], Account] = {}

    def _made(self, item: int) -> Account:
        statements = self._problem.prepared(item).statements
        if any(_undoes(statement) for statement in statements):
            return Account(wild=self._written(statements))
        told = _Told(self._problem.levels[item])
        for statement in statements:
            if not _has_run(statement):
                continue
            if not self._is_plain(statement):
                told.wild |= self._written([statement])
                continue
            told.add(statement, self._beside_others(item, statement, told))
        return told.account()

    def _by_itself(self, item: int, statement: PreparedStatement) -> Account:
        """What a plain statement says by itself, if there is one row at a place at most."""
        key = item, statement.index
        if key not in self._by_statement:
            self._by_statement[key] = self.of_statements(item, [statement])
        return self._by_statement[key]

    def _beside_others(self, item: int, statement: PreparedStatement, before: _Told) -> Account:
        """What a plain statement says where several rows may be met at one place, after others of its transaction."""
        found = self._by_itself(item, statement)
        if _inserts(statement) or (found.named is not None and not self._may_meet_two(found.named, before)):
            return found
        written = self._written([statement])
        if found.named is None:
            return Account(wild=written)
        vague = {place: Written(False, Unknown.ROW) for place in found.named if place[0] in written}
        return Account(wrote=vague, wild=found.wild)

    def _may_meet_two(self, named: Set[Place], before: _Told) -> bool:
        """Whether what a statement says may be wrong as it met two rows at one of the places that it looked at."""
        own = [place for place in named if place in before.own_rows or place[0] in before.wild]
        return not all(self.has_one_row(place) for place in own)

    def _is_plain(self, statement: PreparedStatement) -> bool:
        """Whether it ran, has one execution, and that reads one state, or looks at each row that it changes once."""
        assert statement.program is not None
        bound = statement.program.statement
        known = self._plain.get(id(bound))
        if known is None:
            known = self._plain[id(bound)] = bound, _is_plain(bound, self._problem)
        return known[1] and statement.judged.fate is Fate.RUN

    def has_one_row(self, place: Place) -> bool:
        """Whether no two rows can ever have been at a place, one after the other."""
        makers, wild = self._makers
        return place[0] not in wild and len(makers.get(place, ())) + (place in self.initial) <= 1

    @cached_property
    def _makers(self) -> tuple[dict[Place, set[int]], frozenset[str]]:
        """The transactions that insert at each place, and the tables in which anything may have been inserted."""
        makers: dict[Place, set[int]] = defaultdict(set)
        wild: frozenset[str] = frozenset()
        for item, status in enumerate(self._problem.statuses):
            if status == "aborted":
                continue
            statements = self._problem.prepared(item).statements
            undoes = any(_undoes(statement) for statement in statements)
            for statement in statements:
                if not undoes and not _has_run(statement):
                    continue
                written = self._written([statement])
                if written <= wild:
                    # a query, or whatever it inserts is in tables of which no more is told
                    continue
                if undoes or not self._is_plain(statement):
                    wild |= written
                    continue
                alone = self._by_itself(item, statement)
                wild |= alone.wild
                for place in alone.wrote if _inserts(statement) else ():
                    makers[place].add(item)
        return makers, wild


class RowAccounts(ViewAccounts):
    """The accounts of transactions each of whose reads of a row may be of a state of its own.

    What an execution says holds of one version of each row. A place tells nothing where rows of several insertions may
    have been, as one of each could be read at once. Nor does then an answer that is about other places, too: either row
    may have had a share in it.
    """

    def _made(self, item: int) -> Account:
        found = super()._made(item)
        found.contradicts = False
        return found

    def of_statements(self, item: int, statements: Sequence[PreparedStatement]) -> Account:
        """See `Accounts`. Answers that no one state gives may be of several."""
        found = super().of_statements(item, statements)
        return Account(wild=self._written(statements)) if found.contradicts else found

    def _may_meet_two(self, named: Set[Place], before: _Told) -> bool:
        """See `ViewAccounts`. Of one place alone it does not matter, as that tells nothing."""
        return len(named) > 1 and not all(self.has_one_row(place) for place in named)

    def _is_plain(self, statement: PreparedStatement) -> bool:
        return super()._is_plain(statement) and self._is_one_execution(statement)

    def _is_one_execution(self, statement: PreparedStatement) -> bool:
        """Whether it reads each row in one version."""
        assert statement.program is not None
        bound = statement.program.statement
        return not has_subquery(bound) and references(bound) <= 1


def _inserts(statement: PreparedStatement) -> bool:
    return statement.program is not None and isinstance(statement.program.statement, Insert)


def _undoes(statement: PreparedStatement) -> bool:
    bound = None if statement.program is None else statement.program.statement
    return isinstance(bound, Savepoint | Release | RollbackTo)


def _has_run(statement: PreparedStatement) -> bool:
    """Whether it may have had an effect, or told anything."""
    if statement.program is None:
        return False
    return statement.judged.fate not in (Fate.REFUSED, Fate.FAILED) or not _is_alone(statement)


def _is_alone(statement: PreparedStatement) -> bool:
    """Whether a statement that failed left nothing behind."""
    assert statement.program is not None
    return isinstance(statement.program.statement, Query | Update | Delete | Insert)


def _is_plain(bound: Statement, problem: Problem) -> bool:
    catalog = problem.library.catalog
    if reached([bound], catalog) or fired_by(bound, catalog):
        return False
    if isinstance(bound, Query):
        return acting_of(bound) == "reads"
    match bound:
        case Update(limit=None) | Delete(limit=None):
            return not has_subquery(bound) and not looks_again(bound, catalog) and looks_once(bound, catalog)
        case Insert(query=None, conflict=None):
            return not has_subquery(bound)
    return False


@dataclass(slots=True)
class _Told:
    """What the statements so far tell together."""

    level: Level
    views: dict[str, dict[Place, Known]] = field(default_factory=dict)
    wrote: dict[Place, Written] = field(default_factory=dict)
    inserted: set[Place] = field(default_factory=set)
    wild: frozenset[str] = frozenset()
    contradicts: bool = False
    own_rows: set[Place] = field(default_factory=set)

    def account(self) -> Account:
        """All of it. A row that it inserted itself and may have deleted again it need not have left."""
        for place in self.own_rows:
            written = self.wrote[place]
            if not isinstance(written.after, tuple):
                self.wrote[place] = replace(written, certain=False)
        return Account({}, self.wrote, self.inserted, self.wild, self.contradicts, self.views)

    def add(self, statement: PreparedStatement, alone: Account) -> None:
        """A statement and what it says by itself."""
        assert statement.program is not None
        self.contradicts = self.contradicts or alone.contradicts
        if isinstance(statement.program.statement, Query):
            moment = "snapshot" if self.level.acts else view_moment(statement.index)
            self._meet(moment, alone.met)
            return
        changed = {place: known for place, known in alone.met.items() if _is_changed(alone, place)}
        self._meet("place", changed)
        for place, written in alone.wrote.items():
            if _inserts(statement):
                self.own_rows.add(place)
            self._write(place, written, inserts=place in alone.inserted)
        self.wild |= alone.wild

    def _meet(self, moment: str, met: dict[Place, Known]) -> None:
        for place, known in met.items():
            if place[0] in self.wild:
                continue
            if place in self.wrote:
                if not self.level.acts and self.wrote[place].certain:
                    # what it wrote itself it reads first
                    self.contradicts = self.contradicts or not may_agree(known, self.wrote[place].after)
                continue
            view = self.views.setdefault(moment, {})
            before = view.get(place, Unknown.ROW)
            self.contradicts = self.contradicts or not may_agree(before, known)
            view[place] = known if before is Unknown.ROW else _both(before, known)

    def _write(self, place: Place, written: Written, *, inserts: bool) -> None:
        before = self.wrote.get(place)
        if before is None:
            self.wrote[place] = written
            if inserts:
                self.inserted.add(place)
        elif written.certain:
            self.wrote[place] = replace(written, added=_sum(before, written))
        else:
            after = before.after if before.after == written.after else Unknown.ROW
            self.wrote[place] = Written(before.certain, after)
            # it may be another row of that key that it deleted
            self.inserted.discard(place)


def _is_changed(alone: Account, place: Place) -> bool:
    """Whether a statement certainly changes what it met at a place."""
    written = alone.wrote.get(place)
    return written is not None and written.certain and place not in alone.inserted


def _both(one: Known, other: Known) -> Known:
    """What is known of a row that is as both say."""
    if not isinstance(one, tuple) or not isinstance(other, tuple):
        return other
    return tuple([right if left is Unknown.VALUE else left for left, right in zip(one, other, strict=True)])


def _sum(one: Written, other: Written) -> tuple[int | None, ...]:
    if not one.certain or len(one.added) != len(other.added):
        return ()
    pairs: Sequence[tuple[int | None, int | None]] = list(zip(one.added, other.added, strict=True))
    return tuple([None if left is None or right is None else left + right for left, right in pairs])

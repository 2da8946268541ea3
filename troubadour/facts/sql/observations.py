"""What one statement's answer says of symbolic rows (paper §3.3, §5.1 *eq*).

Does not know which states a transaction may read, nor what becomes of its writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.ir.definitions import ChangeTables, CreateTable, DropTable
from sql_semantics.ir.queries import Query
from sql_semantics.ir.statements import Call, Delete, Insert, Together, Truncate, Update
from sql_semantics.ir.walks.traverse import has_subquery
from sql_semantics.outcome import GuardedOutcome
from sql_semantics.terms import FALSE, TRUE, CaseBound, Guard, TermLeaf, disj, neg
from troubadour.execution.initial.naming import name_rows
from troubadour.execution.observations.errors import (
    demand_known,
    may_be_told_of,
    possible_anyway,
    unbound_error,
)
from troubadour.execution.observations.expected import explained
from troubadour.execution.observations.lifecycle import GENERAL, Fate
from troubadour.execution.prepared import PreparedStatement, UnsupportedStatement
from troubadour.execution.views.first_of_key import ONE_OF_TWO
from troubadour.execution.views.guarded import GuardedStates
from troubadour.problem.problem import Problem


class Answers:
    """The answers of one problem's statements. All raises of Unsupported carry the statement. `told`: the tables of
    which all rows are named, whatever a statement says."""

    def __init__(self, problem: Problem, told: Iterable[str] = ()) -> None:
        self.problem = problem
        self._told = frozenset(told)
        self._named: dict[tuple[int, int], frozenset[str]] = {}

    def guards(self, item: int, statement: PreparedStatement, view: GuardedStates) -> Iterator[Guard]:
        """Run a statement; where its answer is as observed."""
        if statement.program is not None and self.problem.may_pass_over(item, statement.program):
            raise self.unsupported(item, statement, "a row passed over, as another transaction moves it in an index")
        if statement.index in self.problem.looked_up_once(item):
            raise self.unsupported(item, statement, ONE_OF_TWO)
        view.enter_statement(statement.index)
        match statement.judged.fate:
            case Fate.IMPOSSIBLE:
                yield FALSE
                return
            case Fate.REFUSED | Fate.UNKNOWN:
                return
            case Fate.FAILED:
                yield self._error(item, statement, view)
                return
        if statement.program is None:
            assert isinstance(statement.failure, SqlError)
            yield FALSE
            return
        outcome = self.outcome(item, statement, view)
        if self.tells_nothing(item, statement, view):
            return
        for guard, error in outcome.errors:
            if error.may and guard is not FALSE:
                raise self.unsupported(item, statement, f"an error that depends on the order of evaluation ({error})")
            yield neg(guard)
        try:
            query = isinstance(statement.program.statement, Query)
            yield explained(statement.observation, outcome, query=query)
        except (Unsupported, CaseBound, TermLeaf) as error:
            raise self.unsupported(item, statement, _construct(error)) from error

    def outcome(self, item: int, statement: PreparedStatement, view: GuardedStates) -> GuardedOutcome:
        """Run a statement, whatever was observed."""
        assert statement.program is not None
        try:
            outcome = statement.program.run_guarded(view, statement.arguments, TRUE)
        except (Unsupported, CaseBound, TermLeaf) as error:
            raise self.unsupported(item, statement, _construct(error)) from error
        if self.tells_nothing(item, statement, view) and not _writes_row_by_row(statement):
            raise self.unsupported(item, statement, "a write that depends on initial rows which nothing names")
        return outcome

    def tells_nothing(self, item: int, statement: PreparedStatement, view: GuardedStates) -> bool:
        """Whether a statement could have met initial rows that nothing names, which may be there in the open world:
        then its answer proves nothing. What it writes to other rows is as it is."""
        if self.problem.closed_world or statement.index not in view.undiscovered:
            return False
        named = self._named.get((item, statement.index))
        if named is None:
            named = name_rows(statement, self.problem.discovery, self.problem.library.dialect)
            self._named[item, statement.index] = named
        return not view.undiscovered[statement.index] <= named | self._told

    def _error(self, item: int, statement: PreparedStatement, view: GuardedStates) -> Guard:
        """Where the statement may have failed as observed; it has no effect."""
        library = self.problem.library
        observed = statement.statement.error
        assert observed is not None
        program = statement.program
        if program is not None and isinstance(program.statement, Call) and not program.read_only:
            raise self.unsupported(item, statement, "a failed CALL on symbolic rows")
        if possible_anyway(statement, library.catalog, library.dialect.name):
            return TRUE
        if program is None:
            unbound_error(statement, library.dialect.name)
            return FALSE
        mark = view.savepoint()
        outcome = self.outcome(item, statement, view)
        view.rollback(mark, TRUE)
        if self.tells_nothing(item, statement, view):
            return TRUE
        if observed.sqlstate in GENERAL or any(error.may for _, error in outcome.errors):
            raise self.unsupported(item, statement, "an error that may happen beside an observed one")
        found = disj(
            *(
                guard
                for guard, error in outcome.errors
                if error.sqlstate[:2] == observed.sqlstate[:2]
                or may_be_told_of(program.statement, library.catalog, observed.sqlstate, error.sqlstate)
            )
        )
        if found is FALSE:
            try:
                demand_known(program.statement, library.catalog, observed.sqlstate)
            except Unsupported as error:
                raise self.unsupported(item, statement, error.construct) from error
        return found

    def unsupported(self, item: int, statement: PreparedStatement, construct: str) -> UnsupportedStatement:
        """What is not modelled of a statement."""
        return UnsupportedStatement(construct, self.problem.transaction(item).id, statement.index)


def may_write(statement: PreparedStatement) -> bool:
    """Whether it can have written anything, going by its own row count, and by what it calls."""
    program = statement.program
    if program is None or program.read_only:
        return False
    if statement.judged.fate is not Fate.RUN:
        # a failing CALL may leave effects behind
        return statement.judged.fate is Fate.FAILED and isinstance(program.statement, Call)
    defines = isinstance(program.statement, CreateTable | DropTable | ChangeTables)
    several = program.calls or isinstance(program.statement, Call | Together)
    return defines or several or statement.statement.affected != 0


def _writes_row_by_row(statement: PreparedStatement) -> bool:
    """Whether what a statement writes to a row hangs on no other row, or it writes nothing at all."""
    assert statement.program is not None
    bound = statement.program.statement
    if statement.program.read_only:
        return True
    if statement.program.calls:
        return False
    match bound:
        case Update(limit=None) | Delete(limit=None):
            return not has_subquery(bound)
        case Insert(query=None, conflict=None) | Truncate():
            return not has_subquery(bound)
    return False


def _construct(error: Exception) -> str:
    if isinstance(error, Unsupported):
        return error.construct
    return f"too many or too open symbolic values ({error})"

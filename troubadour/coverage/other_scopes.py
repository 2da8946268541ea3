"""The other definitions by which the statements of a log may be read, where states tell which hold (paper §3.1).

A level that does not keep real time or sessions lets a transaction read a state as old, or as new, as it likes, and
with it the definitions that held there: `SELECT v FROM t` after ALTER TABLE t may answer what it did before. What a
statement was answered says which definitions it cannot have met: it has other columns there, or none that it names.
Does not know rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod

import msgspec

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.ir.definitions import ChangeTables
from sql_semantics.ir.reach import Reach
from sql_semantics.ir.statements import Statement as Bound
from sql_semantics.ir.walks.effects import touched_tables
from sql_semantics.library import SqlLibrary
from troubadour.coverage.scopes import Span, levels_of, precedes, span_of
from troubadour.execution.prepared import prepare_statement
from troubadour.model.log import Log, LogError, Transaction

READINGS = 32
"""As many other readings of a log are looked at, and no more."""


def other_readings(log: Log, library: SqlLibrary, isolation: str | None) -> list[Log] | None:
    """The log as it reads by other definitions than those that real time and the sessions tell, in each way that the
    levels and the answers leave open; None where these are too many, or not all are told."""
    found = _Scopes(log, library, isolation)
    if found.reads_beside():
        return None
    scopes = found.possible()
    if prod(map(len, scopes)) > READINGS + 1:
        return None
    readings = product(*scopes)
    next(readings)  # as it is
    return [
        log.with_transactions(
            [
                transaction if scope is None else _in_scope(transaction, scope)
                for transaction, scope in zip(log.transactions, reading, strict=True)
            ]
        )
        for reading in readings
    ]


def _in_scope(transaction: Transaction, scope: int) -> Transaction:
    statements = tuple(msgspec.structs.replace(statement, scope=scope) for statement in transaction.statements)
    return msgspec.structs.replace(transaction, statements=statements)


class _Scopes:
    def __init__(self, log: Log, library: SqlLibrary, isolation: str | None) -> None:
        self.log = log
        self.library = library
        levels = [level for level in levels_of(log, isolation) if level is not None]
        self._keep_sessions = all(level.session for level in levels)
        self._keep_time = all(level.real_time for level in levels)
        self._changing: list[tuple[Span, int]] = []
        self._own: set[int] = set()
        for place, transaction in enumerate(log.transactions):
            left = [library.scope_after(statement.sql, statement.scope) for statement in transaction.statements]
            after = [scope for scope in left if scope is not None]
            if after:
                self._own.add(place)
                if transaction.status == "committed":
                    self._changing.append((span_of(transaction, place), after[-1]))

    def reads_beside(self) -> bool:
        """Whether a transaction that changes tables uses others that change, too: in a state that may be older."""
        for place in self._own:
            own: set[str] = set()
            used: set[str] = set()
            for bound in self._bound(self.log.transactions[place]):
                if isinstance(bound, ChangeTables):
                    own |= {name for move in bound.moves for name in (move.source, move.target) if name is not None}
                elif isinstance(bound, Reach):
                    used |= bound.tables | (self.library.changing if bound.everything else frozenset())
                elif bound is not None:
                    used |= touched_tables(bound, self.library.catalog)
            if not (used & self.library.changing) <= own:
                return True
        return False

    def possible(self) -> list[Sequence[int | None]]:
        """For each transaction the scopes in which it may stand: as it does, which is None, and the others."""
        return [
            [None] if place in self._own else [None, *self._others(place, transaction)]
            for place, transaction in enumerate(self.log.transactions)
        ]

    def _others(self, place: int, transaction: Transaction) -> Iterator[int]:
        if not transaction.statements:
            return
        here = transaction.statements[0].scope
        span = span_of(transaction, place)
        seen = [self._bound(transaction)]
        for scope in (0, *(after for _, after in self._changing)):
            if scope == here or any(self._excludes(*change, span, scope) for change in self._changing):
                continue
            read = _in_scope(transaction, scope)
            if self._fits(read):
                bound = self._bound(read)
                if bound not in seen:
                    seen.append(bound)
                    yield scope

    def _excludes(self, change: Span, after: int, span: Span, scope: int) -> bool:
        """Whether the levels keep it from standing in a scope, as it came before or after a change."""
        for earlier, later, before in ((change, span, scope < after), (span, change, scope >= after)):
            in_session = earlier.session is not None and earlier.session == later.session
            if before and ((self._keep_time and _timed(earlier, later)) or (self._keep_sessions and in_session)):
                return precedes(earlier, later)
        return False

    def _bound(self, transaction: Transaction) -> list[Bound | Reach | None]:
        """What its statements are, or may change where that is not modelled."""
        found: list[Bound | Reach | None] = []
        for index, statement in enumerate(transaction.statements):
            try:
                program = prepare_statement(statement, index, transaction, self.library).program
                found.append(None if program is None else program.statement)
            except LogError:
                found.append(None)
            except Unsupported:
                found.append(self.library.reach(statement.sql, statement.scope))
        return found

    def _fits(self, transaction: Transaction) -> bool:
        """Whether each statement that did not fail may have been answered so."""
        for index, statement in enumerate(transaction.statements):
            if statement.error is not None or statement.outcome_unknown:
                continue
            try:
                found = prepare_statement(statement, index, transaction, self.library)
            except LogError:
                return False
            except Unsupported:
                continue
            if isinstance(found.failure, SqlError):
                return False
        return True


def _timed(one: Span, other: Span) -> bool:
    times = (one.begins, one.over, other.begins, other.over)
    return one.clock == other.clock and all(time is not None for time in times)

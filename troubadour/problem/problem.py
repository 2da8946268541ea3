"""What is to be decided: the log, the levels and the switches. Does not know how it is decided."""

from __future__ import annotations

import copy
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sql_semantics.errors import Unsupported
from sql_semantics.ir.statements import Statement
from sql_semantics.ir.walks.effects import columns_moved, found_by, gives_up_keys
from sql_semantics.ir.walks.idle import idle_numbers
from sql_semantics.library import Program, SqlLibrary
from sql_semantics.records import dataclass
from troubadour.execution.definitions import PASSING, first_passing
from troubadour.execution.free.moments import moments_of
from troubadour.execution.free.values import FreeValues, first_number, numbered_tables
from troubadour.execution.initial.discovery import Discovery, InitialRows
from troubadour.execution.initial.rows import dangles
from troubadour.execution.observations.unwritten_keys import UnwrittenKeys
from troubadour.execution.prepared import (
    Preparations,
    PreparedTransaction,
    UnsupportedStatement,
    tables_written,
)
from troubadour.execution.states.state_map import StateMap
from troubadour.execution.views.first_of_key import ONE_OF_TWO
from troubadour.isolation.levels import Conflict, Horizon, Level, Scope, Visible, level_in
from troubadour.isolation.naming import unknown_level
from troubadour.isolation.times import Times, times_of
from troubadour.model.bounds import OutOfTime as OutOfTime
from troubadour.model.log import Log, LogError, Transaction, TransactionId
from troubadour.problem.answer_cache import KeptAnswers
from troubadour.problem.budget import SEVERAL, Budget
from troubadour.problem.heuristics import Heuristics as Heuristics
from troubadour.problem.refused import Refused

MANY_SILENT = 0.25
"""The part of a log's transactions that tell nothing of what they read from which on no reading is guessed."""

KEPT = 65_536
"""Transactions whose compiled statements are kept, those that were asked for last."""


@dataclass(slots=True)
class _Texts:
    """What the log's statements alone tell, found once for a problem and all that is derived from it."""

    moving: dict[str, dict[int, set[int]]] | None = None
    writing: tuple[Statement, ...] | None = None
    given_up: frozenset[str] | None = None


class Problem:
    """A log with everything that every step asks for. Transactions are named by *item*: their index in hint order.
    `free` is what the search takes the values to be that the DBMS chose. At some level what is seen `has_sets` that
    need be no states; `closes`: some level closes them, so that it matters whom each one sees; `reads_whole_states`: at
    all levels a transaction reads one state. `orders_versions`: a bound commit order holds for the versions of rows
    where it does not for places. `judged` are the items that an order must have, in hint order: the `committed` ones
    and, where the level promises what these see, the `aborted` ones, of which nothing remains.

    Raises LogError where a transaction's level is missing or unknown, Unsupported where initial rows are.
    """

    def __init__(
        self,
        log: Log,
        library: SqlLibrary,
        initial: InitialRows,
        *,
        isolation: str | None,
        order_recorded: bool = False,
        heuristics: Heuristics | None = None,
        budget: Budget | None = None,
        unknown: Sequence[str] = (),
        max_staleness: int | None = None,
    ) -> None:
        """`unknown` are the tables whose initial rows are not known, and of which `initial` has none. `max_staleness`:
        no transaction reads a state that more than so many transactions of the order have followed when its turn comes
        (None: any)."""
        self.log = log
        self.library = library
        self.initial = initial
        self.isolation = isolation
        self.order_recorded = order_recorded
        self.heuristics = heuristics or Heuristics()
        self.budget = budget or Budget()
        self.max_staleness = max_staleness
        self.levels: list[Level] = []
        self.times: list[Times] = []
        self.statuses: list[str] = []
        self.erring: list[int] = []
        """The items of which some statement failed."""
        self._sessions: dict[str, list[int]] = {}
        tables = frozenset(name.lower() for name in library.catalog.tables)
        for item, transaction in enumerate(log.transactions):
            self.levels.append(level_of(transaction, log, isolation))
            self.times.append(times_of(transaction, item, library.dialect.name, tables))
            self.statuses.append(transaction.status)
            if any(statement.error is not None for statement in transaction.statements):
                self.erring.append(item)
            if transaction.session is not None and transaction.status == "committed":
                self._sessions.setdefault(transaction.session, []).append(item)
        self.committed = [item for item, status in enumerate(self.statuses) if status == "committed"]
        self.aborted = frozenset(filter(self._is_promised, range(len(self.statuses))))
        self.judged = sorted([*self.committed, *self.aborted])
        self.unknown = [item for item, status in enumerate(self.statuses) if status == "unknown"]
        self.has_sets = any(level.visible is not Visible.STATE for level in self.levels)
        self.closes = any(level.visible is Visible.CLOSED for level in self.levels)
        self.reads_whole_states = all(level.scope is Scope.TRANSACTION for level in self.levels)
        self.has_own_states = any(level.scope is Scope.STATEMENT or level.acts for level in self.levels)
        self._exact = log.header.order == "exact"
        self.order_exact = self._exact or any(level.ordered for level in self.levels)
        self.orders_versions = self._exact and any(level.horizon.latest for level in self.levels)
        self.orders_commits = any(level.commits for level in self.levels)
        self._one_by_one = any(level.locks or level.conflict is Conflict.COLUMNS for level in self.levels)
        if self.has_own_states and unknown:
            raise Unsupported("unknown initial rows at a level at which statements read states of their own")
        self.keys = UnwrittenKeys(
            lambda: map(self.prepared, range(len(self.statuses))), lambda: initial, lambda: unknown, library
        )
        self.answers = KeptAnswers()
        self.refused = Refused()
        self.preparations = Preparations(library, KEPT)
        """What is compiled of transactions, for the search and for replay."""
        self._modelled = bytearray(len(self.statuses))
        self._open: bool | None = None
        self._texts = _Texts()
        self._dangles: bool | None = None
        self.guesses_readings = False
        """Whether readings are guessed of a log that tells little, too."""
        self.numbers: dict[int | None, Any] = {}
        """What `search.inference.reachable_numbers` found of items that were not explained."""
        self.discovery = Discovery(library.catalog.tables, unknown)
        self.closed_world = True
        self.guessed: InitialRows = {}
        returned = library.dialect.rules.running.aborts_return_numbers
        self.free = FreeValues(
            lambda name: first_number(name, library.catalog, initial),
            moments_of(
                log.transactions, lambda: (value for rows in initial.values() for row in rows for value in row or ())
            ),
            numbered_tables(library.catalog),
            frozenset(n for n, status in enumerate(self.statuses) if status == "aborted" and returned),
            idle=self._idle,
        )
        self._idle_numbers: frozenset[str] | None = None

    def _idle(self) -> frozenset[str]:
        """The numberings that no answer hangs on, by the statements of all transactions."""
        if self._idle_numbers is None:
            statements = [one for n in range(len(self.statuses)) for one in self.prepared(n).statements]
            programs = [one.program for one in statements if one.program is not None and not one.program.left_out]
            whole = len(programs) == len(statements) and not self.library.stepwise and not self.library.standing
            bound = {id(program): program.statement for program in programs} if whole else {}
            self._idle_numbers = idle_numbers(tuple(bound.values()), self.library.catalog)
        return self._idle_numbers

    def with_heuristics(self, heuristics: Heuristics) -> Problem:
        """The same problem under other switches."""
        other = copy.copy(self)
        other.heuristics = heuristics
        return other

    def in_open_world(self) -> Problem:
        """The same problem, in which tables of unknown initial rows may have had rows that nothing names; else they had
        none."""
        other = copy.copy(self)
        other.closed_world = False
        return other

    def assuming(self, rows: InitialRows) -> Problem:
        """The same problem with these initial rows in the tables where they are not known."""
        other = copy.copy(self)
        other.initial = {**self.initial, **rows}
        other.discovery = Discovery(self.library.catalog.tables, ())
        # what follows of other rows is not known of these
        other.numbers, other._dangles = {}, None
        return other

    def guessing(self, rows: InitialRows) -> Problem:
        """The same problem, in which initial rows are taken to be these where nothing says otherwise."""
        other = copy.copy(self)
        other.guessed = rows
        return other

    @contextmanager
    def guessing_readings(self) -> Iterator[None]:
        """In this block readings are guessed, however little the log tells."""
        before, self.guesses_readings = self.guesses_readings, True
        try:
            yield
        finally:
            self.guesses_readings = before

    @contextmanager
    def with_own_values(self) -> Iterator[OwnValues]:
        """In this block the values that the DBMS chose are those of a search in which nothing is placed yet; what it
        learns of them is kept only if it says so."""
        before, own = self.free, OwnValues()
        self.free = before.twin()
        try:
            yield own
        finally:
            if not own.kept:
                # what is placed outside of the block was run with these
                self.free = before

    def oldest(self, newest: int) -> int:
        """The oldest state that is read when so many transactions are placed."""
        return 0 if self.max_staleness is None else max(0, newest - self.max_staleness)

    def transaction(self, item: int) -> Transaction:
        """The transaction itself."""
        return self.log.transactions[item]

    def index_of(self, identifier: TransactionId) -> int:
        """The item of a transaction by its id."""
        for item, transaction in enumerate(self.log.transactions):
            if transaction.id == identifier and type(transaction.id) is type(identifier):
                return item
        raise KeyError(identifier)

    def prepared(self, item: int) -> PreparedTransaction:
        """Its compiled statements and parsed observations; the most recently used ones are kept."""
        found = self.preparations(self.log.transactions[item])
        if not self._modelled[item]:
            level = self.levels[item]
            moving = level.visible is not Visible.STATE or level.scope is Scope.STATEMENT or level.acts
            passing = first_passing(found.statements, self.library, moving=moving, real_time=level.real_time)
            if passing is not None:
                raise UnsupportedStatement(f"{PASSING} at {level.name}", found.transaction.id, passing)
            self._modelled[item] = 1
        return found

    def writing(self) -> tuple[Statement, ...]:
        """The bound statements of the log that may write, each once. Raises UnsupportedStatement."""
        if self._texts.writing is None:
            programs = (one.program for item in range(len(self.statuses)) for one in self.prepared(item).statements)
            found = {id(one.statement): one.statement for one in programs if one is not None and not one.read_only}
            self._texts.writing = tuple(found.values())
        return self._texts.writing

    def given_up(self) -> frozenset[str]:
        """The tables whose rows may be deleted or get other unique keys. Raises UnsupportedStatement."""
        if self._texts.given_up is None:
            catalog = self.library.catalog
            self._texts.given_up = frozenset[str]().union(*(gives_up_keys(one, catalog) for one in self.writing()))
        return self._texts.given_up

    def looked_up_once(self, item: int) -> frozenset[int]:
        """The statements that may have met two rows of one unique key, and been answered as if there were one: those
        that look up rows where older ones are seen beside those that the transaction wrote."""
        if not self.levels[item].acts or self.levels[item].horizon.latest:
            return frozenset()
        prepared, catalog = self.prepared(item), self.library.catalog
        looking = prepared.looked_up_once(catalog)
        if not looking or self.given_up().isdisjoint(name for tables in looking.values() for name in tables):
            return frozenset()
        wrote: set[str] = set()
        found: set[int] = set()
        for statement in prepared.statements:
            if not wrote.isdisjoint(looking.get(statement.index, ())):
                found.add(statement.index)
            if statement.program is not None:
                wrote |= tables_written(statement.program, catalog) & self.given_up()
        return frozenset(found)

    def chosen_otherwise(self, item: int) -> str | None:
        """What the DBMS may have chosen otherwise in a transaction than in the runs that were tried, if anything."""
        return self.free.choices.get(item) or (ONE_OF_TWO if self.looked_up_once(item) else None)

    def may_pass_over(self, item: int, program: Program) -> bool:
        """Whether a statement that looks at rows one by one (`Level.by_row`) may miss one although each of its versions
        would do: where another transaction may move it in the index by which the rows are found."""
        if not self.levels[item].by_row:
            return False
        if self._texts.moving is None:
            self._texts.moving = self._columns_moved()
        catalog = self.library.catalog
        for table, columns in program.remember("found by", lambda: list(found_by(program.statement, catalog))):
            for place, items in self._texts.moving.get(table, {}).items():
                if (columns is None or place in columns) and items - {item}:
                    return True
        return False

    def _moved_by(self, program: Program) -> list[tuple[str, frozenset[int]]]:
        return program.remember("columns moved", lambda: list(columns_moved(program.statement, self.library.catalog)))

    def _columns_moved(self) -> dict[str, dict[int, set[int]]]:
        """By table and column two of the transactions that may set it, or all where there are fewer."""
        found: dict[str, dict[int, set[int]]] = {}
        for item in range(len(self.statuses)):
            if self.statuses[item] == "aborted":
                continue
            for statement in self.prepared(item).statements:
                if statement.program is None or statement.program.read_only:
                    continue
                for table, columns in self._moved_by(statement.program):
                    of_table = found.setdefault(table, {})
                    for place in columns:
                        items = of_table.setdefault(place, set())
                        if len(items) < 2:
                            items.add(item)
        return found

    def checks_references(self, item: int) -> bool:
        """Whether all references that a transaction leaves new or alone must find their rows. In SQLite they need not
        where some found none before (`execution.invariants`): then only the concrete runs tell."""
        if not self.library.has_references or self.prepared(item).references != "kept":
            return False
        if self._dangles is None:
            dialect = self.library.dialect
            known = {name: rows for name, rows in self.initial.items() if name not in self.discovery.unknown}
            own = dialect.rules.running.counts_dangling and dangles(known, self.library.catalog)
            self._dangles = own or dialect.sets_foreign_keys
        return not self._dangles

    def _is_promised(self, item: int) -> bool:
        """Whether the level says what an aborted transaction saw, and something is known of it. Where the hint order
        binds, it is not judged: it has no commit, so that order does not say where it stood."""
        return (
            self.statuses[item] == "aborted"
            and self.levels[item].dialect is not None
            and not self.order_recorded
            and has_answers(self.log.transactions[item])
        )

    def committed_among(self, count: int) -> int:
        """How many of the first `count` that are judged are committed."""
        if not self.aborted:
            return count
        return bisect_left(self.committed, self.judged[count]) if count < len(self.judged) else len(self.committed)

    def earlier_in_session(self, item: int) -> Iterator[int]:
        """The committed transactions before the item in its session, the latest first."""
        own = self._sessions.get(self.times[item].session or "", [])
        for place in range(bisect_left(own, item) - 1, -1, -1):
            yield own[place]

    def empty_states(self) -> StateMap:
        """A state map that holds the initial state only."""
        return StateMap(
            self.library.catalog.tables,
            self.initial,
            folds_text=self.library.dialect.rules.running.folds_texts_of_keys,
            undiscovered=(self.discovery, self.discovery.unknown) if self.discovery.unknown else None,
        )

    @property
    def has_usable_order(self) -> bool:
        """Whether times say, about, how the committed transactions followed one another: commit times, or client times
        of one clock."""
        own = [self.times[item] for item in self.committed]
        if any(times.commit is not None for times in own):
            return True
        return all(times.over is not None for times in own) and len({times.clock for times in own}) == 1

    @property
    def leaves_readings_open(self) -> bool:
        """Whether the search keeps every reading open (H4 off, rows to be discovered, or a log that tells little); what
        statements read for themselves, what they lock, and what is merged, is always tried one by one."""
        if self.discovery.unknown:
            return True
        if self.has_own_states or self._one_by_one:
            return False
        return not self.heuristics.stronger_first or (self.tells_little() and not self.guesses_readings)

    def tells_little(self) -> bool:
        """Whether many transactions may have read several states, and neither times nor answers say which: then
        guessing costs more than it saves."""
        if self._open is None:
            silent = sum(map(self._may_read_anything, self.committed))
            self._open = silent > MANY_SILENT * len(self.committed) and len(self.committed) > SEVERAL
        return self._open

    def _may_read_anything(self, item: int) -> bool:
        level = self.levels[item]
        if level.scope is Scope.STATEMENT or level.horizon is not Horizon.ANY or level.visible is not Visible.STATE:
            return False
        return self.times[item].asked is None and self.is_silent(item)

    def is_silent(self, item: int) -> bool:
        """Whether nothing is known of what its statements answered."""
        statements = self.transaction(item).statements
        return all(s.results is None and s.affected is None and s.error is None for s in statements)

    def binds_commit_order(self, item: int) -> bool:
        """Whether its commit timestamp binds this transaction's place: its level says so, or ``order: exact`` does (not
        at the serializable levels)."""
        level = self.levels[item]
        return level.ordered or (self._exact and not level.horizon.latest)


@dataclass(slots=True)
class OwnValues:
    """Whether values that were learned in a try are kept."""

    kept: bool = False


def has_answers(transaction: Transaction) -> bool:
    """Whether it is known what some statement answered."""
    return any(one.results is not None or one.affected is not None for one in transaction.statements)


def level_of(transaction: Transaction, log: Log, isolation: str | None) -> Level:
    """The level to audit a transaction at; raises LogError."""
    name = isolation or transaction.isolation or log.header.isolation
    if name is None:
        text = f"transaction {transaction.id!r}: no isolation level in the log; name one with --isolation LEVEL"
        raise LogError(text, transaction.id)
    level = level_in(name, log)
    if level is None:
        raise LogError(f"transaction {transaction.id!r}: {unknown_level(name, log.header.dialect)}", transaction.id)
    if level.dialect not in (None, log.header.dialect):
        raise LogError(f"isolation level {name} is one of {level.dialect}, the log is of {log.header.dialect}")
    return level

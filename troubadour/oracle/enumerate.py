"""Whether any witness explains a tiny log: every order, every set of unknown ones, every view (paper Def. 3.4).

The answer is replay's; this module only makes sure that nothing is left out. Does not know the commit tests.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, combinations

import msgspec

from sql_semantics.errors import Unsupported
from sql_semantics.library import SqlLibrary
from sql_semantics.records import dataclass
from troubadour.execution.initial.rows import initial_state
from troubadour.execution.prepared import Preparations
from troubadour.model.log import Log, Transaction, TransactionId
from troubadour.model.verdict import Status
from troubadour.model.witness import FreeChoice, TransactionView, Witness
from troubadour.oracle.choices import Choices, ExecutionReads, Ways
from troubadour.replay.checker import Replay, check
from troubadour.replay.commit_tests.levels import is_judged, level_of
from troubadour.replay.store import Writes
from troubadour.replay.witness.listed import hidden_of


class BudgetExceeded(Exception):
    """The enumeration would take more steps than allowed; nothing is known then."""


@dataclass(frozen=True, slots=True)
class OracleAnswer:
    """`verified_prefix` counts committed transactions in hint order; `witness` explains that prefix, together with
    whatever others are in its order, and `failing` is the transaction after it. `reason` says what is not modelled
    where the status is undecided."""

    status: Status
    verified_prefix: int
    witness: Witness | None
    reason: str | None = None
    failing: TransactionId | None = None


def explain(
    log: Log,
    library: SqlLibrary,
    isolation: str | None,
    order_recorded: bool = False,
    budget: int = 200_000,
    max_staleness: int | None = None,
) -> OracleAnswer:
    """The largest prefix that some witness explains, by enumeration.

    `budget` bounds the transactions run; `max_staleness`, at the levels that read one state, how many transactions
    have followed that one. Raises BudgetExceeded beyond it, LogError where the log cannot be used.
    """
    judged = [
        transaction
        for transaction in log.transactions
        if is_judged(transaction, level_of(transaction, log, isolation), order_recorded=order_recorded)
    ]
    unknown = [t for t in log.transactions if t.status == "unknown"]
    search = _Search(log, library, isolation, order_recorded, budget, max_staleness)
    for size in range(len(judged), -1, -1):
        required = judged[:size]
        # With the next one too it would be a larger prefix, which was excluded before.
        optional = judged[size + 1 :] + unknown
        for others in _subsets(optional):
            witness = search.witness([*required, *others])
            if witness is None:
                continue
            covering = [transaction.id for transaction in required]
            refusal = check(
                log, witness, library, isolation=isolation, order_recorded=order_recorded, covering=covering
            )
            assert refusal is None, refusal
            status = Status.CORRECT if size == len(judged) else Status.VIOLATION
            verified = sum(transaction.status == "committed" for transaction in required)
            return search.answer(status, verified, witness, None if size == len(judged) else judged[size].id)
    raise AssertionError("the empty order explains the empty prefix")


def _subsets(items: Sequence[Transaction]) -> Iterator[tuple[Transaction, ...]]:
    return chain.from_iterable(combinations(items, size) for size in range(len(items) + 1))


class _Search:
    """Depth first over orders and views; a refused beginning is not continued."""

    def __init__(
        self,
        log: Log,
        library: SqlLibrary,
        isolation: str | None,
        recorded: bool,
        budget: int,
        max_staleness: int | None,
    ) -> None:
        self._log = log
        self._isolation = isolation
        self._library = library
        self._recorded = recorded
        self._left = budget
        self._max_staleness = max_staleness
        self._unsupported: Unsupported | None = None
        self._sets = any(level_of(transaction, log, isolation).closed for transaction in log.transactions)
        self._prepare = Preparations(library)
        self._initial = initial_state(log, library)

    def answer(self, status: Status, size: int, witness: Witness, failing: TransactionId | None) -> OracleAnswer:
        """A violation is not certain where some run was not modelled."""
        if status is Status.VIOLATION and self._unsupported is not None:
            return OracleAnswer(Status.UNDECIDED, size, None, str(self._unsupported))
        return OracleAnswer(status, size, witness, failing=failing)

    def witness(self, transactions: Sequence[Transaction]) -> Witness | None:
        """A witness over exactly these transactions, or None."""
        replay = Replay(
            self._log, self._library, order_recorded=self._recorded, prepare=self._prepare, initial=self._initial
        )
        views = self._extend(replay, list(transactions), [])
        if views is None:
            return None
        order, chosen = zip(*views, strict=True) if views else ((), ())
        return Witness(self._log.digest, self._isolation, tuple(order), tuple(chosen))

    def _extend(
        self, replay: Replay, remaining: list[Transaction], placed: list[tuple[str | int, TransactionView]]
    ) -> list[tuple[str | int, TransactionView]] | None:
        if not remaining:
            return placed if replay.finished() is None else None
        for place, transaction in enumerate(remaining):
            rest = remaining[:place] + remaining[place + 1 :]
            for view, longer in self._views(replay, transaction):
                found = self._extend(longer, rest, [*placed, (transaction.id, view)])
                if found is not None:
                    return found
        return None

    def _views(self, replay: Replay, transaction: Transaction) -> Iterator[tuple[TransactionView, Replay]]:
        """The views under which the transaction can come next, with the replay that has it; one for each set of writes,
        for each least set of transactions seen where that matters, and for each snapshot where it matters what that
        misses: nothing else of a view does to those that follow, and a transaction that sees it has to see the less."""
        seen: list[tuple[Writes, frozenset[int], int]] = []
        serial = level_of(transaction, self._log, self._isolation).serial
        for view, longer in self._accepted(replay, transaction):
            saw = frozenset(range(1, view.state + 1)) - hidden_of(view) if self._sets else frozenset[int]()
            snapshot = view.state if serial else 0
            if not any(
                longer.written == written and other <= saw and snapshot == state for written, other, state in seen
            ):
                seen.append((longer.written, saw, snapshot))
                yield view, longer

    def _accepted(self, replay: Replay, transaction: Transaction) -> Iterator[tuple[TransactionView, Replay]]:
        newest = replay.store.newest
        level = level_of(transaction, self._log, self._isolation)
        if level.latest:
            for longer, free in self._tries(replay, transaction, newest):
                yield TransactionView(newest, free=free), longer
        elif level.sets:
            # smaller ones first
            for size in range(newest + 1):
                for seen in combinations(range(1, newest + 1), size):
                    state = max(seen, default=0)
                    hidden = frozenset(range(1, state)) - frozenset(seen)
                    yield from self._of_executions(replay, transaction, state, own_states=False, hidden=hidden)
        elif level.one_snapshot:
            oldest = 0 if self._max_staleness is None else max(0, newest - self._max_staleness)
            for state in range(newest, oldest - 1, -1):
                yield from self._of_executions(replay, transaction, state, own_states=False)
        elif level.per_statement:
            yield from self._of_executions(replay, transaction, newest, own_states=True, by_row=level.by_row)
        else:
            choices = Choices(replay.store, replay.timeline)
            more = True
            while more:
                for longer, free in self._tries(replay, transaction, newest, choices):
                    yield TransactionView(newest, choices.assignment(), free=free), longer
                more = choices.advance()

    def _of_executions(
        self,
        replay: Replay,
        transaction: Transaction,
        state: int,
        *,
        own_states: bool,
        hidden: frozenset[int] = frozenset(),
        by_row: bool = False,
    ) -> Iterator[tuple[TransactionView, Replay]]:
        oldest = replay.oldest(transaction) if by_row else ()
        reads = ExecutionReads(replay.store.newest, own_states=own_states, oldest=oldest)
        away = tuple(sorted(hidden)) or msgspec.UNSET
        more = True
        while more:
            rows = Choices(replay.store, replay.timeline) if by_row else None
            others = True
            while others:
                for longer, free in self._tries(replay, transaction, state, rows, reads, hidden):
                    listed = () if rows is None else rows.assignment()
                    reading = reads.assignment() or msgspec.UNSET
                    yield TransactionView(state, listed, statements=reading, hidden=away, free=free), longer
                others = rows is not None and rows.advance()
                if others:
                    reads.again()
            more = reads.advance()

    def _tries(
        self,
        replay: Replay,
        transaction: Transaction,
        state: int,
        choices: Choices | None = None,
        reads: ExecutionReads | None = None,
        hidden: frozenset[int] = frozenset(),
    ) -> Iterator[tuple[Replay, tuple[FreeChoice, ...] | msgspec.UnsetType]]:
        """The longer replays that are not refused, by the ways that the DBMS goes where it has several."""
        ways = Ways()
        more = True
        while more:
            self._left -= 1
            if self._left < 0:
                raise BudgetExceeded("too many witnesses to enumerate")
            longer = replay.copy()
            try:
                refusal = longer.append(
                    transaction, state, choices, self._isolation, None, ways, statements=reads, hidden=hidden
                )
            except Unsupported as error:
                self._unsupported = error
                refusal = None
            else:
                if refusal is None:
                    yield longer, ways.assignment() or msgspec.UNSET
            more = ways.advance(exhausted=refusal is not None and refusal.condition == "free")

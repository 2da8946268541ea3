"""What client and DBMS times say (paper §6.2 *seq*). Does not know any state or row.

All comparisons are strict: equal times are concurrent. DBMS and client clocks are never compared with one another,
nor client clocks of different names.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from sql_semantics.records import dataclass
from troubadour.model.log import Transaction
from troubadour.model.opening import not_before, opening, taken_by


@dataclass(frozen=True, slots=True)
class Times:
    """The bounds that a transaction's times give. All are client times of `clock`, but `start` and `commit`.

    `sent`: no earlier was its commit sent (an aborted one has none). `answered`: by then it was answered. `asked`: no
    earlier was its snapshot taken. `opened`: by then its snapshot was taken. `got[n]`: by then statement n was
    answered; `put[n]`: no earlier was it sent. `held`: no earlier was the last statement that succeeded sent, so that
    an aborted transaction had what it had locked. None where nothing is known; a commit of
    unknown outcome was never answered, so nothing comes after it (`happened` is false). `rank` is the place in hint
    order, which is that of the numbers in a session whose transactions are `numbered`.
    """

    clock: str | None
    start: int | None
    commit: int | None
    invoked: int | None
    returned: int | None
    sent: int | None
    answered: int | None
    asked: int | None
    got: tuple[int | None, ...]
    session: str | None = None
    rank: int = 0
    happened: bool = True
    put: tuple[int | None, ...] = ()
    opened: int | None = None
    held: int | None = None
    numbered: bool = False

    @property
    def ends(self) -> int | None:
        """No earlier did it end: its commit was sent, or it was still under way."""
        return self.sent if self.sent is not None else self.held

    @property
    def over(self) -> int | None:
        """The earliest client time at which it can count as over."""
        return min((time for time in (self.returned, self.answered) if time is not None), default=None)

    @property
    def begun(self) -> int | None:
        """The latest client time at which it can count as not begun."""
        return max((time for time in (self.invoked, self.asked) if time is not None), default=None)


def times_of(transaction: Transaction, rank: int, dialect: str, tables: Collection[str]) -> Times:
    """Derive the bounds from what was logged; `rank` is the transaction's place in hint order, `tables` the names of
    the tables in lower case."""
    end = transaction.end
    statements = transaction.statements
    sent = end.invoked if end is not None and end.invoked is not None else _sent_after(transaction)
    answered = end.returned if end is not None and end.returned is not None else transaction.returned
    happened = transaction.status == "committed"
    bound = min((time for time in (answered, transaction.returned) if time is not None), default=None)
    following = end.invoked if end is not None else None
    got: list[int | None] = []
    for statement in reversed(statements):
        if statement.outcome_unknown and not happened:
            got.append(None)
            continue
        if statement.returned is not None:
            # its own answer, and not when the next one was sent: a pipeline sends that before
            bound = statement.returned if bound is None else min(bound, statement.returned)
            got.append(bound)
        else:
            got.append(min((time for time in (bound, following) if time is not None), default=None))
        if statement.invoked is not None:
            following = statement.invoked if following is None else min(following, statement.invoked)
    got.reverse()
    put = tuple(_put(transaction))
    last = max((n for n, s in enumerate(statements) if s.error is None and not s.outcome_unknown), default=None)
    return Times(
        clock=transaction.clock,
        start=transaction.start,
        commit=transaction.commit,
        invoked=transaction.invoked,
        returned=transaction.returned if happened else None,
        sent=sent if transaction.status != "aborted" else None,
        answered=answered if happened else None,
        asked=not_before(transaction, dialect),
        got=tuple(got),
        put=put,
        opened=taken_by(transaction, got, opening(transaction, dialect, tables)),
        held=put[last] if last is not None and transaction.status == "aborted" else None,
        session=transaction.session,
        rank=rank,
        happened=happened,
        numbered=transaction.sno is not None,
    )


def _put(transaction: Transaction) -> Iterator[int | None]:
    """For each statement, the latest time known to lie before it was sent, or that time itself."""
    latest = answered = transaction.invoked
    for statement in transaction.statements:
        if statement.invoked is not None:
            # a pipeline sends it before the one before it is answered
            latest = answered = statement.invoked if latest is None else max(latest, statement.invoked)
        yield answered
        answered = max((time for time in (answered, statement.returned) if time is not None), default=None)


def _sent_after(transaction: Transaction) -> int | None:
    """A commit whose own times are not known was sent after everything before it; a lone last statement may have
    committed by itself (autocommit), before its answer."""
    known = [transaction.invoked]
    statements = transaction.statements
    for place, statement in enumerate(statements, 1):
        known.append(statement.invoked)
        if transaction.end is not None or place < len(statements):
            known.append(statement.returned)
    return max((time for time in known if time is not None), default=None)


def precedes(earlier: Times, later: Times) -> bool:
    """Whether real time puts one transaction before the other (strict levels)."""
    if earlier.commit is not None and later.start is not None and earlier.commit < later.start:
        return True
    return (
        earlier.clock == later.clock
        and earlier.returned is not None
        and later.invoked is not None
        and earlier.returned < later.invoked
    )


def precedes_in_session(earlier: Times, later: Times) -> bool:
    """Whether the later one's client had the earlier one's commit answered on the same session before it began: so the
    hint order has them, unless no numbers do and client times say the opposite. A commit of unknown outcome may come
    about later."""
    if earlier.session is None or earlier.session != later.session:
        return False
    if not earlier.happened or earlier.rank >= later.rank:
        return False
    if earlier.numbered and later.numbered:
        return True
    return not (
        earlier.clock == later.clock
        and later.over is not None
        and earlier.begun is not None
        and later.over < earlier.begun
    )


def was_answered_before_commit(earlier: Times, later: Times) -> bool:
    """Whether one commit had been answered before the other was sent: so they become visible in that order."""
    return (
        earlier.clock == later.clock
        and earlier.answered is not None
        and later.sent is not None
        and earlier.answered < later.sent
    )


def was_answered_before_end(earlier: Times, later: Times) -> bool:
    """The same where the later one may have aborted: then what it had locked was not written meanwhile."""
    return (
        earlier.clock == later.clock
        and earlier.answered is not None
        and later.ends is not None
        and earlier.answered < later.ends
    )


def was_there(writer: Times, reader: Times, put: int | None) -> bool:
    """Whether what the reader sent at `put` sees the writer's commit on a server that keeps real time."""
    if writer.commit is not None and reader.start is not None and writer.commit < reader.start:
        return True
    return writer.clock == reader.clock and writer.answered is not None and put is not None and writer.answered < put


def in_snapshot(writer: Times, reader: Times) -> bool | None:
    """Whether the reader's state at its start has the writer's commit: True, False, or None for either way."""
    if reader.start is not None and writer.commit is not None:
        if writer.commit == reader.start:
            return None
        return writer.commit < reader.start
    if writer.clock != reader.clock:
        return None
    if writer.answered is not None and reader.asked is not None and writer.answered < reader.asked:
        return True
    if writer.sent is not None and reader.opened is not None and writer.sent > reader.opened:
        return False
    return None


def sent_after(writer: Times, reader: Times, statement: int) -> bool:
    """Whether the writer's commit was sent after the reader's statement had been answered."""
    got = reader.got[statement]
    return writer.clock == reader.clock and writer.sent is not None and got is not None and writer.sent > got

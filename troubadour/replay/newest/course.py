"""Whether hint order keeps all that times say, and the newest state is what each transaction may have read at its turn.

Asks for more than any level does: where that holds the commit tests of all levels of one state hold, too, and where it
does not, nothing is known. Goes by the log's times themselves. Does not know what anything read or wrote.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import msgspec

from troubadour.model.log import Transaction
from troubadour.replay.commit_tests.times import answers_by
from troubadour.replay.newest.kept import Clock, KeptCourse, Written, kept_writes, made_writes
from troubadour.replay.newest.rows import Look, NotPlain

_RECENT = 512
"""Placed transactions whose writes are remembered for those that were under way as they committed."""
_LEAST, _NEVER = -(1 << 63), (1 << 63) - 1


class Earliest(msgspec.Struct):
    """The earliest times of some transactions: commits and starts by the DBMS's clock, and anything by a client's."""

    commit: int = _NEVER
    start: int = _NEVER
    begun: list[tuple[Clock, int]] = msgspec.field(default_factory=list)

    def note(self, transactions: Sequence[Transaction], header: Clock) -> None:
        """Some more of them; `header`: the clock of those that name none."""
        begun = dict(self.begun)
        for one in transactions:
            if one.commit is not None and one.commit < self.commit:
                self.commit = one.commit
            if one.start is not None and one.start < self.start:
                self.start = one.start
            clock, time = one.clock if one.clock is not None else header, _begun(one)
            if time is not None and time < begun.get(clock, _NEVER):
                begun[clock] = time
        self.begun = [*begun.items()]


class Course:
    """The transactions placed so far."""

    __slots__ = ("_commit", "_dropped", "_ended", "_exact", "_recent", "_sent", "_start", "_wrote_at", "_wrote_sent")

    def __init__(self) -> None:
        self._commit = _LEAST
        """The latest commit, and start, by the DBMS's clock."""
        self._start = _LEAST
        self._wrote_at = _LEAST
        """The latest commit of one that wrote."""
        self._sent: dict[Clock, int] = {}
        """By clock, the latest time at which a commit cannot have been sent before, or a transaction was under way."""
        self._wrote_sent: dict[Clock, int] = {}
        """The same of those that wrote and have no commit time."""
        self._recent: deque[tuple[int, Clock, Sequence[Written]]] = deque()
        self._dropped: dict[Clock, int] = {}
        """The latest sending among those that are not remembered."""

    def kept(self) -> KeptCourse:
        """What is known of them. Raises Unkept."""
        return KeptCourse(
            self._commit,
            self._start,
            self._wrote_at,
            tuple(self._sent.items()),
            tuple(self._wrote_sent.items()),
            tuple(self._dropped.items()),
            tuple((sent, clock, kept_writes(written)) for sent, clock, written in self._recent),
        )

    def restore(self, kept: KeptCourse) -> None:
        """Know what was kept. Raises ValueError and its kin for what is none of that."""
        self._commit, self._start, self._wrote_at = kept.commit, kept.start, kept.wrote_at
        self._sent, self._wrote_sent, self._dropped = dict(kept.sent), dict(kept.wrote_sent), dict(kept.dropped)
        self._recent = deque((sent, clock, made_writes(written)) for sent, clock, written in kept.recent)

    def is_before(self, later: Earliest) -> bool:
        """Whether nothing of others began or committed before all that were placed were over, so that each of these
        follows, and none overlaps."""
        over = max(self._commit, self._start)
        if later.commit < over or later.start < max(over, self._wrote_at):
            return False
        return all(begun >= self._sent.get(clock, _LEAST) for clock, begun in later.begun)

    def append(self, kept: KeptCourse) -> None:
        """Place what others placed, all of which comes later; which rows they wrote is not known."""
        self._commit, self._start = max(self._commit, kept.commit), max(self._start, kept.start)
        self._wrote_at = max(self._wrote_at, kept.wrote_at)
        for clock, sent in kept.sent:
            self._sent[clock] = max(self._sent.get(clock, _LEAST), sent)

    def follows(self, one: Transaction, clock: Clock, *, at_start: bool, alone: bool) -> bool:
        """Whether a transaction may come next; raises NotPlain. True where it overlaps one of those before it, so that
        `independent` has to be asked once it has run. `at_start`: the newest state must be the one at its start;
        `alone`: it must overlap none."""
        commit, start = one.commit, one.start
        if commit is not None and one.status != "aborted" and (commit < self._commit or commit < self._start):
            raise NotPlain("commit times that contradict the order")
        sent = self._sent.get(clock, _LEAST)
        answered = _answered(one)
        if answered is not None and answered < sent:
            raise NotPlain("client times that contradict the order")
        begun = _begun(one)
        if at_start:
            if start is not None and self._wrote_at > start:
                raise NotPlain("a commit after its start")
            late = sent if start is None else self._wrote_sent.get(clock, _LEAST)
            if begun is not None and late > begun:
                raise NotPlain("a commit that may have come after its start")
        overlaps = begun is not None and sent > begun
        if overlaps and alone:
            raise NotPlain("transactions that overlap")
        return overlaps

    def independent(self, one: Transaction, clock: Clock, looks: Sequence[Look]) -> bool:
        """Whether nothing that it looked for hangs on a commit that was sent after the answer of the statement that
        looked."""
        got = answers_by(one)
        dropped = self._dropped.get(clock, _LEAST)
        if any(time is not None and time < dropped for time in got):
            return False
        earliest = min((time for look in looks if (time := got[look[0]]) is not None), default=None)
        if earliest is None:
            return True
        for sent, other, written in self._recent:
            if other != clock or sent <= earliest:
                continue
            for statement, table, columns, key in looks:
                answered = got[statement]
                if answered is None or sent <= answered:
                    continue
                for name, _, before, after in written:
                    if name == table and (columns is None or _has(before, columns, key) or _has(after, columns, key)):
                        return False
        return True

    def place(self, one: Transaction, clock: Clock, written: Sequence[Written]) -> None:
        """A transaction is placed that wrote so much of what remains."""
        committed = one.status != "aborted"
        commit, start = one.commit, one.start
        if committed and commit is not None:
            self._commit = max(self._commit, commit)
            if written:
                self._wrote_at = max(self._wrote_at, commit)
        if start is not None:
            self._start = max(self._start, start)
        sent = _sent(one)
        if sent is None:
            return
        if sent > self._sent.get(clock, _LEAST):
            self._sent[clock] = sent
        if not written:
            return
        if commit is None and sent > self._wrote_sent.get(clock, _LEAST):
            self._wrote_sent[clock] = sent
        self._recent.append((sent, clock, written))
        if len(self._recent) > _RECENT:
            gone, other, _ = self._recent.popleft()
            self._dropped[other] = max(self._dropped.get(other, _LEAST), gone)


def _has(row: Sequence[object] | None, columns: Sequence[int], key: Sequence[object]) -> bool:
    return row is not None and all(row[column] == value for column, value in zip(columns, key, strict=True))


def _begun(one: Transaction) -> int | None:
    """The earliest time of a client's that is known of it; None for none."""
    begun, end, begin = one.invoked, one.end, one.begin
    if one.returned is not None and (begun is None or one.returned < begun):
        begun = one.returned
    for statement in one.statements:
        for time in (statement.invoked, statement.returned):
            if time is not None and (begun is None or time < begun):
                begun = time
    others = [time for part in (begin, end) if part is not None for time in (part.invoked, part.returned)]
    return min((time for time in (begun, *others) if time is not None), default=None) if others else begun


def _answered(one: Transaction) -> int | None:
    """The earliest time at which it was over."""
    if one.status == "aborted":
        return None
    returned = one.returned
    if one.end is not None and one.end.returned is not None:
        return one.end.returned if returned is None else min(returned, one.end.returned)
    return returned


def _sent(one: Transaction) -> int | None:
    """The latest time that is known from before its commit was sent; of one that aborted, from before that."""
    latest = _LEAST if one.invoked is None else one.invoked
    last, begin, end = len(one.statements) - 1, one.begin, one.end
    for place, statement in enumerate(one.statements):
        if statement.invoked is not None and statement.invoked > latest:
            latest = statement.invoked
        if statement.returned is not None and statement.returned > latest and (place < last or end is not None):
            latest = statement.returned
    known = [] if begin is None else [begin.invoked, begin.returned]
    known += [] if end is None else [end.invoked]
    for time in known:
        latest = latest if time is None else max(latest, time)
    return None if latest == _LEAST else latest

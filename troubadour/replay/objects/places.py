"""What the recorded times, the sessions and a bound order forbid, for a whole order at once (Crooks et al. 2017; the
rules are those of docs/times.md).

Position p is the p-th transaction of the order, from 1; arrays over positions have it at p - 1. Does not know any key
or value.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from sql_semantics.records import dataclass
from troubadour.formats.objects.expand import statement_texts
from troubadour.model.log import Begin, Statement, Transaction
from troubadour.model.objects import COMMITTED, MISSING, READ, ObjectLog
from troubadour.model.opening import opening

Ints = npt.NDArray[np.int64]
Whole = npt.NDArray[np.int32]
"""Positions, cells and operations, of which there are fewer than 2^31."""

Small = npt.NDArray[np.uint8]
Flags = npt.NDArray[np.bool_]

NEVER = np.int64(2**63 - 1)
"""Stands for an absent time where the least is asked for; `MISSING` does where the greatest is."""


@dataclass(frozen=True, slots=True)
class Times:
    """Bounds by place or by position, `MISSING` where nothing is known; see `troubadour.replay.commit_tests.times`."""

    clock: Ints
    start: Ints
    commit: Ints
    invoked: Ints
    returned: Ints
    sent: Ints
    answered: Ints
    asked: Ints
    opened: Ints
    got: Ints
    session: Ints
    rank: Ints
    numbered: Flags
    happened: Flags

    def at(self, places: Ints) -> Times:
        """Those of some places, in this order."""
        return Times(*(getattr(self, name)[places] for name in self.__slots__))


def column(values: array[int]) -> Ints:
    """A column of the log, not copied."""
    return np.frombuffer(values, np.int64) if len(values) else np.zeros(0, np.int64)


def times_of(log: ObjectLog) -> Times:
    """The bounds of all transactions, by place."""
    count = len(log)
    happened = np.frombuffer(log.statuses, np.uint8) == COMMITTED
    invoked, returned, ended = map(column, (log.invoked, log.returned, log.end_returned))
    end_invoked = column(log.end_invoked)
    answered = np.where(ended != MISSING, ended, returned)
    nothing = np.int64(MISSING)
    got = np.full(count, NEVER)
    for known in (end_invoked, ended, returned):
        got = np.minimum(got, np.where(known == MISSING, NEVER, known))
    got = np.where(got == NEVER, nothing, got)
    rank = np.empty(count, np.int64)
    rank[column(log.order)] = np.arange(count)
    opened = np.where(_certain(log), got, nothing)
    asked = invoked.copy()
    first = column(log.first)
    for place, more in log.more.items():
        begin, at = more.get("begin"), more.get("snapshot_at")
        if isinstance(begin, Begin) and begin.invoked is not None:
            asked[place] = begin.invoked
        if at == "imported":
            asked[place] = nothing
        taken = at == "begin" if at is not None else isinstance(begin, Begin) and begin.snapshot
        if taken:
            known_by = begin.returned if isinstance(begin, Begin) else None
            if known_by is None:
                known_by = int(got[place]) if first[place + 1] > first[place] else MISSING
            opened[place] = known_by
    return Times(
        clock=np.array(log.clocks, np.int64),
        start=column(log.starts),
        commit=column(log.commits),
        invoked=invoked,
        returned=np.where(happened, returned, nothing),
        sent=np.where(end_invoked != MISSING, end_invoked, invoked),
        answered=np.where(happened, answered, nothing),
        asked=asked,
        opened=opened,
        got=got,
        session=column(log.sessions),
        rank=rank,
        numbered=column(log.numbers) != MISSING,
        happened=happened,
    )


def _certain(log: ObjectLog) -> Flags:
    """Whether a transaction has an operation whose SQL certainly takes the snapshot if there is none."""
    texts = statement_texts(log)
    tables = frozenset(definition.name.lower() for definition in log.objects)
    takes = np.zeros((len(log.objects), 2), np.bool_)
    for number, pair in enumerate(texts.pairs):
        for change, sql in enumerate(pair):
            alone = Transaction("", "committed", (Statement(sql),), 0)
            takes[number, change] = opening(alone, texts.dialect, tables) is not None
    first = column(log.first)
    some: Flags = first[1:] > first[:-1]
    if takes.all() or not len(log.kinds):
        return some
    changes = (np.frombuffer(log.kinds, np.uint8) != READ).astype(np.int64)
    flags = takes[np.frombuffer(log.subjects, np.uint16), changes]
    total = np.concatenate(([0], np.cumsum(flags)))
    found: Flags = total[first[1:]] > total[first[:-1]]
    return found


@dataclass(frozen=True, slots=True)
class Asks:
    """What the levels of the transactions ask for, by position; see `troubadour.replay.commit_tests.levels.Level`."""

    latest: Flags
    one_snapshot: Flags
    write_conflict: Flags
    real_time: Flags
    at_start: Flags
    session: Flags
    sets: Flags
    closed: Flags
    by_version: Flags
    ordered: Flags


Found = tuple[int, str, str]
"""A position (from 1) at which the order or a view is wrong, the condition, and what is wrong."""


def overtaken(times: Times, asks: Asks) -> Iterator[Found]:
    """Strict transactions placed before others that real time puts first."""
    text = "it was over before another began, but comes after it"
    strict = asks.real_time | (asks.ordered & (times.commit == MISSING))
    starts = _highest(np.where(strict, times.start, MISSING))
    yield from first_at((times.commit != MISSING) & (_before(starts) > times.commit), "real-time", text)
    for mine in _clocks(times.clock):
        invoked = _highest(np.where(strict & mine, times.invoked, MISSING))
        late = mine & (times.returned != MISSING) & (_before(invoked) > times.returned)
        yield from first_at(late, "real-time", text)
        # those in the order of their commits follow by clients' times only where one of the two has none
        ordered = _highest(np.where(asks.ordered & mine, times.invoked, MISSING))
        late = mine & (times.commit == MISSING) & (times.returned != MISSING) & (_before(ordered) > times.returned)
        yield from first_at(late, "real-time", text)
        asked = _highest(np.where(asks.at_start & mine, times.asked, MISSING))
        without = np.where(asks.at_start & mine & (times.start == MISSING), times.asked, MISSING)
        bound = np.where(times.commit == MISSING, _before(asked), _before(_highest(without)))
        yield from first_at(mine & (times.answered != MISSING) & (bound > times.answered), "real-time", text)


def out_of_order(times: Times, asks: Asks, *, exact: bool) -> Iterator[Found]:
    """Commits that an exact order of the log, or their level, has the other way round."""
    bound = (asks.ordered | ~asks.latest if exact else asks.ordered) & (times.commit != MISSING)
    highest = _highest(np.where(bound, times.commit, MISSING))
    text = "its commit comes after a later one, and their order is bound"
    yield from first_at(bound & (_before(highest) > times.commit), "order", text)


def against_sessions(times: Times, asks: Asks, states: Ints, hidden: tuple[Ints, Ints]) -> Iterator[Found]:
    """Transactions at session levels that do not stand behind all that their session committed before, or do not see
    it. `hidden`: positions of readers, and of what each does not see."""
    if not asks.session.any():
        return
    count = len(states)
    # where rows are of states of their own the session's order is that of the places alone
    states = np.where(asks.one_snapshot, states, np.arange(count))
    positions = np.arange(1, count + 1)
    order = np.lexsort((times.rank, times.session))
    session = times.session[order]
    # the highest position of what comes before in the session: running maximum, begun anew with each session
    known = np.where(times.happened, positions, 0)[order]
    begins = np.concatenate(([True], session[1:] != session[:-1]))
    part = np.cumsum(begins)
    highest = np.maximum.accumulate(part * (count + 1) + known) - part * (count + 1)
    earlier = np.where(begins, 0, np.concatenate(([0], highest[:-1])))
    suspects = order[asks.session[order] & (session >= 0) & (earlier > states[order])]
    text = "it does not see, or stands before, what its session committed before"
    members: dict[int, list[int]] = {}
    for reader in sorted(suspects.tolist()):
        number = int(times.session[reader])
        if number not in members:
            members[number] = np.flatnonzero(times.session == number).tolist()
        if any(other + 1 > states[reader] and _comes_before(times, other, reader) for other in members[number]):
            yield int(reader) + 1, "session", text
            break
    commits = np.where(times.happened, times.commit, MISSING)[order]
    for reader in sorted(order[_maybe_early(times, asks, order, commits, begins)].tolist()):
        mates = np.flatnonzero(times.session == times.session[reader]).tolist()
        if any(_comes_before(times, other, reader) and _is_out(times, other, reader) for other in mates):
            yield int(reader) + 1, "session", "it started before its session's last commit"
            break
    readers, unseen = hidden
    mine = asks.session[readers - 1] & (times.session[readers - 1] == times.session[unseen - 1])
    for reader, other in zip(readers[mine].tolist(), unseen[mine].tolist(), strict=True):
        if _comes_before(times, other - 1, reader - 1):
            yield reader, "session", text
            break


def _maybe_early(times: Times, asks: Asks, order: Ints, commits: Ints, begins: Flags) -> Flags:
    """Of an `order` by session and rank, which may have started before their session's last commit, where their level
    goes by timestamps: those with a later commit before them, and those without a start."""
    asked = (asks.ordered & asks.session & asks.at_start & (times.session >= 0))[order]
    if not asked.any():
        return asked
    values, numbered = _ascending(commits)
    part = (np.cumsum(begins) - 1) * (len(values) + 1)
    highest = np.maximum.accumulate(part + numbered) - part
    before = np.where(begins, 0, np.concatenate(([0], highest[:-1])))
    start = times.start[order]
    latest = values[before]
    found: Flags = asked & ((start == MISSING) | (~begins & (latest > start)))
    return found


def _ascending(values: Ints) -> tuple[Ints, Ints]:
    """Different values, ascending, and the number of each of some values among them."""
    order = np.argsort(values)
    ordered = values[order]
    begins = np.ones(len(values), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=begins[1:])
    numbered = np.empty(len(values), np.int64)
    numbered[order] = np.cumsum(begins) - 1
    return ordered[begins], numbered


def _is_out(times: Times, writer: int, reader: int) -> bool:
    """Whether a commit came after the reader's start, by the database's clock or else their client's."""
    if times.commit[writer] != MISSING and times.start[reader] != MISSING:
        return bool(times.commit[writer] > times.start[reader])
    known = times.sent[writer] != MISSING and times.opened[reader] != MISSING
    return bool(known and times.clock[writer] == times.clock[reader] and times.sent[writer] > times.opened[reader])


def _comes_before(times: Times, earlier: int, later: int) -> bool:
    """Whether one session committed the earlier one, and had the answer, before it began the later one."""
    if times.session[earlier] < 0 or times.session[earlier] != times.session[later] or not times.happened[earlier]:
        return False
    if not (times.numbered[earlier] and times.numbered[later]) and times.clock[earlier] == times.clock[later]:
        ends = [time for time in (times.returned[later], times.answered[later]) if time != MISSING]
        begins = [time for time in (times.invoked[earlier], times.asked[earlier]) if time != MISSING]
        if ends and begins and min(ends) < max(begins):
            return False
    return bool(times.rank[earlier] < times.rank[later])


def wrong_starts(times: Times, asks: Asks, states: Ints, idle: Flags) -> Iterator[Found]:
    """Snapshots that are not the state at the transaction's start: they lack what was there before it, or have what
    came after it and wrote something."""
    if not asks.at_start.any():
        return
    readers = np.flatnonzero(asks.at_start)
    low, high = states[readers], readers
    start = times.start[readers]
    lacks = "its snapshot lacks a transaction that was over before it began"
    has = "its snapshot has a transaction that committed after it began"
    commits = _Least(np.where(times.commit == MISSING, NEVER, times.commit))
    yield from first_of(1 + readers[(start != MISSING) & (commits.between(low, high) < start)], "real-time", lacks)
    writes = np.where(idle, MISSING, times.commit)
    newest = np.concatenate(([np.int64(MISSING)], _highest(writes)))
    yield from first_of(1 + readers[(start != MISSING) & (newest[low] > start)], "real-time", has)
    for mine in _clocks(times.clock):
        some = mine[readers]
        if not some.any():
            continue
        own, since, until = readers[some], low[some], high[some]
        asked, opened, timed = times.asked[own], times.opened[own], times.start[own] != MISSING
        for only_untimed in (False, True):
            # where both times of the DBMS are known, they alone decide
            counted = mine & (times.commit == MISSING) if only_untimed else mine
            asks_this = timed == only_untimed
            answered = _Least(np.where(counted & (times.answered != MISSING), times.answered, NEVER))
            late = asks_this & (asked != MISSING) & (answered.between(since, until) < asked)
            yield from first_of(1 + own[late], "real-time", lacks)
            sent = np.where(counted & ~idle, times.sent, MISSING)
            greatest = np.concatenate(([np.int64(MISSING)], _highest(sent)))
            yield from first_of(1 + own[asks_this & (opened != MISSING) & (greatest[since] > opened)], "real-time", has)


def unclosed(asks: Asks, states: Ints, hidden: dict[int, frozenset[int]]) -> Iterator[Found]:
    """Views at closed levels that see a transaction without something that this one saw."""
    for reader in sorted(hidden):
        unseen = hidden[reader]
        if not asks.closed[reader - 1] or not unseen:
            continue
        state = int(states[reader - 1])
        least = min(unseen)
        seen = np.arange(least + 1, state + 1)
        seen = seen[asks.one_snapshot[seen - 1] & (states[seen - 1] >= least)]
        for other in seen.tolist():
            if other in unseen:
                continue
            own = hidden.get(other, frozenset())
            if any(one <= states[other - 1] and one not in own for one in unseen):
                yield reader, "visibility", "it sees a transaction without something that this one saw"
                return


def late_writers(times: Times, readers: Ints, bounds: Ints) -> Flags:
    """Of readers (positions), which may have answers that came before a commit was sent among the first `bounds`
    positions."""
    found = np.zeros(len(readers), np.bool_)
    got, clock = times.got[readers - 1], times.clock[readers - 1]
    for mine in _clocks(times.clock):
        highest = np.concatenate(([np.int64(MISSING)], _highest(np.where(mine, times.sent, MISSING))))
        own = (clock == times.clock[mine.argmax()]) & (got != MISSING)
        found |= own & (highest[bounds] > got)
    return found


def sent_after(times: Times, reader: int, bound: int) -> frozenset[int]:
    """The positions up to `bound` whose commit was sent after a reader's answers."""
    if times.got[reader - 1] == MISSING:
        return frozenset()
    sent = times.sent[:bound]
    late = (times.clock[:bound] == times.clock[reader - 1]) & (sent != MISSING) & (sent > times.got[reader - 1])
    return frozenset((np.flatnonzero(late) + 1).tolist())


class _Least:
    """The least value of any range: a table of the least of 2^k neighbours for each k, as far as it is asked for."""

    def __init__(self, values: Ints) -> None:
        self._rows = [values]

    def between(self, low: Ints, high: Ints) -> Ints:
        """The least at indices low to high - 1, `NEVER` for an empty range."""
        length = high - low
        found = np.full(len(low), NEVER)
        some = np.flatnonzero(length > 0)
        if len(some):
            level = (np.frexp(length[some].astype(np.float64))[1] - 1).astype(np.int64)
            for one in np.flatnonzero(np.bincount(level)).tolist():
                at = some[level == one]
                while len(self._rows) <= one:
                    last, width = self._rows[-1], 1 << (len(self._rows) - 1)
                    self._rows.append(np.minimum(last[:-width], last[width:]))
                row = self._rows[one]
                found[at] = np.minimum(row[low[at]], row[high[at] - (1 << one)])
        return found


def _clocks(clock: Ints) -> Iterator[Flags]:
    if len(clock) and clock.min() == clock.max():
        # nearly always
        yield np.ones(len(clock), np.bool_)
        return
    for one in np.unique(clock).tolist():
        yield clock == one


def _highest(values: Ints) -> Ints:
    return np.maximum.accumulate(values) if len(values) else values


def _before(highest: Ints) -> Ints:
    """Of a running maximum, that of all positions before."""
    found: Ints = np.concatenate(([np.int64(MISSING)], highest[:-1])) if len(highest) else highest
    return found


def first_at(wrong: Flags, condition: str, text: str) -> Iterator[Found]:
    """The first of the positions that are wrong, if any is."""
    if wrong.any():
        yield int(wrong.argmax()) + 1, condition, text


def first_of(positions: Ints | Whole, condition: str, text: str) -> Iterator[Found]:
    """The first of some positions that are wrong, if there are any."""
    if len(positions):
        yield int(positions.min()), condition, text

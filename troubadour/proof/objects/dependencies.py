"""A circle of dependencies of a log of operations on objects, derived again from the operations themselves, one by one.

Each link says why one transaction comes before another, with the read that shows it. Plain code, apart from the arrays
that the circle was found with. Does not know how it was found.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sql_semantics.records import dataclass
from troubadour.isolation.anomalies import Kind, is_forbidden
from troubadour.isolation.levels import Level
from troubadour.model.log import Begin
from troubadour.model.objects import ABORTED, ADD, APPEND, COMMITTED, INC, MISSING, READ, UNREAD, WRITE, ObjectLog


@dataclass(frozen=True, slots=True)
class DependencyLink:
    """`earlier` comes before `later` (places of the log). `at`: the operation that read, a position in the log's
    columns (-1 where sessions or times say it); `by`: the transaction that read, where it is neither, else -1. `more`:
    an operation by which `later` read more of a counter than `earlier` did, so that it sees something that `earlier`
    misses (-1: none)."""

    kind: Kind
    earlier: int
    later: int
    at: int = -1
    by: int = -1
    more: int = -1

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """Of the dependencies that it stands for."""
        return (self.kind,) if self.more < 0 else (self.kind, Kind.WR)


def is_shown(log: ObjectLog, level: Level, circle: Sequence[DependencyLink]) -> bool:
    """Whether each link follows from the log at a level, and the level forbids such a circle."""
    if any(link.later != circle[(place + 1) % len(circle)].earlier for place, link in enumerate(circle)):
        return False
    if not is_forbidden(level, [kind for link in circle for kind in link.kinds]):
        return False
    checker = _Checker(log, level)
    return all(checker.holds(link) for link in circle)


class _Checker:
    def __init__(self, log: ObjectLog, level: Level) -> None:
        self._log, self._level = log, level
        self._keys = np.frombuffer(log.keys, np.int64)
        self._subjects = np.frombuffer(log.subjects, np.uint16)
        self._first = np.frombuffer(log.first, np.int64)

    def holds(self, link: DependencyLink) -> bool:
        """Whether a link follows from the log."""
        match link.kind:
            case Kind.SESSION:
                return self._in_session(link)
            case Kind.REAL_TIME:
                return self._in_time(link)
            case Kind.WR if self._is_set(link.at):
                return self._has(link)
            case Kind.RW if self._is_set(link.at):
                return self._lacks(link)
            case Kind.WR if self._is_counter(link.at):
                return self._counts(link)
            case Kind.WR:
                return self._reads(link)
            case Kind.RW if self._is_counter(link.at):
                return self._counts_less(link)
            case Kind.RW if link.by >= 0:
                return self._appends_without(link)
            case Kind.RW:
                return self._misses(link.earlier, link.later, link.at)
            case Kind.WW if self._is_counter(link.at):
                return self._counts_twice(link)
            case Kind.WW:
                return self._follows(link)

    # operations on one key

    def _visit(self, txn: int, at: int) -> list[int]:
        """The operations of a transaction on the key of an operation."""
        log = self._log
        subject, key = log.subjects[at], log.keys[at]
        begin, end = log.first[txn], log.first[txn + 1]
        return [one for one in range(begin, end) if log.subjects[one] == subject and log.keys[one] == key]

    def _base(self, at: int) -> int | tuple[int, ...] | None:
        """What a read tells of the version that its transaction saw; None where it tells nothing."""
        log = self._log
        txn = int(np.searchsorted(self._first, at, side="right")) - 1
        own = [one for one in self._visit(txn, at) if one < at and log.kinds[one] != READ]
        if log.kinds[at] != READ or log.values[at] == UNREAD:
            return None
        kind = log.objects[log.subjects[at]].type
        if kind == "register":
            return None if own else log.values[at]
        if kind != "list":
            return None
        items = tuple(log.sequences.at(log.values[at]))
        if len(items) < len(own) or items[len(items) - len(own) :] != tuple(log.values[one] for one in own):
            return None
        return items[: len(items) - len(own)]

    def _changes(self, txn: int, at: int) -> list[int]:
        log = self._log
        return [log.values[one] for one in self._visit(txn, at) if log.kinds[one] in (WRITE, APPEND, ADD)]

    def _writers(self, at: int) -> list[int]:
        """The transactions that did not abort and change the key of an operation."""
        log = self._log
        same = (self._keys == log.keys[at]) & (self._subjects == log.subjects[at])
        places = np.flatnonzero(same & (np.frombuffer(log.kinds, np.uint8) != READ))
        owners = np.unique(np.searchsorted(self._first, places, side="right") - 1).tolist()
        return [one for one in owners if log.statuses[one] != ABORTED]

    def _initial(self, at: int) -> int | tuple[int, ...]:
        log = self._log
        definition = log.objects[log.subjects[at]]
        code = definition.initial(log.keys[at])
        return tuple(log.sequences.at(code)) if definition.type == "list" else code

    def _source(self, reader: int, at: int) -> int | None:
        """The one transaction whose version a read is of, -1 for the initial one; None where that is not certain."""
        base = self._base(at)
        if base is None or self._reader(at) != reader:
            return None
        others = [one for one in self._writers(at) if one != reader]
        if isinstance(base, tuple):
            return self._source_of_list(base, at, others)
        left = [one for one in others if self._changes(one, at)[-1] == base]
        if self._initial(at) == base:
            left.append(-1)
        return left[0] if len(left) == 1 else None

    def _source_of_list(self, base: tuple[int, ...], at: int, others: list[int]) -> int | None:
        if base == self._initial(at):
            return -1
        if not base or not self._is_plain(at):
            return None
        left = [one for one in others if self._changes(one, at)[-1] == base[-1]]
        return left[0] if len(left) == 1 else None

    def _is_plain(self, at: int) -> bool:
        """Whether each value is appended to a list once at most."""
        initial = self._initial(at)
        assert isinstance(initial, tuple)
        values = [value for one in self._writers(at) for value in self._changes(one, at)]
        return len(values) == len(set(values)) and not set(values) & set(initial)

    def _reader(self, at: int) -> int:
        return int(np.searchsorted(self._first, at, side="right")) - 1

    @property
    def _grows(self) -> bool:
        return self._level.horizon.latest or self._level.write_conflict

    # links

    def _reads(self, link: DependencyLink) -> bool:
        if self._source(link.later, link.at) == link.earlier:
            return True
        # an element of the list that was read
        base = self._base(link.at)
        if not isinstance(base, tuple) or not self._grows or self._reader(link.at) != link.later:
            return False
        wrote = self._changes(link.earlier, link.at)
        return bool(wrote) and set(wrote) <= set(base) and self._is_plain(link.at)

    # sets

    def _is_set(self, at: int) -> bool:
        return self._log.objects[self._log.subjects[at]].type == "set"

    def _shown(self, at: int) -> set[int] | None:
        """The elements that a read shows; None where it shows nothing."""
        log = self._log
        known = log.kinds[at] == READ and log.values[at] != UNREAD
        return set(log.sequences.at(log.values[at])) if known else None

    def _has(self, link: DependencyLink) -> bool:
        """Whether a read has an element that one transaction alone can have added before."""
        at, log = link.at, self._log
        told = self._shown(at)
        if told is None or self._reader(at) != link.later:
            return False
        own = {log.values[one] for one in self._visit(link.later, at) if one < at and log.kinds[one] != READ}
        told -= own | set(log.sequences.at(log.objects[log.subjects[at]].initial(log.keys[at])))
        told &= {*self._changes(link.earlier, at)}
        others = {
            value
            for one in self._writers(at)
            if one not in (link.earlier, link.later)
            for value in self._changes(one, at)
        }
        return bool(told - others)

    def _lacks(self, link: DependencyLink) -> bool:
        """Whether a read lacks an element that a transaction added."""
        told = self._shown(link.at)
        if told is None or self._reader(link.at) != link.earlier or link.earlier == link.later:
            return False
        return bool({*self._changes(link.later, link.at)} - told)

    # counters to which all add in one direction

    def _is_counter(self, at: int) -> bool:
        return self._log.objects[self._log.subjects[at]].type == "counter"

    def _number(self, code: int) -> int:
        value = self._log.codes.value(code)
        assert isinstance(value, int)
        return value

    def _sign(self, at: int) -> int:
        """1 where all that change the counter of an operation add to it, -1 where all take from it, else 0; 0 too where
        a change may act on an older version, as one that leaves what it saw may."""
        added = [self._added(one, at) for one in self._writers(at)] if self._grows else []
        return int(bool(added) and min(added) > 0) - int(bool(added) and max(added) < 0)

    def _added(self, txn: int, at: int, before: int | None = None) -> int:
        log = self._log
        own = [one for one in self._visit(txn, at) if log.kinds[one] == INC and (before is None or one < before)]
        return sum(self._number(log.values[one]) for one in own)

    def _count(self, txn: int, at: int) -> int | None:
        """What a transaction saw of a counter, without what it had added itself, by the read `at`."""
        log = self._log
        if self._reader(at) != txn or log.kinds[at] != READ or log.values[at] == UNREAD:
            return None
        return self._number(log.values[at]) - self._added(txn, at, at)

    def _counts_of(self, txn: int, at: int) -> list[int]:
        """What a transaction saw of the counter of an operation."""
        found = (self._count(txn, one) for one in self._visit(txn, at))
        return [one for one in found if one is not None]

    def _counts(self, link: DependencyLink) -> bool:
        """Whether a reader has more than was there when another one read, which then added."""
        sign, seen = self._sign(link.at), self._count(link.later, link.at)
        if not sign or seen is None or not self._added(link.earlier, link.at):
            return False
        return any(sign * seen > sign * one for one in self._counts_of(link.earlier, link.at))

    def _counts_less(self, link: DependencyLink) -> bool:
        """Whether a reader has less than another one has, or than one left that read and then added."""
        sign, seen = self._sign(link.at), self._count(link.earlier, link.at)
        if not sign or seen is None or link.earlier == link.later:
            return False
        if link.more >= 0:
            other = self._count(link.later, link.more)
            same = (
                self._log.subjects[link.more] == self._log.subjects[link.at]
                and self._log.keys[link.more] == self._log.keys[link.at]
            )
            return same and other is not None and sign * seen < sign * other
        added = self._added(link.later, link.at)
        return any(sign * seen < sign * (one + added) for one in self._counts_of(link.later, link.at))

    def _counts_twice(self, link: DependencyLink) -> bool:
        """Whether two transactions read the same of a counter and then added to it."""
        both = (link.earlier, link.later)
        if not self._sign(link.at) or not all(self._added(one, link.at) for one in both):
            return False
        first, second = (self._counts_of(one, link.at) for one in both)
        return bool({*first} & {*second})

    def _misses(self, reader: int, writer: int, at: int) -> bool:
        """Whether a read is of a version before one that another transaction certainly makes later."""
        base = self._base(at)
        wrote = self._changes(writer, at)
        if base is None or not wrote or self._reader(at) != reader or reader == writer:
            return False
        if isinstance(base, tuple) and self._grows:
            return self._is_plain(at) and not set(wrote) & set(base)
        source = self._source(reader, at)
        return source is not None and (source == -1 or self._came_from(writer, at, source))

    def _appends_without(self, link: DependencyLink) -> bool:
        """Whether an answer shows that a transaction appended to a list without what another one appends."""
        base = self._base(link.at)
        first, second = self._changes(link.earlier, link.at), self._changes(link.later, link.at)
        if not isinstance(base, tuple) or not first or not second or self._reader(link.at) != link.by:
            return False
        if not self._grows or not self._is_plain(link.at) or not set(first) <= set(base):
            return False
        return not set(second) & set(base[: base.index(first[0])])

    def _came_from(self, writer: int, at: int, source: int) -> bool:
        """Whether a transaction that changes the key of an operation saw one version of it before."""
        return any(
            self._source(writer, one) == source for one in self._visit(writer, at) if self._log.kinds[one] == READ
        )

    def _follows(self, link: DependencyLink) -> bool:
        """Whether a version comes before another one of the same key."""
        log, at = self._log, link.at
        shown = link.by if link.by >= 0 else self._reader(at)
        base = self._base(at)
        first, second = self._changes(link.earlier, at), self._changes(link.later, at)
        if base is None or not first or not second or self._reader(at) != shown:
            return False
        if isinstance(base, tuple) and self._is_plain(at) and self._grows:
            # one is there and the other one behind it, or not at all
            has = set(first) <= set(base)
            if has and not set(second) & set(base):
                return True
            if has and set(second) <= set(base) and base.index(first[0]) < base.index(second[0]):
                return True
        source = self._source(shown, at)
        if source is None or not self._grows or shown != link.earlier:
            return False
        # it follows that version directly, and so all that comes after that version comes after its own
        same = log.objects[log.subjects[at]].type == "register" and first[-1] == base
        if same and not self._level.horizon.latest:
            return False
        if isinstance(base, tuple) and self._is_plain(at) and not set(second) & set(base):
            return True
        return source == -1 or self._came_from(link.later, at, source)

    def _in_session(self, link: DependencyLink) -> bool:
        log = self._log
        one, other = link.earlier, link.later
        if log.sessions[one] < 0 or log.sessions[one] != log.sessions[other] or log.statuses[one] != COMMITTED:
            return False
        order = np.frombuffer(log.order, np.int64)
        if np.flatnonzero(order == one)[0] > np.flatnonzero(order == other)[0]:
            return False
        if (log.numbers[one] != MISSING and log.numbers[other] != MISSING) or log.clocks[one] != log.clocks[other]:
            return True
        begins = [log.invoked[one]] if log.invoked[one] != MISSING else []
        begin = log.more.get(one, {}).get("begin")
        if isinstance(begin, Begin) and begin.invoked is not None:
            begins.append(begin.invoked)
        ends = [time for time in (log.returned[other], log.end_returned[other]) if time != MISSING]
        return not (begins and ends and min(ends) < max(begins))

    def _in_time(self, link: DependencyLink) -> bool:
        log = self._log
        one, other = link.earlier, link.later
        if log.commits[one] != MISSING and log.starts[other] != MISSING and log.commits[one] < log.starts[other]:
            return True
        timed = log.clocks[one] == log.clocks[other] and log.statuses[one] == COMMITTED
        known = log.returned[one] != MISSING and log.invoked[other] != MISSING
        return timed and known and log.returned[one] < log.invoked[other]

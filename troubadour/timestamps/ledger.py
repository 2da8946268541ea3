"""Every axiom of every transaction, kept right as transactions come in any order (Chronos and Aion, Algorithms 2, 3).

A snapshot is taken at a transaction's start; where `serial`, a read is of what stands just before its commit, and
neither starts nor conflicts are looked at. What is checked once more when a transaction comes late are the readers
between its version of a key and the next one. Does not know files, nor what is told when.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from sql_semantics.records import dataclass
from troubadour.model.breaches import SHOWN, Axiom, Breach, Breaches, Writer
from troubadour.model.log import TransactionId
from troubadour.timestamps.cells import NEVER, Reader, Settled, Versions, Write
from troubadour.timestamps.store import Named, Store
from troubadour.timestamps.visits import NONE, Cell, Done, Fault, Visit, visits_of

BLOCK = 1024
"""Transactions whose ids are settled at once."""

OF_A_KEY = 3
"""Versions and reads that take as much memory as a key by itself."""

_MARKS = (1 << 23) - 1

Initial = Callable[[Cell], Any]
"""What a key holds at first."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What is asked: see the module. `visible`: equal timestamps are as TimeKiller has them (a commit at a start is
    seen). `gaps`: a number that is missing in a session is a violation of SESSION."""

    serial: bool = False
    visible: bool = False
    gaps: bool = False


class Stamped(NamedTuple):
    """A transaction: its `number` among all, by place in the log; `status` as in a log; None for what is not known."""

    number: int
    id: TransactionId
    status: str
    session: str | int | None
    sno: int | None
    start: int | None
    commit: int | None
    operations: Iterable[Done]


@dataclass(frozen=True, slots=True)
class Flip:
    """A read that is right now and was not, or the other way round."""

    number: int
    cell: Cell
    wrong: bool


Conflict = tuple[int, int, Cell]
Chain = tuple[str | int, bool]
"""A session, and whether its transactions that have numbers or those that have none are meant: each follow one another
by their numbers or by their commits, whatever stands between them; one of either kind goes by the order of all."""

_KEPT = (
    "known", "wrong", "faults", "conflicts", "sessions", "_tops", "late", "gaps", "unplaced", "records", "reloads",
    "_blocks", "_cut",
)  # fmt: skip
"""What a ledger has beside the versions of its keys: plain numbers, texts and collections of them."""


class Ledger:
    """The transactions so far. `types` and `names` of the objects; `unplaced` counts those whose reads are not judged,
    as they have no timestamp for it."""

    def __init__(self, types: Sequence[str], names: Sequence[str], initial: Initial, rules: Rules) -> None:
        self.types, self.names, self._initial, self.rules = tuple(types), tuple(names), initial, rules
        self.known: dict[int, tuple[TransactionId, int | None, int | None]] = {}
        self.versions: dict[Cell, Versions] = {}
        self.wrong: dict[tuple[int, Cell], None] = {}
        """The reads that are of no version that they may be of."""
        self.faults: list[tuple[int, Cell, Any, Any]] = []
        self.conflicts: dict[Conflict, None] = {}
        self.sessions: dict[Chain, list[tuple[int, int, int, int, int]]] = {}
        """Of each transaction by what it is ordered, and then, its number among all, its start and its commit."""
        self._tops: dict[Chain, list[tuple[int, int]]] = {}
        """Of each chain the last commit up to each of its transactions, and which one it is."""
        self.late: dict[int, int] = {}
        """The transactions that started before their session's last commit, and the one that committed then."""
        self.gaps: dict[int, tuple[int, int]] = {}
        self.unplaced = 0
        self.elsewhere: dict[str, int] = {}
        """Violations of keys that are not looked at here, by axiom."""
        self.upto: int | None = None
        """The rank in the hint order before which none of those fails; None: there are none."""
        self.records = 0
        """Versions and reads that are in memory."""
        self.reloads = 0
        """Keys that were settled and taken back, as something came for what they held then."""
        self.forgotten = 0
        """Transactions that came for what was settled in a store that forgets: they are not judged in all they did."""
        self._before: dict[tuple[int, Cell], Breach] = {}
        """The wrong reads of which the rest was forgotten."""
        self._store: Store | None = None
        self._gone = bytearray((_MARKS + 1) >> 3)
        """A bit for some keys each: whether one of them is in the store alone."""
        self._blocks = 0
        """Blocks of `known` that were settled."""
        self._cut: set[Chain] = set()
        """Those of which a part is settled."""

    def add(self, one: Stamped) -> list[Flip]:
        """Take a transaction; the reads of others, and of its own, that are right or wrong now."""
        return self.take(one, *visits_of(self.types, one.operations))

    def take(self, one: Stamped, visits: dict[Cell, Visit], faults: list[Fault]) -> list[Flip]:
        """The same, where what it does to each key was looked at; its operations are not."""
        number, serial = one.number, self.rules.serial
        self.known[number] = one.id, one.start, one.commit
        if one.status == "aborted":
            for cell, visit in visits.items():
                if visit.change is not NONE:
                    self._of(cell).add_dead(_write(one, visit, one.start or 0, one.commit or 0))
            return []
        certain = one.status == "committed"
        flips: list[Flip] = []
        commit = one.commit if one.commit is not None else one.start
        start = commit if one.start is None else one.start
        moment = one.commit if serial else one.start
        cells = self.versions
        least = commit if serial else start
        loose = not certain and one.commit is None
        lost = False
        self.records += len(visits)
        for cell, visit in visits.items():
            versions = cells.get(cell)
            if versions is None:
                versions = self._new(cell)
            if least is not None and least < versions.floor and not self._restore(cell, versions):
                lost = True
                continue
            change, base = visit.change, visit.base
            if loose and change is not NONE:
                if versions.floor != NEVER and not self._restore(cell, versions):
                    lost = True
                    continue
                versions.add_loose(_write(one, visit, NEVER if start is None else start, NEVER, certain=False))
                flips += self._again(cell, versions, versions.readers)
            elif (
                change is not NONE
                and commit is not None
                and start is not None
                and not (certain and versions.appended(number, start, commit, change, visit.passed))
            ):
                place = versions.add(Write(number, start, commit, change, visit.passed, certain))
                if not serial:
                    for first, second in versions.conflicts(place):
                        self.conflicts[first.number, second.number, cell] = None
                if versions.readers and versions.readers[-1][0] >= commit:
                    flips += self._once_more(cell, versions, place)
            if base is not NONE and certain and moment is not None:
                own = visit.own
                if not versions.read((moment, number, base, None if own is NONE else own)):
                    self.wrong[number, cell] = None
                    flips.append(Flip(number, cell, wrong=True))
        self.forgotten += lost
        if not certain:
            return flips
        if moment is None:
            self.unplaced += any(visit.base is not NONE for visit in visits.values())
        if faults:
            self.faults += ((number, *fault) for fault in faults)
        if not serial:
            self._follow(one)
        return flips

    def _of(self, cell: Cell) -> Versions:
        versions = self.versions.get(cell)
        return self._new(cell) if versions is None else versions

    def _new(self, cell: Cell) -> Versions:
        rules = self.rules
        versions = self.versions[cell] = Versions(
            self.types[cell[0]], self._initial(cell), visible=rules.visible, serial=rules.serial
        )
        self.records += OF_A_KEY
        at = hash(cell) & _MARKS
        if self._gone[at >> 3] >> (at & 7) & 1:
            assert self._store is not None
            head = self._store.head(_named(cell))
            if head is not None:
                versions.stand_on(head)
        return versions

    def settle(self, horizon: int, kept: int, store: Store) -> None:
        """Move what is before a moment to disk, of which nothing more may come to hang, and the ids of all transactions
        but the last `kept`. What comes for it all the same has it again."""
        self._store = store
        if store.forgets:
            for number, cell in self.wrong:
                if (number, cell) not in self._before and self.moment(number) < horizon:
                    self._before[number, cell] = self.of_read(number, cell)
        parts: list[Named] = []
        heads: list[Named] = []
        self.records = 0
        for cell, versions in [*self.versions.items()]:
            settled = versions.settle(horizon)
            name = _named(cell)
            if settled is not None:
                parts.append((name, tuple(settled)))
            if not (versions.commits or versions.readers or versions.dead or versions.loose):
                heads.append((name, versions.head()))
                del self.versions[cell]
                at = hash(cell) & _MARKS
                self._gone[at >> 3] |= 1 << (at & 7)
                continue
            self.records += OF_A_KEY + len(versions.commits) + len(versions.readers)
        for chain, mine in self.sessions.items():
            cut = next((at for at, one in enumerate(mine) if one[4] >= horizon), len(mine)) - 1
            if cut > 0:
                tops = self._tops[chain]
                parts.append((_named(chain), (mine[:cut], tops[:cut])))
                del mine[:cut], tops[:cut]
                self._cut.add(chain)
        store.put(parts, heads)
        while (self._blocks + 1) * BLOCK <= max(self.known, default=0) + 1 - kept:
            first = self._blocks * BLOCK
            store.put_block(self._blocks, [self.known.pop(number) for number in range(first, first + BLOCK)])
            self._blocks += 1

    def kept(self) -> dict[str, Any]:
        """All that is in memory, in what a store takes."""
        plain = {name: getattr(self, name) for name in _KEPT}
        return {**plain, "versions": [(cell, one.kept()) for cell, one in self.versions.items()]}

    def resume(self, kept: dict[str, Any], store: Store) -> None:
        """Have what was kept, beside what the store has."""
        self._store = store
        self._gone = bytearray(b"\xff") * len(self._gone)
        for cell, one in kept["versions"]:
            self._of(cell).resume(one)
        # behind the keys, which count themselves
        for name in _KEPT:
            setattr(self, name, kept[name])

    def _restore(self, cell: Cell, versions: Versions) -> bool:
        """Have what was settled of a key again; whether it was not forgotten."""
        assert self._store is not None
        if self._store.forgets:
            return False
        self.reloads += 1
        parts = self._store.take(_named(cell))
        versions.restore(self._initial(cell), (Settled(*part) for part in parts))
        self.records += sum(len(part[0]) + len(part[1]) for part in parts)
        return True

    def of(self, number: int) -> tuple[TransactionId, int | None, int | None]:
        """The id of a transaction, its start and its commit."""
        found = self.known.get(number)
        if found is None:
            assert self._store is not None
            id, start, commit = self._store.block(number // BLOCK)[number % BLOCK]
            return id, start, commit
        return found

    def _whole(self, cell: Cell) -> Versions:
        """A key with all that was settled of it, and not forgotten."""
        versions = self._of(cell)
        if versions.floor != NEVER:
            self._restore(cell, versions)
        return versions

    def _once_more(self, cell: Cell, versions: Versions, place: int) -> Iterator[Flip]:
        """Look again at the reads that may be of the version at a place."""
        return self._again(cell, versions, versions.read_between(*versions.between(place)))

    def _again(self, cell: Cell, versions: Versions, readers: Iterable[Reader]) -> Iterator[Flip]:
        for reader in readers:
            number, wrong = reader[1], not versions.explains(reader)
            if wrong != ((number, cell) in self.wrong):
                if wrong:
                    self.wrong[number, cell] = None
                else:
                    del self.wrong[number, cell]
                yield Flip(number, cell, wrong)

    def _follow(self, one: Stamped) -> None:
        """Put a transaction into its session, and look at it and at those behind it once more."""
        if one.session is None or one.start is None:
            return
        commit = one.start if one.commit is None else one.commit
        chain = one.session, one.sno is not None
        mine = self.sessions.setdefault(chain, [])
        # of equal commits the one first that started first, after which the other one may come
        rank, tie = (one.sno, 0) if one.sno is not None else (commit, 0 if self.rules.visible else one.start)
        entry = rank, tie, one.number, one.start, commit
        tops = self._tops.setdefault(chain, [])
        if mine and mine[-1] < entry and not self.rules.gaps:
            # nearly always
            last = tops[-1]
            if last[0] > one.start:
                self.late[one.number] = last[1]
            mine.append(entry)
            tops.append((commit, one.number) if commit > last[0] else last)
            return
        if chain in self._cut and entry < mine[0]:
            assert self._store is not None
            if self._store.forgets:
                self.forgotten += 1
                return
            self._cut.discard(chain)
            for some, of_them in reversed(self._store.take(_named(chain))):
                mine[:0] = some
                tops[:0] = of_them
        place = bisect_left(mine, entry)
        mine.insert(place, entry)
        tops.insert(place, (commit, one.number))
        for at in range(place, len(mine)):
            before = tops[at - 1] if at else None
            _, _, number, start, own = mine[at]
            if before is not None and before[0] > start:
                self.late[number] = before[1]
            top = (own, number) if before is None or own > before[0] else before
            if at > place and tops[at] == top:
                break
            tops[at] = top
        if self.rules.gaps and one.sno is not None:
            for at in (place, place + 1):
                if at < len(mine):
                    self._look_for_gap(mine, at)

    def _look_for_gap(self, mine: list[tuple[int, int, int, int, int]], at: int) -> None:
        wanted = mine[at - 1][0] + 1 if at else 0
        rank, _, number, _, _ = mine[at]
        self.gaps.pop(number, None)
        if rank != wanted:
            self.gaps[number] = wanted, rank

    # what is told

    def count(self) -> int:
        """How many violations there are."""
        here = len(self.wrong) + len(self.faults) + len(self.conflicts) + len(self.late) + len(self.gaps)
        return here + sum(self.elsewhere.values())

    def breaches(self, shown: int = SHOWN) -> Breaches:
        """All violations, of which so many are told one by one."""
        by_axiom = {
            "SESSION": len(self.late) + len(self.gaps),
            "INT": len(self.faults),
            "EXT": len(self.wrong),
            "NOCONFLICT": len(self.conflicts),
        }
        by_axiom |= {axiom: by_axiom[axiom] + count for axiom, count in self.elsewhere.items()}
        found = sorted(self._all(), key=lambda one: (self._end(one[0]), one[0]))
        return Breaches(self.count(), tuple(breach() for _, breach in found[:shown]), by_axiom)

    def _end(self, number: int) -> int:
        _, start, commit = self.of(number)
        return commit if commit is not None else start if start is not None else 0

    def _all(self) -> Iterator[tuple[int, Callable[[], Breach]]]:
        """The transaction of each violation, and what makes it: few of many are told."""
        for number in self.late:
            yield number, partial(self.of_session, number)
        for number in self.gaps:
            yield number, partial(self.of_gap, number)
        for at in range(len(self.faults)):
            yield self.faults[at][0], partial(self.of_fault, at)
        for number, cell in self.wrong:
            yield number, partial(self.of_read, number, cell)
        for conflict in self.conflicts:
            yield conflict[0], partial(self.of_conflict, conflict)

    def _breach(
        self, axiom: Axiom, number: int, cell: Cell | None, expected: Any, observed: Any, **more: Any
    ) -> Breach:
        id, start, commit = self.of(number)
        name = None if cell is None else self.names[cell[0]]
        key = None if cell is None else cell[1]
        return Breach(axiom, id, name, key, _plain(expected), _plain(observed), start, commit, **more)

    def writer(self, number: int) -> Writer:
        """A transaction with its interval."""
        return Writer(*self.of(number))

    def type_of(self, cell: Cell) -> str:
        """The type of a key's object."""
        return self.types[cell[0]]

    def of_session(self, number: int, before_it: int | None = None) -> Breach:
        """A transaction that started before its session's last commit (or another one `before_it`)."""
        before = self.writer(self.late[number] if before_it is None else before_it)
        _, start, _ = self.of(number)
        return self._breach("SESSION", number, None, before.commit, start, expected_writer=before)

    def of_gap(self, number: int) -> Breach:
        """A transaction before which numbers of its session are missing."""
        return self._breach("SESSION", number, None, *self.gaps[number], origin="gap")

    def of_fault(self, at: int) -> Breach:
        """A read that contradicts its own transaction."""
        number, cell, expected, observed = self.faults[at]
        return self._breach("INT", number, cell, expected, observed)

    def of_conflict(self, conflict: Conflict) -> Breach:
        """Two transactions that wrote one key and overlap."""
        first, second, cell = conflict
        other = self.writer(second)
        return self._breach("NOCONFLICT", first, cell, None, other.transaction, observed_writer=other)

    def of_read(self, number: int, cell: Cell) -> Breach:
        """A read that is of no version that it may be of."""
        if (number, cell) in self._before:
            return self._before[number, cell]
        near = self._told_near(number, cell)
        if near is not None:
            return near
        versions = self._whole(cell)
        reader = self.reader(number, cell)
        moment, _, base, own = reader
        expected, last = versions.expected(moment, number)
        if own is not None:
            expected = expected | own
        origin: str | None
        origin, writer = versions.origin(reader)
        if writer is None and origin == "nothing":
            dead = next((one for one in versions.dead if self._left(one, cell, base)), None)
            origin, writer = ("nothing", None) if dead is None else ("aborted", dead)
        if origin == "nothing" and versions.floor != NEVER:
            # it may be of what was forgotten
            origin = None
        return self._breach(
            "EXT",
            number,
            cell,
            expected,
            base,
            expected_writer=None if last is None else self.writer(last.number),
            observed_writer=None if writer is None else self.writer(writer.number),
            origin=origin,
        )

    def _told_near(self, number: int, cell: Cell) -> Breach | None:
        """The same, where it follows from what is in memory."""
        versions, moment = self._of(cell), self.moment(number)
        if versions.floor == NEVER or moment < versions.floor:
            return None
        reader = versions.reader(moment, number)
        found = versions.told_near(reader)
        if found is None:
            return None
        expected, last, origin, writer = found
        return self._breach(
            "EXT",
            number,
            cell,
            expected,
            reader[2],
            expected_writer=None if last is None else self.writer(last.number),
            observed_writer=self.writer(writer.number),
            origin=origin,
        )

    def reader(self, number: int, cell: Cell) -> Reader:
        """The outer read that a transaction has of a key."""
        return self._whole(cell).reader(self.moment(number), number)

    def moment(self, number: int) -> int:
        """When the snapshot of a transaction was, of which reads are judged."""
        _, start, commit = self.of(number)
        moment = commit if self.rules.serial else start
        assert moment is not None
        return moment

    def _left(self, write: Write, cell: Cell, value: Any) -> bool:
        match self.types[cell[0]]:
            case "register":
                return bool(value == write.change or value in write.passed)
            case "counter":
                return False
            case _:
                return any(one in value for one in write.change)


def _write(one: Stamped, visit: Visit, start: int, commit: int, *, certain: bool = True) -> Write:
    return Write(one.number, start, commit, visit.change, visit.passed, certain)


def _named(what: Cell | Chain) -> bytes:
    """The name of a key or a part of a session in a store, the same whenever it is asked for."""
    return repr(what).encode()


def _plain(value: Any) -> Any:
    """A value as a log has it."""
    if isinstance(value, frozenset):
        return sorted(value, key=lambda one: (isinstance(one, str), one))
    return list(value) if isinstance(value, tuple) else value

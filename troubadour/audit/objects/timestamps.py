"""A log of operations decided by the database's own timestamps, at the levels that go by them (Chronos and Aion).

They are the witness, which replay judges; where it refuses them, every axiom that fails is told, and what fails however
equal timestamps stand and whatever became of unknown outcomes is a violation. What is left open here is audited as the
SQL that it stands for. Does not know files or how a verdict is shown.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from itertools import chain, pairwise

from sql_semantics.records import dataclass
from troubadour.facts.objects.accesses import ranks
from troubadour.facts.objects.names import shown
from troubadour.isolation.advice import advice
from troubadour.isolation.anomalies import ANOMALIES
from troubadour.isolation.levels import Level
from troubadour.isolation.naming import untimed
from troubadour.model.account import Account, Edge
from troubadour.model.breaches import Breach, Breaches
from troubadour.model.log import LogError
from troubadour.model.objects import COMMITTED, MISSING, READ, ObjectLog
from troubadour.timestamps.cells import Reader, Write
from troubadour.timestamps.ledger import Ledger, Rules
from troubadour.timestamps.offline import LONG, ledger_of
from troubadour.timestamps.told import told
from troubadour.timestamps.visits import Cell

_CALLED = {
    "older": "stale-read",
    "uncommitted": "dirty-read",
    "future": "future-read",
    "aborted": "aborted-read",
    "intermediate": "intermediate-read",
    "nothing": "garbage-read",
    "gap": "unclassified",
}
_BY_AXIOM = {"SESSION": "read-your-writes", "INT": "internal-inconsistency", "NOCONFLICT": "write-conflict"}


@dataclass(frozen=True, slots=True)
class Refuted:
    """Why no order by the timestamps explains a log: the first `weight` committed transactions are not explained, the
    places of the `members` contradict each other by their `operations`."""

    weight: int
    members: frozenset[int]
    operations: tuple[int, ...]
    account: Account
    explanation: str
    violations: Breaches


def check_writers(log: ObjectLog, level: Level) -> None:
    """Raises LogError where a committed transaction that writes lacks a timestamp that its level goes by."""
    for place, (status, start, commit) in enumerate(zip(log.statuses, log.starts, log.commits, strict=True)):
        if status != COMMITTED or (start != MISSING and commit != MISSING):
            continue
        missing = level.missing_timestamp(*(None if time == MISSING else time for time in (start, commit)))
        if missing is None:
            continue
        if any(log.kinds[at] != READ for at in range(log.first[place], log.first[place + 1])):
            raise LogError(untimed(log.ids[place], missing, level))


def rules_of(level: Level, *, visible: bool = False, gaps: bool = False) -> Rules:
    """What the level asks for."""
    return Rules(serial=level.horizon.latest, visible=visible, gaps=gaps)


def refuted(log: ObjectLog, rules: Rules, long: int = LONG) -> Refuted | None:
    """What fails first, with the core of that; None where nothing certainly does. `long`: as of `ledger_of`."""
    ledger = ledger_of(log, rules, long)
    if not ledger.count() or (not rules.visible and not rules.gaps and _some_session_is_open(ledger)):
        return None
    found = _Refutation(log, ledger).made()
    if ledger.upto is not None and found.weight >= ledger.upto:
        # a key that was not looked at may fail earlier
        return _Refutation(log, ledger_of(log, rules, len(log.kinds) + 1)).made()
    return found


def _some_session_is_open(ledger: Ledger) -> bool:
    """Whether some transaction may be late of a session of which only a part is numbered: the order of such a session
    hangs on that of all, which is that of the SQL."""
    for session, numbered in ledger.sessions:
        if not numbered or (session, False) not in ledger.sessions:
            continue
        mine = ledger.sessions[session, True] + ledger.sessions[session, False]
        spans = sorted((commit, start) for _, _, _, start, commit in mine)
        if any(commit > start for (commit, _), (_, start) in pairwise(spans)) or any(
            number in ledger.late for _, _, number, _, _ in mine
        ):
            return True
    return False


def refuted_by_some(log: ObjectLog, rules: Rules, counts: Mapping[str, int]) -> Refuted | None:
    """The same of a log that is a part of another one, about some of its keys, with how many violations of each axiom
    that one has: all that may fail first, and all that are told, are of these keys. None where they are not."""
    ledger = ledger_of(log, rules, len(log.kinds) + 1)
    here = ledger.breaches(0).by_axiom
    ledger.elsewhere = {axiom: counts[axiom] - count for axiom, count in here.items()}
    if not sum(here.values()) or min(ledger.elsewhere.values()) < 0:
        return None
    return _Refutation(log, ledger).made()


class _Refutation:
    def __init__(self, log: ObjectLog, ledger: Ledger) -> None:
        self._log, self._ledger = log, ledger
        self._rank: list[int] = ranks(log).tolist()

    def made(self) -> Refuted:
        weight, breach, members, cell = min(self._weighed(), key=lambda one: one[0])
        operations = tuple(
            at
            for place in sorted(members)
            for at in range(self._log.first[place], self._log.first[place + 1])
            if cell is None or (self._log.subjects[at], self._log.codes.value(self._log.keys[at])) == cell
        )
        text = told(breach)
        return Refuted(
            weight, frozenset(members), operations, self._account(breach, text), text, self._ledger.breaches()
        )

    def _weighed(self) -> Iterator[tuple[int, Breach, set[int], Cell | None]]:
        """The first violation of each axiom: the prefix that has it, and the transactions in its core."""
        ledger, rank = self._ledger, self._rank
        if ledger.faults:
            at = min(range(len(ledger.faults)), key=lambda one: rank[ledger.faults[one][0]])
            number, cell = ledger.faults[at][:2]
            yield rank[number], ledger.of_fault(at), {number}, cell
        if ledger.conflicts:
            first, second, cell = min(ledger.conflicts, key=lambda one: max(rank[one[0]], rank[one[1]]))
            yield max(rank[first], rank[second]), ledger.of_conflict((first, second, cell)), {first, second}, cell
        if ledger.late or ledger.gaps:
            yield self._of_session()
        if ledger.wrong:
            weight, number, cell = self._first_read()
            yield weight, ledger.of_read(number, cell), self._core(number, cell), cell

    def _of_session(self) -> tuple[int, Breach, set[int], Cell | None]:
        rank, ledger = self._rank, self._ledger
        late = (
            (max(rank[before], rank[number]), number, before)
            for mine in ledger.sessions.values()
            for at, (_, _, number, start, _) in enumerate(mine)
            if number in ledger.late
            for _, _, before, _, commit in mine[:at]
            if commit > start
        )
        gaps = ((rank[number], number, None) for number in ledger.gaps)
        weight, number, other = min(chain(late, gaps), key=lambda one: one[0])
        if other is None:
            return weight, ledger.of_gap(number), {number}, None
        return weight, ledger.of_session(number, other), {other, number}, None

    def _first_read(self) -> tuple[int, int, Cell]:
        """The read that the shortest prefix refutes: others, which come later, may have happened or not."""
        rank = self._rank
        best: tuple[int, int, Cell] | None = None
        for number, cell in sorted(self._ledger.wrong, key=lambda one: rank[one[0]]):
            if best is not None and rank[number] >= best[0]:
                break
            weight = self._weight(number, cell)
            if best is None or weight < best[0]:
                best = weight, number, cell
        assert best is not None
        return best

    def _weight(self, number: int, cell: Cell) -> int:
        own, ledger, rank = self._rank[number], self._ledger, self._rank
        reader = ledger.reader(number, cell)
        versions = ledger.versions[cell]
        later = sorted({rank[one.number] for one in versions.writes if one.certain and rank[one.number] > own})
        low, high = 0, len(later)
        bounds = [own, *later]
        while low < high:
            middle = (low + high) // 2
            certain = [one for one in versions.writes if one.certain and rank[one.number] <= bounds[middle]]
            if versions.explains_with(certain, reader):
                low = middle + 1
            else:
                high = middle
        return bounds[low]

    def _core(self, number: int, cell: Cell) -> set[int]:
        """The reader, and the writers without which an unknown write of one of them might explain it."""
        ledger = self._ledger
        reader = ledger.reader(number, cell)
        moment = reader[0]
        versions = ledger.versions[cell]
        end = bisect_right(versions.commits, moment)
        seen = [one for one in versions.writes[:end] if one.number != number]
        kind = ledger.type_of(cell)
        if kind == "register":
            kept = _last(seen, moment)
        elif kind == "list":
            kept = _suffix(seen, reader)
        elif kind == "set":
            kept = next(([one] for one in seen if _is_missed(one, reader)), seen)
        else:
            kept = seen
        return {number, *(one.number for one in kept)}

    def _account(self, breach: Breach, text: str) -> Account:
        anomaly = ANOMALIES[_CALLED[breach.origin] if breach.origin is not None else _BY_AXIOM[breach.axiom]]
        other = breach.expected_writer or breach.observed_writer
        edge = Edge(
            kind={"SESSION": "session", "INT": "internal", "EXT": "rw", "NOCONFLICT": "ww"}[breach.axiom],
            earlier=breach.transaction if other is None else other.transaction,
            later=breach.transaction,
            text=text,
            table=breach.object,
            key=None if breach.object is None else f"{breach.object}({shown(breach.key)})",
        )
        about = (anomaly.name, anomaly.title, anomaly.aka, anomaly.meaning, anomaly.citation)
        return Account(*about, (edge,), "the database's timestamps", next=(advice(anomaly.check, self._log.header),))


def _last(seen: list[Write], moment: int) -> list[Write]:
    """The writers of which one wrote the last version of a register: back to one that certainly did."""
    kept: list[Write] = []
    settled: int | None = None
    for one in reversed(seen):
        if settled is not None and one.commit != settled:
            break
        kept.append(one)
        if one.certain and one.commit < moment:
            settled = one.commit
    return kept


def _suffix(seen: list[Write], reader: Reader) -> list[Write]:
    """The last appends to a list that contradict what was read, all the earlier ones being unknown."""
    moment, _, value, _ = reader
    if any(not one.certain or one.commit == moment for one in seen):
        return seen
    kept = list[Write]()
    for one in reversed(seen):
        kept.append(one)
        length = len(one.change)
        if length > len(value) or value[len(value) - length :] != one.change:
            return kept
        value = value[: len(value) - length]
    return kept


def _is_missed(one: Write, reader: Reader) -> bool:
    """Whether a set that was read lacks what was certainly added before."""
    return one.certain and one.commit < reader[0] and not one.change <= reader[2]

"""From a certificate to an order and a read state for each transaction (Emme §5.3, §5.4).

Snapshots of one server form a chain by inclusion although the order of commit records is another one: a commit stands
where the first snapshot of the chain has it, ties by their records. Does not know rows or answers.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterator, Sequence

from sql_semantics.records import dataclass
from troubadour.audit.told.explain import name
from troubadour.model.certificate import Certificate, Commit, Snapshot
from troubadour.model.log import LogError, TransactionId
from troubadour.problem.budget import SOME
from troubadour.problem.orders import must_precede
from troubadour.problem.problem import Problem

_EPOCH = 1 << 32


class Incomplete(Exception):
    """The certificate does not say enough; `transaction` is the one that lacks something. `outside`: something else
    than the log's transactions may have written."""

    def __init__(self, because: str, transaction: TransactionId | None = None, *, outside: bool = False) -> None:
        super().__init__(because)
        self.transaction = transaction
        self.outside = outside


class Mismatch(Exception):
    """The certificate contradicts itself, or what the log says a transaction answered or wrote."""

    def __init__(self, because: str, transaction: TransactionId | None, *, answer: bool = False) -> None:
        """`answer`: it is what a statement answered."""
        super().__init__(because)
        self.transaction = transaction
        self.answer = answer


@dataclass(frozen=True, slots=True)
class Certified:
    """`order` are the items that happened and `names` their ids, `states` by place how many of the order each reads
    (None: that is not told), `commits` by id its entry in the certificate. Each stands behind the commits that its
    snapshot sees."""

    order: Sequence[int]
    names: Sequence[TransactionId]
    states: Sequence[int | None]
    commits: dict[TransactionId, Commit]


def certified_order(problem: Problem, certificate: Certificate) -> Certified:
    """The order that snapshots and commit records give. Raises Incomplete, Mismatch where certificate and log
    contradict each other or the certificate itself, and LogError where ids wrapped around."""
    names = [identifier for identifier, _ in problem.log.statuses()]
    items = _by_xid(problem, certificate, names)
    happened: dict[int, Commit] = {}
    for commit in certificate.commits:
        item = items.get(commit.xid)
        if item is None:
            continue  # it changed nothing that the log is about
        if problem.statuses[item] == "aborted":
            raise Mismatch(f"{name(names[item])} commits in the certificate, and aborted in the log", names[item])
        happened[item] = commit
    snapshots = _snapshots(problem, certificate, names, happened)
    _check_places(names, happened, snapshots)
    return _laid_out(problem, names, happened, snapshots, _groups(snapshots, happened))


def _by_xid(problem: Problem, certificate: Certificate, names: Sequence[TransactionId]) -> dict[int, int]:
    """Items by the database's ids."""
    known = {commit.xid for commit in certificate.commits}
    lower = {xid % _EPOCH: xid for xid in known}
    found: dict[int, int] = {}
    for item, identifier in enumerate(names):
        read = certificate.reads.get(identifier)
        told = None if read is None else read.xid
        logged = _number(problem.transaction(item).xid)
        xid = logged if told is None else told
        if xid is None:
            continue
        if xid not in known and lower.get(xid % _EPOCH, xid) != xid:
            raise LogError(
                f"certificate: transaction id {lower[xid % _EPOCH]} is that of {identifier!r} wrapped around"
            )
        if told is not None and logged not in (None, told):
            text = f"{name(identifier)} has the id {told} in the certificate, and {logged} in the log"
            raise Mismatch(text, identifier)
        if xid in found:
            raise LogError(f"certificate: transaction id {xid} is that of two transactions")
        found[xid] = item
    return found


def _number(text: str | None) -> int | None:
    return None if text is None else int(text)


def _snapshots(
    problem: Problem, certificate: Certificate, names: Sequence[TransactionId], happened: dict[int, Commit]
) -> dict[int, Snapshot]:
    """By item the snapshot of each that committed, without its own commit; one whose COMMIT was not answered was not
    told any."""
    found: dict[int, Snapshot] = {}
    for item, status in enumerate(problem.statuses):
        if status != "committed" and item not in happened:
            continue
        identifier = names[item]
        read = certificate.reads.get(identifier)
        if read is None or read.snapshot is None:
            if status == "unknown":
                continue
            raise Incomplete("its snapshot is missing", identifier)
        logged = problem.transaction(item).snapshot
        if logged is not None and logged != read.snapshot.text:
            text = f"{name(identifier)} has the snapshot {read.snapshot.text} in the certificate, {logged} in the log"
            raise Mismatch(text, identifier)
        commit = happened.get(item)
        own = read.xid if commit is None else commit.xid
        if own is not None and read.snapshot.contains_finished(own):
            text = f"the snapshot {read.snapshot.text} of {name(identifier)} contains its own commit, {own}"
            raise Mismatch(text, identifier)
        found[item] = read.snapshot if own is None else read.snapshot.without(own)
    return found


def _groups(snapshots: dict[int, Snapshot], happened: dict[int, Commit]) -> dict[Snapshot, int]:
    """The distinct snapshots by the number of commits that each sees, which is its place in the chain."""
    ids = sorted(commit.xid for commit in happened.values())
    known = set(ids)
    found: dict[Snapshot, int] = {}
    for snapshot in snapshots.values():
        if snapshot not in found:
            found[snapshot] = bisect_left(ids, snapshot.highest) - len(snapshot.running & known)
    return found


def _check_places(names: Sequence[TransactionId], happened: dict[int, Commit], snapshots: dict[int, Snapshot]) -> None:
    """What a snapshot sees had committed by then, so its record stands before that of the transaction that read it.
    Raises Mismatch."""
    later: list[int] = []
    """The ids of those whose records come after, ascending."""
    for item in sorted(happened, key=lambda one: happened[one].place, reverse=True):
        commit, snapshot = happened[item], snapshots.get(item)
        count = 0 if snapshot is None else bisect_left(later, snapshot.highest)
        if snapshot is not None and count > sum(_holds(later, xid) for xid in snapshot.running):
            seen = next(i for i, one in happened.items() if snapshot.sees(one.xid) and _holds(later, one.xid))
            text = (
                f"the snapshot of {name(names[item])} sees {name(names[seen])}, whose commit record,"
                f" {happened[seen].place}, comes after its own, {commit.place}"
            )
            raise Mismatch(text, names[item])
        insort(later, commit.xid)


def _holds(ascending: list[int], number: int) -> bool:
    place = bisect_left(ascending, number)
    return place < len(ascending) and ascending[place] == number


def _laid_out(
    problem: Problem,
    names: Sequence[TransactionId],
    happened: dict[int, Commit],
    snapshots: dict[int, Snapshot],
    groups: dict[Snapshot, int],
) -> Certified:
    by_xid = {commit.xid: item for item, commit in happened.items()}
    writers: list[int] = []
    for _, commits in _chain(groups, sorted(by_xid)):
        writers += sorted((by_xid[xid] for xid in commits), key=lambda item: happened[item].place)
    placed = set(writers)
    writers += sorted((item for item in happened if item not in placed), key=lambda item: happened[item].place)
    readers: dict[int, list[int]] = defaultdict(list)
    for item, snapshot in snapshots.items():
        if item not in happened:
            readers[_place(problem, writers, item, groups[snapshot])].append(item)
    order: list[int] = []
    before: list[int] = []
    """By the number of writers: the place just before the next one. Readers between the two change nothing."""
    for count in range(len(writers) + 1):
        order += sorted(readers[count], key=lambda item: _ended(problem, item))
        before.append(len(order))
        order += writers[count : count + 1]
    states: list[int | None] = []
    for place, item in enumerate(order):
        states.append(min(place, before[groups[snapshots[item]]]) if item in snapshots else None)
    changes = {names[item]: told for item, told in happened.items()}
    return Certified(order, [names[item] for item in order], states, changes)


def _place(problem: Problem, writers: Sequence[int], item: int, seen: int) -> int:
    """Behind how many writers a reader stands: those that its snapshot sees, and those that times put before it."""
    place = seen
    while True:
        coming = range(place, min(place + SOME, len(writers)))
        last = max((number for number in coming if must_precede(problem, writers[number], item)), default=None)
        if last is None:
            return place
        place = last + 1


def _ended(problem: Problem, item: int) -> tuple[int, int]:
    """When its COMMIT was sent: a transaction that was over by then stands before it."""
    transaction = problem.transaction(item)
    sent = transaction.end.invoked if transaction.end is not None else transaction.returned
    return (item if sent is None else sent, item)


def began(problem: Problem, item: int) -> tuple[int, int]:
    """When its first statement was sent, which took the snapshot: one that was over by then stands before it."""
    transaction = problem.transaction(item)
    first = transaction.statements[0].invoked if transaction.statements else None
    begun = transaction.invoked if first is None else first
    return (item if begun is None else begun, item)


def _chain(groups: dict[Snapshot, int], ids: Sequence[int]) -> Iterator[tuple[int, list[int]]]:
    """How many commits the snapshots see, ascending, each with the commits that these are the first to see. Raises
    Incomplete where one snapshot does not include another."""
    waiting: set[int] = set()
    placed: set[int] = set()
    reached = 0
    by_count: dict[int, list[Snapshot]] = defaultdict(list)
    for snapshot, count in groups.items():
        by_count[count].append(snapshot)
    for count in sorted(by_count):
        found: list[int] = []
        for snapshot in by_count[count]:
            end = bisect_left(ids, snapshot.highest)
            if snapshot.running & placed or any(xid in placed for xid in ids[end:reached]):
                raise Incomplete("the snapshots form no chain")
            waiting.update(ids[reached:end])
            reached = max(reached, end)
            seen = [xid for xid in waiting if snapshot.sees(xid)]
            waiting.difference_update(seen)
            placed.update(seen)
            found += seen
        if len(placed) != count:
            raise Incomplete("the snapshots form no chain")
        yield count, found

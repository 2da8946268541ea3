"""What a refutation by facts is called, and how it is told link by link. Does not know how it was found."""

from __future__ import annotations

from collections.abc import Sequence

from sql_semantics.records import dataclass
from troubadour.facts.objects.accesses import Accesses
from troubadour.facts.objects.facts import Fault
from troubadour.facts.objects.names import shown
from troubadour.isolation.advice import advice
from troubadour.isolation.anomalies import ANOMALIES, Anomaly, Kind, Link, classify
from troubadour.model.account import ANSWERS_ALONE, Account, Edge
from troubadour.model.objects import MISSING, READ, STATUSES, ObjectLog
from troubadour.proof.objects.dependencies import DependencyLink


@dataclass(frozen=True, slots=True)
class Finding:
    """An account, and in one sentence what it says."""

    account: Account
    explanation: str


def account_of_circle(log: ObjectLog, circle: Sequence[DependencyLink]) -> Finding:
    """Of transactions that come before one another in a circle."""
    links = [link for one in circle for link in _of(log, one)]
    writes = [_writes(log, one.earlier) for one in circle for _ in one.kinds]
    anomaly = classify(links, writes=writes)
    chain = tuple(_edge(log, one) for one in circle)
    return Finding(_account(log, anomaly, chain), "; ".join(edge.text for edge in chain))


def account_of_fault(log: ObjectLog, accesses: Accesses, fault: Fault) -> Finding:
    """Of one answer that no order explains."""
    op = int(accesses.op[fault.at])
    text = f"{_name(log, fault.txn)}: {fault.text}"
    writer = None if fault.writer < 0 else log.ids[fault.writer]
    edge = Edge(
        kind="internal" if writer is None or fault.writer == fault.txn else "wr",
        earlier=log.ids[fault.txn] if writer is None else writer,
        later=log.ids[fault.txn],
        text=text,
        statement=op - log.first[fault.txn],
        table=log.objects[log.subjects[op]].name,
        key=_key(log, op),
        seen=shown(log.seen(op)),
        writer=writer,
        writer_status=None if fault.writer < 0 else STATUSES[log.statuses[fault.writer]],
    )
    return Finding(_account(log, ANOMALIES[fault.anomaly], (edge,)), text)


def _account(log: ObjectLog, anomaly: Anomaly, chain: tuple[Edge, ...]) -> Account:
    return Account(
        anomaly.name,
        anomaly.title,
        anomaly.aka,
        anomaly.meaning,
        anomaly.citation,
        chain,
        ANSWERS_ALONE,
        next=(advice(anomaly.check, log.header),),
    )


def _of(log: ObjectLog, one: DependencyLink) -> list[Link]:
    if one.more < 0:
        return [_link(log, one)]
    # some transaction between both that is not known
    return [_link(log, one), Link(Kind.WR, _key(log, one.more), statement=one.more - log.first[one.later])]


def _link(log: ObjectLog, one: DependencyLink) -> Link:
    if one.at < 0:
        return Link(Kind(one.kind))
    owner = one.later if one.kind is Kind.WR else one.earlier
    statement = one.at - log.first[owner] if one.kind in (Kind.WR, Kind.RW) and one.by < 0 else None
    return Link(Kind(one.kind), _key(log, one.at), statement=statement)


def _writes(log: ObjectLog, txn: int) -> bool:
    return any(log.kinds[at] != READ for at in range(log.first[txn], log.first[txn + 1]))


def _key(log: ObjectLog, op: int) -> str:
    return f"{log.objects[log.subjects[op]].name}({shown(log.codes.value(log.keys[op]))})"


def _name(log: ObjectLog, txn: int) -> str:
    return str(log.ids[txn])


def _edge(log: ObjectLog, one: DependencyLink) -> Edge:
    earlier, later = _name(log, one.earlier), _name(log, one.later)
    text = f"{earlier} comes before {later}: "
    ids = (log.ids[one.earlier], log.ids[one.later])
    if one.kind is Kind.SESSION:
        return Edge("session", *ids, f"{text}session {log.session(one.earlier)} committed it before")
    if one.kind is Kind.REAL_TIME:
        return Edge("real-time", *ids, f"{text}{_over(log, one)} before {later} {_began(log, one)}")
    key, seen = _key(log, one.at), shown(log.seen(one.at))
    table = log.objects[log.subjects[one.at]].name
    if one.more >= 0:
        text += (
            f"{earlier} read {seen} of {key}, and {later} read {shown(log.seen(one.more))}, to which all add in one way"
        )
        return Edge("rw", *ids, text, one.at - log.first[one.earlier], table, None, key, False, seen)
    wrote = _wrote(log, one.later if one.kind is not Kind.WR else one.earlier, one.at)
    if one.kind is Kind.WR:
        statement = one.at - log.first[one.later]
        grows = log.objects[log.subjects[one.at]].type in ("set", "counter")
        text += f"{later}'s operation {statement + 1} read {seen} of {key}"
        text += f", with what {earlier} added there, {wrote}" if grows else f", which {earlier} wrote"
        return Edge(
            "wr", *ids, text, statement, table, None, key, False, seen, ids[0], _status(log, one.earlier), wrote
        )
    if one.kind is Kind.RW and one.by >= 0:
        text += f"{earlier} appended to {key} without what {later} appended there, {wrote}, as {_name(log, one.by)} "
        text += f"shows, which read {seen}"
        return Edge("rw", *ids, text, None, table, None, key, False, seen, None, None, wrote)
    if one.kind is Kind.RW:
        statement = one.at - log.first[one.earlier]
        text += f"{earlier}'s operation {statement + 1} read {seen} of {key}, without what {later} wrote there, {wrote}"
        return Edge("rw", *ids, text, statement, table, None, key, False, seen, None, None, wrote)
    if log.objects[log.subjects[one.at]].type == "counter":
        text += f"both read the same of {key}, {earlier} {seen}, and added to it: the later one misses the other"
        return Edge("ww", *ids, text, None, table, None, key, False, seen, None, None, wrote)
    shower = one.by if one.by >= 0 else one.earlier
    text += f"both wrote {key}, and {later} later, as {_name(log, shower)} shows, which read {seen}"
    return Edge("ww", *ids, text, None, table, None, key, False, seen, ids[0], _status(log, one.earlier), wrote)


def _stamped(log: ObjectLog, one: DependencyLink) -> bool:
    """Whether the database's own timestamps have one transaction over before the other began."""
    return MISSING < log.commits[one.earlier] < log.starts[one.later]


def _over(log: ObjectLog, one: DependencyLink) -> str:
    return f"it committed at {log.commits[one.earlier]}" if _stamped(log, one) else "it was over"


def _began(log: ObjectLog, one: DependencyLink) -> str:
    return f"started at {log.starts[one.later]}, by the database's timestamps" if _stamped(log, one) else "began"


def _status(log: ObjectLog, txn: int) -> str:
    return STATUSES[log.statuses[txn]]


def _wrote(log: ObjectLog, txn: int, op: int) -> str | None:
    """What a transaction left at the key of an operation."""
    same = [
        at
        for at in range(log.first[txn], log.first[txn + 1])
        if log.kinds[at] != READ and log.keys[at] == log.keys[op] and log.subjects[at] == log.subjects[op]
    ]
    if not same:
        return None
    if log.objects[log.subjects[op]].type == "set":
        return shown(tuple(dict.fromkeys(log.codes.value(log.values[at]) for at in same)))
    return shown(log.seen(same[-1]))

"""Certificates made from the server's times in simulated logs, true ones and lying ones. Does not know the audit."""

from __future__ import annotations

from bisect import bisect_left
from random import Random

import msgspec

from troubadour.model.certificate import Certificate, Commit, ReadState, Scheme, Snapshot
from troubadour.model.log import Log


def certificate_of(log: Log) -> Certificate:
    """What the server's own times say: commits in their order, and for each transaction those before its start."""
    committed = sorted((one for one in log.transactions if one.status == "committed"), key=lambda one: one.commit or 0)
    times = [one.commit or 0 for one in committed]
    commits = tuple(Commit(number, number * 8) for number in range(1, len(committed) + 1))
    reads = {}
    for number, one in enumerate(committed, 1):
        seen = bisect_left(times, one.start or 0)
        reads[one.id] = ReadState(number, Snapshot(seen + 1, seen + 1, frozenset()))
    return Certificate(log.header.log_id, Scheme.SNAPSHOT, log.header.dbms, commits, reads)


def serial_certificate_of(log: Log) -> Certificate:
    """The commit order as an expected serialization order."""
    reads = {one.id: ReadState(timestamp=one.commit) for one in log.transactions if one.status == "committed"}
    return Certificate(log.header.log_id, Scheme.SERIALIZATION_ORDER, log.header.dbms, (), reads)


def swapped(certificate: Certificate, random: Random) -> Certificate:
    """Two transactions have one another's ids, so that their commits change places."""
    one, other = random.sample(sorted(certificate.reads, key=str), 2)
    reads = dict(certificate.reads)
    first, second = reads[one], reads[other]
    reads[one] = msgspec.structs.replace(first, xid=second.xid)
    reads[other] = msgspec.structs.replace(second, xid=first.xid)
    return msgspec.structs.replace(certificate, reads=reads)


def dropped(certificate: Certificate, random: Random) -> Certificate:
    """A commit is missing."""
    gone = random.choice(certificate.commits)
    return msgspec.structs.replace(certificate, commits=tuple(one for one in certificate.commits if one != gone))


def moved(certificate: Certificate, random: Random) -> Certificate:
    """A transaction read an older or newer state than it did."""
    one = random.choice(sorted(certificate.reads, key=str))
    read = certificate.reads[one]
    assert read.snapshot is not None
    seen = random.randint(1, len(certificate.commits))
    snapshot = Snapshot(seen, seen, frozenset())
    return msgspec.structs.replace(
        certificate, reads={**certificate.reads, one: msgspec.structs.replace(read, snapshot=snapshot)}
    )


LIES = (swapped, dropped, moved)

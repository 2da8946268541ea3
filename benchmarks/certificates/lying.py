"""Certificates that lie: true ones with one thing in them changed. Does not know the audit."""

from __future__ import annotations

from random import Random

import msgspec

from troubadour.model.certificate import Certificate, Snapshot


def swapped(certificate: Certificate, random: Random) -> Certificate:
    """Two transactions have one another's ids, so that their commits change places."""
    writers = sorted((one for one, read in certificate.reads.items() if read.xid is not None), key=str)
    if len(writers) < 2:
        return certificate
    one, other = random.sample(writers, 2)
    reads = dict(certificate.reads)
    first, second = reads[one], reads[other]
    reads[one] = msgspec.structs.replace(first, xid=second.xid)
    reads[other] = msgspec.structs.replace(second, xid=first.xid)
    return msgspec.structs.replace(certificate, reads=reads)


def dropped(certificate: Certificate, random: Random) -> Certificate:
    """A commit is missing."""
    if not certificate.commits:
        return certificate
    gone = random.choice(certificate.commits)
    return msgspec.structs.replace(certificate, commits=tuple(one for one in certificate.commits if one != gone))


def moved(certificate: Certificate, random: Random) -> Certificate:
    """A transaction read an older or newer state than it did."""
    one = random.choice(sorted(certificate.reads, key=str))
    read = certificate.reads[one]
    seen = random.randint(1, len(certificate.commits) + 1)
    snapshot = Snapshot(seen, seen, frozenset())
    return msgspec.structs.replace(
        certificate, reads={**certificate.reads, one: msgspec.structs.replace(read, snapshot=snapshot)}
    )


LIES = (swapped, dropped, moved)

"""Commits in a certificate that the log knows no id of, as those of its transactions of unknown outcome: a client whose
COMMIT was not answered did not learn its id either. Which is whose is tried; what fits no way tells nothing. Does not
know what the transactions wrote.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, permutations

import msgspec

from troubadour.audit.certified.order import Incomplete
from troubadour.audit.explain import name
from troubadour.model.certificate import Certificate, Commit, ReadState, Scheme
from troubadour.model.log import Log, Transaction

TRIES = 24
"""Ways that are tried to give commits to transactions of unknown outcome."""


def adoptions(log: Log, certificate: Certificate, tables: frozenset[str]) -> Iterator[Certificate]:
    """The certificate with an owner for each commit that changed one of the `tables`, one way after another. Raises
    Incomplete where a commit can have none."""
    if certificate.scheme is not Scheme.SNAPSHOT:
        yield certificate
        return
    known, open_ = _known(log, certificate)
    strange = [one for one in certificate.commits if one.xid not in known and _changed(one, tables)]
    if len(strange) > len(open_):
        one = strange[0]
        text = f"transaction id {one.xid}, which is not in the log, changed {_changed(one, tables)[0]}"
        raise Incomplete(text, outside=True)
    for owners in islice(permutations(open_, len(strange)), TRIES):
        reads = {owner.id: ReadState(commit.xid) for owner, commit in zip(owners, strange, strict=True)}
        yield msgspec.structs.replace(certificate, reads={**certificate.reads, **reads}) if reads else certificate


def fates(log: Log, certificate: Certificate, happened: Sequence[object]) -> tuple[str, ...]:
    """What became of the transactions of unknown outcome, by the ids of those that `happened`."""
    if certificate.scheme is not Scheme.SNAPSHOT or not log.unknown:
        return ()
    there = {(type(one), one) for one in happened}
    told = []
    for one in log.transactions:
        if one.status == "unknown":
            what = "committed" if (type(one.id), one.id) in there else "did not commit"
            told.append(f"{name(one.id)}, of unknown outcome, {what}, as the certificate says")
    return tuple(told)


def _known(log: Log, certificate: Certificate) -> tuple[set[int], list[Transaction]]:
    """The ids that transactions have, and those of unknown outcome that have none."""
    known: set[int] = set()
    open_: list[Transaction] = []
    for one in log.transactions:
        read = certificate.reads.get(one.id)
        if read is not None and read.xid is not None:
            known.add(read.xid)
        elif one.xid is not None:
            known.add(int(one.xid))
        elif one.status == "unknown":
            open_.append(one)
    return known, open_


def _changed(commit: Commit, tables: frozenset[str]) -> list[str]:
    return sorted({change.table for change in commit.changes or ()} & tables)

"""Commits in a certificate that the log knows no id of, as those of its transactions of unknown outcome: a client whose
COMMIT was not answered did not learn its id either. Which is whose is tried; what fits no way tells nothing. Does not
know what the transactions wrote.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, permutations

import msgspec

from troubadour.audit.certified.order import Incomplete
from troubadour.audit.told.explain import name
from troubadour.model.certificate import Certificate, Commit, ReadState, Scheme
from troubadour.model.log import Log, Transaction
from troubadour.problem.budget import SEVERAL

_SHOWN = 3
"""Names that are told of each kind."""


def adoptions(log: Log, certificate: Certificate, tables: frozenset[str]) -> Iterator[Certificate]:
    """The certificate with an owner for each commit that changed one of the `tables`, one way after another. Raises
    Incomplete where a commit can have none."""
    if certificate.scheme is not Scheme.SNAPSHOT:
        yield certificate
        return
    known, open_ = _known(log, certificate)
    # a commit of untold changes may be that of a transaction of which nothing else is told
    silent = any(status == "committed" and identifier not in certificate.reads for identifier, status in log.statuses())
    strange = [one for one in certificate.commits if one.xid not in known and _may_matter(one, tables, silent=silent)]
    if len(strange) > len(open_):
        one = strange[0]
        untold = "committed, and what it changed is not told"
        what = untold if one.changes is None else f"changed {_changed(one, tables)[0]}"
        text = f"transaction id {one.xid}, which is not in the log, {what}"
        raise Incomplete(text, outside=True)
    for owners in islice(permutations(open_, len(strange)), SEVERAL):
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
        ids = [id for id in (None if read is None else read.xid, one.xid) if id is not None]
        known.update(map(int, ids))
        if not ids and one.status == "unknown":
            open_.append(one)
    return known, open_


def beside_the_log(log: Log, certificate: Certificate, tables: frozenset[str]) -> tuple[str, ...]:
    """What the certificate tells of that the log does not have, and that no answer depends on therefore."""
    told = []
    known = {identifier for identifier, _ in log.statuses()}
    strange = [identifier for identifier in certificate.reads if identifier not in known]
    if strange:
        told.append(f"the certificate tells what {_first(map(name, strange))} read, and the log has none of them")
    others = {change.table for commit in certificate.commits for change in commit.changes or ()} - tables
    if others:
        told.append(f"the certificate has changes of tables that the log does not have: {_first(sorted(others))}")
    return tuple(told)


def _first(names: Iterable[str]) -> str:
    shown, left = [*islice(names := iter(names), _SHOWN)], sum(1 for _ in names)
    return f"{', '.join(shown)} and {left} others" if left else ", ".join(shown)


def _may_matter(commit: Commit, tables: frozenset[str], *, silent: bool) -> bool:
    return not silent if commit.changes is None else bool(_changed(commit, tables))


def _changed(commit: Commit, tables: frozenset[str]) -> list[str]:
    return sorted({change.table for change in commit.changes or ()} & tables)

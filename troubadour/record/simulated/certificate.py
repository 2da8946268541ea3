"""The simulated server's own account of a run, from the times of its clock in a log: true but where the fault is one of
these times. Does not know what the rows were.
"""

from __future__ import annotations

from bisect import bisect_left

from troubadour.model.certificate import Certificate, Commit, ReadState, Scheme, Snapshot
from troubadour.model.log import Log, Transaction


def certificate_of(log: Log) -> Certificate:
    """Commits in their order, and for each committed transaction those before its start. As on PostgreSQL only what
    may have written has an id."""
    writers = sorted((one for one in _committed(log) if _may_write(one)), key=lambda one: one.commit or 0)
    times = [one.commit or 0 for one in writers]
    ids = {one.id: number for number, one in enumerate(writers, 1)}
    commits = tuple(Commit(number, number * 8) for number in ids.values())
    reads = {}
    for one in _committed(log):
        seen = bisect_left(times, one.start or 0) + 1
        reads[one.id] = ReadState(ids.get(one.id), Snapshot(seen, seen, frozenset()))
    return Certificate(log.header.log_id, Scheme.SNAPSHOT, log.header.dbms, commits, reads)


def serial_certificate_of(log: Log) -> Certificate:
    """The commit order as an expected serialization order."""
    reads = {one.id: ReadState(timestamp=one.commit) for one in _committed(log)}
    return Certificate(log.header.log_id, Scheme.SERIALIZATION_ORDER, log.header.dbms, (), reads)


def _committed(log: Log) -> list[Transaction]:
    return [one for one in log.transactions if one.status == "committed"]


def _may_write(transaction: Transaction) -> bool:
    return any(not one.sql.lstrip().upper().startswith("SELECT") for one in transaction.statements)

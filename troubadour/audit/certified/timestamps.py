"""Certificates that name one place in an expected serialization order for each transaction (Emme §6, Alg. 4).

One pass and the newest state are enough: every transaction reads what those before it left. Does not know rows.
"""

from __future__ import annotations

from troubadour.audit.certified.order import Certified, Incomplete
from troubadour.model.certificate import Certificate
from troubadour.model.log import Log, TransactionId


def timestamp_order(log: Log, certificate: Certificate) -> Certified:
    """The items by their timestamps. Raises Incomplete where one is missing."""
    stamped: list[tuple[int, int, TransactionId]] = []
    by_xid = {commit.xid: commit for commit in certificate.commits}
    commits = {}
    for item, transaction in enumerate(log.transactions):
        read = certificate.reads.get(transaction.id)
        if read is None or read.timestamp is None:
            if transaction.status == "committed":
                raise Incomplete("its timestamp is missing", transaction.id)
        elif transaction.status == "aborted":
            raise Incomplete("it has a timestamp in the certificate, and aborted in the log", transaction.id)
        else:
            stamped.append((read.timestamp, item, transaction.id))
            if read.xid is not None and read.xid in by_xid:
                commits[transaction.id] = by_xid[read.xid]
    stamped.sort()
    order = [item for _, item, _ in stamped]
    return Certified(order, [one for _, _, one in stamped], range(len(order)), commits)

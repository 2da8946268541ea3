"""Certificates that name one place in an expected serialization order for each transaction (Emme §6, Alg. 4).

One pass and the newest state are enough: every transaction reads what those before it left. Does not know rows.
"""

from __future__ import annotations

from troubadour.audit.certified.order import Certified, Incomplete
from troubadour.model.certificate import Certificate
from troubadour.search.problem.problem import Problem


def timestamp_order(problem: Problem, certificate: Certificate) -> Certified:
    """The items by their timestamps. Raises Incomplete where one is missing, or two writers share one."""
    stamped: list[tuple[int, int]] = []
    for item, status in enumerate(problem.statuses):
        transaction = problem.transaction(item)
        read = certificate.reads.get(transaction.id)
        if read is None or read.timestamp is None:
            if status == "committed":
                raise Incomplete("its timestamp is missing", transaction.id)
        elif status == "aborted":
            raise Incomplete("it has a timestamp in the certificate, and aborted in the log", transaction.id)
        else:
            stamped.append((read.timestamp, item))
    stamped.sort()
    by_xid = {commit.xid: commit for commit in certificate.commits}
    commits = {}
    for _, item in stamped:
        read = certificate.reads[problem.transaction(item).id]
        if read.xid is not None and read.xid in by_xid:
            commits[item] = by_xid[read.xid]
    order = [item for _, item in stamped]
    return Certified(order, {item: place for place, item in enumerate(order)}, commits)

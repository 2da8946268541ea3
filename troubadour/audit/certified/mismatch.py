"""Where a certificate and the answers part: the first statement whose answer its own read state does not give (Emme §3,
*result set mismatch*). Does not know which of the two lies.
"""

from __future__ import annotations

from troubadour.audit.explain import name
from troubadour.search.problem.problem import Problem
from troubadour.search.schedule.execute import Failure

_CONTRADICTS = frozenset({"time", "real-time", "order", "reads"})
"""Conditions under which it is not an answer that does not fit, but the certificate to what clients saw of time."""


def mismatch(problem: Problem, failure: Failure) -> str:
    """Why a transaction does not run as certified, in a line."""
    transaction = name(problem.transaction(failure.item).id)
    if failure.condition in _CONTRADICTS:
        return f"the certificate contradicts the clients' times: {transaction}: {failure.text}"
    if failure.statement is None:
        return f"{transaction} on the state that it read by the certificate: {failure.text}"
    sql = " ".join(problem.transaction(failure.item).statements[failure.statement].sql.split())
    shown = sql if len(sql) <= 80 else f"{sql[:77]}..."
    return (
        f"statement {failure.statement + 1} of {transaction} ({shown}) on the state that it read by the certificate: "
        f"{failure.text}"
    )

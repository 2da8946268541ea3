"""Where a certificate and the answers part: the first statement whose answer its own read state does not give (Emme §3,
*result set mismatch*), and the log without that answer: where all else fits, it is the answer that is wrong. Does not
know how a certificate is examined.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

import msgspec

from troubadour.audit.told.explain import name
from troubadour.model.log import Log, Transaction, TransactionId
from troubadour.problem.problem import Problem
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


ANSWER = "every other answer fits the certificate: the answer is wrong, not the certificate"
"""What is said then, behind the mismatch."""


class _Silenced(Sequence[Transaction]):
    """Transactions of which one was answered nothing but that it succeeded."""

    def __init__(self, transactions: Sequence[Transaction], silent: TransactionId) -> None:
        self._transactions, self._silent = transactions, silent

    def __len__(self) -> int:
        return len(self._transactions)

    @overload
    def __getitem__(self, index: int) -> Transaction: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Transaction]: ...
    def __getitem__(self, index: int | slice) -> Transaction | Sequence[Transaction]:
        if isinstance(index, slice):
            return _Silenced(self._transactions[index], self._silent)
        found = self._transactions[index]
        if found.id != self._silent or type(found.id) is not type(self._silent):
            return found
        statements = (msgspec.structs.replace(one, results=None, affected=None) for one in found.statements)
        return msgspec.structs.replace(found, statements=tuple(statements))


def without_answers(log: Log, identifier: TransactionId) -> Log:
    """The log as if nothing were known of a transaction's answers but that its statements succeeded."""
    return log.with_transactions(_Silenced(log.transactions, identifier))

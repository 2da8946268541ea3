"""Bank transactions whose arithmetic is the server's (paper §2): an UPDATE that adds to a balance, and answers with a
count or with the new balance. Does not know how the arguments were drawn.

A *blind* write answers with its count only, so that what it wrote cannot be inferred from what its transaction saw.
"""

from __future__ import annotations

from decimal import Decimal
from enum import Enum

from troubadour.record import Answer, Executor

BALANCE = "SELECT balance FROM accounts WHERE id = $1"
DEPOSIT = "UPDATE accounts SET balance = balance + $1 WHERE id = $2"
WITHDRAW = "UPDATE accounts SET balance = balance - $1 WHERE id = $2 AND balance >= $1"
WITHDRAW_OVERDRAFT = (
    "UPDATE accounts SET balance = balance - $1 - CASE WHEN balance < $1 THEN $2 ELSE 0.00 END"
    " WHERE id = $3 AND balance - $1 >= $4"
)
RETURNING = " RETURNING balance"


class Shape(Enum):
    """What a writing transaction gets to see beside counts."""

    BLIND = "nothing"
    RETURNING = "the new balances"
    READ_FIRST = "the old balances"


def deposit(executor: Executor, shape: Shape, account: int, amount: Decimal) -> None:
    """Add `amount`."""
    _read_first(executor, shape, account)
    _update(executor, shape, DEPOSIT, amount, account)


def withdraw(executor: Executor, shape: Shape, account: int, amount: Decimal) -> None:
    """Take `amount` if the balance suffices."""
    _read_first(executor, shape, account)
    _update(executor, shape, WITHDRAW, amount, account)


def withdraw_overdraft(
    executor: Executor, shape: Shape, account: int, amount: Decimal, fee: Decimal, limit: Decimal
) -> None:
    """Take `amount`, down to `-limit`; a balance that does not suffice costs `fee` (which may go beyond the limit)."""
    _read_first(executor, shape, account)
    _update(executor, shape, WITHDRAW_OVERDRAFT, amount, fee, account, -limit)


def transfer(executor: Executor, shape: Shape, source: int, target: int, amount: Decimal) -> None:
    """Move `amount` if the source's balance suffices."""
    _read_first(executor, shape, source)
    if _update(executor, shape, WITHDRAW, amount, source).affected == 1:
        _update(executor, shape, DEPOSIT, amount, target)


def _read_first(executor: Executor, shape: Shape, account: int) -> None:
    if shape is Shape.READ_FIRST:
        executor.execute(BALANCE, (account,))


def _update(executor: Executor, shape: Shape, sql: str, *params: object) -> Answer:
    return executor.execute(sql + RETURNING if shape is Shape.RETURNING else sql, params)

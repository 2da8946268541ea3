"""Bank transactions whose arithmetic is the client's: SELECT a balance, compute, UPDATE to the result. Under read
committed this loses updates, which is what it is for. Does not know how the arguments were drawn.
"""

from __future__ import annotations

from decimal import Decimal

from troubadour.record import Executor

BALANCE = "SELECT balance FROM accounts WHERE id = $1"
SET_BALANCE = "UPDATE accounts SET balance = $1 WHERE id = $2"


def deposit(executor: Executor, account: int, amount: Decimal) -> None:
    """Add `amount`."""
    _write(executor, account, _read(executor, account) + amount)


def withdraw(executor: Executor, account: int, amount: Decimal) -> None:
    """Take `amount` if the balance suffices."""
    balance = _read(executor, account)
    if balance >= amount:
        _write(executor, account, balance - amount)


def withdraw_overdraft(executor: Executor, account: int, amount: Decimal, fee: Decimal, limit: Decimal) -> None:
    """Take `amount`, down to `-limit`; a balance that does not suffice costs `fee` (which may go beyond the limit)."""
    balance = _read(executor, account)
    if balance - amount >= -limit:
        _write(executor, account, balance - amount - (fee if balance < amount else 0))


def transfer(executor: Executor, source: int, target: int, amount: Decimal) -> None:
    """Move `amount` if the source's balance suffices."""
    available, other = _read(executor, source), _read(executor, target)
    if available >= amount:
        _write(executor, source, available - amount)
        _write(executor, target, other + amount)


def reset(executor: Executor, account: int, balance: Decimal) -> None:
    """Set a balance without having read it: this variant's blind write."""
    _write(executor, account, balance)


def _read(executor: Executor, account: int) -> Decimal:
    ((balance,),) = executor.execute(BALANCE, (account,)).rows
    if not isinstance(balance, Decimal):
        raise TypeError(f"balance of account {account} is a {type(balance).__name__}")
    return balance


def _write(executor: Executor, account: int, balance: Decimal) -> None:
    executor.execute(SET_BALANCE, (balance, account))

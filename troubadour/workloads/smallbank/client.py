"""SmallBank's transactions as a client's statements. Does not know how the arguments were drawn."""

from __future__ import annotations

from decimal import Decimal

from troubadour.workloads.texts import Client, Routines, number

CUSTOMER = "SELECT custid FROM accounts WHERE name = $1"
SAVINGS = "SELECT bal FROM savings WHERE custid = $1"
CHECKING = "SELECT bal FROM checking WHERE custid = $1"
TAKE = "UPDATE checking SET bal = bal - $1 WHERE custid = $2"
GIVE = "UPDATE checking SET bal = bal + $1 WHERE custid = $2"


def balance(client: Client, name: str) -> None:
    """Read both accounts."""
    customer = _customer(client, name)
    client.rows(SAVINGS, customer)
    client.rows(CHECKING, customer)


def deposit_checking(client: Client, name: str, amount: Decimal) -> None:
    """Add to checking, unseen."""
    client.write(GIVE, amount, _customer(client, name))


def transact_savings(client: Client, name: str, amount: Decimal) -> None:
    """Add to savings what may be negative, unless savings would be."""
    customer = _customer(client, name)
    if _money(client, SAVINGS, customer) + amount >= 0:
        client.write("UPDATE savings SET bal = bal + $1 WHERE custid = $2", amount, customer)


def amalgamate(client: Client, name: str, other: str) -> None:
    """Move all that one customer has to the other's checking."""
    source, target = _customer(client, name), _customer(client, other)
    total = _money(client, SAVINGS, source) + _money(client, CHECKING, source)
    client.write("UPDATE savings SET bal = 0 WHERE custid = $1", source)
    client.write("UPDATE checking SET bal = 0 WHERE custid = $1", source)
    client.write(GIVE, total, target)


def send_payment(client: Client, name: str, other: str, amount: Decimal) -> None:
    """Move money between two checking accounts if there is enough."""
    source, target = _customer(client, name), _customer(client, other)
    if _money(client, CHECKING, source) >= amount:
        client.write(TAKE, amount, source)
        client.write(GIVE, amount, target)


def write_check(client: Client, name: str, amount: Decimal) -> None:
    """Take from checking; one more if both accounts together do not suffice: reads what it does not write."""
    customer = _customer(client, name)
    ((savings,),) = client.rows(SAVINGS, customer)
    ((checking,),) = client.rows(CHECKING, customer)
    client.write(TAKE, amount + 1 if number(savings) + number(checking) < amount else amount, customer)


def _customer(client: Client, name: str) -> object:
    ((customer,),) = client.rows(CUSTOMER, name)
    return customer


def _money(client: Client, sql: str, customer: object) -> Decimal:
    ((money,),) = client.locked(sql, customer)
    return number(money)


ROUTINES = Routines(
    {
        "balance": balance,
        "deposit_checking": deposit_checking,
        "transact_savings": transact_savings,
        "amalgamate": amalgamate,
        "send_payment": send_payment,
        "write_check": write_check,
    },
    rows={"balance", "transact_savings", "send_payment"},
)

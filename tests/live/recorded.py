"""Reads a recorded log by plain JSON, so that the recorder's tests do not lean on the reader that audits use, and
replays the bank's arithmetic on it, in an own transcription."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

Line = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Recorded:
    """A log's lines by kind; `accounts` is the initial state of the bank."""

    header: Line
    transactions: list[Line]
    intents: list[Line]
    rows: list[Line]
    end: Line

    def by_status(self, status: str) -> list[Line]:
        return [line for line in self.transactions if line["status"] == status]

    def writers(self) -> list[Line]:
        """Committed transactions that wrote, in the order of their commit timestamps."""
        return sorted((line for line in self.by_status("committed") if "commit" in line), key=lambda t: t["commit"])

    def accounts(self) -> dict[int, Decimal]:
        tables = [self.header.get("initial", {}).get("accounts", {"rows": []})]
        tables += [line for line in self.rows if line["table"] == "accounts"]
        return {account: Decimal(balance) for table in tables for account, balance in table["rows"]}


def read(path: Path) -> Recorded:
    content = path.read_bytes()
    text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode()
    header, *lines = [json.loads(line) for line in text.splitlines()]
    kinds: dict[str, list[Line]] = {"transaction": [], "intent": [], "rows": [], "end": []}
    for line in lines:
        kinds[line.pop("kind", "transaction")].append(line)
    (end,) = kinds["end"]
    return Recorded(header, kinds["transaction"], kinds["intent"], kinds["rows"], end)


def is_write(statement: Line) -> bool:
    return bool(statement["sql"].startswith("UPDATE"))


def returned_balance(statement: Line) -> Decimal:
    ((balance,),) = statement["result"]["rows"]
    return Decimal(balance)


def update(statement: Line, accounts: dict[int, Decimal]) -> tuple[int, Decimal, bool]:
    """What an UPDATE of either variant does on `accounts`: (account, new balance, whether its condition holds)."""
    sql, params = statement["sql"].removesuffix(" RETURNING balance").replace("::numeric", ""), statement["params"]
    if sql == "UPDATE accounts SET balance = $1 WHERE id = $2":
        return params[1], Decimal(params[0]), True
    if sql == "UPDATE accounts SET balance = balance + $1 WHERE id = $2":
        return params[1], accounts[params[1]] + Decimal(params[0]), True
    if sql == "UPDATE accounts SET balance = balance - $1 WHERE id = $2 AND balance >= $1":
        amount, account = Decimal(params[0]), params[1]
        return account, accounts[account] - amount, accounts[account] >= amount
    assert sql.startswith("UPDATE accounts SET balance = balance - $1 - CASE WHEN"), sql
    amount, fee, account, floor = Decimal(params[0]), Decimal(params[1]), params[2], Decimal(params[3])
    balance = accounts[account]
    return account, balance - amount - (fee if balance < amount else 0), balance - amount >= floor


def replay(log: Recorded) -> tuple[dict[int, Decimal], list[str]]:
    """Apply every effective UPDATE in commit order. The final balances, and each UPDATE whose logged count or
    RETURNING does not fit the balance that it found (an affected count of 0 is not judged: it may be of an older
    snapshot, where the row was not changed since by others)."""
    accounts, misfits = log.accounts(), []
    for transaction in log.writers():
        for number, statement in enumerate(transaction["statements"]):
            if not is_write(statement) or statement["affected"] == 0:
                continue
            account, balance, holds = update(statement, accounts)
            accounts[account] = balance
            if statement["affected"] != 1 or not holds:
                misfits.append(f"{transaction['id']} statement {number}: count {statement['affected']}")
            if "result" in statement and returned_balance(statement) != balance:
                misfits.append(f"{transaction['id']} statement {number}: returned {statement['result']['rows']}")
    return accounts, misfits


def stale_writes(log: Recorded) -> list[str]:
    """Writes computed from a balance that was not the newest at commit: lost updates, of the read-then-write bank."""
    accounts, lost = log.accounts(), []
    for transaction in log.writers():
        read_before: dict[int, Decimal] = {}
        for statement in transaction["statements"]:
            if not is_write(statement):
                read_before[statement["params"][0]] = returned_balance(statement)
                continue
            account, balance, _ = update(statement, accounts)
            if account in read_before and read_before[account] != accounts[account]:
                lost.append(f"{transaction['id']} on account {account}")
            accounts[account] = balance
    return lost


def disorder(log: Recorded) -> list[str]:
    """Client times that cannot be: within each transaction, and between those of one session."""
    wrong: list[Any] = []
    last: dict[str, int] = {}
    for transaction in log.transactions:
        end = transaction["end"]
        times = [transaction["invoked"]]
        for statement in transaction["statements"]:
            times += [statement["invoked"], statement["returned"]]
        times += [end["invoked"], end["returned"], transaction["returned"]]
        if times != sorted(times) or times[0] < last.get(transaction["session"], 0):
            wrong.append(transaction["id"])
        last[transaction["session"]] = times[-1]
    return wrong

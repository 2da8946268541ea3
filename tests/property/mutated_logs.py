"""Beginnings of the recorded logs, and single changes of them.

The logs are those in logs/recorded: runs of the bank on PostgreSQL, without deletes and inserts. A transaction is only
changed where nobody before it in hint order can have read from it. Does not know which change is possible.
"""

from __future__ import annotations

import copy
import gzip
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from sql_semantics.library import SqlLibrary
from sql_semantics.values.dialect import Dialect
from troubadour.audit.driver import Options, audit
from troubadour.formats import read_log
from troubadour.model.log import Log
from troubadour.model.verdict import Verdict

RECORDED = Path(__file__).parents[2] / "logs" / "recorded"
NAMES = sorted(path.name.removesuffix(".jsonl.gz") for path in RECORDED.glob("*.jsonl.gz"))
COMMITTED, MANY_COMMITTED = 150, 300
"""Committed transactions of a beginning; `make slow` takes the second."""
SECONDS = 600.0
"""Far more than an audit here takes where the verdict is known beforehand."""

Line = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Beginning:
    """The first transactions of a log, in hint order, as JSON; `level` is the one that it was recorded at."""

    name: str
    header: Line
    rows: tuple[Line, ...]
    transactions: tuple[Line, ...]

    @property
    def level(self) -> str:
        return str(self.header["isolation"])

    def committed(self) -> list[Line]:
        return [line for line in self.transactions if line["status"] == "committed"]


def level_of(name: str) -> str:
    """What `Beginning.level` is, without reading the log."""
    with gzip.open(RECORDED / f"{name}.jsonl.gz") as lines:
        return str(json.loads(lines.readline())["isolation"])


@cache
def beginning(name: str, committed: int = COMMITTED) -> Beginning:
    path = RECORDED / f"{name}.jsonl.gz"
    header, *lines = map(json.loads, gzip.decompress(path.read_bytes()).splitlines())
    by_id = {line["id"]: line for line in lines if line.get("kind", "transaction") == "transaction"}
    kept: list[Line] = []
    count = 0
    for transaction in read_log([path]).transactions:
        count += transaction.status == "committed"
        kept.append(by_id[transaction.id])
        if count == committed:
            break
    rows = tuple(line for line in lines if line.get("kind") == "rows")
    return Beginning(name, header, rows, tuple(kept))


@cache
def library(schema: tuple[str, ...], collation: str) -> SqlLibrary:
    return SqlLibrary(Dialect("postgres", collation=collation), schema, ())


def read(source: Beginning, transactions: list[Line], folder: Path) -> Log:
    path = folder / "log.jsonl"
    path.write_text("\n".join(map(json.dumps, [source.header, *source.rows, *transactions])) + "\n", encoding="utf-8")
    return read_log([path])


def judge(
    source: Beginning, transactions: list[Line], folder: Path, level: str | None = None, seconds: float = SECONDS
) -> Verdict:
    log = read(source, transactions, folder)
    compiled = library(log.header.schema, str(log.header.settings["collation"]))
    return audit(log, compiled, Options(level or source.level, timeout=seconds))


# --- where to mutate ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Place:
    """A statement of a committed transaction; `position` counts committed transactions before it in hint order."""

    line: int
    position: int
    statement: int


def places(source: Beginning, wanted: Callable[[Line, Line], bool]) -> list[Place]:
    """Statements of transactions on which none before them in hint order depends.

    Who has a commit time read before it, and so nothing that was committed later; only one without (it wrote nothing)
    may stand before what it read, if the two overlapped.
    """
    found = []
    position = 0
    latest_reader = 0
    for number, line in enumerate(source.transactions):
        if line["status"] != "committed":
            continue
        if "commit" not in line or latest_reader < line["invoked"]:
            statements = enumerate(line["statements"])
            found += [Place(number, position, index) for index, item in statements if wanted(line, item)]
        if "commit" not in line:
            latest_reader = max(latest_reader, line["returned"])
        position += 1
    return found


def changed(source: Beginning, place: Place, change: Callable[[Line], None]) -> list[Line]:
    """The transactions with one statement changed."""
    transactions = list(source.transactions)
    transactions[place.line] = copy.deepcopy(transactions[place.line])
    change(transactions[place.line]["statements"][place.statement])
    return transactions


def chosen(source: Beginning, kind: str, seeds: range, wanted: Callable[[Line, Line], bool]) -> Iterator[Place]:
    candidates = places(source, wanted)
    for seed in seeds:
        if candidates:
            yield Random(f"{source.name} {kind} {seed}").choice(candidates)


def shows_a_balance(line: Line, statement: Line) -> bool:
    return bool(statement.get("result", {}).get("rows"))


def is_select(line: Line, statement: Line) -> bool:
    return bool(statement["sql"].startswith("SELECT") and shows_a_balance(line, statement))


def is_update(line: Line, statement: Line) -> bool:
    return bool(statement["sql"].startswith("UPDATE"))


def is_certain(line: Line, statement: Line) -> bool:
    """An update that changes its row whatever the balance is."""
    return is_update(line, statement) and statement["sql"].endswith(
        ("WHERE id = $2", "WHERE id = $2 RETURNING balance")
    )


def is_conditional(line: Line, statement: Line) -> bool:
    return is_update(line, statement) and not is_certain(line, statement) and "result" not in statement


def set_balance(value: str) -> Callable[[Line], None]:
    def change(statement: Line) -> None:
        statement["result"]["rows"][0][-1] = value

    return change


def add_to_balance(amount: str) -> Callable[[Line], None]:
    def change(statement: Line) -> None:
        row = statement["result"]["rows"][0]
        row[-1] = str(Decimal(row[-1]) + Decimal(amount))

    return change


def drop_row(statement: Line) -> None:
    del statement["result"]["rows"][0]


def set_affected(count: int) -> Callable[[Line], None]:
    def change(statement: Line) -> None:
        statement["affected"] = count

    return change


def older_balances(source: Beginning, place: Place) -> list[str]:
    """Balances that the account read by this statement is known to have had before and that differ from the one seen,
    the oldest first."""
    statement = source.transactions[place.line]["statements"][place.statement]
    account, now = statement["params"][0], statement["result"]["rows"][0][0]
    tables = [source.header["initial"].get("accounts"), *(line for line in source.rows if line["table"] == "accounts")]
    older = [row[1] for table in tables if table is not None for row in table["rows"] if row[0] == account]
    for line in source.transactions[: place.line]:
        if "commit" in line:
            older += [value for _, value in versions(line, account)]
    return [value for value in older if value != now]


def versions(line: Line, account: int) -> Iterator[tuple[Line, str]]:
    """The balances that a transaction is known to have left in an account, and the statements that did."""
    for statement in line["statements"]:
        if not is_update(line, statement) or not statement.get("affected"):
            continue
        if statement["sql"] == "UPDATE accounts SET balance = $1 WHERE id = $2" and statement["params"][1] == account:
            yield statement, statement["params"][0]
        elif "result" in statement and updated_account(statement) == account:
            yield statement, statement["result"]["rows"][0][0]


def updated_account(statement: Line) -> int:
    return int(statement["params"][2 if "CASE" in statement["sql"] else 1])


def is_only_read(line: Line, statement: Line) -> bool:
    """The only statement of its transaction, a balance by key."""
    return len(line["statements"]) == 1 and is_select(line, statement) and len(statement["params"]) == 1


def swapped_commits(source: Beginning, rng: Random, *, neighbours: bool) -> list[Line]:
    transactions = list(source.transactions)
    writers = [number for number, line in enumerate(transactions) if "commit" in line]
    first = rng.randrange(len(writers) - 1)
    second = first + 1 if neighbours else min(len(writers) - 1, first + rng.randint(2, 60))
    a, b = writers[first], writers[second]
    one, other = transactions[a], transactions[b]
    transactions[a], transactions[b] = one | {"commit": other["commit"]}, other | {"commit": one["commit"]}
    return transactions


def drop_statement(source: Beginning, place: Place) -> list[Line]:
    transactions = list(source.transactions)
    line = transactions[place.line]
    statements = [item for number, item in enumerate(line["statements"]) if number != place.statement]
    transactions[place.line] = line | {"statements": statements}
    return transactions


def flip_affected(statement: Line) -> None:
    statement["affected"] = 1 - statement["affected"]

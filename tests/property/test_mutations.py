"""Mutations of recorded logs (DESIGN §10): what cannot be is a violation at exactly the transaction that was changed,
what may be stays correct, and how much of the rest is caught.

The logs are the beginnings of those in logs/recorded: runs of the bank on PostgreSQL, without deletes and inserts. A
transaction is only changed where nobody before it in hint order can have read from it. Does not know how a verdict is
reached, and judges the values with an own reading of the bank's few statements.
"""

from __future__ import annotations

import copy
import gzip
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest

from sql_semantics.library import SqlLibrary
from sql_semantics.values.dialect import Dialect
from troubadour.audit.driver import Options, audit
from troubadour.formats import read_log
from troubadour.model.log import Log
from troubadour.model.verdict import Scope, Status, Verdict

RECORDED = Path(__file__).parents[2] / "logs" / "recorded"
NAMES = sorted(path.name.removesuffix(".jsonl.gz") for path in RECORDED.glob("*.jsonl.gz"))
COMMITTED = 300
IMPOSSIBLE = "987654321.00"
FEW, MANY = range(2), range(12)
SECONDS = 90.0
"""Far more than an audit here takes where the verdict is known beforehand."""
OPEN_SECONDS = 90.0
"""For those where it is not."""

Line = dict[str, Any]
STRICT = {"snapshot": "strict-snapshot", "serializable": "strict-serializable"}


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


@cache
def beginning(name: str) -> Beginning:
    path = RECORDED / f"{name}.jsonl.gz"
    header, *lines = map(json.loads, gzip.decompress(path.read_bytes()).splitlines())
    by_id = {line["id"]: line for line in lines if line.get("kind", "transaction") == "transaction"}
    kept: list[Line] = []
    count = 0
    for transaction in read_log([path]).transactions:
        count += transaction.status == "committed"
        kept.append(by_id[transaction.id])
        if count == COMMITTED:
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


def assert_fails_at(source: Beginning, place: Place, verdict: Verdict) -> None:
    """A violation at this transaction, which its core has."""
    line = source.transactions[place.line]
    told = f"{source.name}, {line['id']} statement {place.statement}: {verdict}"
    assert verdict.status is Status.VIOLATION, told
    assert (verdict.failing_transaction, verdict.verified_prefix) == (line["id"], place.position), told
    assert verdict.core is not None and line["id"] in verdict.core, told


# --- what must hold -------------------------------------------------------------------------------------------------


def test_there_are_logs() -> None:
    assert len(NAMES) >= 7


@pytest.mark.parametrize("name", NAMES)
def test_the_beginning_is_correct(name: str, tmp_path: Path) -> None:
    source = beginning(name)
    assert len(source.committed()) == COMMITTED
    verdict = judge(source, list(source.transactions), tmp_path)
    assert (verdict.status, verdict.verified_prefix) == (Status.CORRECT, COMMITTED), verdict


IMPOSSIBLE_CHANGES = {
    "a value that never was": (shows_a_balance, set_balance(IMPOSSIBLE)),
    "a row missing": (is_select, drop_row),
    "two rows changed by key": (is_update, set_affected(2)),
    "no row changed by key": (is_certain, set_affected(0)),
}


def certain_places(source: Beginning, kind: str, seeds: range) -> Iterator[tuple[Place, list[Line]]]:
    wanted, change = IMPOSSIBLE_CHANGES[kind]
    for place in chosen(source, kind, seeds, wanted):
        yield place, changed(source, place, change)


@pytest.mark.parametrize("kind", IMPOSSIBLE_CHANGES)
@pytest.mark.parametrize("name", NAMES)
def test_what_cannot_be_is_a_violation_right_there(name: str, kind: str, tmp_path: Path) -> None:
    source = beginning(name)
    found = list(certain_places(source, kind, FEW))
    assert found
    for place, transactions in found:
        assert_fails_at(source, place, judge(source, transactions, tmp_path))


@pytest.mark.slow
@pytest.mark.parametrize("kind", IMPOSSIBLE_CHANGES)
@pytest.mark.parametrize("name", NAMES)
def test_what_cannot_be_is_a_violation_right_there_often(name: str, kind: str, tmp_path: Path) -> None:
    source = beginning(name)
    for place, transactions in certain_places(source, kind, range(len(FEW), 20)):
        assert_fails_at(source, place, judge(source, transactions, tmp_path))


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


@pytest.mark.parametrize("name", NAMES)
def test_a_stale_read_alone_stays_correct(name: str, tmp_path: Path) -> None:
    """Without real time, a transaction that only reads one row may have run earlier: at every level that is not strict.
    The serial orders that are searched may not reach as far back; then the verdict says that it is of its order only.
    """
    source = beginning(name)
    tried = []
    for place in chosen(source, "stale", range(8), is_only_read):
        older = older_balances(source, place)
        if older:
            transactions = changed(source, place, set_balance(Random(place.line).choice(older)))
            verdict = judge(source, transactions, tmp_path)
            tried.append(verdict.status)
            if source.level == "serializable" and verdict.status is Status.VIOLATION:
                assert verdict.scope is Scope.RECORDED_ORDER, verdict
            else:
                assert verdict.status is Status.CORRECT, f"{source.transactions[place.line]}: {verdict}"
    assert Status.CORRECT in tried or name.endswith("1000")  # of 1,000 accounts, few are both written and read


def is_pinned(source: Beginning, place: Place) -> bool:
    """Whether real time leaves this read one value, and its transaction saw that: the account was written before it was
    asked for and after it was answered, never meanwhile, and the last to write it overlapped none that wrote it too and
    is known to have left what was read."""
    line = source.transactions[place.line]
    statement = line["statements"][place.statement]
    account = statement["params"][0]
    before, after = [], []
    for other in source.transactions:
        statements = other["statements"] if other["status"] == "committed" else []
        if any(is_update(other, item) and updated_account(item) == account for item in statements):
            if other["returned"] < line["invoked"]:
                before.append(other)
            elif other["invoked"] > line["returned"]:
                after.append(other)
            else:
                return False
    if not before or not any("commit" in other for other in before):
        return False
    last = max(before, key=lambda other: int(other["invoked"]))
    if any(other["returned"] >= last["invoked"] for other in before if other is not last):
        return False
    left = [value for _, value in versions(last, account)]
    return left[-1:] == [statement["result"]["rows"][0][0]]


def pinned_reads(source: Beginning) -> list[Place]:
    return [
        place for place in places(source, is_only_read) if is_pinned(source, place) and older_balances(source, place)
    ]


@pytest.mark.parametrize("name", [name for name in NAMES if beginning(name).level in STRICT and "1000" not in name])
def test_a_stale_read_is_a_violation_where_real_time_forbids_it(name: str, tmp_path: Path) -> None:
    source = beginning(name)
    strict = STRICT[source.level]
    untouched = judge(source, list(source.transactions), tmp_path, strict)
    assert untouched.status is Status.CORRECT, untouched
    pinned = pinned_reads(source)
    assert len(pinned) >= 3
    for place in pinned[:4]:
        transactions = changed(source, place, set_balance(older_balances(source, place)[-1]))
        assert_fails_at(source, place, judge(source, transactions, tmp_path, strict))


@pytest.mark.parametrize("name", NAMES)
def test_commit_times_of_neighbours_may_be_swapped(name: str, tmp_path: Path) -> None:
    """They are a hint; clients' times do not tell two apart that overlapped."""
    source = beginning(name)
    for seed in FEW:
        transactions = swapped_commits(source, Random(f"{name} neighbours {seed}"), neighbours=True)
        verdict = judge(source, transactions, tmp_path)
        assert verdict.status is Status.CORRECT, verdict


def swapped_commits(source: Beginning, rng: Random, *, neighbours: bool) -> list[Line]:
    transactions = list(source.transactions)
    writers = [number for number, line in enumerate(transactions) if "commit" in line]
    first = rng.randrange(len(writers) - 1)
    second = first + 1 if neighbours else min(len(writers) - 1, first + rng.randint(2, 60))
    a, b = writers[first], writers[second]
    one, other = transactions[a], transactions[b]
    transactions[a], transactions[b] = one | {"commit": other["commit"]}, other | {"commit": one["commit"]}
    return transactions


def test_lost_updates_are_told(tmp_path: Path) -> None:
    """What read committed lets pass, snapshot isolation does not: two transactions changed what both had read."""
    path = RECORDED / "bank-read-committed-20-rtw.jsonl.gz"
    log = read_log([path])
    verdict = audit(log, library(log.header.schema, str(log.header.settings["collation"])), Options("snapshot"))
    assert verdict.status is Status.VIOLATION
    assert verdict.core is not None and len(verdict.core) == 2 and verdict.failing_transaction in verdict.core
    by_id = {transaction.id: transaction for transaction in log.transactions}
    updates = []
    for member in verdict.core:
        *_, update = (item for item in by_id[member].statements if item.sql.startswith("UPDATE"))
        assert isinstance(update.params, tuple)
        updates.append(update.params)
    (first, account), (_, same) = updates
    assert account == same
    told = str(verdict.explanation)
    read_before = [s.results[0].rows[0][0] for s in by_id[verdict.failing_transaction].statements if s.results]
    assert f"accounts(id={account})" in told, told
    assert str(first) in told and any(value in told for value in read_before), told


# --- what may or may not be caught ----------------------------------------------------------------------------------


def drop_statement(source: Beginning, place: Place) -> list[Line]:
    transactions = list(source.transactions)
    line = transactions[place.line]
    statements = [item for number, item in enumerate(line["statements"]) if number != place.statement]
    transactions[place.line] = line | {"statements": statements}
    return transactions


def flip_affected(statement: Line) -> None:
    statement["affected"] = 1 - statement["affected"]


def open_changes(source: Beginning, seeds: range) -> Iterator[tuple[str, Place | None, list[Line]]]:
    """Mutations whose verdict only the rest of the log decides."""
    for place in chosen(source, "off by a cent", seeds, shows_a_balance):
        yield "off by a cent", place, changed(source, place, add_to_balance("0.01"))
    for place in chosen(source, "write dropped", seeds, is_update):
        yield "write dropped", place, drop_statement(source, place)
    for place in chosen(source, "condition flipped", seeds, is_conditional):
        yield "condition flipped", place, changed(source, place, flip_affected)
    for place in chosen(
        source, "stale read", seeds, lambda line, item: is_select(line, item) and len(item["params"]) == 1
    ):
        older = older_balances(source, place)
        if older:
            yield "stale read", place, changed(source, place, set_balance(older[-1]))
    for seed in seeds:
        yield "commits swapped", None, swapped_commits(source, Random(f"{source.name} far {seed}"), neighbours=False)


def outcome(source: Beginning, place: Place | None, verdict: Verdict) -> str:
    """A mutation's outcome in a word. What stood before the mutated transaction stays explained."""
    if verdict.status is Status.UNDECIDED:
        return "undecided"
    if verdict.status is Status.CORRECT:
        assert verdict.witness is not None  # passed replay
        return "explained"
    if place is None:
        # the client's times allow the order that really was
        assert verdict.scope is Scope.RECORDED_ORDER, verdict
        return "order not found"
    assert verdict.verified_prefix >= place.position, f"{source.name} {place}: {verdict}"
    failing = source.transactions[place.line]["id"]
    return "caught there" if verdict.failing_transaction == failing else "caught later"


def tally(source: Beginning, seeds: range, folder: Path) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = {}
    for kind, place, transactions in open_changes(source, seeds):
        verdict = judge(source, transactions, folder, seconds=OPEN_SECONDS)
        found.setdefault(kind, Counter())[outcome(source, place, verdict)] += 1
    return found


def table(name: str, found: dict[str, Counter[str]]) -> str:
    lines = [f"  {kind:18} " + ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))
             for kind, counts in found.items()]  # fmt: skip
    return "\n".join([name, *lines, ""])


@pytest.mark.parametrize("name", NAMES)
def test_a_mutation_leaves_what_came_before_explained(name: str, tmp_path: Path) -> None:
    found = tally(beginning(name), range(1), tmp_path)
    assert not any(counts["undecided"] for counts in found.values()), found


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_how_much_is_caught(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = tally(beginning(name), MANY, tmp_path)
    with capsys.disabled():
        sys.stdout.write("\n" + table(name, found))
    cents = found["off by a cent"]
    assert cents["caught there"] + cents["caught later"] >= 0.5 * cents.total(), found

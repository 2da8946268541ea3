"""Mutations of recorded logs: what cannot be is a violation at exactly the transaction that was changed,
what may be stays correct, and how much of the rest is caught.

Does not know how a verdict is reached, and judges the values with an own reading of the bank's few statements.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from tests.property.mutated_logs import (
    COMMITTED,
    MANY_COMMITTED,
    NAMES,
    RECORDED,
    Beginning,
    Line,
    Place,
    add_to_balance,
    beginning,
    changed,
    chosen,
    drop_row,
    drop_statement,
    flip_affected,
    is_certain,
    is_conditional,
    is_only_read,
    is_select,
    is_update,
    judge,
    level_of,
    library,
    older_balances,
    places,
    set_affected,
    set_balance,
    shows_a_balance,
    swapped_commits,
    updated_account,
    versions,
)
from troubadour.audit.driver import Options, audit
from troubadour.formats import read_log
from troubadour.model.verdict import Scope, Status, Verdict

IMPOSSIBLE = "987654321.00"
FEW, MANY = range(1), range(12)
SHORT_AND_LONG = pytest.mark.parametrize("committed", [COMMITTED, pytest.param(MANY_COMMITTED, marks=pytest.mark.slow)])
OPEN_SECONDS = 90.0
OTHERS_LEFT = "not every order was excluded"
"""For those where it is not."""
STRICT = {"snapshot": "strict-snapshot", "serializable": "strict-serializable"}


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


@SHORT_AND_LONG
@pytest.mark.parametrize("name", NAMES)
def test_the_beginning_is_correct(name: str, committed: int, tmp_path: Path) -> None:
    source = beginning(name, committed)
    assert len(source.committed()) == committed
    verdict = judge(source, list(source.transactions), tmp_path)
    assert (verdict.status, verdict.verified_prefix) == (Status.CORRECT, committed), verdict


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


EACH_OTHER = [
    (name, kind)
    for place, name in enumerate(NAMES)
    for number, kind in enumerate(IMPOSSIBLE_CHANGES)
    if (place + number) % 2 and name not in ("bank-read-committed-20", "bank-read-committed-1000")
]
"""Each log and each change, but where each takes seconds; all that there are come often, slowly."""


@pytest.mark.parametrize(("name", "kind"), EACH_OTHER)
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
    source = beginning(name, MANY_COMMITTED)
    for place, transactions in certain_places(source, kind, range(20)):
        assert_fails_at(source, place, judge(source, transactions, tmp_path))


@SHORT_AND_LONG
@pytest.mark.parametrize(
    "name", [name if place % 2 else pytest.param(name, marks=pytest.mark.slow) for place, name in enumerate(NAMES)]
)
def test_a_stale_read_alone_stays_correct(name: str, committed: int, tmp_path: Path) -> None:
    """Without real time, a transaction that only reads one row may have run earlier: at every level that is not strict.
    The serial orders that are searched may not reach as far back; then the verdict says that others are left.
    """
    source = beginning(name, committed)
    tried = []
    for place in chosen(source, "stale", range(8), is_only_read):
        older = older_balances(source, place)
        if older:
            transactions = changed(source, place, set_balance(Random(place.line).choice(older)))
            verdict = judge(source, transactions, tmp_path)
            tried.append(verdict.status)
            if source.level == "serializable" and verdict.status is Status.UNDECIDED:
                assert OTHERS_LEFT in str(verdict.reason), verdict
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


@pytest.mark.parametrize("name", [name for name in NAMES if level_of(name) in STRICT and "1000" not in name])
def test_a_stale_read_is_a_violation_where_real_time_forbids_it(name: str, tmp_path: Path) -> None:
    source = beginning(name, MANY_COMMITTED)
    strict = STRICT[source.level]
    untouched = judge(source, list(source.transactions), tmp_path, strict)
    assert untouched.status is Status.CORRECT, untouched
    pinned = pinned_reads(source)
    assert len(pinned) >= 3
    for place in pinned[:2]:
        transactions = changed(source, place, set_balance(older_balances(source, place)[-1]))
        assert_fails_at(source, place, judge(source, transactions, tmp_path, strict))


@SHORT_AND_LONG
@pytest.mark.parametrize("name", NAMES)
def test_commit_times_of_neighbours_may_be_swapped(name: str, committed: int, tmp_path: Path) -> None:
    """They are a hint; clients' times do not tell two apart that overlapped."""
    source = beginning(name, committed)
    for seed in FEW:
        transactions = swapped_commits(source, Random(f"{name} neighbours {seed}"), neighbours=True)
        verdict = judge(source, transactions, tmp_path)
        assert verdict.status is Status.CORRECT, verdict


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
    (_, account), (_, same) = updates
    assert account == same
    told = str(verdict.explanation)
    assert f"accounts({account})" in told and all(repr(member) in told for member in verdict.core), told


# --- what may or may not be caught ----------------------------------------------------------------------------------


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
        return "not every order excluded" if OTHERS_LEFT in str(verdict.reason) else "undecided"
    if verdict.status is Status.CORRECT:
        assert verdict.witness is not None  # passed replay
        return "explained"
    # the client's times allow the order that really was
    assert place is not None, verdict
    assert verdict.scope is Scope.EVERY_ORDER, verdict
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


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_mutation_leaves_what_came_before_explained(name: str, tmp_path: Path) -> None:
    found = tally(beginning(name, 150), range(1), tmp_path)
    assert not any(counts["undecided"] for counts in found.values()), found


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_how_much_is_caught(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = tally(beginning(name, MANY_COMMITTED), MANY, tmp_path)
    with capsys.disabled():
        sys.stdout.write("\n" + table(name, found))
    cents = found["off by a cent"]
    assert cents["caught there"] + cents["caught later"] >= 0.5 * cents.total(), found

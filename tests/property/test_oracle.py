"""The oracle on the paper's example, on anomalies at level boundaries, and on random logs."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec
import pytest

from sql_semantics.library import SqlLibrary
from sql_semantics.values.dialect import Dialect
from tests.property.random_logs import LEVELS, random_log, write
from tests.property.random_statements import library
from troubadour.model.log import Header, InitialTable, Log, ObservedRows, Statement, Transaction
from troubadour.model.verdict import Status
from troubadour.oracle import BudgetExceeded, OracleAnswer, explain
from troubadour.replay.checker import check

WEAKER = (
    ("strict-serializable", "serializable"),
    ("serializable", "snapshot"),
    ("strict-snapshot", "snapshot"),
    ("snapshot", "read-committed"),
)
"""Whatever the first accepts the second accepts."""

BANK = "CREATE TABLE accounts (acc_id INT PRIMARY KEY, balance NUMERIC(12,2) NOT NULL)"
DEPOSIT = (
    "CREATE PROCEDURE Deposit (IN tgt INT, IN amt DECIMAL(12,2)) "
    "BEGIN UPDATE accounts SET balance = balance + @amt WHERE acc_id = @tgt; END;"
)
TRANSFER = (
    "CREATE PROCEDURE Transfer (IN src INT, IN tgt INT, IN amt DECIMAL(12,2)) BEGIN CALL Deposit(@tgt, @amt); "
    "UPDATE accounts SET balance = balance - @amt WHERE acc_id = @src; END;"
)


def figure_1(balance: str, deposit: int = 2) -> tuple[Log, SqlLibrary]:
    """Paper §2, Fig. 1; `deposit` is the account that transaction 2 deposits into."""
    rows = (ObservedRows(("balance",), ((balance,),)),)
    statements = [
        (0, 1, Statement("CALL Transfer(1, 2, 10)")),
        (2, 4, Statement(f"CALL Deposit({deposit}, 100)")),
        (3, 5, Statement("CALL Transfer(1, 2, 10)")),
        (6, 7, Statement("SELECT balance FROM accounts WHERE acc_id = 2", results=rows)),
    ]
    transactions = [
        Transaction(number, "committed", (statement,), number, start=start, commit=commit)
        for number, (start, commit, statement) in enumerate(statements, 1)
    ]
    initial = (InitialTable("accounts", None, [(1, "100.00"), (2, "300.00")]),)
    header = Header("mysql", (BANK,), procedures=(DEPOSIT, TRANSFER), initial=initial)
    return Log(header, transactions, "figure 1"), SqlLibrary(Dialect("mysql"), header.schema, header.procedures)


@pytest.mark.parametrize(
    ("balance", "level", "verified"),
    [
        # Transactions 2 and 3 both change account 2 and are concurrent.
        ("420.00", "strict-snapshot", 2),
        ("420.00", "snapshot", 4),
        ("420.00", "serializable", 4),
        ("420.00", "strict-serializable", 4),
        ("320.00", "serializable", 4),  # transaction 4 before the deposit, but after both transfers
        ("320.00", "strict-serializable", 3),
        ("320.00", "snapshot", 4),
        ("330.00", "read-committed", 3),
        ("400.00", "read-committed", 4),  # the deposit alone, from the initial state
    ],
)
def test_the_papers_example(balance: str, level: str, verified: int) -> None:
    log, bank = figure_1(balance)
    answer = explain(log, bank, level)
    assert (answer.verified_prefix, answer.status is Status.CORRECT) == (verified, verified == 4)


def test_the_papers_example_without_the_conflict() -> None:
    log, bank = figure_1("320.00", deposit=3)
    assert explain(log, bank, "strict-snapshot").status is Status.CORRECT


def small(*transactions: tuple[str, ...] | list[Statement], **fields: Any) -> Log:
    made = [
        Transaction(number, "committed", tuple(Statement(s) if isinstance(s, str) else s for s in statements), number)
        for number, statements in enumerate(transactions, 1)
    ]
    rows = InitialTable("accounts", None, [(1, 0, None), (2, 0, None)])
    return Log(Header("postgres", (), initial=(rows,), **fields), made, "small")


def seen(key: int, *values: int) -> Statement:
    rows = tuple((value,) for value in values)
    return Statement(f"SELECT v FROM accounts WHERE id = {key}", results=(ObservedRows(("v",), rows),))


def accepted(log: Log) -> set[str]:
    return {level for level in LEVELS if explain(log, library(), level).status is Status.CORRECT}


def test_boundary_of_serializable_and_snapshot_is_write_skew() -> None:
    one = [seen(1, 0), Statement("UPDATE accounts SET v = 1 WHERE id = 2")]
    two = [seen(2, 0), Statement("UPDATE accounts SET v = 1 WHERE id = 1")]
    assert accepted(small(one, two)) == {"read-committed", "snapshot", "strict-snapshot"}


def test_boundary_of_snapshot_and_read_committed_is_a_lost_update() -> None:
    add = [seen(1, 0), Statement("UPDATE accounts SET v = v + 1 WHERE id = 1")]
    assert accepted(small(add, add)) == {"read-committed"}


def test_boundary_of_snapshot_and_read_committed_is_a_long_fork() -> None:
    one, two = ["UPDATE accounts SET v = 1 WHERE id = 1"], ["UPDATE accounts SET v = 1 WHERE id = 2"]
    fork = small(tuple(one), tuple(two), [seen(1, 1), seen(2, 0)], [seen(1, 0), seen(2, 1)])
    assert accepted(fork) == {"read-committed"}


def test_an_exact_order_binds_snapshots_more_than_serial_orders() -> None:
    """The one exception to serializable => snapshot: a reader may move in the serial order, but not past a commit."""
    log = small([seen(1, 1)], ("UPDATE accounts SET v = 1 WHERE id = 1",), order="exact")
    timed = [msgspec.structs.replace(transaction, commit=transaction.id) for transaction in log.transactions]
    assert accepted(Log(log.header, timed, "small")) == {"serializable", "strict-serializable"}
    assert accepted(small([seen(1, 1)], ("UPDATE accounts SET v = 1 WHERE id = 1",))) == set(LEVELS)


def test_nothing_explains_a_read_of_what_nobody_wrote() -> None:
    assert accepted(small([seen(1, 7)])) == set()


def test_a_prefix_may_need_a_later_transaction() -> None:
    log = small([seen(1, 1)], ("UPDATE accounts SET v = 1 WHERE id = 1",), [seen(1, 7)])
    answer = explain(log, library(), "serializable")
    assert (answer.status, answer.verified_prefix) == (Status.VIOLATION, 2)
    assert answer.witness is not None and answer.witness.order == (2, 1)
    recorded = explain(log, library(), "serializable", order_recorded=True)
    assert recorded.verified_prefix == 0


def test_an_unknown_transaction_is_decided_by_what_others_saw() -> None:
    write_one = Transaction("w", "unknown", (Statement("UPDATE accounts SET v = 1 WHERE id = 1"),), 0)
    for value, happened in ((1, True), (0, False)):
        log = small([seen(1, value)])
        log = Log(log.header, [*log.transactions, write_one], "small")
        answer = explain(log, library(), "strict-serializable")
        assert answer.status is Status.CORRECT and answer.witness is not None
        assert ("w" in answer.witness.order) == happened


def test_the_budget_is_never_overrun_silently() -> None:
    with pytest.raises(BudgetExceeded):
        explain(small(*[(f"UPDATE accounts SET v = {n} WHERE id = 1",) for n in range(5)], [seen(1, 9)]), library(),
                "snapshot", budget=50)  # fmt: skip


SEEDS = 100


@pytest.fixture(scope="module")
def answers() -> list[tuple[int, Log, dict[str, OracleAnswer]]]:
    found = []
    for seed in range(SEEDS):
        log = random_log(seed)
        found.append((seed, log, {level: explain(log, library(), level) for level in LEVELS}))
    return found


def test_the_mix(answers: list[tuple[int, Log, dict[str, OracleAnswer]]]) -> None:
    correct: Counter[str] = Counter()
    separating = 0
    for _, _, by_level in answers:
        assert all(answer.status is not Status.UNDECIDED for answer in by_level.values())
        correct.update(level for level in LEVELS if by_level[level].status is Status.CORRECT)
        separating += any(by_level[strong].status is not by_level[weak].status for strong, weak in WEAKER)
    for level in LEVELS:
        assert 0.3 * SEEDS <= correct[level] <= 0.9 * SEEDS, correct
    assert separating >= 0.2 * SEEDS, separating


def test_a_weaker_level_accepts_more(answers: list[tuple[int, Log, dict[str, OracleAnswer]]]) -> None:
    for seed, log, by_level in answers:
        for strong, weak in WEAKER:
            # An exact commit order binds the snapshots and read committed, but not the serial order.
            if log.header.order == "exact" and (strong, weak) == ("serializable", "snapshot"):
                continue
            assert by_level[strong].verified_prefix <= by_level[weak].verified_prefix, f"seed {seed}\n{write(log)}"


def test_every_order_accepts_more_than_the_recorded_one(
    answers: list[tuple[int, Log, dict[str, OracleAnswer]]],
) -> None:
    for seed, log, by_level in answers[:80]:
        for level in LEVELS:
            recorded = explain(log, library(), level, order_recorded=True)
            assert recorded.verified_prefix <= by_level[level].verified_prefix, f"seed {seed}\n{write(log)}"


def test_witnesses_pass_a_fresh_replay(answers: list[tuple[int, Log, dict[str, OracleAnswer]]]) -> None:
    for seed, log, by_level in answers:
        for level, answer in by_level.items():
            if answer.status is Status.CORRECT:
                assert answer.witness is not None
                refusal = check(log, answer.witness, library(), isolation=level)
                assert refusal is None, f"seed {seed}, {level}: {refusal}"


def test_the_same_seed_gives_the_same_log() -> None:
    assert write(random_log(7)) == write(random_log(7))
    assert random_log(7).digest != random_log(8).digest

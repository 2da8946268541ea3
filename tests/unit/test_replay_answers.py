"""Replay on what statements answered: rows, own writes, errors, keys, logs that cannot be used."""

from __future__ import annotations

import pytest

from sql_semantics.errors import Unsupported
from sql_semantics.library import SqlLibrary
from sql_semantics.values.dialect import Dialect
from tests.unit.replayed import ACCOUNTS, ADD_1, ADD_2, condition, judged, log_of, read, transaction
from troubadour.execution.prepared import UnsupportedStatement
from troubadour.model.log import (
    Header,
    InitialTable,
    Log,
    LogError,
    ObservedError,
    Statement,
)
from troubadour.model.witness import TransactionView, Witness
from troubadour.replay.checker import check
from troubadour.replay.refusal import Refusal


def test_observations() -> None:
    log = log_of(transaction("a", ADD_1), transaction("b", read(1, 12)))
    refusal = judged(log, "serializable", ("a", 0), ("b", 1))
    assert refusal == Refusal("b", 0, "observation", "observed 12, expected 11")
    assert (
        condition(log_of(transaction("a", ADD_1), transaction("b", read(1, 11))), "snapshot", ("a", 0), ("b", 1))
        is None
    )


def test_own_writes_come_first() -> None:
    log = log_of(transaction("a", ADD_1), transaction("b", ADD_2, read(2, 21), read(1, 10)))
    assert condition(log, "snapshot", ("a", 0), ("b", 0)) is None
    gone = "DELETE FROM accounts WHERE id = 1"
    log = log_of(transaction("a", gone, read(1, None), "INSERT INTO accounts VALUES (1, 7, NULL)", read(1, 7)))
    assert condition(log, "serializable", ("a", 0)) is None


def test_a_success_where_an_error_must_come() -> None:
    log = log_of(transaction("a", "UPDATE accounts SET v = NULL WHERE id = 1"))
    assert condition(log, "serializable", ("a", 0)) == ("error", "a")
    assert condition(log_of(transaction("a", "UPDATE accounts SET w = NULL")), "serializable", ("a", 0)) is None


@pytest.mark.parametrize(
    ("dialect", "sqlstate", "expected"),
    [
        ("postgres", "23502", ("error", "a")),  # it would have aborted the transaction
        ("sqlite", "23502", None),
        ("sqlite", "57014", None),
        ("sqlite", "22012", ("error", "a")),
    ],
)
def test_errors_in_committed_transactions(dialect: str, sqlstate: str, expected: tuple[str, str] | None) -> None:
    failed = Statement("UPDATE accounts SET v = NULL WHERE id = 1", error=ObservedError(sqlstate))
    log = log_of(transaction("a", ADD_1, failed, read(1, 11)), dialect=dialect)
    assert condition(log, "serializable", ("a", 0)) == expected


def test_an_error_that_keys_may_explain_has_no_effect() -> None:
    clash = Statement("UPDATE accounts SET id = 3 WHERE id = 1", error=ObservedError("23505"))
    of_no_key = Statement("UPDATE accounts SET v = 3 WHERE id = 1", error=ObservedError("23505"))
    select = Statement("SELECT v FROM accounts", error=ObservedError("23505"))
    assert condition(log_of(transaction("a", clash, read(1, 10)), dialect="sqlite"), "serializable", ("a", 0)) is None
    for failed in (of_no_key, select):
        assert condition(log_of(transaction("a", failed), dialect="sqlite"), "serializable", ("a", 0)) == ("error", "a")


def test_a_deadlock_victim_that_went_on_is_not_modelled() -> None:
    log = log_of(transaction("a", Statement(ADD_1, error=ObservedError("40001"))), dialect="mysql")
    with pytest.raises(UnsupportedStatement) as caught:
        judged(log, "serializable", ("a", 0))
    assert (caught.value.transaction, caught.value.index) == ("a", 0)


def test_errors_of_a_text_that_cannot_be_read() -> None:
    def log(sqlstate: str) -> Log:
        garbled = Statement("SELEC v", error=ObservedError(sqlstate))
        return log_of(transaction("a", garbled, ADD_1), dialect="sqlite")

    assert condition(log("42601"), "serializable", ("a", 0)) is None
    with pytest.raises(UnsupportedStatement):
        judged(log("22012"), "serializable", ("a", 0))


def test_keys_under_an_unknown_collation() -> None:
    schema = ("CREATE TABLE names (name VARCHAR(10) PRIMARY KEY)",)
    library = SqlLibrary(Dialect("mysql"), schema)
    for names, refused in ((("a", "a"), "keys"), (("a", "b"), None), (("a", "\u00c1 "), "unknown")):
        inserts = [transaction(str(n), f"INSERT INTO names VALUES ('{name}')") for n, name in enumerate(names)]
        log = Log(Header("mysql", schema), inserts, "digest")
        witness = Witness("digest", "snapshot", ("0", "1"), (TransactionView(0), TransactionView(0)))
        if refused == "unknown":
            with pytest.raises(Unsupported, match="collation"):
                check(log, witness, library, isolation="snapshot")
        else:
            refusal = check(log, witness, library, isolation="snapshot")
            assert (None if refusal is None else refusal.condition) == refused


def test_what_an_aborted_transaction_was_answered() -> None:
    failed = Statement(ADD_1, error=ObservedError("22003"))
    went_on = transaction("b", failed, read(1, 10), status="aborted")
    assert condition(log_of(transaction("a", ADD_1), went_on), "serializable", ("a", 0)) == ("error", "b")
    ended = transaction("b", failed, status="aborted")
    assert judged(log_of(transaction("a", ADD_1), ended), "serializable", ("a", 0)) is None


def test_unusable_logs() -> None:
    with pytest.raises(LogError, match="transaction 'a', statement 1: "):
        judged(log_of(transaction("a", read(1, "x"))), "snapshot", ("a", 0))
    with pytest.raises(LogError, match="no table named"):
        judged(log_of(transaction("a", "SELECT * FROM nowhere")), "snapshot", ("a", 0))
    twice = Header(
        dialect="postgres", schema=(ACCOUNTS,), initial=(InitialTable("accounts", ("id", "v"), [(1, 1)] * 2),)
    )
    with pytest.raises(LogError, match="is there already"):
        judged(Log(twice, [], "digest"), "snapshot")


@pytest.mark.parametrize(
    ("initial", "condition"),
    [
        ((InitialTable("accounts", None, [(1, 7, None)]),), None),
        ((InitialTable("accounts", None, [(1, 8, None)]),), "observation"),
        ((), "observation"),
        ((InitialTable("accounts", None, [(1, 7, None), (1, 7, None)]),), "initial"),
        ((InitialTable("accounts", None, [(1, 7, None), (None, 7, 1)]),), "initial"),
        ((InitialTable("elsewhere", None, [(1, 7)]),), "initial"),
    ],
)
def test_assumed_initial_rows(initial: tuple[InitialTable, ...], condition: str | None) -> None:
    header = Header(dialect="postgres", schema=(ACCOUNTS,), initial_unknown=("accounts",))
    log = Log(header, [transaction("a", read(1, 7))], "digest")
    witness = Witness("digest", "serializable", ("a",), (TransactionView(0),), initial=initial)
    library = SqlLibrary(Dialect("postgres"), header.schema, ())
    refusal = check(log, witness, library, isolation="serializable")
    assert (None if refusal is None else refusal.condition) == condition

"""Replay refuses the smallest witness that violates each condition, and passes its neighbour."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from sql_semantics.errors import Unsupported
from sql_semantics.library import SqlLibrary
from sql_semantics.values.dialect import Dialect
from tests.unit.replayed import ACCOUNTS, ADD_1, ADD_2, ROW_1, condition, judged, log_of, read, transaction
from troubadour.model.log import (
    End,
    Header,
    Log,
    LogError,
    ObservedRows,
    Statement,
)
from troubadour.model.witness import RowRead, StatementRead, TransactionView, Witness
from troubadour.replay.checker import check


def test_rmr() -> None:
    log = log_of(transaction("a", ADD_1), transaction("b", ADD_2))
    assert condition(log, "serializable", ("a", 0), ("b", 0)) == ("RMR", "b")
    assert condition(log, "serializable", ("a", 0), ("b", 1)) is None
    assert condition(log, "snapshot", ("a", 0), ("b", 0)) is None


def test_ros() -> None:
    log = log_of(transaction("a", ADD_1), transaction("b", read(1, 10)))
    exception = (RowRead(0, 0, ROW_1, 0),)
    assert condition(log, "snapshot", ("a", 0), ("b", 1, exception)) == ("ROS", "b")
    assert condition(log, "read-committed", ("a", 0), ("b", 1, exception)) is None
    assert condition(log, "snapshot", ("a", 0), ("b", 0)) is None


def test_nfr() -> None:
    log = log_of(transaction("a", read(1, 11)), transaction("b", ADD_1))
    assert condition(log, "snapshot", ("a", 1), ("b", 1)) == ("NFR", "a")
    exception = (RowRead(0, 0, ROW_1, 1),)
    assert condition(log, "read-committed", ("a", 0, exception), ("b", 1)) == ("NFR", "a")
    assert condition(log, "snapshot", ("b", 0), ("a", 1)) is None


def test_nwc_lost_update() -> None:
    log = log_of(transaction("a", ADD_1), transaction("b", ADD_1))
    assert condition(log, "snapshot", ("a", 0), ("b", 0)) == ("NWC", "b")
    assert condition(log, "snapshot", ("a", 0), ("b", 1)) is None
    assert condition(log, "read-committed", ("a", 0), ("b", 0)) is None


def test_nwc_compares_values() -> None:
    back = "UPDATE accounts SET v = v - 1 WHERE id = 1"
    log = log_of(transaction("a", ADD_1), transaction("b", back), transaction("c", ADD_1))
    assert condition(log, "snapshot", ("a", 0), ("b", 1), ("c", 0)) is None  # A-B-A
    assert condition(log, "snapshot", ("a", 0), ("b", 1), ("c", 1)) == ("NWC", "c")
    idle = log_of(transaction("a", ADD_1), transaction("b", "UPDATE accounts SET v = 10 WHERE id = 1"))
    # A write of the value that its snapshot has is no change, though it undoes one.
    assert condition(idle, "snapshot", ("a", 0), ("b", 0)) is None


def test_nwc_counts_existence() -> None:
    gone = "DELETE FROM accounts WHERE id = 1"
    log = log_of(transaction("a", gone), transaction("b", ADD_1))
    assert condition(log, "snapshot", ("a", 0), ("b", 0)) == ("NWC", "b")
    assert condition(log, "snapshot", ("b", 0), ("a", 1)) is None


def test_keys_hold_in_every_state_but_not_in_a_view() -> None:
    new = "INSERT INTO accounts VALUES (3, 1, NULL)"
    both = Statement("SELECT v FROM accounts WHERE id = 3", results=(ObservedRows(("v",), ((1,), (1,))),))
    log = log_of(transaction("a", new), transaction("b", new))
    assert condition(log, "snapshot", ("a", 0), ("b", 0)) == ("keys", "b")
    moved = "UPDATE accounts SET id = 4 WHERE id = 3"
    log = log_of(transaction("a", new), transaction("b", moved), transaction("c", new, both))
    assert condition(log, "snapshot", ("a", 0), ("b", 1), ("c", 1)) is None
    assert condition(log, "snapshot", ("a", 0), ("b", 1), ("c", 2)) == ("observation", "c")


def test_unique_rows_with_null_are_free() -> None:
    log = log_of(transaction("a", "UPDATE accounts SET w = 1 WHERE id = 1"))
    both = log_of(transaction("a", "UPDATE accounts SET w = 1"))
    assert condition(log, "serializable", ("a", 0)) is None
    assert condition(both, "serializable", ("a", 0)) == ("keys", "a")


def test_keys_may_be_swapped_within_one_transaction() -> None:
    log = log_of(transaction("a", "UPDATE accounts SET id = 3 - id"), transaction("b", read(1, 20)))
    assert condition(log, "serializable", ("a", 0), ("b", 1)) is None


@pytest.mark.parametrize("level", ["strict-serializable", "strict-snapshot"])
def test_real_time_order(level: str) -> None:
    log = log_of(transaction("a", read(1, 10), invoked=20, returned=30), transaction("b", ADD_2, invoked=0, returned=9))
    assert condition(log, level, ("a", 0), ("b", 1)) == ("real-time", "b")
    assert condition(log, level, ("b", 0), ("a", 1)) is None
    assert condition(log, level.removeprefix("strict-"), ("a", 0), ("b", 1)) is None
    late = log_of(transaction("a", read(1, 10), invoked=20), transaction("b", ADD_2, returned=20))
    assert condition(late, level, ("a", 0), ("b", 1)) is None  # equal times are concurrent
    clocks = log_of(transaction("a", read(1, 10), invoked=20), transaction("b", ADD_2, returned=9, clock="other"))
    assert condition(clocks, level, ("a", 0), ("b", 1)) is None
    dbms = log_of(transaction("a", read(1, 10), start=20), transaction("b", ADD_2, commit=9))
    assert condition(dbms, level, ("a", 0), ("b", 1)) == ("real-time", "b")


def test_an_unknown_transaction_is_never_over() -> None:
    b = transaction("b", ADD_2, status="unknown", invoked=0, returned=9)
    log = log_of(transaction("a", read(1, 10), invoked=20, returned=30), b)
    assert condition(log, "strict-serializable", ("a", 0), ("b", 1)) is None


@pytest.mark.parametrize(
    ("times", "inside", "outside"),
    [
        ({"a": {"commit": 5}, "b": {"start": 6}}, True, False),
        ({"a": {"commit": 6}, "b": {"start": 5}}, False, True),
        ({"a": {"commit": 5}, "b": {"start": 5}}, True, True),
        ({"a": {"returned": 5}, "b": {"invoked": 6}}, True, False),
        ({"a": {"invoked": 1, "end": End(8, 9)}, "b": {"invoked": 2, "returned": 7}}, False, True),
        ({"a": {"invoked": 1, "end": End(7, 9)}, "b": {"invoked": 2, "returned": 7}}, True, True),
        # DBMS times decide where both are known.
        ({"a": {"commit": 5, "end": End(3, 4)}, "b": {"start": 6, "returned": 2}}, True, False),
    ],
)
def test_strict_snapshot_interval(times: dict[str, dict[str, Any]], inside: bool, outside: bool) -> None:
    log = log_of(transaction("a", ADD_1, **times["a"]), transaction("b", read(2, 20), **times["b"]))
    assert (condition(log, "strict-snapshot", ("a", 0), ("b", 1)) is None) == inside
    assert (condition(log, "strict-snapshot", ("a", 0), ("b", 0)) is None) == outside


def test_no_statement_depends_on_a_commit_sent_after_its_answer() -> None:
    a = transaction("a", ADD_1, end=End(invoked=10, returned=20))
    early, late = transaction("b", read(1, 11, returned=9)), transaction("b", read(1, 11, returned=10))
    for level, view in (("serializable", 1), ("snapshot", 1), ("read-committed", 1)):
        assert condition(log_of(a, early), level, ("a", 0), ("b", view)) in (("time", "b"), ("observation", "b"))
        assert condition(log_of(a, late), level, ("a", 0), ("b", view)) is None
    listed = (RowRead(0, 0, ROW_1, 1),)
    assert condition(log_of(a, early), "read-committed", ("a", 0), ("b", 0, listed)) == ("time", "b")
    assert condition(log_of(a, late), "read-committed", ("a", 0), ("b", 0, listed)) is None


def test_what_a_late_commit_does_not_touch_is_free() -> None:
    a = transaction("a", ADD_1, end=End(invoked=10, returned=20))
    other = transaction("b", read(2, 20, returned=9))
    assert condition(log_of(a, other), "serializable", ("a", 0), ("b", 1)) is None
    writer = transaction("b", Statement(ADD_1, returned=9))
    assert condition(log_of(a, writer), "serializable", ("a", 0), ("b", 1)) == ("time", "b")
    blind = transaction("b", Statement("UPDATE accounts SET v = 5 WHERE id = 1", returned=9))
    assert condition(log_of(a, blind), "serializable", ("a", 0), ("b", 1)) is None


def test_a_lone_statement_commits_before_its_answer() -> None:
    a = transaction("a", Statement(ADD_1, invoked=1, returned=10))
    log = log_of(a, transaction("b", read(1, 11, returned=9)))
    assert condition(log, "serializable", ("a", 0), ("b", 1)) is None


def test_a_statement_that_was_never_answered_may_have_run_late() -> None:
    a = transaction("a", ADD_1, end=End(invoked=10, returned=20))
    for outcome_unknown, expected in ((True, None), (False, ("time", "b"))):
        lost = Statement(ADD_1, outcome_unknown=outcome_unknown, invoked=1)
        b = transaction("b", lost, status="unknown", end=End(invoked=5))
        assert condition(log_of(a, b), "serializable", ("a", 0), ("b", 1)) == expected


def test_the_state_that_constraints_meet() -> None:
    """At snapshot levels it lies between the snapshot and the transaction's place; elsewhere reads decide."""
    schema = ("CREATE TABLE t (a INT PRIMARY KEY)",)
    library = SqlLibrary(Dialect("postgres", collation="C"), schema)
    skipped = Statement("INSERT INTO t VALUES (1) ON CONFLICT DO NOTHING", affected=0)
    first, second = transaction("a", "INSERT INTO t VALUES (1)"), transaction("b", skipped)
    log = Log(Header("postgres", schema), [first, second], "digest")

    def refused(view: TransactionView, level: str) -> str | None:
        witness = Witness("digest", level, ("a", "b"), (TransactionView(0), view))
        refusal = check(log, witness, library, isolation=level)
        return None if refusal is None else refusal.condition

    assert refused(TransactionView(0, (), 1), "snapshot") is None
    assert refused(TransactionView(0), "snapshot") == "observation"
    assert refused(TransactionView(0, (), 2), "snapshot") == "NFR"
    assert refused(TransactionView(1, (), 0), "snapshot") == "NFR"
    assert refused(TransactionView(1), "serializable") is None
    assert refused(TransactionView(1, (), 1), "serializable") == "ROS"
    assert refused(TransactionView(1, (), 1), "read-committed") == "ROS"

    def of_statement(state: int, newest: int | None) -> TransactionView:
        return TransactionView(0, statements=(StatementRead(0, 0, state, newest),))

    assert refused(of_statement(0, 1), "snapshot") is None
    assert refused(of_statement(0, None), "snapshot") == "observation"
    assert refused(of_statement(1, 1), "snapshot") == "ROS"
    assert refused(of_statement(0, 2), "snapshot") == "NFR"
    assert refused(of_statement(-1, 1), "snapshot") == "completeness"


def test_at_statement_scope_states_are_judged_whether_listed_or_not() -> None:
    writer = transaction("a", ADD_1, invoked=0, returned=5)
    stale = transaction("b", read(1, 10), invoked=10, returned=19)
    assert condition(log_of(writer, stale), "postgres:read-committed", ("a", 0), ("b", 0)) == ("real-time", "b")
    fresh = transaction("b", read(1, 11), invoked=10, returned=19)
    assert judged(log_of(writer, fresh), "postgres:read-committed", ("a", 0), ("b", 1)) is None


def test_recorded_order() -> None:
    log = log_of(transaction("a", ADD_1), transaction("b", ADD_2))
    assert condition(log, "serializable", ("b", 0), ("a", 1), recorded=True) == ("order", "a")
    assert condition(log, "serializable", ("a", 0), ("b", 1), recorded=True) is None
    assert condition(log, "serializable", ("b", 0), ("a", 1)) is None


def test_exact_commit_order() -> None:
    a, b = transaction("a", ADD_1, commit=1), transaction("b", ADD_2, commit=2)
    both = transaction("b", ADD_1, commit=2)
    for level in ("snapshot", "strict-snapshot", "read-committed"):
        assert condition(log_of(a, b, order="exact"), level, ("b", 0), ("a", 1)) == ("order", "a")
        assert condition(log_of(a, b, order="exact"), level, ("a", 0), ("b", 1)) is None
        assert condition(log_of(a, b), level, ("b", 0), ("a", 1)) is None
    assert condition(log_of(a, b, order="exact"), "serializable", ("b", 0), ("a", 1)) is None
    assert condition(log_of(a, both, order="exact"), "serializable", ("b", 0), ("a", 1)) == ("order", "a")
    assert condition(log_of(a, both, order="exact"), "serializable", ("a", 0), ("b", 1)) is None


def test_completeness() -> None:
    log = log_of(transaction("a", ADD_1), transaction("b", ADD_2), transaction("c", ADD_1, status="aborted"))
    assert condition(log, "snapshot", ("a", 0)) == ("completeness", "b")
    assert condition(log, "snapshot", ("a", 0), ("b", 0), ("c", 0)) == ("completeness", "c")
    assert condition(log, "snapshot", ("a", 0), ("b", 0), ("d", 0)) == ("completeness", "d")
    assert condition(log, "snapshot", ("a", 0), ("b", 0), ("b", 0)) == ("completeness", None)
    assert condition(log, "snapshot", ("a", -1), ("b", 0)) == ("completeness", "a")
    assert condition(log, "snapshot", ("a", 0), ("b", 0)) is None
    library = SqlLibrary(Dialect("postgres", collation="C"), (ACCOUNTS,))
    short = Witness("digest", "snapshot", ("a",), (TransactionView(0),))
    assert check(log, short, library, isolation="snapshot", covering=["a"]) is None
    other = msgspec.structs.replace(short, log="another")
    refusal = check(log, other, library, isolation="snapshot", covering=["a"])
    assert refusal is not None and refusal.condition == "completeness"


def test_levels_per_transaction() -> None:
    log = log_of(transaction("a", ADD_1), transaction("b", ADD_1, isolation="read-committed"), isolation="serializable")
    assert condition(log, None, ("a", 0), ("b", 0)) is None
    assert condition(log, None, ("b", 0), ("a", 0)) == ("RMR", "a")
    with pytest.raises(LogError):
        judged(log_of(transaction("a", ADD_1)), None, ("a", 0))
    with pytest.raises(Unsupported):
        judged(log_of(transaction("a", ADD_1)), "postgres:read-consistent", ("a", 0))


def test_read_committed_takes_each_row_from_its_own_state() -> None:
    every = Statement("SELECT v FROM accounts", results=(ObservedRows(("v",), ((10,), (21,))),))
    log = log_of(transaction("a", ADD_1), transaction("b", ADD_2), transaction("c", every, every))
    mixed = (RowRead(0, 0, ROW_1, 0), RowRead(1, 0, ROW_1, 0))
    assert condition(log, "read-committed", ("a", 0), ("b", 1), ("c", 2, mixed)) is None
    assert condition(log, "read-committed", ("a", 0), ("b", 1), ("c", 2, mixed[:1])) == ("observation", "c")

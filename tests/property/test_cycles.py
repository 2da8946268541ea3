"""What is excluded in every order has, by the oracle, no witness in any order, and what a server
served rightly is never excluded. Long logs are point reads and writes, where anomalies are planted."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

import pytest

from tests.property.random_statements import library
from troubadour.audit.driver import Options, audit
from troubadour.execution.initial.rows import known_rows
from troubadour.formats import read_log, write_log
from troubadour.model.log import Header, InitialTable, Log, ObservedRows, Statement, Transaction
from troubadour.model.verdict import Scope, Status
from troubadour.order.engine import contradiction_of
from troubadour.problem.problem import Problem


def points(seed: int, anomaly: str | None, count: int = 150, rows: int = 12, *, shuffled: bool = False) -> Log:
    """Transactions that read rows by their keys and write values of their own, one after another; two of them after
    two thirds of the log run beside each other: both change one row (`lost`), or what the other read (`skew`)."""
    rng = random.Random(f"points {seed}")
    values = dict.fromkeys(range(1, rows + 1), 0)
    found: list[Transaction] = []
    at = 2 * count // 3
    while len(found) < count:
        one, other = rng.sample(sorted(values), 2)
        pairs = [(one, other)]
        if len(found) == at and anomaly is not None:
            pairs = [(one, other), (one, other) if anomaly == "lost" else (other, one)]
        seen = dict(values)
        for written, read in pairs:
            number = len(found) + 1
            found.append(
                Transaction(
                    f"t{number}",
                    "committed",
                    (*(_read(key, seen[key]) for key in (written, read)), _written(written, number)),
                    number,
                    session=f"s{number % 4}",
                )
            )
            values[written] = number
    header = Header(
        dialect="postgres",
        schema=("CREATE TABLE accounts (id INT PRIMARY KEY, v INT, w TEXT)",),
        initial=(InitialTable("accounts", None, tuple((key, 0, "x") for key in values)),),
        settings={"collation": "C"},
    )
    if shuffled:
        rng.shuffle(found)
    with tempfile.TemporaryDirectory() as folder:
        write_log(Path(folder) / "log.jsonl", header, found)
        return read_log([Path(folder) / "log.jsonl"])


def _read(key: int, value: int) -> Statement:
    return Statement("SELECT v FROM accounts WHERE id = $1", (key,), results=(ObservedRows(("v",), ((value,),)),))


def _written(key: int, value: int) -> Statement:
    return Statement("UPDATE accounts SET v = $2 WHERE id = $1", (key, value), affected=1)


@pytest.mark.parametrize(
    ("anomaly", "level", "count"),
    [
        ("lost", "snapshot", 45),
        pytest.param("lost", "snapshot", 150, marks=pytest.mark.slow),
        ("lost", "serializable", 150),
        ("skew", "serializable", 150),
        ("skew", "session-serializable", 150),
    ],
)
def test_an_anomaly_in_a_long_log_is_one_in_every_order(anomaly: str, level: str, count: int) -> None:
    log = points(1, anomaly, count)
    verdict = audit(log, library(), Options(level, timeout=600))
    assert (verdict.status, verdict.scope) == (Status.VIOLATION, Scope.EVERY_ORDER), verdict
    # 1-based places of the two that ran beside each other
    first = 2 * count // 3 + 1
    core = set(verdict.core or ())
    assert verdict.verified_prefix == first
    assert {f"t{first}", f"t{first + 1}"} <= core and len(core) <= 3, core


@pytest.mark.parametrize(("anomaly", "level"), [(None, "serializable"), ("skew", "snapshot"), ("lost", "prefix")])
def test_what_a_level_allows_in_a_long_log_is_correct(anomaly: str | None, level: str) -> None:
    assert audit(points(2, anomaly), library(), Options(level, timeout=600)).status is Status.CORRECT


@pytest.mark.parametrize(
    ("level", "count"),
    [("serializable", 150), ("snapshot", 30), pytest.param("snapshot", 150, marks=pytest.mark.slow)],
)
def test_answers_alone_put_a_shuffled_log_in_order(level: str, count: int) -> None:
    log = points(3, None, count, shuffled=True)
    assert audit(log, library(), Options(level, timeout=600)).status is Status.CORRECT


def test_another_that_may_have_restored_the_value_leaves_an_order() -> None:
    log = points(1, "lost")
    first = log.transactions[100].statements
    assert first[0].results is not None and first[0].results[0].rows is not None
    (value,) = first[0].results[0].rows[0]
    last = log.transactions[-1]
    anything = Statement("UPDATE accounts SET v = $2 WHERE id = $1", (first[0].params[0], value))
    free = Transaction("any", "unknown", (anything,), last.place + 1)
    with_free = Log(log.header, [*log.transactions, free], log.digest)
    problem = Problem(with_free, library(), known_rows(with_free, library()), isolation="snapshot")
    assert contradiction_of(problem) is None
    problem = Problem(log, library(), known_rows(log, library()), isolation="snapshot")
    assert contradiction_of(problem) is not None

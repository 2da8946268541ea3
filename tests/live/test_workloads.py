"""Every workload, as stored procedures and as a client's statements, recorded on PostgreSQL and on MariaDB and audited:
correct at the level that it ran at."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.live.recorded import read
from troubadour.audit.driver import Options, audit
from troubadour.cli.recording.record import record
from troubadour.coverage.library import library_of
from troubadour.formats import read_log
from troubadour.model.verdict import Status
from troubadour.record import Workload, record_run
from troubadour.record.drivers.mysql import percent
from troubadour.workloads.bank import Bank, Variant
from troubadour.workloads.kv import KeyValue
from troubadour.workloads.rubis import Rubis
from troubadour.workloads.smallbank import SmallBank
from troubadour.workloads.texts import DialectName, Mode
from troubadour.workloads.tpcc import Tpcc, violated
from troubadour.workloads.twitter import Twitter

WORKLOADS: dict[str, Callable[[DialectName, Mode], Workload]] = {
    "bank": lambda dialect, mode: Bank(
        accounts=10, variant=Variant.PROCEDURES if mode == "procedures" else Variant.SINGLE_STATEMENT, dialect=dialect
    ),
    "kv": lambda dialect, mode: KeyValue(dialect, mode, operations=2),
    "smallbank": lambda dialect, mode: SmallBank(dialect, mode, customers=20, hot=5),
    "twitter": lambda dialect, mode: Twitter(dialect, mode, users=20, tweets=2),
    "tpcc": lambda dialect, mode: Tpcc(dialect, mode, warehouses=2, districts=2, customers=6, items=20),
    "rubis": lambda dialect, mode: Rubis(dialect, mode, users=20, items=60),
}


@pytest.fixture
def dsn(request: pytest.FixtureRequest, dialect: str) -> str:
    return str(request.getfixturevalue("postgres_dsn" if dialect == "postgres" else "mariadb_dsn"))


@pytest.mark.parametrize(
    ("mode", "isolation", "transactions"),
    [
        ("procedures", "snapshot", 40),
        ("statements", "serializable", 40),
        pytest.param("procedures", "serializable", 80, marks=pytest.mark.slow),
        pytest.param("statements", "snapshot", 80, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("dialect", ["postgres", "mysql"])
@pytest.mark.parametrize("name", list(WORKLOADS))
def test_a_recorded_run_is_correct_at_its_level(
    name: str, dialect: DialectName, mode: Mode, isolation: str, transactions: int, dsn: str, tmp_path: Path
) -> None:
    path = tmp_path / "log.jsonl"
    workload = WORKLOADS[name](dialect, mode)
    tally = record_run(workload, dsn, path, isolation=isolation, sessions=3, transactions=transactions, seed=20_261)
    log = read_log([path])
    assert (log.committed, log.unknown, log.header.dialect) == (tally.committed, 0, dialect)
    calls = [statement for t in log.transactions for statement in t.statements]
    if mode == "procedures" and name != "kv":
        assert all(len(t.statements) == 1 for t in log.transactions if t.status == "committed")
    assert any(statement.results for statement in calls)
    verdict = audit(log, library_of(log), Options(timeout=600))
    told = f"{verdict.failing_transaction}: {verdict.explanation or verdict.reason} {verdict.statement}"
    assert verdict.status is Status.CORRECT, told


@pytest.mark.parametrize("mode", ["procedures", "statements"])
@pytest.mark.parametrize("dialect", ["postgres", "mysql"])
def test_tpcc_is_consistent_on_the_server(dialect: DialectName, mode: Mode, dsn: str, tmp_path: Path) -> None:
    """After the run, as the specification wants it (3.3.2), and after a change, which the conditions find."""
    found: list[dict[str, int]] = []

    def look(cursor: Any) -> None:
        found.append(violated(cursor))
        cursor.execute("UPDATE district SET d_ytd = d_ytd + 1 WHERE d_id = 1")
        cursor.execute("DELETE FROM order_line WHERE ol_d_id = 2 AND ol_o_id = 1 AND ol_number = 1")
        found.append(violated(cursor))

    workload = Tpcc(dialect, mode, warehouses=2, districts=2, customers=6, items=20)
    record_run(
        workload,
        dsn,
        tmp_path / "log.jsonl",
        isolation="snapshot",
        sessions=3,
        transactions=200,
        seed=1,
        afterwards=look,
    )
    assert found[0] == {}
    assert found[1].keys() == {"3.3.2.1", "3.3.2.4", "3.3.2.6", "3.3.2.9"}


def test_each_session_draws_the_same_again(postgres_dsn: str, tmp_path: Path) -> None:
    """With one session nothing is left to the server but times and identities."""
    logs = []
    for n in range(2):
        workload = Rubis("postgres", "statements", users=20, items=60, seed=3)
        path = tmp_path / f"{n}.jsonl"
        record_run(workload, postgres_dsn, path, isolation="snapshot", sessions=1, transactions=40, seed=7)
        logs.append(
            [[(s["sql"], s.get("params"), s.get("result")) for s in t["statements"]] for t in read(path).transactions]
        )
    assert logs[0] == logs[1]


def test_placeholders_of_pymysql() -> None:
    assert percent("SELECT $2, $1, $2 LIKE '%'", (1, "x")) == ("SELECT %s, %s, %s LIKE '%%'", ["x", 1, "x"])
    assert percent("SELECT '%'", ()) == ("SELECT '%'", [])


@pytest.mark.parametrize("name", list(WORKLOADS))
def test_the_command_records(name: str, postgres_dsn: str, tmp_path: Path) -> None:
    out = tmp_path / "log.jsonl.gz"
    options = ["--sessions", "2", "--transactions", "20", "--seed", "5", "--dsn", postgres_dsn, "--out", str(out)]
    sizes = {"twitter": ["--users", "10"], "rubis": ["--users", "10", "--items", "30", "--mode", "statements"]}
    ended = CliRunner().invoke(record, [name, *options, *sizes.get(name, [])])
    assert ended.exit_code == 0, ended.output
    assert "committed in" in ended.stderr
    assert len(read(out).by_status("committed")) >= 20


def test_the_command_records_on_mariadb(mariadb_dsn: str, tmp_path: Path) -> None:
    out = tmp_path / "log.jsonl"
    options = ["--transactions", "20", "--dsn", mariadb_dsn, "--out", str(out), "--isolation", "mysql:repeatable-read"]
    ended = CliRunner().invoke(record, ["kv", *options])
    assert ended.exit_code == 0, ended.output
    assert read(out).header["dialect"] == "mysql"
    wrong = CliRunner().invoke(record, ["kv", *options, "--dbms", "postgres"])
    assert (wrong.exit_code, "not of a postgres" in wrong.stderr) == (2, True)

"""Hunts on real servers: sessions that wait for each other, and the verdicts on what they saw.

Does not judge the products.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pymysql
import pytest
from click.testing import CliRunner

from troubadour.cli.hunt import hunt
from troubadour.hunt.case import ALONE, BEGIN, CANCEL, END, KILL, STATEMENT, VANISH, Case, Step
from troubadour.hunt.engines.mariadb import MariaDB
from troubadour.hunt.engines.postgres import Postgres
from troubadour.hunt.engines.protocol import Engine
from troubadour.hunt.generate.cases import make
from troubadour.hunt.generate.pieces import piece
from troubadour.hunt.generate.schemas import ColumnSpec, TableSpec
from troubadour.hunt.judge import judge
from troubadour.hunt.schedule import run
from troubadour.record import EmbeddedPostgres
from troubadour.record.drivers.mysql import connect
from troubadour.record.servers.embedded_mariadb import PrivateMariaDB, missing


@pytest.fixture(scope="module", params=["postgres", "mariadb"])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    if request.param == "mariadb" and (reason := missing()) is not None:
        pytest.skip(reason)
    made = Postgres("postgres") if request.param == "postgres" else MariaDB("mariadb")
    with closing(made):
        yield made


@pytest.fixture(params=["postgres", "mariadb"])
def kind(request: pytest.FixtureRequest) -> type[Postgres] | type[MariaDB]:
    if request.param == "mariadb" and (reason := missing()) is not None:
        pytest.skip(reason)
    return Postgres if request.param == "postgres" else MariaDB


def test_a_server_whose_start_is_interrupted_is_ended(
    kind: type[Postgres] | type[MariaDB], monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[Any] = []

    def interrupted(engine: Any) -> None:
        begun.append((psycopg.connect if kind is Postgres else connect)(engine._dsn))
        raise KeyboardInterrupt

    monkeypatch.setattr(kind, "_connect", interrupted)
    with pytest.raises(KeyboardInterrupt):
        kind("interrupted")
    refused = pytest.raises((psycopg.OperationalError, pymysql.OperationalError))
    with closing(*begun) as connection, connection.cursor() as cursor, refused:
        cursor.execute("SELECT 1")


def test_a_server_is_ended_though_a_statement_runs_there(kind: type[Postgres] | type[MariaDB]) -> None:
    engine = kind("busy")
    with engine.database() as database:
        session = database.connection(0, next(iter(engine.levels.values())))
        session.send("SELECT pg_sleep(300)" if kind is Postgres else "SELECT SLEEP(300)")
        assert session.answer(0.2) is None
        engine.close()
        answer = session.answer(0)
    assert answer is not None and answer.error is not None


def two_writers(engine: Engine) -> Case:
    """Session 1 writes the row that session 0 has written and not committed."""
    table = TableSpec(
        "ta", [ColumnSpec("k", "int", "int", True, " PRIMARY KEY"), ColumnSpec("n", "int", "int")], [], True
    )
    table.rows = [(1, 0)]
    begin = "BEGIN" if engine.dialect == "postgres" else "START TRANSACTION"
    texts = (
        (0, BEGIN, begin), (1, BEGIN, begin),
        (0, STATEMENT, "UPDATE ta SET n = n + 1 WHERE k = 1"), (1, STATEMENT, "UPDATE ta SET n = n + 1 WHERE k = 1"),
        (1, STATEMENT, "SELECT n FROM ta WHERE k = 1"), (0, END, "COMMIT"), (1, END, "COMMIT"),
    )  # fmt: skip
    steps = tuple(Step(session, session, role, piece(text)) for session, role, text in texts)
    return Case("read-committed", (table,), (), steps)


def test_a_session_that_waits_is_passed_over(engine: Engine, tmp_path: Path) -> None:
    ran = run(engine, two_writers(engine))
    assert ran.waited >= 1
    assert [line["id"] for line in ran.lines] == ["t0", "t1", "end0"]
    assert ran.lines[1]["statements"][1]["result"]["rows"] == [[2]]
    ran.write(tmp_path / "log.jsonl")
    assert judge(tmp_path / "log.jsonl", 30).status == "correct"


def test_sessions_that_run_freely_are_explained(engine: Engine, tmp_path: Path) -> None:
    """Each in a thread of its own; clocks alone tell the order."""
    plain = two_writers(engine)
    ran = run(engine, replace(plain, flavour="hot free"))
    assert ran.died is None
    assert sorted(line["id"] for line in ran.lines) == ["end0", "t0", "t1"]
    ran.write(tmp_path / "log.jsonl")
    assert judge(tmp_path / "log.jsonl", 30).status == "correct"


def test_a_definition_beside_a_run_is_explained(engine: Engine, tmp_path: Path) -> None:
    plain = two_writers(engine)
    index = Step(2, 9, ALONE, piece("CREATE INDEX ix ON ta (n)"))
    ran = run(engine, replace(plain, steps=(*plain.steps[:3], index, *plain.steps[3:])))
    assert ran.died is None and ran.waited >= 1
    ran.write(tmp_path / "log.jsonl")
    assert judge(tmp_path / "log.jsonl", 30).status == "correct"


def test_what_a_call_has_done_before_it_fails_is_explained(engine: Engine, tmp_path: Path) -> None:
    """Outside a transaction MariaDB commits it; PostgreSQL undoes the whole CALL."""
    mariadb = engine.dialect == "mysql"
    body = "UPDATE ta SET v = 7 WHERE k = a; INSERT INTO tb VALUES (a); END"
    head, tail = ("", "") if mariadb else (" LANGUAGE plpgsql AS $$", " $$")
    columns = [ColumnSpec("k", "int", "int"), ColumnSpec("v", "int", "int")]
    keyed = TableSpec("tb", [ColumnSpec("k", "int", "int", True, " PRIMARY KEY")], key=True, rows=[(1,)])
    texts = ("CALL pa(1)", "SELECT v FROM ta", "CALL pa(2)", "SELECT k FROM tb")
    for level in engine.levels:
        case = Case(
            level,
            (TableSpec("ta", columns, rows=[(1, 1)]), keyed),
            (f"CREATE PROCEDURE pa(a int){head} BEGIN {body}{tail}",),
            tuple(Step(0, n, ALONE, piece(text)) for n, text in enumerate(texts)),
        )
        ran = run(engine, case)
        assert [line["status"] for line in ran.lines[:2]] == ["committed" if mariadb else "aborted", "committed"]
        assert ran.lines[1]["statements"][0]["result"]["rows"] == [[7 if mariadb else 1]]
        ran.write(tmp_path / "log.jsonl")
        judged = judge(tmp_path / "log.jsonl", 30)
        assert judged.status == ("undecided" if mariadb else "correct"), judged.said


def test_a_call_outside_a_transaction_shows_what_it_has_done_so_far(engine: Engine, tmp_path: Path) -> None:
    """On MariaDB each of its statements commits; here another session reads after the first, as the second waits."""
    mariadb = engine.dialect == "mysql"
    body = "UPDATE ta SET v = 7 WHERE k = 1; UPDATE ta SET v = 8 WHERE k = 2; END"
    head, tail = ("", "") if mariadb else (" LANGUAGE plpgsql AS $$", " $$")
    columns = [ColumnSpec("k", "int", "int", True, " PRIMARY KEY"), ColumnSpec("v", "int", "int")]
    steps = (
        Step(1, 0, BEGIN, piece("BEGIN")),
        Step(1, 0, STATEMENT, piece("UPDATE ta SET v = 5 WHERE k = 2")),
        Step(0, 1, ALONE, piece("CALL pa()")),
        Step(2, 2, ALONE, piece("SELECT v FROM ta WHERE k = 1")),
        Step(1, 0, END, piece("COMMIT")),
        Step(2, 3, ALONE, piece("SELECT v FROM ta WHERE k = 1")),
    )
    for level in engine.levels:
        case = Case(
            level,
            (TableSpec("ta", columns, key=True, rows=[(1, 1), (2, 2)]),),
            (f"CREATE PROCEDURE pa(){head} BEGIN {body}{tail}",),
            steps,
        )
        ran = run(engine, case)
        read = next(line for line in ran.lines if line["id"] == "t2")
        assert read["statements"][0]["result"]["rows"] == [[7 if mariadb else 1]]
        ran.write(tmp_path / "log.jsonl")
        judged = judge(tmp_path / "log.jsonl", 30)
        assert judged.status == ("undecided" if mariadb else "correct"), judged.said


def test_a_cancelled_wait_and_a_kill_are_explained(engine: Engine, tmp_path: Path) -> None:
    plain = two_writers(engine)
    cancel, vanish, kill = (Step(session, 10 + n, role, piece(role)) for n, (session, role) in enumerate(
        ((1, CANCEL), (0, VANISH), (0, KILL))))  # fmt: skip
    for steps in (
        (*plain.steps[:4], cancel, *plain.steps[4:]),
        (*plain.steps[:4], vanish, *plain.steps[4:]),
        (*plain.steps[:4], kill, *plain.steps[4:]),
        (*plain.steps, kill),
    ):
        ran = run(engine, replace(plain, steps=steps))
        assert ran.died is None
        ran.write(tmp_path / "log.jsonl")
        found = judge(tmp_path / "log.jsonl", 30)
        assert found.status == "correct", found.said


def test_an_installed_server_is_killed_and_comes_up_again(tmp_path: Path) -> None:
    programs = Path("/usr/lib/postgresql/15/bin")
    if not (programs / "initdb").exists():
        pytest.skip(f"no {programs}")
    with closing(Postgres("postgres@15", programs=programs)) as engine:
        plain = two_writers(engine)
        kill = Step(0, 10, KILL, piece(KILL))
        ran = run(engine, replace(plain, steps=(*plain.steps[:4], kill, *plain.steps[4:])))
    assert ran.died is None
    ran.write(tmp_path / "log.jsonl")
    assert judge(tmp_path / "log.jsonl", 30).status == "correct"


def test_a_server_that_dies_is_told_and_comes_up_again(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """One session has noticed when the case ends, the others have not."""
    crash = engine._server.crash  # type: ignore[attr-defined]  # of the engines of this file
    before = engine.restart

    def dies(self: object) -> bool:
        monkeypatch.setattr(type(engine), "restart", lambda engine: None)
        crash()
        return False

    with engine.database() as database:
        session = type(database.connection(0, next(iter(engine.levels.values()))))
    monkeypatch.setattr(session, "waits", dies)
    ran = run(engine, two_writers(engine))
    assert ran.died is not None
    before()
    monkeypatch.undo()
    assert run(engine, two_writers(engine)).died is None


@pytest.mark.parametrize("seed", range(1, 4))
def test_what_servers_did_is_never_accused(seed: int, engine: Engine, tmp_path: Path) -> None:
    ran = run(engine, make(seed, engine.dialect, list(engine.levels)[seed % 3], 3))
    assert ran.died is None
    ran.write(tmp_path / "log.jsonl")
    found = judge(tmp_path / "log.jsonl", 30)
    assert found.status in ("correct", "undecided"), found.said


def test_a_database_with_tables_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    with EmbeddedPostgres() as server, psycopg.connect(server.dsn, autocommit=True) as connection:
        arguments = ["--dsn", server.dsn, "--minutes", "0", "--seed", "1", "--level", "snapshot"]
        done = CliRunner().invoke(hunt, [*arguments, "--out", str(tmp_path / "out")], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        left = "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'troubadour%'"
        assert connection.execute(left).fetchall() == []
        connection.execute("CREATE TABLE mine (x int)")
        done = CliRunner().invoke(hunt, [*arguments, "--out", str(tmp_path / "other")], catch_exceptions=False)
        assert done.exit_code == 2 and "has 1 tables" in done.output
        assert connection.execute("SELECT count(*) FROM mine").fetchone() == (0,)


def test_a_mariadb_with_tables_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    if (reason := missing()) is not None:
        pytest.skip(reason)
    with PrivateMariaDB() as server, server.connect() as connection, connection.cursor() as cursor:
        arguments = ["--dsn", server.dsn, "--minutes", "0", "--seed", "1"]
        done = CliRunner().invoke(hunt, [*arguments, "--out", str(tmp_path / "out")], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        cursor.execute("SHOW DATABASES LIKE 'troubadour%'")
        assert not cursor.fetchall()
        cursor.execute("CREATE TABLE mine (x int)")
        done = CliRunner().invoke(hunt, [*arguments, "--out", str(tmp_path / "other")], catch_exceptions=False)
        assert done.exit_code == 2 and "has 1 tables" in done.output
        assert len(done.output.strip().splitlines()) == 1
        cursor.execute("SHOW TABLES")
        assert cursor.fetchall() == (("mine",),)

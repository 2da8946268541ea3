"""A process recorded as a whole, by one call or from outside, with drivers, connections and cursors of its own."""

from __future__ import annotations

import asyncio
import importlib
import operator
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import psycopg
import pytest

from tests.live.audited import done
from tests.patience import PATIENCE
from troubadour.record import recorder
from troubadour.record.dbapi.sqlite import statements
from troubadour.record.errors import NotRecorded, RecordError
from troubadour.record.everything import _replaced

ROOT = Path(__file__).parents[2]
TABLE = "CREATE TABLE accounts (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL)"


@pytest.fixture(autouse=True)
def undone() -> Iterator[None]:
    yield
    recorder.nothing()
    assert not _replaced


def shop(folder: Path) -> str:
    path = str(folder / "shop.db")
    with sqlite3.connect(path) as setup:
        setup.execute(TABLE)
        setup.execute("INSERT INTO accounts VALUES (1, 100), (2, 100)")
    setup.close()
    return path


def test_psycopg_and_its_own_classes(dsn: str, tmp_path: Path) -> None:
    class Own(psycopg.Connection):
        said = 0

        @classmethod
        def connect(cls, *given: object, **options: object) -> Own:
            cls.said += 1
            return super().connect(*given, **options)

    recorder.everything(tmp_path / "run-{database}.jsonl", commit_order="client")
    for connecting in (psycopg.connect, psycopg.Connection.connect, Own.connect):
        with connecting(dsn) as connection:
            connection.execute("UPDATE accounts SET balance = balance + 1 WHERE id = 1")
    assert Own.said == 1

    async def use() -> None:
        async with await psycopg.AsyncConnection.connect(dsn) as connection:
            await connection.execute("UPDATE accounts SET balance = balance + 1 WHERE id = 1")

    asyncio.run(use())
    recorder.nothing()
    with psycopg.connect(dsn) as connection:
        assert connection.execute("SELECT balance FROM accounts WHERE id = 1").fetchone() == (104,)
    assert len(done(tmp_path / "run-postgres.jsonl").transactions) == 4


def test_sqlite_with_classes_and_converters(tmp_path: Path) -> None:
    path = shop(tmp_path)

    class Percent(sqlite3.Cursor):
        def execute(self, sql: str, params: object = ()) -> Percent:
            super().execute(sql.replace("%s", "?"), params)
            return self

    recorder.everything(tmp_path / "run-{database}.jsonl")
    connection = sqlite3.connect(path, detect_types=sqlite3.PARSE_DECLTYPES)
    connection.row_factory = sqlite3.Row
    assert isinstance(connection, sqlite3.Connection)
    cursor = connection.cursor(factory=Percent)
    assert isinstance(cursor, Percent)
    assert [row["balance"] for row in cursor.execute("SELECT balance FROM accounts WHERE id < %s", (3,))] == [100, 100]
    with connection:
        assert connection.execute("UPDATE accounts SET balance = ? WHERE id = 1", (7,)).rowcount == 1
    with pytest.raises(sqlite3.IntegrityError), connection:
        connection.execute("INSERT INTO accounts VALUES (1, 1)")
    connection.executescript("-- more\nUPDATE accounts SET balance = 8; UPDATE accounts SET balance = 9;")
    cursor = connection.cursor()
    cursor.execute("SELECT id, balance FROM accounts ORDER BY id")
    assert tuple(cursor.fetchone()) == (1, 9)
    assert [tuple(row) for row in cursor.fetchmany(5)] == [(2, 9)]
    assert cursor.fetchall() == []
    with pytest.raises(NotRecorded, match="blobopen"):
        connection.blobopen("accounts", "balance", 1)
    connection.close()
    found = done(tmp_path / "run-shop.jsonl")
    assert found.header.isolation == "sqlite"
    assert [transaction.status for transaction in found.transactions].count("aborted") == 1
    assert len([t for t in found.transactions if t.status == "committed"]) == 5


def test_sqlite_with_a_connection_that_makes_its_cursors(tmp_path: Path) -> None:
    path = shop(tmp_path)

    class Cursor(sqlite3.Cursor):
        pass

    class Own(sqlite3.Connection):
        def cursor(self, *, row_factory: object = None) -> Cursor:  # type: ignore[override]  # as Tryton has it
            found = super().cursor(Cursor)
            found.row_factory = row_factory
            return found

    recorder.everything(tmp_path / "run-{database}.jsonl")
    connection = sqlite3.connect(path, factory=Own)
    cursor = connection.cursor(row_factory=lambda cursor, row: row[0])
    assert isinstance(cursor, Cursor)
    cursor.execute("UPDATE accounts SET balance = 7 WHERE id = 1")
    connection.commit()
    assert cursor.execute("SELECT balance FROM accounts ORDER BY id").fetchall() == [7, 100]
    connection.execute("DELETE FROM accounts WHERE id = 2")
    connection.commit()
    connection.close()
    found = done(tmp_path / "run-shop.jsonl")
    assert [t.statements[0].sql.split()[0] for t in found.transactions] == ["UPDATE", "SELECT", "DELETE"]


def test_what_converters_make_is_logged_as_it_is_stored(tmp_path: Path) -> None:
    path = str(tmp_path / "dates.db")
    with sqlite3.connect(path) as setup:
        setup.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, d date, s timestamp, p decimal)")
    setup.close()
    sqlite3.register_adapter(Decimal, str)
    sqlite3.register_adapter(datetime, lambda value: value.isoformat(" "))
    sqlite3.register_adapter(date, lambda value: value.isoformat())
    sqlite3.register_converter("timestamp", lambda text: datetime.fromisoformat(text.decode()))
    recorder.everything(tmp_path / "run.jsonl")
    connection = sqlite3.connect(path, detect_types=sqlite3.PARSE_DECLTYPES)
    at = datetime(2020, 1, 2, 3, 4, 5)
    connection.execute("INSERT INTO t VALUES (?, ?, ?, ?)", (1, at.date(), at, Decimal("1.50")))
    assert connection.execute("SELECT s FROM t").fetchone() == (at,)
    connection.commit()
    connection.close()
    recorder.close()
    text = (tmp_path / "run.jsonl").read_text()
    assert '"params":[1,"2020-01-02","2020-01-02 03:04:05","1.50"]' in text
    assert '"rows":[["2020-01-02 03:04:05"]]' in text


def test_databases_in_memory_are_each_their_own(tmp_path: Path) -> None:
    recorder.everything(tmp_path / "run-{database}.jsonl")
    for _ in range(2):
        connection = sqlite3.connect(":memory:")
        connection.execute(TABLE)
        connection.close()
    recorder.close()
    assert sorted(path.name for path in tmp_path.iterdir()) != ["run-memory-1.jsonl"]
    assert len(list(tmp_path.glob("run-memory-*.jsonl"))) == 2


def test_duckdb_is_asked_for_its_defaults_beside_the_recording(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    recorder.everything(tmp_path / "run.jsonl")
    with duckdb.connect(str(tmp_path / "shop.db")) as connection:
        connection.execute("CREATE TABLE t (a INT)")
        connection.execute("INSERT INTO t VALUES (1)")
    recorder.close()
    lines = (tmp_path / "run.jsonl").read_text().splitlines()
    assert "INSERT INTO t" in lines[-2]


def test_one_log_is_of_one_database(tmp_path: Path) -> None:
    path = shop(tmp_path)
    recorder.everything(tmp_path / "run.jsonl")
    sqlite3.connect(path).close()
    with pytest.raises(RecordError, match=r"\{database\}"):
        sqlite3.connect(tmp_path / "other.db")


def test_asynchronous_engines(dsn: str, tmp_path: Path) -> None:
    sqlalchemy = pytest.importorskip("sqlalchemy")
    pytest.importorskip("greenlet")
    from sqlalchemy.ext.asyncio import create_async_engine

    urls = [dsn.replace("postgresql://postgres:@/", "postgresql+psycopg://postgres@/")]
    try:
        import aiosqlite  # noqa: F401

        urls.append(f"sqlite+aiosqlite:///{shop(tmp_path)}")
    except ImportError:
        pass

    async def use(url: str, log: Path) -> None:
        engine = create_async_engine(url)
        recorder.listen(engine, log=log)
        async with engine.begin() as connection:
            await connection.execute(
                sqlalchemy.text("UPDATE accounts SET balance = balance + :n WHERE id = 1"), {"n": 1}
            )
        async with engine.connect() as connection:
            assert (
                await connection.execute(sqlalchemy.text("SELECT balance FROM accounts WHERE id = 1"))
            ).scalar() == 101
        await engine.dispose()

    for number, url in enumerate(urls):
        asyncio.run(use(url, tmp_path / f"{number}.jsonl"))
        found = done(tmp_path / f"{number}.jsonl")
        assert [len(transaction.statements) for transaction in found.transactions] == [1, 1]


@pytest.mark.parametrize("how", ["app", "unwritable"])
def test_an_application_recorded_from_outside(tmp_path: Path, how: str) -> None:
    path = shop(tmp_path)
    (tmp_path / "app.py").write_text(
        "import sqlite3, subprocess, sys\n"
        f"connection = sqlite3.connect({path!r})\n"
        "connection.execute('UPDATE accounts SET balance = balance + 1 WHERE id = 1'); connection.commit()\n"
        "if len(sys.argv) > 1: subprocess.run([sys.executable, 'app.py'], check=True)\n"
        "raise SystemExit(4)\n".replace("check=True", "check=False")
    )
    arguments = ["record", "app", "--log", "run-{database}.jsonl", "--", sys.executable, "app.py", "more"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    if how == "unwritable":
        arguments[3] = "missing/run.jsonl"
    command = [sys.executable, "-c", "from troubadour.cli.main import main; main()", *arguments]
    ended = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=PATIENCE)
    if how == "unwritable":
        assert "missing" in ended.stderr
        assert "the log cannot be begun" in ended.stderr
        return
    assert ended.returncode == 4, ended.stderr
    logs = sorted(tmp_path.glob("run-shop*.jsonl"))
    assert len(logs) == 2
    assert len(done(*logs).transactions) == 2


def test_scripts_are_taken_apart() -> None:
    script = "CREATE TRIGGER a AFTER INSERT ON t BEGIN DELETE FROM u; DELETE FROM v; END; SELECT ';'; ; -- end\n"
    found = list(statements(script))
    assert found[0].endswith("END;")
    assert found[1] == "SELECT ';';"


def test_other_drivers_refuse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pg8000.py").write_text("def connect(*given): return 'a connection'\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    recorder.everything(tmp_path / "run.jsonl")
    import pg8000

    with pytest.raises(NotRecorded, match="use psycopg 3"):
        pg8000.connect("x")
    recorder.nothing()
    assert pg8000.connect("x") == "a connection"


DRIVERS = {
    "psycopg2": (
        "from psycopg2 import extensions\ndef _connect(*given): return 'a connection'\n"
        "def connect(*given): return _connect(*given)\n",
        "extensions",
        "class connection:\n    def __init__(self, *given): self.given = given\n",
        ("connect", "_connect", "extensions.connection"),
    ),
    "asyncpg": (
        "from asyncpg.connection import connect\ndef create_pool(*given): return 'a pool'\n",
        "connection",
        "def connect(*given): return 'a connection'\n",
        ("connect", "create_pool", "connection.connect"),
    ),
}
"""Drivers as far as their connecting goes: the package, a module in it, and what of them opens a connection."""


@pytest.mark.parametrize("name", DRIVERS)
def test_every_way_to_connect_is_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package, inside, module, ways = DRIVERS[name]
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").write_text(package)
    (tmp_path / name / f"{inside}.py").write_text(module)
    monkeypatch.syspath_prepend(str(tmp_path))
    for known in [known for known in sys.modules if known.partition(".")[0] == name]:
        monkeypatch.delitem(sys.modules, known)
    recorder.everything(tmp_path / "run.jsonl")
    driver = importlib.import_module(name)
    for way in ways:
        with pytest.raises(NotRecorded, match=f"{name} is not recorded: use psycopg 3"):
            operator.attrgetter(way)(driver)("host=nowhere")
    recorder.nothing()
    assert [operator.attrgetter(way)(driver)("x") is not None for way in ways] == [True] * len(ways)
    for known in [known for known in sys.modules if known.partition(".")[0] == name]:
        monkeypatch.delitem(sys.modules, known)


def test_a_connection_of_another_driver_is_not_wrapped(tmp_path: Path) -> None:
    kind = type("connection", (), {"__module__": "psycopg2.extensions"})
    with pytest.raises(NotRecorded, match="psycopg2"):
        recorder.wrap(kind(), log=tmp_path / "run.jsonl")

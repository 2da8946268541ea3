"""An ORM application, recorded without touching it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.live.audited import done
from troubadour.record import recorder
from troubadour.record.errors import RecordError

sqlalchemy = pytest.importorskip("sqlalchemy")

SEEN = ["refused", "ü", 1]


def test_postgres(postgres_dsn: str, database_schema: str, tmp_path: Path) -> None:
    from tests.live.shop import Base, sell

    url = postgres_dsn.replace("postgresql://", "postgresql+psycopg://")
    options = {"connect_args": {"options": f"-csearch_path={database_schema}"}}
    setup = sqlalchemy.create_engine(url, **options)
    Base.metadata.create_all(setup)
    setup.dispose()
    engine = sqlalchemy.create_engine(url, isolation_level="REPEATABLE READ", pool_pre_ping=True, **options)
    recorder.listen(engine, log=tmp_path / "log.jsonl")
    Base.metadata.create_all(engine)  # asks the catalogs, and finds everything
    assert sell(engine) == SEEN
    engine.dispose()
    found = done(tmp_path / "log.jsonl")
    assert (found.committed, found.aborted) == (4, 1)
    assert [t.isolation for t in found.transactions] == ["postgres:repeatable-read"] * 3 + [None] * 2
    assert len(found.header.schema) == 3


def test_sqlite(tmp_path: Path) -> None:
    from tests.live.shop import Base, sell

    engine = sqlalchemy.create_engine(f"sqlite:///{tmp_path / 'shop.db'}")
    Base.metadata.create_all(engine)
    recorder.listen(engine, log=tmp_path / "log.jsonl")
    assert sell(engine) == SEEN
    engine.dispose()
    found = done(tmp_path / "log.jsonl")
    assert found.header.dialect == "sqlite"
    assert found.committed >= 4
    assert found.aborted == 1


def test_mariadb(mariadb_dsn: str, tmp_path: Path) -> None:
    from tests.live.shop import Base, sell
    from troubadour.record.drivers import mysql

    with mysql.scratch_database(mariadb_dsn) as database:
        socket = mariadb_dsn.partition("unix_socket=")[2].partition("&")[0]
        url = f"mysql+pymysql://root@localhost/{database}?unix_socket={socket}&charset=utf8mb4"
        engine = sqlalchemy.create_engine(url, isolation_level="READ COMMITTED")
        Base.metadata.create_all(engine)
        recorder.listen(engine, log=tmp_path / "log.jsonl")
        assert sell(engine) == SEEN
        engine.dispose()
        found = done(tmp_path / "log.jsonl")
    assert found.header.settings["found_rows"] is True
    assert found.header.isolation == "mysql:repeatable-read"
    assert {transaction.isolation for transaction in found.transactions} == {"mysql:read-committed"}
    assert (found.committed, found.aborted) == (4, 1)


def test_other_drivers_are_refused() -> None:
    unknown = type("Engine", (), {"pool": object(), "dispose": lambda self: None})()
    unknown.dialect = type("Dialect", (), {"name": "oracle", "driver": "oracledb"})()
    with pytest.raises(RecordError, match=r"oracle\+oracledb is not recorded"):
        recorder.listen(unknown, log="log.jsonl")

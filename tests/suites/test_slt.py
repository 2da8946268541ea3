"""Suites that others wrote, in the interpreter and on a real engine beside it: no record may fail.

`data` holds a few records of SQLite's sqllogictest (https://sqlite.org/sqllogictest, public domain), `tests/data/slt`
whole files of it and of RisingLight's.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.differential.engines import DbApi, Engine, MariaDB, Postgres
from tests.suites.files import name_of
from tests.suites.slt import PRODUCTS, Record, Runner, Tally, read_records, run_file

DATA = Path(__file__).parent / "data"
WHOLE = DATA.parents[1] / "data" / "slt"
SELECTS = ("select1.test", "select2.test")


def sqlite_engine() -> Engine:
    return DbApi("sqlite", sqlite3.connect(":memory:", isolation_level=None), sqlite3.Error)


def duckdb_engine() -> Engine:
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    return DbApi("duckdb", duckdb.connect(":memory:"), duckdb.Error)


def whole_files(*, selects: bool) -> list[Path]:
    files = [path for path in sorted(WHOLE.rglob("*.gz")) if (name_of(path) in SELECTS) is selects]
    assert files
    return files


def check(files: list[Path], dialect: str, engine: Engine | None, least: float) -> Tally:
    """`least`: the share of records that must be inside the fragment."""
    tally = Tally()
    for path in files:
        tally.add(run_file(path, dialect, engine))
    inside = tally.passed + tally.foreign
    assert not tally.failed, "\n".join(map(str, tally.failed[:10]))
    assert inside >= least * (inside + tally.outside.total()), tally.outside.most_common(20)
    return tally


@pytest.mark.parametrize("path", sorted(DATA.glob("*.test")), ids=lambda path: path.stem)
@pytest.mark.parametrize("dialect", ["sqlite", "postgres", "mysql"])
def test_copied_records(path: Path, dialect: str) -> None:
    tally = check([path], dialect, sqlite_engine() if dialect == "sqlite" else None, 0.8)
    assert tally.passed > 10


def test_other_files_on_sqlite() -> None:
    assert check(whole_files(selects=False), "sqlite", sqlite_engine(), 0.7).passed > 500


def test_other_files_on_duckdb() -> None:
    assert check(whole_files(selects=False), "duckdb", duckdb_engine(), 0.8).passed > 450


def test_other_files_on_postgres(postgres: Any) -> None:
    assert check(whole_files(selects=False), "postgres", Postgres(postgres, "C"), 0.85).passed > 450


def test_other_files_on_mariadb(mariadb: Any) -> None:
    files = [path for path in whole_files(selects=False) if name_of(path).endswith(".test")]
    assert check(files, "mysql", MariaDB(*mariadb), 0.5).passed > 100


@pytest.mark.slow
@pytest.mark.parametrize(("dialect", "least"), [("sqlite", 1.0), ("postgres", 1.0), ("mysql", 0.8), ("duckdb", 0.8)])
def test_selects(dialect: str, least: float) -> None:
    """SQLite's select1 and select2, which every product answers alike."""
    assert check(whole_files(selects=True), dialect, None, least).passed > 1600


def test_the_reader() -> None:
    script = """
skipif mysql # not there
query IT rowsort label-1
SELECT 1,
 'a b'
----
1
a b

onlyif mysql
halt

statement error
SELECT nosuch
"""
    records = list(read_records(script, PRODUCTS["sqlite"]))
    assert records[0] == Record(3, "SELECT 1,\n 'a b'", False, "IT", "rowsort", ("1", "a b"))
    assert [record.fails for record in records] == [False, True]
    assert list(read_records(script, PRODUCTS["mysql"])) == []


@pytest.mark.parametrize(
    ("types", "values", "passes"),
    [
        ("I", ("1",), True), ("I", ("2",), False), ("R", ("1.000",), True), ("I", ("1", "1"), False),
        ("I", ("1 values hashing to b026324c6904b2a9cb4b88d6d61c81d1",), True),
        ("I", ("1 values hashing to 00000000000000000000000000000000",), False),
    ],
)  # fmt: skip
def test_the_runner_tells_right_from_wrong(types: str, values: tuple[str, ...], passes: bool) -> None:
    tally = Tally()
    Runner("sqlite", False).run(Record(1, "SELECT 1", False, types, "nosort", values), tally)
    assert (tally.passed, len(tally.failed)) == (int(passes), int(not passes))


def test_an_expectation_that_the_engine_does_not_meet_either_is_another_products() -> None:
    tally = Tally()
    runner = Runner("sqlite", False, sqlite_engine())
    runner.run(Record(1, "SELECT 1 / 0", False, "I", "nosort", ("7",)), tally)
    assert (tally.passed, tally.foreign, len(tally.failed)) == (0, 1, 0)


@pytest.mark.parametrize(("values", "passes"), [(("2,1",), True), (("1,2",), True), (("2,2",), False)])
def test_an_order_that_the_dbms_chose_is_any_of_its_orders(values: tuple[str, ...], passes: bool) -> None:
    tally = Tally()
    runner = Runner("sqlite", False)
    runner.run(Record(1, "CREATE TABLE t (x INTEGER)", False), tally)
    runner.run(Record(2, "INSERT INTO t VALUES (1), (2)", False), tally)
    runner.run(Record(3, "SELECT group_concat(x) FROM t", False, "T", "nosort", values), tally)
    assert (tally.passed, len(tally.failed)) == (2 + passes, 1 - passes)


def test_an_operand_of_another_class_in_sqlite_does_not_read_the_wrong_row() -> None:
    tally = Tally()
    runner = Runner("sqlite", False, sqlite_engine())
    for sql in ("CREATE TABLE t (x INTEGER)", "INSERT INTO t VALUES (1)"):
        runner.run(Record(1, sql, False), tally)
    runner.run(Record(2, "SELECT 'a' IN (SELECT x FROM t)", False, "I", "nosort", ("0",)), tally)
    assert tally.passed == 2 and list(tally.outside) == ["IN (query) that compares text with bigint"]


def test_what_is_not_modelled_is_outside_and_so_is_what_follows() -> None:
    tally = Tally()
    runner = Runner("sqlite", False)
    runner.run(Record(1, "CREATE VIRTUAL TABLE t USING fts5(a)", False), tally)
    runner.run(Record(2, "SELECT 1", False, "I", "nosort", ("1",)), tally)
    assert tally.passed == 0 and tally.outside.total() == 2

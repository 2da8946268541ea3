"""`troubadour log init`: what is captured is read by our own front end, and equals what the database has."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import psycopg
import pytest
from click.testing import CliRunner, Result

from tests.live.audited import done
from troubadour.cli.logs.log import log
from troubadour.formats import read_log
from troubadour.record import recorder

SHOP = """
CREATE SEQUENCE numbers START WITH 5;
CREATE TABLE customers (
    id SERIAL PRIMARY KEY, name VARCHAR(40) NOT NULL UNIQUE, credit NUMERIC(12,2) DEFAULT 0 CHECK (credit >= -100),
    since DATE, score DOUBLE PRECISION, active BOOLEAN NOT NULL DEFAULT true
);
CREATE TABLE "Orders" (
    no BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, customer_id INT REFERENCES customers ON DELETE CASCADE,
    qty INT NOT NULL, price NUMERIC(8,2) NOT NULL, total NUMERIC(12,2) GENERATED ALWAYS AS (qty * price) STORED
);
CREATE UNIQUE INDEX one_each ON "Orders" (customer_id, qty);
CREATE TABLE "A note" (customer_id INT, qty INT, FOREIGN KEY (customer_id, qty) REFERENCES "Orders" (customer_id, qty));
CREATE VIEW rich AS SELECT id, name FROM customers WHERE credit > 100;
CREATE PROCEDURE pay(who INT, amount NUMERIC) LANGUAGE plpgsql AS $$
BEGIN UPDATE customers SET credit = credit - amount WHERE id = who; END $$;
INSERT INTO customers (name, credit, since, score) VALUES ('ann', 150, '2024-02-29', 0.5), ('bob', 10, NULL, 'NaN');
INSERT INTO "Orders" (customer_id, qty, price) VALUES (1, 2, 3.50);
"""


def init(*arguments: str) -> Result:
    return CliRunner().invoke(log, ["init", *arguments])


def test_postgres(postgres_dsn: str, database_schema: str, tmp_path: Path) -> None:
    dsn = f"{postgres_dsn}{'&' if '?' in postgres_dsn else '?'}options=-csearch_path%3D{database_schema}"
    with psycopg.connect(dsn) as connection:
        connection.execute(SHOP.encode())
    path = tmp_path / "run.jsonl"
    said = init(dsn, "--out", str(path), "--isolation", "snapshot")
    assert (said.exit_code, said.stderr) == (0, "")
    assert said.stdout == f"{path}: 9 schema statements, 1 routines, 3 rows\n"
    found = read_log([path])
    rows = {table.table: (table.columns, list(table.rows)) for table in found.header.initial}
    assert rows["customers"][1] == [
        (1, "ann", "150.00", "2024-02-29", 0.5, True), (2, "bob", "10.00", None, "NaN", True),
    ]  # fmt: skip
    assert rows["Orders"] == (("no", "customer_id", "qty", "price"), [(1, 1, 2, "3.50")])
    assert found.header.isolation == "snapshot"

    with recorder.connect(dsn, log=path) as connection:
        connection.execute("INSERT INTO customers (name) VALUES (%s) RETURNING id", ("cy",))
        connection.execute("CALL pay(%s, %s)", (1, 60))
        assert connection.execute("SELECT name FROM rich").fetchall() == []
        connection.execute('SELECT total FROM "Orders" WHERE customer_id = 1')
        connection.execute("DELETE FROM customers WHERE name = 'ann'")
        connection.execute('SELECT count(*) FROM "Orders"')
    recorder.close()
    segments = sorted(tmp_path.glob("run*.jsonl"))
    assert len(segments) == 2
    assert done(*segments).transactions[0].isolation == "postgres:read-committed"
    again = init(dsn, "--out", str(path))
    assert (again.exit_code, "a log begins once" in again.stderr) == (2, True)


def test_a_writer_under_way_is_waited_for(postgres_dsn: str, database_schema: str, tmp_path: Path) -> None:
    import threading

    dsn = f"{postgres_dsn}{'&' if '?' in postgres_dsn else '?'}options=-csearch_path%3D{database_schema}"
    with psycopg.connect(dsn) as connection:
        connection.execute("CREATE TABLE t (id INT)")
        connection.commit()
        connection.execute("INSERT INTO t VALUES (7)")
        committing = threading.Timer(0.4, connection.commit)
        committing.start()
        assert init(dsn, "--out", str(tmp_path / "run.jsonl")).exit_code == 0
        committing.join()
    (table,) = read_log([tmp_path / "run.jsonl"]).header.initial
    assert list(table.rows) == [(7,)]


def test_partitions_are_one_table(postgres_dsn: str, database_schema: str, tmp_path: Path) -> None:
    dsn = f"{postgres_dsn}{'&' if '?' in postgres_dsn else '?'}options=-csearch_path%3D{database_schema}"
    with psycopg.connect(dsn) as connection:
        connection.execute("CREATE TABLE p (id INT, v TEXT) PARTITION BY RANGE (id)")
        connection.execute("CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (5) PARTITION BY LIST (v)")
        connection.execute("CREATE TABLE p11 PARTITION OF p1 FOR VALUES IN ('x')")
        connection.execute("CREATE TABLE p2 PARTITION OF p DEFAULT")
        connection.execute("CREATE UNIQUE INDEX u ON p (id, v)")
        connection.execute("CREATE TABLE base (a INT)")
        connection.execute("CREATE TABLE kid () INHERITS (base)")
        connection.execute("INSERT INTO p VALUES (1, 'x'), (9, 'y')")
    assert init(dsn, "--out", str(tmp_path / "run.jsonl")).exit_code == 0
    header = read_log([tmp_path / "run.jsonl"]).header
    assert header.schema == (
        "CREATE TABLE base (a integer)",
        "CREATE TABLE kid (a integer)",
        "CREATE TABLE p (id integer, v text) PARTITION BY RANGE (id)",
        "CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (5) PARTITION BY LIST (v)",
        "CREATE TABLE p2 PARTITION OF p DEFAULT",
        "CREATE TABLE p11 PARTITION OF p1 FOR VALUES IN ('x')",
        "CREATE UNIQUE INDEX u ON p USING btree (id, v)",
        "ALTER TABLE kid INHERIT base",
    )
    assert {table.table: list(table.rows) for table in header.initial} == {"p": [(1, "x"), (9, "y")]}


def test_missing_tables_are_refused(postgres_dsn: str, database_schema: str, tmp_path: Path) -> None:
    dsn = f"{postgres_dsn}{'&' if '?' in postgres_dsn else '?'}options=-csearch_path%3D{database_schema}"
    with psycopg.connect(dsn) as connection:
        connection.execute("CREATE TABLE t (id INT)")
    path = str(tmp_path / "run.jsonl")
    assert "there is no table u" in init(dsn, "--out", path, "--table", "u").stderr
    assert init(dsn, "--out", path, "--table", "t").exit_code == 0


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_files(kind: str, tmp_path: Path) -> None:
    if kind == "duckdb":
        connect = pytest.importorskip("duckdb").connect
    else:
        connect = sqlite3.connect
    file, path = tmp_path / "shop.db", tmp_path / "run.jsonl"
    connection = connect(str(file))
    connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, n DECIMAL(8,2), s VARCHAR UNIQUE)")
    connection.execute("CREATE UNIQUE INDEX u ON t (n)")
    connection.execute("INSERT INTO t VALUES (1, 2, 'x'), (2, 3, NULL)")
    connection.commit()
    connection.close()
    said = init(f"{kind}:{file}", "--out", str(path))
    assert said.stdout == f"{path}: 2 schema statements, 0 routines, 2 rows\n", said.output
    assert "there is no file" in init(f"{kind}:nowhere.db", "--out", str(tmp_path / "other.jsonl")).stderr

"""Tables in several schemas of one PostgreSQL database: recorded under names that keep them apart, and audited."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from troubadour.audit.driver import Options, audit
from troubadour.coverage.library import library_for
from troubadour.formats import read_log
from troubadour.model.verdict import Status
from troubadour.record import EmbeddedPostgres, recorder

SETUP = """
CREATE SCHEMA first; CREATE SCHEMA second;
CREATE TABLE first.t (id int PRIMARY KEY, v int NOT NULL);
CREATE TABLE second.t (id int PRIMARY KEY, v text);
CREATE TABLE second.u (id int PRIMARY KEY, p int REFERENCES first.t (id) ON DELETE CASCADE, q int REFERENCES second.t);
CREATE UNIQUE INDEX ON second.u (q);
CREATE VIEW second.w AS SELECT u.id, t.v FROM second.u JOIN second.t ON t.id = u.q;
INSERT INTO first.t VALUES (1, 10), (2, 20); INSERT INTO second.t VALUES (1, 'x');
"""
STATEMENTS = [
    "INSERT INTO second.u (id, p, q) VALUES (1, 1, 1)",
    'SELECT "second"."t"."v", "first"."t"."v" FROM "second"."t", "first"."t" WHERE "first"."t"."id" = second.t.id',
    "SELECT v FROM t ORDER BY id",
    "SELECT id FROM u",
    "SELECT v FROM w",
    "UPDATE first.t SET v = first.t.v + 1 WHERE t.id = 2 RETURNING first.t.v",
    "UPDATE second.t SET v = 'y'",
    "SELECT w.* FROM second.w",
    "DELETE FROM t WHERE id = 1",
    "SELECT count(*) FROM second.u",
    "SELECT v FROM second.t",
]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with EmbeddedPostgres() as postgres:
        with psycopg.connect(postgres.dsn) as connection:
            connection.execute(SETUP)
        yield postgres.dsn


def test_schemas_are_kept_apart(server: str, tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    with recorder.connect(server, log=log, options="-c search_path=first,second") as connection:
        for sql in STATEMENTS:
            connection.execute(sql.encode())
            connection.commit()
    recorder.close()
    found = read_log([log])
    assert found.header.settings["search_path"] == "first,second"
    assert {table.table for table in found.header.initial} == {"t", "second.t"}
    verdict = audit(*library_for(found), Options(unobserved=False))
    assert verdict.status is Status.CORRECT, verdict.reason or verdict.explanation
    assert verdict.coverage is not None
    assert verdict.coverage.judged == len(STATEMENTS)


def test_a_lie_about_one_of_them_is_found(server: str, tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    with recorder.connect(server, log=log, options="-c search_path=second,first") as connection:
        connection.execute(b"SELECT id FROM second.t")
        connection.execute(b"SELECT v FROM first.t WHERE id = 2")
        connection.commit()
    recorder.close()
    text = log.read_text(encoding="utf-8")
    assert '"rows":[[1]]' in text
    log.write_text(text.replace('"rows":[[1]]}', '"rows":[[5]]}'), encoding="utf-8")
    assert audit(*library_for(read_log([log])), Options()).status is Status.VIOLATION

"""What applications bring: zones, bare columns, hidden orders, empty select lists, on the engines that have them.

Times are taken around every change of the clocks, where a rule that is off by one shows. Does not know an answer.
"""

from __future__ import annotations

import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from sql_semantics.library import SqlLibrary
from sql_semantics.run import MemoryView
from sql_semantics.values.dialect import Dialect
from tests.differential.engines import MariaDB, Postgres
from tests.differential.fixed import Fixed
from troubadour.execution.prepared import arguments_of
from troubadour.model.values import param_shape

ZONES = (
    "UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "America/Sao_Paulo",
    "Europe/London", "Africa/Casablanca", "Pacific/Apia", "Asia/Tehran", "America/St_Johns", "Europe/Dublin",
)  # fmt: skip


def moments(zone: str, chance: random.Random) -> list[datetime]:
    """Hours around each change of the clocks of a zone in a few years, and others."""
    found = []
    for year in chance.sample(range(1971, 2025), 4):
        first = datetime(year, 1, 1, tzinfo=UTC)
        hours = [first + timedelta(hours=hour) for hour in range(8760)]
        offsets = [at.astimezone(ZoneInfo(zone)).utcoffset() for at in hours]
        changes = [at for at, (one, other) in zip(hours, pairwise(offsets), strict=False) if one != other]
        found += [at + timedelta(minutes=minutes) for at in changes for minutes in range(-90, 150, 30)]
        found.append(first + timedelta(seconds=chance.randrange(31_536_000), microseconds=chance.randrange(10**6)))
    return found


@pytest.mark.parametrize("zone", ZONES)
def test_time_zones(postgres: Any, zone: str) -> None:
    at = moments(zone, random.Random(zone))
    shown = [moment.astimezone(ZoneInfo(zone)).replace(tzinfo=None) for moment in at]
    fixed = Fixed(
        Postgres(postgres),
        ["CREATE TABLE m (id int PRIMARY KEY, i timestamptz, c timestamp)"],
        {"m": [(place, moment, clock) for place, (moment, clock) in enumerate(zip(at, shown, strict=True))]},
    )
    queries = [
        f"SELECT id, i AT TIME ZONE '{zone}', c AT TIME ZONE '{zone}' FROM m ORDER BY id",
        f"SELECT id, (c + interval '30 minutes') AT TIME ZONE '{zone}' AT TIME ZONE 'Asia/Tokyo' FROM m ORDER BY id",
        f"SELECT id, timezone('{zone}', timezone('UTC', c)), timezone('{zone}', i) FROM m",
        f"SELECT date_trunc('day', i AT TIME ZONE '{zone}') AS d, count(*) FROM m GROUP BY 1 ORDER BY 1",
        f"SELECT count(*) FROM m WHERE EXTRACT(HOUR FROM i AT TIME ZONE '{zone}') = 2",
        f"SELECT id FROM m WHERE (i AT TIME ZONE '{zone}')::date = DATE '2020-03-08' OR i > c AT TIME ZONE '{zone}'",
    ]
    differences, refused = fixed.report(queries)
    assert not differences, "\n".join(differences)
    assert not refused, refused


def test_what_is_left_of_time_zones(postgres: Any) -> None:
    fixed = Fixed(Postgres(postgres), ["CREATE TABLE m (i timestamptz, t time)"], {"m": []})
    queries = [
        "SELECT i AT TIME ZONE 'CET' FROM m",
        "SELECT i AT TIME ZONE 'Europe/Nowhere' FROM m",
        "SELECT i AT TIME ZONE '+02:00' FROM m",
        "SELECT t AT TIME ZONE 'Europe/Berlin' FROM m",
        "SELECT '2020-01-01' AT TIME ZONE 'Europe/Berlin' FROM m",
        "SELECT i AT TIME ZONE interval '2 hours' FROM m",
    ]
    _, refused = fixed.report(queries)
    assert list(refused) == queries
    later = "SELECT TIMESTAMP '2031-07-01 12:00' AT TIME ZONE 'Europe/Berlin'"
    assert fixed.report([later])[1] == {later: "the time in a zone before 1970, or from 2026 on"}


POSTGRES_SCHEMA = [
    "CREATE TABLE a (id int PRIMARY KEY, k int, s text, j json)",
    "CREATE TABLE b (a int, v numeric)",
]
POSTGRES_ROWS: dict[str, list[tuple[Any, ...]]] = {
    "a": [(1, 10, "p", '{"x": 1}'), (2, 20, "q", " [1]"), (3, 10, None, "null"), (4, None, "p", '"s"')],
    "b": [(1, Decimal(1)), (1, Decimal(2)), (3, Decimal(7))],
}
POSTGRES_QUERIES = [
    "SELECT id FROM a WHERE EXISTS (SELECT FROM b WHERE b.a = a.id)",
    "SELECT id FROM a WHERE NOT EXISTS (SELECT FROM b WHERE b.a = a.id AND v > 1)",
    "SELECT pg_catalog.count(*), pg_catalog.count(s), pg_catalog.max(k), PG_CATALOG.lower('A') FROM a",
    "SELECT pg_catalog.coalesce(1, 2)",
    "SELECT 'pg_catalog.count(', pg_catalog.length('pg_catalog.x(')",
    "SELECT json_typeof(j), json_typeof('12'), json_typeof(' true ') FROM a",
    "INSERT INTO b SELECT 7, sum(v) FROM b GROUP BY a HAVING a = 1",
    "INSERT INTO a SELECT 9, max(k), 'z', NULL FROM a GROUP BY s HAVING s = 'q'",
    "INSERT INTO a SELECT id + 20, 3, s, j FROM a ORDER BY id LIMIT 2",
]


def test_of_postgres(postgres: Any) -> None:
    fixed = Fixed(Postgres(postgres), POSTGRES_SCHEMA, POSTGRES_ROWS)
    differences, refused = fixed.report(POSTGRES_QUERIES)
    assert not differences, "\n".join(differences)
    assert set(refused) <= {POSTGRES_QUERIES[3], POSTGRES_QUERIES[7]}, refused


LISTS = (
    ("SELECT * FROM unnest(($1::smallint[])::bigint[], ($2::text[])::varchar[])", ([1, 2, None], ["a", None])),
    ("SELECT sum(x) / 2 FROM unnest(($1::smallint[])::numeric[]) AS x", ([1, 2],)),
    ("SELECT sum(x) FROM unnest(($1::int[])::bigint[]) AS x", ([2147483647, 2147483647],)),
    ("SELECT g FROM generate_series(1, 4) AS g WHERE g = ANY(($1::smallint[])::integer[])", ([1, 3, 9],)),
    ("SELECT g FROM generate_series(1, 4) AS g WHERE g <> ALL(($1::smallint[])::bigint[])", ([1, 3],)),
)


@pytest.mark.parametrize(("sql", "lists"), LISTS)
def test_lists_cast_twice(postgres: Any, sql: str, lists: tuple[list[Any], ...]) -> None:
    given = ["{" + ",".join("NULL" if item is None else str(item) for item in items) + "}" for items in lists]
    dialect = Dialect("postgres", collation="C")
    library = SqlLibrary(dialect, [])
    expected = postgres.execute(sql.replace("$1", "%s").replace("$2", "%s"), given).fetchall()
    program = library.program(sql, param_shape(given))
    found = program.run(MemoryView({}), arguments_of(given, program.parameters, dialect)).results[0].rows
    assert Counter(map(repr, found)) == Counter(map(repr, expected))


MARIADB_SCHEMA = [
    "CREATE TABLE p (id int PRIMARY KEY, k int, s varchar(10), d datetime)",
    "CREATE TABLE q (p int, v decimal(8,2))",
]
MARIADB_ROWS: dict[str, list[tuple[Any, ...]]] = {
    "p": [
        (1, 10, "x", datetime(2024, 1, 2, 3, 4, 5)),
        (2, 20, "x", datetime(2024, 1, 3)),
        (3, 10, "x", datetime(2024, 2, 3)),
        (4, None, "y", None),
    ],
    "q": [(1, Decimal("1.00")), (1, Decimal("1.00")), (3, Decimal("7.00")), (9, Decimal("2.00"))],
}
MARIADB_QUERIES = [
    "SELECT SQL_CALC_FOUND_ROWS id FROM p ORDER BY id LIMIT 2",
    "SELECT SQL_NO_CACHE HIGH_PRIORITY id FROM p",
    "SELECT STRAIGHT_JOIN p.id, v FROM p JOIN q ON q.p = p.id",
    "SELECT DISTINCT s FROM p ORDER BY id",
    "SELECT DISTINCT s, k FROM p ORDER BY d DESC",
    "SELECT YEAR(d), MONTH(d), COUNT(*) FROM p GROUP BY YEAR(d), MONTH(d) ORDER BY d DESC",
    "SELECT k, s, COUNT(*) FROM p GROUP BY k",
    "SELECT p, v, SUM(v) FROM q GROUP BY p",
    "SELECT s, MAX(k) FROM p WHERE id < 3",
    "SELECT s, MAX(k) FROM p WHERE id > 99",
    "SELECT s, d, COUNT(*) FROM p WHERE k = 99",
    "SELECT p.k, q.v, COUNT(*) FROM p LEFT JOIN q ON q.p = p.id GROUP BY p.id",
    "SELECT k, s FROM p GROUP BY k HAVING s = 'x'",
    "SELECT id, k, s, d FROM p GROUP BY id",
]
MARIADB_REFUSED = {
    "SELECT k, d FROM p GROUP BY k": "a choice among several ways",
    "SELECT DISTINCT s FROM p ORDER BY id LIMIT 1": "ORDER BY of SELECT DISTINCT outside the select list",
    "SELECT id FROM p WHERE FOUND_ROWS() > 2": "function found_rows() in WHERE",
}


def test_of_mariadb(mariadb: Any) -> None:
    fixed = Fixed(MariaDB(*mariadb), MARIADB_SCHEMA, MARIADB_ROWS)
    fixed.dialect = Dialect("mysql", collation=fixed.engine.collation, product="mariadb")
    differences, refused = fixed.report(MARIADB_QUERIES)
    assert not differences, "\n".join(differences)
    assert not refused, refused
    differences, refused = fixed.report(MARIADB_REFUSED)
    assert not differences
    assert refused == MARIADB_REFUSED

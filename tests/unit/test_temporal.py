"""Dates, times and intervals as the products define them (values seen on PostgreSQL 18, MariaDB 10.11 and DuckDB)."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pytest

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.values.dates.temporal import interval_key, interval_text, parse_interval, parse_temporal
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import Interval, Kind
from tests.unit.running import Database

HOUR = 3_600_000_000
DATABASES = {
    name: Database(Dialect(name, collation="C" if name == "postgres" else None), ["CREATE TABLE t (a int)"])
    for name in ("postgres", "mysql", "duckdb")
}


def value(expression: str, product: str = "postgres") -> Any:
    return DATABASES[product].value(expression)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("DATE '2020-01-31' + 1", date(2020, 2, 1)),
        ("1 + DATE '2020-02-28'", date(2020, 2, 29)),
        ("DATE '2020-01-01' - DATE '2019-01-01'", 365),
        ("DATE '2020-01-01' - '2019-12-31'", 1),
        ("DATE '2020-01-31' + INTERVAL '1 month'", datetime(2020, 2, 29)),
        ("DATE '2020-01-01' + TIME '10:00'", datetime(2020, 1, 1, 10)),
        ("TIMESTAMP '2020-01-01' + '1 day'", datetime(2020, 1, 2)),
        ("TIMESTAMP '2019-01-01 10:00' - TIMESTAMP '2020-01-01'", Interval(0, -364, -14 * HOUR)),
        ("TIME '10:00' + INTERVAL '20 hours'", time(6)),
        ("TIME '10:00' - TIME '11:00'", Interval(0, 0, -HOUR)),
        ("INTERVAL '1 month' * 1.5", Interval(1, 15, 0)),
        ("INTERVAL '1 month 1 day' / 2", Interval(0, 15, 12 * HOUR)),
        ("INTERVAL '1 month' = INTERVAL '30 days'", True),
        ("- INTERVAL '1 mon -2 days'", Interval(-1, 2, 0)),
        ("age(TIMESTAMP '2020-03-01', TIMESTAMP '2020-01-31')", Interval(1, 1, 0)),
        ("age(TIMESTAMP '2020-01-31 10:00', TIMESTAMP '2020-03-01 11:00')", Interval(-1, -1, -HOUR)),
        ("age(TIMESTAMP '2021-02-28', TIMESTAMP '2020-02-29')", Interval(11, 28, 0)),
        ("extract(epoch FROM TIMESTAMP '2020-01-01 00:00:01.5')", Decimal("1577836801.500000")),
        ("extract(week FROM DATE '2021-01-03')", Decimal(53)),
        ("extract(hour FROM INTERVAL '-50:30')", Decimal(-50)),
        ("extract(epoch FROM INTERVAL '1 year 1 mon')", Decimal("34149600.000000")),
        ("date_part('year', DATE '2020-01-01')", 2020.0),
        ("date_trunc('week', TIMESTAMP '2020-01-05')", datetime(2019, 12, 30)),
        ("date_trunc('month', DATE '2020-01-05')", datetime(2020, 1, 1, tzinfo=UTC)),
        ("TIMESTAMPTZ '2020-01-01 00:00:00+02'", datetime(2019, 12, 31, 22, tzinfo=UTC)),
        ("TIMESTAMP '2020-01-01' = DATE '2020-01-01'", True),
        ("TIMESTAMP(0) '2020-01-01 00:00:01.5'", datetime(2020, 1, 1, 0, 0, 2)),
        ("CAST(INTERVAL '-1:00' AS time)", time(23)),
        ("CAST(TIMESTAMPTZ '2020-01-01 10:00+02' AS text)", "2020-01-01 08:00:00+00"),
        ("make_date(2020, 2, 29)", date(2020, 2, 29)),
    ],
)
def test_postgres(expression: str, expected: object) -> None:
    assert value(expression) == expected


@pytest.mark.parametrize(
    ("expression", "sqlstate"),
    [
        ("DATE '2020-02-30'", "22008"),
        ("DATE ''", "22007"),
        ("TIMESTAMP '2020-01-01 25:00'", "22008"),
        ("CAST(DATE '2020-01-01' AS int)", "42846"),
        ("DATE '2020-01-01' + '1'", "42725"),
        ("DATE '2020-01-01' + 1.5", "42883"),
        ("extract(hour FROM DATE '2020-05-01')", "0A000"),
        ("INTERVAL '1 day' / 0", "22012"),
        ("make_date(2021, 2, 29)", "22008"),
        ("CASE WHEN 1 = 1 THEN DATE '2020-01-01' ELSE 1 END", "42804"),
    ],
)
def test_postgres_errors(expression: str, sqlstate: str) -> None:
    with pytest.raises(SqlError) as caught:
        value(expression)
    assert caught.value.sqlstate == sqlstate


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("DATE '2020-01-31' + INTERVAL 1 MONTH", date(2020, 2, 29)),
        ("DATE '2020-01-01' - INTERVAL 1 HOUR", datetime(2019, 12, 31, 23)),
        ("date_add('2020-01-01', INTERVAL 1 DAY)", "2020-01-02"),
        ("date_add('2020-01-01', INTERVAL 1 HOUR)", "2020-01-01 01:00:00"),
        ("datediff('2020-01-05 23:00:00', '2020-01-01')", 4),
        ("timestampdiff(MONTH, '2020-01-31', '2020-03-01')", 1),
        ("timestampdiff(DAY, '2020-01-31 12:00:00', '2020-03-01')", 29),
        ("timestampdiff(SECOND, '2020-01-02', '2020-01-01')", -86400),
        ("last_day('2020-02-01')", date(2020, 2, 29)),
        ("dayofweek(DATE '2020-01-01')", 4),
        ("weekday(DATE '2020-01-01')", 2),
        ("extract(YEAR FROM DATE '2020-01-01')", 2020),
        ("DATE '2020-01-01' = '2020-1-1'", 1),
        ("DATE '2020-01-01' < '2020-01-01 10:00:00'", 1),
        ("concat(DATE '2020-01-01', TIMESTAMP '2020-01-01 10:00:00.5')", "2020-01-012020-01-01 10:00:00.5"),
    ],
)
def test_mysql(expression: str, expected: object) -> None:
    assert value(expression, "mysql") == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("DATE '2020-01-01' - DATE '2019-01-01'", 365),
        ("DATE '2020-01-31' + INTERVAL 1 MONTH", datetime(2020, 2, 29)),
        ("date_part('year', DATE '2020-01-01')", 2020),
        ("CAST(INTERVAL '-1 month -3 days' AS VARCHAR)", "-1 month -3 days"),
    ],
)
def test_duckdb(expression: str, expected: object) -> None:
    assert value(expression, "duckdb") == expected


@pytest.mark.parametrize(
    ("product", "expression"),
    [
        ("postgres", "DATE 'today'"),
        ("postgres", "DATE '20200101'"),
        ("postgres", "TIME '24:00'"),
        ("postgres", "DATE '9999-12-31' + 1"),
        ("postgres", "INTERVAL '1.5 days'"),
        ("mysql", "DATE '0000-00-00'"),
        ("mysql", "INTERVAL 1 DAY + DATE '2020-01-01'"),
        ("mysql", "DATE '2020-01-01' + 1"),
    ],
)
def test_refused(product: str, expression: str) -> None:
    with pytest.raises(Unsupported):
        value(expression, product)


def test_a_session_time_zone_that_matters_is_refused() -> None:
    abroad = Database(Dialect("postgres", timezone="Europe/Berlin"), ["CREATE TABLE t (a timestamptz)"])
    assert abroad.value("TIMESTAMPTZ '2020-01-01 10:00+02'") == datetime(2020, 1, 1, 8, tzinfo=UTC)
    for expression in ("TIMESTAMPTZ '2020-01-01 10:00'", "TIMESTAMPTZ '2020-01-01 10:00+02'::date"):
        with pytest.raises(Unsupported, match="Europe/Berlin"):
            abroad.value(expression)


@pytest.mark.parametrize(
    ("text", "span", "printed"),
    [
        ("1 year 2 mons 3 days 04:05:06.789", Interval(14, 3, 14_706_789_000), "1 year 2 mons 3 days 04:05:06.789"),
        ("-1 days +02:03:00", Interval(0, -1, 7_380_000_000), "-1 days +02:03:00"),
        ("-1 year -2 mons +3 days -04:05:06", Interval(-14, 3, -14_706_000_000), "-1 years -2 mons +3 days -04:05:06"),
        ("1 week", Interval(0, 7), "7 days"),
        ("P1DT2H", Interval(0, 1, 2 * HOUR), "1 day 02:00:00"),
        ("100:00", Interval(0, 0, 100 * HOUR), "100:00:00"),
        ("00:00:00", Interval(), "00:00:00"),
        ("1018676249:53:53.5", Interval(0, 0, 1018676249 * HOUR + 3_233_500_000), "1018676249:53:53.5"),
    ],
)
def test_interval_texts(text: str, span: Interval, printed: str) -> None:
    assert parse_interval(text) == span
    assert interval_text(span, short=True) == printed
    assert parse_interval(printed) == span


def test_intervals_compare_by_their_length_and_are_equal_by_their_parts() -> None:
    month, days = Interval(1), Interval(0, 30)
    assert interval_key(month) == interval_key(days)
    assert month != days


@pytest.mark.parametrize(
    "text", ["1 month 1 month", "x", "", "1.5 months", "1 day ago", "1 quarter", "3562047788:00:00"]
)
def test_other_interval_texts_are_refused(text: str) -> None:
    with pytest.raises(Unsupported):
        parse_interval(text)


def test_dates_that_python_has_not() -> None:
    with pytest.raises(Unsupported):
        parse_temporal("0044-03-15 BC", Kind.DATE)
    with pytest.raises(Unsupported):
        parse_temporal("infinity", Kind.TIMESTAMP)

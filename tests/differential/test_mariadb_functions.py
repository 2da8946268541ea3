"""MariaDB's WEEK, YEARWEEK, STRCMP and addresses of the internet, and what its own suite told of names, joins and
ZEROFILL, on the server. Knows no other function."""

from __future__ import annotations

import random
from typing import Any

from sql_semantics.frontend import read_schema
from sql_semantics.ir.schema import Catalog
from sql_semantics.values.dialect import Dialect
from tests.differential.beside import Beside
from tests.differential.engines import MariaDB

YEARS = (1999, 2000, 2004, 2008, 2012, 2016, 2017, 2018, 2019, 2020, 2021, 2022, 2023)
DAYS = ("01-01", "01-02", "01-04", "01-07", "02-29", "06-30", "12-27", "12-29", "12-31")
STATEMENTS = (
    *(
        "SELECT "
        + ", ".join(
            f"week({day}, {mode}), yearweek({day}, {mode}), yearweek({day})"
            for day in (f"date('{year}-{day}')" for day in DAYS if day != "02-29" or year % 4 == 0)
            for mode in range(8)
        )
        for year in YEARS
    ),
    "SELECT strcmp('a', 'b'), strcmp('b', 'a'), strcmp('a', 'a'), strcmp(NULL, 'a'), strcmp('a', 'A')",
    "SELECT inet_aton('10.0.5.9'), inet_aton('255.255.255.255'), inet_aton('256.1.1.1'), inet_aton('a.b')",
    "SELECT inet_aton(CAST(NULL AS CHAR))",
    "SELECT inet_ntoa(167773449), inet_ntoa(0), inet_ntoa(4294967295), inet_ntoa(4294967296), inet_ntoa(-1)",
    "SELECT sha1(''), sha('abc'), sha1('a\u00e9\u20ac'), sha1(NULL), length(sha1('x')), upper(sha1('x'))",
    *(
        f"SELECT sha2('', {bits}), sha2('abc', {bits}), sha2('a\u00e9\u20ac', {bits})"
        for bits in (0, 224, 256, 384, 512)
    ),
    "SELECT sha2('a', 1), sha2('a', 99999999999), sha2('a', -256), sha2(NULL, 256), sha2('a', NULL)",
    "SELECT sha1('x') = 'X', sha2('a', 256) < 'B'",
    *(
        f"SELECT length({value}), char_length({value}), sha1({value}), sha2({value}, 256), md5({value}),"
        f" crc32({value}), to_base64({value}), hex({value})"
        for value in ("x'00ff10'", "'a\u00e9'", "''", "12.50", "repeat('abc', 40)", "repeat('abc', 19)", "unhex('fe0')")
    ),
    "SELECT unhex('4'), unhex(''), unhex(12), unhex('zz'), unhex(hex('abc')), unhex(NULL), length(unhex('123'))",
    "SELECT inet_aton('0.0.0.1') - 2",
    "SELECT crc32('a') - 9999999999",
    "SELECT is_ipv4(x'312E322E332E34'), is_ipv6(x'3a3a'), is_ipv4(NULL), is_ipv4_mapped(NULL), is_ipv4_compat('abcd')",
    "SELECT inet6_ntoa(unhex('C0A801')), inet6_ntoa(x'C0A80102'), inet6_ntoa('1234'), inet6_ntoa(NULL)",
)

TABLES = (
    "CREATE TABLE p (a int PRIMARY KEY, b varchar(9), z int(5) unsigned zerofill)",
    "CREATE TABLE q (a int PRIMARY KEY, b double, c int) ENGINE=InnoDB MAX_ROWS=10 ROW_FORMAT=DYNAMIC",
)
ROWS = ("INSERT INTO p VALUES (1, '7', 42), (2, '8', NULL), (3, 'a%', 7)", "INSERT INTO q VALUES (1, 7, 5), (2, 9, 5)")
FOUND = (
    "SELECT p.a, count(*) FROM p JOIN q ON p.a = q.a GROUP BY a",
    "SELECT p.a, q.c, IF(q.c IS NULL, '', 1) AS x FROM p LEFT JOIN q ON p.a = q.a GROUP BY a, c, x",
    "SELECT b, c FROM p LEFT JOIN q USING (b)",
    "SELECT * FROM p JOIN q USING (a)",
    "SELECT a FROM p WHERE b LIKE 'a\\%' ESCAPE ''",
    "SELECT a FROM p LIMIT 2, -1",
    "SELECT a, z, z + 1, z = 42 FROM p WHERE z > 6 ORDER BY z",
    "UPDATE p SET z = z + 1 WHERE z = '42'",
    "SELECT max(z), sum(z), count(DISTINCT z) FROM p",
    "INSERT INTO p VALUES (9, 'x', -1)",
    "SELECT (a + a) = ROW(1, 1) FROM p",
    "SELECT (nothing + a) = ROW(1, 1) FROM p",
    "SELECT locate('a', ROW(1, 1), 1)",
    "SELECT timestampdiff(second, date '2020-01-01', date '2020-01-02')",
    "SELECT length((1, a)) FROM p",
    "SELECT NULL % 12, mod(12.0, NULL), NULL + 1, 1.5 * NULL, NULL / 0, 7 DIV NULL, a + NULL FROM p",
    "SELECT NULL + 1 UNION SELECT 2",
    "SELECT count(*), sum(a + NULL), avg(NULL * 2) FROM p WHERE a * NULL IS NULL",
    "UPDATE p SET z = z + NULL WHERE a = 1 + 0 * NULL",
)


def test_found(mariadb: Any) -> None:
    connection, collation = mariadb
    engine = MariaDB(connection, collation)
    engine.clear()
    assert [engine.run(sql).error for sql in (*TABLES, *ROWS)] == [None] * 4
    dialect = Dialect("mysql", product="mariadb", version=(10, 11), collation=collation)
    beside = Beside(engine, dialect, Catalog(read_schema(list(TABLES), dialect), {}))
    found = {sql: beside.step(sql) for sql in FOUND}
    assert not {sql: (step.outside, step.problem) for sql, step in found.items() if step.outside or step.problem}
    for text in ("concat(z, 'x')", "concat(coalesce(z, z))", "group_concat(z ORDER BY a)"):
        assert beside.step(f"SELECT {text} FROM p").outside == "a text of a ZEROFILL column", text
    assert beside.step("SELECT lower((1, a)) FROM p").outside, "the error of some functions for a row is another one"


def test_functions(mariadb: Any) -> None:
    connection, collation = mariadb
    dialect = Dialect("mysql", product="mariadb", version=(10, 11), collation=collation)
    beside = Beside(MariaDB(connection, collation), dialect, Catalog({}, {}))
    found = {sql: beside.step(sql) for sql in STATEMENTS}
    assert not {sql: (step.outside, step.problem) for sql, step in found.items() if step.outside or step.problem}


NUMBERS = ("1", "7", "-22", "0", "1.5", "0.003", "-123.4567", "99999999999", "0.000000001", "12345678.123456789")


def test_quotients(mariadb: Any) -> None:
    connection, collation = mariadb
    engine = MariaDB(connection, collation)
    engine.clear()
    table = "CREATE TABLE d (a int, b decimal(10,3))"
    for sql in (table, "INSERT INTO d VALUES (1, 1.5), (2, 0.001), (2, NULL), (7, -99.999)"):
        assert engine.run(sql).error is None
    quotients = [f"{one} / {other}" for one in NUMBERS for other in NUMBERS]
    try:
        for digits in (0, 1, 4, 5, 9, 12):
            assert engine.run(f"SET div_precision_increment = {digits}").error is None
            dialect = Dialect("mysql", product="mariadb", version=(10, 11), collation=collation, quotient_digits=digits)
            beside = Beside(engine, dialect, Catalog(read_schema([table], dialect), {}))
            asked = [f"SELECT {', '.join(quotients[at : at + 10])}" for at in range(0, len(quotients), 10)]
            asked += ["SELECT avg(a), avg(b), sum(a) / 3, avg(a) / 7 FROM d", "SELECT a / 3, b / 7 * 7, a / b FROM d"]
            found = {sql: beside.step(sql) for sql in asked}
            assert not {
                sql: step.problem or step.outside for sql, step in found.items() if step.problem or step.outside
            }
    finally:
        engine.run("SET div_precision_increment = DEFAULT")


UNITS = ("year_month", "day_hour", "day_minute", "day_second", "hour_minute", "hour_second", "minute_second")


def test_intervals_of_several_fields(mariadb: Any) -> None:
    connection, collation = mariadb
    dialect = Dialect("mysql", product="mariadb", version=(10, 11), collation=collation)
    beside = Beside(MariaDB(connection, collation), dialect, Catalog({}, {}))
    rng = random.Random(34)
    asked = []
    for unit in UNITS * 4:
        texts = [
            rng.choice(("", "", "-", " "))
            + rng.choice((":", " ", "-", ", ")).join(
                str(rng.choice((0, 1, 7, 99, 1234))) for _ in range(rng.randint(1, 2))
            )
            for _ in range(5)
        ]
        day = rng.choice(
            ("'2000-01-31 10:00:00'", "date '2004-02-29'", "timestamp '1999-12-31 23:59:59'", "'2019-03-31'")
        )
        asked.append(
            "SELECT "
            + ", ".join(
                f"{day} + INTERVAL '{text}' {unit}, date_sub({day}, INTERVAL '{text}' {unit})" for text in texts
            )
        )
    found = {sql: beside.step(sql) for sql in asked}
    assert not {sql: step.problem or step.outside for sql, step in found.items() if step.problem or step.outside}

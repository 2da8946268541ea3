"""MariaDB's functions that make days and times of numbers and texts, on the server and by the interpreter; random texts
and formats for STR_TO_DATE. Does not know functions of the moment that it is."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from sql_semantics.frontend import read_schema
from sql_semantics.ir.schema import Catalog
from sql_semantics.values.dialect import Dialect
from tests.differential.beside import Beside
from tests.differential.engines import MariaDB

TABLE = "CREATE TABLE d1 (id int PRIMARY KEY, d date, dt datetime, t time, s varchar(40), n int)"
ROWS = (
    "INSERT INTO d1 VALUES (1, '2000-01-31', '1999-12-31 23:59:59', '10:00:01', '2020-03-04 05:06:07', 730000)",
    "INSERT INTO d1 VALUES (2, NULL, NULL, NULL, NULL, NULL), (3, '9999-12-31', '1000-01-01', '23:59:59', '20-3-4', 9)",
)
STATEMENTS = (
    "SELECT to_days(d), to_days(dt), to_days('2000-01-01'), time_to_sec(t), time_to_sec(dt), sec_to_time(id) FROM d1",
    "SELECT from_days(730000), from_days(n) FROM d1 WHERE id < 3",
    "SELECT makedate(2000, 60), makedate(1, 1), makedate(99, 366), makedate(2000, 0), makedate(2000, -1)",
    "SELECT makedate(9999, 365), makedate(9999, 366), makedate(70, 1), makedate(10000, 1), makedate(-1, 1)",
    "SELECT maketime(1, 2, 3), maketime(1, 60, 3), maketime(1, 2, 60), maketime(23, 59, 59), maketime(1, -1, 2)",
    "SELECT sec_to_time(0), sec_to_time(86399), sec_to_time(3661), bit_count(5), bit_count(-1), bit_count(0)",
    "SELECT bit_count(18446744073709551615), bit_count(n) FROM d1",
    "SELECT week(19981231, 2), week(20001231, 3), yearweek(20200101), yearweek(20200101, 3), week(20200101123456, 1)",
    "SELECT year(20200102), month(20200102), dayofmonth(20200102), day(20200102030405), dayname(20200102)",
    "SELECT monthname(20200102), quarter(20201102), dayofyear(20201231), weekday(20200102), dayofweek(20200102)",
    "SELECT last_day(20200203), to_days(20200102), date(20200102030405), datediff(20200102, '2019-12-31')",
    "SELECT datediff(20200102, 20191231), datediff(d, 20191231), year(19991231235959) FROM d1",
    "SELECT from_unixtime(0), from_unixtime(1), from_unixtime(2147483647), from_unixtime(-1), from_unixtime(NULL)",
    "SELECT from_unixtime(n), from_unixtime(n) > '1970-01-05', unix_timestamp(from_unixtime(86400000)) FROM d1",
    "UPDATE d1 SET dt = from_unixtime(86400) WHERE n > 9",
    "SELECT id FROM d1 WHERE d = str_to_date('31.01.2000', '%d.%m.%Y')",
    "UPDATE d1 SET t = sec_to_time(time_to_sec(t) + 1) WHERE n > 9",
    "UPDATE d1 SET dt = str_to_date('5.6.2021 1:0', '%d.%m.%Y %k:%i') WHERE n > 9",
    "SELECT year(str_to_date('5.6.2021', '%d.%m.%Y')), date_format(str_to_date('5.6.2021', '%d.%m.%Y'), '%Y/%m/%d')",
)
LEFT_OUT = (
    "INSERT INTO d1 (id, d) VALUES (6, str_to_date('x', '%d.%m.%Y'))",
    "INSERT INTO d1 (id, d) VALUES (6, str_to_date('1.1.2000 x', '%d.%m.%Y'))",
    "UPDATE d1 SET n = 1 WHERE dt = str_to_date('1.1.2000 5:00', '%d.%m.%Y %H')",
    "SELECT str_to_date('2000-01-01 +1', '%Y-%m-%d %H')",
    "SELECT str_to_date('2007-02-30', '%Y-%m-%d')",
    "SELECT str_to_date('2007-10-00', '%Y-%m-%d')",
    "SELECT sec_to_time(86400)",
    "SELECT year(20200230)",
    "SELECT year(200102)",
    "SELECT from_unixtime(2147483648)",
    "SELECT from_unixtime(1.5)",
    "SELECT from_unixtime(86400, '%Y')",
)
FORMATS = (
    "%Y-%m-%d",
    "%d.%m.%Y",
    "%Y%m%d",
    "%Y-%m-%d %H:%i:%s",
    "%Y-%c-%e %T",
    "%e/%c/%Y %k:%i",
    "%Y-%m-%d %H:%i:%s.%f",
)


def calls(seed: int, count: int) -> Iterator[str]:
    """STR_TO_DATE of texts that are as the format says, nearly."""
    rng = random.Random(seed)
    for _ in range(count):
        form = rng.choice(FORMATS)
        text = form.replace("%T", "%H:%i:%s")
        for letter, most in (("Y", 2030), ("m", 13), ("c", 12), ("d", 28), ("e", 32), ("H", 24), ("k", 23), ("i", 60)):
            number = rng.randint(1980 if letter == "Y" else 1, most)
            text = text.replace(f"%{letter}", rng.choice((str(number), f"{number:02}")))
        text = text.replace("%s", str(rng.randint(0, 60))).replace("%f", str(rng.randint(0, 9999999)))
        if rng.random() < 0.4:
            place = rng.randrange(len(text) + 1)
            text = text[:place] + rng.choice((" ", "-", "x", "", "1")) + text[place + rng.randrange(3) :]
        yield f"SELECT str_to_date('{text}', '{form}')"


def test_made_dates(mariadb: Any) -> None:
    connection, collation = mariadb
    engine = MariaDB(connection, collation)
    engine.clear()
    assert [engine.run(sql).error for sql in (TABLE, *ROWS)] == [None] * 3
    dialect = Dialect("mysql", product="mariadb", version=(10, 11), collation=collation)
    beside = Beside(engine, dialect, Catalog(read_schema([TABLE], dialect), {}))
    found = {sql: beside.step(sql) for sql in STATEMENTS}
    assert not {sql: (step.outside, step.problem) for sql, step in found.items() if step.outside or step.problem}
    assert all(beside.step(sql).outside for sql in LEFT_OUT)
    drawn = {sql: beside.step(sql) for sql in calls(34, 200)}
    assert not {sql: step.problem for sql, step in drawn.items() if step.problem}
    assert sum(step.outside is None for step in drawn.values()) > 100

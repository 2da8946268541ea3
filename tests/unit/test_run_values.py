"""Arithmetic, NULL logic and text comparison as PostgreSQL, MySQL and SQLite define them (expected values by hand)."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.values.casts.cast import caster
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.numbers.floating import float_text
from sql_semantics.values.numbers.number import divide_mysql, divide_postgres, round_scale
from sql_semantics.values.text import require_groupable, require_orderable, text_equality, text_order, text_rule
from sql_semantics.values.types import DOUBLE, INT, NUMERIC, SMALLINT, TEXT, Kind, SqlType
from tests.unit.running import Database

POSTGRES = Dialect("postgres")
MYSQL = Dialect("mysql")


def database(dialect: Dialect = POSTGRES) -> Database:
    return Database(dialect, ["CREATE TABLE t (a int, b int)"])


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("7 / 2", "3"),
        ("-7 / 2", "-3"),
        ("-7 % 3", "-1"),
        ("1.0 / 3", "0.33333333333333333333"),
        ("10000 / 3.0", "3333.3333333333333333"),
        ("2 / 3.000000000000000000000", "0.666666666666666666667"),
        ("0.001 / 1000.0", "0.000001000000000000000000"),
        ("1.50 * 2.0", "3.000"),
        ("1.5 + 2.25", "3.75"),
        ("-7.5 % 2", "-1.5"),
        ("ROUND(2.5)", "3"),
        ("ROUND(-2.5)", "-3"),
        ("ROUND(1.005, 2)", "1.01"),
        ("CAST(2.5 AS int)", "3"),
        ("CAST(1.005 AS numeric(6,2))", "1.01"),
        ("CAST(12345.678 AS double precision)", "12345.678"),
    ],
)
def test_postgres_arithmetic(expression: str, expected: str) -> None:
    assert str(database().value(expression)) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("NULL AND FALSE", False),
        ("NULL AND TRUE", None),
        ("NULL OR TRUE", True),
        ("NULL OR FALSE", None),
        ("NOT (NULL = 1)", None),
        ("1 IN (2, NULL)", None),
        ("1 IN (1, NULL)", True),
        ("1 NOT IN (2, NULL)", None),
        ("NULL IS NOT DISTINCT FROM NULL", True),
        ("1 IS DISTINCT FROM NULL", True),
        ("(NULL = 1) IS NOT TRUE", True),
        ("COALESCE(NULL, 2, 1)", 2),
        ("NULLIF(1, 1)", None),
        ("CASE WHEN NULL THEN 1 ELSE 2 END", 2),
        ("'abc' LIKE 'a%'", True),
        ("'a%c' LIKE 'a\\%c'", True),
        ("'abc' LIKE 'a\\%c'", False),
        ("GREATEST(1, NULL, 3)", 3),
    ],
)
def test_null_logic(expression: str, expected: Any) -> None:
    assert database().value(expression) is expected or database().value(expression) == expected


@pytest.mark.parametrize(
    ("expression", "sqlstate"),
    [
        ("1 / 0", "22012"),
        ("1.5 % 0", "22012"),
        ("2147483647 + 1", "22003"),
        ("9223372036854775807 + 1", "22003"),
        ("CAST(40000 AS smallint)", "22003"),
        ("CAST(1000 AS numeric(4,2))", "22003"),
        ("CAST('x' AS int)", "22P02"),
        ("CAST(concat('2147483649', 'x') AS int)", "22P02"),
        ("CAST(concat('2147483650', 'x') AS int)", "22003"),
        ("CAST(concat('-92233720368547758100', 'x') AS bigint)", "22003"),
    ],
)
def test_postgres_errors(expression: str, sqlstate: str) -> None:
    with pytest.raises(SqlError) as error:
        database().value(expression)
    assert (error.value.sqlstate, error.value.may) == (sqlstate, False)


def test_an_operand_that_is_not_reached_is_not_evaluated() -> None:
    filled = database().fill("t", [(0, 1)])
    assert filled.rows("SELECT 1 FROM t WHERE a <> 0 AND b / a > 0") == []
    with pytest.raises(SqlError) as error:
        filled.rows("SELECT 1 FROM t WHERE b / a > 0 AND a <> 0")
    assert error.value.may


@pytest.mark.parametrize(
    "query",
    [
        "SELECT 1 / 0 FROM t",
        "SELECT a FROM t WHERE a = 2147483647 + 1",
        "SELECT CASE WHEN a = 1 THEN 1 / 0 END FROM t",
        "SELECT a FROM t WHERE a = 1 AND 1 / 0 = 1",
    ],
)
def test_constants_fail_in_the_planner_without_a_row(query: str) -> None:
    with pytest.raises(SqlError):
        database().rows(query)


def test_constants_behind_a_deciding_constant_do_not_fail() -> None:
    assert database().rows("SELECT a FROM t WHERE 1 = 2 AND 1 / 0 = 1") == []


def test_parameters_that_only_planning_would_reach_are_not_guessed() -> None:
    with pytest.raises(Unsupported):
        database().rows("SELECT 1 / $1 FROM t", [0], (Kind.INT,))
    with pytest.raises(SqlError):
        database().fill("t", [(1, 1)]).rows("SELECT 1 / $1 FROM t", [0], (Kind.INT,))


def test_mysql_division() -> None:
    assert database(MYSQL).value("1 / 0") is None
    assert str(database(MYSQL).value("1 / 3")) == "0.3333"
    assert str(database(MYSQL).value("2 / 3")) == "0.6667"
    assert database(MYSQL).value("7 DIV 2") == 3
    # Held with nine digits inside, rounded once on output.
    assert str(database(MYSQL).value("1 / 3 * 3")) == "1.0000"
    assert divide_mysql(Decimal(1), Decimal(3)) == Decimal("0.333333333")


def test_division_scale_follows_the_weights() -> None:
    assert str(divide_postgres(Decimal("123456789.12"), Decimal("0.003"))) == "41152263040.00000000"
    assert format(divide_postgres(Decimal(0), Decimal(7)), "f") == "0.00000000000000000000"


def test_rounding_is_half_away_from_zero() -> None:
    assert [str(round_scale(Decimal(v), 0)) for v in ("0.5", "-0.5", "1.4999")] == ["1", "-1", "1"]
    assert str(round_scale(Decimal(1550), -2)) == "1600"


@pytest.mark.parametrize(
    ("value", "text"),
    [(100.0, "100"), (0.1, "0.1"), (1e15, "1e+15"), (1.5e-5, "1.5e-05"), (-0.0, "-0"), (123456.75, "123456.75")],
)
def test_doubles_print_as_in_postgres(value: float, text: str) -> None:
    assert float_text(value, Kind.DOUBLE, POSTGRES.rules.values.float_text) == text


def test_assignment_to_text_checks_length_but_forgives_blanks() -> None:
    varchar = caster(TEXT, SqlType(Kind.TEXT, length=3), True, POSTGRES)
    char = caster(TEXT, SqlType(Kind.TEXT, length=3, padded=True), True, POSTGRES)
    explicit = caster(TEXT, SqlType(Kind.TEXT, length=3), False, POSTGRES)
    assert varchar is not None
    assert char is not None
    assert explicit is not None
    assert varchar("abc  ") == "abc"
    assert char("a  ") == "a"
    assert explicit("abcdef") == "abc"
    with pytest.raises(SqlError, match="22001"):
        varchar("abcd")


def test_casts_between_numbers() -> None:
    to_int = caster(DOUBLE, INT, False, POSTGRES)
    narrow = caster(INT, SMALLINT, True, POSTGRES)
    assert to_int is not None
    assert narrow is not None
    assert [to_int(2.5), to_int(3.5), to_int(-2.5)] == [2, 4, -2]
    assert caster(SMALLINT, INT, True, POSTGRES) is None
    with pytest.raises(SqlError, match="22003"):
        narrow(32768)
    widen = caster(INT, NUMERIC, False, POSTGRES)
    assert widen is not None
    assert str(widen(5)) == "5"


def test_unknown_collation_decides_only_what_all_collations_agree_on() -> None:
    order = text_order(text_rule(POSTGRES))
    assert order("a", "b") < 0 < order("z", "9")
    assert order("Ä", "Ä") == 0
    with pytest.raises(Unsupported):
        order("a", "B")
    assert text_order(text_rule(Dialect("postgres", "C")))("a", "B") > 0
    equal = text_equality(text_rule(MYSQL))
    assert equal("a", "a")
    assert not equal("a", "b")
    for other in ("A", "á", "a "):
        with pytest.raises(Unsupported):
            equal("a", other)
    assert text_equality(text_rule(Dialect("mysql", "utf8mb4_general_ci")))("abc", "ABC")
    assert not text_equality(text_rule(Dialect("mysql", "utf8mb4_bin")))("abc", "ABC")


def test_groups_of_text_need_decided_equality() -> None:
    require_groupable(["a", "b", "a"], text_rule(MYSQL))
    with pytest.raises(Unsupported):
        require_groupable(["a", "A"], text_rule(MYSQL))
    require_groupable(["a", "A"], text_rule(POSTGRES))
    with pytest.raises(Unsupported):
        require_orderable(["a", "A"], text_rule(POSTGRES))

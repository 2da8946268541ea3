"""PostgreSQL's to_char() of moments and its regular expressions: what is modelled, and what is refused by name."""

from __future__ import annotations

from datetime import date, datetime

import pytest

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.functions.texts.pattern import like
from tests.unit.running import Database

POSTGRES = Dialect("postgres", collation="C")
AT = datetime(2024, 2, 3, 13, 5, 9, 12345)


def database() -> Database:
    db = Database(POSTGRES, ["CREATE TABLE t (k INT, x TEXT, d DATE, m TIMESTAMP)"])
    return db.fill("t", [(1, "ab-12", date(99, 12, 31), AT)])


@pytest.mark.parametrize(
    ("pattern", "written"),
    [
        ("YYYY-MM-DD HH24:MI:SS", "2024-02-03 13:05:09"),
        ("FMMonth FMDD, YYYY", "February 3, 2024"),
        ("Month|Dy|DAY", "February |Sat|SATURDAY "),
        ("HH12:MI am HH", "01:05 pm 01"),
        ('YYYY-MM-DD"T"HH24:MI:SS.MS US', "2024-02-03T13:05:09.012 012345"),
        ("IYYY-IW-ID DDD D Q YY", "2024-05-6 034 7 1 24"),
        ("yyyymmdd", "20240203"),
        ("", None),
    ],
)
def test_moments_are_written(pattern: str, written: str | None) -> None:
    assert database().rows(f"SELECT to_char(m, '{pattern}') FROM t") == [(written,)]


def test_dates_are_written_as_their_midnight() -> None:
    assert database().rows("SELECT to_char(d, 'YYYY-MM-DD HH24'), to_char(NULL::date, 'YY') FROM t") == [
        ("0099-12-31 00", None)
    ]


@pytest.mark.parametrize("pattern", ["DDTH", "YYYY-MM-DDTHH24", "Y", "SSSS", "TMMonth", "a", '"a', "J", "FF3", "FM-"])
def test_other_patterns_are_refused(pattern: str) -> None:
    with pytest.raises(Unsupported, match=r"to_char\(\) with"):
        database().run(f"SELECT to_char(m, '{pattern}') FROM t")


def test_other_arguments_are_refused() -> None:
    for given in ("k", "'2024-01-01'", "INTERVAL '1 day'"):
        with pytest.raises(Unsupported, match=r"to_char\(\) of other than"):
            database().run(f"SELECT to_char({given}, 'YYYY') FROM t")


@pytest.mark.parametrize(
    ("text", "pattern", "matches"),
    [
        ("ab-12", "^[a-z]+-[0-9]{2}$", True),
        ("ab-12\n", "2$", False),
        ("a\nb", "a.b", True),
        ("a\nb", "^b", False),
        ("a]b", "[]]", True),
        ("xbc", "^(a|x)(b|d)c", True),
        ("1.5", r"^\d+\.\d$", True),
        ("A B", r"^\w\s\S$", True),
        ("a{b", "a[{]b", True),
        ("", "^a?$", True),
    ],
)
def test_texts_match(text: str, pattern: str, matches: bool) -> None:
    db = database().fill("t", [(2, text, None, None)])
    where = f"k = 2 AND x ~ '{pattern}'"
    assert db.rows(f"SELECT count(*) FROM t WHERE {where}") == [(int(matches),)]
    assert db.rows(f"SELECT x !~ '{pattern}', NOT x ~* '{pattern.upper()}' FROM t WHERE k = 2")[0][0] is not matches


@pytest.mark.parametrize(
    "pattern",
    ["", "(", "a**", "a*?", "(a*)*", "(?i)a", "***=a", r"(a)\1", r"\y", "a{2", "a|", "[a", "[[.a.]]", "^*", "é"],
)
def test_other_expressions_are_refused(pattern: str) -> None:
    with pytest.raises(Unsupported, match="the regular expression"):
        database().run(f"SELECT x ~ '{pattern}' FROM t")


def test_classes_are_of_ascii_texts() -> None:
    db = database().fill("t", [(2, "é", None, None)])
    assert db.rows("SELECT x ~ '^.$', x ~ '[^a]' FROM t WHERE k = 2") == [(True, True)]
    for condition in (r"x ~ '\w'", "x ~* 'e'", "x ~ '[[:alpha:]]'"):
        with pytest.raises(Unsupported, match="beyond ASCII"):
            db.run(f"SELECT {condition} FROM t WHERE k = 2")


def test_parts_are_replaced_where_both_find_the_same_ones() -> None:
    db = database()
    assert db.rows(
        r"SELECT regexp_replace(x, '[^0-9]', '', 'g'), regexp_replace(x, '[a-z]+', '&'), "
        r"regexp_replace(x, 'B', 'z', 'i'), regexp_replace(x, '\d+$', '#'), regexp_replace(x, 'q', '') FROM t"
    ) == [("12", "&-12", "az-12", "ab-#", "ab-12")]
    for arguments in (r"'(a)', '\1'", "'a|ab', 'x'", "'a*', 'x'", "'a?b?', 'x'", "'a', 'x', 'n'"):
        with pytest.raises(Unsupported, match=r"regexp_replace\(\)"):
            db.run(f"SELECT regexp_replace(x, {arguments}) FROM t")


def test_operands_need_parentheses_and_are_texts() -> None:
    db = database()
    assert db.rows("SELECT (x || 'q') ~ 'q$' FROM t") == [(True,)]
    for condition in ("x || 'a' ~ 'b'", "k ~ 'a'", "x ~ 'b' || 'c'"):
        with pytest.raises(Unsupported, match="a regular expression"):
            db.run(f"SELECT {condition} FROM t")
    with pytest.raises(SqlError, match="42883"):
        db.run("SELECT regexp_replace(k, 'a', 'b') FROM t")


@pytest.mark.parametrize(("text", "pattern", "escape"), [("ab", "a%", "%"), ("ab", "%_", "_"), ("aab", "%aa\\", "\\")])
def test_a_wildcard_that_is_the_escape_character_escapes(text: str, pattern: str, escape: str) -> None:
    """PostgreSQL 18.4 raises 22025 for each, where it comes to the end of the pattern."""
    with pytest.raises(SqlError, match="must not end with escape character"):
        like(text, pattern, escape, False, False, "fails where reached")


def test_what_the_trailing_escape_is_looked_for_at_is_looked_at_once() -> None:
    assert not like("a" * 400 + "b", "%a" * 60 + "c\\", "\\", False, False, "fails where reached")

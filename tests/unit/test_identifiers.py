"""How names are compared, as the products answered (PostgreSQL 18.4, MariaDB 10.11, SQLite 3.40, DuckDB 2)."""

from __future__ import annotations

import pytest

from sql_semantics.values.dialect import Dialect
from sql_semantics.values.identifiers import (
    folded,
    folded_table,
    folded_written,
    folded_written_table,
    given_name,
    lowered,
    unquoted,
)

LONG = "a" * 62 + "äb"


@pytest.mark.parametrize(
    ("dialect", "one", "other", "equal"),
    [
        ("postgres", "Id", "ID", True),
        ("postgres", '"Id"', "id", False),
        ("postgres", '"id"', "ID", True),
        ("postgres", "Ä", "ä", False),
        ("postgres", "a" * 63 + "b", "a" * 63 + "c", True),
        ("postgres", LONG, "a" * 62 + "ö", True),
        ("mysql", "`straße`", "STRASSE", False),
        ("mysql", "`É`", "é", True),
        ("mysql", "`é`", "`e`", False),
        ("mysql", "İ", "i", True),
        ("mysql", "ı", "I", False),
        ("mysql", "σ", "ς", False),
        ("mysql", "ΑΣ", "ας", False),
        ("mysql", "ǅ", "ǆ", True),
        ("sqlite", '"Id"', "[iD]", True),
        ("sqlite", "ä", "Ä", False),
        ("duckdb", '"Id"', "iD", True),
        ("duckdb", '"ä"', '"Ä"', False),
        ("sqlite", '"a""b"', '[a"B]', True),
    ],
)
def test_columns(dialect: str, one: str, other: str, equal: bool) -> None:
    rules = Dialect(dialect)
    assert (folded_written(one, rules) == folded_written(other, rules)) is equal


@pytest.mark.parametrize(
    ("dialect", "equal"),
    [
        (Dialect("postgres"), False),
        (Dialect("mysql"), False),
        (Dialect("mysql", folds_tables=True), True),
        (Dialect("sqlite"), True),
        (Dialect("duckdb"), True),
    ],
)
def test_quoted_tables(dialect: Dialect, equal: bool) -> None:
    assert (folded_written_table('"Orders"', dialect) == folded_written_table('"orders"', dialect)) is equal


def test_plain_tables() -> None:
    assert folded_table("Orders", Dialect("postgres")) == "orders"
    assert folded_table("Orders", Dialect("mysql")) == "Orders"


def test_what_data_names() -> None:
    postgres = Dialect("postgres")
    assert given_name("ID", {"id"}, postgres) == "id"
    assert given_name("ID", {"id", "ID"}, postgres) == "ID"
    assert given_name("ID", {"Id"}, postgres) == "ID"
    assert given_name("Orders", {"orders"}, Dialect("mysql"), table=True) == "Orders"
    assert given_name("Orders", {"orders"}, Dialect("duckdb"), table=True) == "orders"


def test_spelling() -> None:
    assert unquoted("[a b]") == "a b"
    assert unquoted("`a``b`") == "a`b"
    assert unquoted("plain") == "plain"
    assert lowered("ÀB", Dialect("sqlite")) == "Àb"
    assert folded("A", Dialect("postgres"), quoted=True) == "A"

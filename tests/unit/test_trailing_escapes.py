"""LIKE patterns that end with the escape character, as PostgreSQL 18.4, MariaDB 10.11 and SQLite 3.40.1 answered."""

from __future__ import annotations

import pytest

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.values.functions.texts.pattern import TrailingEscape, like

TEXTS = ("", "a", "b", "ab", "a\\", "aa", "ba", "\\", "aab", "a\\b")
POSTGRES = {
    "a\\": "000EEE00EE",
    "\\": "0EEEEEEEEE",
    "%\\": "0EEEEEEEEE",
    "%a\\": "000EEE00EE",
    "_\\": "000EEEE0EE",
    "a%\\": "000EEE00EE",
    "b%\\": "000000E000",
    "%_\\": "0EEEEEEEEE",
    "a_\\": "00000000EE",
}
MARIADB = {"a\\": "0000100000", "\\": "0000000100", "%\\": "0000100100", "_\\": "0000100000", "%_\\": "0000100000"}


def answer(text: str, pattern: str, trailing: TrailingEscape) -> str:
    try:
        return str(int(like(text, pattern, "\\", False, False, trailing)))
    except SqlError as error:
        return "E" if error.sqlstate == "22025" else error.sqlstate


@pytest.mark.parametrize("pattern", POSTGRES)
def test_postgres(pattern: str) -> None:
    assert "".join(answer(text, pattern, "fails where reached") for text in TEXTS) == POSTGRES[pattern]


@pytest.mark.parametrize("pattern", MARIADB)
def test_mariadb(pattern: str) -> None:
    assert "".join(answer(text, pattern, "itself") for text in TEXTS) == MARIADB[pattern]


@pytest.mark.parametrize("pattern", POSTGRES)
def test_sqlite(pattern: str) -> None:
    assert "".join(answer(text, pattern, "never matches") for text in TEXTS) == "0" * len(TEXTS)


def test_duckdb_is_not_told() -> None:
    with pytest.raises(Unsupported):
        like("a", "a\\", "\\", False, False, "unknown")

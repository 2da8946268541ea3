"""docs/sql-fragment.md is what the front end accepts: every row of its tables is bound. Does not run any SQL."""

from __future__ import annotations

import functools
import re
from pathlib import Path

import pytest

from sql_semantics.errors import SqlError, UnknownTable, Unsupported
from sql_semantics.frontend import ParamShape, bind, defines_table, read_schema
from sql_semantics.frontend.routines.procedures import read_procedures
from sql_semantics.ir.schema import Catalog
from sql_semantics.library import SqlLibrary
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import Kind

PAGE = (Path(__file__).parents[2] / "docs" / "sql-fragment.md").read_text(encoding="utf-8")
DEFINITIONS = re.search(r"```sql\n(.*?)```", PAGE, re.DOTALL).group(1).splitlines()  # type: ignore[union-attr]
SCHEMA, PROCEDURES = DEFINITIONS[:2], DEFINITIONS[2:]
PRODUCTS = ("postgres", "mysql")
NUMBERED = {
    "postgres": "CREATE TABLE numbered (a SERIAL)",
    "mysql": "CREATE TABLE numbered (a INT AUTO_INCREMENT PRIMARY KEY)",
}
"""One more table for what stands in a transaction."""


def rows() -> list[tuple[str, str, str]]:
    """(product, example, expectation) of every table row."""
    found = []
    for line in PAGE.splitlines():
        cells = [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) == 4 and cells[1].startswith("`"):
            found += [(product, cells[1].strip("`"), cells[2 + i]) for i, product in enumerate(PRODUCTS)]
    return found


def shape_of(sql: str) -> ParamShape:
    """One integer per placeholder of the example."""
    if ":name" in sql:
        return (("name", Kind.INT),)
    return (Kind.INT,) * len(re.findall(r"\$\d|\?|%s", sql)) or None


@functools.cache
def catalog(product: str) -> Catalog:
    dialect = Dialect(product)
    tables = read_schema(SCHEMA, dialect)
    return Catalog(tables, read_procedures(PROCEDURES, tables, dialect))


def answer(sql: str, product: str) -> str:
    """What the front end says, in the words of the page."""
    dialect = Dialect(product)
    try:
        if re.match(r"CREATE (OR REPLACE )?(PROCEDURE|FUNCTION)", sql):
            read_procedures([sql], catalog(product).tables, dialect)
        elif sql.startswith("BEGIN; "):
            text = sql.removeprefix("BEGIN; ")
            schema = [*SCHEMA, NUMBERED[product]]
            SqlLibrary(dialect, schema, definitions=[text] if defines_table(text) else []).program(text)
        elif sql.startswith(("CREATE", "ALTER", "DROP")):
            read_schema([*SCHEMA, sql], dialect)
        else:
            bind(sql, shape_of(sql), catalog(product), dialect)
    except Unsupported as refusal:
        return "no: " + re.sub(r"(text that the parser refuses):.*", r"\1", refusal.construct)
    except SqlError as error:
        return f"error {error.sqlstate}"
    except UnknownTable:
        return "unknown table"
    return "yes"


def test_the_page_has_its_rows() -> None:
    assert len(rows()) > 300
    assert {expected.split(":")[0].split()[0] for _, _, expected in rows()} == {"yes", "no", "error", "unknown"}


@pytest.mark.parametrize(("product", "sql", "expected"), rows())
def test_row(product: str, sql: str, expected: str) -> None:
    assert answer(sql, product) == expected

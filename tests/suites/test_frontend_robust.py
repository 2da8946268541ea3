"""Whatever text comes, the front end and the interpreter answer, refuse by name, or tell the DBMS's error: every
statement of the suites through every dialect, whether the dialect has it or not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import pytest

from sql_semantics.errors import SqlSemanticsError
from sql_semantics.frontend import bind, read_schema
from sql_semantics.frontend.routines.procedures import read_procedures
from sql_semantics.ir.schema import Catalog
from sql_semantics.plan.freedom import free_errors
from sql_semantics.run import MemoryView, compile_statement
from sql_semantics.values.dialect import Dialect
from tests.differential.beside import CRASHES
from tests.suites.files import DATA, entries_of, name_of, text_of
from tests.suites.pg_regress import SETUP
from tests.suites.psql import statements

DIALECTS = ("postgres", "mysql", "sqlite", "duckdb")


def scripts() -> Iterator[tuple[str, list[str]]]:
    """Every suite's texts, by file."""
    for path in sorted(DATA.glob("pg-regress/*.gz")):
        yield name_of(path), list(statements(text_of(path)))
    for path in sorted(DATA.glob("slt/**/*.gz")):
        yield name_of(path), list(_slt(text_of(path)))
    for bug in entries_of(DATA / "sqlancer" / "bugs.jsonl.gz"):
        yield bug["id"], bug["statements"]


def _slt(text: str) -> Iterator[str]:
    for block in text.split("\n\n"):
        lines = [line for line in block.splitlines() if line and not line.startswith("#")]
        while lines and lines[0].startswith(("onlyif", "skipif", "hash-threshold", "halt")):
            lines = lines[1:]
        if lines and lines[0].startswith(("statement", "query")):
            sql = "\n".join(lines[1:]).split("\n----")[0].strip().rstrip(";")
            if sql:
                yield sql


def through(texts: Sequence[str], name: str, seen: Counter[str]) -> list[str]:
    """What crashed."""
    dialect = Dialect(name)
    schema = [f"CREATE TABLE {table} ({columns})" for table, columns, _ in SETUP]
    tables = {}
    for text in (*schema, *texts):
        if text.lstrip()[:6].upper() == "CREATE":
            try:
                tables.update(read_schema([text], dialect))
            except SqlSemanticsError:
                pass
            except CRASHES as error:
                return [f"{name}: {error!r} from the schema {text!r}"]
    catalog = Catalog(tables, {})
    found = []
    for text in texts:
        try:
            statement = bind(text, None, catalog, dialect).statement
            free_errors(statement, catalog, dialect.name)
            compile_statement(statement, catalog, dialect)(MemoryView({}), ())
            seen["ran"] += 1
            read_procedures([text], tables, dialect)
        except SqlSemanticsError as error:
            seen[type(error).__name__] += 1
        except CRASHES as error:
            found.append(f"{name}: {error!r} from {text!r}")
    return found


@pytest.mark.parametrize("dialect", DIALECTS)
def test_nothing_but_our_errors(dialect: str) -> None:
    seen: Counter[str] = Counter()
    crashed = [line for _, texts in scripts() for line in through(texts[:12], dialect, seen)]
    assert not crashed, "\n".join(crashed)
    assert seen["ran"] > 30 and seen["Unsupported"] > 30, seen


@pytest.mark.slow
@pytest.mark.parametrize("dialect", DIALECTS)
def test_nothing_but_our_errors_in_all_of_them(dialect: str) -> None:
    seen: Counter[str] = Counter()
    crashed = [line for _, texts in scripts() for line in through(texts, dialect, seen)]
    assert not crashed, "\n".join(crashed)

"""Whatever becomes of a statement's words, it is modelled, refused by name, or an error of the DBMS's: the front end
does not break, as a statement and as a definition.

The texts are those of docs/sql-fragment.md, with words left out, doubled, swapped or of other texts. Does not know
which of them a DBMS would take.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from sql_semantics.errors import SqlSemanticsError
from sql_semantics.library import SqlLibrary
from sql_semantics.values.dialect import Dialect

DIALECTS = ("postgres", "mysql", "sqlite", "duckdb")
FRAGMENT = Path(__file__).parents[2] / "docs" / "sql-fragment.md"
SCHEMA = (
    "CREATE TABLE t (id INT PRIMARY KEY, k INT, v INT, x REAL, name VARCHAR(20))",
    "CREATE TABLE accounts (id INT PRIMARY KEY, balance INT, name VARCHAR(20), v INT)",
)
BLOCK = 400
FAST, SLOW = range(1), range(1, 60)

CUT_SHORT = (
    *("SELECT (1, 2) IN () FROM t", "SELECT (id, v) NOT IN FROM t", "SELECT sum(DISTINCT) FROM t"),
    *("DELETE QUICK FROM t", "DELETE LOW_PRIORITY t FROM t JOIN accounts", "DELETE t", "DELETE FROM t a JOIN accounts"),
    *("DELETE FROM t LIMIT 1", "DELETE FROM t ORDER BY id LIMIT 1", "DELETE IGNORE FROM t", "DELETE"),
    *("CREATE VIEW v", "CREATE VIEW v AS", "CREATE OR REPLACE VIEW v (a)", "INSERT INTO t VALUES (1) ON CONFLICT"),
    "MERGE INTO t USING accounts b ON t.id = b.id WHEN NOT MATCHED THEN INSERT (id, v)",
    *("ALTER TABLE t ADD CONSTRAINT c FOREIGN KEY (v)", "CREATE TABLE c (a INT, FOREIGN KEY (a))"),
    *("CREATE FUNCTION f() RETURNS", "CREATE FUNCTION f() RETURNS SETOF", "CREATE FUNCTION f() RETURNS TABLE"),
    *("CREATE PROCEDURE p() LANGUAGE", "CREATE PROCEDURE p() LANGUAGE sql AS", "CREATE FUNCTION f() RETURNS int NOT"),
    *("CREATE PROCEDURE p() BEGIN", "CREATE FUNCTION f() RETURNS int BEGIN"),
)


@cache
def texts() -> tuple[str, ...]:
    found: list[str] = []
    for line in FRAGMENT.read_text(encoding="utf-8").splitlines():
        shown = re.match(r"\| .*? \| `(.+?)` \| ", line)
        if shown is not None:
            found += shown[1].replace("\\|", "|").split("; ")
    assert len(found) > 300
    return (*found, *CUT_SHORT)


def words(text: str) -> list[str]:
    return re.findall(r"\"[^\"]*\"|'[^']*'|\$\$|\w+|\S", text)


def mangled(rng: random.Random) -> str:
    """A text with up to three things wrong."""
    found = words(rng.choice(texts()))
    for _ in range(rng.randrange(4)):
        if not found:
            break
        place, other = rng.randrange(len(found)), rng.randrange(len(found))
        match rng.randrange(6):
            case 0 | 1:
                del found[place]
            case 2:
                found.insert(place, found[place])
            case 3:
                found[place], found[other] = found[other], found[place]
            case 4:
                del found[place:]
            case _:
                found[place] = rng.choice(words(rng.choice(texts())))
    return " ".join(found)


def doors(text: str, dialect: Dialect, library: SqlLibrary) -> Iterator[Callable[[], object]]:
    """The ways on which a log's texts are read."""
    yield lambda: library.program(text)
    yield lambda: library.reach(text)
    if re.match(r"\s*(CREATE|ALTER|DROP)", text, re.IGNORECASE):
        yield lambda: SqlLibrary(dialect, (*SCHEMA, text))
        yield lambda: SqlLibrary(dialect, SCHEMA, (), [text])
        yield lambda: SqlLibrary(dialect, SCHEMA, [text])


def through(text: str, dialect: Dialect, library: SqlLibrary) -> int:
    """How many of the doors are refused; fails with any other error than ours."""
    refused = 0
    for door in doors(text, dialect, library):
        try:
            door()
        except SqlSemanticsError:
            refused += 1
        except Exception as error:  # whatever it is, that it is none of ours fails the test, with the text that met it
            raise AssertionError(f"{dialect.name}: {error!r} from {text!r}") from error
    return refused


@pytest.mark.parametrize("dialect", DIALECTS)
def test_statements_that_are_cut_short(dialect: str) -> None:
    read = Dialect(dialect, foreign_keys=True)
    library = SqlLibrary(read, SCHEMA)
    refused = [text for text in CUT_SHORT if through(text, read, library)]
    assert len(refused) > len(CUT_SHORT) - 5


@pytest.mark.parametrize("block", [*FAST, pytest.param(SLOW, marks=pytest.mark.slow)], ids=str)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_nothing_but_our_errors(dialect: str, block: int | range) -> None:
    read = Dialect(dialect, foreign_keys=True)
    library = SqlLibrary(read, SCHEMA)
    refused = 0
    for seed in [block] if isinstance(block, int) else block:
        rng = random.Random(f"mangled {dialect} {seed}")
        refused += sum(through(mangled(rng), read, library) > 0 for _ in range(BLOCK))
    assert refused > BLOCK // 4


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_parameter_in_a_definition_is_not_modelled(dialect: str) -> None:
    for text in ("CREATE TABLE c (a INT DEFAULT ?)", "ALTER TABLE t ADD CONSTRAINT c CHECK (v > ?)"):
        assert through(text, Dialect(dialect), SqlLibrary(Dialect(dialect), SCHEMA)) > 0

"""SQLite's GLOB and printf(), on the engine. Each statement must be modelled. Knows no reason."""

from __future__ import annotations

import sqlite3

from sql_semantics.frontend import read_schema
from sql_semantics.ir.schema import Catalog
from sql_semantics.values.dialect import Dialect
from tests.differential.beside import Beside
from tests.differential.engines import DbApi

SETUP = (
    "CREATE TABLE t (k integer PRIMARY KEY, x text, n integer, f real)",
    "INSERT INTO t VALUES (1, 'abc', 5, 1.7), (2, 'a-c', -17, -2.3), (3, NULL, NULL, NULL), (4, '', 0, 100000.0),"
    " (5, 'A]c', 9223372036854775807, 0.1), (6, 'a*c', -1, 1234.5678)",
)
PATTERNS = (
    *("a*", "*c", "a?c", "[a-b]*", "[^a]*", "*[-]*", "a[*]c", "*]c", "[]A]*", "[^]a]*", "abc", "", "*", "?", "a[b-]c"),
    *("**c", "[a-]*", "A[]]c"),
)
FORMATS = (
    *(
        "%d",
        "%5d|",
        "%-5d|",
        "%05d",
        "%+d",
        "% d",
        "%i",
        "%x",
        "%X",
        "%o",
        "%u",
        "%s",
        "%10s|",
        "%-10s|",
        "%.2s|",
        "100%%",
    ),
    "no. %d of %s",
)
FLOATS = ("%f", "%.2f", "%8.1f|", "%-8.1f|", "%08.3f", "%+.1f", "%.0f", "%s")
STATEMENTS = (
    *(f"SELECT k, x GLOB '{one}', NOT x GLOB '{one}', glob('{one}', x) FROM t" for one in PATTERNS),
    *(f"SELECT k, printf('{one}', n, x), format('{one}', n) FROM t" for one in FORMATS),
    *(f"SELECT k, printf('{one}', f) FROM t" for one in FLOATS),
    "SELECT printf('%s-%s', x, n), printf('%c', 'xyz'), printf('%d', '42'), printf('%d', 2.9) FROM t",
    "SELECT k FROM t WHERE x GLOB 'a*'",
    "UPDATE t SET x = printf('%03d', k) WHERE x GLOB '?-?'",
)

LEFT_OPEN = (
    *(f"SELECT printf('{one}', n) FROM t" for one in ("%-05d|", "%+ d", "% +f", "%5%|", "%-5%|")),
    *(f"SELECT printf('{one}', 'é-c')" for one in ("%8s|", "%-8s|", "%.1s")),
)
"""Where versions or bytes of letters decide."""


def test_texts() -> None:
    engine = DbApi("sqlite", sqlite3.connect(":memory:", isolation_level=None), sqlite3.Error)
    assert [engine.run(sql).error for sql in SETUP] == [None, None]
    version = tuple(map(int, sqlite3.sqlite_version.split(".")))
    dialect = Dialect("sqlite", version=version)
    beside = Beside(engine, dialect, Catalog(read_schema(SETUP[:1], dialect), {}))
    found = {sql: beside.step(sql) for sql in STATEMENTS}
    assert not {sql: step.problem for sql, step in found.items() if step.problem}
    assert not {sql: step.outside for sql, step in found.items() if step.outside}
    assert beside.step("SELECT printf('%.1f', 0.25)").outside == "%f of a number near a half in sqlite"
    assert [beside.step(sql).outside is not None for sql in LEFT_OPEN] == [True] * len(LEFT_OPEN)

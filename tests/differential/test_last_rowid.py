"""last_insert_rowid() beside SQLite: explicit and given numbers, rows replaced, skipped and updated."""

from __future__ import annotations

import random
import sqlite3
from typing import Any

from sql_semantics.library import SqlLibrary
from sql_semantics.run import MemoryView
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import SqlType, Value

SCHEMA = (
    "CREATE TABLE t (id INTEGER PRIMARY KEY, v INTEGER UNIQUE)",
    "CREATE TABLE u (id INTEGER PRIMARY KEY AUTOINCREMENT, v INTEGER)",
    "CREATE TABLE w (v INTEGER)",
)
FORMS = (
    "INSERT INTO t (v) VALUES ({v})",
    "INSERT INTO t VALUES ({k}, {v})",
    "INSERT INTO t VALUES (NULL, {v})",
    "INSERT OR IGNORE INTO t VALUES ({k}, {v})",
    "INSERT OR REPLACE INTO t VALUES ({k}, {v})",
    "INSERT INTO t VALUES ({k}, {v}) ON CONFLICT (id) DO UPDATE SET v = v + 100",
    "INSERT INTO u (v) VALUES ({v}), ({k})",
    "INSERT INTO u VALUES ({k}, {v})",
    "UPDATE t SET v = v + 1000 WHERE id = {k}",
    "DELETE FROM t WHERE id = {k}",
)


def sequence(engine: sqlite3.Connection) -> int:
    """The number that AUTOINCREMENT gave last."""
    found = engine.execute("SELECT seq FROM sqlite_sequence WHERE name = 'u'").fetchone()
    return found[0] if found else 0


def asked(seed: int) -> int:
    """How often both were asked."""
    chance, engine = random.Random(seed), sqlite3.connect(":memory:")
    for text in SCHEMA:
        engine.execute(text)
    library, count = SqlLibrary(Dialect("sqlite"), SCHEMA), 0

    def choose(source: str, name: str, type: SqlType) -> Value:
        """The next number, as SQLite gives it (autoinc.html)."""
        assert source == ("rowid" if name == "t" else "auto")
        rows = [row[0] for _, row in view.scan(name)]
        drawn[name] = max([*rows, drawn.get(name, 0)], default=0) + 1
        return drawn[name]

    view: Any = MemoryView({"t": [], "u": [], "w": []}, choose=choose)
    for _ in range(25):
        drawn: dict[str, int] = {"u": sequence(engine)}
        sql = chance.choice(FORMS).format(k=chance.randrange(1, 9), v=chance.randrange(1, 30))
        try:
            engine.execute(sql)
        except sqlite3.IntegrityError:  # keys are not looked after by the view
            break
        library.program(sql).run(view, ())
        theirs = engine.execute("SELECT last_insert_rowid()").fetchall()
        if theirs != [(0,)]:
            assert list(library.program("SELECT last_insert_rowid()").run(view, ()).results[0].rows) == theirs, sql
            count += 1
        for table in ("t", "u"):
            assert sorted(row for _, row in view.scan(table)) == engine.execute(f"SELECT * FROM {table}").fetchall()
    return count


def test_the_last_number() -> None:
    assert sum(map(asked, range(60))) > 150

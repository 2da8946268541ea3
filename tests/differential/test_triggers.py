"""Triggers beside a real PostgreSQL: what they do where they are run; of others what is told that they may write, and
what comes of the write that fires them."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from sql_semantics.errors import Unsupported
from sql_semantics.library import SqlLibrary
from sql_semantics.run import MemoryView
from sql_semantics.values.dialect import Dialect
from tests.differential.engines import Postgres
from tests.differential.random_triggers import Tally, run_case

TABLES = (
    "CREATE TABLE t (k int PRIMARY KEY, v int, w int)",
    "CREATE TABLE seen (k int, what text)",
    "CREATE TABLE more (k int)",
    "CREATE TABLE parent (k int PRIMARY KEY)",
    "CREATE TABLE child (k int PRIMARY KEY REFERENCES parent (k))",
)
ROWS = {"t": [(1, 10, 0), (2, 20, 0)], "parent": [(1,)], "seen": [], "more": [], "child": []}
NOT_MODELLED = "PERFORM jsonb_path_exists('[]', '$');"
NOTE = "INSERT INTO seen (k, what) VALUES (NEW.k, TG_OP);"
TRIGGERS: tuple[tuple[str, str, str, frozenset[str] | None], ...] = (
    ("AFTER INSERT ON t FOR EACH ROW", f"{NOTE} RETURN NEW;", "INSERT INTO t VALUES (3, 1, 1)", frozenset({"seen"})),
    ("AFTER INSERT ON t FOR EACH ROW", "PERFORM pg_notify('a', NEW.k::text); RETURN NULL;",
     "INSERT INTO t VALUES (3, 1, 1)", frozenset()),
    ("AFTER UPDATE OR DELETE ON t FOR EACH STATEMENT", "DELETE FROM more; RETURN NULL;",
     "UPDATE t SET v = v + 1", frozenset({"more"})),
    ("BEFORE UPDATE ON t FOR EACH ROW", f"{NOTE} IF NEW.v > 3 THEN RETURN NEW; END IF; RETURN NEW;",
     "UPDATE t SET v = 5 WHERE k = 1", frozenset({"seen"})),
    ("BEFORE DELETE ON t FOR EACH ROW", "UPDATE seen SET k = NULL WHERE k = OLD.k; RETURN OLD;",
     "DELETE FROM t WHERE k = 1", frozenset({"seen"})),
    ("BEFORE UPDATE ON t FOR EACH ROW", "NEW.w := 9; RETURN NEW;", "UPDATE t SET v = 5", None),
    ("BEFORE UPDATE ON t FOR EACH ROW", "NEW.w = 9; RETURN NEW;", "UPDATE t SET v = 5", None),
    ("BEFORE UPDATE ON t FOR EACH ROW", "IF NEW.v = 5 THEN RETURN NULL; END IF; RETURN NEW;",
     "UPDATE t SET v = 5", None),
    ("BEFORE INSERT ON t FOR EACH ROW", "SELECT 7 INTO NEW.w; RETURN NEW;", "INSERT INTO t VALUES (3, 1, 1)", None),
    ("BEFORE DELETE ON t FOR EACH ROW", "RETURN NULL;", "DELETE FROM t", None),
    ("AFTER INSERT ON t FOR EACH ROW", "EXECUTE 'DELETE FROM more'; RETURN NEW;", "INSERT INTO t VALUES (3, 1, 1)",
     None),
    ("AFTER INSERT ON t FOR EACH ROW", "PERFORM helper(); RETURN NEW;", "INSERT INTO t VALUES (3, 1, 1)",
     frozenset({"more"})),
    ("AFTER INSERT ON t FOR EACH ROW", "SET search_path = other; RETURN NEW;", "INSERT INTO t VALUES (3, 1, 1)", None),
    ("BEFORE INSERT ON child FOR EACH ROW", "INSERT INTO parent VALUES (NEW.k) ON CONFLICT DO NOTHING; RETURN NEW;",
     "INSERT INTO child VALUES (5)", frozenset({"parent"})),
)  # fmt: skip


def contents(postgres: Any) -> dict[str, list[Any]]:
    return {name: sorted(postgres.execute(f"SELECT * FROM {name}").fetchall(), key=repr) for name in ROWS}


@pytest.mark.parametrize(("head", "body", "write", "expected"), TRIGGERS)
def test_what_a_trigger_reaches(
    postgres: Any, head: str, body: str, write: str, expected: frozenset[str] | None
) -> None:
    routines = [
        "CREATE FUNCTION helper() RETURNS int LANGUAGE sql AS 'INSERT INTO more VALUES (1) RETURNING 1'",
        f"CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {NOT_MODELLED} {body} END $$",
    ]
    trigger = f"CREATE TRIGGER x {head} EXECUTE FUNCTION f()"
    for text in (*TABLES, *routines, trigger):
        postgres.execute(text)
    postgres.execute("INSERT INTO more VALUES (4)")
    for name, rows in ROWS.items():
        for row in rows:
            postgres.execute(f"ALTER TABLE {name} DISABLE TRIGGER USER")
            postgres.execute(f"INSERT INTO {name} VALUES ({', '.join(map(str, row))})")
            postgres.execute(f"ALTER TABLE {name} ENABLE TRIGGER USER")
    library = SqlLibrary(Dialect("postgres", collation="C"), [*TABLES, trigger], routines)
    target = "child" if " child " in head else "t"
    table = library.catalog.tables[target]
    before = contents(postgres)
    if expected is None:
        assert table.unwritable
        with pytest.raises(Unsupported):
            library.program(write)
        return
    assert not table.unwritable
    assert frozenset().union(*(fired.reach.tables for fired in table.fires)) == expected
    view = MemoryView({**ROWS, "more": [(4,)]})
    try:
        postgres.execute(write)
        error = None
    except psycopg.Error as raised:
        error = raised.sqlstate
    after = contents(postgres)
    assert {name for name in ROWS if before[name] != after[name]} <= expected | {target}
    if target == "child":
        return  # what it checks by a foreign key is what the trigger writes: such a statement is not judged
    assert error is None
    library.program(write).run(view, ())
    assert sorted((row for _, row in view.scan(target)), key=repr) == after[target]


ARGUED = (
    ("BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION f('ab', 7)",
     "DECLARE row_ ALIAS FOR new; BEGIN row_.v := row_.v + tg_argv[1]::int * TG_NARGS; "
     "IF tg_argv[0] = 'ab' AND tg_argv[2] IS NULL THEN row_.w := length(tg_argv[0]); END IF; RETURN row_; END",
     "INSERT INTO t VALUES (3, 1, 1), (4, 2, 2)"),
    ("BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION f()",
     "DECLARE before_ ALIAS FOR old; n int; BEGIN IF count(*) = 0 FROM more WHERE k = new.k THEN new.w := 5; END IF; "
     "IF before_.v IS DISTINCT FROM new.v THEN n := max(k) FROM more; new.w := new.w + n; END IF; RETURN new; END",
     "UPDATE t SET v = v + k - 1"),
    ("BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION f()",
     "BEGIN IF new.k <> old.k THEN DELETE FROM t WHERE k = old.k; RETURN NULL; END IF; new.w := old.v; RETURN new; END",
     "UPDATE t SET v = v + 1 WHERE k = 2"),
)  # fmt: skip


@pytest.mark.parametrize(("head", "body", "write"), ARGUED)
def test_arguments_aliases_and_expressions_with_from(postgres: Any, head: str, body: str, write: str) -> None:
    routine = f"CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ {body} $$"
    for text in (*TABLES, "INSERT INTO t VALUES (1, 10, 0), (2, 20, 0)", "INSERT INTO more VALUES (2), (9)"):
        postgres.execute(text)
    for text in (routine, f"CREATE TRIGGER x {head}"):
        postgres.execute(text)
    library = SqlLibrary(Dialect("postgres", collation="C"), [*TABLES, f"CREATE TRIGGER x {head}"], [routine])
    view = MemoryView({**ROWS, "more": [(2,), (9,)]})
    library.program(write).run(view, ())
    postgres.execute(write)
    assert sorted(row for _, row in view.scan("t")) == contents(postgres)["t"]


OWN_TABLE = (
    "DELETE FROM t WHERE k = old.k; RETURN new;",
    "UPDATE t SET w = 3 WHERE k = new.k; RETURN new;",
    "INSERT INTO more VALUES (1); RETURN new;",
)


@pytest.mark.parametrize("body", OWN_TABLE)
def test_a_trigger_that_writes_to_the_table_whose_row_waits_is_refused(body: str) -> None:
    head = "CREATE TRIGGER x BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION f()"
    behind = "CREATE TRIGGER y AFTER INSERT ON more FOR EACH ROW EXECUTE FUNCTION g()"
    routines = [
        f"CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body} END $$",
        "CREATE FUNCTION g() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN UPDATE t SET v = 1; RETURN NULL; END $$",
    ]
    library = SqlLibrary(Dialect("postgres", collation="C"), [*TABLES, head, behind], routines)
    with pytest.raises(Unsupported, match="the trigger x of t, which writes to that table"):
        library.program("UPDATE t SET v = 9 WHERE k = 1").run(MemoryView(ROWS), ())
    library.program("UPDATE t SET v = 9 WHERE k = 7").run(MemoryView(ROWS), ())


@pytest.mark.parametrize(
    ("given", "body"),
    [
        ("007", "BEGIN new.w := length(tg_argv[0]); RETURN new; END"),
        ("'a'", "BEGIN new.w := length($q$tg_argv[0]$q$ || tg_argv[0]); RETURN new; END"),
        ("'a'", "DECLARE tg_argv text[]; BEGIN new.w := length(tg_argv[0]); RETURN new; END"),
    ],
)
def test_arguments_that_cannot_be_told(given: str, body: str) -> None:
    routine = f"CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ {body} $$"
    trigger = f"CREATE TRIGGER x BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION f({given})"
    library = SqlLibrary(Dialect("postgres", collation="C"), [*TABLES, trigger], [routine])
    with pytest.raises(Unsupported, match="the trigger x of t"):
        library.program("INSERT INTO t VALUES (3, 1, 1)").run(MemoryView(ROWS), ())


@pytest.mark.parametrize("seeds", [range(20), pytest.param(range(20, 1500), marks=pytest.mark.slow)], ids=str)
def test_random_triggers(postgres: Any, seeds: range) -> None:
    postgres.execute("SET statement_timeout = 5000")
    tally = Tally()
    engine = Postgres(postgres, "C")
    for seed in seeds:
        run_case(engine, seed, tally)
    assert not tally.differences, tally.differences[0]
    assert tally.run > len(seeds) and tally.compared > 5 * len(seeds) and tally.errors > len(seeds) / 2

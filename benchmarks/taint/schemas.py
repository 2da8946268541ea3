"""Random schemas whose definitions call one another, with statements that use them.

Everything has a number. What hangs on table k (a default, a check, a domain, a trigger, a rule, a policy) calls
functions of numbers from k on, and function i touches tables, views and functions beyond i, so that nothing calls
itself. Does not know what of it is modelled.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random

TABLES = 4


@dataclass(slots=True)
class World:
    """The definitions in the order in which they are made, `routines` before the tables; `filling`: the initial rows,
    before anything hangs on the tables; `statements`: what is run."""

    routines: list[str] = field(default_factory=list)
    tables: list[str] = field(default_factory=list)
    filling: list[str] = field(default_factory=list)
    hanging: list[str] = field(default_factory=list)
    statements: list[str] = field(default_factory=list)


def filled(k: int, random: Random) -> str:
    """Some rows of table k."""
    return f"INSERT INTO t{k} (id, a, b) VALUES " + ", ".join(f"({n}, {random.randint(1, 3)}, 1)" for n in (1, 2, 3))


# --- PostgreSQL -----------------------------------------------------------------------------------------------------


def postgres_world(random: Random) -> World:
    """Functions, domains, views, defaults, checks, triggers, rules and policies of PostgreSQL."""
    world = World()
    for i in range(TABLES):
        world.routines += [_function(i, random), _wrapper(i), _row_function(i, random), _trigger_function(i, random)]
        world.routines.append(f"CREATE PROCEDURE p{i}(x int) LANGUAGE plpgsql AS $$ BEGIN PERFORM f{i}(x); END $$")
    domains = [k for k in range(TABLES) if random.random() < 0.2]
    world.tables += [f"CREATE DOMAIN d{k} AS int CHECK (f{k}(VALUE) IS NOT NULL)" for k in domains]
    for k in range(TABLES):
        parent = f" REFERENCES t{k - 1} (id) ON DELETE CASCADE" if k and random.random() < 0.25 else ""
        world.tables.append(f"CREATE TABLE t{k} (id int PRIMARY KEY{parent}, a int, b int)")
        world.filling.append(filled(k, random))
    for k in range(TABLES):
        world.hanging += _on_table(k, domains, random)
    for j in range(TABLES):
        world.hanging += _view(j, random)
    world.statements = [_statement(random) for _ in range(random.randint(6, 11))]
    return world


def _write(i: int, random: Random) -> str:
    """A statement of function i."""
    k = random.randint(i, TABLES - 1)
    odd = random.random() < 0.2
    return random.choice(
        [
            f"UPDATE t{k} SET a = a + 1 WHERE id = {random.randint(1, 3)}{' AND hashtext(b::text) IS NOT NULL' * odd};",
            f"UPDATE t{k} SET b = x;",
            f"INSERT INTO t{k} (id, a) SELECT coalesce(max(id), 0) + 1, x FROM t{k};",
            f"INSERT INTO t{k} (id, a, b) SELECT coalesce(max(id), 0) + 1, x, 2 FROM t{k};",
            f"DELETE FROM t{k} WHERE id = {random.randint(1, 3)};",
            f"EXECUTE 'UPDATE t{k} SET a = 77';",
            "PERFORM 1;",
        ]
    )


def _function(i: int, random: Random) -> str:
    body = ""
    if i + 1 < TABLES:
        later = random.randint(i + 1, TABLES - 1)
        body = random.choice(
            [
                _write(i + 1, random),
                f"PERFORM f{later}(x);",
                f"PERFORM count(*) FROM v{later};",
                f"PERFORM h{later}(t) FROM t{later} t;",
                "",
            ]
        )
    odd = "PERFORM hashtext('x');" if random.random() < 0.5 else ""
    sql = f"SELECT f{i + 1}(x)" if i + 1 < TABLES and random.random() < 0.2 else None
    if sql is not None:
        return f"CREATE FUNCTION f{i}(x int) RETURNS int LANGUAGE sql AS $$ {sql} $$"
    return f"CREATE FUNCTION f{i}(x int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN {odd} {body} RETURN 1; END $$"


def _wrapper(i: int) -> str:
    """What an index and a generated column may call, and says less of itself than is true."""
    return f"CREATE FUNCTION g{i}(x int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN f{i}(x); END $$"


def _row_function(i: int, random: Random) -> str:
    """A function of a row, which can be called like a column."""
    return f"CREATE FUNCTION h{i}(r t{i}) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN f{i}(1); END $$"


def _trigger_function(i: int, random: Random) -> str:
    later = min(i + 1, TABLES - 1)
    body = re.sub(r"\bx\b", "1", _write(later, random)) if later > i else ""
    called = f"PERFORM f{i}(1);" if random.random() < 0.5 else ""
    own = random.choice(["", "", "NEW.b := 5;"])
    guard = f"IF TG_OP <> 'DELETE' THEN {own} RETURN NEW; END IF;"
    return (
        f"CREATE FUNCTION w{i}() RETURNS trigger LANGUAGE plpgsql AS $$ "
        f"BEGIN {called} {body} {guard} RETURN OLD; END $$"
    )


def _on_table(k: int, domains: list[int], random: Random) -> Iterator[str]:
    """What hangs on a table."""
    later = random.randint(min(k + 1, TABLES - 1), TABLES - 1)
    event = random.choice(["INSERT", "UPDATE", "DELETE", "INSERT OR UPDATE"])
    when = random.choice(["BEFORE", "AFTER"])
    each = random.choice(["ROW", "STATEMENT"])
    choices: list[tuple[float, str]] = [
        (0.15, f"ALTER TABLE t{k} ALTER COLUMN b SET DEFAULT f{k}(1)"),
        (0.1, f"ALTER TABLE t{k} ADD CHECK (f{k}(a) IS NOT NULL)"),
        (0.08, f"CREATE INDEX i{k} ON t{k} (g{k}(a))"),
        (0.06, f"ALTER TABLE t{k} ADD COLUMN c int GENERATED ALWAYS AS (g{k}(a)) STORED"),
        (0.2, f"CREATE TRIGGER y{k} {when} {event} ON t{k} FOR EACH {each} EXECUTE FUNCTION w{k}()"),
        (0.05 * (later > k), f"CREATE RULE r{k} AS ON INSERT TO t{k} DO ALSO UPDATE t{later} SET a = f{later}(1)"),
        (0.04 * (later > k), f"CREATE RULE r{k} AS ON UPDATE TO t{k} DO INSTEAD DELETE FROM t{later} WHERE id = 1"),
    ]
    if k in domains:
        yield f"ALTER TABLE t{k} ALTER COLUMN a TYPE d{k}"
    for chance, text in choices:
        if random.random() < chance:
            yield text
    if random.random() < 0.06:
        yield f"CREATE POLICY q{k} ON t{k} USING (f{k}(a) IS NOT NULL)"
        yield f"ALTER TABLE t{k} ENABLE ROW LEVEL SECURITY"
        yield f"ALTER TABLE t{k} FORCE ROW LEVEL SECURITY"


def _view(j: int, random: Random) -> Iterator[str]:
    k = random.randint(j, TABLES - 1)
    query = random.choice(
        [
            f"SELECT id, a, b FROM t{k}",
            f"SELECT ctid, id, a, b FROM t{k}",
            f"SELECT id, f{j}(a) AS a, b FROM t{k}",
            f"SELECT id, a, b FROM t{k} WHERE f{j}(a) > 0",
            f"SELECT max(id) AS id, max(h{k}(t)) AS a, 1 AS b FROM t{k} t",
            f"SELECT f{j}(1) AS id, 1 AS a, 2 AS b",
        ]
    )
    yield f"CREATE VIEW v{j} AS {query}"
    if random.random() < 0.4:
        yield f"CREATE VIEW u{j} AS SELECT id, a FROM v{j}"


def _statement(random: Random) -> str:
    k, n, m = random.randrange(TABLES), random.randint(1, 3), random.randint(4, 40)
    name = random.choice([f"t{k}", f"t{k}", f"v{k}"])
    odd = random.choice(["", "", "", " AND hashtext('a') IS NOT NULL"])
    reads = [
        f"SELECT id, a, b FROM t{k} ORDER BY id",
        f"SELECT a FROM t{k} WHERE id = {n}",
        f"SELECT count(*), sum(a) FROM t{k}",
        f"SELECT sum(b) FROM t{k} WHERE a < {n}",
    ]
    others = [
        f"SELECT * FROM v{k}",
        f"SELECT count(*) FROM v{k}",
        f"SELECT f{k}({n})",
        f"SELECT id, f{k}(a) FROM t{k}",
        f"SELECT t{k}.h{k} FROM t{k}",
        f"SELECT x FROM f{k}(1) AS x",
        f"CALL p{k}({n})",
        f"INSERT INTO {name} (id, a) VALUES ({m}, {n})",
        f"INSERT INTO {name} (id, a, b) VALUES ({m}, {n}, 3)",
        f"INSERT INTO t{k} (id, a, b) VALUES ({m}, {n}, hashtext('a'))",
        f"UPDATE {name} SET a = {n} WHERE id = {n}{odd}",
        f"UPDATE {name} SET b = b + 1{odd.replace(' AND', ' WHERE')}",
        f"DELETE FROM {name} WHERE id = {n}{odd}",
        f"WITH x AS (INSERT INTO t{k} (id, a) VALUES ({m}, 1) RETURNING id) SELECT id FROM x",
        f"SELECT CAST(5 AS d{k})",
        f"CREATE OR REPLACE VIEW z AS SELECT f{k}(1) AS a",
        "SELECT * FROM z",
    ]
    return random.choice(reads if random.random() < 0.5 else others)


# --- SQLite ---------------------------------------------------------------------------------------------------------


def sqlite_world(random: Random) -> World:
    """Views, triggers on tables and on views, and foreign keys of SQLite."""
    world = World()
    for k in range(TABLES):
        parent = f" REFERENCES t{k - 1} (id) ON DELETE CASCADE" if k and random.random() < 0.25 else ""
        world.tables.append(f"CREATE TABLE t{k} (id INTEGER PRIMARY KEY{parent}, a INTEGER, b INTEGER)")
        world.filling.append(filled(k, random))
    for k in range(TABLES):
        odd = random.choice(["", "", ", quote(a) AS q"])
        world.hanging.append(f"CREATE VIEW v{k} AS SELECT id, a, b{odd} FROM t{k}")
        for event in ("INSERT", "UPDATE", "DELETE"):
            if random.random() < 0.5:
                body = _sqlite_write(k, random)
                world.hanging.append(f"CREATE TRIGGER x{k}{event} INSTEAD OF {event} ON v{k} BEGIN {body} END")
            if random.random() < 0.25 and k + 1 < TABLES:
                when = random.choice(["BEFORE", "AFTER"])
                body = _sqlite_write(k + 1, random)
                world.hanging.append(f"CREATE TRIGGER y{k}{event} {when} {event} ON t{k} BEGIN {body} END")
    world.statements = [_sqlite_statement(random) for _ in range(random.randint(6, 11))]
    return world


def _sqlite_write(i: int, random: Random) -> str:
    k = random.randint(i, TABLES - 1)
    return random.choice(
        [
            f"UPDATE t{k} SET a = a + 1 WHERE id = {random.randint(1, 3)};",
            f"INSERT INTO t{k} (id, a, b) SELECT max(id) + 1, 1, 2 FROM t{k};",
            f"DELETE FROM t{k} WHERE id = {random.randint(1, 3)};",
            f"UPDATE v{k} SET b = 6;" if k > i else f"UPDATE t{k} SET b = 6;",
        ]
    )


def _sqlite_statement(random: Random) -> str:
    k, n, m = random.randrange(TABLES), random.randint(1, 3), random.randint(4, 40)
    name = random.choice([f"t{k}", f"v{k}"])
    return random.choice(
        [
            f"SELECT id, a, b FROM t{k} ORDER BY id",
            f"SELECT a FROM t{k} WHERE id = {n}",
            f"SELECT count(*), sum(a) FROM t{k}",
            f"SELECT id, a, b FROM v{k} ORDER BY id",
            f"INSERT INTO {name} (id, a, b) VALUES ({m}, {n}, 1)",
            f"INSERT OR REPLACE INTO t{k} (id, a, b) VALUES ({n}, {m}, 1)",
            f"UPDATE {name} SET a = {m} WHERE id = {n}",
            f"DELETE FROM {name} WHERE id = {n}",
        ]
    )


WORLDS: dict[str, Callable[[Random], World]] = {"postgres": postgres_world, "sqlite": sqlite_world}

"""Logs whose statements would take for ever or fill all memory, by name. Does not know their limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

TABLE = "CREATE TABLE t (id INT PRIMARY KEY, v NUMERIC, s TEXT)"
ROWS = {"t": {"columns": ["id", "v", "s"], "rows": [[i, i, "a" * 30] for i in range(1000)]}}
DEEP = 10_000


@dataclass(frozen=True, slots=True)
class Hostile:
    """One log of one transaction: its statements, and what its header has besides a table of 1,000 rows."""

    statements: Sequence[str]
    dialect: str = "postgres"
    header: Mapping[str, Any] = field(default_factory=dict)
    params: Sequence[Any] | None = None


def _chain(length: int) -> dict[str, Any]:
    """A table whose rows each refer to the one before, and go with it."""
    schema = "CREATE TABLE c (id INT PRIMARY KEY, up INT REFERENCES c (id) ON DELETE CASCADE ON UPDATE CASCADE)"
    rows = [[i, None if i == 0 else i - 1] for i in range(length)]
    return {"schema": [TABLE, schema], "initial": {**ROWS, "c": {"columns": ["id", "up"], "rows": rows}}}


def _fan(width: int) -> dict[str, Any]:
    """A row that so many others refer to, each with one of a third table."""
    schema = [
        "CREATE TABLE a (id INT PRIMARY KEY)",
        "CREATE TABLE b (id INT PRIMARY KEY, a INT REFERENCES a (id) ON DELETE CASCADE)",
        "CREATE TABLE d (id INT PRIMARY KEY, b INT REFERENCES b (id) ON DELETE CASCADE)",
    ]
    children = [[i, 1] for i in range(width)]
    below = [[i, i] for i in range(width)]
    return {
        "schema": schema,
        "initial": {
            "a": {"columns": ["id"], "rows": [[1]]},
            "b": {"columns": ["id", "a"], "rows": children},
            "d": {"columns": ["id", "b"], "rows": below},
        },
    }


def _plpgsql(body: str, head: str = "PROCEDURE p()") -> dict[str, Any]:
    return {"procedures": [f"CREATE {head} LANGUAGE plpgsql AS $$ BEGIN {body} END $$"]}


def _psm(body: str) -> dict[str, Any]:
    return {"procedures": [f"CREATE PROCEDURE p() BEGIN {body} END"]}


def _trigger(event: str, body: str) -> dict[str, Any]:
    function = f"CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body} RETURN NEW; END $$"
    trigger = f"CREATE TRIGGER g AFTER {event} ON t FOR EACH ROW EXECUTE FUNCTION f()"
    return {"procedures": [function], "schema": [TABLE, trigger]}


JOINS = {
    "joins 1,000 x 1,000 x 1,000": Hostile(["SELECT count(*) FROM t a, t b, t c WHERE a.v + b.v = c.v - 1"]),
    "joins, SQLite": Hostile(["SELECT sum(a.id * b.id * c.id) FROM t a, t b, t c"], "sqlite"),
    "joins, MySQL": Hostile(["UPDATE t a, t b, t c SET a.v = 1 WHERE a.v + b.v + c.v = -1"], "mysql"),
    "joins, DuckDB": Hostile(["SELECT max(a.v) FROM t a, t b, t c GROUP BY a.v + b.v + c.v"], "duckdb"),
    "left joins on an inequality": Hostile(["SELECT 1 FROM t a LEFT JOIN t b ON a.v < b.v LEFT JOIN t c ON b.v < c.v"]),
    "cross joins in a subquery": Hostile(
        ["SELECT id FROM t WHERE v = (SELECT count(*) FROM t a, t b WHERE a.v + b.v > t.v)"]
    ),
    "cross joins, sorted": Hostile(["SELECT a.s || b.s || c.s FROM t a, t b, t c ORDER BY 1 LIMIT 1"]),
    "cross joins, distinct": Hostile(["SELECT DISTINCT a.id, b.id, c.id FROM t a, t b, t c"]),
    "window over a join": Hostile(["SELECT sum(a.v) OVER (ORDER BY a.v + b.v) FROM t a, t b, t c"]),
    "insert of a join": Hostile(
        ["INSERT INTO t SELECT a.id * 1000000 + b.id * 1000 + c.id, 1, 'x' FROM t a, t b, t c"]
    ),
    "exists of exists": Hostile(
        [
            "SELECT id FROM t WHERE EXISTS "
            "(SELECT 1 FROM t a WHERE EXISTS (SELECT 1 FROM t b WHERE b.v + a.v = -t.v - 1))"
        ]
    ),
}

LOOPS = {
    "WHILE true": Hostile(["CALL p()"], header=_plpgsql("WHILE true LOOP UPDATE t SET v = v + 1; END LOOP;")),
    "LOOP of nothing": Hostile(["CALL p()"], header=_plpgsql("LOOP NULL; END LOOP;")),
    "FOR to 10^12": Hostile(["CALL p()"], header=_plpgsql("FOR i IN 1..1000000000000 LOOP NULL; END LOOP;")),
    "handler in a loop": Hostile(
        ["CALL p()"],
        header=_plpgsql(
            "LOOP BEGIN INSERT INTO t VALUES (1, 1, 'x'); EXCEPTION WHEN unique_violation THEN NULL; END; END LOOP;"
        ),
    ),
    "WHILE, MySQL": Hostile(["CALL p()"], "mysql", _psm("WHILE 1 = 1 DO UPDATE t SET v = v + 1; END WHILE;")),
    "REPEAT that inserts, MySQL": Hostile(
        ["CALL p()"],
        "mysql",
        _psm(
            "DECLARE n INT DEFAULT 5000; "
            "REPEAT INSERT INTO t VALUES (n, n, 'x'); SET n = n + 1; UNTIL n < 0 END REPEAT;"
        ),
    ),
    "procedure that calls itself": Hostile(["CALL p()"], header=_plpgsql("CALL p();")),
    "function that calls itself twice": Hostile(
        ["SELECT p()"], header=_plpgsql("RETURN p() + p();", "FUNCTION p() RETURNS int")
    ),
    "trigger that fires itself": Hostile(
        ["UPDATE t SET v = v + 1 WHERE id = 1"], header=_trigger("UPDATE", "UPDATE t SET v = v + 1 WHERE id = NEW.id;")
    ),
    "trigger that doubles the rows": Hostile(
        ["INSERT INTO t VALUES (-1, 1, 'x')"],
        header=_trigger("INSERT", "INSERT INTO t VALUES (NEW.id * 2, 1, 'x'), (NEW.id * 2 - 1, 1, 'x');"),
    ),
    "WITH RECURSIVE": Hostile(
        ["WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r) SELECT count(*) FROM r"]
    ),
    "WITH RECURSIVE that doubles": Hostile(
        ["WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT r.i + t.id FROM r, t) SELECT count(*) FROM r"]
    ),
    "WITH RECURSIVE, SQLite": Hostile(
        ["WITH RECURSIVE r(i, x) AS (SELECT 1, 'a' UNION SELECT i + 1, x || x FROM r) SELECT max(length(x)) FROM r"],
        "sqlite",
    ),
}

CASCADES = {
    "cascade along 20,000 rows": Hostile(["DELETE FROM c WHERE id = 0"], header=_chain(20_000)),
    "cascade to 20,000 and 20,000 rows": Hostile(["DELETE FROM a WHERE id = 1"], header=_fan(20_000)),
    "updates along 20,000 rows": Hostile(["UPDATE c SET id = id + 100000"], header=_chain(20_000)),
}

TEXTS = {
    "doubling texts": Hostile(["UPDATE t SET s = s || s"] * 60),
    "doubling by concat, MySQL": Hostile(["UPDATE t SET s = concat(s, s, s, s)"] * 40, "mysql"),
    "doubling by string_agg": Hostile(["UPDATE t SET s = (SELECT string_agg(s, s) FROM t x)"] * 6),
    "doubling by group_concat, SQLite": Hostile(
        ["UPDATE t SET s = (SELECT group_concat(s, s) FROM t x)"] * 6, "sqlite"
    ),
    "repeat('x', 1e9)": Hostile(
        ["SELECT length(repeat('x', 1000000000))", "UPDATE t SET s = repeat('ab', 1000000000)"]
    ),
    "lpad to 10^9": Hostile(["UPDATE t SET s = lpad(s, 1000000000, 'xy')"]),
    "replace by more, often": Hostile(["UPDATE t SET s = replace(s, 'a', repeat('a', 1000))"] * 8),
    "LIKE %a%a%a%b": Hostile(["SELECT repeat('a', 100000) LIKE '%a%a%a%a%a%a%a%b'"]),
    "LIKE of _ and %": Hostile([f"SELECT repeat('a', 30000) LIKE '{'%_' * 2000}b'"]),
    "LIKE of rows": Hostile([f"SELECT id FROM t WHERE s LIKE '{'%a' * 20}%b'"], "mysql"),
    "regular expression a*a*a*b": Hostile(["SELECT repeat('a', 9000) ~ 'a*a*a*a*a*a*b'"]),
    "regular expression (a+)+b": Hostile(["SELECT repeat('a', 40) ~ '^(a+)+b$'"]),
    "regular expression, back reference": Hostile([r"SELECT repeat('a', 60) ~ '^(a*)*\1b$'"]),
    "regular expression, MySQL": Hostile(["SELECT repeat('a', 40) REGEXP '^(a|a)*b$'"], "mysql"),
    "regexp_replace": Hostile(["SELECT regexp_replace(repeat('a', 50), '(a|aa)+$', 'b')"]),
    "SIMILAR TO": Hostile(["SELECT repeat('a', 40) SIMILAR TO '(a|aa)*b'"]),
}

NUMBERS = {
    "10^100000": Hostile(["SELECT 10 ^ 100000", "SELECT 10.0 ^ 100000.5"]),
    "power(10, 100000), MySQL": Hostile(["SELECT power(10, 100000)"], "mysql"),
    "a literal of 100,000 digits": Hostile(["SELECT " + "9" * 100_000, f"SELECT {'7' * 100_000} * {'7' * 100_000}"]),
    "1e1000000": Hostile(["SELECT 1e1000000::numeric", "SELECT 1e-1000000 + 1e1000000"]),
    "squares": Hostile(["UPDATE t SET v = (v + 2) * (v + 2)"] * 60),
    "squares, SQLite": Hostile(["UPDATE t SET v = v * v + 2"] * 200, "sqlite"),
    "shift": Hostile(["SELECT 1 << 1000000000"], "sqlite"),
    "a parameter of 100,000 digits": Hostile(["UPDATE t SET v = $1 * $1"], params=["9" * 100_000]),
    "factorial": Hostile(["SELECT factorial(1000000)"]),
}

ROWS_WITHOUT_END = {
    "generate_series(1, 10^12)": Hostile(["SELECT count(*) FROM generate_series(1, 1000000000000)"]),
    "generate_series in SELECT": Hostile(["INSERT INTO t SELECT generate_series(1001, 2000000000), 1, 'x'"]),
    "generate_series of dates": Hostile(
        ["SELECT count(*) FROM generate_series(timestamp '0001-01-01', timestamp '9999-01-01', interval '1 second')"]
    ),
    "range, DuckDB": Hostile(["SELECT count(*) FROM range(1000000000000)"], "duckdb"),
    "unnest of a parameter": Hostile(
        ["SELECT count(*) FROM unnest($1::int[]) a, unnest($1::int[]) b, unnest($1::int[]) c"],
        params=[list(range(1000))],
    ),
    "LIMIT and OFFSET of 10^18": Hostile(["SELECT id FROM t LIMIT 1000000000000000000 OFFSET 1000000000000000000"]),
    "OFFSET into a join": Hostile(["SELECT a.id FROM t a, t b, t c LIMIT 1 OFFSET 999999999"]),
    "LIMIT of 30 digits": Hostile(["SELECT id FROM t LIMIT 100000000000000000000000000000"]),
    "array_agg of a join": Hostile(["SELECT array_agg(a.id) FROM t a, t b, t c"]),
}

DEPTHS = {
    "parentheses": Hostile(["SELECT " + "(" * DEEP + "1" + ")" * DEEP]),
    "subqueries": Hostile(["SELECT id FROM t WHERE id = " + "(SELECT " * DEEP + "1" + ")" * DEEP]),
    "CASE": Hostile(["SELECT " + "CASE WHEN true THEN " * DEEP + "1" + " END" * DEEP], "mysql"),
    "functions": Hostile(["SELECT " + "abs(" * DEEP + "1" + ")" * DEEP], "sqlite"),
    "sums": Hostile(["SELECT " + " + ".join(["1"] * 100_000)]),
    "OR of 100,000": Hostile(["SELECT id FROM t WHERE " + " OR ".join(f"id = {n}" for n in range(100_000))]),
    "deep JSON": Hostile(["SELECT '" + "[" * DEEP + "]" * DEEP + "'::jsonb"]),
    "deep JSON objects": Hostile(["SELECT '" + '{"a":' * DEEP + "1" + "}" * DEEP + "'::jsonb -> 'a'"]),
    "deep arrays": Hostile(["SELECT " + "ARRAY[" * DEEP + "1" + "]" * DEEP]),
    "deep array text": Hostile(["SELECT '" + "{" * DEEP + "}" * DEEP + "'::int[]"]),
    "BEGIN in a body": Hostile(
        ["CALL p()"],
        "mysql",
        {"procedures": ["CREATE PROCEDURE p() " + "BEGIN " * DEEP + "SELECT 1; " + "END; " * (DEEP - 1) + "END"]},
    ),
    "10,000 columns": Hostile(["SELECT " + ", ".join(f"{n} AS c{n}" for n in range(DEEP))]),
    "a table of 2,000 columns": Hostile(
        ["SELECT * FROM w a, w b, w c"],
        header={"schema": ["CREATE TABLE w (" + ", ".join(f"c{n} INT" for n in range(2000)) + ")"], "initial": {}},
    ),
    "300 views upon views": Hostile(
        ["SELECT count(*) FROM v299"],
        header={
            "schema": [TABLE, "CREATE VIEW v0 AS SELECT id FROM t"]
            + [f"CREATE VIEW v{n} AS SELECT a.id FROM v{n - 1} a, v{n - 1} b" for n in range(1, 300)]
        },
    ),
}

FAMILIES: Mapping[str, Mapping[str, Hostile]] = {
    "joins": JOINS,
    "loops": LOOPS,
    "cascades": CASCADES,
    "texts": TEXTS,
    "numbers": NUMBERS,
    "rows": ROWS_WITHOUT_END,
    "depths": DEPTHS,
}

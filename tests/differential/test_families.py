"""Enums, domains, arrays, json and jsonb beside a real PostgreSQL: results letter by letter, their types, errors."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Sequence
from typing import Any

import psycopg
import pytest
from psycopg.pq import Format

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.library import SqlLibrary
from sql_semantics.run import MemoryView
from sql_semantics.values.casts.cast import caster
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import TEXT, Kind, SqlType, Value
from troubadour.execution.prepared import arguments_of, result_types
from troubadour.model.values import param_shape, read_value

POSTGRES = Dialect("postgres", collation="C")
SCHEMA = (
    "CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy', 'not ok')",
    "CREATE TYPE public.other AS ENUM ('ok')",
    "CREATE DOMAIN few AS integer DEFAULT 3 CHECK (VALUE > 0) CHECK (VALUE < 100)",
    "CREATE DOMAIN named AS text NOT NULL",
    "CREATE DOMAIN plain AS integer",
    "CREATE TABLE t (k int PRIMARY KEY, m mood, o other, a int[], s text[], n numeric(6,2)[], j json, b jsonb,"
    " ms mood[], v text, f few, p plain, bo boolean[], big bigint[])",
    "CREATE TABLE w (k int PRIMARY KEY, f few NOT NULL, g named, m mood DEFAULT 'ok', a int[] DEFAULT '{}', b jsonb,"
    " c varchar(3)[])",
)
ROWS = (
    "1, 'sad', 'ok', '{1,2,3}', '{a,\"b c\",NULL}', '{1.50,2}', '{\"a\": 1, \"b\": [1, 2], \"a\": \"x\"}',"
    " '{\"a\": 1, \"b\": [1, 2], \"cc\": {\"d\": null}}', '{sad,ok}', 'a', 5, 1, '{t,f,NULL}', '{1,2}'",
    "2, 'happy', NULL, '{}', '{}', '{}', '[1, \"two\", null, {\"a\":  1.50 }]', '[1, \"two\", null, {\"a\": 1.50}]',"
    " '{}', 'two', NULL, 2, '{}', '{3}'",
    "3, NULL, 'ok', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 7, NULL, NULL, NULL",
    "4, 'ok', 'ok', '{2,NULL}', '{\"NULL\",\"\",\"x,y\",\"\\\"q\\\\\"}', '{NULL}', '\"text \\u00e4\"', '\"text\"',"
    " '{NULL,happy}', 'text', 99, 4, '{NULL}', '{NULL,2}'",
    "5, 'not ok', NULL, '{3,3,1}', '{two}', '{3}', ' 12.50 ', '12.50', '{ok,ok}', 'b', 12, 5, '{t}', '{1,1}'",
    "6, 'sad', NULL, '{1}', '{a}', '{1.5}', '{\"k\": {\"a\": [true, false]}}', '{\"b\": \"x\", \"a\": true,"
    " \"bb\": 1e2}', '{sad}', 'true', 1, 6, '{f}', '{2}'",
)
EXPRESSIONS = (
    *("m", "o", "m = 'ok'", "m <> 'sad'", "m < 'happy'", "m >= m", "m = o", "m = v", "m = 'none'", "m::text"),
    "v::mood",
    *("'ok'::mood", "'nope'::mood", "m IN ('sad', 'ok')", "m IS NULL", "coalesce(m, 'ok')", "m BETWEEN 'sad' AND 'ok'"),
    *("CASE WHEN k > 2 THEN m ELSE 'ok' END", "CASE WHEN k > 2 THEN m ELSE o END", "m IS DISTINCT FROM 'ok'"),
    *("greatest(m, 'ok')", "m::text || v", "nullif(m, 'sad')", "m = ANY (ms)", "'ok' = ANY (ms)", "m <> ALL (ms)"),
    *("a", "s", "n", "ms", "a = '{1,2,3}'", "a = ARRAY[1,2,3]", "a <> a", "a = big", "a IS NULL", "s = '{}'"),
    *("k = ANY (a)", "k <> ALL (a)", "k < ANY (a)", "k >= ALL (a)", "2 = ANY (big)", "v = ANY (s)", "1.5 = ANY (n)"),
    *("a[1]", "s[2]", "a[0]", "a[-1]", "ms[1]", "cardinality(a)", "array_length(a, 1)", "array_length(s, 2)"),
    *("array_append(a, 4)", "array_append(a, NULL)", "array_prepend(0, a)", "array_cat(a, a)", "array_remove(a, 3)"),
    *("array_position(a, 3)", "array_position(s, 'a')", "array_position(a, NULL)", "array_replace(a, 3, 9)"),
    *("a || 4", "0 || a", "a || a", "a || '{7,8}'", "s || 'x'::text", "s || '{x}'", "array_to_string(a, ',')"),
    *("array_to_string(s, '-', '*')", "array_to_string(bo, ',')", "string_to_array(v, 't')", "array_to_string(n, ' ')"),
    *("a @> ARRAY[1]", "a @> '{1,3}'", "a && ARRAY[3,4]", "s && '{a}'", "a @> '{}'", "a::text", "s::text", "bo::text"),
    *("a::bigint[]", "a::text[]", "s::int[]", "n::int[]", "v::int[]", "'{1,2}'::int[]", "'{a,b}'::mood[]"),
    "ms::text[]",
    *("'{sad}'::mood[] || m", "ARRAY[m, 'ok']", "ARRAY[k, 2]", "ARRAY['a', v]", "ARRAY[1, 2.5]", "ARRAY[]::text[]"),
    *("ARRAY['1', '2']::int[]", "ARRAY[1.5, 2]::int[]", "array_upper(a, 1)", "array_ndims(s)", "coalesce(a, '{}')"),
    *("bo", "array_lower(a, 1)", "a IS DISTINCT FROM '{}'", "CASE WHEN k < 3 THEN a ELSE '{9}' END", "'{1,2'::int[]"),
    *("j", "b", "b::text", "j::text", "j::jsonb", "b::json", "v::jsonb", "v::json", "j -> 'a'", "b -> 'a'"),
    "j ->> 'a'",
    *("b ->> 'a'", "j -> 0", "b -> 0", "j ->> 1", "b ->> 1", "b -> -1", "j -> -1", "j ->> 3", "b ->> 3", "b -> v"),
    *("j -> 'b' -> 1", "b -> 'b' ->> 0", "b -> 'cc' ->> 'd'", "j -> 'k' -> 'a' ->> 0", "b -> k", "j -> k", "j ->> v"),
    *("b = '{\"a\": 1}'", "b = '[1, \"two\", null, {\"a\": 1.5}]'", "b = '12.5'", "b <> b", "b = j::jsonb"),
    "b IS NULL",
    *("j = j", "b @> '{\"a\": 1}'", "b @> '[1]'", "b @> '1'", "b @> '{\"b\": [2]}'", "b ? 'a'", "b ? 'two'"),
    "b ? 'text'",
    *("b || '{\"z\": 1}'", "b || b", "b - 'a'::text", "b - 0", "b - -1", "jsonb_typeof(b)", "jsonb_array_length(b)"),
    *("(b ->> 'a')::int", "(b ->> 'a')::int + 1", "b ->> 'a' = '1'", "coalesce(b ->> 'zz', 'none')"),
    "b -> 'b' = '[1, 2]'",
    *("'[1, 2.0, 1e2, -0, 1E-3]'::jsonb", "'{\"b\": 1, \"aa\": 2, \"a\": 3, \"a\": 4}'::jsonb", "'{\"a\" 1}'::jsonb"),
    *("'\"\\u00e4\\n\\u0001\\/\"'::jsonb", "' [ ] '::jsonb", "' [ ] '::json", "'{}'::jsonb || '{}'", "'01'::jsonb"),
    *("'NaN'::jsonb", "'\"\\ud83d\\ude00\"'::jsonb", "'[1,]'::jsonb", "'tRue'::jsonb", "'\"a\tb\"'::jsonb"),
    "''::jsonb",
    *("f", "f + 1", "f = 5", "p", "p + k", "p::text", "k::plain", "'7'::plain", "coalesce(p, 0)", "f::text"),
    *("m || 'x'", "a + 1", "lower(m)", "length(b)", "sum(k)", "b + 1", "a -> 0", "v -> 'a'", "m -> 'a'", "j - 'a'"),
)  # fmt: skip
QUERIES = (
    "SELECT m, count(*) FROM t GROUP BY m ORDER BY m",
    "SELECT DISTINCT m FROM t ORDER BY m DESC",
    "SELECT k FROM t WHERE m > 'sad' ORDER BY m, k",
    "SELECT min(m), max(m) FROM t",
    "SELECT a, count(*) FROM t GROUP BY a",
    "SELECT count(DISTINCT b) FROM t",
    "SELECT array_agg(k ORDER BY k DESC) FROM t",
    "SELECT array_agg(v ORDER BY k) FILTER (WHERE k > 1) FROM t",
    "SELECT m, array_agg(k ORDER BY k) FROM t GROUP BY m",
    "SELECT array_agg(k ORDER BY k) FROM t WHERE k > 99",
    "SELECT array_agg(DISTINCT m ORDER BY m) FROM t",
    "SELECT array_agg(m ORDER BY k), array_agg(b ORDER BY k) FROM t WHERE k < 3",
    "SELECT t.k, u.x FROM t, unnest(t.a) AS u (x)",
    "SELECT t.k, u.x, u.n FROM t CROSS JOIN LATERAL unnest(t.s) WITH ORDINALITY AS u (x, n)",
    "SELECT t.k, u.x, u.y FROM t, unnest(t.a, t.s) AS u (x, y) WHERE t.k < 4",
    "SELECT x FROM unnest(ARRAY[3,1,2]) AS x ORDER BY x",
    "SELECT k FROM t WHERE EXISTS (SELECT 1 FROM unnest(t.a) AS x WHERE x = 3)",
    "SELECT k, (SELECT sum(x) FROM unnest(t.a) AS x) FROM t",
    "SELECT one.k, other.k FROM t one JOIN t other ON one.m = other.m AND one.b IS NOT DISTINCT FROM other.b",
    "SELECT k FROM t WHERE a = ANY (ARRAY['{1,2,3}'::int[]])",
    "SELECT k FROM t ORDER BY a",
    "SELECT unnest(a) FROM t",
    "SELECT m FROM t UNION SELECT 'ok'",
    "VALUES ('ok'::mood), ('sad')",
    "SELECT b ->> 'a' AS x, count(*) FROM t GROUP BY b ->> 'a'",
    "SELECT sum((b ->> 'a')::int) FROM t WHERE jsonb_typeof(b -> 'a') = 'number'",
)  # fmt: skip
WRITES = (
    "INSERT INTO w (k, f, g) VALUES (1, 5, 'a')",
    "INSERT INTO w (k, f, g) VALUES (2, -5, 'a')",
    "INSERT INTO w (k, f, g) VALUES (3, 500, NULL)",
    "INSERT INTO w (k, f, g) VALUES (4, NULL, 'a')",
    "INSERT INTO w (k, f) VALUES (5, 1)",
    "INSERT INTO w (k, g) VALUES (6, 'b')",
    "INSERT INTO w VALUES (7, 1, 'a', 'happy', '{1,2}', '{\"a\": 1}', '{abc,de}')",
    "INSERT INTO w VALUES (8, 1, 'a', 'bad', '{1,2}', '{\"a\": 1}')",
    "INSERT INTO w VALUES (8, 1, 'a', 'ok', '{x}', '{\"a\": 1}')",
    "INSERT INTO w VALUES (9, 1, 'a', 'ok', '{1}', '{\"a\" 1}')",
    "INSERT INTO w VALUES (9, 1, 'a', 'ok', '{1}', NULL, '{abcd}')",
    "INSERT INTO w (k, f, g, m) SELECT k + 20, k, 'x', m FROM t",
    "INSERT INTO w (k, f, g, m) SELECT k + 40, k, 'x', v FROM t",
    "INSERT INTO w (k, f, g, a) SELECT x, 1, y, ARRAY[x] FROM unnest(ARRAY[60,61], ARRAY['p','q']) AS u (x, y)",
    "UPDATE w SET f = f - 3 WHERE k = 1",
    "UPDATE w SET f = f - 3 WHERE k = 1",
    "UPDATE w SET m = 'sad' WHERE m = 'ok'",
    "UPDATE w SET a = a || k, b = coalesce(b, '{}') || '{\"x\": 2}'",
    "UPDATE w SET a = array_remove(a, 2), b = b - 'x'::text WHERE k = 7",
    "UPDATE w SET g = NULL WHERE k = 1",
    "UPDATE w SET m = g WHERE k = 1",
    "UPDATE w SET k = a[1] + 100 WHERE a[1] = 60",
    "DELETE FROM w WHERE m = 'sad' AND b ->> 'x' = '2' AND k > 60",
    "INSERT INTO w (k, f, g) VALUES (1, 5, 'a') ON CONFLICT (k) DO UPDATE SET f = EXCLUDED.f + 200",
    "INSERT INTO w (k, f, g) VALUES (1, 5, 'a') ON CONFLICT (k) DO UPDATE SET m = 'happy', a = w.a || EXCLUDED.a",
)  # fmt: skip
_NAMES = {
    Kind.INT: "integer", Kind.SMALLINT: "smallint", Kind.BIGINT: "bigint", Kind.NUMERIC: "numeric",
    Kind.BOOLEAN: "boolean", Kind.JSON: "json", Kind.JSONB: "jsonb", Kind.TEXT: "text",
    Kind.TIMESTAMPTZ: "timestamp with time zone", Kind.TIMESTAMP: "timestamp without time zone",
    Kind.DOUBLE: "double precision",
}  # fmt: skip


def shown(value: Value, type_: SqlType) -> str | None:
    """The value as the server would send it."""
    if value is None or isinstance(value, bool):
        return {None: None, True: "t", False: "f"}[value]
    convert = caster(type_, TEXT, False, POSTGRES)
    return str(value if convert is None or type_.kind is Kind.TEXT else convert(value))


def type_name(type_: SqlType) -> str:
    if type_.kind is Kind.ARRAY:
        item = type_.family.item  # type: ignore[union-attr]
        return f"{type_name(item)}[]"
    return _NAMES.get(type_.kind, str(type_))


def ours(library: SqlLibrary, view: MemoryView, sql: str, params: Any = None) -> Any:
    """Rows as texts with the names of their types, or a SQLSTATE; None for what is refused by name."""
    try:
        program = library.program(sql, param_shape(params))
        outcome = program.run(view, arguments_of(params, program.parameters, POSTGRES))
    except SqlError as error:
        return error.sqlstate
    except Unsupported:
        return None
    (types,) = result_types(program.statement, library.catalog) or ((),)
    rows = outcome.results[0].rows if outcome.results else []
    texts = [tuple(shown(value, type_) for value, type_ in zip(row, types, strict=True)) for row in rows]
    return sorted(map(repr, texts)), [type_name(type_) for type_ in types]


def theirs(connection: Any, sql: str, params: Any = None) -> Any:
    try:
        found = connection.execute(sql, params, prepare=False).pgresult
    except psycopg.Error as error:
        return error.sqlstate
    columns = range(found.nfields)
    assert all(found.fformat(column) == Format.TEXT for column in columns)
    rows = [
        tuple(None if (v := found.get_value(row, column)) is None else v.decode() for column in columns)
        for row in range(found.ntuples)
    ]
    names = [
        connection.execute("SELECT format_type(%s, NULL)", [found.ftype(column)]).fetchone()[0] for column in columns
    ]
    return sorted(map(repr, rows)), [name.replace("character varying", "text") for name in names]


@pytest.fixture
def both(postgres: Any) -> tuple[Any, SqlLibrary, MemoryView]:
    for text in SCHEMA:
        postgres.execute(text)
    library = SqlLibrary(POSTGRES, SCHEMA)
    view = MemoryView({"t": [], "w": []})
    for row in ROWS:
        sql = f"INSERT INTO t VALUES ({row})"
        postgres.execute(sql)
        library.program(sql).run(view, ())
    return postgres, library, view


def compared(both: tuple[Any, SqlLibrary, MemoryView], statements: Iterable[str]) -> tuple[int, list[str]]:
    """How many were compared, and which were refused."""
    connection, library, view = both
    count, refused, wrong = 0, list[str](), list[tuple[str, Any, Any]]()
    for sql in statements:
        mine = ours(library, view, sql)
        if mine is None:
            refused.append(sql)
            continue
        other = theirs(connection, sql)
        several = isinstance(mine, str) and isinstance(other, str) and " FROM t WHERE (" in sql
        if mine != other and not several:  # of two errors in one text the first is told
            wrong.append((sql, mine, other))
        count += 1
    assert not wrong, "\n".join(map(str, wrong))
    return count, refused


def test_expressions(both: tuple[Any, SqlLibrary, MemoryView]) -> None:
    count, refused = compared(both, (f"SELECT k, {expression} FROM t" for expression in EXPRESSIONS))
    assert count > 170, refused


def test_queries(both: tuple[Any, SqlLibrary, MemoryView]) -> None:
    count, refused = compared(both, QUERIES)
    assert count > 20, refused


def test_writes(both: tuple[Any, SqlLibrary, MemoryView]) -> None:
    connection, library, view = both
    for sql in WRITES:
        mine, other = ours(library, view, sql), theirs(connection, sql)
        assert mine == other or mine == ([], []) == other, sql
        after = "SELECT k, f, g, m, a, b, c FROM w"
        assert ours(library, view, after) == theirs(connection, after), sql


def test_conditions_together(both: tuple[Any, SqlLibrary, MemoryView]) -> None:
    """Conditions joined at random, in WHERE and in the select list."""
    chance = random.Random(12)
    tests = [e for e in EXPRESSIONS if any(op in e for op in (" = ", " < ", " @> ", " ? ", " IS ", " <> ", " IN "))]

    def one() -> str:
        left, right = chance.sample(tests, 2)
        return f"({left}) {chance.choice(['AND', 'OR'])} NOT ({right})"

    wanted = [f"SELECT k, {one()} FROM t WHERE {one()}" for _ in range(250)]
    count, refused = compared(both, wanted)
    assert count > 120, len(refused)


PARAMETERS: Sequence[tuple[str, list[Any]]] = (
    ("m = %s", ["ok", "happy", None]),
    ("a = %s", [[1, 2, 3], []]),
    ("a || %s::int[]", [[7], "{8,NULL}"]),
    ("k = ANY (%s)", [[1, 2], [None, 3]]),
    ("%s = ANY (a)", [1, 2, None]),
    ("v = ANY (%s) OR %s = ANY (s)", [["a", "b"]]),
    ("b -> %s::text", ["a", "cc"]),
    ("b ->> %s::int", [0, 1, -1]),
    ("b @> %s", ['{"a": 1}', "[1]"]),
    ("%s::jsonb", ['{"z": [1, 2]}', "1.0"]),
    ("b = %s::jsonb", ['{"a": true, "b": "x", "bb": 100}', None]),
    ("%s::mood", ["sad", None]),
    ("ARRAY[k, %s]", [4, None]),
    ("array_append(a, %s)", [4, None]),
    ("s @> %s", [["a"], []]),
)


def test_parameters(both: tuple[Any, SqlLibrary, MemoryView]) -> None:
    connection, library, view = both
    count = 0
    for expression, values in PARAMETERS:
        for value in values:
            params = [value] * expression.count("%s")
            if len(params) > 1:
                params[1] = "a"
            sql = f"SELECT k, {expression} FROM t"
            mine = ours(library, view, sql, params)
            if mine is not None:
                assert mine == theirs(connection, sql, params), (sql, params)
                count += 1
    assert count > 20


def test_values_of_logs(both: tuple[Any, SqlLibrary, MemoryView]) -> None:
    """What the server sends is read as the value that it is."""
    connection, library, view = both
    names = ("m", "a", "s", "n", "b", "ms", "bo", "big")
    sql = f"SELECT {', '.join(names)} FROM t"
    program = library.program(sql)
    (types,) = result_types(program.statement, library.catalog) or ((),)
    found = connection.execute(sql).pgresult
    rows = program.run(view, ()).results[0].rows
    for row, column in itertools.product(range(found.ntuples), range(len(names))):
        sent = found.get_value(row, column)
        assert read_value(None if sent is None else sent.decode(), types[column]) == rows[row][column]

"""Cases made of lists: every odd name in every place where a name stands, every type of a product in a column.

Does not know what comes of them.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.live.round_trip.cases import Case, Sent

NAMES = (
    "ID", "camelCase", "PascalCase", "UPPER_CASE", "with blank", "select", "Order", "group", "user", "Ünïcödé", "日本",
    'quo"te', "back`tick", "apo'strophe", "semi;colon", "dash-ed", "1st", "dollar$", "per cent%", "co,mma", "par(en)",
    "question?", "colon:name", "at@sign", "hash#", "-- comment", "/* c */", "ſ", "İ", "straße",
)  # fmt: skip

TYPES: dict[str, tuple[tuple[str, str], ...]] = {
    "postgres": (
        ("smallint", "7"), ("integer", "7"), ("bigint", "7"), ("numeric", "1.50"), ("numeric(10,2)", "1.50"),
        ("numeric(5,-2)", "12345"), ("numeric(3,5)", "0.00123"), ("real", "1.5"), ("double precision", "1.5"),
        ("float(10)", "1.5"), ("money", "'12.5'"), ("boolean", "true"), ("text", "'x'"), ("varchar", "'x'"),
        ("varchar(10)", "'x'"), ("char(5)", "'x'"), ("bpchar", "'x'"), ("name", "'x'"), ("\"char\"", "'x'"),
        ("citext_like text COLLATE \"C\"", "'x'"), ("bytea", "'\\x00ff'"), ("date", "'2024-02-29'"),
        ("time", "'12:34:56'"), ("time(2)", "'12:34:56.78'"), ("timetz", "'12:34:56+02'"),
        ("timestamp", "'2024-01-02 03:04:05'"), ("timestamp(3)", "'2024-01-02 03:04:05.678'"),
        ("timestamptz", "'2024-01-02 03:04:05+00'"), ("interval", "'1 day'"), ("interval day to second", "'1 day'"),
        ("uuid", "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'"), ("json", "'{\"a\": 1}'"), ("jsonb", "'{\"a\": 1}'"),
        ("jsonpath", "'$.a'"), ("inet", "'10.0.0.1'"), ("cidr", "'10.0.0.0/8'"), ("macaddr", "'08:00:2b:01:02:03'"),
        ("macaddr8", "'08:00:2b:01:02:03:04:05'"), ("bit(3)", "B'101'"), ("bit varying", "B'101'"),
        ("bit varying(5)", "B'101'"), ("int[]", "'{1,2}'"), ("text[]", "'{a,b}'"), ("int[][]", "'{{1},{2}}'"),
        ("int4range", "'[1,5)'"), ("tstzrange", "'[2024-01-01,2024-02-01)'"), ("int4multirange", "'{[1,5)}'"),
        ("tsvector", "'a b'"), ("tsquery", "'a & b'"), ("point", "'(1,2)'"), ("box", "'(1,1),(0,0)'"),
        ("oid", "42"), ("regclass", "'pg_class'"), ("pg_lsn", "'0/0'"), ("txid_snapshot", "'1:1:'"),
    ),
    "mysql": (
        ("tinyint", "7"), ("tinyint(1)", "1"), ("bool", "true"), ("smallint", "7"), ("mediumint", "7"), ("int", "7"),
        ("int unsigned", "7"), ("int(11) zerofill", "7"), ("bigint", "7"), ("bigint unsigned", "18446744073709551615"),
        ("decimal", "7"), ("decimal(10,2)", "1.50"), ("numeric(65,30)", "1.5"), ("float", "1.5"), ("double", "1.5"),
        ("real", "1.5"), ("float(7,3)", "1.5"), ("bit", "b'1'"), ("bit(8)", "b'101'"), ("char", "'x'"),
        ("char(5)", "'x'"), ("varchar(10)", "'x'"), ("tinytext", "'x'"), ("text", "'x'"), ("mediumtext", "'x'"),
        ("longtext", "'x'"), ("binary(4)", "'x'"), ("varbinary(4)", "'x'"), ("tinyblob", "'x'"), ("blob", "'x'"),
        ("mediumblob", "'x'"), ("longblob", "'x'"), ("enum('x','y')", "'x'"), ("set('x','y')", "'x,y'"),
        ("json", "'{\"a\": 1}'"), ("date", "'2024-02-29'"), ("time", "'12:34:56'"), ("time(3)", "'12:34:56.789'"),
        ("time", "'100:00:00'"), ("time", "'-838:59:59'"), ("datetime", "'2024-01-02 03:04:05'"),
        ("datetime(6)", "'2024-01-02 03:04:05.678901'"), ("timestamp", "'2024-01-02 03:04:05'"), ("year", "2024"),
        ("date", "'0000-00-00'"), ("datetime", "'2024-00-00 00:00:00'"), ("uuid", "uuid()"), ("inet6", "'::1'"),
        ("inet4", "'10.0.0.1'"), ("point", "point(1, 2)"), ("varchar(10) collate utf8mb4_general_ci", "'x'"),
        ("varchar(10) character set latin1", "'x'"), ("int invisible", "7"), ("int comment 'it''s'", "7"),
    ),
    "sqlite": (
        ("", "7"), ("", "'x'"), ("", "1.5"), ("", "x'00'"), ("INTEGER", "7"), ("INT", "7"), ("BIGINT", "7"),
        ("UNSIGNED BIG INT", "7"), ("INT8", "7"), ("TINYINT(1)", "1"), ("FLOATING POINT", "7"), ("TEXT", "'x'"),
        ("VARCHAR(10)", "'x'"), ("NVARCHAR(10)", "'x'"), ("NATIVE CHARACTER(70)", "'x'"), ("CLOB", "'x'"),
        ("VARYING CHARACTER(255)", "'x'"), ("BLOB", "x'00'"), ("BLOB", "'x'"), ("REAL", "1.5"), ("REAL", "'x'"),
        ("DOUBLE", "1.5"), ("DOUBLE PRECISION", "1.5"), ("FLOAT", "7"), ("NUMERIC", "1.5"), ("NUMERIC", "'x'"),
        ("DECIMAL(10,5)", "1.5"), ("BOOLEAN", "1"), ("BOOLEAN", "'x'"), ("DATE", "'2024-01-02'"), ("DATE", "7"),
        ("DATETIME", "'2024-01-02 03:04:05'"), ("TIMESTAMP", "'2024-01-02 03:04:05'"), ("TIME", "'03:04'"),
        ("JSON", "'{\"a\":1}'"), ("JSONB", "'{}'"), ("UUID", "'a0ee'"), ("STRING", "'12'"), ("MONEY", "12.5"),
        ("ANY", "'x'"), ("\"char\"", "'x'"), ("\"quoted type\"", "'x'"), ("INTEGER", "'x'"), ("INTEGER", "1.5"),
        ("TEXT", "x'00'"), ("INT UNSIGNED ZEROFILL", "7"), ("TEXT COLLATE NOCASE", "'x'"), ("bytea", "x'00'"),
        ("BINARY(16)", "x'00'"), ("varint", "7"), ("Point(1, 2)", "'x'"),
    ),
    "duckdb": (
        ("TINYINT", "7"), ("SMALLINT", "7"), ("INTEGER", "7"), ("BIGINT", "7"), ("HUGEINT", "7"), ("UHUGEINT", "7"),
        ("UTINYINT", "7"), ("USMALLINT", "7"), ("UINTEGER", "7"), ("UBIGINT", "18446744073709551615"), ("INT4", "7"),
        ("DECIMAL(10,2)", "1.50"), ("DECIMAL", "1.5"), ("NUMERIC(38,10)", "1.5"), ("REAL", "1.5"), ("DOUBLE", "1.5"),
        ("FLOAT", "1.5"), ("BOOLEAN", "true"), ("VARCHAR", "'x'"), ("VARCHAR(10)", "'x'"), ("TEXT", "'x'"),
        ("CHAR", "'x'"), ("STRING", "'x'"), ("BLOB", "'\\xAA'::BLOB"), ("BIT", "'101'"), ("DATE", "'2024-02-29'"),
        ("TIME", "'12:34:56'"), ("TIMETZ", "'12:34:56+02'"), ("TIMESTAMP", "'2024-01-02 03:04:05'"),
        ("TIMESTAMP_S", "'2024-01-02 03:04:05'"), ("TIMESTAMP_MS", "'2024-01-02 03:04:05.678'"),
        ("TIMESTAMP_NS", "'2024-01-02 03:04:05'"), ("INTERVAL", "INTERVAL 1 DAY"), ("INTEGER[]", "[1, 2]"),
        ("UUID", "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'"), ("INTEGER[3]", "[1, 2, 3]"), ("ENUM('x', 'y')", "'x'"),
        ("STRUCT(a INTEGER, b VARCHAR)", "{'a': 1, 'b': 'x'}"), ("MAP(VARCHAR, INTEGER)", "MAP {'a': 1}"),
        ("UNION(n INTEGER, s VARCHAR)", "'x'"), ("VARCHAR COLLATE NOCASE", "'x'"),
    ),
}  # fmt: skip
"""A type with a value of it, as a literal."""
_MARKS = {"postgres": '"', "mysql": "`", "sqlite": '"', "duckdb": '"'}


def named(engine: str) -> Iterator[Case]:
    """For each name a table, a column, an alias, a view and an index of it."""
    for name in NAMES:
        if engine == "mysql" and name.endswith(" "):
            continue
        yield _named(engine, name)


def _named(engine: str, name: str) -> Case:
    mark = _MARKS[engine]

    def q(text: str) -> str:
        return mark + text.replace(mark, mark * 2) + mark

    table, column, view, index = q(name), q(name), q(f"v {name}"), q(f"i {name}")
    text = "VARCHAR(40)" if engine in ("mysql", "duckdb") else "TEXT"
    setup = (
        f"CREATE TABLE {table} (k INTEGER PRIMARY KEY, {column} INTEGER, note {text})",
        f"CREATE UNIQUE INDEX {index} ON {table} ({column})",
        f"CREATE VIEW {view} AS SELECT k, {column} FROM {table} WHERE {column} > 1",
        f"INSERT INTO {table} (k, {column}) VALUES (1, 1), (2, 2)",
    )
    recorded = (
        f"SELECT * FROM {table}",
        f"INSERT INTO {table} (k, {column}, note) VALUES (3, 3, 'a')",
        f"UPDATE {table} SET {column} = {column} + 10 WHERE {column} = 3",
        f"SELECT k, {column} FROM {view}",
        f"SELECT x.{column} AS {q('alias of ' + name)} FROM {table} x ORDER BY {q('alias of ' + name)}",
        f"SELECT {table}.{column} FROM {table} WHERE {table}.k = 3",
        f"WITH {q('w ' + name)} AS (SELECT {column} FROM {table}) SELECT max({column}) FROM {q('w ' + name)}",
        f"SELECT a.k FROM {table} a JOIN {table} b USING ({column}) WHERE b.{column} IN (1, 13)",
        f"DELETE FROM {table} WHERE {column} = 1",
        f"SELECT {column}, count(*) FROM {table} GROUP BY {column}",
    )
    failing = Sent(f"INSERT INTO {table} (k, {column}) VALUES (9, 2)", fails=True)
    sent = (*map(Sent, recorded), failing, Sent(f"SELECT count({column}) FROM {table}"))
    return Case(engine, f"the name {name}", tuple(map(Sent, setup)), sent)


def typed(engine: str) -> Iterator[Case]:
    """For each type a table with a column of it, beside one that has nothing to do with it."""
    for number, (type_, literal) in enumerate(TYPES[engine]):
        yield _typed(engine, type_, literal, number)


def _typed(engine: str, type_: str, literal: str, number: int) -> Case:
    column = type_.removeprefix("citext_like ")
    table = f"t{number}"
    setup = [
        f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, v {column}, n INTEGER)",
        f"INSERT INTO {table} (id, v, n) VALUES (1, {literal}, 1), (2, NULL, 2)",
    ]
    if engine == "mysql":
        setup.insert(0, "SET SESSION sql_mode = 'STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO'")
    recorded = (
        f"SELECT n FROM {table} WHERE id = 1",
        f"SELECT id, v FROM {table}",
        f"UPDATE {table} SET n = n + 1 WHERE id = 1",
        f"INSERT INTO {table} (id, v, n) VALUES (3, {literal}, 3)",
        f"SELECT v FROM {table} WHERE id = 3",
        f"UPDATE {table} SET v = {literal} WHERE id = 2",
        f"SELECT id FROM {table} WHERE v IS NULL",
        f"SELECT id, n FROM {table} ORDER BY id",
    )
    return Case(
        engine, f"the type {type_ or 'of no name'} ({literal})", tuple(map(Sent, setup)), tuple(map(Sent, recorded))
    )


def together(engine: str, cases: Iterator[Case], name: str) -> Case:
    """Several cases as one, which is set up and recorded at once."""
    found = list(cases)
    setup = tuple(sent for one in found for sent in one.setup)
    return Case(engine, name, setup, tuple(sent for one in found for sent in one.recorded))

"""Random texts of JSON that MariaDB's functions make, edit and merge, on the server and by the interpreter. Does not
know functions that only read."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from sql_semantics.frontend import read_schema
from sql_semantics.ir.schema import Catalog
from sql_semantics.values.dialect import Dialect
from tests.differential.beside import Beside
from tests.differential.engines import MariaDB

_SCALARS = ("1", "0", "-7", "1.50", '"x"', '"a b"', '""', "true", "false", "null", '"y"')
_PARTS = (
    "1",
    "'x'",
    "NULL",
    "2.50",
    "TRUE",
    "'a\"b'",
    "json_array(1, 'z')",
    "json_object('k', NULL)",
    "''",
    "-3",
    "1 = 2",
)
_EDITS = ("json_set", "json_insert", "json_replace", "json_array_append")
_MERGES = ("json_merge", "json_merge_preserve", "json_merge_patch")
TABLE = (
    "CREATE TABLE j (id int PRIMARY KEY, a longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin CHECK (json_valid(a)),"
    " b varchar(20), c tinyint(1), d decimal(8,2), f date)"
)
ROWS = (
    """INSERT INTO j VALUES (1, '{"a": 1}', 'x"y', 1, 2.5, '2020-01-01'), (2, NULL, NULL, NULL, NULL, NULL)""",
    "INSERT INTO j VALUES (3, '[1,  2]', '\u00e9\\\\', 0, -1, '1999-12-31')",
)
STATEMENTS = (
    "SELECT json_object('a', a, 'b', b, 'c', c, 'd', d, 'f', f) FROM j",
    "SELECT json_array(a, b, c, 1, NULL, 1.50, TRUE, b = 'x') FROM j",
    "SELECT json_array(id + 1, d * 2, -id, count(*)) FROM j GROUP BY id",
    "SELECT json_array(), json_object(), json_array(f, date '2020-01-01', time '10:00:00', concat(b, 'z')) FROM j",
    "SELECT json_set(a, '$.z', b), json_set(a, '$.a', NULL), json_insert(a, '$.c', c) FROM j WHERE id = 1",
    "SELECT json_set('bad', '$.x', 1), json_set(NULL, '$.a', 1), json_set('{}', NULL, 1), json_merge(NULL, '1')",
    "SELECT json_merge('1', NULL), json_merge_preserve('1', NULL, '2'), json_remove(NULL, '$.a')",
    "SELECT concat(json_extract(a, '$.a'), 'x'), length(json_extract(a, '$')) FROM j",
    "UPDATE j SET a = json_set(a, '$.n', id), b = json_value(a, '$.n') WHERE id = 1",
    "INSERT INTO j (id, a) SELECT 8, json_array(id, b) FROM j WHERE id = 2",
    "INSERT INTO j (id, a) VALUES (9, json_object('k', json_array(1, 2)))",
    "SELECT json_object('a')",
    "SELECT json_merge_patch(NULL, '1'), json_merge_patch('{}', b, '[1]') FROM j WHERE b IS NULL",
    "SELECT json_merge_patch(NULL, '{\"a\": 1}')",
)
LEFT_OUT = (
    "json_object('x', x) FROM (SELECT a = 1 AS x FROM j) AS t",
    "json_object('x', coalesce(a, b)) FROM j",
    "json_object('x', max(c)) FROM j",
    "json_object('x', IF(c, TRUE, FALSE)) FROM j",
)
STORED = ("json_set('bad', '$.x', 1)", "json_merge('1', 'bad')", "json_extract('bad', '$.x')", "json_length('bad')")
"""What is NULL to a query and an error in strict mode to a statement that stores: left open there."""


def _beside(mariadb: Any) -> Beside:
    connection, collation = mariadb
    dialect = Dialect("mysql", product="mariadb", version=(10, 11), collation=collation)
    engine = MariaDB(connection, collation)
    engine.clear()
    assert [engine.run(sql).error for sql in (TABLE, *ROWS)] == [None] * 3
    return Beside(engine, dialect, Catalog(read_schema([TABLE], dialect), {}))


def _document(rng: random.Random, depth: int = 0) -> str:
    if depth > 2 or rng.random() < 0.2 + depth * 0.2:
        return rng.choice(_SCALARS)
    blank = rng.choice(("", " ", "  "))
    inner = [_document(rng, depth + 1) for _ in range(rng.randrange(4))]
    if rng.random() < 0.5:
        return f"[{blank}{f',{blank}'.join(inner)}]"
    names = rng.sample("abc", min(len(inner), 3))
    return "{" + f",{blank}".join(f'"{name}"{blank}:{part}' for name, part in zip(names, inner, strict=False)) + "}"


def _path(rng: random.Random) -> str:
    steps = [rng.choice((".a", ".b", ".c", "[0]", "[1]", "[3]")) for _ in range(rng.randint(1, 3))]
    return "$" + "".join(steps)


def _call(rng: random.Random) -> str:
    name = rng.choice((*_EDITS, *_MERGES, "json_remove", "json_array", "json_object"))
    if name in _EDITS:
        edits = [f"'{_path(rng)}', {rng.choice(_PARTS)}" for _ in range(rng.randint(1, 2))]
        return f"{name}('{_document(rng)}', {', '.join(edits)})"
    if name in _MERGES:
        texts = [repr(_document(rng)) if rng.random() < 0.9 else "NULL" for _ in range(rng.randint(2, 3))]
        return f"{name}({', '.join(texts)})"
    if name == "json_remove":
        return f"{name}('{_document(rng)}', {', '.join(repr(_path(rng)) for _ in range(rng.randint(1, 2)))})"
    parts = [rng.choice(_PARTS) for _ in range(rng.randrange(4))]
    if name == "json_object":
        parts = [f"'{key}', {part}" for key, part in zip("pqr", parts, strict=False)]
    return f"{name}({', '.join(parts)})"


def statements(seed: int, count: int) -> Iterator[str]:
    """As many calls, each by itself: one that is not modelled costs no other."""
    rng = random.Random(seed)
    return (f"SELECT {_call(rng)}" for _ in range(count))


def test_written_json(mariadb: Any) -> None:
    beside = _beside(mariadb)
    found = {sql: beside.step(sql) for sql in STATEMENTS}
    assert not {sql: (step.outside, step.problem) for sql, step in found.items() if step.outside or step.problem}
    for text in LEFT_OUT:
        assert beside.step(f"SELECT {text}").outside, text
    for text in STORED:
        assert beside.step(f"SELECT {text}").outside is None, text
        assert beside.step(f"INSERT INTO j (id, b) VALUES (77, {text})").outside, text


def test_random_calls(mariadb: Any) -> None:
    beside = _beside(mariadb)
    found = {sql: beside.step(sql) for sql in statements(34, 150)}
    assert not {sql: step.problem for sql, step in found.items() if step.problem}
    assert sum(step.outside is None for step in found.values()) > 100

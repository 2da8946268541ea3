"""What MariaDB tells of JSON texts and their parts, and the interpreter. Does not know functions that write JSON."""

from __future__ import annotations

import random
from typing import Any

import pytest

from sql_semantics.frontend import read_schema
from sql_semantics.ir.schema import Catalog
from sql_semantics.values.dialect import Dialect
from tests.differential.beside import Beside
from tests.differential.engines import MariaDB

DOCUMENTS = (
    *('{"a": 1, "b": [1,2]}', "[1,2,[3]]", "1", "1.5", '"a"', "[]", "{}", "true", "null", "-7", "[[],{}]"),
    *('{"a":{"b":[{"c":null}]}}', ' [ 1 , {"x":2} ] ', '{"a b":"x","c":false}'),
)
PATHS = ("$", "$.a", "$.b", "$.b[1]", "$[0]", "$[2][0]", "$.a.b[0].c", '$."a b"', "$.x")


def _statements() -> list[str]:
    found = []
    for text in DOCUMENTS:
        of_paths = ", ".join(
            f"json_length('{text}', '{path}'), json_keys('{text}', '{path}'), json_exists('{text}', '{path}'),"
            f" json_contains_path('{text}', 'one', '{path}'), json_contains_path('{text}', 'ALL', '{path}', '$.b')"
            for path in PATHS
        )
        found.append(f"SELECT json_length('{text}'), json_type('{text}'), json_depth('{text}'), {of_paths}")
    return [*found, "SELECT json_length('bad'), json_keys(''), json_type('x'), json_contains_path('bad', 'one', '$.a')"]


def test_parts_of_json(mariadb: Any) -> None:
    connection, collation = mariadb
    dialect = Dialect("mysql", product="mariadb", version=(10, 11), collation=collation)
    beside = Beside(MariaDB(connection, collation), dialect, Catalog({}, {}))
    found = {sql: beside.step(sql) for sql in _statements()}
    assert not {sql: (step.outside, step.problem) for sql, step in found.items() if step.outside or step.problem}


SCALARS = ("1", "2", "1.0", "-1", "0", '"a"', '"A"', '"1"', "true", "false", "null", '""', '"a "', "1.50")


def _flat(rng: random.Random) -> str:
    """A value of JSON, an array or an object of such, or one of these within another."""
    comma, kind = rng.choice((",", ", ")), rng.random()
    scalars = [rng.choice(SCALARS) for _ in range(rng.randint(0, 3))]
    if kind < 0.3:
        return rng.choice(SCALARS)
    if kind < 0.6:
        return f"[{comma.join(scalars)}]"
    if kind < 0.95:
        return "{" + comma.join(f'"{name}":{one}' for name, one in zip("abc", scalars, strict=False)) + "}"
    return f"[{_flat(rng)}]"


@pytest.mark.parametrize("rounds", [20, pytest.param(1000, marks=pytest.mark.slow)])
def test_texts_that_overlap(mariadb: Any, rounds: int) -> None:
    connection, collation = mariadb
    dialect = Dialect("mysql", product="mariadb", version=(10, 11), collation=collation)
    beside = Beside(MariaDB(connection, collation), dialect, Catalog({}, {}))
    rng = random.Random(60)
    judged = 0
    for _ in range(rounds):
        pairs = [(_flat(rng), _flat(rng)) for _ in range(4)]
        pairs += [(one, rng.choice((one, f"[2,{one}]", one.replace("1", "2")))) for one, _ in pairs[:2]]
        items = [f"json_overlaps('{one}', '{other}')" for one, other in pairs]
        step = beside.step(f"SELECT {', '.join(items)}")
        assert step.problem is None, (pairs, step.problem)
        judged += step.outside is None
    assert judged > rounds / 4
    null = beside.step("SELECT json_overlaps('1', NULL)")
    assert null.problem is None and null.outside is None, null
    assert beside.step("SELECT json_overlaps('bad', '1')").outside == "json_overlaps() of a text that is no JSON"


LISTED = (
    "CREATE TABLE l (k int PRIMARY KEY, g int, v varchar(10), m decimal(10,3), t date, j text CHECK (json_valid(j)))"
)
VALUES = (
    "k",
    "v",
    "m",
    "t",
    "g",
    "j",
    "k + 1",
    "k = 2",
    "TRUE",
    "1.50",
    "'x'",
    "json_object('a', v)",
    "json_array(k, m)",
)


def test_arrays_of_rows(mariadb: Any) -> None:
    """JSON_ARRAYAGG of values of each kind, NULL among them, of no rows, and what is not told."""
    connection, collation = mariadb
    engine = MariaDB(connection, collation)
    engine.clear()
    dialect = Dialect("mysql", product="mariadb", version=(10, 11), collation=collation)
    assert engine.run(LISTED).error is None
    beside = Beside(engine, dialect, Catalog(read_schema([LISTED], dialect), {}))
    rows = (
        "(1, 1, 'a\"b', 1.5, '2020-01-02', '{\"a\":  1}'), (2, 1, 'é', NULL, NULL, '[1, 2]'),"
        " (3, 2, NULL, 3, '1999-12-31', NULL), (4, NULL, '', -0.125, '2020-02-29', '\"x\"')"
    )
    asked = [f"INSERT INTO l VALUES {rows}"]
    for value in VALUES:
        asked += [
            f"SELECT json_arrayagg({value} ORDER BY k) FROM l",
            f"SELECT g, json_arrayagg({value} ORDER BY k DESC) FROM l GROUP BY g",
            f"SELECT json_arrayagg({value} ORDER BY k) FROM l WHERE k > 9",
        ]
    asked += [
        "SELECT json_arrayagg(DISTINCT g ORDER BY g) FROM l",
        "SELECT concat(json_arrayagg(k ORDER BY k), '!') FROM l",
        "INSERT INTO l (k, j) SELECT 77, json_arrayagg(k ORDER BY k) FROM l",
        "SELECT j FROM l WHERE k = 77",
        "SELECT json_length(json_arrayagg(k ORDER BY k)) FROM l",
    ]
    found = {sql: beside.step(sql) for sql in asked}
    assert not {sql: (step.outside, step.problem) for sql, step in found.items() if step.outside or step.problem}
    for text in ("NULL", "DISTINCT v", "k LIMIT 1", "k, v", "k) OVER (", "f(1)"):
        step = beside.step(f"SELECT json_arrayagg({text}) FROM l")
        assert step.problem is None and (step.outside or step.error), text

"""What MariaDB tells of JSON texts and their parts, and the interpreter. Does not know functions that write JSON."""

from __future__ import annotations

from typing import Any

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

"""No part of a parse tree may be ignored: whatever else a node could carry makes the binder refuse.

Takes accepted statements, puts a foreign value into every empty argument of every node of their trees, one at a time,
and demands a refusal. Does not know which clauses exist; the parser's own node definitions say that.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlglot import exp

from sql_semantics.errors import SchemaError, SqlError, UnknownTable, Unsupported
from sql_semantics.frontend import binding, read_schema
from sql_semantics.frontend.definitions import schema
from sql_semantics.frontend.definitions.forgetting import NOTHING_FORGOTTEN
from sql_semantics.frontend.names.scope import Context, Parameters
from sql_semantics.frontend.text.syntax import Node, parse_one
from sql_semantics.ir.schema import Catalog
from sql_semantics.values.dialect import Dialect

TABLES = (
    "CREATE TABLE t (id INT PRIMARY KEY, n NUMERIC(12,2) NOT NULL DEFAULT 0, s VARCHAR(5), CONSTRAINT c CHECK (n > 0))",
    "CREATE TABLE u (id INT, k INT, PRIMARY KEY (id, k), UNIQUE (k))",
)
STATEMENTS = (
    "SELECT DISTINCT t.*, n + 1 AS m, -t.id, count(*)"
    " FROM t JOIN u USING (id), u AS v WHERE t.id = 1 AND NOT s LIKE 'a'"
    " GROUP BY t.id, n, s HAVING sum(DISTINCT n) > 2 ORDER BY m DESC LIMIT 3 OFFSET 1",
    "SELECT CASE n WHEN 1 THEN 2 ELSE 3 END, COALESCE(s, 'x'), n BETWEEN 1 AND 2, n IN (1, 2), s IS NULL,"
    " CAST(n AS INT), NULLIF(n, 0), ABS(n), LOWER(s), LENGTH(s), ROUND(n, 1), s || 'x', n / 2, n % 2, TRUE"
    " FROM t LEFT JOIN u ON t.id = u.k FETCH FIRST 3 ROWS ONLY",
    "SELECT id FROM t WHERE (id = 1 OR id <> 2) FOR UPDATE",
    "WITH RECURSIVE x (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM x WHERE i < 3), y AS MATERIALIZED (SELECT 1 AS j)"
    " SELECT t.id FROM t NATURAL LEFT JOIN u, x CROSS JOIN (SELECT k AS a FROM u) AS d (b), y"
    " WHERE EXISTS (SELECT 1 FROM u WHERE u.id = t.id) AND t.id NOT IN (SELECT k FROM u) AND t.id > ALL (SELECT 1)",
    "(SELECT id FROM t UNION SELECT id FROM u) INTERSECT ALL SELECT 1 EXCEPT VALUES (2) ORDER BY 1 LIMIT 1",
    "SELECT (SELECT max(id) FROM u), g FROM (t RIGHT JOIN u USING (id)) FULL JOIN generate_series(1, 3) AS g ON g = id,"
    " LATERAL (SELECT t.id) AS l",
    "INSERT INTO t (id, n) VALUES (1, DEFAULT), (2, 3) RETURNING *",
    "INSERT INTO t (id) SELECT id FROM u",
    "UPDATE t SET n = n + 1 WHERE id = 1 RETURNING id",
    "DELETE FROM t WHERE id = 1 RETURNING id",
    "CREATE TABLE w (a INT PRIMARY KEY, b TEXT NOT NULL UNIQUE DEFAULT 'x', CHECK (a > 0), UNIQUE (b), CHECK (a > 1))",
    "CREATE TABLE w (a INT, b TEXT, CONSTRAINT k PRIMARY KEY (a, b))",
    "CREATE UNIQUE INDEX i ON t (n)",
)
# Without meaning for what a statement does: restated dialect rules, parse-time flags, and what has no effect anyway.
HARMLESS = {
    *((kind, key) for kind in ("Div", "DPipe", "Greatest", "Least", "Concat") for key in ("safe", "typed", "coalesce")),
    ("Greatest", "ignore_nulls"),
    ("Count", "big_int"),
    ("Length", "binary"),
    ("Literal", "is_string"),
    ("CheckColumnConstraint", "enforced"),
    ("Create", "exists"),
    ("Create", "concurrently"),
    ("DataType", "nested"),
    ("Identifier", "quoted"),
    ("Identifier", "global_"),
    ("Identifier", "temporary"),
    ("IndexParameters", "using"),
    ("Lock", "key"),
    ("Ordered", "desc"),
    ("Ordered", "nulls_first"),
    ("Fetch", "direction"),
    ("LimitOptions", "rows"),
    ("Is", "negate"),
    ("Like", "negate"),
    ("Between", "symmetric"),
    ("Join", "kind"),
    ("Table", "ordinality"),
    ("Lateral", "ordinality"),
    *((kind, "distinct") for kind in ("Union", "Intersect", "Except")),
    ("CTE", "materialized"),
    ("NotNullColumnConstraint", "allow_null"),
    ("UniqueColumnConstraint", "nulls"),
}


def bind_tree(tree: Node, tables: Catalog) -> None:
    dialect = Dialect("postgres")
    if isinstance(tree, exp.Create):
        schema._statement(tree, dict(tables.tables), dialect, "", [], NOTHING_FORGOTTEN, {})
    else:
        parameters = Parameters({})
        binding._BINDERS[type(tree)](tree, Context(tables, dialect, parameters))
        if parameters.left_out:  # named in coverage, and not judged
            raise Unsupported(parameters.left_out[0])


def additions(tree: Node) -> Iterator[tuple[str, str, Node]]:
    """(node class, argument, changed tree) for every empty argument of every node."""
    for place, node in enumerate(tree.walk()):
        for key in type(node).arg_types:
            if not node.args.get(key) and (type(node).__name__, key) not in HARMLESS:
                changed = tree.copy()
                target = list(changed.walk())[place]
                target.args[key] = exp.Var(this="foreign")
                yield type(node).__name__, key, changed


@pytest.mark.parametrize("sql", STATEMENTS)
def test_every_foreign_argument_is_refused(sql: str) -> None:
    tables = Catalog(read_schema(TABLES, Dialect("postgres")))
    tree = parse_one(sql, "postgres")
    bind_tree(tree.copy(), tables)
    tried, accepted = 0, set()
    for kind, key, changed in additions(tree):
        tried += 1
        try:
            bind_tree(changed, tables)
        except (Unsupported, SqlError, UnknownTable, SchemaError, AttributeError, TypeError):
            continue  # the last two: the binder did read the argument, and the parser never puts a Var there
        accepted.add((kind, key))
    assert tried > 20
    assert accepted == set()

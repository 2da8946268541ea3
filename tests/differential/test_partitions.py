"""PostgreSQL's partitioned tables: which rows they take, and which of them each partition shows.

Random schemes of one and two levels, rows around every bound, NULLs among them, whole statements of several rows. Does
not know an answer.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.frontend import bind, read_schema
from sql_semantics.ir.schema import Catalog
from sql_semantics.run import MemoryView, compile_statement
from sql_semantics.values.dialect import Dialect
from tests.differential.comparison import only_way
from tests.differential.engines import Postgres

RANGE = [
    "CREATE TABLE p (a int, b int, c text) PARTITION BY RANGE (a)",
    "CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (MINVALUE) TO (0)",
    "CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (0) TO (5)",
    "CREATE TABLE p3 PARTITION OF p FOR VALUES FROM (7) TO (9)",
]
PAIRS = [
    "CREATE TABLE p (a int, b int, c text) PARTITION BY RANGE (a, b)",
    "CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0, MINVALUE) TO (3, 4)",
    "CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (3, 4) TO (7, MAXVALUE)",
    "CREATE TABLE p3 PARTITION OF p FOR VALUES FROM (8, 8) TO (MAXVALUE, MAXVALUE)",
]
LIST = [
    "CREATE TABLE p (a int, b int, c text) PARTITION BY LIST (c)",
    "CREATE TABLE p1 PARTITION OF p FOR VALUES IN ('x', 'y')",
    "CREATE TABLE p2 PARTITION OF p FOR VALUES IN ('z', NULL)",
]
DEFAULT = [*LIST, "CREATE TABLE p3 PARTITION OF p DEFAULT"]
DEFAULT_RANGE = [*RANGE, "CREATE TABLE p4 PARTITION OF p DEFAULT"]
KEYED = [
    "CREATE TABLE p (a int NOT NULL, b int, c text, PRIMARY KEY (a), CHECK (b < 9)) PARTITION BY LIST (a)",
    "CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1, 2, 3)",
    "CREATE TABLE p2 PARTITION OF p FOR VALUES IN (4)",
]
LEVELS = [
    "CREATE TABLE p (a int, b int, c text) PARTITION BY RANGE (a)",
    "CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (5) PARTITION BY LIST (c)",
    "CREATE TABLE p11 PARTITION OF p1 FOR VALUES IN ('x')",
    "CREATE TABLE p12 PARTITION OF p1 FOR VALUES IN ('z', NULL)",
    "CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (5) TO (MAXVALUE) PARTITION BY RANGE (b)",
    "CREATE TABLE p21 PARTITION OF p2 FOR VALUES FROM (0) TO (4)",
    "CREATE TABLE p22 PARTITION OF p2 DEFAULT",
    "CREATE TABLE p3 PARTITION OF p DEFAULT",
]
SCHEMES = {
    "range": RANGE, "pairs": PAIRS, "list": LIST, "default": DEFAULT, "default range": DEFAULT_RANGE, "keyed": KEYED,
    "levels": LEVELS,
}  # fmt: skip


def value(chance: random.Random) -> str:
    """A row, near some bound."""
    number = [str(item) for item in range(-1, 10)] + ["NULL"]
    return f"({chance.choice(number)}, {chance.choice(number)}, {chance.choice(['NULL', *map(repr, 'wxyz')])})"


def statement(chance: random.Random, keyed: bool, names: list[str]) -> str:
    """A statement of some kind."""
    kind = chance.randrange(8)
    rows = ", ".join(value(chance) for _ in range(chance.choice((1, 1, 1, 2, 3))))
    if kind < 4:
        conflict = chance.choice(("", " ON CONFLICT DO NOTHING")) if keyed else ""
        return f"INSERT INTO p VALUES {rows}{conflict}"
    where = f"{chance.choice('ab')} {chance.choice(('<', '=', '>'))} {chance.randrange(9)}"
    if kind == 4:
        return f"UPDATE p SET {chance.choice('abc')} = {chance.choice(('NULL', '3'))} WHERE {where}"
    if kind == 5:
        return f"DELETE FROM p WHERE {where} AND b = {chance.randrange(9)}"
    return f"SELECT * FROM {chance.choice(names)} WHERE {where}"


@pytest.mark.parametrize("count", [60, pytest.param(600, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", SCHEMES)
def test_rows_go_where_they_go(postgres: Any, name: str, count: int) -> None:
    schema, chance = SCHEMES[name], random.Random(name)
    engine, dialect = Postgres(postgres), Dialect("postgres", collation="C")
    catalog = Catalog(read_schema(schema, dialect), {})
    engine.run("DROP TABLE IF EXISTS p CASCADE")
    for text in schema:
        assert engine.run(text).error is None, text
    view = MemoryView({"p": []})
    view.picking = only_way
    refused: Counter[str] = Counter()
    names = list(catalog.tables)
    keyed = any(table.keys for table in catalog.tables.values())
    for _ in range(count):
        sql = statement(chance, keyed, names)
        mark, failed, outcome = view.savepoint(), None, None
        try:
            bound = bind(sql, None, catalog, dialect)
            outcome = compile_statement(bound.statement, catalog, dialect)(view, ())
        except SqlError as error:
            failed = error.sqlstate
        except Unsupported as error:
            refused[error.construct] += 1
            continue
        answer = engine.run(sql)
        if outcome is None or answer.error is not None:
            view.rollback(mark)
            if answer.error == "23505" and keyed:
                continue  # keys are for the callers of the interpreter to check
            assert (answer.error or "")[:2] == (failed or "")[:2], (sql, answer, failed)
            continue
        if outcome.results:
            assert Counter(answer.rows or ()) == Counter(outcome.results[0].rows), sql
        for part in names:
            theirs = engine.run(f"SELECT * FROM {part}").rows or []
            ours = compile_statement(bind(f"SELECT * FROM {part}", None, catalog, dialect).statement, catalog, dialect)
            assert Counter(theirs) == Counter(ours(view, ()).results[0].rows), (sql, part)
    assert refused.keys() <= {"UPDATE of a column that tells the partition"}


def test_what_is_left_of_partitions(postgres: Any) -> None:
    dialect = Dialect("postgres", collation="C")
    hashed = ["CREATE TABLE p (a int, b int, c text) PARTITION BY HASH (a)"]
    hashed += [f"CREATE TABLE p{n} PARTITION OF p FOR VALUES WITH (modulus 2, remainder {n})" for n in range(2)]
    whole, half = (read_schema(texts, dialect, lenient=True) for texts in (hashed, hashed[:2]))
    assert not whole["p"].loose
    assert half["p"].loose
    assert whole["p1"].refused == "FOR VALUES WITH (modulus, remainder)"
    own = [RANGE[0], "CREATE TABLE p1 PARTITION OF p (CHECK (b > 1)) FOR VALUES FROM (0) TO (9)"]
    expected = "a partition with columns or constraints of its own"
    assert {table.refused for table in read_schema(own, dialect, lenient=True).values()} == {expected}
    computed = ["CREATE TABLE p (a int, c text) PARTITION BY LIST (lower(c))"]
    assert read_schema(computed, dialect, lenient=True)["p"].refused

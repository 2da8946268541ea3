"""Random logs of a table with two keys: upserts, each of which gives one of them anew, or nearly so; and subqueries.

Transactions run on random states, constraints on later ones; then an answer is changed now and then. Does not know how
a log is judged.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.library import SqlLibrary
from sql_semantics.run.queries.ties import cut
from sql_semantics.values.dialect import Dialect
from tests.property.states import Later, is_a_state
from troubadour.execution.initial.rows import initial_state
from troubadour.model.log import Header, InitialTable, Log, ObservedRows, Statement, Transaction
from troubadour.replay.store import Store
from troubadour.replay.view import WitnessView

COLLATIONS = {"mysql": "utf8mb4_bin", "postgres": "C"}
SCHEMA = ("CREATE TABLE k (id INT PRIMARY KEY, a INT NOT NULL, n INT NOT NULL, UNIQUE (a))",)
INITIAL = (InitialTable("k", None, [(1, 1, 10), (2, 2, 20)]),)
UPSERTS = {
    "mysql": (
        "INSERT INTO k VALUES ({id}, {a}, 5) ON DUPLICATE KEY UPDATE n = k.n + 1",
        "INSERT INTO k VALUES ({id}, {a}, 5) ON DUPLICATE KEY UPDATE n = VALUES(n)",
        "INSERT INTO k VALUES ({id}, {a}, 7), ({id}, {b}, 8) ON DUPLICATE KEY UPDATE n = k.n + 1",
        "INSERT IGNORE INTO k VALUES ({id}, {a}, 6)",
        "REPLACE INTO k VALUES ({id}, {a}, 9)",
    ),
    "postgres": (
        "INSERT INTO k VALUES ({id}, {a}, 5) ON CONFLICT (a) DO UPDATE SET n = k.n + 1",
        "INSERT INTO k VALUES ({id}, {a}, 7), ({id}, {b}, 8) ON CONFLICT DO NOTHING",
    ),
}
OTHERS = (
    "INSERT INTO k VALUES ({id}, {a}, 4)",
    "DELETE FROM k WHERE a = {a}",
    "UPDATE k SET n = n + 1 WHERE a = {a}",
    "UPDATE k SET n = 10 WHERE id = {b}",
    "SELECT a, n FROM k",
    "SELECT id, a, n FROM k",
    "SELECT n FROM k WHERE a = {a}",
    "SELECT count(*), sum(n) FROM k",
)
SUBQUERIES = {
    "mysql": ("UPDATE k SET n = n + 1 WHERE id = (SELECT id FROM (SELECT MIN(id) AS id FROM k WHERE n < 20) z)",),
    "postgres": (
        "UPDATE k SET n = n + 1 WHERE id = (SELECT MIN(id) FROM k WHERE n < 20) RETURNING id, n",
        "UPDATE k SET n = n + 1 WHERE id = (SELECT id FROM k ORDER BY n LIMIT 1) RETURNING id, n",
        "DELETE FROM k WHERE id = (SELECT MAX(id) FROM k) RETURNING id",
        "UPDATE k SET n = n + 2 WHERE id IN (SELECT id FROM k WHERE a >= {a}) RETURNING n, id",
    ),
}
QUERIES = (
    "SELECT a, n FROM k WHERE n > (SELECT AVG(n) FROM k)",
    "SELECT a, n FROM k WHERE a <> {a} AND n >= (SELECT MIN(n) FROM k WHERE a <> {b})",
    "SELECT x.a, y.n FROM k x JOIN k y ON x.a = y.a WHERE y.n > 9 AND x.a <> {a}",
    "SELECT COUNT(*) FROM k x WHERE NOT EXISTS (SELECT 1 FROM k y WHERE y.n = x.n + 1 AND y.a = {a})",
    "UPDATE k SET n = n - 1 WHERE a <> {a}",
)
MOVING = ("UPDATE k SET id = {b} WHERE a = {a}",)


def library(dialect: str) -> SqlLibrary:
    """The table in a dialect."""
    return SqlLibrary(Dialect(dialect, collation=COLLATIONS[dialect]), SCHEMA)


def _changed(rng: random.Random, shown: ObservedRows) -> ObservedRows:
    """An answer whose last number is one off in one row."""
    rows = list(shown.rows)
    place = rng.randrange(len(rows))
    *first, last = rows[place]
    rows[place] = (*first, last + 1 if isinstance(last, int) else last)
    return ObservedRows(shown.columns, rows)


def random_log(seed: int, dialect: str, *, subqueries: bool = False) -> Log:
    """A log of three to five transactions."""
    texts = [*UPSERTS[dialect], *UPSERTS[dialect], *OTHERS, *(MOVING if seed % 8 == 0 else ())]
    if subqueries:
        texts = [*SUBQUERIES[dialect], *QUERIES, *QUERIES, *OTHERS]
    return log_of(seed, library(dialect), SCHEMA, INITIAL, texts, most=3 if subqueries else 2)


def log_of(
    seed: int,
    compiled: SqlLibrary,
    schema: Sequence[str],
    initial: Sequence[InitialTable],
    texts: Sequence[str],
    *,
    most: int,
) -> Log:
    """The same of other tables and statements, up to `most` in a transaction."""
    rng = random.Random(seed)
    dialect = compiled.dialect.name
    header = Header(dialect, schema, initial=initial, settings={"collation": COLLATIONS[dialect]})
    store = Store(compiled, initial_state(Log(header, [], "empty"), compiled))
    again = 0.3 if seed % 3 == 0 else 0.0
    given = 10
    transactions: list[Transaction] = []
    for number in range(1, rng.randint(3, 5) + 1):
        state = rng.choice((store.newest, store.newest, rng.randint(0, store.newest)))
        view = WitnessView(store, number, state, statements=Later(rng, store.newest))
        statements: list[Statement] = []
        try:
            for index in range(rng.randint(1, most)):
                sql = rng.choice(texts)
                while "{id}" in sql:
                    given += 1
                    key = rng.choice((1, 3, 11, given - 1)) if rng.random() < again else given
                    sql = sql.replace("{id}", str(key), 1)
                sql = sql.format(a=rng.randint(1, 3), b=rng.randint(1, 3))
                view.statement(index)
                outcome = compiled.program(sql).run(view, ())
                rows = tuple(ObservedRows(tuple("x" for _ in r.types), tuple(cut(r, None))) for r in outcome.results)
                if rows and rows[0].rows and rng.random() < 0.08:
                    rows = (_changed(rng, rows[0]),)
                affected = outcome.affected
                if affected is not None and rng.random() < 0.12:
                    affected = max(0, affected + rng.choice((-1, 1)))
                statements.append(Statement(sql, affected=affected, results=rows or None))
        except (SqlError, Unsupported):
            continue
        copy = store.copy()
        if not is_a_state(copy, view.writes):
            continue
        store = copy
        transactions.append(
            Transaction(number, "committed", tuple(statements), number, start=2 * state + 1, commit=2 * number + 2)
        )
    return Log(header, transactions, f"seed {seed}")

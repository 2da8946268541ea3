"""How fast the concrete interpreter runs on rows in memory, beside SQLite called from Python (DESIGN §3).

Prints microseconds per execution (milliseconds for the scan); the ratio is ours to SQLite's. Run as
``python -m benchmarks.interpreter``. Knows no isolation levels and no logs.
"""

from __future__ import annotations

import sqlite3
import sys
import timeit
from collections.abc import Callable

from sql_semantics.frontend import bind, read_schema
from sql_semantics.ir.schema import Catalog
from sql_semantics.run import MemoryView, compile_statement
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import Kind

ROWS = 100_000
SCHEMA = "CREATE TABLE accounts (id integer PRIMARY KEY, owner text, balance bigint)"


def best_microseconds(action: Callable[[], object], number: int, repeat: int = 7) -> float:
    """Microseconds per call, the best of `repeat` rounds."""
    return min(timeit.repeat(action, number=number, repeat=repeat)) / number * 1e6


def main() -> None:
    """Measure and print one line per statement."""
    dialect = Dialect("postgres")
    catalog = Catalog(read_schema([SCHEMA], dialect))
    rows = [(i, f"o{i % 97}", i * 10) for i in range(ROWS)]
    view = MemoryView({"accounts": rows})
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute(SCHEMA)
    connection.executemany("INSERT INTO accounts VALUES (?, ?, ?)", rows)
    connection.execute("BEGIN")
    statements: tuple[tuple[str, str, tuple[int, ...], int], ...] = (
        ("select by key", "SELECT id, owner, balance FROM accounts WHERE id = $1", (4711,), 20_000),
        ("update by key", "UPDATE accounts SET balance = balance + $1 WHERE id = $2", (1, 4711), 20_000),
        ("scan", "SELECT id FROM accounts WHERE balance < $1", (5000,), 5),
        ("scan and sum", "SELECT SUM(balance) FROM accounts WHERE balance > $1", (5000,), 2),
    )
    for name, sql, arguments, number in statements:
        kinds = tuple(Kind.INT for _ in arguments)
        run = compile_statement(bind(sql, kinds, catalog, dialect).statement, catalog, dialect)
        theirs_sql = sql.replace("$1", "?1").replace("$2", "?2")
        ours = best_microseconds(lambda run=run, arguments=arguments: run(view, arguments), number)  # type: ignore[misc]
        theirs = best_microseconds(
            lambda sql=theirs_sql, arguments=arguments: connection.execute(sql, arguments).fetchall(),  # type: ignore[misc]
            number,
        )
        sys.stdout.write(f"{name:14} {ours:10.2f} us   sqlite {theirs:10.2f} us   ratio {ours / theirs:5.2f}\n")


if __name__ == "__main__":
    main()

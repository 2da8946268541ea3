"""How an audit bears logs that leave much open: writers tell nothing, and read states that are not newest.

Three families, made by plain arithmetic on what really happened: `copies` (INSERT ... SELECT of which nothing is seen),
`skewed` (updates that take their values from another table), both at snapshot, and `two-rows` (read committed on two
rows). Every tenth transaction reads. Run as
``python -m benchmarks.search.ambiguity``. Knows nothing of how the audit decides.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

import click

from sql_semantics.library import SqlLibrary
from sql_semantics.values.dialect import Dialect
from troubadour.audit.driver import Options, audit
from troubadour.model.log import Header, InitialTable, Log, ObservedRows, Statement, Transaction
from troubadour.problem.problem import Heuristics

ITEMS = 8
LAG = 4
"""How many states behind the newest one a transaction may read."""
SEEN = 10
"""One in so many transactions is a reader."""

State = dict[tuple[str, int], int]
Step = tuple[Statement, State]
"""A statement and the rows that it wrote."""


def _tables(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"CREATE TABLE {name} (id INT PRIMARY KEY, v INT NOT NULL)" for name in names)


def _seen(sql: str, params: tuple[int, ...], rows: Sequence[tuple[int, ...]]) -> Statement:
    columns = tuple(f"c{n}" for n in range(len(rows[0]) if rows else 2))
    return Statement(sql, params, results=(ObservedRows(columns, tuple(rows)),))


def copies(random: Random, number: int, old: State) -> Step:
    """Rows of one table are copied into another, unseen; others are counted up."""
    item = random.randint(1, ITEMS)
    if number % SEEN == 0:
        low = max(0, number - 5 * SEEN) * ITEMS
        rows = sorted((i, v) for (table, i), v in old.items() if table == "archive" and low <= i)
        return _seen("SELECT id, v FROM archive WHERE id >= $1 ORDER BY id", (low,), rows), {}
    if number % 3 == 0:
        copied = {("archive", number * ITEMS + i): old["items", i] for i in range(1, 4)}
        sql = "INSERT INTO archive (id, v) SELECT $1 + id, v FROM items WHERE id <= 3"
        return Statement(sql, (number * ITEMS,)), copied
    return Statement("UPDATE items SET v = v + 1 WHERE id = $1", (item,)), {("items", item): old["items", item] + 1}


def skewed(random: Random, number: int, old: State) -> Step:
    """A row of one table is made from one of the other."""
    here, there = random.choice((("a", "b"), ("b", "a")))
    item, other = random.randint(1, ITEMS), random.randint(1, ITEMS)
    if number % SEEN == 0:
        rows = sorted((i, v) for (table, i), v in old.items() if table == here)
        return _seen(f"SELECT id, v FROM {here} ORDER BY id", (), rows), {}
    sql = f"UPDATE {here} SET v = (SELECT v FROM {there} WHERE id = $1) + 1 WHERE id = $2"
    return Statement(sql, (other, item)), {(here, item): old[there, other] + 1}


def two_rows(random: Random, number: int, old: State) -> Step:
    """Two rows are counted up, the one by the other now and then."""
    item = random.randint(1, 2)
    if number % SEEN == 0:
        rows = sorted((i, v) for (_, i), v in old.items())
        return _seen("SELECT id, v FROM n ORDER BY id", (), rows), {}
    if number % 7 == 0:
        sql = "UPDATE n SET v = (SELECT v FROM n WHERE id = $1) WHERE id = $2"
        return Statement(sql, (3 - item, item)), {("n", item): old["n", 3 - item]}
    return Statement("UPDATE n SET v = v + 1 WHERE id = $1", (item,)), {("n", item): old["n", item] + 1}


FAMILIES: dict[str, tuple[Callable[[Random, int, State], Step], Sequence[str], str]] = {
    "copies": (copies, ("items", "archive"), "snapshot"),
    "skewed": (skewed, ("a", "b"), "snapshot"),
    "two-rows": (two_rows, ("n",), "read-committed"),
}


def ambiguous_log(family: str, size: int, seed: int, *, wrong: bool = False) -> Log:
    """A log of one family; with `wrong` its last reader sees a value that never was."""
    step, tables, isolation = FAMILIES[family]
    random = Random(seed)
    first: State = {
        (table, n): 0 for table in tables if table != "archive" for n in range(1, (2 if table == "n" else ITEMS) + 1)
    }
    states = [first]
    transactions: list[Transaction] = []
    for number in range(1, size + 1):
        lag = random.randint(0, min(LAG, len(states) - 1))
        old, newest = states[-1 - lag], states[-1]
        statement, writes = step(random, number, old)
        if any(old.get(row) != newest.get(row) for row in writes):
            # the row was written since: it reads the newest state then
            statement, writes = step(random, number, newest)
            if any(states[-1].get(row) is None and row[0] != "archive" for row in writes):
                raise AssertionError(writes)
        states.append({**newest, **writes})
        transactions.append(Transaction(number, "committed", (statement,), number, commit=number))
    if wrong:
        reader = max(place for place, t in enumerate(transactions) if t.statements[0].results)
        transactions[reader] = _altered(transactions[reader])
    initial = tuple(
        InitialTable(table, None, [(i, v) for (name, i), v in first.items() if name == table]) for table in tables
    )
    header = Header("postgres", _tables(tables), isolation=isolation, initial=initial)
    return Log(header, transactions, f"ambiguous {family} {size} {seed} {wrong}")


def _altered(transaction: Transaction) -> Transaction:
    statement = transaction.statements[0]
    assert statement.results is not None
    rows = statement.results[0].rows
    seen = ObservedRows(statement.results[0].columns, ((rows[0][0], rows[0][1] - 1000), *rows[1:]))
    return Transaction(
        transaction.id, "committed", (Statement(statement.sql, statement.params, results=(seen,)),),
        transaction.place, commit=transaction.commit,
    )  # fmt: skip


SWITCHES = {
    "all on": Heuristics(),
    "no index": replace(Heuristics(), index=False),
    "no window": replace(Heuristics(), window=None),
    "no concretization": replace(Heuristics(), concretize=False),
    "no stronger first": replace(Heuristics(), stronger_first=False),
    "all off": Heuristics(index=False, window=None, concretize=False, stronger_first=False),
}


@click.command()
@click.option("--size", default=2_000, show_default=True, help="Transactions.")
@click.option("--seed", default=1, show_default=True)
@click.option("--timeout", default=60.0, show_default=True, help="Seconds for one audit.")
@click.option("--family", "families", multiple=True, type=click.Choice(list(FAMILIES)), default=list(FAMILIES))
@click.option("--switch", "switches", multiple=True, type=click.Choice(list(SWITCHES)), default=list(SWITCHES))
def main(size: int, seed: int, timeout: float, families: Sequence[str], switches: Sequence[str]) -> None:
    """Print the verdict and the seconds of processor of an audit, for right and for wrong logs."""
    for family in families:
        for wrong in (False, True):
            log = ambiguous_log(family, size, seed, wrong=wrong)
            library = SqlLibrary(Dialect("postgres", collation="C"), log.header.schema)
            for name in switches:
                begun = time.process_time()
                verdict = audit(log, library, Options(timeout=timeout, heuristics=SWITCHES[name]))
                taken = time.process_time() - begun
                told = f"{verdict.status.value} ({verdict.verified_prefix:,} explained)"
                click.echo(f"{family:10} {'wrong' if wrong else 'right':6} {name:18} {taken:8.2f} s  {told}")


if __name__ == "__main__":
    main()

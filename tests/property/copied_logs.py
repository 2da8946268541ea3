"""Random small logs in which numbers are added to, copied between rows and tables, set and deleted, and seen.

What is seen comes from a run in which transactions read states that may be stale, and now and then is changed. Does not
know what a level allows.
"""

from __future__ import annotations

from random import Random

from sql_semantics.library import SqlLibrary
from sql_semantics.values.dialect import Dialect
from troubadour.model.log import Header, InitialTable, Log, ObservedRows, Statement, Transaction

TABLES = ("a", "b", "c")
SCHEMA = tuple(f"CREATE TABLE {name} (id INT PRIMARY KEY, v INT)" for name in TABLES)
LATE = 100
"""Keys from here on are inserted."""

State = dict[tuple[str, int], int | None]


def copied_library() -> SqlLibrary:
    """The tables of such logs."""
    return SqlLibrary(Dialect("postgres", collation="C"), SCHEMA)


def copied_log(seed: int) -> Log:
    """A log of three to five transactions; equal seeds give equal logs."""
    random = Random(seed)
    first: State = {(table, key): random.choice((0, 0, 5, None)) for table in ("a", "b") for key in (1, 2)}
    states = [first]
    transactions = []
    for number in range(1, random.randint(3, 5) + 1):
        state = dict(random.choice(states[-2:]))
        writes: State = {}
        gone: set[tuple[str, int]] = set()
        statements = [_statement(random, number, state, writes, gone) for _ in range(random.randint(1, 2))]
        newest = {**states[-1], **writes}
        states.append({row: value for row, value in newest.items() if row not in gone})
        transactions.append(Transaction(number, "committed", tuple(statements), number))
    initial = tuple(
        InitialTable(table, None, [(key, value) for (name, key), value in first.items() if name == table])
        for table in TABLES
    )
    return Log(Header("postgres", SCHEMA, initial=initial), transactions, f"copied {seed}")


def _statement(random: Random, number: int, state: State, writes: State, gone: set[tuple[str, int]]) -> Statement:
    """One statement on a state, which it changes; what it wrote and deleted is noted."""
    (table, key), (other, source) = ((random.choice(("a", "b")), random.choice((1, 2))) for _ in range(2))
    more = random.choice((-3, 0, 1, 1, 4))
    kind = random.choice(("read", "read", "scan", "add", "add", "copy", "copy", "keep", "set", "delete"))
    row = (table, key)
    if kind == "read":
        return _seen(random, f"SELECT id, v FROM {table} WHERE id = {key}", [row] if row in state else [], state)
    if kind == "scan":
        name = random.choice(TABLES)
        return _seen(random, f"SELECT id, v FROM {name} ORDER BY id", sorted(r for r in state if r[0] == name), state)
    if kind == "delete":
        if state.pop(row, ...) is not ...:
            gone.add(row)
        return Statement(f"DELETE FROM {table} WHERE id = {key}")
    if kind == "keep":
        late = ("c", LATE + number)
        if (other, source) in state and late not in state:
            state[late] = writes[late] = _sum(state[other, source], more)
            gone.discard(late)
        return Statement(
            f"INSERT INTO c (id, v) SELECT {late[1]}, v + {more} FROM {other} WHERE id = {source}"
            " ON CONFLICT (id) DO NOTHING"
        )
    if row in state:
        value = {"add": _sum(state[row], more), "copy": _sum(state.get((other, source)), more), "set": more}[kind]
        state[row] = writes[row] = value
    text = {"add": f"v + {more}", "copy": f"(SELECT v FROM {other} WHERE id = {source}) + {more}", "set": f"{more}"}
    return Statement(f"UPDATE {table} SET v = {text[kind]} WHERE id = {key}")


def _sum(value: int | None, more: int) -> int | None:
    return None if value is None else value + more


def _seen(random: Random, sql: str, rows: list[tuple[str, int]], state: State) -> Statement:
    """A query with its answer, of which a number may be another one."""
    found = [(key, state[table, key]) for table, key in rows]
    if found and random.random() < 0.4:
        place = random.randrange(len(found))
        found[place] = (found[place][0], random.choice((-7, -3, 0, 1, 2, 6, 9, 20, None)))
    return Statement(sql, results=(ObservedRows(("id", "v"), tuple(found)),))

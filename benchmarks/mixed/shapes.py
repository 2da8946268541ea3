"""What the transactions of a mixed run do: a few shapes of application, each with tables, first rows and random
programs. One text for PostgreSQL and MariaDB, ``%s`` for parameters.

Does not know at which level a program runs, nor how it is recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

Row = tuple[object, ...]

Ask = Callable[..., Sequence[Row]]
"""f(sql, *params): the rows that the statement answered, none where it answers none."""

Program = Callable[[Ask], None]
"""One transaction, from its first statement to its last; the statements may hang on what was answered before. All its
random choices are made before it runs, so that it may run again."""

ANY_MORE = 1000
"""Keys from here on are for rows that come later."""


@dataclass(frozen=True, slots=True)
class Shape:
    """`schema`: the CREATE statements. `rows` by table, in the order of its columns. `draw` makes a program."""

    schema: tuple[str, ...]
    rows: Mapping[str, Sequence[Row]]
    draw: Callable[[Random], Program]


def _number(rows: Sequence[Row]) -> int:
    """The number in the first column of the first row, 0 where there is none."""
    value = rows[0][0] if rows else None
    return 0 if value is None else int(str(value))


def _bank(random: Random) -> Program:
    source, target = random.sample(range(1, 6), 2)
    amount, kind = random.randint(1, 9), random.random()

    def move(ask: Ask) -> None:
        balance = _number(ask("SELECT n FROM accounts WHERE id = %s", source))
        other = _number(ask("SELECT n FROM accounts WHERE id = %s", target))
        if balance + other >= amount:
            ask("UPDATE accounts SET n = %s WHERE id = %s", balance - amount, source)

    def add(ask: Ask) -> None:
        ask("UPDATE accounts SET n = n - %s WHERE id = %s", amount, source)
        ask("UPDATE accounts SET n = n + %s WHERE id = %s", amount, target)

    def copy(ask: Ask) -> None:
        ask("UPDATE accounts SET n = %s WHERE id = %s", _number(ask("SELECT sum(n) FROM accounts")) // 5, target)

    def look(ask: Ask) -> None:
        ask("SELECT n FROM accounts WHERE id = %s", source)
        ask("SELECT id, n FROM accounts ORDER BY id")

    return move if kind < 0.4 else add if kind < 0.65 else copy if kind < 0.75 else look


def _on_call(random: Random) -> Program:
    one, kind = random.randint(1, 4), random.random()

    def leave(ask: Ask) -> None:
        if _number(ask("SELECT count(*) FROM duty WHERE here = 1")) >= 2:
            ask("UPDATE duty SET here = 0 WHERE id = %s", one)

    def leave_by_key(ask: Ask) -> None:
        if ask("SELECT id FROM duty WHERE id = %s AND here = 1", 1 + one % 4):
            ask("UPDATE duty SET here = 0 WHERE id = %s", one)

    def come(ask: Ask) -> None:
        ask("UPDATE duty SET here = 1 WHERE id = %s", one)

    def come_if_needed(ask: Ask) -> None:
        if not ask("SELECT id FROM duty WHERE here = 1 AND id <> %s", one):
            ask("UPDATE duty SET here = 1 WHERE id = %s", one)

    def look(ask: Ask) -> None:
        ask("SELECT id FROM duty WHERE here = 1 ORDER BY id")

    programs = (leave, leave_by_key, come, come_if_needed, look)
    return programs[min(int(kind * 6), 4)]


def _counters(random: Random) -> Program:
    one, other = random.sample(range(1, 5), 2)
    kind = random.random()

    def count(ask: Ask) -> None:
        ask("UPDATE counters SET n = n + 1 WHERE id = %s", one)

    def read_then_count(ask: Ask) -> None:
        found = _number(ask("SELECT n FROM counters WHERE id = %s", one))
        ask("UPDATE counters SET n = %s WHERE id = %s", found + 1, one)

    def over(ask: Ask) -> None:
        found = _number(ask("SELECT n FROM counters WHERE id = %s", one))
        ask("UPDATE counters SET n = %s WHERE id = %s", found + 1, other)

    def silent(ask: Ask) -> None:
        ask("UPDATE counters SET n = n WHERE id = %s", one)
        ask("SELECT n FROM counters WHERE id = %s", other)

    def look(ask: Ask) -> None:
        ask("SELECT n FROM counters WHERE id = %s", one)
        ask("SELECT n FROM counters WHERE id = %s", other)

    return (count, read_then_count, over, over, silent, look)[int(kind * 6)]


def _inventory(random: Random) -> Program:
    item, number, wanted = random.randint(1, 3), random.randint(ANY_MORE, 10**9), random.randint(1, 3)
    kind = random.random()

    def order(ask: Ask) -> None:
        left = _number(ask("SELECT n FROM stock WHERE id = %s", item))
        taken = _number(ask("SELECT sum(n) FROM orders WHERE item = %s", item))
        if left > taken:
            ask("INSERT INTO orders (id, item, n) VALUES (%s, %s, %s)", number, item, wanted)

    def ship(ask: Ask) -> None:
        for id, n in ask("SELECT id, n FROM orders WHERE item = %s ORDER BY id LIMIT 1", item):
            ask("UPDATE stock SET n = n - %s WHERE id = %s", n, item)
            ask("DELETE FROM orders WHERE id = %s", id)

    def restock(ask: Ask) -> None:
        ask("UPDATE stock SET n = n + %s WHERE id = %s", wanted, item)

    def lock(ask: Ask) -> None:
        if _number(ask("SELECT n FROM stock WHERE id = %s FOR UPDATE", item)) > 0:
            ask("INSERT INTO orders (id, item, n) VALUES (%s, %s, %s)", number, item, wanted)

    def look(ask: Ask) -> None:
        ask("SELECT s.id, s.n, o.id FROM stock s JOIN orders o ON o.item = s.id WHERE s.id = %s", item)
        ask("SELECT item, sum(n) FROM orders GROUP BY item ORDER BY item")

    return (order, order, ship, restock, lock, look)[int(kind * 6)]


def _coming_and_going(random: Random) -> Program:
    key, other = random.sample(range(1, 7), 2)
    kind = random.random()

    def insert(ask: Ask) -> None:
        ask("INSERT INTO guests (id, n) VALUES (%s, %s)", key, other)

    def insert_if_gone(ask: Ask) -> None:
        if not ask("SELECT id FROM guests WHERE id = %s", other):
            ask("INSERT INTO guests (id, n) VALUES (%s, %s)", key, other)

    def delete(ask: Ask) -> None:
        ask("DELETE FROM guests WHERE id = %s", key)

    def delete_if_there(ask: Ask) -> None:
        if ask("SELECT n FROM guests WHERE id = %s", other):
            ask("DELETE FROM guests WHERE id = %s", key)

    def again(ask: Ask) -> None:
        ask("DELETE FROM guests WHERE id = %s", key)
        ask("INSERT INTO guests (id, n) VALUES (%s, %s)", key, other)

    def look(ask: Ask) -> None:
        ask("SELECT id, n FROM guests ORDER BY id")

    return (insert, insert_if_gone, delete, delete_if_there, again, look)[int(kind * 6)]


def _predicates(random: Random) -> Program:
    group, other = random.sample(range(3), 2)
    number, id, kind = random.randint(0, 9), random.randint(1, 8), random.random()

    def count_into(ask: Ask) -> None:
        found = _number(ask("SELECT count(*) FROM things WHERE grp = %s", group))
        ask("UPDATE things SET n = %s WHERE id = %s", found, id)

    def move(ask: Ask) -> None:
        ask("UPDATE things SET grp = %s WHERE grp = %s AND n < %s", other, group, number)

    def raise_all(ask: Ask) -> None:
        ask("UPDATE things SET n = n + 1 WHERE grp = %s", group)

    def most(ask: Ask) -> None:
        found = _number(ask("SELECT max(n) FROM things WHERE grp = %s", group))
        if found > 0:
            ask("UPDATE things SET n = 0 WHERE id = %s", id)

    def between(ask: Ask) -> None:
        ask("SELECT id, n FROM things WHERE n BETWEEN %s AND %s ORDER BY id", number, number + 3)
        ask("SELECT grp, count(*), sum(n) FROM things GROUP BY grp ORDER BY grp")

    return (count_into, count_into, move, raise_all, most, between)[int(kind * 6)]


SHAPES: Mapping[str, Shape] = {
    "bank": Shape(
        ("CREATE TABLE accounts (id INT PRIMARY KEY, n INT NOT NULL)",),
        {"accounts": [(n, 100) for n in range(1, 6)]},
        _bank,
    ),
    "on-call": Shape(
        ("CREATE TABLE duty (id INT PRIMARY KEY, here INT NOT NULL)",),
        {"duty": [(n, 1) for n in range(1, 5)]},
        _on_call,
    ),
    "counters": Shape(
        ("CREATE TABLE counters (id INT PRIMARY KEY, n INT NOT NULL)",),
        {"counters": [(n, 0) for n in range(1, 5)]},
        _counters,
    ),
    "inventory": Shape(
        (
            "CREATE TABLE stock (id INT PRIMARY KEY, n INT NOT NULL)",
            "CREATE TABLE orders (id INT PRIMARY KEY, item INT NOT NULL, n INT NOT NULL)",
        ),
        {"stock": [(n, 20) for n in range(1, 4)], "orders": []},
        _inventory,
    ),
    "guests": Shape(
        ("CREATE TABLE guests (id INT PRIMARY KEY, n INT NOT NULL)",),
        {"guests": [(n, 0) for n in range(1, 5)]},
        _coming_and_going,
    ),
    "predicates": Shape(
        ("CREATE TABLE things (id INT PRIMARY KEY, grp INT NOT NULL, n INT NOT NULL)",),
        {"things": [(n, n % 3, n) for n in range(1, 9)]},
        _predicates,
    ),
}
"""All shapes by name."""

"""Shapes of application on rows that every client wants at once: stock, wards, a forum, counters, seats.

Each is data: tables, first rows, and units of statements that share what is drawn for them. Does not know at which
level a program runs, nor how it is recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from re import sub

from benchmarks.mixed.shapes import ANY_MORE, Ask, Program, Row, Shape

Draw = Callable[[Random], object]
"""One value of a placeholder."""

Units = Sequence[Sequence[str]]
"""Statements that a transaction runs together, one to three of them in one. ``:name`` is drawn once for a unit,
``:new`` is a number that hardly comes twice in a run."""


def _up_to(highest: int) -> Draw:
    return lambda random: random.randint(0, highest)


def _one_of(*values: object) -> Draw:
    return lambda random: random.choice(values)


def _drawing(values: Mapping[str, Draw], units: Units) -> Callable[[Random], Program]:
    def unit(random: Random) -> Sequence[tuple[str, Row]]:
        drawn = {"new": random.randint(ANY_MORE, 10**9), **{name: draw(random) for name, draw in values.items()}}
        return [_filled(text, drawn) for text in random.choice(units)]

    def draw(random: Random) -> Program:
        asked = [one for _ in range(random.choice((1, 1, 1, 2, 3))) for one in unit(random)]

        def program(ask: Ask) -> None:
            for sql, params in asked:
                ask(sql, *params)

        return program

    return draw


def _filled(text: str, drawn: Mapping[str, object]) -> tuple[str, Row]:
    """A text with ``:name`` placeholders as one with ``%s``, and its parameters."""
    used: list[object] = []

    def place(name: str) -> str:
        used.append(drawn[name])
        return "%s"

    return sub(r":([a-z]+)\b", lambda found: place(found[1]), text), tuple(used)


def _shape(
    schema: tuple[str, ...], rows: Mapping[str, Sequence[Row]], values: Mapping[str, Draw], units: Units
) -> Shape:
    return Shape(schema, rows, _drawing(values, units))


def _upsert(product: str, key: str, assignments: str) -> str:
    if product == "mariadb":
        return f"ON DUPLICATE KEY UPDATE {assignments}"
    return f"ON CONFLICT ({key}) DO UPDATE SET {assignments}"


def _stock() -> Shape:
    """Rows with a second key; what is sold out is thrown away by a condition that no index helps with."""
    rows = [(n, f"k{n % 3}", n // 3, (0, 2, 2, 5)[n % 4]) for n in range(9)]
    return _shape(
        (
            "CREATE TABLE items (id INT PRIMARY KEY, sku VARCHAR(10) NOT NULL, wh INT NOT NULL, qty INT NOT NULL, "
            "UNIQUE (sku, wh))",
        ),
        {"items": rows},
        {"sku": _one_of("k0", "k1", "k2"), "wh": _up_to(3), "qty": _up_to(3), "id": _up_to(8)},
        (
            ("DELETE FROM items WHERE qty = 0 OR (sku = :sku AND qty > 3)",),
            ("UPDATE items SET qty = :qty WHERE sku = :sku AND wh = :wh",),
            ("UPDATE items SET qty = qty + 1 WHERE wh = :wh",),
            ("UPDATE items SET qty = qty - 1 WHERE sku = :sku AND qty > 0",),
            ("UPDATE items SET wh = wh + 10 WHERE sku = :sku AND wh < 10 AND qty = :qty",),
            ("INSERT INTO items (id, sku, wh, qty) VALUES (:new, :sku, :wh, :qty)",),
            ("INSERT INTO items (id, sku, wh, qty) VALUES (:new, :sku, :wh, :qty)",),
            ("SELECT id, qty FROM items WHERE sku = :sku ORDER BY id",),
            ("SELECT sku, COUNT(*), SUM(qty) FROM items GROUP BY sku ORDER BY sku",),
            (
                "SELECT id, qty FROM items WHERE sku = :sku AND wh = :wh FOR UPDATE",
                "UPDATE items SET qty = qty + 2 WHERE sku = :sku AND wh = :wh",
            ),
            ("DELETE FROM items WHERE id = :id",),
        ),
    )


def _wards() -> Shape:
    """Doctors on call, by a flag and a count that no index has."""
    return _shape(
        ("CREATE TABLE doctors (id INT PRIMARY KEY, ward INT NOT NULL, duty BOOLEAN NOT NULL, shifts INT NOT NULL)",),
        {"doctors": [(n, n % 3, True, 0) for n in range(1, 10)]},
        {"id": lambda random: random.randint(1, 9), "ward": _up_to(2), "shifts": _up_to(4)},
        (
            ("SELECT ward, COUNT(*) FROM doctors WHERE duty GROUP BY ward ORDER BY ward",),
            (
                "SELECT COUNT(*) FROM doctors WHERE ward = :ward AND duty",
                "UPDATE doctors SET duty = FALSE, shifts = shifts + 1 WHERE id = :id AND ward = :ward",
            ),
            ("UPDATE doctors SET duty = TRUE WHERE id = :id",),
            ("UPDATE doctors SET duty = NOT duty WHERE ward = :ward AND shifts > :shifts",),
            ("SELECT id, shifts FROM doctors WHERE ward = :ward AND duty ORDER BY shifts, id LIMIT 1",),
            ("UPDATE doctors SET ward = :ward WHERE id = :id AND NOT duty",),
            (
                "SELECT COUNT(*) FROM doctors WHERE ward = :ward AND duty",
                "UPDATE doctors SET duty = FALSE WHERE id = "
                "(SELECT id FROM (SELECT MIN(id) AS id FROM doctors WHERE ward = :ward AND duty) AS least)",
            ),
            (
                "SELECT id FROM doctors WHERE ward = :ward AND duty ORDER BY id FOR UPDATE",
                "UPDATE doctors SET shifts = shifts + 1 WHERE id = :id",
            ),
        ),
    )


def _forum() -> Shape:
    """Posts, and each thread's count of them."""
    return _shape(
        (
            "CREATE TABLE threads (id INT PRIMARY KEY, title VARCHAR(20) NOT NULL, posts INT NOT NULL, last INT)",
            "CREATE TABLE posts (id INT PRIMARY KEY, thread INT NOT NULL, author VARCHAR(10) NOT NULL, "
            "score INT NOT NULL)",
            "CREATE INDEX posts_thread ON posts (thread)",
        ),
        {
            "threads": [(n, f"thread {n}", 2, None) for n in range(1, 5)],
            "posts": [(n, 1 + n % 4, f"a{n % 3}", n % 5) for n in range(1, 9)],
        },
        {
            "thread": lambda random: random.randint(1, 4),
            "author": _one_of("a0", "a1", "a2"),
            "score": _up_to(5),
            "id": lambda random: random.randint(1, 12),
        },
        (
            (
                "INSERT INTO posts (id, thread, author, score) VALUES (:new, :thread, :author, :score)",
                "UPDATE threads SET posts = posts + 1, last = :new WHERE id = :thread",
            ),
            (
                "INSERT INTO posts (id, thread, author, score) VALUES (:new, :thread, :author, :score)",
                "UPDATE threads SET posts = (SELECT COUNT(*) FROM posts WHERE thread = :thread) WHERE id = :thread",
            ),
            ("SELECT COUNT(*) FROM posts WHERE thread = :thread", "SELECT posts, last FROM threads WHERE id = :thread"),
            ("SELECT t.id, t.posts, COUNT(p.id) FROM threads t LEFT JOIN posts p ON p.thread = t.id "
             "GROUP BY t.id, t.posts ORDER BY t.id",),
            ("UPDATE posts SET score = score + 1 WHERE id = :id",),
            ("SELECT author, COUNT(*), MAX(score) FROM posts GROUP BY author ORDER BY author",),
            ("SELECT id, score FROM posts WHERE score > (SELECT AVG(score) FROM posts) ORDER BY id",),
            (
                "DELETE FROM posts WHERE thread = :thread AND score = :score",
                "UPDATE threads SET posts = (SELECT COUNT(*) FROM posts WHERE thread = :thread) WHERE id = :thread",
            ),
        ),
    )  # fmt: skip


def _upserts(product: str) -> Shape:
    """Rows that come with their first count."""
    old, new = ("", "VALUES(n)") if product == "mariadb" else ("counters.", "excluded.n")
    insert = "INSERT INTO counters (k, n, last) VALUES (:k, :n, :who) "
    more = insert + _upsert(product, "k", f"n = {old}n + 1, last = :who")
    return _shape(
        ("CREATE TABLE counters (k VARCHAR(10) PRIMARY KEY, n INT NOT NULL, last VARCHAR(10))",),
        {"counters": [("k0", 0, None), ("k1", 3, "u0")]},
        {
            "k": _one_of("k0", "k1", "k2", "k3"),
            "n": lambda random: random.randint(1, 3),
            "who": _one_of("u1", "u2", "u3", "u4"),
        },
        (
            (more,),
            (insert + _upsert(product, "k", f"n = {old}n + {new}, last = :who"),),
            (more, "SELECT n, last FROM counters WHERE k = :k"),
            ("SELECT k, n, last FROM counters ORDER BY k",),
            ("SELECT SUM(n), COUNT(*) FROM counters",),
            (
                "SELECT n FROM counters WHERE k = :k",
                "UPDATE counters SET n = n - 1, last = :who WHERE k = :k AND n > 2",
            ),
            ("DELETE FROM counters WHERE k = :k AND n > :n",),
            ("UPDATE counters SET n = n + 1, last = :who WHERE n < :n",),
        ),
    )  # fmt: skip


def _seats() -> Shape:
    """Seats that are held and let go, by a key of three columns."""
    return _shape(
        (
            "CREATE TABLE seats (show_id INT NOT NULL, row_no INT NOT NULL, seat INT NOT NULL, holder VARCHAR(20), "
            "price INT NOT NULL, PRIMARY KEY (show_id, row_no, seat))",
            "CREATE TABLE bookings (id INT PRIMARY KEY, show_id INT NOT NULL, who VARCHAR(20) NOT NULL, "
            "n INT NOT NULL)",
        ),
        {"seats": [(s, r, n, None, 10 + 5 * r) for s in (1, 2) for r in (1, 2) for n in (1, 2, 3)], "bookings": []},
        {
            "show": _one_of(1, 2), "row": _one_of(1, 2), "seat": _one_of(1, 2, 3), "who": _one_of("ann", "bob", "cy"),
        },
        (
            (
                "SELECT seat FROM seats WHERE show_id = :show AND row_no = :row AND holder IS NULL ORDER BY seat",
                "UPDATE seats SET holder = :who WHERE show_id = :show AND row_no = :row AND seat = :seat "
                "AND holder IS NULL",
                "INSERT INTO bookings (id, show_id, who, n) SELECT :new, :show, :who, COUNT(*) FROM seats "
                "WHERE show_id = :show AND holder = :who",
            ),
            (
                "SELECT seat, price FROM seats WHERE show_id = :show AND row_no = :row AND holder IS NULL "
                "ORDER BY seat LIMIT 1 FOR UPDATE",
                "UPDATE seats SET holder = :who WHERE show_id = :show AND row_no = :row AND seat = :seat",
            ),
            (
                "UPDATE seats SET holder = NULL WHERE show_id = :show AND holder = :who",
                "DELETE FROM bookings WHERE show_id = :show AND who = :who",
            ),
            ("SELECT show_id, COUNT(holder), COUNT(*) FROM seats GROUP BY show_id ORDER BY show_id",),
            ("SELECT SUM(price) FROM seats WHERE holder = :who",),
            ("SELECT who, SUM(n) FROM bookings GROUP BY who ORDER BY who",),
            ("UPDATE seats SET price = price + 1 WHERE holder IS NULL AND show_id = :show",),
        ),
    )  # fmt: skip


def hot_shapes(product: str) -> Mapping[str, Shape]:
    """All of them by name, in the words of a product."""
    return {
        "stock": _stock(),
        "wards": _wards(),
        "forum": _forum(),
        "upserts": _upserts(product),
        "seats": _seats(),
    }

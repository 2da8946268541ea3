"""Counters kept by upserts, doctors on call, an inventory, threads of messages.

Predicates, ranges, counts, sums and rows that come and go tell in them what keys alone do not. Does not know at which
level they run.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.faults.apps.application import IF_FOUND, Application, Step
from troubadour.record import Draws

# --- counters: a row for each page and day


def _counters(random: Draws, dialect: str) -> Sequence[Step]:
    page, day, user = f"p{random.randrange(6)}", random.randrange(2), f"u{random.randrange(10)}"
    kind = random.random()
    if kind < 0.4:
        if dialect == "mysql":
            update = "ON DUPLICATE KEY UPDATE n = n + 1, last = VALUES(last)"
        else:
            update = "ON CONFLICT (page, day) DO UPDATE SET n = hits.n + 1, last = excluded.last"
            update += " RETURNING n" if kind < 0.2 else ""
        return ((f"INSERT INTO hits (page, day, n, last) VALUES ($1, $2, 1, $3) {update}", (page, day, user)),)
    if kind < 0.5:
        return (("DELETE FROM hits WHERE page = $1 AND day = $2 AND n > 3", (page, day)),)
    if kind < 0.6:
        return (("UPDATE hits SET n = n * 2 WHERE page = $1 AND n < 20", (page,)),)
    if kind < 0.75:
        return (("SELECT page, n, last FROM hits WHERE day = $1 ORDER BY n DESC, page", (day,)),)
    if kind < 0.87:
        return (("SELECT day, SUM(n), COUNT(*) FROM hits GROUP BY day ORDER BY day", ()),)
    return (("SELECT n FROM hits WHERE page = $1 AND day = $2", (page, day)),)


COUNTERS = Application(
    "counters",
    ("CREATE TABLE hits (page VARCHAR(10) NOT NULL, day INT NOT NULL, n INT NOT NULL, last VARCHAR(10), "
     "PRIMARY KEY (page, day))",),
    {"hits": ("page", "day", "n", "last")},
    (),
    _counters,
)  # fmt: skip


# --- on call: at least one doctor of each ward


def _on_call(random: Draws, dialect: str) -> Sequence[Step]:
    del dialect
    ward, doctor, kind = random.randrange(3), random.randint(1, 12), random.random()
    if kind < 0.25:
        return (
            ("SELECT COUNT(*) FROM doctors WHERE ward = $1 AND duty = 1", (ward,)),
            ("UPDATE doctors SET duty = 0, shifts = shifts + 1 WHERE id = $1 AND ward = $2", (doctor, ward)),
        )
    if kind < 0.45:
        return (("UPDATE doctors SET duty = 1 WHERE id = $1 AND duty = 0", (doctor,)),)
    if kind < 0.55:
        return (("UPDATE doctors SET ward = $1 WHERE id = $2", (ward, doctor)),)
    if kind < 0.65:
        picked = "SELECT id FROM (SELECT MIN(id) AS id FROM doctors WHERE ward = $1 AND duty = 1) x"
        return ((f"UPDATE doctors SET duty = 0 WHERE id = ({picked})", (ward,)),)
    if kind < 0.68:
        return (("UPDATE doctors SET shifts = 0 WHERE shifts > 2", ()),)
    if kind < 0.75:
        return (("SELECT ward, COUNT(*) FROM doctors WHERE duty = 1 GROUP BY ward", ()),)
    if kind < 0.9:
        return (("SELECT id FROM doctors WHERE ward = $1 AND duty = 1 ORDER BY id", (ward,)),)
    return (("SELECT SUM(shifts), MAX(shifts) FROM doctors", ()),)


ON_CALL = Application(
    "on-call",
    ("CREATE TABLE doctors (id INT PRIMARY KEY, ward INT NOT NULL, duty INT NOT NULL, shifts INT NOT NULL)",),
    {"doctors": ("id", "ward", "duty", "shifts")},
    (("doctors", ("id", "ward", "duty", "shifts"), [(n, n % 3, 1, 0) for n in range(1, 13)]),),
    _on_call,
)


# --- inventory: items in warehouses


def _inventory(random: Draws, dialect: str) -> Sequence[Step]:
    del dialect
    sku, house, item = f"k{random.randrange(8)}", random.randrange(3), random.randint(1, 12)
    kind = random.random()
    if kind < 0.12:
        return (("INSERT INTO items (id, sku, wh, qty) VALUES ($1, $2, $3, $4)", (random.fresh(), sku, house, 2)),)
    if kind < 0.3:
        return (("UPDATE items SET qty = qty - 1 WHERE sku = $1 AND wh = $2 AND qty > 0", (sku, house)),)
    if kind < 0.4:
        return (("UPDATE items SET qty = qty + $1 WHERE id = $2", (random.randint(1, 3), item)),)
    if kind < 0.48:
        return (("UPDATE items SET wh = $1 WHERE sku = $2 AND wh = $3", (house, sku, random.randrange(3))),)
    if kind < 0.56:
        return (("DELETE FROM items WHERE qty = 0", ()),)
    if kind < 0.7:
        return (("SELECT id, qty FROM items WHERE sku = $1 AND wh = $2", (sku, house)),)
    if kind < 0.8:
        return (("SELECT COUNT(*), SUM(qty) FROM items WHERE wh = $1", (house,)),)
    if kind < 0.9:
        return (("SELECT sku, SUM(qty) FROM items GROUP BY sku HAVING SUM(qty) > 3 ORDER BY sku", ()),)
    return (("SELECT MAX(qty) FROM items WHERE wh = $1", (house,)),)


INVENTORY = Application(
    "inventory",
    ("CREATE TABLE items (id INT PRIMARY KEY, sku VARCHAR(10) NOT NULL, wh INT NOT NULL, qty INT NOT NULL)",),
    {"items": ("id", "sku", "wh", "qty")},
    (("items", ("id", "sku", "wh", "qty"), [(n, f"k{n % 8}", n % 3, 5) for n in range(1, 13)]),),
    _inventory,
)


# --- threads of messages, which go with their thread


def _threads(random: Draws, dialect: str) -> Sequence[Step]:
    thread, kind = random.randint(1, 6), random.random()
    if kind < 0.3:
        return (
            ("UPDATE threads SET posts = posts + 1 WHERE id = $1", (thread,)),
            ("SELECT posts FROM threads WHERE id = $1", (thread,)),
        )
    if kind < 0.45:
        message = random.fresh()
        insert = f"{IF_FOUND}INSERT INTO msgs (id, thread, body) VALUES ($1, $2, $3)"
        lock = "LOCK IN SHARE MODE" if dialect == "mysql" else "FOR SHARE"
        return (
            (f"SELECT posts FROM threads WHERE id = $1 {lock}", (thread,)),
            (insert, (message, thread, f"b{message}")),
        )
    if kind < 0.52:
        return (("UPDATE msgs SET body = $1 WHERE thread = $2", (f"b{random.fresh()}", thread)),)
    if kind < 0.56:
        return (("DELETE FROM threads WHERE id = $1", (thread,)),)
    if kind < 0.64:
        return (("INSERT INTO threads (id, posts) VALUES ($1, 0)", (random.fresh(),)),)
    if kind < 0.72:
        return (("DELETE FROM msgs WHERE thread = $1 AND body = $2", (thread, "b")),)
    if kind < 0.82:
        return (("SELECT t.id, t.posts, COUNT(m.id) FROM threads t LEFT JOIN msgs m ON m.thread = t.id "
                 "GROUP BY t.id, t.posts ORDER BY t.id", ()),)  # fmt: skip
    if kind < 0.92:
        return (("SELECT id, body FROM msgs WHERE thread = $1 ORDER BY id DESC LIMIT 3", (thread,)),)
    return (("SELECT COUNT(*) FROM msgs", ()),)


THREADS = Application(
    "threads",
    ("CREATE TABLE threads (id INT PRIMARY KEY, posts INT NOT NULL)",
     "CREATE TABLE msgs (id INT PRIMARY KEY, thread INT NOT NULL, body VARCHAR(20), "
     "FOREIGN KEY (thread) REFERENCES threads (id) ON DELETE CASCADE)"),
    {"threads": ("id", "posts"), "msgs": ("id", "thread", "body")},
    (("threads", ("id", "posts"), [(n, 2) for n in range(1, 7)]),
     ("msgs", ("id", "thread", "body"), [(n, 1 + n % 6, "b") for n in range(1, 13)])),
    _threads,
)  # fmt: skip

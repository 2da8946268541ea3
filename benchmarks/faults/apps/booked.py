"""Seats that are booked and given back, and a queue of jobs that workers claim past what others hold.

The first free row by order and LIMIT, a row that is claimed by its condition, a unique key beside the primary one, and
SKIP LOCKED. Does not know at which level they run.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.faults.apps.application import FOUND, IF_FOUND, Application, Step
from troubadour.record import Draws


def _seats(random: Draws, dialect: str) -> Sequence[Step]:
    flight, seat, kind = random.randint(1, 3), random.randint(1, 8), random.random()
    guest = f"g{random.fresh()}"
    if kind < 0.2:
        free = "SELECT seat FROM seats WHERE flight = $1 AND holder IS NULL ORDER BY seat LIMIT 1"
        book = "UPDATE seats SET holder = $1 WHERE flight = $2 AND seat = $3 AND holder IS NULL"
        return ((free, (flight,)), (book, (guest, flight, FOUND)))
    if kind < 0.34:
        held = "SELECT holder FROM seats WHERE flight = $1 AND seat = $2 FOR UPDATE"
        return (
            (held, (flight, seat)),
            ("UPDATE seats SET holder = $1 WHERE flight = $2 AND seat = $3", (guest, flight, seat)),
        )
    if kind < 0.44:
        taken = "ON DUPLICATE KEY UPDATE price = tickets.price + 1"
        if dialect == "postgres":
            taken = "ON CONFLICT (flight, seat) DO UPDATE SET price = tickets.price + 1"
        ticket = "INSERT INTO tickets (id, flight, seat, price) VALUES ($1, $2, $3, $4)"
        return ((f"{ticket} {taken}", (random.fresh(), flight, seat, random.randint(5, 9))),)
    if kind < 0.54:
        return (("DELETE FROM tickets WHERE flight = $1 AND seat = $2", (flight, seat)),)
    if kind < 0.66:
        return (
            ("UPDATE seats SET holder = NULL WHERE flight = $1 AND seat BETWEEN $2 AND $3", (flight, seat, seat + 1)),
        )
    if kind < 0.76:
        return (("SELECT flight, COUNT(*) FROM seats WHERE holder IS NULL GROUP BY flight ORDER BY flight", ()),)
    if kind < 0.86:
        return (("SELECT seat, holder FROM seats WHERE flight = $1 AND holder IS NOT NULL ORDER BY seat", (flight,)),)
    if kind < 0.93:
        return (("SELECT seat, price FROM tickets WHERE flight = $1 ORDER BY seat", (flight,)),)
    return (("SELECT COUNT(*), SUM(price), MAX(price) FROM tickets", ()),)


SEATS = Application(
    "seats",
    ("CREATE TABLE seats (flight INT NOT NULL, seat INT NOT NULL, holder VARCHAR(20), PRIMARY KEY (flight, seat))",
     "CREATE TABLE tickets (id INT PRIMARY KEY, flight INT NOT NULL, seat INT NOT NULL, price INT NOT NULL, "
     "UNIQUE (flight, seat))"),
    {"seats": ("flight", "seat", "holder"), "tickets": ("id", "flight", "seat", "price")},
    (("seats", ("flight", "seat", "holder"), [(f, s, None) for f in range(1, 4) for s in range(1, 9)]),),
    _seats,
)  # fmt: skip


def _queue(random: Draws, dialect: str) -> Sequence[Step]:
    lane, worker, kind = random.randrange(2), f"w{random.randrange(5)}", random.random()
    next_one = "SELECT id FROM jobs WHERE lane = $1 AND state = 'ready' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED"
    if kind < 0.2:
        return (("INSERT INTO jobs (id, lane, state, tries) VALUES ($1, $2, 'ready', 0)", (random.fresh(), lane)),)
    if kind < 0.42:
        if dialect == "postgres" and kind < 0.3:
            claimed = f"UPDATE jobs SET state = 'busy', worker = $2, tries = tries + 1 WHERE id = ({next_one})"
            return ((f"{claimed} RETURNING id, tries", (lane, worker)),)
        claim = "UPDATE jobs SET state = 'busy', worker = $1, tries = tries + 1 WHERE id = $2"
        return ((next_one, (lane,)), (claim, (worker, FOUND)))
    if kind < 0.54:
        done = "SELECT id FROM jobs WHERE worker = $1 AND state = 'busy' ORDER BY id LIMIT 1"
        return ((done, (worker,)), ("UPDATE jobs SET state = 'done' WHERE id = $1 AND state = 'busy'", (FOUND,)))
    if kind < 0.61:
        return (
            (
                "UPDATE jobs SET state = 'ready', worker = NULL WHERE state = 'busy' AND tries < 3 AND lane = $1",
                (lane,),
            ),
        )
    if kind < 0.67:
        return (("DELETE FROM jobs WHERE state = 'done' AND lane = $1", (lane,)),)
    if kind < 0.78:
        return (("SELECT state, COUNT(*) FROM jobs GROUP BY state ORDER BY state", ()),)
    if kind < 0.9:
        return (("SELECT id, tries, worker FROM jobs WHERE state = 'busy' ORDER BY id", ()),)
    return (
        ("SELECT id FROM jobs WHERE lane = $1 AND state = 'ready' ORDER BY id LIMIT 3", (lane,)),
        (f"{IF_FOUND}SELECT SUM(tries), MAX(id) FROM jobs WHERE lane = $1", (lane,)),
    )


QUEUE = Application(
    "queue",
    ("CREATE TABLE jobs (id INT PRIMARY KEY, lane INT NOT NULL, state VARCHAR(10) NOT NULL, tries INT NOT NULL, "
     "worker VARCHAR(10))",),
    {"jobs": ("id", "lane", "state", "tries", "worker")},
    (("jobs", ("id", "lane", "state", "tries", "worker"), [(n, n % 2, "ready", 0, None) for n in range(1, 21)]),),
    _queue,
)  # fmt: skip

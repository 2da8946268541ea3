"""A ledger of accounts and their entries, and sales with what reports make of them.

Money that moves and is written down twice, sums that have to agree, joins, summaries that are made of other rows, and
subqueries. Does not know at which level they run.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.faults.apps.application import Application, Step
from troubadour.record import Draws


def _ledger(random: Draws, dialect: str) -> Sequence[Step]:
    del dialect
    one, other, kind = random.randint(1, 8), random.randint(1, 8), random.random()
    amount = random.randint(1, 9)
    entry = "INSERT INTO entries (id, account, amount) VALUES ($1, $2, $3)"
    if kind < 0.25:
        return (
            ("SELECT balance FROM accounts WHERE id = $1", (one,)),
            ("UPDATE accounts SET balance = balance - $1 WHERE id = $2 AND balance >= $1", (amount, one)),
            (entry, (random.fresh(), one, -amount)),
            ("UPDATE accounts SET balance = balance + $1 WHERE id = $2", (amount, other)),
            (entry, (random.fresh(), other, amount)),
        )
    if kind < 0.37:
        return (
            ("SELECT balance FROM accounts WHERE id = $1 FOR UPDATE", (one,)),
            ("UPDATE accounts SET balance = balance + $1 WHERE id = $2", (amount, one)),
            (entry, (random.fresh(), one, amount)),
        )
    if kind < 0.42:
        return (("UPDATE accounts SET balance = balance + 1 WHERE branch = $1 AND balance > 60", (one % 3,)),)
    if kind < 0.47:
        return (("DELETE FROM entries WHERE account = $1 AND amount = $2", (one, amount)),)
    if kind < 0.57:
        return (("SELECT branch, SUM(balance), COUNT(*) FROM accounts GROUP BY branch ORDER BY branch", ()),)
    if kind < 0.67:
        return (("SELECT id, amount FROM entries WHERE account = $1 ORDER BY id", (one,)),)
    if kind < 0.77:
        return (("SELECT COUNT(*), SUM(amount) FROM entries WHERE account = $1", (one,)),)
    if kind < 0.87:
        return (("SELECT id, balance FROM accounts WHERE branch = $1 ORDER BY id", (one % 3,)),)
    if kind < 0.94:
        return (("SELECT a.id, a.balance, COUNT(e.id), SUM(e.amount) FROM accounts a LEFT JOIN entries e "
                 "ON e.account = a.id GROUP BY a.id, a.balance ORDER BY a.id", ()),)  # fmt: skip
    return (("SELECT MIN(balance), MAX(balance), SUM(balance) FROM accounts", ()),)


LEDGER = Application(
    "ledger",
    ("CREATE TABLE accounts (id INT PRIMARY KEY, branch INT NOT NULL, balance INT NOT NULL)",
     "CREATE TABLE entries (id INT PRIMARY KEY, account INT NOT NULL, amount INT NOT NULL, "
        "FOREIGN KEY (account) REFERENCES accounts (id))"),
    {"accounts": ("id", "branch", "balance"), "entries": ("id", "account", "amount")},
    (("accounts", ("id", "branch", "balance"), [(n, n % 3, 50) for n in range(1, 9)]),),
    _ledger,
)  # fmt: skip


def _reports(random: Draws, dialect: str) -> Sequence[Step]:
    region, day, kind, amount = random.randint(1, 4), random.randint(1, 3), random.random(), random.randint(1, 9)
    if kind < 0.22:
        sale = "INSERT INTO sales (id, region, day, amount) VALUES ($1, $2, $3, $4)"
        return ((sale, (random.fresh(), region, day, amount)),)
    if kind < 0.32:
        return (("UPDATE sales SET amount = amount + $1 WHERE region = $2 AND day = $3", (amount, region, day)),)
    if kind < 0.38:
        return (("DELETE FROM sales WHERE region = $1 AND amount > 14", (region,)),)
    if kind < 0.48:
        sums = "SELECT day, SUM(amount), COUNT(*) FROM sales WHERE day = $1 GROUP BY day"
        made = f"INSERT INTO daily (day, total, made) {sums}"
        if dialect == "mysql":
            return ((f"{made} ON DUPLICATE KEY UPDATE total = VALUES(total), made = VALUES(made)", (day,)),)
        return ((f"{made} ON CONFLICT (day) DO UPDATE SET total = excluded.total, made = excluded.made", (day,)),)
    if kind < 0.56:
        return (("SELECT day, total, made FROM daily ORDER BY day", ()),)
    if kind < 0.66:
        return (("SELECT region, COUNT(*), SUM(amount), MAX(amount) FROM sales GROUP BY region ORDER BY region", ()),)
    if kind < 0.74:
        return (("SELECT r.name, SUM(s.amount) FROM regions r JOIN sales s ON s.region = r.id WHERE s.day = $1 "
                 "GROUP BY r.name ORDER BY r.name", (day,)),)  # fmt: skip
    if kind < 0.82:
        return (("SELECT id, amount FROM sales WHERE day = $1 AND amount > "
                 "(SELECT AVG(amount) FROM sales WHERE day = $2) ORDER BY id", (day, day)),)  # fmt: skip
    if kind < 0.88:
        return (("SELECT name FROM regions r WHERE NOT EXISTS (SELECT 1 FROM sales s WHERE s.region = r.id "
                 "AND s.day = $1) ORDER BY name", (day,)),)  # fmt: skip
    if kind < 0.92:
        return (("UPDATE regions SET name = $1 WHERE id = $2", (f"r{random.fresh()}", region)),)
    return (("SELECT id, region, amount FROM sales WHERE day = $1 ORDER BY amount DESC, id LIMIT 4", (day,)),)


REPORTS = Application(
    "reports",
    ("CREATE TABLE regions (id INT PRIMARY KEY, name VARCHAR(20) NOT NULL)",
     "CREATE TABLE sales (id INT PRIMARY KEY, region INT NOT NULL, day INT NOT NULL, amount INT NOT NULL)",
     "CREATE TABLE daily (day INT PRIMARY KEY, total INT NOT NULL, made INT NOT NULL)"),
    {"regions": ("id", "name"), "sales": ("id", "region", "day", "amount"), "daily": ("day", "total", "made")},
    (("regions", ("id", "name"), [(n, f"r{n}") for n in range(1, 5)]),
     ("sales", ("id", "region", "day", "amount"), [(n, 1 + n % 4, 1 + n % 3, n) for n in range(1, 13)])),
    _reports,
)  # fmt: skip

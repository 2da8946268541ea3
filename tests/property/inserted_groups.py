"""Random logs of sales and of what reports leave of them, by INSERT of a group of rows.

Some of these leave the group as it is, some add it to what is there, or fail where there is something. Does not know
how a log is judged.
"""

from __future__ import annotations

from sql_semantics.library import SqlLibrary
from sql_semantics.values.dialect import Dialect
from tests.property.two_keys import COLLATIONS, log_of
from troubadour.model.log import InitialTable, Log

SCHEMA = (
    "CREATE TABLE s (id INT PRIMARY KEY, a INT NOT NULL, n INT NOT NULL)",
    "CREATE TABLE d (a INT PRIMARY KEY, total INT NOT NULL, made INT NOT NULL)",
)
INITIAL = (InitialTable("s", None, [(1, 1, 4), (2, 2, 6), (3, 1, 5)]), InitialTable("d", None, [(3, 7, 7)]))
GROUP = "INSERT INTO d (a, total, made) SELECT a, SUM(n), COUNT(*) FROM s WHERE a = {a} GROUP BY a"
LARGEST = "INSERT INTO d (made, a, total) SELECT COUNT(*), a, MAX(n) FROM s WHERE a = {a} AND n > 4 GROUP BY a"
INSERTS = {
    "mysql": (
        f"{GROUP} ON DUPLICATE KEY UPDATE total = VALUES(total), made = VALUES(made)",
        f"{GROUP} ON DUPLICATE KEY UPDATE total = VALUES(total), made = VALUES(made)",
        f"{LARGEST} ON DUPLICATE KEY UPDATE made = VALUES(made), total = VALUES(total)",
        f"{GROUP} ON DUPLICATE KEY UPDATE total = d.total + VALUES(total), made = VALUES(made)",
    ),
    "postgres": (
        f"{GROUP} ON CONFLICT (a) DO UPDATE SET total = excluded.total, made = excluded.made",
        f"{GROUP} ON CONFLICT (a) DO UPDATE SET total = excluded.total, made = excluded.made",
        f"{LARGEST} ON CONFLICT (a) DO UPDATE SET made = excluded.made, total = excluded.total",
        f"{GROUP} ON CONFLICT (a) DO UPDATE SET total = d.total + excluded.total, made = excluded.made",
        f"{GROUP} ON CONFLICT DO NOTHING",
    ),
}
OTHERS = (
    GROUP,
    "INSERT INTO s VALUES ({id}, {a}, {b})",
    "UPDATE s SET n = n + {b} WHERE a = {a}",
    "DELETE FROM s WHERE id = {b}",
    "UPDATE d SET total = total + 1 WHERE a = {a}",
    "DELETE FROM d WHERE a = {a}",
    "SELECT a, total, made FROM d",
    "SELECT a, total, made FROM d",
    "SELECT a, total, made FROM d",
    "SELECT made, total, a FROM d WHERE a = {a}",
    "SELECT a, total, made FROM d WHERE total > 9",
    "SELECT a, total FROM d",
    "SELECT a, n FROM s",
    "SELECT SUM(n) FROM s WHERE a = {a}",
)


def library(dialect: str) -> SqlLibrary:
    """The tables in a dialect."""
    return SqlLibrary(Dialect(dialect, collation=COLLATIONS[dialect]), SCHEMA)


def random_log(seed: int, dialect: str) -> Log:
    """A log of three to five transactions."""
    return log_of(seed, library(dialect), SCHEMA, INITIAL, [*INSERTS[dialect], *INSERTS[dialect], *OTHERS], most=2)

"""Small random triggers of SQLite and MariaDB, whose statements stand in their own text, and statements that fire them.

Does not know what they compute, nor any engine.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

TABLES = (
    "CREATE TABLE t (id INTEGER PRIMARY KEY, v INTEGER, w VARCHAR(6) NOT NULL, level INTEGER)",
    "CREATE TABLE u (id INTEGER PRIMARY KEY, t INTEGER, v INTEGER NOT NULL)",
    "CREATE TABLE seen (n INTEGER, what VARCHAR(20))",
)
ROWS = (
    "INSERT INTO t VALUES (1, 5, 'a', 0), (2, NULL, 'b', 0), (3, -4, 'd', 0), (5, 12, 'c', 0)",
    "INSERT INTO u VALUES (1, 1, 3), (2, 1, 4), (3, NULL, 0), (4, 5, 7)",
    "INSERT INTO seen VALUES (1, 'x'), (2, 'y')",
)
_REFERS = " REFERENCES t (id) ON DELETE CASCADE ON UPDATE CASCADE"
_FIELDS = {"t": ("id", "v", "w", "level"), "u": ("id", "t", "v"), "seen": ("n", "what")}
_NUMBERS = {"t": ("id", "v", "level"), "u": ("id", "t", "v"), "seen": ("n",)}


class OwnTriggers:
    """Triggers and statements by a seed. `product`: sqlite or mysql."""

    def __init__(self, seed: int, product: str) -> None:
        self.random = random.Random(seed)
        self.sqlite = product == "sqlite"
        self.table, self.event, self.before = "t", "INSERT", False
        self.made: list[tuple[str, str]] = []
        self.meant = re.compile("")

    def tables(self) -> Sequence[str]:
        """The tables, in some with a foreign key."""
        if self.random.random() < 0.6:
            return TABLES
        refers = _REFERS if self.sqlite else f", FOREIGN KEY (t){_REFERS}"
        own = "t INTEGER" + (refers if self.sqlite else "")
        second = TABLES[1].replace("t INTEGER", own).replace("NOT NULL)", f"NOT NULL{'' if self.sqlite else refers})")
        return (TABLES[0], second, TABLES[2])

    def triggers(self) -> list[str]:
        """Some CREATE TRIGGER."""
        found = [self._trigger(number) for number in range(self.random.choice((1, 1, 2, 3)))]
        self.meant = re.compile("|".join(f"{event}.* {table}\\b" for event, table in self.made))
        return found

    def _trigger(self, number: int) -> str:
        pick = self.random.choice
        self.table, self.event = pick(("t", "t", "t", "u", "seen")), pick(("INSERT", "UPDATE", "DELETE"))
        self.made.append((self.event, self.table))
        self.before = self.random.random() < 0.5
        of = f" OF {pick(_FIELDS[self.table])}" if self.sqlite and self.event == "UPDATE" and pick((0, 0, 1)) else ""
        when = f" WHEN {self._condition()}" if self.sqlite and self.random.random() < 0.3 else ""
        steps = [self._step() for _ in range(self.random.choice((1, 1, 2, 3)))]
        body = f"BEGIN {' '.join(step + ';' for step in steps)} END"
        if not self.sqlite and len(steps) == 1 and steps[0].split()[0] in ("INSERT", "UPDATE", "DELETE", "SET"):
            body = steps[0]
        head = f"CREATE TRIGGER m{number} {'BEFORE' if self.before else 'AFTER'} {self.event}{of} ON {self.table}"
        return f"{head} FOR EACH ROW{when} {body}"

    # --- what a trigger computes ----------------------------------------------------------------------------------

    def _row(self) -> str:
        return {"INSERT": "NEW", "DELETE": "OLD"}.get(self.event) or self.random.choice(("NEW", "OLD", "new"))

    def _number(self) -> str:
        pick, draw = self.random.choice, self.random.random()
        if draw < 0.3:
            return str(self.random.randint(-2, 9))
        field = f"{self._row()}.{pick(_NUMBERS[self.table])}"
        if draw < 0.7:
            return field
        if draw < 0.8 and self.sqlite:
            return f"(SELECT count(*) FROM {pick(('t', 'u', 'seen'))})"
        return f"({field} {pick('+-')} {self.random.randint(0, 4)})"

    def _condition(self) -> str:
        pick, draw = self.random.choice, self.random.random()
        if draw < 0.25:
            return f"{self._row()}.{pick(_FIELDS[self.table])} IS {pick(('', 'NOT '))}NULL"
        if draw < 0.4 and self.event == "UPDATE":
            name = pick(_FIELDS[self.table])
            return f"OLD.{name} {'IS NOT' if self.sqlite else '<>'} NEW.{name}"
        field = f"{self._row()}.{pick(_NUMBERS[self.table])}"
        return f"{field} {pick(('=', '<', '<=', '<>'))} {self.random.randint(-2, 9)}"

    def _step(self, depth: int = 0) -> str:
        number, pick = self._number, self.random.choice
        choices = [
            f"INSERT INTO seen VALUES ({number()}, '{self.event.lower()}')",
            f"INSERT INTO seen VALUES ({number()}, {self._row()}.{pick(_FIELDS[self.table])})",
            f"INSERT INTO u (id, t, v) VALUES ({number()}, {number()}, {number()})",
            f"UPDATE t SET v = {number()} WHERE id = {number()}",
            f"UPDATE u SET v = v + {self.random.randint(0, 2)} WHERE t = {number()}",
            f"DELETE FROM seen WHERE n = {number()}",
            f"UPDATE seen SET n = n + 1 WHERE n < {number()}",
        ]
        if self.sqlite:
            choices += [
                f"INSERT OR IGNORE INTO u VALUES ({number()}, {number()}, 1)",
                f"INSERT INTO seen SELECT id, 'from' FROM u WHERE t = {number()}",
                f"SELECT RAISE(ABORT, 'no') WHERE {self._condition()}",
                f"SELECT CASE WHEN {self._condition()} THEN RAISE(ABORT, 'no') END",
                f"SELECT RAISE({pick(('IGNORE', 'IGNORE', 'FAIL'))}{''})".replace("FAIL", "FAIL, 'no'")
                + f" WHERE {self._condition()}",
                f"SELECT RAISE(ABORT, 'no') FROM u WHERE id = {number()} AND v > {number()}",
            ]
        else:
            choices.append(f"INSERT IGNORE INTO u VALUES ({number()}, {number()}, 1)")
            choices.append(f"REPLACE INTO u VALUES ({number()}, {number()}, 1)")
            if self.before and self.event != "DELETE":
                field = pick(_NUMBERS[self.table])
                choices += [f"SET NEW.{field} = {number()}"] * 3
                choices += [f"SET NEW.w = CONCAT(NEW.w, {number()})"] if self.table == "t" else []
            if depth < 1:
                stop = "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no'"
                choices += [f"IF {self._condition()} THEN {stop}; END IF"] * 2
                choices += [f"IF {self._condition()} THEN {self._step(1)}; ELSE {self._step(1)}; END IF"] * 2
        return pick(choices)

    # --- statements that may fire them ----------------------------------------------------------------------------

    def statement(self) -> str:
        """One of them, mostly such a one."""
        drawn = [self._statement() for _ in range(3)]
        return next(filter(self.meant.search, drawn), drawn[0])

    def _statement(self) -> str:
        key, value = self.random.randint(1, 7), self.random.randint(-3, 9)
        returning = self.random.choice(("", "", " RETURNING id, v")) if self.sqlite else ""
        choices = [
            f"INSERT INTO t VALUES ({key}, {value}, 'q', 0){returning}",
            f"INSERT INTO t VALUES ({key + 10}, {value}, 'q', 1), ({key + 20}, {key}, 'qw', 0)",
            f"INSERT INTO t (id, v, w) SELECT id + 30, v, 'z' FROM u WHERE v > {value}",
            f"INSERT INTO seen SELECT v, 'from' FROM t WHERE id >= {key}",
            f"INSERT INTO u VALUES ({key + 3}, {self.random.choice((1, 2, key))}, {value}){returning}",
            f"UPDATE t SET v = v + 1 WHERE id = {key}{returning}",
            f"UPDATE t SET v = v WHERE id = {key}",
            f"UPDATE t SET v = {value}{returning}",
            f"UPDATE t SET w = 'new' WHERE v > {value}{returning}",
            f"UPDATE t SET id = id + 40 WHERE id = {key}",
            f"UPDATE t SET level = (SELECT count(*) FROM seen) WHERE id IN ({key}, 2)",
            f"UPDATE u SET v = v * 2 WHERE t = {key}",
            f"UPDATE u SET t = NULL, v = 3 WHERE id = {key}",
            f"DELETE FROM t WHERE id = {key}{returning}",
            f"DELETE FROM t WHERE v < {value}",
            f"DELETE FROM u WHERE id = {key}{returning}",
            "DELETE FROM seen",
            f"UPDATE seen SET n = {value} WHERE n = {key}",
            f"REPLACE INTO u VALUES ({key}, {self.random.choice((1, 2))}, {value})",
            f"REPLACE INTO t VALUES ({key}, {value}, 'r', 0)",
        ]
        if self.sqlite:
            choices += [
                f"INSERT INTO t (v, w) VALUES ({value}, 'auto')",
                f"INSERT INTO u VALUES ({key}, 1, {value}) ON CONFLICT (id) DO UPDATE SET v = u.v + excluded.v",
                f"INSERT INTO u VALUES ({key}, 1, {value}) ON CONFLICT DO NOTHING",
                f"INSERT OR IGNORE INTO u VALUES ({key}, 1, {value})",
                f"UPDATE t SET v = u.v FROM u WHERE u.t = t.id AND u.id = {key}",
            ]
        else:
            choices += [
                f"INSERT INTO u VALUES ({key}, 1, {value}) ON DUPLICATE KEY UPDATE v = u.v + VALUES(v)",
                f"INSERT INTO u VALUES ({key}, 1, {value}) ON DUPLICATE KEY UPDATE v = u.v",
                f"INSERT IGNORE INTO u VALUES ({key}, 1, {value})",
                f"UPDATE t, u SET t.v = u.v WHERE u.t = t.id AND u.id = {key}",
                f"UPDATE t SET v = v + 1 ORDER BY id LIMIT {self.random.randint(1, 2)}",
            ]
        return self.random.choice(choices)

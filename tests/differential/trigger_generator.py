"""Small random triggers FOR EACH ROW in PL/pgSQL, and statements that fire them.

Triggers count down through `level`, so that everything ends. Does not know what they compute.
"""

from __future__ import annotations

import random

TABLES = (
    "CREATE TABLE t (id int PRIMARY KEY, v int, w varchar(6), level int DEFAULT 0)",
    "CREATE TABLE u (id int PRIMARY KEY, t int REFERENCES t (id) ON DELETE CASCADE ON UPDATE CASCADE, v int NOT NULL)",
    "CREATE TABLE seen (n int, what text, level int)",
)
ROWS = (
    "INSERT INTO t VALUES (1, 5, 'a', 0), (2, NULL, 'b', 0), (3, -4, NULL, 0), (5, 12, 'c', 0)",
    "INSERT INTO u VALUES (1, 1, 3), (2, 1, 4), (3, NULL, 0), (4, 5, 7)",
)
_EVENTS = ("INSERT", "UPDATE", "DELETE")
_FIELDS = {"t": ("id", "v", "w", "level"), "u": ("id", "t", "v"), "seen": ("n", "what", "level")}
_NUMBERS = {"t": ("id", "v", "level"), "u": ("id", "t", "v"), "seen": ("n", "level")}


class TriggerGenerator:
    """Triggers and statements by a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.table = "t"
        self.events: tuple[str, ...] = ()
        self.before = False

    def definitions(self) -> list[tuple[str, str]]:
        """Some (CREATE FUNCTION, CREATE TRIGGER)."""
        return [self._definition(number) for number in range(self.random.randint(1, 3))]

    def _definition(self, number: int) -> tuple[str, str]:
        self.table = self.random.choice(("t", "t", "t", "u", "seen"))
        self.events = tuple(event for event in _EVENTS if self.random.random() < 0.5) or ("UPDATE",)
        self.before = self.random.random() < 0.5
        happening = " OR ".join(self._event(event) for event in self.events)
        name = self.random.choice(("x", "y", "z", '"B"')) if number else "m"
        name = f'"B{number}"' if name == '"B"' else f"{name}{number}"
        condition = f" WHEN ({self._when()})" if self.random.random() < 0.3 else ""
        body = " ".join(self._statement() for _ in range(self.random.randint(1, 3)))
        head = f"CREATE TRIGGER {name} {'BEFORE' if self.before else 'AFTER'} {happening} ON {self.table} FOR EACH ROW"
        return (
            f"CREATE FUNCTION f{number}() RETURNS trigger LANGUAGE plpgsql AS $$ DECLARE x int := 1; r record; BEGIN"
            f" {body} {self._return()} END $$",
            f"{head}{condition} EXECUTE FUNCTION f{number}()",
        )

    def _event(self, event: str) -> str:
        if event == "UPDATE" and self.random.random() < 0.4:
            return f"UPDATE OF {self.random.choice(_FIELDS[self.table])}"
        return event

    def _when(self) -> str:
        row = self._row()
        choices = [f"{row}.{self.random.choice(_NUMBERS[self.table])} > {self.random.randint(-3, 4)}"]
        if self.events == ("UPDATE",):
            choices += [
                "OLD IS DISTINCT FROM NEW",
                "OLD.* IS DISTINCT FROM NEW.*",
                "NEW.level < 2" if self.table != "u" else "NEW.v > OLD.v",
            ]
        return self.random.choice(choices)

    def _row(self) -> str:
        rows = (["OLD"] if "INSERT" not in self.events else []) + (["NEW"] if "DELETE" not in self.events else [])
        return self.random.choice(rows or ["NEW"]) if rows else "NEW"

    def _any_row(self) -> str:
        return self.random.choice(("OLD", "NEW"))

    def _name(self) -> str:
        return self.random.choice(_NUMBERS[self.table])

    def _field(self) -> str:
        return f"{self._any_row()}.{self.random.choice(_FIELDS[self.table])}"

    def _number(self) -> str:
        draw = self.random.random()
        if draw < 0.4:
            return f"{self._any_row()}.{self.random.choice(_NUMBERS[self.table])}"
        if draw < 0.55:
            return "x"
        if draw < 0.7:
            return str(self.random.randint(-2, 6))
        if draw < 0.78:
            return self.random.choice(
                ("(SELECT max(v) FROM t)", "(SELECT count(*)::int FROM seen)", "(SELECT sum(v)::int FROM u)")
            )
        if draw < 0.82:
            return f"{self._number()} / {self._number()}"
        return f"(({self._number()} {self.random.choice('+-')} {self._number()}) % 40)"

    def _condition(self) -> str:
        draw = self.random.random()
        if draw < 0.25:
            return f"TG_OP = '{self.random.choice(_EVENTS)}'"
        if draw < 0.4:
            return f"{self._any_row()} IS {self.random.choice(('', 'NOT '))}NULL"
        if draw < 0.5:
            return "OLD IS DISTINCT FROM NEW"
        if draw < 0.6:
            return f"EXISTS (SELECT 1 FROM {self.random.choice(('t', 'u'))} WHERE id = {self._number()})"
        return f"{self._number()} {self.random.choice(('=', '<', '<=', '<>'))} {self._number()}"

    def _level(self) -> str:
        return "coalesce(NEW.level, OLD.level, 0) + 1" if self.table != "u" else "1"

    def _statement(self, depth: int = 0) -> str:
        limit = "" if self.table == "u" else f"IF coalesce(NEW.level, OLD.level, 0) < {self.random.randint(1, 3)} THEN "
        close = "" if self.table == "u" else "; END IF"
        choices = [
            lambda: f"x := {self._number()}",
            lambda: f"{limit}INSERT INTO seen VALUES ({self._number()}, TG_OP, {self._level()}){close}",
            lambda: f"{limit}INSERT INTO seen VALUES ({self._number()}, {self._field()}::text, {self._level()}){close}",
            lambda: f"IF {self._condition()} THEN RAISE EXCEPTION 'x'; END IF",
            lambda: f"IF {self._condition()} THEN RETURN {self._value()}; END IF",
            lambda: f"SELECT count(*) INTO x FROM {self.random.choice(('t', 'u', 'seen'))} ",
            lambda: (
                f"{limit}UPDATE t SET v = {self._number()}, level = level + 1"
                f" WHERE id = {self._number()} AND level < 3{close}"
            ),
                        lambda: f"DELETE FROM seen WHERE n = {self._number()}",
        ]  # fmt: skip
        if self.table != "t":
            target = "INSERT INTO t VALUES"
            choices.append(
                lambda: f"{limit}{target} ({self._number()}, {self._number()}, 'n', 3) ON CONFLICT DO NOTHING{close}"
            )
        if self.table != "u":
            caught = self.random.choice(("unique_violation", "OTHERS", "foreign_key_violation"))
            choices.append(
                lambda: (
                    f"{limit}BEGIN INSERT INTO u VALUES ({self._number()}, {self._number()}, {self._number()});"
                    f" EXCEPTION WHEN {caught} THEN x := 7; END{close}"
                )
            )
        if self.table != "seen":
            choices += [
                lambda: (
                    f"INSERT INTO seen SELECT OLD.{_NUMBERS[self.table][0]},"
                    f" 'row ' || coalesce(NEW.{_NUMBERS[self.table][1]}, -1), 3"
                ),
                lambda: f"INSERT INTO seen VALUES (0, {self._any_row()}::text, 3)",
                lambda: "INSERT INTO seen VALUES (0, to_jsonb(NEW)::text, 3)",
                lambda: "INSERT INTO seen SELECT OLD.id, 'both', NEW.v",
            ]
        if self.before:
            choices += [
                lambda: f"NEW.{self._name()} := {self._number()}",
                lambda: f"NEW.{self._name()} = {self._number()}",
                lambda: f"IF {self._condition()} THEN NEW.{self._name()} := {self._number()}; END IF",
                lambda: f"NEW.w := repeat('x', {self._number()})" if self.table == "t" else "NULL",
                lambda: f"SELECT max(v) INTO NEW.{_NUMBERS[self.table][-1]} FROM u",
            ]
        if depth < 1:
            choices.append(lambda: f"IF {self._condition()} THEN {self._statement(1)} ELSE {self._statement(1)} END IF")
        return self.random.choice(choices)() + ";"

    def _value(self) -> str:
        return self.random.choice(("NEW", "NEW", "OLD", "NULL"))

    def _return(self) -> str:
        if self.before and self.random.random() < 0.5:
            return "IF TG_OP = 'DELETE' THEN RETURN OLD; END IF; RETURN NEW;"
        return f"RETURN {self._value()};"

    def statement(self) -> str:
        """A statement that may fire some."""
        key, value = self.random.randint(1, 7), self.random.randint(-3, 9)
        returning = self.random.choice(("", "", " RETURNING *", " RETURNING id, v + 1"))
        return self.random.choice(
            [
                f"INSERT INTO t VALUES ({key}, {value}, 'q'){returning}",
                f"INSERT INTO t VALUES ({key + 10}, {value}, 'q', 1), ({key + 20}, {key}, 'qwertyu', 0)",
                f"INSERT INTO t VALUES ({key + 10}, {value}, 'q', 1), ({key + 20}, {value} / {key - 3}, 's', 0)",
                f"INSERT INTO t SELECT id + 30, v, 'z', 0 FROM u WHERE v > {value}{returning}",
                f"INSERT INTO seen SELECT v, 'from', 0 FROM t WHERE id >= {key}",
                f"INSERT INTO u VALUES ({key + 3}, {key}, {value}){returning}",
                f"INSERT INTO u VALUES ({key}, {key}, {value}) ON CONFLICT (id) DO UPDATE SET v = u.v + 1",
                f"INSERT INTO t (id, v) VALUES ({key}, {value}) ON CONFLICT (id) DO NOTHING",
                f"UPDATE t SET v = v + 1 WHERE id = {key}{returning}",
                f"UPDATE t SET v = {value}{returning}",
                f"UPDATE t SET w = 'new' WHERE v > {value}{returning}",
                f"UPDATE t SET id = id + 40 WHERE id = {key}",
                f"UPDATE t SET level = level WHERE id IN ({key}, 2)",
                f"UPDATE u SET v = v * 2 WHERE t = {key}",
                f"UPDATE u SET t = NULL WHERE id = {key}",
                f"UPDATE t SET v = u.v FROM u WHERE u.t = t.id AND u.id = {key}",
                f"DELETE FROM t WHERE id = {key}{returning}",
                f"DELETE FROM t WHERE v < {value}",
                f"DELETE FROM u WHERE id = {key}",
                "DELETE FROM seen",
                f"WITH x AS (INSERT INTO seen VALUES ({key}, '', 1) RETURNING n) UPDATE u SET v = 3 FROM x WHERE t = n",
                f"MERGE INTO t USING (VALUES ({key}, {value})) s (a, b) ON t.id = s.a"
                " WHEN MATCHED THEN UPDATE SET v = s.b WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.a, s.b)",
                f"SELECT g({key}, {value})",
            ]
        )


ROUTINE = (
    "CREATE FUNCTION g(a int, b int) RETURNS int LANGUAGE plpgsql AS $$ DECLARE c int := 0; BEGIN"
    " BEGIN INSERT INTO t VALUES (a, b, 'g'); EXCEPTION WHEN unique_violation THEN c := 1; WHEN raise_exception THEN"
    " c := 2; END; UPDATE t SET v = v - 1 WHERE id = a; IF FOUND THEN c := c + 10; END IF; RETURN c; END $$"
)

"""Small random PL/pgSQL functions: loops, branches, cursors, writes, exception blocks.

Everything terminates: loops run over ranges or rows, or count a variable down. Does not know what they compute.
"""

from __future__ import annotations

import random

SCHEMA = (
    "CREATE TABLE t (id INT PRIMARY KEY, v INT)",
    "CREATE TABLE log (k INT, m INT)",
    "INSERT INTO t VALUES (1, 5), (2, NULL), (3, -4), (5, 12)",
)
_VARIABLES = ("x", "y", "z")
_CONDITIONS = ("division_by_zero", "unique_violation", "no_data_found", "raise_exception", "SQLSTATE '22012'", "OTHERS")

_SHAPES = (("k", "id AS k"), ("w", "v AS w, id AS j"), ("k", "'x' AS w, id AS k"))
"""A field of type integer, and what a query lists that gives a record this field."""


class RoutineGenerator:
    """One function f(a int) returning int, by a seed; `shapes`: with a record that takes rows of several shapes."""

    def __init__(self, seed: int, shapes: bool = False) -> None:
        self.random = random.Random(seed)
        self.field = _SHAPES[0][0] if shapes else ""
        self.depth = 0
        self.loops = 0
        self.names = 0

    def function(self) -> str:
        """The whole CREATE FUNCTION."""
        first = "q RECORD; BEGIN SELECT 4 AS k INTO q; " if self.field else "BEGIN "
        body = self.body(4)
        return (
            "CREATE FUNCTION f(a int) RETURNS int LANGUAGE plpgsql AS $$ DECLARE x int := 1; y int := a; z int;"
            f" r RECORD; u t%ROWTYPE; {first}{body} RETURN x + coalesce(y, 100) * 7 + coalesce(z, 1000); END $$"
        )

    def body(self, most: int) -> str:
        """Some statements."""
        return " ".join(self.statement() for _ in range(self.random.randint(1, most)))

    def number(self) -> str:
        """An integer expression that seldom fails."""
        draw = self.random.random()
        if draw < 0.45:
            return self.random.choice(_VARIABLES)
        if draw < 0.7:
            return str(self.random.randint(-3, 6))
        if draw < 0.75:
            return "(SELECT max(v) FROM t)"
        if draw < 0.8:
            return f"{self.number()} / {self.random.choice(('x', 'y', '2'))}"
        return f"({self.number()} {self.random.choice('+-')} {self.number()}) % 50"

    def condition(self) -> str:
        """A truth value."""
        draw = self.random.random()
        if draw < 0.15:
            return "FOUND"
        if draw < 0.25:
            return f"{self.random.choice(_VARIABLES)} IS NULL"
        if draw < 0.35:
            return f"EXISTS (SELECT 1 FROM t WHERE id = {self.number()})"
        return f"{self.number()} {self.random.choice(('=', '<', '<=', '<>'))} {self.number()}"

    def statement(self) -> str:
        """One statement."""
        self.depth += 1
        try:
            simple = self.depth > 3 or self.random.random() < 0.55
            return (self.simple() if simple else self.compound()) + ";"
        finally:
            self.depth -= 1

    def simple(self) -> str:
        """A statement without statements inside."""
        choices = [
            lambda: f"{self.random.choice(_VARIABLES)} := {self.number()}",
            lambda: f"{self.random.choice(_VARIABLES)} := {self.number()}",
            lambda: f"INSERT INTO log VALUES ({self.number()}, {self.number()})",
            lambda: f"UPDATE t SET v = {self.number()} WHERE id = {self.number()}",
            lambda: f"UPDATE t SET v = v + 1 WHERE id = {self.number()} RETURNING v INTO z",
            lambda: f"DELETE FROM t WHERE id = {self.number()}",
            lambda: f"SELECT v INTO {self.random.choice(_VARIABLES)} FROM t WHERE id = {self.number()}",
            lambda: f"SELECT v INTO STRICT z FROM t WHERE id = {self.number()}",
            lambda: f"SELECT * INTO u FROM t WHERE id = {self.number()}",
            lambda: "z := u.v",
            lambda: f"PERFORM 1 FROM t WHERE v > {self.number()}",
            lambda: f"IF {self.condition()} THEN RETURN {self.number()}; END IF",
            lambda: f"IF {self.condition()} THEN RAISE EXCEPTION 'x'; END IF",
            lambda: f"RAISE NOTICE '%', {self.number()}",
            lambda: "NULL",
        ]
        if self.loops:
            choices += [
                lambda: f"EXIT WHEN {self.condition()}",
                lambda: f"CONTINUE WHEN {self.condition()}",
                lambda: f"EXIT outermost WHEN {self.condition()}",
            ]
        if self.field and self.random.random() < 0.5:
            choices = [self.taken, lambda: f"{self.random.choice(_VARIABLES)} := q.{self.field}"]
        return self.random.choice(choices)()

    def taken(self) -> str:
        """The record takes a row, of any shape; what is read of it next fits that, mostly."""
        self.field, columns = self.random.choice(_SHAPES)
        ended = f"; RETURN q.{self.field}" if self.depth > 1 and self.random.random() < 0.3 else ""
        if self.random.random() < 0.8:
            return f"SELECT {columns} INTO q FROM t WHERE id = {self.number()}{ended}"
        label = self.label()
        field = self.field
        head = f"FOR q IN SELECT {columns} FROM t ORDER BY id LOOP y := q.{field};"
        loop = f"{label}{head} {self.inside_loop()} END LOOP"
        self.field = field
        return loop + ended

    def compound(self) -> str:
        """A statement with statements inside."""
        return self.random.choice(
            [self.branches, self.branches, self.case, self.range_loop, self.row_loop, self.while_loop, self.attempt]
        )()

    def inside_loop(self) -> str:
        """The body of a loop."""
        self.loops += 1
        body = self.body(3)
        self.loops -= 1
        return body

    def label(self) -> str:
        """The outermost loop has a label."""
        return "" if self.loops else "<<outermost>> "

    def branches(self) -> str:
        """IF."""
        middle = f" ELSIF {self.condition()} THEN {self.body(2)}" if self.random.random() < 0.4 else ""
        last = f" ELSE {self.body(2)}" if self.random.random() < 0.5 else ""
        return f"IF {self.condition()} THEN {self.body(3)}{middle}{last} END IF"

    def case(self) -> str:
        """CASE."""
        last = f" ELSE {self.body(1)}" if self.random.random() < 0.8 else ""
        whens = f"WHEN 1, 2 THEN {self.body(2)} WHEN {self.number()} THEN {self.body(1)}"
        return f"CASE {self.number()} {whens}{last} END CASE"

    def range_loop(self) -> str:
        """FOR over numbers."""
        label = self.label()
        reverse = self.random.random() < 0.3
        bounds = "4..1" if reverse else "1..3"
        head = f"FOR i IN {'REVERSE ' if reverse else ''}{bounds}{' BY 2' if self.random.random() < 0.3 else ''}"
        return f"{label}{head} LOOP x := (x + i) % 90; {self.inside_loop()} END LOOP"

    def row_loop(self) -> str:
        """FOR over rows, in a certain order."""
        label = self.label()
        head = f"FOR r IN SELECT id AS k, v AS w FROM t WHERE id <= {self.number()} ORDER BY id"
        return f"{label}{head} LOOP y := r.w; x := (x + r.k) % 90; {self.inside_loop()} END LOOP"

    def while_loop(self) -> str:
        """WHILE over a counter of its own."""
        label = self.label()
        self.names += 1
        counter = f"n{self.names}"
        body = self.inside_loop()
        loop = f"{label}WHILE {counter} > 0 LOOP {counter} := {counter} - 1; {body} END LOOP"
        return f"DECLARE {counter} int := 3; BEGIN {loop}; END"

    def attempt(self) -> str:
        """A block with EXCEPTION."""
        clauses = " ".join(
            f"WHEN {self.random.choice(_CONDITIONS)} THEN {self.body(2)}" for _ in range(self.random.randint(1, 2))
        )
        draw = self.random.randint(0, 3)
        if draw == 0:
            # keys are looked at only where a handler may be for them
            clauses += f" WHEN unique_violation THEN {self.body(1)}"
        key = self.random.randint(1, 6)
        failing = (f"INSERT INTO t VALUES ({key}, 1)", "x := 1 / (y - y)", "RAISE no_data_found", "PERFORM 1 / (x - 1)")
        risky = failing[draw] + ";"
        return f"BEGIN {self.body(2)} {risky} EXCEPTION {clauses} END"

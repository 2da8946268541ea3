"""Seeded random guarded tables and statements for the guarded runtime. Knows no expected result."""

from __future__ import annotations

import dataclasses
import random
from decimal import Decimal
from typing import Any

from sql_semantics.frontend import bind, read_schema
from sql_semantics.ir.expressions import Const, Expr, Param, Variable
from sql_semantics.ir.queries import Select
from sql_semantics.ir.schema import Catalog
from sql_semantics.ir.statements import Call, If, Procedure, SelectInto, SetVariable, Statement
from sql_semantics.terms import FALSE, TRUE, Guard, Scalar, atom, choose, conj, disj, neg, unknown
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import INT, Kind, Value

ATOMS = ("a", "b", "c")
SCHEMA = {
    "postgres": (
        "CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT CHECK (b < 50), n NUMERIC(8,2), s TEXT)",
        "CREATE TABLE u (id INT PRIMARY KEY, tid INT, c INT NOT NULL)",
    ),
    "mysql": (
        "CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT CHECK (b < 50), n DECIMAL(8,2), s VARCHAR(20))",
        "CREATE TABLE u (id INT PRIMARY KEY, tid INT, c INT NOT NULL)",
    ),
}
TABLES = {"t": ("id", "a", "b", "n", "s"), "u": ("id", "tid", "c")}


class Cases:
    """All choices come from one `random.Random(seed)`."""

    def __init__(self, seed: int, dialect: str, *, terms: bool) -> None:
        self.random = random.Random(seed)
        self.dialect = Dialect(dialect, collation="C" if dialect == "postgres" else "utf8mb4_0900_bin")
        self.catalog = Catalog(read_schema(SCHEMA[dialect], self.dialect))
        self.terms = terms
        self.unknowns: dict[str, list[Value]] = {}

    # --- guarded data -------------------------------------------------------------------------------------------

    def guard(self, depth: int = 2) -> Guard:
        kind = self.random.randrange(6) if depth else 0
        if kind <= 2:
            literal = atom(self.random.choice(ATOMS))
            return literal if self.random.random() < 0.5 else neg(literal)
        if kind == 3:
            return TRUE
        return (conj if kind == 4 else disj)(self.guard(depth - 1), self.guard(depth - 1))

    def _value(self, column: str) -> Value:
        if column in ("a", "b", "tid") and self.random.random() < 0.15:
            return None
        if column == "n":
            return None if self.random.random() < 0.2 else Decimal(self.random.randrange(-300, 300)).scaleb(-2)
        if column == "s":
            return self.random.choice([None, "", "x", "xy", "yx", "ab"])
        return self.random.choice([0, 1, 2, 3, 5, 49, 2147483640]) if column == "a" else self.random.randrange(0, 6)

    def scalar(self, column: str) -> Scalar:
        """A value, cases, or (where terms are asked for) an unknown among them."""
        chance = self.random.random()
        if self.terms and column in ("a", "b", "c", "n") and chance < 0.3:
            return self._unknown(column)
        if chance < 0.55:
            return self._value(column)
        items: list[tuple[Guard, Scalar]] = []
        rest: Guard = TRUE
        for _ in range(self.random.randrange(1, 4)):
            here = self.guard()
            items.append((conj(rest, here), self._leaf(column)))
            rest = conj(rest, neg(here))
        items.append((rest, self._leaf(column)))
        return choose(items)

    def _leaf(self, column: str) -> Scalar:
        if self.terms and column in ("a", "b", "c", "n") and self.random.random() < 0.2:
            return self._unknown(column)
        return self._value(column)

    def _unknown(self, column: str) -> Scalar:
        key = f"x{len(self.unknowns)}"
        if column == "n":
            low, high = Decimal("-3.00"), Decimal("3.00")
            self.unknowns[key] = [Decimal(self.random.randrange(-300, 301)).scaleb(-2) for _ in range(2)]
            return unknown(key, Kind.NUMERIC, 2, low, high)
        bounds = (0, 60) if self.random.random() < 0.7 else (0, 2147483647)
        self.unknowns[key] = [self.random.choice([0, 1, 2, 5, 49, 50, bounds[1], bounds[1]]) for _ in range(2)]
        return unknown(key, Kind.INT, 0, *bounds)

    def tables(self) -> dict[str, list[tuple[Guard, tuple[Scalar, ...]]]]:
        found: dict[str, list[tuple[Guard, tuple[Scalar, ...]]]] = {}
        for table, columns in TABLES.items():
            rows = []
            for number in range(self.random.randrange(0, 5)):
                exists = self.guard()
                if exists is FALSE:
                    continue
                first: Scalar = number + 1 if self.random.random() < 0.8 else self.scalar("id")
                rows.append((exists, (first, *(self.scalar(column) for column in columns[1:]))))
            found[table] = rows
        return found

    # --- expressions --------------------------------------------------------------------------------------------

    def number(self, names: list[str], depth: int = 2) -> str:
        numeric = [n for n in names if not n.endswith("s")]
        kind = self.random.randrange(14) if depth else self.random.randrange(5)
        if kind <= 2 and numeric:
            return self.random.choice(numeric)
        if kind <= 4:
            return str(self.random.choice([0, 1, 2, 3, 5, 10]))
        one, two = self.number(names, depth - 1), self.number(names, depth - 1)
        match kind:
            case 5 | 6:
                return f"({one} + {two})"
            case 7:
                return f"({one} - {two})"
            case 8:
                return f"({one} * {two})"
            case 9:
                return f"({one} {self.random.choice(['/', '%'])} {two})"
            case 10:
                return f"(- {one})"
            case 11:
                return f"COALESCE({one}, {two})"
            case 12:
                return f"(CASE WHEN {self.condition(names, depth - 1)} THEN {one} ELSE {two} END)"
        name = self.random.choice(["ABS", "NULLIF", "GREATEST", "LEAST"])
        return f"ABS({one})" if name == "ABS" else f"{name}({one}, {two})"

    def condition(self, names: list[str], depth: int = 2) -> str:
        kind = self.random.randrange(12) if depth else self.random.randrange(4)
        if kind <= 3:
            op = self.random.choice(["=", "<>", "<", "<=", ">", ">="])
            return f"({self.number(names, max(depth - 1, 0))} {op} {self.number(names, max(depth - 1, 0))})"
        one, two = self.condition(names, depth - 1), self.condition(names, depth - 1)
        negated = self.random.choice(["", "NOT "])
        texts = [n for n in names if n.endswith("s")]
        match kind:
            case 4 | 5:
                return f"({one} AND {two})"
            case 6:
                return f"({one} OR {two})"
            case 7:
                return f"(NOT {one})"
            case 8:
                return f"({self.number(names, 1)} IS {negated}NULL)"
            case 9:
                items = ", ".join(self.number(names, 0) for _ in range(self.random.randrange(1, 4)))
                return f"({self.number(names, 1)} {negated}IN ({items}))"
            case 10 if texts:
                return f"({self.random.choice(texts)} {negated}LIKE '{self.random.choice(['x%', '%y', '_', ''])}')"
            case 11:
                return f"({one} IS {negated}{self.random.choice(['TRUE', 'FALSE'])})"
        low, high = self.number(names, 0), self.number(names, 0)
        return f"({self.number(names, 1)} {negated}BETWEEN {low} AND {high})"

    # --- statements ---------------------------------------------------------------------------------------------

    def sql(self) -> str:
        kind = self.random.randrange(10)
        if kind <= 4:
            return self.select()
        if kind <= 6:
            return self.update()
        return self.insert() if kind <= 8 else self.delete()

    def _where(self, names: list[str]) -> str:
        chance = self.random.random()
        key = self.random.choice([n for n in names if n.endswith("id")])
        if chance < 0.25:
            return ""
        if chance < 0.5:
            return f" WHERE {key} = {self.random.randrange(1, 4)}"
        if chance < 0.6:
            return f" WHERE {key} = {self.random.randrange(1, 4)} AND {self.condition(names)}"
        return f" WHERE {self.condition(names)}"

    def select(self) -> str:
        names = [f"t.{c}" for c in TABLES["t"]]
        source = "t"
        chance = self.random.random()
        if chance < 0.4:
            names += [f"u.{c}" for c in TABLES["u"]]
            conditions = ["t.id = u.tid", "u.id = t.a", "u.id = t.id AND u.c > t.b", self.condition(names, 1)]
            on = self.random.choice(conditions)
            joins = [f"t JOIN u ON {on}", f"t LEFT JOIN u ON {on}", "t CROSS JOIN u", "t, u"]
            source = self.random.choice(joins)
        where = self._where(names)
        chance = self.random.random()
        if chance < 0.35:
            return self._grouped(names, source, where)
        outputs = [self.random.choice([*names, self.number(names)]) for _ in range(self.random.randrange(1, 4))]
        distinct = "DISTINCT " if self.random.random() < 0.2 else ""
        order = ""
        if self.random.random() < 0.4:
            keys = [str(self.random.randrange(1, len(outputs) + 1)) for _ in range(self.random.randrange(1, 3))]
            order = " ORDER BY " + ", ".join(key + self.random.choice(["", " DESC"]) for key in keys)
        limit = f" LIMIT {self.random.randrange(0, 4)}" if self.random.random() < 0.2 else ""
        return f"SELECT {distinct}{', '.join(outputs)} FROM {source}{where}{order}{limit}"

    def _grouped(self, names: list[str], source: str, where: str) -> str:
        aggregates = []
        for _ in range(self.random.randrange(1, 3)):
            name = self.random.choice(["COUNT", "SUM", "MIN", "MAX", "AVG"])
            argument = self.random.choice([*names[:3], "t.n", self.number(names, 1)])
            distinct = self.random.choice(["", "", "DISTINCT "])
            aggregates.append(self.random.choice(["COUNT(*)", f"{name}({distinct}{argument})"]))
        if self.random.random() < 0.4:
            return f"SELECT {', '.join(aggregates)} FROM {source}{where}"
        key = self.random.choice(["t.a", "t.b", "t.s", "t.id"])
        having = f" HAVING {self.random.choice(aggregates)} > 1" if self.random.random() < 0.3 else ""
        order = f" ORDER BY {key}" if self.random.random() < 0.3 else ""
        return f"SELECT {key}, {', '.join(aggregates)} FROM {source}{where} GROUP BY {key}{having}{order}"

    def _returning(self, names: list[str]) -> str:
        if self.dialect.name == "mysql" or self.random.random() < 0.6:
            return ""
        return f" RETURNING {self.random.choice(names)}, {self.number(names, 1)}"

    def update(self) -> str:
        table = self.random.choice(["t", "t", "u"])
        names = list(TABLES[table])
        targets = self.random.sample([n for n in names if not n.endswith("s")], self.random.randrange(1, 3))
        chance = self.random.random()
        if chance < 0.4:
            targets = ["b"] if table == "t" else ["c"]
        elif chance < 0.55 and table == "t":
            swap = self.random.choice(["a = b, b = a", "b = b + 1, a = b", "a = 7, b = a", "n = 1 / b"])
            return f"UPDATE t SET {swap}{self._where(names)}"
        assignments = ", ".join(f"{target} = {self.number(names)}" for target in targets)
        return f"UPDATE {table} SET {assignments}{self._where(names)}{self._returning(names)}"

    def delete(self) -> str:
        table = self.random.choice(["t", "u"])
        return f"DELETE FROM {table}{self._where(list(TABLES[table]))}{self._returning(list(TABLES[table]))}"

    def insert(self) -> str:
        if self.random.random() < 0.5:
            names = list(TABLES["t"])
            limit = self.random.choice(["", "", "", " ORDER BY id LIMIT 1"])
            query = f"SELECT id + 10, a, {self.number(names, 1)} FROM t{self._where(names)}{limit}"
            return f"INSERT INTO u (id, tid, c) {query}{self._returning(list(TABLES['u']))}"
        rows = ", ".join(
            f"({self.random.randrange(7, 9)}, {self.number([], 1)}, {self.random.choice(['NULL', '1', '2', '60'])})"
            for _ in range(self.random.randrange(1, 3))
        )
        return f"INSERT INTO t (id, a, b) VALUES {rows}{self._returning(list(TABLES['t']))}"

    # --- procedures: slots 0 and 1 are integers, parameters of the bound SQL become variables ----------------------

    def statement(self, sql: str, shape: tuple[Kind, ...] | None = None) -> Statement:
        return bind(sql, shape, self.catalog, self.dialect).statement

    def call(self) -> Call:
        """A CALL of a random procedure; the catalog is extended by it."""
        body = self._body(2)
        procedure = Procedure("p", ("v0",), (INT, INT), body)
        self.catalog = dataclasses.replace(self.catalog, procedures={"p": procedure})
        return Call("p", (Const(self.random.randrange(0, 4), INT),))

    def _body(self, depth: int) -> tuple[Statement, ...]:
        steps = [self._step(depth) for _ in range(self.random.randrange(1, 4))]
        if depth == 2:
            steps = [self._into(), self._into(), *steps, self._bound("SELECT @0, @1")]
        return tuple(steps)

    def _into(self) -> Statement:
        texts = ["SELECT c FROM u WHERE id = @0", "SELECT b FROM t WHERE id = @0", "SELECT a FROM t WHERE id = @0"]
        texts += [f"SELECT {self.number(['t.a', 't.b'], 1)} FROM t WHERE t.id = @0"]
        texts += ["SELECT COUNT(*) FROM t WHERE a > @0"]
        query = self._bound(self.random.choice(texts))
        assert isinstance(query, Select)
        return SelectInto(query, (self.random.randrange(0, 2),))

    def _step(self, depth: int) -> Statement:
        kind = self.random.randrange(9 if depth else 5)
        if kind == 0:
            return self._into()
        if kind <= 2:
            texts = ["UPDATE t SET b = @0 WHERE id = @1", "UPDATE t SET b = b + 1 WHERE id = @0"]
            texts += ["DELETE FROM u WHERE id = @0"]
            texts += ["INSERT INTO u (id, tid, c) VALUES (9, @0, @1)", "UPDATE u SET c = c - @0 WHERE c > @1"]
            texts += ["UPDATE t SET b = 10 / @0 WHERE id = @1", "DELETE FROM t WHERE a = @0 OR b = @1"]
            return self._bound(self.random.choice(texts))
        if kind == 3:
            return self._bound(self.random.choice(["SELECT a, b FROM t WHERE id = @0", "SELECT @0, @1", self.select()]))
        if kind == 4:
            texts = ["@0 + 1", "@0", "@1 - 2", "COALESCE(@0, 3)", "@1 * @0", "10 / @1", "CASE WHEN @0 > 1 THEN @1 END"]
            bound = self._bound(f"SELECT {self.random.choice(texts)}")
            assert isinstance(bound, Select)
            return SetVariable(self.random.randrange(0, 2), bound.outputs[0].expression)
        branches = tuple((self._condition(), self._body(depth - 1)) for _ in range(self.random.choice([1, 1, 2])))
        return If(branches, self._body(depth - 1) if self.random.random() < 0.5 else ())

    def _condition(self) -> Expr:
        texts = ["@0 > 2", "@0 IS NULL", "@0 < @1", "@1 = 1 OR @0 = 1", "@0 > 1 AND @1 IS NOT NULL", "NOT (@1 < 3)"]
        bound = self._bound(f"SELECT 1 WHERE {self.random.choice(texts)}")
        assert isinstance(bound, Select)
        assert bound.where is not None
        return bound.where

    def _bound(self, sql: str) -> Statement:
        order: list[int] = []
        if self.dialect.name == "mysql":
            pieces = sql.split("@")
            order = [int(piece[0]) for piece in pieces[1:]]
            sql = pieces[0] + "".join("?" + piece[1:] for piece in pieces[1:])
        else:
            order = [0, 1]
            sql = sql.replace("@0", "$1").replace("@1", "$2")
            if "$2" not in sql:
                order = [0] if "$1" in sql else []
            elif "$1" not in sql:
                sql, order = sql.replace("$2", "$1"), [1]
        shape = (Kind.INT,) * len(order)
        return to_variables(self.statement(sql, shape), order)  # type: ignore[no-any-return]


def to_variables(node: Any, slots: list[int]) -> Any:
    """The same tree with parameters replaced by variables."""
    if isinstance(node, Param):
        assert isinstance(node.key, int)
        return Variable(slots[node.key], node.type, f"v{slots[node.key]}")
    if isinstance(node, tuple):
        return tuple(to_variables(part, slots) for part in node)
    if dataclasses.is_dataclass(node) and not isinstance(node, type):
        changes = {f.name: to_variables(getattr(node, f.name), slots) for f in dataclasses.fields(node)}
        return dataclasses.replace(node, **changes)
    return node

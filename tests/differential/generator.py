"""Seeded random schemas, rows and statements over the fragment, as SQL text. Knows no engine and no expected result."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from decimal import Decimal

Family = str
"""``int``, ``num``, ``text``, ``bool`` or ``float``."""


@dataclass(slots=True)
class ColumnSpec:
    """A column to create."""

    name: str
    sql_type: str
    family: Family
    not_null: bool


@dataclass(slots=True)
class TableSpec:
    """A table to create; `rows` are Python values, one per column."""

    name: str
    columns: list[ColumnSpec]
    check: str | None
    rows: list[tuple[object, ...]] = field(default_factory=list)

    def ddl(self) -> str:
        """CREATE TABLE."""
        parts = [f"{c.name} {c.sql_type}{' NOT NULL' if c.not_null else ''}" for c in self.columns]
        if self.check is not None:
            parts.append(f"CONSTRAINT positive CHECK ({self.check})")
        return f"CREATE TABLE {self.name} ({', '.join(parts)})"


_TYPES: dict[str, dict[Family, tuple[str, ...]]] = {
    "postgres": {
        "int": ("int", "bigint", "smallint"),
        "num": ("numeric(10,2)", "numeric(6,3)", "numeric"),
        "text": ("text", "varchar(6)", "char(4)"),
        "bool": ("boolean",),
        "float": ("double precision",),
    },
    "sqlite": {"int": ("integer",), "text": ("text",)},
    "duckdb": {"int": ("integer", "bigint"), "text": ("varchar",), "bool": ("boolean",)},
}


class Generator:
    """All choices come from one `random.Random(seed)`."""

    def __init__(self, seed: int, dialect: str = "postgres") -> None:
        self.random = random.Random(seed)
        self.dialect = dialect
        self.types = _TYPES[dialect]
        self.families = list(self.types)
        self.tables = [self._table(name) for name in ("ta", "tb")]

    # --- schema and rows --------------------------------------------------------------------------------------

    def _table(self, name: str) -> TableSpec:
        r = self.random
        columns = [ColumnSpec("k", self.types["int"][0], "int", r.random() < 0.5)]
        for i in range(r.randint(2, 5)):
            family = r.choice(self.families)
            columns.append(ColumnSpec(f"c{i}", r.choice(self.types[family]), family, r.random() < 0.15))
        check = "k < 40000" if r.random() < 0.3 else None
        table = TableSpec(name, columns, check)
        for _ in range(r.choice((0, 1, 3, 6, 9))):
            table.rows.append(tuple(self._stored(c) for c in columns))
        return table

    def _stored(self, column: ColumnSpec) -> object:
        r = self.random
        if not column.not_null and r.random() < 0.2:
            return None
        if column.family == "int":
            return r.choice((0, 1, 2, 3, 5, -1, -7, r.randint(-40, 40), r.choice((32767, -32768, 100))))
        if column.family == "num":
            return Decimal(r.choice(("0", "1", "1.5", "-2.25", "10", "99.99", "0.01", "-0.5", "3.125", "7")))
        if column.family == "text":
            return r.choice(("", "a", "b", "ab", "abc", "z9", "b", "a"))
        if column.family == "bool":
            return r.random() < 0.5
        return r.choice((0.0, 1.5, -2.25, 1e10, 0.1, 3.0))

    # --- expressions ------------------------------------------------------------------------------------------

    def literal(self, family: Family) -> str:
        """A literal of a family."""
        r = self.random
        if r.random() < 0.05:
            return "NULL"
        if family == "int":
            return str(r.choice((0, 1, 2, 3, 5, -1, 7, 10, r.randint(-50, 50), 2147483647)))
        if family == "num":
            return r.choice(("0.5", "1.0", "2.25", "-1.5", "100.00", "0.001", "3", "12345.678"))
        if family == "text":
            return r.choice(("''", "'a'", "'b'", "'ab'", "'abc'", "'b '", "'z9'", "'abcdefgh'"))
        if family == "bool":
            return r.choice(("TRUE", "FALSE"))
        return r.choice(
            ("CAST(1.5 AS double precision)", "CAST(0 AS double precision)", "CAST(-3 AS double precision)")
        )

    def expression(self, family: Family, scope: list[tuple[str, ColumnSpec]], depth: int) -> str:
        """An expression of a family over the columns in scope."""
        r = self.random
        columns = [name for name, c in scope if c.family == family]
        if depth <= 0 or r.random() < 0.25:
            if columns and r.random() < 0.75:
                return r.choice(columns)
            return self.literal(family)
        if r.random() < 0.12:
            return self._conditional(family, scope, depth - 1)
        builders = {
            "int": self._int,
            "num": self._num,
            "text": self._text,
            "bool": self.condition,
            "float": self._float,
        }
        return builders[family](scope, depth - 1)

    def _conditional(self, family: Family, scope: list[tuple[str, ColumnSpec]], depth: int) -> str:
        r = self.random
        first, second = (self.expression(family, scope, depth) for _ in range(2))
        kind = r.random()
        if kind < 0.4:
            return f"CASE WHEN {self.condition(scope, depth)} THEN {first} ELSE {second} END"
        if kind < 0.75:
            return f"COALESCE({first}, {second})"
        return f"NULLIF({first}, {second})"

    def _int(self, scope: list[tuple[str, ColumnSpec]], depth: int) -> str:
        r = self.random
        if "num" in self.families and r.random() < 0.1:
            return f"CAST({self.expression('num', scope, depth)} AS int)"
        if "text" in self.families and r.random() < 0.08:
            return f"LENGTH({self.expression('text', scope, depth)})"
        if r.random() < 0.08:
            return f"ABS({self.expression('int', scope, depth)})"
        if r.random() < 0.05:
            return f"(- {self.expression('int', scope, depth)})"
        operators = "+-*+-*/%" if self.dialect != "duckdb" else "+-*"
        return f"({self.expression('int', scope, depth)} {r.choice(operators)} {self.expression('int', scope, depth)})"

    def _num(self, scope: list[tuple[str, ColumnSpec]], depth: int) -> str:
        r = self.random
        choice = r.random()
        if choice < 0.1:
            return f"ROUND({self.expression('num', scope, depth)}, {r.randint(0, 3)})"
        if choice < 0.15:
            return f"ABS({self.expression('num', scope, depth)})"
        if choice < 0.22:
            return f"CAST({self.expression('int', scope, depth)} AS numeric(8,2))"
        right = "int" if r.random() < 0.3 else "num"
        return f"({self.expression('num', scope, depth)} {r.choice('+-*/%')} {self.expression(right, scope, depth)})"

    def _text(self, scope: list[tuple[str, ColumnSpec]], depth: int) -> str:
        r = self.random
        choice = r.random()
        if choice < 0.3:
            return f"{r.choice(('LOWER', 'UPPER'))}({self.expression('text', scope, depth)})"
        return f"({self.expression('text', scope, depth)} || {self.expression('text', scope, depth)})"

    def _float(self, scope: list[tuple[str, ColumnSpec]], depth: int) -> str:
        r = self.random
        right = r.choice(("float", "int", "num"))
        left = self.expression("float", scope, depth)
        return f"({left} {r.choice('+-*/')} {self.expression(right, scope, depth)})"

    def condition(self, scope: list[tuple[str, ColumnSpec]], depth: int) -> str:
        """A predicate."""
        r = self.random
        choice = r.random()
        if depth > 0 and choice < 0.3:
            left, right = self.condition(scope, depth - 1), self.condition(scope, depth - 1)
            return f"({left} {r.choice(('AND', 'OR'))} {right})"
        if depth > 0 and choice < 0.37:
            return f"(NOT {self.condition(scope, depth - 1)})"
        family = r.choice(self.families)
        operand = self.expression(family, scope, min(depth, 1))
        if choice < 0.45:
            return f"({operand} IS {r.choice(('', 'NOT '))}NULL)"
        if choice < 0.53:
            items = ", ".join(self.literal(family) for _ in range(r.randint(1, 3)))
            return f"({operand} {r.choice(('', 'NOT '))}IN ({items}))"
        if choice < 0.58 and family != "bool":
            return f"({operand} BETWEEN {self.literal(family)} AND {self.literal(family)})"
        if choice < 0.64 and self.dialect == "postgres":
            distinct = r.choice(("IS DISTINCT FROM", "IS NOT DISTINCT FROM"))
            return f"({operand} {distinct} {self.expression(family, scope, min(depth, 1))})"
        if choice < 0.70 and "text" in self.families and self.dialect != "sqlite":
            pattern = r.choice(("'a%'", "'%b'", "'_'", "'%'", "'a_c'", "'B%'"))
            negation = r.choice(("", "NOT "))
            return f"({self.expression('text', scope, min(depth, 1))} {negation}LIKE {pattern})"
        if choice < 0.74 and "bool" in self.families:
            test = r.choice(("TRUE", "FALSE", "NOT TRUE", "NOT FALSE"))
            return f"({self.condition(scope, 0)} IS {test})"
        operator = r.choice(("=", "=", "=", "<>", "<", "<=", ">", ">="))
        return f"({operand} {operator} {self.expression(family, scope, min(depth, 1))})"

    def where(self, scope: list[tuple[str, ColumnSpec]]) -> str:
        """A WHERE clause or nothing; often an equality that an index can serve."""
        r = self.random
        choice = r.random()
        if choice < 0.15:
            return ""
        name, column = r.choice(scope)
        equality = f"{name} = {self.literal(column.family)}"
        if choice < 0.4:
            return f" WHERE {equality}"
        if choice < 0.55:
            return f" WHERE {equality} AND {self.condition(scope, 1)}"
        return f" WHERE {self.condition(scope, 2)}"

    # --- statements -------------------------------------------------------------------------------------------

    def statement(self) -> str:
        """One statement."""
        choice = self.random.random()
        if choice < 0.62:
            return self._grouped() if self.random.random() < 0.35 else self._select()
        if choice < 0.82:
            return self._update()
        if choice < 0.93:
            return self._insert()
        return self._delete()

    def _scope(self, table: TableSpec, prefix: str = "") -> list[tuple[str, ColumnSpec]]:
        return [(f"{prefix}{c.name}", c) for c in table.columns]

    def _from(self) -> tuple[str, list[tuple[str, ColumnSpec]]]:
        r = self.random
        first = r.choice(self.tables)
        if r.random() < 0.6:
            return first.name, self._scope(first)
        second = r.choice(self.tables)
        scope = self._scope(first, "x.") + self._scope(second, "y.")
        text = f"{first.name} AS x"
        if r.random() < 0.2:
            return f"{text}, {second.name} AS y", scope
        family = "int"
        left = r.choice([n for n, c in self._scope(first, "x.") if c.family == family])
        right = r.choice([n for n, c in self._scope(second, "y.") if c.family == family])
        on = f"{left} = {right}" if r.random() < 0.7 else self.condition(scope, 1)
        if r.random() < 0.3:
            on = f"{on} AND {self.condition(scope, 1)}"
        return f"{text} {r.choice(('JOIN', 'LEFT JOIN'))} {second.name} AS y ON {on}", scope

    def _select(self) -> str:
        r = self.random
        source, scope = self._from()
        outputs = [self.expression(r.choice(self.families), scope, r.choice((0, 1, 2))) for _ in range(r.randint(1, 3))]
        distinct = "DISTINCT " if r.random() < 0.12 else ""
        sql = f"SELECT {distinct}{', '.join(outputs)} FROM {source}{self.where(scope)}"
        if r.random() < 0.35:
            keys = [str(r.randint(1, len(outputs)))] if distinct or r.random() < 0.5 else [r.choice(scope)[0]]
            direction = r.choice(("", " DESC", " ASC", " DESC NULLS LAST", " NULLS FIRST"))
            sql += f" ORDER BY {', '.join(key + direction for key in keys)}"
        if r.random() < 0.15:
            sql += f" LIMIT {r.randint(0, 4)}"
            if r.random() < 0.5:
                sql += f" OFFSET {r.randint(0, 2)}"
        return sql

    def _aggregate(self, scope: list[tuple[str, ColumnSpec]]) -> str:
        r = self.random
        if r.random() < 0.25:
            return "COUNT(*)"
        numeric = [f for f in self.families if f in ("int", "num")]
        function = r.choice(("COUNT", "SUM", "MIN", "MAX", "AVG"))
        if self.dialect != "postgres" and function in ("AVG", "SUM"):
            function = "COUNT"
        family = r.choice(numeric if function in ("SUM", "AVG") else [f for f in self.families if f != "bool"])
        distinct = "DISTINCT " if r.random() < 0.2 else ""
        return f"{function}({distinct}{self.expression(family, scope, 1)})"

    def _grouped(self) -> str:
        r = self.random
        source, scope = self._from()
        if r.random() < 0.4:
            aggregates = [self._aggregate(scope) for _ in range(r.randint(1, 3))]
            return f"SELECT {', '.join(aggregates)} FROM {source}{self.where(scope)}"
        key = r.choice(scope)[0]
        outputs = f"{key}, {self._aggregate(scope)}, {self._aggregate(scope)}"
        sql = f"SELECT {outputs} FROM {source}{self.where(scope)} GROUP BY {key}"
        if r.random() < 0.3:
            sql += f" HAVING COUNT(*) {r.choice(('>', '=', '<'))} {r.randint(0, 3)}"
        if r.random() < 0.3:
            sql += f" ORDER BY {r.choice((key, '2', '3 DESC'))}"
        return sql

    def _returning(self, table: TableSpec) -> str:
        r = self.random
        if r.random() < 0.7 or self.dialect != "postgres":
            return ""
        if r.random() < 0.3:
            return " RETURNING *"
        return f" RETURNING {self.expression(r.choice(self.families), self._scope(table), 1)}"

    def _update(self) -> str:
        r = self.random
        table = r.choice(self.tables)
        scope = self._scope(table)
        chosen = r.sample(table.columns, r.randint(1, 2))
        sets = [f"{c.name} = {self.expression(c.family, scope, r.choice((0, 1, 2)))}" for c in chosen]
        return f"UPDATE {table.name} SET {', '.join(sets)}{self.where(scope)}{self._returning(table)}"

    def _insert(self) -> str:
        r = self.random
        table = r.choice(self.tables)
        columns = table.columns if r.random() < 0.7 else r.sample(table.columns, r.randint(1, len(table.columns)))
        head = f"INSERT INTO {table.name} ({', '.join(c.name for c in columns)}) "
        if r.random() < 0.25:
            source = r.choice(self.tables)
            scope = self._scope(source)
            outputs = ", ".join(self.expression(c.family, scope, 1) for c in columns)
            return f"{head}SELECT {outputs} FROM {source.name} WHERE {self.condition(scope, 1)}{self._returning(table)}"
        rows = []
        for _ in range(r.randint(1, 2)):
            rows.append(f"({', '.join(self.expression(c.family, [], r.choice((0, 0, 1))) for c in columns)})")
        return f"{head}VALUES {', '.join(rows)}{self._returning(table)}"

    def _delete(self) -> str:
        r = self.random
        table = r.choice(self.tables)
        scope = self._scope(table)
        narrow = f" WHERE {r.choice(scope)[0]} = {self.literal(r.choice(scope)[1].family)}"
        name, column = r.choice(scope)
        narrow = f" WHERE {name} = {self.literal(column.family)}"
        where = narrow if r.random() < 0.7 else f" WHERE {self.condition(scope, 1)} AND {self.condition(scope, 0)}"
        return f"DELETE FROM {table.name}{where}{self._returning(table)}"

"""Seeded random tables, rows and views: keys, defaults, checks, foreign keys, generated columns.

Each construct has a switch per product. Knows no engine and no statement.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from uuid import UUID

Family = str
"""``int``, ``num``, ``text``, ``bool``, ``float``, ``date``, ``ts``, ``bytes``, ``uuid`` or ``json``: what may stand
for what in an expression."""

TYPES: dict[str, dict[Family, tuple[str, ...]]] = {
    "postgres": {
        "int": ("int", "bigint", "smallint", "int"),
        "num": ("numeric(10,2)", "numeric(6,3)", "numeric"),
        "text": ("text", "varchar(6)", "char(4)"),
        "bool": ("boolean",),
        "float": ("double precision",),
        "date": ("date",),
        "ts": ("timestamp",),
    },
    "mysql": {
        "int": ("int", "bigint", "smallint", "int"),
        "num": ("decimal(10,2)", "decimal(6,3)", "decimal(12,0)"),
        "text": ("varchar(6)", "varchar(20)", "text"),
        "bool": ("boolean",),
        "float": ("double",),
        "date": ("date",),
        "ts": ("datetime",),
    },
    "sqlite": {"int": ("int", "integer"), "text": ("text", "varchar(6)"), "float": ("real", "double precision")},
    "duckdb": {
        "int": ("integer", "bigint", "smallint"),
        "num": ("decimal(10,2)", "decimal(6,3)"),
        "text": ("varchar", "text"),
        "bool": ("boolean",),
        "float": ("double",),
        "date": ("date",),
        "ts": ("timestamp",),
    },
}
RARE_TYPES: dict[str, dict[Family, tuple[str, ...]]] = {
    "postgres": {"bytes": ("bytea",), "uuid": ("uuid",), "json": ("json",)},
    "mysql": {"bytes": ("blob", "longblob")},
    "sqlite": {"bytes": ("blob",)},
    "duckdb": {"bytes": ("blob",), "uuid": ("uuid",)},
}
"""Types of which a table has a column now and then."""
NEW_TYPES = frozenset({"date", "ts"})
PLAIN_FAMILIES: dict[str, tuple[Family, ...]] = {
    "postgres": ("int", "num", "text", "bool", "float"),
    "mysql": ("int", "num", "text", "bool", "float"),
    "sqlite": ("int", "text"),
    "duckdb": ("int", "text", "bool"),
}
ACTIONS = {
    "postgres": ("", " ON DELETE CASCADE", " ON DELETE SET NULL", " ON UPDATE CASCADE", " ON DELETE RESTRICT",
                 " ON DELETE CASCADE ON UPDATE CASCADE", " ON DELETE SET DEFAULT", " ON UPDATE SET NULL"),
    "mysql": ("", " ON DELETE CASCADE", " ON DELETE SET NULL", " ON UPDATE CASCADE", " ON DELETE RESTRICT",
              " ON DELETE CASCADE ON UPDATE CASCADE", " ON UPDATE SET NULL"),
    "sqlite": ("", " ON DELETE CASCADE", " ON DELETE SET NULL", " ON UPDATE CASCADE", " ON DELETE RESTRICT",
               " ON DELETE CASCADE ON UPDATE CASCADE", " ON DELETE SET DEFAULT", " ON UPDATE SET NULL"),
    "duckdb": ("",),
}  # fmt: skip


@dataclass(slots=True)
class ColumnSpec:
    """A column to create; `generated` is the expression of a generated one."""

    name: str
    sql_type: str
    family: Family
    not_null: bool = False
    suffix: str = ""
    generated: str | None = None

    def ddl(self) -> str:
        """The column's line in CREATE TABLE."""
        null = " NOT NULL" if self.not_null else ""
        made = f" GENERATED ALWAYS AS ({self.generated}) STORED" if self.generated is not None else ""
        return f"{self.name} {self.sql_type}{null}{self.suffix}{made}"


@dataclass(slots=True)
class TableSpec:
    """A table to create; `rows` are Python values, one per filled column. `key`: k is its primary key."""

    name: str
    columns: list[ColumnSpec]
    constraints: list[str] = field(default_factory=list)
    key: bool = False
    rows: list[tuple[object, ...]] = field(default_factory=list)

    def ddl(self) -> str:
        """CREATE TABLE."""
        return f"CREATE TABLE {self.name} ({', '.join([c.ddl() for c in self.columns] + self.constraints)})"

    def writable(self) -> list[ColumnSpec]:
        """The columns that statements may set."""
        return [c for c in self.columns if c.generated is None]

    def filled(self) -> list[str]:
        """The names of the columns that initial rows have values for."""
        return [c.name for c in self.writable()]

    def inserts(self) -> Iterator[str]:
        """The rows as statements, to print."""
        if self.rows:
            rows = ", ".join(f"({', '.join(literal(value) for value in row)})" for row in self.rows)
            yield f"INSERT INTO {self.name} ({', '.join(self.filled())}) VALUES {rows}"


def literal(value: object) -> str:
    """A Python value as SQL text."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, (int, float, Decimal)):
        return str(value)
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    return "'" + str(value).replace("'", "''") + "'"


class SchemaMaker:
    """All choices come from one `random.Random`. `level`: 0 everything, 1 without the newer types, 2 plain tables."""

    def __init__(self, source: random.Random, dialect: str, level: int = 0) -> None:
        self.random = source
        self.dialect = dialect
        self.level = level
        families = TYPES[dialect] if level < 2 else PLAIN_FAMILIES[dialect]
        self.families = [f for f in families if level == 0 or f not in NEW_TYPES]
        self.rare = sorted(RARE_TYPES[dialect]) if level == 0 else []

    def tables(self) -> list[TableSpec]:
        """Two or three tables, a later one perhaps referring to an earlier one."""
        made: list[TableSpec] = []
        for name in ("ta", "tb", "tc")[: self.random.choice((2, 2, 3))]:
            made.append(self._table(name, made))
        return made

    def _table(self, name: str, earlier: list[TableSpec]) -> TableSpec:
        r = self.random
        rich = self.level < 2
        key = r.random() < 0.7
        columns = [ColumnSpec("k", TYPES[self.dialect]["int"][0], "int", not key and r.random() < 0.5)]
        if key:
            columns[0].suffix = " PRIMARY KEY"
            columns[0].not_null = True
        for i in range(r.randint(1, 4)):
            types = TYPES[self.dialect]
            family = r.choice(self.families)
            if self.rare and r.random() < 0.08:
                types, family = RARE_TYPES[self.dialect], r.choice(self.rare)
            column = ColumnSpec(f"c{i}", r.choice(types[family]), family, r.random() < 0.15)
            if family in self.rare:
                pass
            elif r.random() < 0.15:
                column.suffix = f" DEFAULT {literal(self._value(column))}"
            elif r.random() < 0.06 and column.sql_type != "text":
                column.suffix = " UNIQUE"
            columns.append(column)
        table = TableSpec(name, columns, key=key)
        if r.random() < 0.2:
            table.constraints.append(f"CONSTRAINT small_{name} CHECK (k < 40000)")
        if rich and r.random() < 0.1 and self.dialect != "duckdb":
            integers = [c.name for c in columns if c.family == "int"]
            made = r.choice(integers)
            columns.append(ColumnSpec("g", TYPES[self.dialect]["int"][1], "int", generated=f"{made} + 1"))
        parents = [t for t in earlier if t.key]
        if rich and parents and r.random() < 0.3:
            action = r.choice(ACTIONS[self.dialect])
            reference = ColumnSpec("r", TYPES[self.dialect]["int"][0], "int")
            columns.append(reference)
            table.constraints.append(f"FOREIGN KEY (r) REFERENCES {r.choice(parents).name} (k){action}")
        self._fill(table)
        return table

    def _fill(self, table: TableSpec) -> None:
        r = self.random
        numbers = r.sample(range(-3, 14), 12)
        for i in range(r.choice((0, 1, 3, 6, 9))):
            row = [self._value(c) for c in table.writable()]
            if table.key or (row[0] is None and table.columns[0].not_null):
                row[0] = numbers[i]
            table.rows.append(tuple(row))

    def _value(self, column: ColumnSpec) -> object:
        r = self.random
        if not column.not_null and r.random() < 0.2:
            return None
        if column.name == "r":
            return r.choice((0, 1, 2, 3, 5, None))
        match column.family:
            case "int":
                return r.choice((0, 1, 2, 3, 5, -1, -7, r.randint(-40, 40), r.choice((32767, -32768, 100))))
            case "num":
                whole = "12,0" in column.sql_type
                return Decimal(
                    r.choice(
                        ("0", "1", "10", "7", "-3") if whole else ("0", "1", "1.5", "-2.25", "10", "99.99", "0.01")
                    )
                )
            case "text":
                return r.choice(("", "a", "b", "ab", "abc", "z9", "b", "a", "B"))
            case "bool":
                return r.random() < 0.5
            case "date":
                return date(r.choice((2020, 2021)), r.choice((1, 2, 12)), r.choice((1, 15, 28)))
            case "ts":
                return datetime(2020, r.choice((1, 2)), r.choice((1, 28)), r.choice((0, 13)), r.choice((0, 30)))
            case "bytes":
                return r.choice((b"", b"a", b"ab", b"\x00\xff", b"abc"))
            case "uuid":
                return UUID(int=r.choice((0, 1, 2, 2**127, 2**128 - 1)))
            case "json":
                return r.choice(("{}", "[1, 2]", '{"a": 1}', '{"a":1}', "null", '"x"', "1.50"))
        return r.choice((0.0, 1.5, -2.25, 1e10, 0.1, 3.0))

    def views(self, tables: list[TableSpec]) -> list[TableSpec]:
        """Sometimes a view, as a table that is only read; its DDL is a constraint-free SELECT."""
        r = self.random
        if self.level > 0 or r.random() > 0.15:
            return []
        base = r.choice(tables)
        chosen = [base.columns[0], *r.sample(base.columns[1:], r.randint(0, len(base.columns) - 1))]
        names = ", ".join(c.name for c in chosen)
        view = TableSpec("va", chosen, key=base.key)
        view.constraints = [f"CREATE VIEW va AS SELECT {names} FROM {base.name} WHERE k IS NOT NULL"]
        return [view]

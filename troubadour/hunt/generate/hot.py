"""Plain statements that meet on the same rows: reads by key and by range, counts, increments, values that no other
statement writes, upserts, inserts and deletions by key. Knows no schedule.
"""

from __future__ import annotations

from random import Random

from troubadour.hunt.generate.pieces import Piece, clause, piece
from troubadour.hunt.generate.schemas import NUMBERED, ColumnSpec, TableSpec, sql_literal

_AT_ONCE = (" FOR UPDATE NOWAIT", " FOR UPDATE SKIP LOCKED")


class Hot:
    """All choices come from `random`. `tables`: as the schema has them."""

    def __init__(self, random: Random, dialect: str, tables: list[TableSpec]) -> None:
        self._random = random
        self._dialect = dialect
        self._tables = tables[:2]
        self._fresh = 100

    def statement(self) -> Piece:
        """One statement."""
        random, table = self._random, self._random.choice(self._tables)
        columns = table.writable()
        column = random.choice(columns[1:] or columns)
        kind = random.random()
        if kind < 0.22:
            return piece(f"SELECT {self._names(table)} FROM {table.name} WHERE ", self._key(table), self._locking())
        if kind < 0.34:
            return piece(f"SELECT {self._names(table)} FROM {table.name} WHERE ", self._range(table))
        if kind < 0.42:
            whole = f"SELECT COUNT(*), COUNT({column.name}), MIN(k), MAX(k) FROM {table.name}"
            return piece(whole, clause(" WHERE ", self._range(table)) if random.random() < 0.5 else piece())
        if kind < 0.72:
            where = self._key(table) if random.random() < 0.75 else self._range(table)
            return piece(f"UPDATE {table.name} SET {column.name} = {self._value(column)} WHERE ", where)
        if kind < 0.86:
            return self._insert(table, columns)
        where = self._key(table) if random.random() < 0.7 else self._range(table)
        return piece(f"DELETE FROM {table.name} WHERE ", where)

    def skewed(self) -> list[Piece]:
        """The statements of a transaction that looks at some rows and writes others: of two that overlap each may look
        at what the other one writes. Mostly it looks at one table and writes to another: a scan of a small table locks
        all of it, so that a row which a product forgets to lock shows only across tables."""
        random, table = self._random, self._random.choice(self._tables)
        others = [each for each in self._tables if each is not table]
        looked_at = random.choice(others) if others and random.random() < 0.7 else table
        columns = table.writable()
        looks = [self._look(looked_at) for _ in range(random.choice((1, 1, 2)))]
        column = random.choice(columns[1:] or columns)
        kind = random.random()
        if kind < 0.5:
            write = piece(f"UPDATE {table.name} SET {column.name} = {self._value(column)} WHERE ", self._key(table))
        elif kind < 0.8:
            write = piece(f"DELETE FROM {table.name} WHERE ", self._key(table))
        else:
            write = piece(self._values(table, columns))
        return [*looks, write]

    def _look(self, table: TableSpec) -> Piece:
        """A statement that writes nothing, or nothing where a row is there."""
        random = self._random
        kind = random.random()
        if kind < 0.3 and table.key:
            values = self._values(table, table.writable())
            tail = " ON DUPLICATE KEY UPDATE k = k" if self._dialect == "mysql" else " ON CONFLICT (k) DO NOTHING"
            return piece(values + tail)
        where = self._key(table) if kind < 0.65 else self._range(table)
        shown = "COUNT(*)" if kind > 0.9 else self._names(table)
        return piece(f"SELECT {shown} FROM {table.name} WHERE ", where)

    def _names(self, table: TableSpec) -> str:
        return ", ".join(column.name for column in table.columns)

    def _locking(self) -> Piece:
        if self._dialect not in ("postgres", "mysql") or self._random.random() > 0.2:
            return piece()
        if self._dialect == "postgres":
            others: tuple[str, ...] = (" FOR SHARE", " FOR SHARE", " FOR NO KEY UPDATE", " FOR KEY SHARE")
        else:
            others = (" LOCK IN SHARE MODE", " LOCK IN SHARE MODE")
        return clause(self._random.choice((" FOR UPDATE", " FOR UPDATE", *others, *_AT_ONCE)))

    def _key(self, table: TableSpec) -> Piece:
        return piece(f"k = {self._hot_key(table)}", family="bool")

    def _hot_key(self, table: TableSpec) -> object:
        """Nearly always of one of the first rows, most of all of the first."""
        keys = [row[0] for row in table.rows if row[0] is not None][:3] or [1]
        return self._random.choice([*keys, *keys, keys[0], keys[0], self._random.randint(0, 6)])

    def _range(self, table: TableSpec) -> Piece:
        random = self._random
        column = random.choice([each for each in table.columns if each.family == "int"])
        low = random.randint(-5, 5)
        return piece(
            random.choice((f"{column.name} > {low}", f"{column.name} BETWEEN {low} AND {low + random.randint(1, 8)}")),
            family="bool",
        )

    def _value(self, column: ColumnSpec) -> str:
        random = self._random
        if column.family == "int" and random.random() < 0.35:
            return f"{column.name} + 1"
        if column.family == "int" and column.name not in ("k", "r"):
            self._fresh += 1
            return str(self._fresh)
        return self._plain(column)

    def _plain(self, column: ColumnSpec) -> str:
        random = self._random
        self._fresh += 1
        match column.family:
            case "int":
                return str(random.randint(0, 6) if column.name in ("k", "r") else self._fresh)
            case "num":
                return str(self._fresh)
            case "float":
                return sql_literal(self._fresh + 0.5, self._dialect)
            case "text":
                return f"'v{self._fresh % 1000}'"
            case "bool":
                return random.choice(("TRUE", "FALSE"))
            case "date":
                return f"DATE '2021-{1 + self._fresh % 12:02}-{1 + self._fresh % 28:02}'"
            case "ts":
                return f"TIMESTAMP '2021-{1 + self._fresh % 12:02}-{1 + self._fresh % 28:02} 10:00:00'"
        return "NULL"

    def _values(self, table: TableSpec, columns: list[ColumnSpec]) -> str:
        key = str(self._hot_key(table))
        values = ", ".join(key if column.name == "k" else self._plain(column) for column in columns)
        return f"INSERT INTO {table.name} ({', '.join(column.name for column in columns)}) VALUES ({values})"

    def _insert(self, table: TableSpec, columns: list[ColumnSpec]) -> Piece:
        random = self._random
        numbered = table.columns[0].suffix in NUMBERED.values() and random.random() < 0.5
        if numbered and len(columns) > 1:
            told = clause(" RETURNING k") if self._dialect == "postgres" else piece()
            return piece(self._values(table, columns[1:]), told)
        head = self._values(table, columns)
        if not table.key or random.random() < 0.5:
            return piece(head)
        column = random.choice(columns[1:] or columns)
        value = self._value(column)
        if self._dialect == "mysql":
            return piece(head, clause(f" ON DUPLICATE KEY UPDATE {column.name} = {value}"))
        value = value.replace(f"{column.name} +", f"{table.name}.{column.name} +")
        if random.random() < 0.3:
            return piece(head, clause(" ON CONFLICT (k) DO NOTHING"))
        return piece(head, clause(f" ON CONFLICT (k) DO UPDATE SET {column.name} = {value}"))

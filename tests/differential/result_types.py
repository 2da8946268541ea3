"""A query's answer with the types that the engine gives its columns. Does not know what they should be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sql_semantics.values.types import INTEGER_KINDS, Kind, SqlType
from tests.differential.engines import Engine

_POSTGRES = {
    16: "boolean", 17: "bytes", 20: "bigint", 21: "smallint", 23: "int", 25: "text", 114: "json", 700: "real",
    701: "double", 1042: "padded", 1043: "text", 1082: "date", 1083: "time", 1114: "timestamp", 1184: "timestamptz",
    1186: "interval", 1700: "numeric", 2950: "uuid",
}  # fmt: skip
_MYSQL = {
    **dict.fromkeys((1, 2, 3, 8, 9), "integer"), **dict.fromkeys((0, 246), "numeric"), 4: "real", 5: "double",
    **dict.fromkeys((249, 250, 251, 252, 253, 254), "text"), 7: "timestamp", 10: "date", 11: "time", 12: "timestamp",
}  # fmt: skip
_DUCKDB = {
    "TINYINT": "tinyint", "SMALLINT": "smallint", "INTEGER": "int", "BIGINT": "bigint", "HUGEINT": "hugeint",
    "UBIGINT": "ubigint", "UINTEGER": "uint", "USMALLINT": "usmallint", "UTINYINT": "utinyint", "FLOAT": "real",
    "DOUBLE": "double", "BOOLEAN": "boolean", "VARCHAR": "text", "DATE": "date", "TIMESTAMP": "timestamp",
    "INTERVAL": "interval", "UUID": "uuid", "BLOB": "bytes", "TIME": "time", "TIMESTAMP WITH TIME ZONE": "timestamptz",
}  # fmt: skip


@dataclass(slots=True)
class Typed:
    """What an engine said of a query of one column: rows, the column's type as the engine calls it, or an error."""

    engine: str
    rows: list[tuple[Any, ...]] = field(default_factory=list)
    type: Any = None
    error: str | None = None
    message: str = ""

    def value(self) -> Any:
        """The one value of one row."""
        ((value,),) = self.rows
        return value

    def differs(self, ours: SqlType) -> str | None:
        """What the type is called there where it is another one than ours."""
        if self.type is None or ours.kind is Kind.NULL:
            return None
        match self.engine:
            case "postgres":
                known = _POSTGRES.get(self.type)
                mine = "padded" if ours.padded else ours.kind.value
            case "mysql":
                known = _MYSQL.get(self.type)
                mine = ours.kind.value
                if ours.kind in INTEGER_KINDS or ours.kind is Kind.BOOLEAN:
                    mine = "integer"
                    known = "integer" if known == "numeric" else known  # signed and unsigned ones together
                elif ours.kind is Kind.TIMESTAMPTZ:
                    mine = "timestamp"
                elif ours.kind is Kind.BYTES:
                    mine = "text"  # a character set tells them apart, which the driver keeps to itself
            case "duckdb":
                if self.type == '"NULL"':
                    return None
                known, mine = _DUCKDB.get(self.type, self.type), ours.kind.value
                if ours.kind is Kind.NUMERIC:
                    if ours.precision is None:
                        return None if self.type.startswith("DECIMAL") else self.type
                    mine = f"DECIMAL({ours.precision},{ours.scale or 0})"
            case _:
                return None
        return None if known == mine or known is None else f"{known}"


def ask(engine: Engine, sql: str, parameters: Sequence[Any] = ()) -> Typed:
    """The query's answer; a parameter is written ``?``."""
    connection: Any = engine.connection  # type: ignore[attr-defined]
    match engine.name:
        case "postgres":
            import psycopg

            text = sql.replace("%", "%%").replace("?", "%s") if parameters else sql
            try:
                cursor = connection.execute(text, parameters or None)
                return Typed("postgres", cursor.fetchall(), cursor.description[0].type_code)
            except psycopg.Error as error:
                return Typed("postgres", error=error.sqlstate or "any", message=str(error))
        case "mysql":
            import pymysql

            text = sql.replace("%", "%%").replace("?", "%s") if parameters else sql
            with connection.cursor() as cursor:
                try:
                    cursor.execute(text, list(parameters) or None)
                    return Typed("mysql", [tuple(row) for row in cursor.fetchall()], cursor.description[0][1])
                except pymysql.MySQLError as error:
                    return Typed("mysql", error=getattr(error, "sqlstate", None) or "any", message=str(error))
        case name:
            try:
                cursor = connection.execute(sql, list(parameters))
                rows = [tuple(row) for row in cursor.fetchall()]
                return Typed(name, rows, None if name == "sqlite" else str(cursor.description[0][1]))
            except engine.error as error:  # type: ignore[attr-defined]
                return Typed(name, error="any", message=str(error))

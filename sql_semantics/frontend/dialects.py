"""What differs between products in names and types (DESIGN §2, §3). Does not know expressions.

Sources: PostgreSQL manual 4.1.1 (identifier folding), 8.1 and 8.3 (types), MySQL manual 9.2.3 and 11.1 to 11.3.
"""

from __future__ import annotations

from sqlglot import exp

from sql_semantics.errors import Unsupported
from sql_semantics.frontend.syntax import only
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import BIGINT, BOOLEAN, DOUBLE, INT, SMALLINT, TEXT, Kind, SqlType

DIALECTS = frozenset({"postgres", "mysql", "sqlite", "duckdb"})


def check_dialect(dialect: Dialect) -> None:
    """Raises Unsupported for a product that no rule here is for."""
    if dialect.name not in DIALECTS:
        raise Unsupported(f"dialect {dialect.name}")


def integer_booleans(dialect: Dialect) -> bool:
    """Whether a comparison is a number (MySQL 14.4: 1, 0 or NULL; SQLite likewise)."""
    return dialect.name in ("mysql", "sqlite")


def _written(identifier: exp.Identifier) -> str:
    if not isinstance(identifier, exp.Identifier):
        raise Unsupported("a name that is no plain identifier")
    only(identifier, "this", "quoted")
    return str(identifier.this)


def fold_column(identifier: exp.Identifier, dialect: Dialect) -> str:
    """A column's or alias's name as it is compared."""
    name = _written(identifier)
    return name if dialect.name == "postgres" and identifier.args.get("quoted") else name.lower()


def fold_table(identifier: exp.Identifier, dialect: Dialect) -> str:
    """A table's name as it is compared; MySQL's stays as written."""
    name = _written(identifier)
    if dialect.name == "mysql" or (dialect.name == "postgres" and identifier.args.get("quoted")):
        return name
    return name.lower()


_TYPE = exp.DataType.Type
_PLAIN = {
    _TYPE.SMALLINT: SMALLINT,
    _TYPE.INT: INT,
    _TYPE.BIGINT: BIGINT,
    _TYPE.BOOLEAN: BOOLEAN,
    _TYPE.DOUBLE: DOUBLE,
    _TYPE.TEXT: TEXT,
}
_SQLITE_INTEGERS = frozenset({_TYPE.SMALLINT, _TYPE.INT, _TYPE.BIGINT, _TYPE.TINYINT, _TYPE.MEDIUMINT})


def _sizes(node: exp.DataType) -> list[int]:
    sizes: list[int] = []
    for item in node.expressions:
        only(item, "this")
        literal = item.this
        if not isinstance(literal, exp.Literal) or literal.is_string or not str(literal.this).isdigit():
            raise Unsupported(f"type {node.sql()}")
        sizes.append(int(str(literal.this)))
    return sizes


def _numeric(sizes: list[int], dialect: Dialect) -> SqlType:
    if not sizes:
        default = {"mysql": (10, 0), "duckdb": (18, 3)}.get(dialect.name)
        return SqlType(Kind.NUMERIC) if default is None else SqlType(Kind.NUMERIC, *default)
    return SqlType(Kind.NUMERIC, sizes[0], sizes[1] if len(sizes) > 1 else 0)


def _mysql_boolean(node: exp.DataType, sizes: list[int]) -> bool:
    return node.this is _TYPE.BOOLEAN or (node.this is _TYPE.TINYINT and sizes == [1])


def sql_type(node: exp.DataType, dialect: Dialect) -> SqlType:
    """The type a type name stands for. Raises Unsupported naming it."""
    only(node, "this", "expressions")
    kind, name = node.this, dialect.name
    refusal = Unsupported(f"type {node.sql(dialect=name).upper()}")
    if not isinstance(kind, exp.DataType.Type):
        raise refusal
    sizes = _sizes(node)
    if name == "sqlite":
        # A declared length or size constrains nothing there; NUMERIC may hold a float, so it is not modelled.
        if kind in _SQLITE_INTEGERS:
            return BIGINT
        if kind in (_TYPE.TEXT, _TYPE.VARCHAR, _TYPE.CHAR):
            return TEXT
        if kind is _TYPE.DOUBLE and not sizes:
            return DOUBLE
        raise refusal
    if name == "mysql" and _mysql_boolean(node, sizes):
        return SMALLINT
    if kind is _TYPE.DECIMAL:
        return _numeric(sizes, dialect)
    if kind in (_TYPE.VARCHAR, _TYPE.CHAR):
        if name == "duckdb":
            return TEXT
        length = sizes[0] if sizes else (1 if kind is _TYPE.CHAR else None)
        return SqlType(Kind.TEXT, length=length, padded=kind is _TYPE.CHAR)
    plain = _PLAIN.get(kind)
    if plain is None or (sizes and not (name == "mysql" and plain in (SMALLINT, INT, BIGINT))):
        raise refusal
    return plain


def cast_type(node: exp.DataType, dialect: Dialect) -> SqlType:
    """The type of a CAST: as `sql_type`, but MySQL's CHAR(n) there is a variable-length string (12.11)."""
    target = sql_type(node, dialect)
    if dialect.name == "mysql" and target.padded:
        return SqlType(Kind.TEXT, length=target.length if node.expressions else None)
    return target

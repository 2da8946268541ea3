"""What differs between products in names and types. Does not know expressions.

Sources: PostgreSQL manual 4.1.1 (identifier folding), 8.1 and 8.3 (types), MySQL manual 9.2.3 and 11.1 to 11.3.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from sql_semantics.errors import Unsupported
from sql_semantics.frontend.text.syntax import only
from sql_semantics.patterns import pattern
from sql_semantics.products import PRODUCTS
from sql_semantics.values.dialect import Dialect, NamedType
from sql_semantics.values.families.arrays import ArrayFamily
from sql_semantics.values.families.enums import EnumFamily
from sql_semantics.values.identifiers import folded, folded_table
from sql_semantics.values.types import (
    ANY,
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    HUGEINT,
    INT,
    INTERVAL,
    JSON,
    JSONB,
    MEDIUMINT,
    REAL,
    SMALLINT,
    SQLITE_ANY,
    SQLITE_DATE,
    SQLITE_NUMBER,
    SQLITE_NUMERIC,
    TEXT,
    TINYINT,
    UBIGINT,
    UNMODELLED_KINDS,
    UUID_TYPE,
    Kind,
    SqlType,
)


def check_dialect(dialect: Dialect) -> None:
    """Raises Unsupported for a product, or a mode of it, that no rule here is for."""
    if dialect.name not in PRODUCTS:
        raise Unsupported(f"dialect {dialect.name}")
    unknown = (dialect.sql_modes or frozenset()) - _MODES
    if unknown:
        raise Unsupported(f"sql_mode {min(unknown)}")


_MODES = frozenset(
    {
        *("STRICT_TRANS_TABLES", "STRICT_ALL_TABLES", "ERROR_FOR_DIVISION_BY_ZERO", "NO_AUTO_CREATE_USER"),
        *("NO_ENGINE_SUBSTITUTION", "NO_ZERO_DATE", "NO_ZERO_IN_DATE", "ONLY_FULL_GROUP_BY", "TRADITIONAL"),
    }
)


def integer_booleans(dialect: Dialect) -> bool:
    """Whether a comparison is a number (MySQL 14.4: 1, 0 or NULL; SQLite likewise)."""
    return dialect.rules.types.booleans_are_integers


def _written(identifier: exp.Identifier) -> str:
    if not isinstance(identifier, exp.Identifier):
        raise Unsupported("a name that is no plain identifier")
    only(identifier, "this", "quoted")
    return str(identifier.this)


def fold_column(identifier: exp.Identifier, dialect: Dialect) -> str:
    """A column's or alias's name as it is compared."""
    return folded(_written(identifier), dialect, quoted=bool(identifier.args.get("quoted")))


def fold_table(identifier: exp.Identifier, dialect: Dialect) -> str:
    """A table's name as it is compared."""
    return folded_table(_written(identifier), dialect, quoted=bool(identifier.args.get("quoted")))


_TYPE = exp.DataType.Type
_STANDARD: Mapping[object, SqlType] = {
    _TYPE.SMALLINT: SMALLINT, _TYPE.INT: INT, _TYPE.BIGINT: BIGINT, _TYPE.BOOLEAN: BOOLEAN, _TYPE.DOUBLE: DOUBLE,
    _TYPE.TEXT: TEXT, _TYPE.DATE: DATE,
}  # fmt: skip
_PLAIN: Mapping[str, Mapping[object, SqlType]] = {
    "postgres": {
        **_STANDARD, _TYPE.FLOAT: REAL, _TYPE.VARBINARY: BYTES, _TYPE.UUID: UUID_TYPE, _TYPE.JSON: JSON,
        _TYPE.INTERVAL: INTERVAL, _TYPE.JSONB: JSONB,
    },
    "mysql": {
        **_STANDARD, _TYPE.TINYINT: TINYINT, _TYPE.MEDIUMINT: MEDIUMINT, _TYPE.UTINYINT: SqlType(Kind.UTINYINT),
        _TYPE.USMALLINT: SqlType(Kind.USMALLINT), _TYPE.UMEDIUMINT: SqlType(Kind.UMEDIUMINT),
        _TYPE.UINT: SqlType(Kind.UINT), _TYPE.UBIGINT: UBIGINT, _TYPE.BLOB: BYTES, _TYPE.LONGBLOB: BYTES,
        _TYPE.FLOAT: REAL, _TYPE.MEDIUMBLOB: BYTES, _TYPE.LONGTEXT: TEXT, _TYPE.MEDIUMTEXT: TEXT,
    },
    "duckdb": {
        **_STANDARD, _TYPE.TINYINT: TINYINT, _TYPE.INT128: HUGEINT, _TYPE.UTINYINT: SqlType(Kind.UTINYINT),
        _TYPE.USMALLINT: SqlType(Kind.USMALLINT), _TYPE.UINT: SqlType(Kind.UINT), _TYPE.UBIGINT: UBIGINT,
        _TYPE.FLOAT: REAL, _TYPE.INTERVAL: INTERVAL, _TYPE.UUID: UUID_TYPE, _TYPE.VARBINARY: BYTES,
    },
}  # fmt: skip
_CLOCKS: Mapping[str, Mapping[object, Kind]] = {
    "postgres": {
        _TYPE.TIME: Kind.TIME, _TYPE.TIMESTAMP: Kind.TIMESTAMP, _TYPE.TIMESTAMPTZ: Kind.TIMESTAMPTZ,
    },
    "mysql": {_TYPE.TIME: Kind.TIME, _TYPE.DATETIME: Kind.TIMESTAMP, _TYPE.TIMESTAMPTZ: Kind.TIMESTAMPTZ},
    "duckdb": {
        _TYPE.TIME: Kind.TIME, _TYPE.TIMESTAMP: Kind.TIMESTAMP, _TYPE.TIMESTAMPNTZ: Kind.TIMESTAMP,
        _TYPE.DATETIME: Kind.TIMESTAMP,
    },
}  # fmt: skip
_SQLITE_DATES = frozenset({_TYPE.DATE, _TYPE.DATETIME, _TYPE.TIMESTAMP, _TYPE.TIMESTAMPTZ, _TYPE.TIMESTAMPNTZ})
_INTEGERS = frozenset(
    {
        *(_TYPE.SMALLINT, _TYPE.INT, _TYPE.BIGINT, _TYPE.TINYINT, _TYPE.MEDIUMINT),
        *(_TYPE.USMALLINT, _TYPE.UINT, _TYPE.UBIGINT, _TYPE.UTINYINT, _TYPE.UMEDIUMINT),
    }
)


def _sizes(node: exp.DataType) -> list[int]:
    sizes: list[int] = []
    for item in node.expressions:
        if not isinstance(item, exp.DataTypeParam):
            raise Unsupported(f"type {node.sql()}")
        only(item, "this")
        literal = item.this
        if not isinstance(literal, exp.Literal) or literal.is_string or not str(literal.this).isdigit():
            raise Unsupported(f"type {node.sql()}")
        sizes.append(int(str(literal.this)))
    return sizes


def _numeric(sizes: list[int], dialect: Dialect) -> SqlType:
    if not sizes:
        default = dialect.rules.text.default_decimal
        return SqlType(Kind.NUMERIC) if default is None else SqlType(Kind.NUMERIC, *default)
    scale = sizes[1] if len(sizes) > 1 else 0
    bounds = dialect.rules.text.decimal_bounds
    if bounds is not None and (sizes[0] > bounds[0] or scale > bounds[1] or scale > sizes[0] or not sizes[0]):
        raise Unsupported(f"type DECIMAL({sizes[0]},{scale}) in {dialect.name}")
    return SqlType(Kind.NUMERIC, sizes[0], scale)


def _is_boolean(node: exp.DataType, sizes: list[int]) -> bool:
    return node.this is _TYPE.BOOLEAN or (node.this is _TYPE.TINYINT and sizes == [1])


_LONGEST = 10_485_760
"""Characters that a type may be declared with (PostgreSQL 8.3)."""


def _text(length: int | None, padded: bool) -> SqlType:
    if length is not None and not 1 <= length <= _LONGEST:
        raise Unsupported(f"a text type of length {length}")
    return SqlType(Kind.TEXT, length=length, padded=padded)


def check_field(type_: SqlType) -> None:
    """Raises Unsupported for a type of which rows have no field here."""
    if type_.kind in UNMODELLED_KINDS or type_.padded:
        raise Unsupported(type_.name or f"rows with a field of type {type_}")


def array_of(item: SqlType) -> SqlType:
    """The array of a type. Raises Unsupported for items whose arrays are not modelled."""
    if item.kind not in _ITEMS or item.padded:
        raise Unsupported(f"arrays of {item}")
    return SqlType(Kind.ARRAY, family=ArrayFamily(item))


_ITEMS = frozenset(
    {
        *(Kind.SMALLINT, Kind.INT, Kind.BIGINT, Kind.NUMERIC, Kind.TEXT, Kind.BOOLEAN, Kind.DATE, Kind.TIMESTAMP),
        *(Kind.TIMESTAMPTZ, Kind.UUID, Kind.ENUM, Kind.JSONB, Kind.COMPOSITE),
    }
)


def named_of(node: exp.Expr, dialect: Dialect) -> NamedType | None:
    """The type of the schema's that a type name stands for; None for a name of the product's own, or of nothing."""
    if not isinstance(node, exp.DataType) or node.this is not _TYPE.USERDEFINED:
        return None
    if not dialect.rules.text.has_schema_types:
        return None
    given = node.args.get("kind")
    if isinstance(given, exp.Dot) and given.this.name.lower() == "public":
        given = given.expression
    return dialect.named_type(fold_column(given, dialect)) if isinstance(given, exp.Identifier) else None


def _of_schema(node: exp.DataType, dialect: Dialect) -> SqlType | None:
    """A type of the schema's own, or an array; None for another."""
    named = named_of(node, dialect)
    if named is not None:
        only(node, "this", "kind")
        if named.refuses:
            raise Unsupported(f"the domain {named.name}")
        return named.type
    if node.this is _TYPE.USERDEFINED:
        raise Unsupported(f"type {node.sql(dialect=dialect.name)}")
    if node.this is not _TYPE.ARRAY or len(node.expressions) != 1 or not isinstance(node.expressions[0], exp.DataType):
        return None
    only(node, "this", "expressions", "nested")
    inner = named_of(node.expressions[0], dialect)
    if inner is not None and inner.domain:
        raise Unsupported(f"arrays of the domain {inner.name}")
    return array_of(sql_type(node.expressions[0], dialect))


def sql_type(node: exp.DataType, dialect: Dialect) -> SqlType:
    """The type a type name stands for; of a domain that of its values. Raises Unsupported naming it."""
    rules = dialect.rules.text
    own = _of_schema(node, dialect) if rules.has_schema_types else None
    if own is not None:
        return own
    only(node, "this", "expressions")
    kind, name = node.this, dialect.name
    if not isinstance(kind, exp.DataType.Type):
        raise _unknown(node, dialect)
    if kind is _TYPE.ENUM and dialect.rules.types.enums_are_texts:
        return _enum(node)
    sizes = _sizes(node)
    if rules.declares_affinities:
        return _by_affinity(node, kind, sizes, dialect)
    if rules.boolean_is_tinyint and _is_boolean(node, sizes):
        return SMALLINT
    if kind is _TYPE.DECIMAL:
        return _numeric(sizes, dialect)
    if rules.has_bpchar and kind is _TYPE.BPCHAR:
        return _text(sizes[0] if sizes else None, True)
    if kind in (_TYPE.VARCHAR, _TYPE.CHAR):
        if not rules.texts_have_lengths:
            return TEXT
        length = sizes[0] if sizes else (1 if kind is _TYPE.CHAR else None)
        return _text(length, kind is _TYPE.CHAR)
    clock = _CLOCKS[name].get(kind)
    if clock is not None:
        few = rules.clock_digits == "none"
        digits = sizes[0] if sizes else (0 if few else None)
        if len(sizes) > 1 or (digits or 0) > 6 or (sizes and rules.clock_digits == "always six"):
            raise _unknown(node, dialect)
        return SqlType(clock, None if digits == 6 and not few else digits)
    if rules.float_takes_bits and kind is _TYPE.FLOAT and len(sizes) == 1:
        return REAL if sizes[0] <= 24 else DOUBLE
    plain = _PLAIN[name].get(kind)
    if plain is None or (sizes and not (rules.integers_take_widths and kind in _INTEGERS)):
        raise _unknown(node, dialect)
    return plain


def _by_affinity(node: exp.DataType, kind: object, sizes: list[int], dialect: Dialect) -> SqlType:
    """A type of SQLite's. A declared length or size constrains nothing there."""
    if kind in _INTEGERS:
        return BIGINT
    if kind in (_TYPE.TEXT, _TYPE.VARCHAR, _TYPE.CHAR):
        return TEXT
    if kind in (_TYPE.DOUBLE, _TYPE.FLOAT):
        return DOUBLE
    if kind in (_TYPE.VARBINARY, _TYPE.BLOB) and not sizes:
        return BYTES
    if kind is _TYPE.BOOLEAN:
        return BIGINT  # NUMERIC affinity, which keeps integers as they are
    if kind in _SQLITE_DATES and not sizes:
        return SQLITE_DATE
    found = _SQLITE_TYPES.get(kind)
    if found is None:
        raise _unknown(node, dialect)
    return found


_SQLITE_TYPES: Mapping[object, SqlType] = {
    _TYPE.DECIMAL: SQLITE_NUMERIC,
    _TYPE.BIGDECIMAL: SQLITE_ANY,
    _TYPE.VARIANT: ANY,
}


def _enum(node: exp.DataType) -> SqlType:
    """MySQL's ENUM, with labels of plain letters that differ in more than case."""
    labels = [str(item.this) if isinstance(item, exp.Literal) and item.is_string else "" for item in node.expressions]
    plain = all(_LABEL.match(label) for label in labels)
    if not plain or not labels or len({label.lower() for label in labels}) < len(labels):
        raise Unsupported("an ENUM with such labels")
    name = f"enum({','.join(labels)})"
    return SqlType(Kind.ENUM, family=EnumFamily(name, tuple(labels)))


_LABEL = pattern(r"[!-&(-\[\]-~]+( [!-&(-\[\]-~]+)*\Z")
"""Printable ASCII without quotes and backslashes, and no blanks at its ends."""


def _unknown(node: exp.DataType, dialect: Dialect) -> Unsupported:
    return Unsupported(f"type {node.sql(dialect=dialect.name).upper()}")


def cast_type(node: exp.DataType, dialect: Dialect) -> SqlType:
    """The type of a CAST: as `sql_type`, but MySQL's CHAR(n) there is a variable-length string (12.11)."""
    target = sql_type(node, dialect)
    if target == SQLITE_NUMERIC:
        return SQLITE_NUMBER
    if target == SQLITE_DATE or target.kind is Kind.ANY:
        raise Unsupported(f"CAST to {node.sql(dialect=dialect.name).upper()} in {dialect.name}")
    if dialect.rules.text.char_casts_vary and target.padded:
        return SqlType(Kind.TEXT, length=target.length if node.expressions else None)
    return target

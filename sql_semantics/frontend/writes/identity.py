"""Columns that number their rows: SERIAL, IDENTITY, AUTO_INCREMENT, SQLite's rowid; CREATE SEQUENCE.

Sources: PostgreSQL manual 5.3, 8.1.4 and CREATE SEQUENCE; MySQL manual 3.6.9; sqlite.org/autoinc.html. Where a sequence
starts and how far it steps is not modelled, so any distinct values will do. Does not know which value a row gets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import Token, TokenType, exp

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.frontend.text.affinities import options_of
from sql_semantics.frontend.text.syntax import Node, only, tokens_of
from sql_semantics.ir.expressions import Binary, Case, Cast, Const, Expr, Free, Function
from sql_semantics.ir.schema import TableColumn
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.identifiers import folded
from sql_semantics.values.types import BIGINT, BOOLEAN, INT, INTEGER_KINDS, SMALLINT, SqlType

_SERIAL = {
    exp.DataType.Type.SMALLSERIAL: SMALLINT,
    exp.DataType.Type.SERIAL: INT,
    exp.DataType.Type.BIGSERIAL: BIGINT,
}
_STARTS = ("start", "increment", "minvalue", "maxvalue", "cache", "owned")


def serial_type(kind: Node, dialect: Dialect) -> SqlType | None:
    """The integer type of PostgreSQL's SERIAL and its kin; None for another type."""
    if not dialect.rules.definitions.serial_types or not isinstance(kind, exp.DataType):
        return None
    return _SERIAL.get(kind.this)


def numbered(column: TableColumn, table: str, source: str, identity: str) -> TableColumn:
    """The column with the default that numbers its rows."""
    if column.type.kind not in INTEGER_KINDS:
        raise Unsupported(f"a numbered column of type {column.type}")
    name = f"{table}_{column.name}_seq" if source == "nextval" else table
    return replace(column, default=Free(source, name, column.type), identity=identity, not_null=True)


def chosen_default(value: Expr) -> Expr:
    """A default whose conversion changes nothing of the value that is chosen."""
    match value:
        case Cast(Free("nextval", name), type_, True) if type_.kind in INTEGER_KINDS:
            return Free("nextval", name, type_)
    return value


def identity_column(column: TableColumn, detail: Node, table: str, dialect: Dialect) -> TableColumn:
    """The column with its GENERATED ... AS IDENTITY or AUTO_INCREMENT."""
    if isinstance(detail, exp.AutoIncrementColumnConstraint):
        only(detail)
        if dialect.rules.definitions.auto_increment != "numbers rows":
            raise Unsupported("AUTO_INCREMENT")
        return numbered(column, table, "auto", "zero")
    only(detail, "this", "on_null", *_STARTS)
    if not dialect.rules.definitions.identity_columns or detail.args.get("on_null"):
        raise Unsupported("GENERATED AS IDENTITY")
    return numbered(column, table, "nextval", "always" if detail.args.get("this") else "")


def check_sequence(tree: Node, dialect: Dialect) -> None:
    """CREATE SEQUENCE, whose values are only known to be distinct. Raises Unsupported for one that repeats itself."""
    only(tree, "this", "kind", "exists", "properties")
    if not dialect.rules.definitions.sequences:
        raise Unsupported("CREATE SEQUENCE")
    properties = tree.args.get("properties")
    for item in [] if properties is None else properties.expressions:
        if not isinstance(item, exp.SequenceProperties):
            raise Unsupported("CREATE SEQUENCE with options")
        only(item, "options", *_STARTS)
        for option in item.args.get("options") or ():
            if str(option.this).upper() not in ("NO CYCLE", "NO MINVALUE", "NO MAXVALUE"):
                raise Unsupported(f"CREATE SEQUENCE with {str(option.this).upper()}")


def without_rowid(text: str, dialect: Dialect) -> bool:
    """Whether a table of SQLite is kept by its primary key, which is never NULL then and numbers nothing
    (sqlite.org/withoutrowid.html)."""
    return dialect.rules.definitions.rowid_keys and "WITHOUT ROWID" in options_of(tokens_of(text, dialect.name))


def rowid_column(text: str, columns: Sequence[TableColumn], key: Sequence[int], dialect: Dialect) -> int | None:
    """The column of SQLite that stands for the rowid: the only one of the primary key, declared INTEGER to the letter.

    The parser does not tell INT from INTEGER, so the text is asked.
    """
    if not dialect.rules.definitions.rowid_keys or len(key) != 1:
        return None
    tokens = tokens_of(text, dialect.name)
    if without_rowid(text, dialect):
        return None
    name = columns[key[0]].name
    depth = 0
    for place, token in enumerate(tokens):
        depth += (token.text == "(") - (token.text == ")")
        starts = depth == 1 and tokens[place - 1].text in ("(", ",")
        if starts and folded(token.text, dialect, quoted=token.token_type is TokenType.IDENTIFIER) == name:
            return key[0] if _is_integer(tokens[place + 1 :]) else None
    return None


def _is_integer(tokens: Sequence[Token]) -> bool:
    words = [token.text.upper() for token in tokens[:5]]
    if words[:1] != ["INTEGER"] or words[1:2] == ["("]:
        return False
    if words[1:4] == ["PRIMARY", "KEY", "DESC"] or words[1:3] == ["PRIMARY KEY", "DESC"]:
        raise Unsupported("INTEGER PRIMARY KEY DESC")
    return True


def given_value(column: TableColumn, value: Expr, dialect: Dialect) -> Expr:
    """What a column stores when a statement gives `value` for it (already of the column's type).

    Raises SqlError where the product takes none.
    """
    if column.identity == "always":
        raise SqlError("428C9", f"cannot insert a non-DEFAULT value into column {column.name!r}")
    default = column.default
    if column.identity not in ("null", "zero") or default is None:
        return value
    if isinstance(value, Const) and (value.value is None or (value.value == 0 and column.identity == "zero")):
        return default
    if isinstance(value, Const):
        return value
    if column.identity == "zero":
        zero = Binary("=", value, Const(0, column.type), BOOLEAN)
        value = Case(((zero, Const(None, column.type)),), value, column.type)
    return Function("coalesce", (value, default), column.type)

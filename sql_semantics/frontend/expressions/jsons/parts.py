"""Arguments of MariaDB's functions that write JSON (its manual, JSON Functions), as the parts that they become.

A text becomes a string, but for one that MariaDB knows for JSON: what such a function gives, and a column that a CHECK
calls valid JSON. A number stands as it is shown, a truth value as a word. Whether an expression of several is JSON or a
truth value is not modelled. Does not know what is made of the parts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.frontend.text.dialects import fold_column, fold_table
from sql_semantics.frontend.text.syntax import Node
from sql_semantics.frontend.types.coerce import null, settle_alone
from sql_semantics.frontend.types.overloads import call_function
from sql_semantics.ir.expressions import Binary, Case, Cast, Column, Const, Expr, Function, Param
from sql_semantics.ir.schema import Catalog, Table
from sql_semantics.ir.walks.traverse import walk
from sql_semantics.values.types import (
    BOOLEAN,
    NUMBER_KINDS,
    TEMPORAL_KINDS,
    TEXT,
    ZEROFILL,
    Kind,
)

if TYPE_CHECKING:
    from sql_semantics.frontend.expressions.expressions import Binder

_FIRST_PARTS = {"json_object": 1, "json_array": 0}
_EDITS = frozenset({"json_set", "json_insert", "json_replace", "json_array_append"})
_MAKERS = frozenset({*_FIRST_PARTS, *_EDITS, "json_remove", "json_merge", "json_merge_preserve", "json_extract"})
"""Functions of which the result is written as JSON is within another."""
_TRUTHS = (
    exp.EQ,
    exp.NEQ,
    exp.LT,
    exp.LTE,
    exp.GT,
    exp.GTE,
    exp.Boolean,
    exp.Not,
    exp.And,
    exp.Or,
    exp.Is,
    exp.Between,
)
_TEXTS = frozenset({"concat", "concat_ws", "lower", "upper", "lcase", "ucase", "substr", "substring", "left", "right"})
"""Functions of which the result is never JSON."""


def bind_json_writer(binder: Binder, name: str, nodes: Sequence[Node]) -> Expr | None:
    """A call of a function of MariaDB's that writes JSON; None for another function. Raises SqlError for a number of
    arguments that it does not take."""
    if binder.context.dialect.product != "mariadb" or name not in {*_FIRST_PARTS, *_EDITS}:
        return None
    if name in _EDITS:
        if len(nodes) < 3 or not len(nodes) % 2:
            raise SqlError("42000", f"incorrect parameter count in the call to {name}")
        given = [binder.value(nodes[0])]
        for path, value in zip(nodes[1::2], nodes[2::2], strict=True):
            given += [binder.value(path), json_part(binder, value)]
    elif name == "json_object":
        if len(nodes) % 2:
            raise SqlError("42000", f"incorrect parameter count in the call to {name}")
        given = []
        for key, value in zip(nodes[::2], nodes[1::2], strict=True):
            given += [_key(binder, key), json_part(binder, value)]
    else:
        given = [json_part(binder, node) for node in nodes]
        if nodes and all(isinstance(node.unnest(), exp.Null) for node in nodes):
            raise Unsupported("json_array() of nothing but NULL")  # which are bytes to the client
    return call_function(name, given, binder.context)


def _key(binder: Binder, node: Node) -> Expr:
    key = settle_alone(binder.value(node), binder.context)
    if key.type.kind is not Kind.TEXT:
        raise Unsupported(f"json_object() with a key of type {key.type}")
    return key


def json_part(binder: Binder, node: Node) -> Expr:
    """The text of a part; NULL becomes null."""
    node = node.unnest()
    if isinstance(node, exp.Boolean):
        return Const("true" if node.this else "false", TEXT)
    given = binder.expr(node)
    if given == null():
        return Const("null", TEXT)
    if given.type.kind is Kind.BOOLEAN:
        return _truth(given, node)
    value = settle_alone(given, binder.context)
    kind = value.type.kind
    if kind is Kind.JSON:
        if not isinstance(value, Function) or value.name not in _MAKERS:
            raise Unsupported("JSON within JSON, of such an expression")
        return value
    if kind in NUMBER_KINDS and value.type.name != ZEROFILL and kind is not Kind.REAL:
        _check_number(node)
        _check_sources(binder, node, value)
        return Cast(value, TEXT)
    if kind is Kind.TEXT:
        if isinstance(value, Column) and _is_json(binder, node, value):
            return value
        if not isinstance(value, Column | Const | Param) and getattr(value, "name", "") not in _TEXTS:
            raise Unsupported("JSON of such a text")
        return Function("json quoted", (value,), TEXT)
    if kind in TEMPORAL_KINDS:
        _check_sources(binder, node, value)
        return Function("json quoted", (Cast(value, TEXT),), TEXT)
    raise Unsupported(f"JSON of {value.type}")


def _truth(given: Expr, node: Node) -> Expr:
    if not isinstance(node, _TRUTHS):
        raise Unsupported("JSON of such a truth value")
    words = ((True, "true"), (False, "false"))
    cases = tuple((Binary("=", given, Const(truth, BOOLEAN), BOOLEAN), Const(word, TEXT)) for truth, word in words)
    return Case(cases, Const("null", TEXT), TEXT)


_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Neg)


def _check_number(node: Node) -> None:
    """Raise Unsupported for a number that may be a truth value to MariaDB, as that of IF(a = 1, TRUE, FALSE) is."""
    numbers = (exp.Column, exp.Literal, exp.Placeholder, exp.Parameter, exp.Count, exp.Sum, exp.Avg, *_ARITHMETIC)
    if not isinstance(node, numbers):
        raise Unsupported("JSON of such a number")


def _is_json(binder: Binder, node: Node, value: Expr) -> bool:
    """Whether a column is JSON to MariaDB."""
    _check_sources(binder, node, value)
    if not isinstance(node, exp.Column):
        raise Unsupported("JSON of such a text")
    name = fold_column(node.this, binder.context.dialect)
    known = {name in _json_columns(table) for table in _named(binder, node) if _has(table, name)}
    if len(known) != 1:
        raise Unsupported("JSON of a column that may be JSON or a text")
    return known.pop()


def _check_sources(binder: Binder, node: Node, value: Expr) -> None:
    """Raise Unsupported for an expression over columns of which it is not known that they are those of a table."""
    if not any(isinstance(part, Column) for part in walk(value)):
        return
    root = node.root()
    if not isinstance(root, (exp.Select, exp.Insert, exp.Update, exp.Delete)):
        raise Unsupported("JSON of a column of such a statement")
    derived = any(isinstance(one.parent, (exp.From, exp.Join)) for one in root.find_all(exp.Subquery))
    if derived or root.find(exp.With) is not None or any(table.query for table in _named(binder, node)):
        raise Unsupported("JSON of a column that may be of a query")


def _named(binder: Binder, node: Node) -> Iterator[Table]:
    """The tables that the statement names."""
    tables: Catalog = binder.context.catalog
    for one in node.root().find_all(exp.Table):
        if isinstance(one.this, exp.Identifier):
            found = tables.tables.get(fold_table(one.this, binder.context.dialect))
            if found is not None:
                yield found


def _has(table: Table, name: str) -> bool:
    return any(column.name == name for column in table.columns)


def _json_columns(table: Table) -> set[str]:
    """Columns of which a CHECK says that they are valid JSON. Raises Unsupported where one says more than that."""
    if table.loose:
        raise Unsupported("JSON beside a CHECK that is not modelled")
    found = set()
    for check in table.checks:
        parts = list(walk(check.condition))
        if not any(isinstance(part, Function) and part.name == "json_valid" for part in parts):
            continue
        columns = {part.index for part in parts if isinstance(part, Column)}
        if len(columns) != 1 or any(isinstance(part, Binary) and part.op in ("and", "or") for part in parts):
            raise Unsupported("JSON beside a CHECK of valid JSON and more")
        found |= {table.columns[index].name for index in columns}
    return found

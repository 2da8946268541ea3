"""REFERENCES and FOREIGN KEY in a table's definition (PostgreSQL 5.5.5, MySQL 15.1.20.5, SQLite foreignkeys,
DuckDB constraints).

Does not know when and how they are checked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from sql_semantics.errors import SchemaError, Unsupported
from sql_semantics.frontend.names.tables import table_name
from sql_semantics.frontend.text.dialects import fold_column
from sql_semantics.frontend.text.syntax import Node, only
from sql_semantics.ir.schema import ForeignKey, Table, Unique
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.text import equal_by_code_points, text_rule
from sql_semantics.values.types import NUMBER_KINDS, Kind, SqlType

_ACTIONS = {"NO ACTION": "no action", "RESTRICT": "restrict", "CASCADE": "cascade", "SET NULL": "set null"}


def bind_reference(
    node: Node, name: str, columns: Sequence[int], table: Table, tables: Mapping[str, Table], dialect: Dialect
) -> ForeignKey | None:
    """The foreign key over `columns` of `table`, whose keys are known already; None where it is not enforced.

    Raises SchemaError where the parent has no such key.
    """
    if dialect.name == "sqlite":
        if dialect.foreign_keys is None:
            raise Unsupported("FOREIGN KEY in sqlite without the setting foreign_keys")
        if not dialect.foreign_keys:
            return None
    only(node, "this", "options")
    target, named = node.this, []
    if isinstance(target, exp.Schema):
        only(target, "this", "expressions")
        target, named = target.this, list(target.expressions)
    parent_name = table_name(target, dialect)
    parent = table if parent_name == table.name else tables.get(parent_name)
    if parent is None:
        if dialect.name == "postgres":
            raise SchemaError(f"no table {parent_name!r} for a foreign key of {table.name!r}")
        raise Unsupported("FOREIGN KEY to a table that is not defined")
    if parent.refused:
        raise Unsupported(f"FOREIGN KEY to {parent_name}, whose definition is not modelled ({parent.refused})")
    if parent is table and dialect.name == "duckdb":
        raise Unsupported("FOREIGN KEY of a table to itself in duckdb")  # a row finds no parent of its own statement
    parent_columns = _parent_columns(named, parent, dialect)
    if len(parent_columns) != len(columns):
        raise SchemaError(f"a foreign key of {table.name!r} with another number of columns than it refers to")
    for place, other in zip(columns, parent_columns, strict=True):
        _check_types(table.columns[place].type, parent.columns[other].type, dialect)
    on_delete, on_update, deferred = _options(node, len(columns), dialect)
    return ForeignKey(name, tuple(columns), parent.name, parent_columns, on_delete, on_update, deferred)


def parent_of(node: Node, dialect: Dialect) -> str:
    """The name of the table that a REFERENCES names. Raises Unsupported."""
    target = node.this
    return table_name(target.this if isinstance(target, exp.Schema) else target, dialect)


def _parent_columns(named: Sequence[Node], parent: Table, dialect: Dialect) -> tuple[int, ...]:
    if not named:
        primary = next((key for key in parent.keys if key.primary), None)
        if primary is None or dialect.name == "mysql":
            raise SchemaError(f"table {parent.name!r} has no primary key to refer to")
        return primary.columns
    places = []
    for item in named:
        if not isinstance(item, exp.Identifier):
            raise Unsupported("FOREIGN KEY to something else than columns")
        try:
            places.append(parent.position(fold_column(item, dialect)))
        except KeyError:
            raise SchemaError(f"no column {item.name!r} of {parent.name!r} to refer to") from None
    if not any(_is_key(key, places) for key in parent.keys):
        if dialect.name == "mysql":
            raise Unsupported("FOREIGN KEY to columns that are no key")
        raise SchemaError(f"there is no unique constraint over the columns of {parent.name!r} that are referred to")
    return tuple(places)


def _is_key(key: Unique, places: Sequence[int]) -> bool:
    return key.plain and sorted(key.columns) == sorted(places)


def _check_types(mine: SqlType, theirs: SqlType, dialect: Dialect) -> None:
    numbers = mine.kind in NUMBER_KINDS and theirs.kind in NUMBER_KINDS and dialect.name != "duckdb"
    if not numbers and (mine.kind is not theirs.kind or mine.padded is not theirs.padded):
        raise Unsupported(f"FOREIGN KEY from {mine} to {theirs}")
    if mine.kind is Kind.TEXT and (mine.padded or not equal_by_code_points(text_rule(dialect))):
        raise Unsupported("FOREIGN KEY of padded text, or text under a collation that is not by code points")


def _options(node: Node, width: int, dialect: Dialect) -> tuple[str, str, bool]:
    """(on delete, on update, deferred). DuckDB checks each row at once, whatever it is told."""
    if dialect.name == "duckdb":
        if node.args.get("options"):
            raise Unsupported(f"FOREIGN KEY with {str(node.args['options'][0]).upper()}")
        return "restrict", "restrict", False
    on_delete = on_update = "no action"
    deferred = False
    for item in node.args.get("options") or ():
        words = str(item).upper()
        head, _, action = words.rpartition("ON DELETE ") if "ON DELETE" in words else words.rpartition("ON UPDATE ")
        if action == "SET DEFAULT" and dialect.name != "mysql" and not head:
            known: str | None = "set default"
        else:
            known = _ACTIONS.get(action) if not head else None
        if words.startswith("ON DELETE ") and known:
            on_delete = known
        elif words.startswith("ON UPDATE ") and known:
            on_update = known
        elif (
            words == "MATCH SIMPLE"
            or (words == "MATCH FULL" and width == 1)
            or (words in ("DEFERRABLE", "INITIALLY IMMEDIATE") and dialect.name != "mysql")
        ):
            continue
        elif words == "INITIALLY DEFERRED" and dialect.name != "mysql":
            deferred = True
        else:
            raise Unsupported(f"FOREIGN KEY with {words}")
    return on_delete, on_update, deferred

"""REFERENCES and FOREIGN KEY in a table's definition (PostgreSQL 5.5.5, MySQL 15.1.20.5, SQLite foreignkeys,
DuckDB constraints).

SQLite keeps what is spelled, and looks for the parent and its key when a statement needs them; the other products bind
a reference once. Does not know when and how they are checked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from sql_semantics.errors import SchemaError, Unsupported
from sql_semantics.frontend.names.tables import table_name
from sql_semantics.frontend.text.dialects import fold_column
from sql_semantics.frontend.text.syntax import Node, only
from sql_semantics.ir.schema import ForeignKey, SpelledKey, Table, Unique
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.text import equal_by_code_points, text_rule
from sql_semantics.values.types import NUMBER_KINDS, Kind, SqlType

_ACTIONS = {"NO ACTION": "no action", "RESTRICT": "restrict", "CASCADE": "cascade", "SET NULL": "set null"}


def bind_reference(
    node: Node, name: str, columns: Sequence[int], table: Table, tables: Mapping[str, Table], dialect: Dialect
) -> ForeignKey:
    """The foreign key over `columns` of `table`, whose keys are known already (not in SQLite).

    Raises SchemaError where the parent has no such key, Unsupported.
    """
    only(node, "this", "options")
    parent_name, named = _target(node, dialect)
    parent = table if parent_name == table.name else tables.get(parent_name)
    if parent is None:
        if dialect.rules.definitions.references_need_parents:
            raise SchemaError(f"no table {parent_name!r} for a foreign key of {table.name!r}")
        raise Unsupported("FOREIGN KEY to a table that is not defined")
    if parent.refused:
        raise Unsupported(f"FOREIGN KEY to {parent_name}, whose definition is not modelled ({parent.refused})")
    if parent is table and not dialect.rules.definitions.references_to_itself:
        raise Unsupported(f"FOREIGN KEY of a table to itself in {dialect.name}")
    parent_columns = _parent_columns(_names(named, dialect), parent, dialect)
    _check_pairs(table, columns, parent, parent_columns, dialect)
    on_delete, on_update, deferred = _options(node, len(columns), dialect)
    return ForeignKey(name, tuple(columns), parent.name, parent_columns, on_delete, on_update, deferred)


def spell_reference(node: Node, name: str, columns: Sequence[str], dialect: Dialect) -> SpelledKey | None:
    """A foreign key of SQLite's as it stands in a definition; None where none is ever kept. Raises Unsupported."""
    if dialect.foreign_keys is None:
        raise Unsupported("FOREIGN KEY in sqlite without the setting foreign_keys")
    if not dialect.foreign_keys:
        return None
    only(node, "this", "options")
    parent, named = _target(node, dialect)
    on_delete, on_update, deferred = _options(node, len(columns), dialect)
    return SpelledKey(name, tuple(columns), parent, _names(named, dialect), on_delete, on_update, deferred)


def look_up_references(tables: dict[str, Table], dialect: Dialect) -> None:
    """What the spelled foreign keys of all tables refer to, among the tables as they are."""
    for name, table in list(tables.items()):
        if not table.spelled:
            continue
        found: list[ForeignKey] = []
        dangling: list[tuple[str, str]] = []
        unread: list[tuple[str, str]] = []
        for key in table.spelled:
            parent = tables.get(key.parent)
            if parent is not None and parent.refused:
                unread.append((key.parent, f"{parent.refused}, in the definition of {key.parent}"))
                continue
            try:
                found.append(_looked_up(key, table, tables, dialect))
            except SchemaError as error:
                dangling.append((key.parent, f"FOREIGN KEY that finds no key ({error})"))
            except Unsupported as error:
                dangling.append((key.parent, error.construct))
        tables[name] = replace(table, foreign_keys=tuple(found), dangling=tuple(dangling), unread=tuple(unread))


def _looked_up(key: SpelledKey, table: Table, tables: Mapping[str, Table], dialect: Dialect) -> ForeignKey:
    parent = tables.get(key.parent)
    if parent is None:
        raise Unsupported(f"FOREIGN KEY to {key.parent}, which is not defined")
    if parent.query is not None:
        raise SchemaError(f"{parent.name!r} is a view")
    columns = [table.position(column) for column in key.columns]
    parent_columns = _parent_columns(key.parent_columns, parent, dialect)
    _check_pairs(table, columns, parent, parent_columns, dialect)
    return ForeignKey(key.name, tuple(columns), parent.name, parent_columns, key.on_delete, key.on_update, key.deferred)


def _target(node: Node, dialect: Dialect) -> tuple[str, list[Node]]:
    """The name of the parent, and the columns that are named."""
    target = node.this
    if not isinstance(target, exp.Schema):
        return table_name(target, dialect), []
    only(target, "this", "expressions")
    return table_name(target.this, dialect), list(target.expressions)


def _names(named: Sequence[Node], dialect: Dialect) -> tuple[str, ...]:
    found = [fold_column(item, dialect) for item in named if isinstance(item, exp.Identifier)]
    if len(found) < len(named):
        raise Unsupported("FOREIGN KEY to something else than columns")
    return tuple(found)


def _check_pairs(
    table: Table, columns: Sequence[int], parent: Table, parent_columns: Sequence[int], dialect: Dialect
) -> None:
    if len(parent_columns) != len(columns):
        raise SchemaError(f"a foreign key of {table.name!r} with another number of columns than it refers to")
    for place, other in zip(columns, parent_columns, strict=True):
        _check_types(table.columns[place].type, parent.columns[other].type, dialect)


def parent_of(node: Node, dialect: Dialect) -> str:
    """The name of the table that a REFERENCES names. Raises Unsupported."""
    return _target(node, dialect)[0]


def _parent_columns(named: Sequence[str], parent: Table, dialect: Dialect) -> tuple[int, ...]:
    if not named:
        primary = next((key for key in parent.keys if key.primary), None)
        if primary is None or not dialect.rules.definitions.references_primary_keys:
            raise SchemaError(f"table {parent.name!r} has no primary key to refer to")
        return primary.columns
    places = []
    for name in named:
        try:
            places.append(parent.position(name))
        except KeyError:
            raise SchemaError(f"no column {name!r} of {parent.name!r} to refer to") from None
    if not any(_is_key(key, places) for key in parent.keys):
        if not dialect.rules.definitions.references_need_keys:
            raise Unsupported("FOREIGN KEY to columns that are no key")
        raise SchemaError(f"there is no unique constraint over the columns of {parent.name!r} that are referred to")
    return tuple(places)


def _is_key(key: Unique, places: Sequence[int]) -> bool:
    return key.plain and sorted(key.columns) == sorted(places)


def _check_types(mine: SqlType, theirs: SqlType, dialect: Dialect) -> None:
    across = dialect.rules.definitions.references_across_numbers
    numbers = across and mine.kind in NUMBER_KINDS and theirs.kind in NUMBER_KINDS
    if not numbers and (mine.kind is not theirs.kind or mine.padded is not theirs.padded):
        raise Unsupported(f"FOREIGN KEY from {mine} to {theirs}")
    if mine.kind is Kind.TEXT and (
        mine.padded or mine.collation or theirs.collation or not equal_by_code_points(text_rule(dialect))
    ):
        raise Unsupported("FOREIGN KEY of padded text, or text under a collation that is not by code points")


def _options(node: Node, width: int, dialect: Dialect) -> tuple[str, str, bool]:
    """(on delete, on update, deferred). DuckDB checks each row at once, whatever it is told."""
    rules = dialect.rules.definitions
    if not rules.reference_options:
        if node.args.get("options"):
            raise Unsupported(f"FOREIGN KEY with {str(node.args['options'][0]).upper()}")
        return "restrict", "restrict", False
    on_delete = on_update = "no action"
    deferred = False
    for item in node.args.get("options") or ():
        words = str(item).upper()
        head, _, action = words.rpartition("ON DELETE ") if "ON DELETE" in words else words.rpartition("ON UPDATE ")
        if action == "SET DEFAULT" and rules.references_set_default and not head:
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
            or (words in ("DEFERRABLE", "INITIALLY IMMEDIATE") and rules.deferrable_references)
        ):
            continue
        elif words == "INITIALLY DEFERRED" and rules.deferrable_references:
            deferred = True
        else:
            raise Unsupported(f"FOREIGN KEY with {words}")
    return on_delete, on_update, deferred

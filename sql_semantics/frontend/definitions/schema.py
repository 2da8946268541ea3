"""CREATE TABLE, INDEX and VIEW into tables (paper §3.1). Does not know statements that read or write them.

A definition that names what does not exist is bad input (SchemaError); a definition that says more than is modelled
is Unsupported, so that no constraint is ever dropped.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from sql_semantics.errors import SchemaError, SqlError, UnknownTable, Unreadable, Unsupported
from sql_semantics.frontend.definitions.alteration import alter_table, drop, has_no_effect, spelled_out
from sql_semantics.frontend.definitions.definition import WaitingReference, create_table
from sql_semantics.frontend.definitions.forgetting import NOTHING_FORGOTTEN, Forgotten
from sql_semantics.frontend.definitions.indexes import indexed_table
from sql_semantics.frontend.definitions.named import defines_type, with_types
from sql_semantics.frontend.definitions.partitions import (
    Partitioned,
    Scheme,
    create_partition,
    is_partition,
    refresh,
    refuse_own,
    settle,
    take_key,
)
from sql_semantics.frontend.definitions.views import view
from sql_semantics.frontend.names.refusals import (
    OBJECTS,
    created_name,
    is_definition,
    is_trigger,
    is_view,
    refuse_definition,
)
from sql_semantics.frontend.names.schemas import without_schemas
from sql_semantics.frontend.text.dialects import check_dialect
from sql_semantics.frontend.text.placeholders import rewrite
from sql_semantics.frontend.text.syntax import Node, name_of, parse_one, unsupported, without_defaults
from sql_semantics.frontend.writes.identity import check_sequence
from sql_semantics.frontend.writes.references import look_up_references
from sql_semantics.ir.schema import Table
from sql_semantics.patterns import pattern
from sql_semantics.values.dialect import Dialect

_STATEMENTS = (exp.DDL, exp.DML, exp.Command, exp.Alter, exp.Drop, exp.Comment, exp.Set, exp.Query)


def read_schema(
    texts: Sequence[str],
    dialect: Dialect,
    *,
    lenient: bool = False,
    unread: dict[str, str] | None = None,
    forgotten: Forgotten = NOTHING_FORGOTTEN,
) -> dict[str, Table]:
    """The tables that schema statements create, by folded name; views see what is not `forgotten` of them. Raises
    SchemaError, and Unsupported for what is not modelled; where `lenient` only if what it takes out of use
    (`Table.refused`) cannot be told. What cannot be read goes to `unread`, by its text, with the reason; what does not
    even begin like a definition has no other effect."""
    found: dict[str, str] = {} if unread is None else unread
    check_dialect(dialect)
    tables: dict[str, Table] = {}
    waiting: list[WaitingReference] = []
    scheme: Scheme = {}
    for text in texts:
        if has_no_effect(text, dialect):
            continue
        if defines_type(text, dialect) and (lenient or with_types(dialect, [text]) != dialect or dialect.named):
            continue  # see `named`
        try:
            refuse_own(text, tables, scheme, dialect)
            if lenient and is_trigger(text):
                continue  # see `triggers`
            plain = without_defaults(
                rewrite(spelled_out(text, dialect), dialect.name, positional=False, named=False).text, dialect.name
            )
            tree = without_schemas(parse_one(plain, dialect.name), dialect, tables)
            _statement(tree, tables, dialect, text, waiting, forgotten, scheme, lenient=lenient)
        except UnknownTable as error:
            if not lenient or not is_view(text):
                raise SchemaError(f"{error} in schema statement {text!r}") from error
            refuse_definition(text, tables, dialect, str(error))  # SQLite keeps views of tables that are gone
        except SqlError as error:
            if not lenient or not refuse_definition(text, tables, dialect, f"a definition that fails ({error})"):
                raise SchemaError(f"{error} in schema statement {text!r}") from error
        except Unreadable as error:
            if not lenient:
                raise SchemaError(f"{error.construct} in schema statement {text!r}") from error
            found[text] = error.construct
            if is_definition(text) and not refuse_definition(text, tables, dialect, error.construct):
                raise  # what it concerns is not told by what it names
        except Unsupported as error:
            if not lenient or not refuse_definition(text, tables, dialect, error.construct):
                raise
    for whole in scheme.values():
        if whole.of is None:
            refresh(whole, tables, scheme, dialect)  # columns may have come after its partitions
    _refuse_shadows(texts, tables, dialect)
    for reference in waiting:
        if reference.table not in tables or tables[reference.table].refused:
            continue
        try:
            reference.bind(tables, dialect)
        except Unsupported as error:
            if not lenient or not refuse_definition(reference.text, tables, dialect, error.construct):
                raise
    look_up_references(tables, dialect)
    return {name: _without_refused(table, tables) for name, table in tables.items()}


def _without_refused(table: Table, tables: Mapping[str, Table]) -> Table:
    """A table whose references to tables that are out of use may refuse its rows, for what is known."""
    lost = [key for key in table.foreign_keys if tables[key.parent].refused]
    if not lost:
        return table
    return replace(
        table,
        foreign_keys=tuple(key for key in table.foreign_keys if key not in lost),
        loose=(*table.loose, *(f"{tables[key.parent].refused}, in the definition of {key.parent}" for key in lost)),
        hangs_on=(*table.hangs_on, *(key.parent for key in lost)),
    )


_VIRTUAL = pattern(r"\s*CREATE\s+VIRTUAL\s+TABLE\b", re.IGNORECASE)


def _refuse_shadows(texts: Sequence[str], tables: dict[str, Table], dialect: Dialect) -> None:
    """Take tables out of use in which SQLite keeps what a virtual table has: they change as that does."""
    for text in texts:
        name = created_name(text, dialect) if _VIRTUAL.match(text) else None
        for other in () if name is None else [other for other in tables if other.startswith(f"{name}_")]:
            tables[other] = Table(other, (), refused=f"a table that the virtual table {name} keeps")


def _statement(
    tree: Node,
    tables: dict[str, Table],
    dialect: Dialect,
    text: str,
    waiting: list[WaitingReference],
    forgotten: Forgotten,
    scheme: Scheme,
    *,
    lenient: bool = False,
) -> None:
    if isinstance(tree, exp.Create) and dialect.rules.definitions.partitions and is_partition(tree):
        create_partition(tree, tables, scheme, dialect)
        return
    settle(tables, scheme, dialect)
    if isinstance(tree, exp.Alter):
        alter_table(tree, tables, dialect, lenient=lenient)
        return
    if isinstance(tree, exp.Drop):
        drop(tree, tables, dialect)
        return
    if not isinstance(tree, exp.Create):
        if not isinstance(tree, _STATEMENTS):
            raise Unreadable(f"{name_of(tree)} is no statement of a schema")
        words = tree.sql().upper().split()
        if isinstance(tree, exp.Command) and words[:1] == ["CREATE"] and not OBJECTS.intersection(words[1:4]):
            raise Unreadable(f"{' '.join(words[:2])} is no statement of a schema")
        raise unsupported(tree, "the schema")
    kind = str(tree.args.get("kind")).upper()
    if kind == "TABLE":
        key = take_key(tree, dialect)
        before = len(tables)
        create_table(tree, tables, dialect, text, waiting, lenient=lenient)
        if key is not None and len(tables) > before:
            name = next(reversed(tables))
            scheme[name] = Partitioned(name, *key)
            refresh(scheme[name], tables, scheme, dialect)
    elif kind == "SEQUENCE":
        check_sequence(tree, dialect)
    elif kind == "INDEX":
        table = indexed_table(tree, tables, dialect, lenient=lenient)
        tables[table.name] = table
    elif kind == "VIEW":
        created = view(tree, forgotten.of_all(tables), dialect)
        if created.name not in tables:
            tables[created.name] = created
        elif not tree.args.get("exists"):
            raise SchemaError(f"view {created.name!r} is created twice")
    else:
        raise Unsupported(f"CREATE {kind}")

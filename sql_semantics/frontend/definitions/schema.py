"""CREATE TABLE, INDEX and VIEW into tables (paper §3.1). Does not know statements that read or write them.

A definition that names what does not exist is bad input (SchemaError); a definition that says more than is modelled
is Unsupported, so that no constraint is ever dropped.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sql_semantics.errors import SchemaError, SqlError, UnknownTable, Unreadable, Unsupported
from sql_semantics.frontend.definitions.alteration import alter_table, drop, has_no_effect, spelled_out
from sql_semantics.frontend.definitions.definition import WaitingReference, create_table
from sql_semantics.frontend.definitions.indexes import indexed_table
from sql_semantics.frontend.definitions.named import defines_type, with_types
from sql_semantics.frontend.definitions.views import view
from sql_semantics.frontend.names.refusals import is_trigger, refuse_definition
from sql_semantics.frontend.text.dialects import check_dialect
from sql_semantics.frontend.text.placeholders import rewrite
from sql_semantics.frontend.text.syntax import Node, name_of, parse_one, unsupported, without_defaults
from sql_semantics.frontend.writes.identity import check_sequence
from sql_semantics.frontend.writes.references import look_up_references
from sql_semantics.ir.schema import Table
from sql_semantics.values.dialect import Dialect

_OBJECTS = frozenset(
    {
        "AGGREGATE",
        "CAST",
        "COLLATION",
        "CONVERSION",
        "DATABASE",
        "DOMAIN",
        "EVENT",
        "EXTENSION",
        "FOREIGN",
        "FUNCTION",
        "INDEX",
        "LANGUAGE",
        "MATERIALIZED",
        "OPERATOR",
        "POLICY",
        "PROCEDURE",
        "PUBLICATION",
        "ROLE",
        "RULE",
        "SCHEMA",
        "SEQUENCE",
        "SERVER",
        "STATISTICS",
        "TABLE",
        "TABLESPACE",
        "TEMP",
        "TEMPORARY",
        "TRIGGER",
        "TYPE",
        "UNLOGGED",
        "USER",
        "VIEW",
    }
)
"""What CREATE can be followed by; anything else is a slip of the pen and not a construct to be modelled."""
_STATEMENTS = (exp.DDL, exp.DML, exp.Command, exp.Alter, exp.Drop, exp.Comment, exp.Set, exp.Query)


def read_schema(texts: Sequence[str], dialect: Dialect, *, lenient: bool = False) -> dict[str, Table]:
    """The tables that schema statements create, by folded name. Raises SchemaError, and Unsupported for what is not
    modelled; where `lenient` only if what it takes out of use (`Table.refused`) cannot be told."""
    check_dialect(dialect)
    tables: dict[str, Table] = {}
    waiting: list[WaitingReference] = []
    for text in texts:
        if has_no_effect(text, dialect):
            continue
        if defines_type(text, dialect) and (lenient or with_types(dialect, [text]) != dialect or dialect.named):
            continue  # see `named`
        if lenient and is_trigger(text):
            continue  # see `triggers`
        try:
            plain = without_defaults(
                rewrite(spelled_out(text, dialect), dialect.name, positional=False, named=False).text, dialect.name
            )
            tree = parse_one(plain, dialect.name)
            _statement(tree, tables, dialect, text, waiting, lenient=lenient)
        except (SqlError, UnknownTable) as error:
            raise SchemaError(f"{error} in schema statement {text!r}") from error
        except Unreadable as error:
            raise SchemaError(f"{error.construct} in schema statement {text!r}") from error
        except Unsupported as error:
            if not lenient or not refuse_definition(text, tables, dialect, error.construct):
                raise
    for reference in waiting:
        if reference.table not in tables or tables[reference.table].refused:
            continue
        try:
            reference.bind(tables, dialect)
        except Unsupported as error:
            if not lenient or not refuse_definition(reference.text, tables, dialect, error.construct):
                raise
    look_up_references(tables, dialect)
    return tables


def _statement(
    tree: Node,
    tables: dict[str, Table],
    dialect: Dialect,
    text: str,
    waiting: list[WaitingReference],
    *,
    lenient: bool = False,
) -> None:
    if isinstance(tree, exp.Alter):
        alter_table(tree, tables, dialect, lenient=lenient)
        return
    if isinstance(tree, exp.Drop):
        drop(tree, tables, dialect)
        return
    if not isinstance(tree, exp.Create):
        if not isinstance(tree, _STATEMENTS):
            raise SchemaError(f"{name_of(tree)} is no statement of a schema")
        words = tree.sql().upper().split()
        if isinstance(tree, exp.Command) and words[:1] == ["CREATE"] and not _OBJECTS.intersection(words[1:4]):
            raise SchemaError(f"{' '.join(words[:2])} is no statement of a schema")
        raise unsupported(tree, "the schema")
    kind = str(tree.args.get("kind")).upper()
    if kind == "TABLE":
        create_table(tree, tables, dialect, text, waiting, lenient=lenient)
    elif kind == "SEQUENCE":
        check_sequence(tree, dialect)
    elif kind == "INDEX":
        table = indexed_table(tree, tables, dialect, lenient=lenient)
        tables[table.name] = table
    elif kind == "VIEW":
        created = view(tree, tables, dialect)
        if created.name not in tables:
            tables[created.name] = created
        elif not tree.args.get("exists"):
            raise SchemaError(f"view {created.name!r} is created twice")
    else:
        raise Unsupported(f"CREATE {kind}")

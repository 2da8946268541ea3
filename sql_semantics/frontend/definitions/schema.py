"""CREATE TABLE, INDEX and VIEW into tables (paper §3.1). Does not know statements that read or write them.

A definition that names what does not exist is bad input (SchemaError); a definition that says more than is modelled
is Unsupported, so that no constraint is ever dropped.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from sqlglot import exp

from sql_semantics.errors import SchemaError, SqlError, UnknownTable, Unreadable, Unsupported
from sql_semantics.frontend.definitions.alteration import alter_table, drop, has_no_effect
from sql_semantics.frontend.definitions.definition import create_table
from sql_semantics.frontend.definitions.indexes import indexed_table
from sql_semantics.frontend.definitions.views import view
from sql_semantics.frontend.names.refusals import add_trigger, is_trigger, refuse_definition
from sql_semantics.frontend.text.dialects import check_dialect
from sql_semantics.frontend.text.placeholders import rewrite
from sql_semantics.frontend.text.syntax import Node, name_of, parse_one, unsupported, without_defaults
from sql_semantics.frontend.writes.identity import check_sequence
from sql_semantics.frontend.writes.references import ForwardReference
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
    waiting = deque(texts)
    moved = 0
    while waiting:
        text = waiting.popleft()
        if has_no_effect(text, dialect):
            continue
        if lenient and is_trigger(text):
            add_trigger(text, tables, dialect)
            continue
        before = dict(tables)
        try:
            plain = without_defaults(rewrite(text, dialect.name, positional=False, named=False).text, dialect.name)
            tree = parse_one(plain, dialect.name)
            _statement(tree, tables, dialect, text)
        except (SqlError, UnknownTable) as error:
            raise SchemaError(f"{error} in schema statement {text!r}") from error
        except Unreadable as error:
            raise SchemaError(f"{error.construct} in schema statement {text!r}") from error
        except Unsupported as error:
            if isinstance(error, ForwardReference) and moved < len(waiting):
                tables = before
                waiting.insert(_behind_tables(waiting), text)
                moved += 1
                continue
            if not lenient or not refuse_definition(text, tables, dialect, error.construct):
                raise
        moved = 0
    return tables


def _behind_tables(texts: Sequence[str]) -> int:
    """The place behind the last CREATE TABLE: what is on a table comes after it."""
    places = [place for place, text in enumerate(texts, 1) if text.upper().split()[:2] == ["CREATE", "TABLE"]]
    return max(places, default=0)


def _statement(tree: Node, tables: dict[str, Table], dialect: Dialect, text: str = "") -> None:
    if isinstance(tree, exp.Alter):
        alter_table(tree, tables, dialect)
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
        create_table(tree, tables, dialect, text)
    elif kind == "SEQUENCE":
        check_sequence(tree, dialect)
    elif kind == "INDEX":
        table = indexed_table(tree, tables, dialect)
        tables[table.name] = table
    elif kind == "VIEW":
        created = view(tree, tables, dialect)
        if created.name not in tables:
            tables[created.name] = created
        elif not tree.args.get("exists"):
            raise SchemaError(f"view {created.name!r} is created twice")
    else:
        raise Unsupported(f"CREATE {kind}")

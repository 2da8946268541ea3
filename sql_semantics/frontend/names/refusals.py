"""Definitions of a schema that are read but not modelled: which names they take out of use.

Such a definition says nothing of statements that do not use what it defines, so that it is kept under its names
(`Table.refused`, `Table.unwritable`, `Catalog.refused`) and named when a statement meets one. Where its reach cannot
be told it is refused at once. Works on texts, because the tree is not always there; does not know statements.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from sql_semantics.errors import Unsupported
from sql_semantics.frontend.names.schemas import in_schema, is_home
from sql_semantics.frontend.text.beginnings import beginning
from sql_semantics.ir.schema import Catalog, Table
from sql_semantics.ir.statements import Statement
from sql_semantics.ir.walks.effects import written_tables
from sql_semantics.patterns import pattern
from sql_semantics.records import dataclass, replace
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.identifiers import folded_written, folded_written_table, unquoted

_PART = r"(?:\"(?:[^\"]|\"\")+\"|`(?:[^`]|``)+`|'(?:[^']|'')+'|\[[^\]]+\]|[\w$]+)"
_NAME = rf"(?:(?:public|main)\s*\.\s*)?((?:{_PART}\s*\.\s*)?{_PART})"
"""A name, behind its schema if that is another one than usual."""
_QUALIFIED = pattern(rf"({_PART})\s*\.\s*({_PART})", re.DOTALL)
_COMMENTS = r"(?:\s|--[^\n]*\n|/\*.*?\*/)*"
_TABLE = pattern(
    rf"{_COMMENTS}CREATE\s+(?:OR\s+REPLACE\s+)?"
    r"(?:(?:GLOBAL|LOCAL|TEMP|TEMPORARY|UNLOGGED|MATERIALIZED|RECURSIVE|VIRTUAL|FOREIGN)\s+)*"
    rf"(TABLE|VIEW)\s+(?:IF\s+NOT\s+EXISTS\s+)?{_NAME}",
    re.IGNORECASE | re.DOTALL,
)
_ALTER = pattern(
    rf"{_COMMENTS}ALTER\s+TABLE\s+(?:IF\s+EXISTS\s+)?(?:ONLY\s+)?{_NAME}\s+(?!RENAME\s+TO\b)", re.IGNORECASE | re.DOTALL
)
_RENAME = pattern(
    rf"{_COMMENTS}ALTER\s+TABLE\s+(?:IF\s+EXISTS\s+)?(?:ONLY\s+)?{_NAME}\s+RENAME\s+TO\s+{_NAME}",
    re.IGNORECASE | re.DOTALL,
)
_INDEX = pattern(
    rf"{_COMMENTS}CREATE\s+(?:UNIQUE\s+|FULLTEXT\s+|SPATIAL\s+)?INDEX\b(?:[^('\"`]|\"[^\"]*\"|`[^`]*`)*?\bON\s+(?:ONLY\s+)?{_NAME}",
    re.IGNORECASE | re.DOTALL,
)
_TRIGGER = pattern(
    rf"{_COMMENTS}CREATE\s+(?:OR\s+REPLACE\s+)?(?:DEFINER\s*=\s*\S+\s+)?(?:(?:CONSTRAINT|TEMP|TEMPORARY)\s+)?TRIGGER\s+"
    rf"(?:IF\s+NOT\s+EXISTS\s+)?{_NAME}\s+(?:BEFORE|AFTER|INSTEAD\s+OF)?\s*"
    rf"((?:INSERT|UPDATE|DELETE|TRUNCATE)\b.*?)\bON\s+{_NAME}",
    re.IGNORECASE | re.DOTALL,
)
_VIEW_WRITES = pattern(
    rf"{_COMMENTS}(?:ALTER\s+VIEW\s+(?:IF\s+EXISTS\s+)?{_NAME}\s+(?:ALTER|SET\s*\()"
    rf"|CREATE\s+(?:OR\s+REPLACE\s+)?RULE\s+{_NAME}\s+AS\s+ON\s+(?:INSERT|UPDATE|DELETE)\s+TO\s+{_NAME})",
    re.IGNORECASE | re.DOTALL,
)
"""What changes, of a view, what is written through it alone: a default, an option, a rule."""
_ALTER_VIEW = pattern(rf"{_COMMENTS}ALTER\s+VIEW\s+(?:IF\s+EXISTS\s+)?{_NAME}", re.IGNORECASE | re.DOTALL)
_TYPE = pattern(rf"{_COMMENTS}CREATE\s+(?:TYPE|DOMAIN)\b", re.IGNORECASE | re.DOTALL)
_ELSEWHERE = pattern(
    rf"{_COMMENTS}(?:CREATE|ALTER|DROP)\s+(?:OR\s+REPLACE\s+)?(?:EVENT|OPERATOR|CAST|CONVERSION|TRANSFORM)\b",
    re.IGNORECASE | re.DOTALL,
)
"""What changes the meaning of statements that do not name it."""
_RENAMED = pattern(
    rf"{_COMMENTS}ALTER\s+(?:TABLE|VIEW)\s+(?:IF\s+EXISTS\s+)?(?:ONLY\s+)?[^\s]+\s+RENAME\s+TO\s+{_NAME}",
    re.IGNORECASE | re.DOTALL,
)
_INHERITS = pattern(r"\b(INHERITS?|PARTITION|LIKE)\b", re.IGNORECASE)
_ROUTINE = pattern(
    rf"{_COMMENTS}CREATE\s+(?:OR\s+REPLACE\s+)?(?:DEFINER\s*=\s*\S+?(?:\s*@\s*\S+)?\s+)?"
    rf"(?:AGGREGATE\s+)?(?:PROCEDURE|FUNCTION|AGGREGATE)\s+(?:IF\s+NOT\s+EXISTS\s+)?{_NAME}",
    re.IGNORECASE | re.DOTALL,
)


OBJECTS = frozenset(
    {
        *("AGGREGATE", "CAST", "COLLATION", "CONVERSION", "DATABASE", "DOMAIN", "EVENT", "EXTENSION", "FOREIGN"),
        *("FUNCTION", "INDEX", "LANGUAGE", "MATERIALIZED", "OPERATOR", "POLICY", "PROCEDURE", "PUBLICATION"),
        *("ROLE", "RULE", "SCHEMA", "SEQUENCE", "SERVER", "STATISTICS", "TABLE", "TABLESPACE", "TEMP", "TEMPORARY"),
        *("TRIGGER", "TYPE", "UNLOGGED", "USER", "VIEW"),
    }
)
"""What CREATE can be followed by; anything else is a slip of the pen and not a construct to be modelled."""
_BEGINS = pattern(rf"{_COMMENTS}([A-Za-z]+)\s+(.*)", re.DOTALL)
_OTHERS = frozenset({"ALTER", "DROP", "COMMENT", "GRANT", "REVOKE", "SECURITY"})


def is_definition(text: str) -> bool:
    """Whether a text that is not read begins like a definition, so that what it names tells what it may concern."""
    found = _BEGINS.match(text)
    if found is None:
        return False
    first, following = found[1].upper(), found[2].upper().replace("(", " ").split()[:5]
    return first in _OTHERS or (first == "CREATE" and not OBJECTS.isdisjoint(following))


def is_view(text: str) -> bool:
    """Whether a statement creates a view."""
    created = _TABLE.match(text)
    return created is not None and created[1].upper() == "VIEW"


def created_name(text: str, dialect: Dialect) -> str | None:
    """The folded name of the table or view that a statement creates; None for another text."""
    created = _TABLE.match(text)
    return None if created is None else _folded(created[2], dialect)


def routine_name(text: str, dialect: Dialect) -> str | None:
    """The name, as routines are compared by, of what a CREATE FUNCTION or PROCEDURE defines; None for another text."""
    match = _ROUTINE.match(text)
    if match is None:
        return None
    qualified = _QUALIFIED.fullmatch(match[1])
    return folded_written(match[1] if qualified is None else qualified[2], dialect)


def concerned(text: str, names: Iterable[str], dialect: Dialect) -> set[str]:
    """Of some tables those that a statement names which creates no table, view or routine: it may be about them."""
    if created_name(text, dialect) is not None or routine_name(text, dialect) is not None:
        return set()
    return _words(text, dialect) & set(names)


def refuse_parted(texts: Iterable[str], tables: dict[str, Table], dialect: Dialect) -> None:
    """Take tables out of use, with their partitions, where one of these statements of a log may be about a partition:
    what it gives that holds for a part of the rows only."""
    parts = {name: table.part_of for name, table in tables.items() if table.part_of}
    roots = {parts[name] for text in texts for name in concerned(text, parts, dialect)} if parts else set()
    for name, table in list(tables.items()):
        if name in roots or table.part_of in roots:
            put_out_of_use(name, "a definition of a partition that changes", tables)


def is_trigger(text: str) -> bool:
    """Whether a statement creates a trigger of a table."""
    return _TRIGGER.match(text) is not None


@dataclass(frozen=True, slots=True)
class Trigger:
    """Its table, the writes that fire it, and what it is called where it is named."""

    table: str
    events: tuple[str, ...]
    construct: str


def read_trigger(text: str, dialect: Dialect) -> Trigger:
    """The trigger that a statement creates."""
    match = _TRIGGER.match(text)
    assert match is not None
    name = _folded(match[3], dialect)
    events = re.findall(r"\b(?:INSERT|UPDATE|DELETE|TRUNCATE)\b", match[2], re.IGNORECASE)
    return Trigger(name, tuple(event.lower() for event in events), f"the trigger {unquoted(match[1])} of {name}")


def refuse_definition(text: str, tables: dict[str, Table], dialect: Dialect, construct: str) -> bool:
    """Take what a schema statement defines out of use, and writes to what its foreign keys may refer to; False where
    its reach cannot be told."""
    if dialect.rules.text.has_schema_types and _TYPE.match(text):
        return True  # no type of that name is known, so that whatever uses it is refused itself
    if _ELSEWHERE.match(text):
        return False
    written = _VIEW_WRITES.match(text)
    view = tables.get(_folded(written[1] or written[3], dialect)) if written is not None else None
    if view is not None and view.query is not None:
        forbid(view.name, ("insert", "update", "delete"), construct, tables)
        return True
    created = _TABLE.match(text)
    match = created or _ALTER.match(text) or _INDEX.match(text)
    if match is None:
        return _refuse_named(text, tables, dialect, construct)
    name = _folded(match[2] if created else match[1], dialect)
    if created and created[1].upper() == "VIEW":
        put_out_of_use(name, construct, tables)
        return True
    mentioned = {word for word in _words(text, dialect) if word in tables} - {name}
    if _INHERITS.search(text) and (mentioned or name in tables):
        put_out_of_use(name, construct, tables)
        return _refuse_named(text, tables, dialect, construct)
    if not created and name not in tables:
        return False
    for word in mentioned:
        forbid(word, ("update", "delete", "truncate"), construct, tables)
    put_out_of_use(name, construct, tables)
    return True


def _refuse_named(text: str, tables: dict[str, Table], dialect: Dialect, construct: str) -> bool:
    """Take every table out of use that a definition names: of a rule, a policy, partitions, a table renamed or
    dropped."""
    renamed = _RENAMED.match(text)
    if renamed is not None:
        name = _folded(renamed[1], dialect)
        put_out_of_use(name, construct, tables)
    for name in sorted(_words(text, dialect) & tables.keys()):
        put_out_of_use(name, construct, tables)
    return True


def put_out_of_use(name: str, construct: str, tables: dict[str, Table]) -> None:
    """Take a table or a view out of use, and deletes and updates of what its foreign keys refer to, which may act on
    it; with a partition the whole table, of which it is not known then which rows it takes."""
    known = tables.get(name)
    parents: tuple[str, ...] = ()
    if known is not None:
        parents = tuple(dict.fromkeys([*(key.parent for key in known.foreign_keys), *sorted(known.leans_on)]))
    tables[name] = Table(name, (), refused=construct, hangs_on=parents)
    if known is not None and known.part_of in tables and not tables[known.part_of].refused:
        put_out_of_use(known.part_of, construct, tables)
    for parent in parents:
        if parent in tables and parent != name:
            forbid(parent, ("update", "delete", "truncate"), construct, tables)


def refuse_altered(text: str, tables: dict[str, Table], dialect: Dialect) -> None:
    """Take a table out of use that a logged statement changes: what its rows look like is not known, neither before nor
    after it; a new name of it, too."""
    text = beginning(text)
    if changes_index(text):
        _refuse_indexes(tables)
        return
    if drops_type(text):
        construct = "a type that is dropped with its columns, or changed, in a transaction"
        tables.update({name: Table(name, (), refused=construct) for name in tables})
        return
    match = _ALTER.match(text) or _RENAME.match(text)
    if match is None:
        _refuse_altered_view(text, tables, dialect)
        return
    name = _folded(match[1], dialect)
    construct = f"ALTER TABLE of {name} in a transaction"
    renamed = _RENAME.match(text)
    names = (name, *((_folded(renamed[2], dialect),) if renamed is not None else ()))
    for used in names:
        table = tables.get(used)
        for key in () if table is None else table.foreign_keys:
            if key.parent != used:
                forbid(key.parent, ("update", "delete", "truncate"), construct, tables)
        for other in list(tables.values()):
            if used in other.leans_on or any(key.parent == used for key in other.foreign_keys):
                kept = tuple(key for key in other.foreign_keys if key.parent != used)
                tables[other.name] = replace(other, foreign_keys=kept, hangs_on=(*other.hangs_on, *names))
                forbid(other.name, ("insert", "update"), construct, tables)
        tables[used] = Table(used, (), refused=construct)


def _refuse_altered_view(text: str, tables: dict[str, Table], dialect: Dialect) -> None:
    """Take a view that a logged statement changes out of use, or writes through it where nothing else is changed."""
    match = _ALTER_VIEW.match(text)
    name = "" if match is None else _folded(match[1], dialect)
    if name not in tables:
        return
    construct = f"ALTER VIEW of {name} in a transaction"
    if _VIEW_WRITES.match(text):
        forbid(name, ("insert", "update", "delete"), construct, tables)
    else:
        put_out_of_use(name, construct, tables)


def renames_table(text: str) -> bool:
    """Whether a statement gives a table another name."""
    return _RENAME.match(beginning(text)) is not None


def names_anew(text: str) -> bool:
    """Whether a statement is MySQL's RENAME TABLE."""
    return _NAMED_ANEW.match(beginning(text)) is not None


_NAMED_ANEW = pattern(r"RENAME\s+TABLE\b", re.IGNORECASE)


def changes_view(text: str) -> bool:
    """Whether a statement alters a view."""
    return _ALTER_VIEW.match(text) is not None


def changes_index(text: str) -> bool:
    """Whether a statement drops or changes an index, so that a key may be gone which is known by another name here."""
    return _INDEX_CHANGED.match(beginning(text)) is not None


_INDEX_CHANGED = pattern(r"(DROP|ALTER)\s+INDEX\b", re.IGNORECASE)


def drops_type(text: str) -> bool:
    """Whether a statement may take columns away with their type, or change what a domain allows."""
    return _TYPE_GONE.match(beginning(text)) is not None


_TYPE_GONE = pattern(r"DROP\s+(TYPE|DOMAIN)\b.*\bCASCADE\b|ALTER\s+DOMAIN\b", re.IGNORECASE | re.DOTALL)


def _refuse_indexes(tables: dict[str, Table]) -> None:
    """Take writes out of use of all tables with a key that an index may stand for: it is not known which is left."""
    for name, table in list(tables.items()):
        if any(not key.primary for key in table.keys):
            forbid(name, ("insert", "update"), "an index that is dropped or changed in a transaction", tables)


def refuse_writes(statements: Iterable[Statement], catalog: Catalog) -> None:
    """Raise Unsupported for statements that write where that is not modelled, by what they call and by foreign keys
    too."""
    if not any(table.unwritable for table in catalog.tables.values()):
        return
    for name, action in sorted(written_tables(statements, catalog)):
        for refused, construct in catalog.tables[name].unwritable:
            if refused == action:
                raise Unsupported(construct)


def refuse_dangling(statements: Iterable[Statement], catalog: Catalog) -> None:
    """Raise Unsupported for statements that keep foreign keys and write to a table with one that finds no key, or to
    the table that it names (SQLite fails where it needs it)."""
    dangling = {(table.name, *found) for table in catalog.tables.values() for found in table.dangling}
    if not dangling:
        return
    written = {name for name, _ in written_tables(statements, catalog)}
    for child, parent, construct in sorted(dangling):
        if not written.isdisjoint((child, parent)):
            raise Unsupported(construct)


def forbid(name: str, actions: tuple[str, ...], construct: str, tables: dict[str, Table]) -> None:
    """Take writes to a table out of use."""
    also = tuple((action, construct) for action in actions)
    tables[name] = replace(tables[name], unwritable=(*tables[name].unwritable, *also))


def _folded(name: str, dialect: Dialect) -> str:
    qualified = _QUALIFIED.fullmatch(name)
    if qualified is None:
        return folded_written_table(name, dialect)
    schema, own = (folded_written_table(part, dialect) for part in qualified.groups())
    return own if is_home(schema, dialect) else in_schema(schema, own)


def _words(text: str, dialect: Dialect) -> set[str]:
    return {_folded(word, dialect) for word in re.findall(r"\"(?:[^\"]|\"\")+\"|`(?:[^`]|``)+`|[\w$]+", text)}

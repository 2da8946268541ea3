"""Routines and types that a log defines itself, beside those of its schema (PostgreSQL CREATE FUNCTION, CREATE TYPE).

An application says at each start what its schema has already: CREATE OR REPLACE of the same function changes nothing,
and CREATE of the same type fails. A routine that is made otherwise, altered or dropped means one thing before and
another after, so that nothing may use it. Does not know when a definition was made.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from sql_semantics.errors import SchemaError, SqlError, Unsupported
from sql_semantics.frontend.names.refusals import routine_name
from sql_semantics.frontend.reach import names_in
from sql_semantics.frontend.routines.bodies import read_type
from sql_semantics.frontend.routines.headers import Header, WrittenParameter, read_header
from sql_semantics.frontend.text.beginnings import beginning
from sql_semantics.patterns import pattern
from sql_semantics.records import dataclass, field
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.identifiers import folded_written

_NAME = r'(?:\w+|"[^"]+")'
_MAKES = pattern(
    r"(?:CREATE(?:\s+OR\s+REPLACE)?(?:\s+DEFINER\s*=\s*\S+)?|ALTER|DROP)\s+(?:FUNCTION|PROCEDURE|ROUTINE|AGGREGATE)\b",
    re.IGNORECASE,
)
_TYPE = pattern(rf"(CREATE|ALTER|DROP)\s+(?:TYPE|DOMAIN)\s+(?:IF\s+EXISTS\s+)?((?:{_NAME}\s*\.\s*)?{_NAME})", re.I)
_HOME = pattern(rf"(?:\"?public\"?\s*\.\s*)?({_NAME})\Z")
_EXTENSION = pattern(
    r"CREATE\s+EXTENSION\s+IF\s+NOT\s+EXISTS\s+"
    r"\"?(?:uuid-ossp|pgcrypto|pg_trgm|btree_gin|btree_gist|unaccent|plpgsql|pg_stat_statements|vector|hstore|citext)\"?"
    r"(?:\s+(?:WITH\s+)?SCHEMA\s+\w+)?\s*;?\s*\Z",
    re.IGNORECASE,
)
_INDEX = pattern(
    rf"CREATE\s+UNIQUE\s+INDEX\s+(IF\s+NOT\s+EXISTS\s+)?({_NAME})\s+ON\s+(?:ONLY\s+)?"
    rf"(?:\"?public\"?\s*\.\s*)?({_NAME})",
    re.IGNORECASE,
)
_SCHEMA = pattern(rf"CREATE\s+SCHEMA\s+IF\s+NOT\s+EXISTS\s+{_NAME}(?:\s+AUTHORIZATION\s+\w+)?\s*;?\s*\Z", re.I)


@dataclass(frozen=True, slots=True)
class Remade:
    """`repeats`: the texts that change nothing, each with the SQLSTATE that answers it, empty for none; `changed`: the
    routines of the schema that others change, with what is not modelled."""

    repeats: Mapping[str, str] = field(default_factory=dict)
    changed: Mapping[str, str] = field(default_factory=dict)


def remade(texts: Sequence[str], schema: Sequence[str], dialect: Dialect) -> Remade:
    """`texts`: what a log creates, alters and drops, but for what failed; `schema`: all definitions that hold when it
    begins, of which the types are the dialect's."""
    repeats: dict[str, str] = _indexes(texts, schema, dialect)
    changed: dict[str, str] = {}
    known: dict[str, list[str]] = {}
    for text in schema:
        name = routine_name(text, dialect)
        if name is not None:
            known.setdefault(name, []).append(text)
    for text in texts:
        plain = beginning(text)
        if _says_nothing(plain, dialect):
            repeats[text.strip()] = ""
        if _MAKES.match(plain) is None:
            continue
        name = routine_name(plain, dialect)
        if name is not None and any(_same(plain, one, dialect) for one in known.get(name, ())):
            repeats[text.strip()] = ""
            continue
        about = _named(plain, dialect) if name is None else {name}
        changed |= {one: f"routine {one}, which the log changes" for one in known if one in about}
    if changed:
        repeats = {
            text: state for text, state in repeats.items() if routine_name(beginning(text), dialect) not in changed
        }
    return Remade(repeats, changed)


def _indexes(texts: Sequence[str], schema: Sequence[str], dialect: Dialect) -> dict[str, str]:
    """The texts among them that make an index IF NOT EXISTS which is there all the time."""
    if dialect.rules.definitions.definitions_commit:
        return {}
    known = {
        (folded_written(found[2], dialect), folded_written(found[3], dialect))
        for text in schema
        if (found := _INDEX.match(beginning(text))) is not None and found[1] is None
    }
    moves = [_named(text, dialect) for text in map(beginning, texts) if text[:6].upper() != "CREATE"]
    moved = frozenset().union(*moves)
    wanted = [(text, _INDEX.match(beginning(text))) for text in texts]
    made = [
        (text, folded_written(found[2], dialect), folded_written(found[3], dialect))
        for text, found in wanted
        if found is not None and found[1] is not None
    ]
    return {text.strip(): "" for text, name, table in made if (name, table) in known and not {name, table} & moved}


def repeated_types(made: Iterable[str], failed: Iterable[str], dialect: Dialect) -> Mapping[str, str]:
    """The texts among those that failed which create a type that there is all the time, with the SQLSTATE of that;
    `made`: what the log creates, alters and drops."""
    if not dialect.rules.definitions.named_types:
        return {}
    moved = {found[1] for text in made if (found := _of_type(beginning(text), dialect)) is not None}
    return {
        text.strip(): "42710"
        for text in failed
        if (found := _of_type(beginning(text), dialect)) is not None
        and found[0] == "CREATE"
        and found[1] not in moved
        and dialect.named_type(found[1]) is not None
    }


def _of_type(text: str, dialect: Dialect) -> tuple[str, str] | None:
    """What a statement does to a type, and the type's name; None for another statement, or a type of elsewhere."""
    found = _TYPE.match(text)
    name = None if found is None else _HOME.match(found[2])
    return None if found is None or name is None else (found[1].upper(), folded_written(name[1], dialect))


def _says_nothing(text: str, dialect: Dialect) -> bool:
    """Whether it makes what nothing modelled uses: a schema, or an extension with functions of names of their own."""
    if not dialect.rules.definitions.named_types:
        return False
    return _EXTENSION.match(text) is not None or _SCHEMA.match(text) is not None


def _named(text: str, dialect: Dialect) -> frozenset[str]:
    try:
        return names_in(text, dialect)
    except Unsupported:
        return frozenset(re.findall(r"\w+", text))


def _same(text: str, other: str, dialect: Dialect) -> bool:
    """Whether two texts define the same routine in the same way; False where that is not told."""
    try:
        one, two = read_header(text, dialect), read_header(other, dialect)
    except (SchemaError, SqlError, Unsupported):
        return False
    if not one.replace or one.language == "psm":
        return False
    return _told(one, dialect) == _told(two, dialect)


def _told(header: Header, dialect: Dialect) -> tuple[object, ...]:
    def types(parameters: Sequence[WrittenParameter] | None) -> object:
        return None if parameters is None else [
            (one.name, one.mode, _type(one.type, dialect), None if one.default is None else one.default.text)
            for one in parameters
        ]  # fmt: skip

    return (
        header.name,
        header.function,
        header.language,
        header.text,
        types(header.parameters),
        types(header.table),
        None if header.returns is None else _type(header.returns, dialect),
        header.rows,
        header.strict,
        header.stable,
    )


def _type(text: str, dialect: Dialect) -> object:
    try:
        return read_type(text, dialect)
    except (SchemaError, Unsupported):
        return re.sub(r'\bpublic\s*\.|"|\s+', " ", text.lower()).split()

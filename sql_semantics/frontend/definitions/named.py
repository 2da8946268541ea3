"""Types that a schema defines: enums, composites and domains (PostgreSQL CREATE TYPE, CREATE DOMAIN; manual 8.7, 8.16,
8.18).

A domain is read as the definition of one column called VALUE, which is what its constraints call it. What is not
modelled leaves the name without a type, so that columns of it are opaque. Does not know tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from sqlglot import Token, TokenType, exp

from sql_semantics.errors import Unsupported
from sql_semantics.frontend.text.dialects import check_field, fold_column, named_of, sql_type
from sql_semantics.frontend.text.syntax import only, parse_one, tokens_of
from sql_semantics.patterns import pattern
from sql_semantics.values.dialect import Dialect, NamedType
from sql_semantics.values.families.composites import CompositeFamily
from sql_semantics.values.families.enums import EnumFamily
from sql_semantics.values.identifiers import folded
from sql_semantics.values.types import Kind, SqlType

_DEFINES = pattern(r"(?:\s|--[^\n]*\n|/\*.*?\*/)*(?:CREATE|ALTER)\s+(?:TYPE|DOMAIN)\b", re.IGNORECASE | re.DOTALL)


def defines_type(text: str, dialect: Dialect) -> bool:
    """Whether a statement of a schema creates or changes a type."""
    return dialect.rules.definitions.named_types and _DEFINES.match(text) is not None


def with_types(dialect: Dialect, texts: Iterable[str]) -> Dialect:
    """The dialect with the types that these statements define, in order. One that is not modelled has no type."""
    for text in texts:
        if defines_type(text, dialect):
            with suppress(Unsupported):
                dialect = _with(dialect, text)
    return dialect


def _with(dialect: Dialect, text: str) -> Dialect:
    tokens = tokens_of(text, "postgres")
    if tokens and tokens[-1].token_type is TokenType.SEMICOLON:
        tokens = tokens[:-1]
    words = [token.text.upper() for token in tokens]
    if [word.split()[0] for word in words[:1]] == ["ALTER"]:
        text = _after_command(text)
        tokens = tokens_of(text, "postgres")
        words = [token.text.upper() for token in tokens]
        return _altered(dialect, tokens, words)
    if words[1:2] == ["TYPE"]:
        name, place = _name(tokens, 2, dialect)
        if words[place : place + 2] == ["AS", "("] and words[-1:] == [")"]:
            return _composite(_without(dialect, name), name, text[tokens[place + 1].start : tokens[-1].end + 1])
        if words[place : place + 3] != ["AS", "ENUM", "("] or words[-1:] != [")"]:
            return _without(dialect, name)
        inside = tokens[place + 3 : -1]
        labels = tuple(token.text for token in inside[::2])
        plain = all(token.token_type is TokenType.STRING for token in inside[::2])
        if not labels or not plain or any(token.text != "," for token in inside[1::2]):
            return _without(dialect, name)
        return _added(dialect, NamedType(name, SqlType(Kind.ENUM, family=EnumFamily(name, labels))))
    name, place = _name(tokens, 2, dialect)
    place += words[place : place + 1] == ["AS"]
    if place >= len(tokens):
        return _without(dialect, name)
    return _domain(_without(dialect, name), name, text[tokens[place].start :].rstrip().rstrip(";"))


def _after_command(text: str) -> str:
    """A text whose first word the tokenizer does not take for a command, which keeps the rest as one token."""
    found = _DEFINES.match(text)
    assert found is not None
    return f"CREATE TYPE {text[found.end() :]}"


def _altered(dialect: Dialect, tokens: Sequence[Token], words: Sequence[str]) -> Dialect:
    """``ALTER TYPE ... ADD VALUE``; after anything else the type is not known."""
    name, place = _name(tokens, 2, dialect)
    known = dialect.named_type(name)
    family = None if known is None else known.type.family
    rest = list(tokens[place:])
    if rest and rest[-1].token_type is TokenType.SEMICOLON:
        rest.pop()
    said = [word for word, token in zip(words[place:], rest, strict=False) if token.token_type is not TokenType.STRING]
    texts = [token.text for token in rest if token.token_type is TokenType.STRING]
    if said[2:5] == ["IF", "NOT", "EXISTS"]:
        said[2:5] = []
        if isinstance(family, EnumFamily) and texts[:1] and texts[0] in family.labels:
            return dialect
    where = said[2:]
    if said[:2] != ["ADD", "VALUE"] or not isinstance(family, EnumFamily) or where not in ([], ["BEFORE"], ["AFTER"]):
        return _without(dialect, name)
    if len(texts) != 1 + len(where) or (where and texts[1] not in family.labels):
        return _without(dialect, name)
    labels = list(family.labels)
    at = labels.index(texts[1]) + (where == ["AFTER"]) if where else len(labels)
    labels.insert(at, texts[0])
    return _added(dialect, NamedType(name, SqlType(Kind.ENUM, family=EnumFamily(name, tuple(labels)))))


def _name(tokens: Sequence[Token], place: int, dialect: Dialect) -> tuple[str, int]:
    """The name at a place, folded, and what stands after it. Raises Unsupported for one of another schema."""
    if place + 2 < len(tokens) and tokens[place + 1].text == ".":
        if tokens[place].text.lower() != "public":
            raise Unsupported(f"a type of the schema {tokens[place].text}")
        place += 2
    if place >= len(tokens):
        raise Unsupported("a type without a name")
    token = tokens[place]
    return folded(token.text, dialect, quoted=token.token_type is TokenType.IDENTIFIER), place + 1


def _composite(dialect: Dialect, name: str, text: str) -> Dialect:
    """A composite type of the fields in parentheses."""
    tree = parse_one(f"CREATE TABLE one {text}", "postgres")
    body = tree.this
    if not isinstance(tree, exp.Create) or not isinstance(body, exp.Schema) or not body.expressions:
        raise Unsupported(f"the type {name}")
    fields: list[tuple[str, SqlType]] = []
    for column in body.expressions:
        if not isinstance(column, exp.ColumnDef) or not isinstance(column.args.get("kind"), exp.DataType):
            raise Unsupported(f"the type {name}")
        only(column, "this", "kind")
        fields.append((fold_column(column.this, dialect), sql_type(column.args["kind"], dialect)))
        check_field(fields[-1][1])
    return _added(dialect, NamedType(name, SqlType(Kind.COMPOSITE, family=CompositeFamily(name, tuple(fields)))))


def _domain(dialect: Dialect, name: str, text: str) -> Dialect:
    """A domain of what stands behind its name."""
    tree = parse_one(f"CREATE TABLE one (value {text})", "postgres")
    body = tree.this
    if not isinstance(tree, exp.Create) or not isinstance(body, exp.Schema) or len(body.expressions) != 1:
        raise Unsupported(f"the domain {name}")
    column = body.expressions[0]
    if not isinstance(column, exp.ColumnDef) or not isinstance(column.args.get("kind"), exp.DataType):
        raise Unsupported(f"the domain {name}")
    if named_of(column.args["kind"], dialect) is not None:
        raise Unsupported(f"the domain {name} over a type of the schema's")
    found = NamedType(name, sql_type(column.args["kind"], dialect), domain=True)
    for constraint in column.args.get("constraints") or ():
        found = _constrained(found, constraint)
    return _added(dialect, found)


def _constrained(found: NamedType, constraint: exp.Expr) -> NamedType:
    only(constraint, "this", "kind")
    detail = constraint.args["kind"]
    if isinstance(detail, exp.NotNullColumnConstraint):
        only(detail, "allow_null")
        return found if detail.args.get("allow_null") else replace(found, not_null=True)
    if isinstance(detail, exp.DefaultColumnConstraint):
        only(detail, "this")
        return replace(found, default=detail.this.sql(dialect="postgres"))
    if isinstance(detail, exp.CheckColumnConstraint):
        only(detail, "this", "enforced")
        return replace(found, checks=(*found.checks, (f"{found.name}_check", detail.this.sql(dialect="postgres"))))
    raise Unsupported(f"the domain {found.name} with {detail.key.upper()}")


def domain_checks(named: NamedType, column: exp.Identifier) -> Iterator[tuple[str, exp.Expr]]:
    """Its conditions over a column."""
    for name, text in named.checks:
        condition = parse_one(f"SELECT {text}", "postgres", spelling=False).expressions[0]
        for part in list(condition.find_all(exp.Column)):
            if part.name.lower() == "value" and not part.args.get("table"):
                part.replace(exp.Column(this=column.copy()))
        yield name, condition


def _added(dialect: Dialect, named: NamedType) -> Dialect:
    return replace(dialect, named=(*_without(dialect, named.name).named, named))


def _without(dialect: Dialect, name: str) -> Dialect:
    return replace(dialect, named=tuple(found for found in dialect.named if found.name != name))

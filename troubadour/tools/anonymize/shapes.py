"""What of a value is text, by its SQL type: all of it, or what an array, a row, a JSON document or an enum has. `Words`
says what stands in their place; numbers, dates and the rest stay here (`numbers` replaces some of them).

A value is as a log has it (docs/log-format.md, *Values*); inside an array or a row each stands as the product writes
it. Does not know where in a log a value stands.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeGuard

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.values.casts.cast import caster
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.families.array_text import read_array
from sql_semantics.values.families.arrays import Array, ArrayFamily, array_text
from sql_semantics.values.families.composites import Composite, CompositeFamily
from sql_semantics.values.families.enums import EnumFamily, Label
from sql_semantics.values.families.jsonb import Jsonb
from sql_semantics.values.families.record_text import read_record, record_text
from sql_semantics.values.opaque import Opaque, opaque
from sql_semantics.values.types import TEXT, Kind, SqlType, Value
from troubadour.tools.anonymize.words import Words

WORDED = frozenset({
    Kind.TEXT, Kind.JSON, Kind.JSONB, Kind.BYTES, Kind.ENUM, Kind.ARRAY, Kind.COMPOSITE, Kind.ANY, Kind.OPAQUE,
})  # fmt: skip
"""Kinds whose values are texts, or may have some."""


def has_texts(type: SqlType | None) -> TypeGuard[SqlType]:
    """Whether a value of a type goes through `Shapes`: a NULL without a type of its own does as well."""
    return type is not None and (type.kind in WORDED or type.kind is Kind.NULL)


def labels(type: SqlType) -> tuple[str, ...]:
    """The labels of an enum; () for any other type."""
    return type.family.labels if isinstance(type.family, EnumFamily) else ()


_HEXADECIMAL = re.compile(r"\\x(?:[0-9a-fA-F]{2})*")
UNTYPED = SqlType(Kind.OPAQUE)
"""What is not modelled: a text, bytes in hexadecimal digits, or JSON, by how it is written."""


class Shapes:
    """Values through `words`: first `meet` each, then, when these are settled, ask for what is `replaced`."""

    def __init__(self, words: Words, dialect: Dialect) -> None:
        self._words, self._dialect = words, dialect

    # -- values as a log has them

    def meet(self, value: Any, type: SqlType | None) -> None:
        """A value of the log. Raises Unsupported for one whose texts are not known."""
        self._walk(value, type, _Meeting(self._words))

    def replaced(self, value: Any, type: SqlType | None) -> Any:
        """What stands in its place."""
        return self._walk(value, type, self._words)

    def _walk(self, value: Any, type: SqlType | None, words: Words | _Meeting) -> Any:
        if value is None or not has_texts(type):
            return value
        if isinstance(value, str):
            return self._text(value, type, words)
        if type.kind in (Kind.JSON, Kind.JSONB) or (type.kind is Kind.OPAQUE and isinstance(value, dict | list)):
            return _tree(value, words)
        return value  # a number in a column of any class; what is redacted

    def _text(self, text: str, type: SqlType, words: Words | _Meeting) -> str:
        """A value that is written as a text."""
        family = type.family
        if isinstance(family, ArrayFamily):
            return array_text([item and self._part(item, family.item, words) for item in _read(read_array, text)])
        if isinstance(family, CompositeFamily):
            fields = _read(lambda given, may: read_record(given, len(family.fields), may), text)
            pairs = zip(fields, family.fields, strict=True)
            return record_text([field and self._part(field, kind, words) for field, (_, kind) in pairs])
        match type.kind:
            case Kind.JSON | Kind.JSONB:
                return words.document(text)
            case Kind.BYTES:
                return "\\x" + words.bytes(_octets(text)).hex()
            case Kind.OPAQUE if _HEXADECIMAL.fullmatch(text):
                return "\\x" + words.bytes(_octets(text)).hex()
        if not type.padded:
            return words.text(text)
        bare = words.text(text.rstrip(" "))
        return bare.ljust(len(text)) if text.endswith(" ") else bare

    def _part(self, text: str, type: SqlType, words: Words | _Meeting) -> str:
        return self._text(text, type, words) if type.kind in WORDED else text

    # -- literals

    def meet_constant(self, value: Value, type: SqlType) -> None:
        """A literal of a statement, bound."""
        if isinstance(value, Array) and isinstance(type.family, ArrayFamily):
            for item in value.items:
                self.meet_constant(item, type.family.item)
        elif isinstance(value, Composite) and isinstance(type.family, CompositeFamily):
            for field, (_, kind) in zip(value.fields, type.family.fields, strict=True):
                self.meet_constant(field, kind)
        elif isinstance(value, bytes):
            self._words.meet_bytes(value)
        elif isinstance(value, Jsonb) or (type.kind is Kind.JSON and isinstance(value, str)):
            self._words.meet_document(str(value))
        elif isinstance(value, str | Label | Opaque):
            self._words.meet(str(value).rstrip(" ") if type.padded else str(value))

    def literal(self, content: str, value: Value, type: SqlType) -> str | None:
        """The text that a literal has in place of `content`; None where that is not how `value` is written."""
        if isinstance(value, bytes):
            return self.replaced(content, type) if content[:2] == "\\x" and _octets(content) == value else None
        if not _same(self._as(content, type), value):
            return None
        if type.kind in (Kind.JSON, Kind.JSONB):
            self._words.meet_document(content)  # of the same keys and strings, spelled otherwise
        found = self.replaced(content, type)
        return found if isinstance(found, str) else None

    def octets(self, digits: str, value: Value) -> str | None:
        """The hexadecimal digits in place of those of a literal; None where these are not `value`."""
        if not isinstance(value, bytes) or digits.lower() != value.hex():
            return None
        return self._words.bytes(value).hex()

    def _as(self, content: str, type: SqlType) -> Value:
        if type.kind is Kind.OPAQUE:
            return opaque(content, type.name, spelled=True)
        if type.kind in (Kind.TEXT, Kind.NULL, Kind.ANY):
            return content
        try:
            convert = caster(TEXT, type, False, self._dialect)
            return content if convert is None else convert(content)
        except (SqlError, Unsupported):
            return None


class _Meeting:
    """What `Words` has, while the words are not settled yet: every text is only met."""

    def __init__(self, words: Words) -> None:
        self._words = words

    def text(self, text: str) -> str:
        self._words.meet(text)
        return text

    def document(self, text: str) -> str:
        self._words.meet_document(text)
        return text

    def bytes(self, value: bytes) -> bytes:
        self._words.meet_bytes(value)
        return value


def _same(one: Value, other: Value) -> bool:
    if isinstance(one, Opaque) and isinstance(other, Opaque):
        return one.text == other.text
    return type(one) is type(other) and one == other


def _tree(value: Any, words: Words | _Meeting) -> Any:
    """A JSON value that a log has as such, with other keys and strings."""
    if isinstance(value, str):
        return words.text(value)
    if isinstance(value, Mapping):
        return {words.text(str(key)): _tree(item, words) for key, item in value.items()}
    return [_tree(item, words) for item in value] if isinstance(value, list | tuple) else value


def _octets(text: str) -> bytes:
    try:
        return bytes.fromhex(text.removeprefix("\\x"))
    except ValueError:
        raise Unsupported("bytes that are not written in hexadecimal digits") from None


def _read(reader: Callable[[str, bool], Iterable[str | None]], text: str) -> Iterable[str | None]:
    try:
        return reader(text, False)
    except SqlError:
        raise Unsupported("an array or a row that is not written as one") from None

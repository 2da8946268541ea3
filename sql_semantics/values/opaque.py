"""Values of types that are not modelled: stored and shown as they were written.

Whether two of them are equal that are spelled differently is not known (`{"a":1}` and `{"a": 1}` as jsonb). So there
are two readings: told apart by how they are written, for a witness in which each is seen as it was stored; and not told
apart at all, for saying that there is no witness. A type whose spelling is known has an entry in `CANONICAL`, and
nothing else has to change. Does not know which columns hold them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from sql_semantics.records import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Opaque:
    """A value as it was written. `spelled`: told apart from others of its type by that."""

    text: str
    spelled: bool = False

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Opaque):
            return NotImplemented
        return not (self.spelled and other.spelled) or self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text) if self.spelled else 0

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return repr(self.text)


UNSEEN = "\0"
"""The text of a value that is not NULL and of which nothing else is known: no text of a log is equal to it."""


def opaque(value: object, type_name: str, *, spelled: bool) -> Opaque:
    """The value of a type that a log gives as JSON, or a statement as a literal's text."""
    text = value if isinstance(value, str) else json.dumps(value, default=str, sort_keys=True)
    canonical = CANONICAL.get(type_name.removeprefix("type ").partition("(")[0].strip().lower())
    return Opaque(text if canonical is None else canonical(text), spelled)


def _json(text: str) -> str:
    """PostgreSQL 8.14: jsonb keeps neither blanks nor the order of keys; of equal keys the last one stays."""
    try:
        return json.dumps(json.loads(text, parse_float=_as_written), sort_keys=True)
    except (ValueError, RecursionError):
        return text


def _as_written(number: str) -> object:
    """A number with a fraction or an exponent, which is no text of the same digits."""
    return {"": number}


CANONICAL: Mapping[str, Callable[[str], str]] = {
    "jsonb": _json,
    "inet": str.lower,
    "cidr": str.lower,
    "macaddr": str.lower,
}
"""For some types, one spelling for several of the same value; two values never get the same."""

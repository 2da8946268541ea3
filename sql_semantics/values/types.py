"""SQL types as data (DESIGN §3). Does not know any dialect's conversion rules.

Concrete values are plain Python objects: integers are `int`, NUMERIC is `decimal.Decimal`, text is `str`, BOOLEAN is
`bool`, REAL/DOUBLE is `float`, NULL is `None`.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from enum import Enum

Value = int | Decimal | str | bool | float | None
"""A concrete SQL value."""


class Kind(Enum):
    """The family a type belongs to."""

    SMALLINT = "smallint"
    INT = "int"
    BIGINT = "bigint"
    NUMERIC = "numeric"
    DOUBLE = "double"
    TEXT = "text"
    BOOLEAN = "boolean"
    NULL = "null"
    """The type of a bare NULL or of a parameter nothing is known about."""


INTEGER_KINDS = frozenset({Kind.SMALLINT, Kind.INT, Kind.BIGINT})
NUMBER_KINDS = INTEGER_KINDS | {Kind.NUMERIC, Kind.DOUBLE}


@dataclass(frozen=True, slots=True)
class SqlType:
    """A type: NUMERIC has `precision` and `scale` (both None: unconstrained), text a `length` (None: unbounded).

    `padded` marks CHAR(n), whose trailing blanks do not count.
    """

    kind: Kind
    precision: int | None = None
    scale: int | None = None
    length: int | None = None
    padded: bool = False

    def __str__(self) -> str:
        if self.kind is Kind.NUMERIC and self.precision is not None:
            return f"numeric({self.precision},{self.scale or 0})"
        if self.kind is Kind.TEXT and self.length is not None:
            return f"{'char' if self.padded else 'varchar'}({self.length})"
        return self.kind.value


SMALLINT = SqlType(Kind.SMALLINT)
INT = SqlType(Kind.INT)
BIGINT = SqlType(Kind.BIGINT)
NUMERIC = SqlType(Kind.NUMERIC)
DOUBLE = SqlType(Kind.DOUBLE)
TEXT = SqlType(Kind.TEXT)
BOOLEAN = SqlType(Kind.BOOLEAN)
NULL = SqlType(Kind.NULL)

INTEGER_RANGE = {
    Kind.SMALLINT: (-(2**15), 2**15 - 1),
    Kind.INT: (-(2**31), 2**31 - 1),
    Kind.BIGINT: (-(2**63), 2**63 - 1),
}
"""Inclusive bounds of the integer kinds; beyond them PostgreSQL and MySQL raise 22003."""

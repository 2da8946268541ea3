"""SQL types as data. Does not know any dialect's conversion rules.

Concrete values are plain Python objects: integers are `int`, NUMERIC is `decimal.Decimal`, text and JSON are `str`,
BOOLEAN is `bool`, REAL/DOUBLE is `float` (a REAL already rounded to 32 bits), DATE, TIME and TIMESTAMP are naive
`datetime` objects, TIMESTAMPTZ an aware one in UTC, INTERVAL is `Interval`, bytes are `bytes`, UUID is `uuid.UUID`,
a value of an enum is `Label`, of an array `Array`, of a composite type `Composite`, of jsonb `Jsonb` (see `families`),
of a type that is not modelled `Opaque`, NULL is `None`.
"""

from __future__ import annotations

from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from uuid import UUID

from sql_semantics.records import dataclass
from sql_semantics.values.families import Family
from sql_semantics.values.families.arrays import Array
from sql_semantics.values.families.composites import Composite
from sql_semantics.values.families.enums import Label
from sql_semantics.values.families.jsonb import Jsonb, JsonbFamily
from sql_semantics.values.opaque import Opaque


@dataclass(frozen=True, slots=True)
class Interval:
    """An interval by its three independent parts. Equality here is of all parts; SQL's compares `interval_key`."""

    months: int = 0
    days: int = 0
    microseconds: int = 0


Value = (
    int | Decimal | str | bool | float | date | time | datetime | Interval | bytes | UUID
    | Label | Array | Composite | Jsonb | Opaque | None
)  # fmt: skip
"""A concrete SQL value."""


class Kind(Enum):
    """The family a type belongs to."""

    TINYINT = "tinyint"
    SMALLINT = "smallint"
    MEDIUMINT = "mediumint"
    INT = "int"
    BIGINT = "bigint"
    HUGEINT = "hugeint"
    UTINYINT = "utinyint"
    USMALLINT = "usmallint"
    UMEDIUMINT = "umediumint"
    UINT = "uint"
    UBIGINT = "ubigint"
    NUMERIC = "numeric"
    REAL = "real"
    DOUBLE = "double"
    TEXT = "text"
    BOOLEAN = "boolean"
    DATE = "date"
    TIME = "time"
    TIMESTAMP = "timestamp"
    TIMESTAMPTZ = "timestamptz"
    INTERVAL = "interval"
    BYTES = "bytes"
    UUID = "uuid"
    JSON = "json"
    JSONB = "jsonb"
    ENUM = "enum"
    ARRAY = "array"
    ANY = "any"
    """SQLite: a number or a text, of the storage class that the value has."""
    COMPOSITE = "composite"
    OPAQUE = "opaque"
    """A type that is not modelled: its values are stored, shown and told from NULL."""
    UNKNOWN = "unknown"
    """Of a column's values nothing is known, not even which are NULL: every one of them is taken for NULL."""
    NULL = "null"
    """The type of a bare NULL or of a parameter nothing is known about."""

    __hash__ = object.__hash__  # kinds are looked up with every value; that of Enum hashes their names


INTEGER_RANGE = {
    Kind.TINYINT: (-(2**7), 2**7 - 1),
    Kind.SMALLINT: (-(2**15), 2**15 - 1),
    Kind.MEDIUMINT: (-(2**23), 2**23 - 1),
    Kind.INT: (-(2**31), 2**31 - 1),
    Kind.BIGINT: (-(2**63), 2**63 - 1),
    Kind.HUGEINT: (-(2**127), 2**127 - 1),
    Kind.UTINYINT: (0, 2**8 - 1),
    Kind.USMALLINT: (0, 2**16 - 1),
    Kind.UMEDIUMINT: (0, 2**24 - 1),
    Kind.UINT: (0, 2**32 - 1),
    Kind.UBIGINT: (0, 2**64 - 1),
}
"""Inclusive bounds of the integer kinds; beyond them PostgreSQL and MySQL raise 22003."""

INTEGER_KINDS = frozenset(INTEGER_RANGE)
UNSIGNED_KINDS = frozenset(kind for kind, (low, _) in INTEGER_RANGE.items() if low == 0)
FLOAT_KINDS = frozenset({Kind.REAL, Kind.DOUBLE})
NUMBER_KINDS = INTEGER_KINDS | FLOAT_KINDS | {Kind.NUMERIC}
EXACT_KINDS = INTEGER_KINDS | {Kind.NUMERIC}
DATETIME_KINDS = frozenset({Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMPTZ})
"""What converts into one another by adding or cutting the time of day."""
TEMPORAL_KINDS = DATETIME_KINDS | {Kind.TIME, Kind.INTERVAL}
FAMILY_KINDS = frozenset({Kind.ENUM, Kind.ARRAY, Kind.COMPOSITE, Kind.JSONB})
"""Types whose values have a class of their own: the type has a `Family`."""
UNMODELLED_KINDS = frozenset({Kind.OPAQUE, Kind.UNKNOWN})
"""What is stored and shown, and nothing else."""
_COMPARED_OTHERWISE = frozenset({Kind.REAL, Kind.DOUBLE, Kind.INTERVAL, Kind.JSON, Kind.ANY}) | UNMODELLED_KINDS
"""Kinds of which two values are equal that Python tells apart, or the other way round, or that have no equality."""


@dataclass(frozen=True, slots=True)
class ArrayShape:
    """What the items of a parameter look like that is a list: an array."""

    items: tuple[Kind, ...]


@dataclass(frozen=True, slots=True)
class SqlType:
    """A type: NUMERIC has `precision` and `scale` (both None: unconstrained), text a `length` (None: unbounded). A
    DOUBLE has a `scale` and a `name` where it is shown with so many digits.

    `padded` marks CHAR(n), whose trailing blanks do not count. For TIME, TIMESTAMP, TIMESTAMPTZ and INTERVAL
    `precision` is the number of fraction digits of a second (None: 6). A type that is not modelled has its `name`;
    `spelled`: its values are told apart by how they are written. Enums, arrays, composites and jsonb have their
    `family`. A text or an enum has a `collation`, in lower case, where that is another than the log's.
    """

    kind: Kind
    precision: int | None = None
    scale: int | None = None
    length: int | None = None
    padded: bool = False
    name: str = ""
    spelled: bool = False
    family: Family | None = None
    collation: str = ""

    @property
    def equated(self) -> bool:
        """Whether two values are equal where they are so in Python; texts without a collation of their own."""
        if self.family is not None:
            return self.family.equated
        return self.kind not in _COMPARED_OTHERWISE and not self.padded and not self.collation

    def ordered(self, by_letters: bool) -> bool:
        """Whether two values are ordered as they are in Python; `by_letters`: texts are."""
        if self.family is not None:
            return self.family.ordered(by_letters)
        return self.equated and (by_letters or self.kind is not Kind.TEXT)

    def __str__(self) -> str:
        if self.family is not None:
            return self.family.name
        if self.name:
            return self.name
        if self.kind is Kind.NUMERIC and self.precision is not None:
            return f"numeric({self.precision},{self.scale or 0})"
        if self.kind is Kind.TEXT and self.length is not None:
            return f"{'char' if self.padded else 'varchar'}({self.length})"
        if self.kind in TEMPORAL_KINDS and self.precision is not None:
            return f"{self.kind.value}({self.precision})"
        return self.kind.value


TINYINT = SqlType(Kind.TINYINT)
SMALLINT = SqlType(Kind.SMALLINT)
MEDIUMINT = SqlType(Kind.MEDIUMINT)
INT = SqlType(Kind.INT)
BIGINT = SqlType(Kind.BIGINT)
HUGEINT = SqlType(Kind.HUGEINT)
UBIGINT = SqlType(Kind.UBIGINT)
NUMERIC = SqlType(Kind.NUMERIC)
REAL = SqlType(Kind.REAL)
DOUBLE = SqlType(Kind.DOUBLE)
TEXT = SqlType(Kind.TEXT)
BOOLEAN = SqlType(Kind.BOOLEAN)
DATE = SqlType(Kind.DATE)
TIME = SqlType(Kind.TIME)
TIMESTAMP = SqlType(Kind.TIMESTAMP)
TIMESTAMPTZ = SqlType(Kind.TIMESTAMPTZ)
INTERVAL = SqlType(Kind.INTERVAL)
BYTES = SqlType(Kind.BYTES)
UUID_TYPE = SqlType(Kind.UUID)
JSON = SqlType(Kind.JSON)
JSONB = SqlType(Kind.JSONB, family=JsonbFamily())
ANY = SqlType(Kind.ANY)
SQLITE_ANY = SqlType(Kind.ANY, scale=0)
"""A column of SQLite's NUMERIC affinity that holds numbers, and texts that are none."""
NULL = SqlType(Kind.NULL)
ZEROFILL = "zerofill"
"""The name of the type of MySQL's unsigned integers that are written with zeros in front, where they become texts."""
SQLITE_NUMERIC = SqlType(Kind.DOUBLE, scale=0)
"""A column of SQLite's NUMERIC affinity that holds numbers: whole ones as integers, others as floats."""
SQLITE_NUMBER = SqlType(Kind.DOUBLE, scale=1)
"""What SQLite's CAST to NUMERIC gives: a number of the class that it had, integers among floats."""
SQLITE_DATE = SqlType(Kind.TEXT, scale=0)
"""A column of SQLite's NUMERIC affinity that holds texts that are no numbers, as its dates are written."""
SQLITE_JSON = SqlType(Kind.TEXT, scale=1)
"""A text of SQLite's that may be told from others as JSON: what its functions of JSON give."""


def charset_of(collation: str) -> str:
    """The character set of a collation of MySQL's."""
    return collation.lower().partition("_")[0]

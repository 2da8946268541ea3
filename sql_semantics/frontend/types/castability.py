"""Which conversions a product makes by itself, on storing, and on request. Does not know how.

Sources: PostgreSQL's pg_cast and manual 10.1 to 10.4, MySQL 14.3 and 14.10, SQLite "Datatypes" 3 and 4, DuckDB
"Typecasting". Where a mismatch is no error, what is not listed is refused.
"""

from __future__ import annotations

from sql_semantics.products.rules import TypeRules
from sql_semantics.values.families.arrays import ArrayFamily
from sql_semantics.values.families.composites import CompositeFamily
from sql_semantics.values.types import (
    DATETIME_KINDS,
    FAMILY_KINDS,
    FLOAT_KINDS,
    INTEGER_KINDS,
    INTEGER_RANGE,
    NUMBER_KINDS,
    TEMPORAL_KINDS,
    Kind,
    SqlType,
)

_ORDER = [Kind.SMALLINT, Kind.INT, Kind.BIGINT, Kind.NUMERIC, Kind.REAL, Kind.DOUBLE]
_MOMENTS = [Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMPTZ]
_STORED_BY_TEXT = NUMBER_KINDS | TEMPORAL_KINDS | {Kind.BYTES, Kind.UUID, Kind.JSON, Kind.BOOLEAN}
_ANY = NUMBER_KINDS | {Kind.TEXT, Kind.ANY}
_DOWN = {
    (Kind.TIMESTAMP, Kind.DATE), (Kind.TIMESTAMP, Kind.TIME), (Kind.TIMESTAMPTZ, Kind.DATE),
    (Kind.TIMESTAMPTZ, Kind.TIME), (Kind.TIMESTAMPTZ, Kind.TIMESTAMP), (Kind.INTERVAL, Kind.TIME),
}  # fmt: skip


def alike(source: SqlType, target: SqlType) -> bool:
    """Whether two enums, arrays or the like are one type, whatever lengths and precisions say of items."""
    if isinstance(source.family, ArrayFamily) and isinstance(target.family, ArrayFamily):
        one, other = source.family.item, target.family.item
        return one.kind is other.kind and (one.kind not in FAMILY_KINDS or alike(one, other))
    return source.family == target.family


def same_fields(one: CompositeFamily, other: CompositeFamily) -> bool:
    """Whether rows of two types have fields of the same types, whatever these are called."""
    pairs = zip(one.fields, other.fields, strict=False)
    return len(one.fields) == len(other.fields) and all(
        first.kind is second.kind and (first.kind not in FAMILY_KINDS or alike(first, second))
        for (_, first), (_, second) in pairs
    )


def implicit(source: SqlType, target: SqlType, rules: TypeRules) -> bool:
    """Whether an argument of one type is converted to the other without being asked."""
    first, second = source.kind, target.kind
    if first is second:
        return first not in FAMILY_KINDS or alike(source, target)
    if rules.implicit_casts == "into most":
        return _into_most(first, second)
    if rules.implicit_casts == "of numbers":
        return (first in INTEGER_KINDS and second in (Kind.BIGINT, Kind.DOUBLE, Kind.INT)) or (
            first in NUMBER_KINDS | {Kind.ANY} and second is Kind.TEXT
        )
    if first in _MOMENTS and second in _MOMENTS:
        return _MOMENTS.index(first) < _MOMENTS.index(second)
    if rules.implicit_casts == "upwards":
        if first in _ORDER and second in _ORDER:
            return _ORDER.index(first) < _ORDER.index(second)
        return rules.times_are_intervals and (first, second) == (Kind.TIME, Kind.INTERVAL)
    if first in INTEGER_KINDS and second in INTEGER_KINDS:
        (low, high), inside = INTEGER_RANGE[second], INTEGER_RANGE[first]
        return low <= inside[0] and inside[1] <= high
    return first in NUMBER_KINDS and second is Kind.DOUBLE


def _into_most(first: Kind, second: Kind) -> bool:
    if second is Kind.TEXT:
        return first in INTEGER_KINDS | {Kind.NUMERIC, Kind.JSON} | TEMPORAL_KINDS
    if second is Kind.DOUBLE:
        return first in NUMBER_KINDS or first is Kind.TEXT
    if second is Kind.INT or second is Kind.BIGINT:
        return first in INTEGER_KINDS
    return second is Kind.TIMESTAMP and first in DATETIME_KINDS | {Kind.TEXT}


def storable(source: SqlType, target: SqlType, rules: TypeRules) -> bool:
    """Whether a value of one type may be stored into a column of the other."""
    first, second = source.kind, target.kind
    if isinstance(source.family, ArrayFamily) and isinstance(target.family, ArrayFamily):
        return storable(source.family.item, target.family.item, rules)
    if implicit(source, target, rules):
        return True
    if {first, second} == {Kind.JSON, Kind.JSONB}:
        return True
    if first is second and first in FAMILY_KINDS:
        return False
    if rules.enums_are_texts and {first, second} == {Kind.TEXT, Kind.ENUM}:
        return True
    numbers = first in NUMBER_KINDS and second in NUMBER_KINDS
    if rules.assignment_casts == "to texts":
        return numbers or second is Kind.TEXT or (first, second) in _DOWN
    if rules.assignment_casts == "from texts":
        if first is Kind.TEXT:
            return second in NUMBER_KINDS | {Kind.BYTES, Kind.DATE, Kind.TIME, Kind.TIMESTAMP, Kind.TIMESTAMPTZ}
        return numbers or (first in DATETIME_KINDS and second in DATETIME_KINDS)
    if rules.assignment_casts == "by affinity":
        return numbers or (first is Kind.TEXT and second in NUMBER_KINDS) or (first in _ANY and second is Kind.ANY)
    if first is Kind.TEXT:
        return second in _STORED_BY_TEXT - {Kind.JSON}
    moments = (first, second) in ((Kind.DATE, Kind.TIMESTAMP), (Kind.TIMESTAMP, Kind.DATE))
    return numbers or second is Kind.TEXT or moments or (first in INTEGER_KINDS and second is Kind.BOOLEAN)


def castable(source: SqlType, target: SqlType, rules: TypeRules) -> bool:
    """Whether CAST turns one type into the other."""
    first, second = source.kind, target.kind
    if storable(source, target, rules):
        return True
    if isinstance(source.family, ArrayFamily) and isinstance(target.family, ArrayFamily):
        return castable(source.family.item, target.family.item, rules)
    if rules.explicit_casts == "from texts":
        if first is Kind.TEXT:
            return second in _STORED_BY_TEXT | FAMILY_KINDS
        return {first, second} == {Kind.BOOLEAN, Kind.INT}
    if rules.explicit_casts == "floats to texts":
        return first in FLOAT_KINDS and second is Kind.TEXT
    if rules.explicit_casts == "texts to bytes":
        return {first, second} == {Kind.TEXT, Kind.BYTES} and second is Kind.BYTES
    return {first, second} <= NUMBER_KINDS | {Kind.BOOLEAN} and not (second in FLOAT_KINDS or second is Kind.NUMERIC)

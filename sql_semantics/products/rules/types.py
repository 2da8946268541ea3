"""What products differ in: how types are found, coerced and compared before a statement runs (`frontend.types`).

Each field is a capability or a choice that every product answers, with the manual's section where one says it. Does not
know which product answers how.
"""

from __future__ import annotations

from typing import Literal

from sql_semantics.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeRules:
    """See the module."""

    mismatch_is_error: bool
    """Whether types that no operator, function or column takes together are an error (PostgreSQL 10.2 to 10.4), and
    no conversion of the product's."""

    ambiguity_error: str | None
    """The SQLSTATE of untyped operands and arguments that leave several candidates (PostgreSQL 10.2, 10.3). None:
    one is chosen."""

    untyped_texts_convert: bool
    """Whether a text literal takes the type that it meets, and is an error where it is no value of it (PostgreSQL
    4.1.2.7, 10.2)."""

    picks_untyped_types: bool
    """Whether functions and operators give untyped arguments types of their own choice."""

    texts_become_numbers: bool
    """Whether a text among numbers is the number that it begins with (MySQL 14.3), and one among dates a date."""

    enums_are_texts: bool
    """Whether an enum is a text wherever it is computed with, and its place among the labels is what sorts it (MySQL
    11.3.5)."""

    booleans_are_integers: bool
    """Whether a truth value is a number (MySQL 14.4: 1, 0 or NULL; SQLite likewise)."""

    null_operand: Literal["of other", "double", "by other"]
    """What an operator takes a bare NULL for: a value of the other operand's type, a double whatever the other is,
    or what hangs on the other: untyped beside a DECIMAL, of its type beside a date."""

    values_have_classes: bool
    """Whether a value is of a class of its own, whatever its column's type: an integer stays one among floats,
    numbers and texts compare by their classes (SQLite "Datatypes" 2 and 4.2)."""

    arithmetic: Literal["of types", "widest", "of values", "of widths"]
    """What numbers an operator gives: those of the wider type, with DECIMALs of any length (PostgreSQL 9.3);
    BIGINT, DOUBLE or a DECIMAL with room for every digit (MySQL 14.6.1, 14.19.1); what the values are (SQLite
    "Expressions" 3); those of the wider type, with DECIMALs of so many digits as it takes, up to 38 (DuckDB's
    binder)."""

    division_is_double: bool
    """Whether ``/`` divides in floating point, whatever its operands are."""

    reals_compute_as_doubles: bool
    """Whether a REAL that is computed with is a DOUBLE."""

    real_among_exact: Literal["real", "real in common", "double"]
    """What a REAL becomes among exact numbers: it stays one, does so in CASE and the like but not in operators, or
    is a DOUBLE."""

    has_intervals: bool
    """Whether intervals are values, and dates and times have operators."""

    times_are_intervals: bool
    """Whether a TIME converts to an interval by itself, so that TIME + TIME may mean two things."""

    extremes_of_anything: bool
    """Whether MIN and MAX take truth values, UUIDs and bytes."""

    sums: Literal["numeric", "wider", "of values", "huge"]
    """What SUM and AVG give: NUMERIC, of small integers BIGINT (PostgreSQL 9.21); a DECIMAL with more digits (MySQL
    14.19.1); an integer and a double; HUGEINT or a DECIMAL of 38 digits, and a double."""

    computed_digits_show: bool
    """Whether a quotient or an average has more digits than its DECIMAL type, which comparisons see and sort keys
    do not (MariaDB 10.11's make_sortkey)."""

    implicit_casts: Literal["upwards", "into most", "of numbers", "into ranges"]
    """What arguments convert to by themselves: types further up among numbers and moments (PostgreSQL's pg_cast);
    texts and doubles from nearly anything (MySQL 14.3); numbers to numbers and texts (SQLite "Datatypes" 3);
    integer types that hold theirs, doubles, later moments (DuckDB "Typecasting")."""

    assignment_casts: Literal["to texts", "from texts", "by affinity", "by content"]
    """What is converted beyond that where it is stored: numbers among each other, anything to texts, moments
    downwards (PostgreSQL 10.4); texts to numbers and moments (MySQL 11.1); texts to numbers (SQLite "Datatypes"
    3); texts to anything, anything to texts (DuckDB "Typecasting")."""

    explicit_casts: Literal["from texts", "floats to texts", "texts to bytes", "among numbers"]
    """What CAST converts beyond that: texts to anything, truth values and integers (PostgreSQL's pg_cast); floats
    to texts (MySQL 14.10); texts to bytes (SQLite "Datatypes" 4); numbers and truth values among each other
    (DuckDB "Typecasting")."""

    moments_read_when_stored: bool
    """Whether a text that is stored as a date or time is read when it is stored, so that the error comes then."""

    integer_overloads: bool
    """Whether functions of integers are of one width each, to which their arguments are converted."""

    functions_see_padding: bool
    """Whether some functions of texts see the blanks that CHAR pads with."""

    integers_stay_among_decimals: bool
    """Whether an integer parameter that meets a DECIMAL is an integer."""

    integer_literals_adapt: bool
    """Whether an integer literal is of the integer type that it meets, if it fits."""

    booleans_among_integers: bool
    """Whether truth values that meet integers become 1 and 0."""

    decimals_among_decimals: Literal["no scale", "no scale compared", "most digits"]
    """The common type of DECIMALs: without a scale, so where they are compared, or with the most digits on either
    side."""

    decimal_precision: int | None
    """The digits that the common type of DECIMALs has at most. None: without limit."""

    common_decimals: Literal["as they are", "converted", "rescaled"]
    """What becomes of the items of CASE and the like whose common type is a DECIMAL: they keep their digits, are
    converted to it, or get its places, comparisons included."""

    common_texts: Literal["first", "padded if all are"]
    """The common type of texts in CASE and the like: the first one's (PostgreSQL 10.5), or CHAR if all are."""

    varchars_compare_padded: bool
    """Whether a VARCHAR(n) beside a CHAR is compared as one (PostgreSQL 10.2)."""

    common_precision: Literal["if shared", "most", "most of one kind"]
    """The precision of a common type: one that all have (PostgreSQL 10.5), the greatest, or that where all are of
    one kind."""

    texts_among_others: Literal["converted", "make texts", "converted when taken", "stay texts"]
    """Untyped texts in CASE and the like beside other types: they take their type, make texts of the others (MySQL
    14.5), are converted where they are taken, or stay what they are."""

    nulls_alone: Literal["text", "unknown", "integer"]
    """The type of CASE and the like of nothing but NULL: a text (PostgreSQL 10.5), one that is not known, or none,
    so that it may stand for a number."""

    equates_json: bool
    """Whether values of JSON have equality and an order."""

    between_types: Literal["each", "one", "one unless text"]
    """The types by which BETWEEN compares: one for each bound, one of its own choice for all three, or that if a
    text is compared."""

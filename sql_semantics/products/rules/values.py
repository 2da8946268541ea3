"""What products differ in: what values are and become: casts, arithmetic, functions (`values`).

Each field is a capability or a choice that every product answers, with the manual's section where one says it. Does not
know which product answers how.
"""

from __future__ import annotations

from typing import Literal

from sql_semantics.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class FloatText:
    """How a floating-point number is printed."""

    digits: Literal["shortest", "fifteen"]
    """The fewest digits that tell the number, or fifteen significant ones."""
    nan: str
    infinity: str
    """The words for what is no finite number; empty where its text is not modelled."""
    point: bool
    """Whether a whole number is printed with a fraction: 1.0."""
    scientific: tuple[int, int]
    """From which power of ten on a DOUBLE, and a REAL, is printed with an exponent."""
    large_reals: bool
    """Whether the text of a REAL of 1e7 and more is modelled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueRules:
    """See the module."""

    # What types are.
    dates_lack_parts: bool
    """Whether a date may have no year, month or day (MySQL 11.2.2)."""
    affinities: bool
    """Whether types of columns are affinities, which hold values of any type, so that integers stand among
    floating-point numbers (SQLite 3.4)."""
    types_by_value: bool
    """Whether a parameter is of the type of its value, whatever it meets."""
    reads_untyped_texts: bool
    """Whether drivers send texts without a type, which the server reads as the type that it finds for them."""
    integers_of_64_bits: bool
    """Whether every integer type holds 64 bits, whatever its name."""
    narrow_arithmetic: bool
    """Whether arithmetic and sums of integers must stay within their own type; elsewhere within 64 bits."""
    overflow_to_double: bool
    """Whether integer arithmetic goes on in floating point where it leaves 64 bits, which is not modelled."""
    exact_decimals: bool
    """Whether NUMERIC holds exact decimal numbers."""
    hides_digits: bool
    """Whether a decimal number may have more digits in computing than its type shows, and plan and version decide which
    of them count (MySQL 14.24)."""
    collations: Literal["code_points", "deterministic", "named"]
    """How text compares where no collation tells: by code points; equality by them, order unknown; as the collation's
    name says."""
    has_dates: bool
    """Whether there are types for dates and times."""
    has_intervals: bool
    """Whether intervals are values that have texts."""
    has_json: bool
    """Whether there is a type json that keeps its text (PostgreSQL 8.14)."""
    has_families: bool
    """Whether there are enums, arrays, composites and jsonb (PostgreSQL 8.7, 8.14 to 8.16)."""
    has_uuids: bool
    """Whether UUIDs are values that have texts."""

    # Casts.
    lengths_bind: bool
    """Whether a text is cut or refused by the length of its type."""
    casts_clamp: bool
    """Whether an explicit CAST brings a number beyond the type's range into it, by its bits or to the nearest end
    (MySQL 14.10)."""
    bad_number: str | None
    """The error of a text that is no number, with `text` and `target`; None: what it gives is not modelled."""
    integer_texts: Literal["digits", "decimals", "stored_decimals", "prefixes"]
    """Which texts become integers: digits alone; decimal numbers, too, rounded; those only where they are stored; the
    digits that a text begins with."""
    cuts_floats: bool
    """Whether a floating-point number becomes an integer by being cut, to the nearest end where it is too large;
    elsewhere it is rounded."""
    infinity_overflows: bool
    """Whether NaN and infinity are out of an integer's range; elsewhere what they become is not modelled."""
    decimal_of_float: Literal["significant", "shortest"] | None
    """A floating-point number as a decimal: 15 significant digits (6 of a REAL), or the fewest that tell it; None: not
    modelled."""
    float_words: bool
    """Whether texts like NaN and Infinity are floating-point numbers (PostgreSQL 8.1.3)."""
    underflow_fails: bool
    """Whether a number too small for a floating-point type is an error; elsewhere it is not modelled."""
    casts_truth_to_float: bool
    """Whether a truth value becomes a floating-point number."""
    truth_texts: Literal["beginnings", "words"] | None
    """Which texts are truth values: beginnings of words with blanks around them (PostgreSQL 8.6), or whole words; None:
    what texts are as truth values is not modelled."""
    zero_dates: bool
    """Whether there are dates with zeros as month and day, which are not modelled (MySQL 13.2)."""
    bad_uuids_fail: bool
    """Whether a text that is no UUID is an error (PostgreSQL 8.12); elsewhere it is not modelled."""
    bad_dates_fail: Literal["always", "stored"]
    """Whether a text that is no date is an error, or only where it is stored, and not as a time of day."""
    instants_of_32_bits: bool
    """Whether an instant is a number of seconds from 1970 to 2038 (MySQL 13.2.2)."""
    casts_times: bool
    """Whether times of day become dates and times, and they become these."""
    cuts_fractions_by_server: bool
    """Whether the products of this dialect differ in whether fractions of a second are rounded or cut."""
    casts_times_to_intervals: bool
    """Whether a time of day becomes an interval."""
    bytes_of_text: Literal["hexadecimal", "escaped", "encoded"]
    """The bytes that a text stands for: hexadecimal digits after a sign (PostgreSQL 8.4), escapes of single bytes, or
    the text as it is encoded."""

    # Texts of values.
    float_text: FloatText | None
    """How a floating-point number is printed; None: not modelled."""
    declared_digits: bool
    """Whether a decimal number is printed with all the digits that its type declares."""
    declared_fractions: bool
    """Whether fractions of a second are printed with all the digits that their type declares."""
    truth_words: tuple[str, str]
    """How a truth value is printed, TRUE and FALSE."""
    bytes_in_hexadecimal: bool
    """Whether bytes are printed, in hexadecimal (PostgreSQL 8.4.1)."""
    short_intervals: bool
    """Whether an interval is printed with short names of units and signs in front of what follows a negative part
    (PostgreSQL 8.5.5)."""

    # Operators.
    zero_divisor: Literal["error", "null"] | None
    """What division by zero gives outside of strict writes; None: the version decides."""
    null_quotients_before: tuple[int, ...] | None
    """The version before which ``//`` and ``%`` of zero are NULL, where the version decides; from there on it is not
    modelled."""
    nan_over_zero: bool
    """Whether NaN divided by zero is NaN."""
    decimal_division: Literal["significant", "increments"] | None
    """The digits of a quotient of decimals: at least sixteen significant ones (PostgreSQL, numeric.c), or four more
    than the dividend has (MySQL 14.6.1); None: decimals have no exact quotient."""
    signed_zero_remainders: bool
    """Whether a remainder of decimals may be a zero that is less than zero, which is not modelled."""
    divides_to_integers: bool
    """Whether DIV of decimals is modelled (MySQL 14.6.1)."""
    float_overflow: Literal["fails", "fails_in_sums"] | None
    """Whether floating-point arithmetic beyond its range is an error, always or in sums and differences; None, and in
    the rest: not modelled."""
    shifts: Literal["modulo_width", "unsigned", "either_way", "checked"]
    """How << and >> take their count: modulo the width; on 64 bits without a sign; a negative one the other way;
    refused where bits are lost."""
    double_pipe_joins: bool
    """Whether || joins texts, whatever the settings (MySQL 7.1.11: as sql_mode says)."""
    like_escape: str
    """What takes a character of a LIKE pattern for itself without ESCAPE; empty for nothing."""

    trailing_escape: Literal["fails where reached", "itself", "never matches", "unknown"]
    """What an escape character is that ends the pattern of LIKE: an error of a match that comes there with some of the
    text left; a character like another; what nothing is like; or nothing that is read here."""
    like_ignores_case: bool
    """Whether LIKE takes letters of both cases for equal by default (SQLite, Core Functions)."""
    extremes_skip_nulls: bool
    """Whether GREATEST and LEAST leave NULLs out of account; elsewhere one of them makes the result NULL."""

    # Functions.
    concat_skips_nulls: bool
    """Whether concat() leaves NULLs out; elsewhere one of them makes the result NULL."""
    ascii_case_only: bool
    """Whether lower() and upper() leave letters beyond ASCII alone; elsewhere these are not modelled."""
    trims_whole_texts: bool
    """Whether TRIM's second argument is a text as a whole; elsewhere a set of characters."""
    substrings: Literal["clipped", "from_inside", "from_zero"]
    """Where a substring begins: at the place given, what stands before the text being empty; inside the text or there
    is none, counted from the end where it is negative; as that, but 0 stands before the text."""
    counts_from_other_end: bool
    """Whether left() and right() with a negative count take all but so many characters; elsewhere nothing."""
    odd_padding: Literal["text", "null", "cut"]
    """What lpad() and rpad() give for a negative length, and with nothing to pad with: nothing and the text; NULL and
    what is not modelled; nothing and what is not modelled."""
    searches_by_collation: bool
    """Whether a text is searched for a part as the collation compares."""
    ascii_of_bytes: bool
    """Whether ascii() gives the first byte; elsewhere the first character's code."""
    bad_codes_fail: bool
    """Whether chr() of what is no character is an error; elsewhere it is not modelled."""
    rounding_keeps_digits: Literal["all", "decimals"] | None
    """Of which numbers round() and trunc() never append digits to those that there are; None: of none."""
    rounding_overflows: bool
    """Whether round() beyond the range of an integer is an error; elsewhere it is not modelled."""
    mod_by_zero_fails: bool
    """Whether the function mod() by zero is an error; elsewhere it is not modelled."""
    root_of_negative: Literal["error", "null"] | None
    """What sqrt() of a negative number gives; None: it is not modelled."""
    power_errors: Literal["all", "overflow"] | None
    """What power() gives errors for: all that has no result or none in range, or one that is too large; None, and the
    rest: not modelled."""
    interval_overflows: bool
    """Whether intervals beyond their range are an error; elsewhere they are not modelled."""
    strict_writes: bool
    """Whether what is a warning elsewhere is an error within INSERT, UPDATE and DELETE (MySQL 7.1.11, strict mode)."""

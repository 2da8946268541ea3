"""What products differ in: which expressions are read and how they are bound (`frontend.expressions`).

Each field is a capability or a choice that every product answers, with the manual's section where one says it. Does not
know which product answers how.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from sql_semantics.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpressionRules:
    """See the module."""

    named_aggregates: tuple[tuple[str, str], ...]
    """Aggregates that the parser knows by name only, and what they are."""

    has_statistics: bool
    """Whether variances, percentiles and the commonest value are those of PostgreSQL."""

    spreads_are_shown: bool
    """Whether variances are doubles that are shown with so many digits more than what they are of (MySQL)."""

    folds_bits: bool
    """Whether BIT_AND, BIT_OR and BIT_XOR are of 64 bits, those of no rows too (MySQL 14.19.1)."""

    formats_numbers: bool
    """Whether FORMAT writes a number with so many digits (MySQL 14.8)."""

    misuse_is_error: bool
    """Whether an aggregate or a window function where none may stand is an error whose SQLSTATE is known."""

    aggregates_belong: Literal["by all", "by all, outwards", "by what is read", "by one part"]
    """The query whose rows an aggregate is of: the innermost one of which it has a column; likewise, but one
    further out if a subquery in it reads that; the innermost one of which a column is surely read; or that of
    one part, FILTER or the rest."""

    aggregates_filter: bool
    """Whether aggregates take FILTER."""

    aggregates_order: Literal["all", "texts", "none"]
    """Which aggregates take ORDER BY: all, GROUP_CONCAT only, or none in every version."""

    counts_unseen: bool
    """Whether COUNT does not compute what it knows not to be NULL."""

    counts_combinations: bool
    """Whether COUNT(DISTINCT a, b) counts combinations (MySQL 14.19.1)."""

    lists_values: bool
    """Whether aggregates of arrays and JSON are modelled."""

    distinct_takes_one: bool
    """Whether an aggregate with DISTINCT has one argument only, no delimiter beside it."""

    joins_texts_only: bool
    """Whether string_agg takes texts only, and needs its delimiter."""

    null_delimiters: bool
    """Whether string_agg takes NULL for a delimiter, as none."""

    has_grouping: bool
    """Whether GROUPING is modelled (PostgreSQL 9.21)."""

    small_ordinals: bool
    """Whether GROUPING and NTILE give an INT; else a BIGINT."""

    windows_see_aliases: bool
    """Whether windows may use aliases of the select list in some version."""

    frames_exclude: bool
    """Whether frames take GROUPS and EXCLUDE."""

    distances_by_row: bool
    """Whether the distance of LAG, LEAD and their kin is computed for each row."""

    windows_distinct: bool
    """Whether an aggregate over a window takes DISTINCT."""

    windows_join_texts: bool
    """Whether string_agg or GROUP_CONCAT stands over a window."""

    frames_forget_filters: bool
    """Whether MIN and MAX over a frame that moves are looked up among all of its rows, whatever FILTER says (SQLite
    3.40.1)."""

    ranks_without_order: bool
    """Whether rankings and neighbours do without ORDER BY."""

    rankings_take_frames: bool
    """Whether a ranking takes a frame, which means nothing."""

    exact_ranks: bool
    """Whether PERCENT_RANK and CUME_DIST are as near as doubles come."""

    neighbours_have_defaults: bool
    """Whether LAG and LEAD take a default."""

    has_arrays: bool
    """Whether arrays are values (PostgreSQL 8.15)."""

    has_rows: bool
    """Whether rows are values (PostgreSQL 4.2.13, 8.16)."""

    has_jsonb: bool
    """Whether JSON is a type with functions that make it and operators (PostgreSQL 9.16)."""

    types_as_functions: Mapping[str, str]
    """Types by whose names a value is converted as by a function, and how a cast spells them (PostgreSQL 4.2.9)."""

    json_is_text: bool
    """Whether JSON is a text that functions know for JSON (SQLite "JSON Functions" 3.4)."""

    cast_targets: frozenset[str] | None
    """The types that CAST takes, as the parser calls them (MySQL 14.10). None: all that columns have."""

    moment_literals: bool
    """Whether TIMESTAMP '...' and TIME '...' are literals with the digits that they are written with, and no casts
    (MySQL 11.1.3)."""

    casts_of_texts: Literal["whole", "checked beginning", "beginning"]
    """What CAST reads of a text that is to be a number: all of it, its beginning with an error where it is stored
    (MySQL 14.3), or its beginning (SQLite "CAST")."""

    pipes_join_texts: bool
    """Whether ``||`` joins texts."""

    has_integer_division: bool
    """Whether there is an operator of integer division."""

    interval_is_syntax: bool
    """Whether INTERVAL n unit is a part of sums and calls, and no value (MySQL 14.7)."""

    plus_takes_null: bool
    """Whether a unary plus takes a bare NULL."""

    at_is_operator: bool
    """Whether ``@`` is an operator, outside of procedures."""

    has_time_zones: bool
    """Whether AT TIME ZONE is modelled, with the zones of the tz database (PostgreSQL 9.9.4)."""

    regex_by_collation: bool
    """Whether the collation says if a regular expression tells case apart (MySQL 14.8.2)."""

    has_regex_operators: bool
    """Whether operators match regular expressions (PostgreSQL 9.7.3, MySQL 14.8.2)."""

    has_xor: bool
    """Whether XOR is a connective (MySQL 14.4.3)."""

    truths: Literal["booleans", "numbers", "casts"]
    """What conditions take beside truth values: nothing, numbers and texts that begin with one, or numbers and
    texts that cast to a truth value."""

    case_of_literals: bool
    """Whether CASE of an untyped literal compares texts (PostgreSQL 10.5)."""

    niladic_functions: frozenset[str]
    """Functions that need no parentheses and that the parser takes for columns."""

    random_integers: bool
    """Whether random() gives an integer; else a double."""

    moments_are_texts: bool
    """Whether functions that tell the time give texts."""

    uuids_are_texts: bool
    """Whether functions that make a UUID give a text."""

    extremes_need_two: bool
    """Whether GREATEST and LEAST take two arguments at least."""

    nullif: Literal["as compared", "text literals", "text literals of texts", "own"]
    """The type of NULLIF: what the comparison converts the first argument to (PostgreSQL 9.18.3); the first
    argument's own, a text for a text literal; likewise, but a text literal is compared with texts only; or its
    own whatever it is."""

    has_position: bool
    """Whether POSITION is a function."""

    time_units: frozenset[str] | None
    """The units of time that are modelled (MySQL 14.7). None: each function says which."""

    times_lack_dates: bool
    """Whether EXTRACT of a TIME gives 0 for parts of the date, or those of today."""

    texts_become_moments: bool
    """Whether a text literal where a date is expected is the DATE or DATETIME that it looks like."""

    trims_characters: bool
    """Whether TRIM and its kin, called by name and a list, take the characters to be trimmed."""

    mod_is_remainder: bool
    """Whether mod(a, b) is a % b, with its types."""

    keyworded_functions: frozenset[str]
    """Names of our tables that are no functions, or none that is called by its name and a list."""

    separators_are_texts: bool
    """Whether concat_ws needs a text for its separator."""

    booleans_shown_by_letter: bool
    """Whether concat shows truth values as t and f."""

    arguments_are_stored: bool
    """Whether an argument is converted to its parameter's type like a stored value; else by implicit casts only."""

    argument_count_error: str | None
    """The SQLSTATE of a call of a user's routine with too many or too few arguments. None: not modelled."""

    one_routine_namespace: bool
    """Whether procedures and functions are of one namespace, so that a procedure is found where a function is
    called."""

    void_functions: bool
    """Whether functions may do without a result."""

    tests_unknown: bool
    """Whether IS UNKNOWN takes truth values only."""

    null_tests_miss: bool
    """Whether IS NULL of ANY, ALL and comparisons of rows may be false where they are NULL (MariaDB 10.11)."""

    in_takes_tables: bool
    """Whether x IN t reads a table."""

    in_takes_empty_lists: bool
    """Whether IN takes an empty list."""

    has_between_symmetric: bool
    """Whether BETWEEN SYMMETRIC is read."""

    has_ilike: bool
    """Whether ILIKE is read."""

    column_count_error: str | None
    """The SQLSTATE of a row or a subquery with another number of columns than expected. None: not modelled."""

    rows_compare_as_structs: bool
    """Whether rows compare in a total order, with NULL behind everything else."""

    has_quantifiers: bool
    """Whether ANY and ALL are read."""

    returning_takes_subqueries: bool
    """Whether RETURNING takes subqueries."""

    row_subqueries: bool
    """Whether a subquery of several columns may be an operand of a comparison."""

    null_subqueries_untyped: bool
    """Whether a subquery of a bare NULL is of no type beside others."""

    in_takes_limits: bool
    """Whether a subquery of IN, ANY or ALL takes LIMIT."""

    loses_subtractions: bool
    """Whether INTERSECT and EXCEPT in a subquery of a predicate may lose rows of NULL, or not be empty though they
    are (MariaDB 10.11)."""

    correlated_row_in: bool
    """Whether (a, b) IN (query) may read outer columns."""

    correlated_in_misses: bool
    """Whether IN of a subquery that reads outer columns may lose rows beside a subquery of its own (DuckDB 2.0)."""

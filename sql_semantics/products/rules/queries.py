"""What products differ in: how queries are bound (`frontend.queries`).

Each field is a capability or a choice that every product answers, with the manual's section where one says it. Does not
know which product answers how.
"""

from __future__ import annotations

from typing import Literal

from sql_semantics.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryRules:
    """See the module."""

    dual: bool
    """Whether FROM DUAL is a table of no columns and one row (MySQL 15.2.13)."""

    comma_binds_as_join: bool
    """Whether a comma in FROM joins as JOIN does, in the order of the text, instead of after all JOINs (SQLite,
    SELECT)."""

    full_join: bool
    """Whether there is FULL JOIN."""

    cross_join_is_join: bool
    """Whether CROSS JOIN and JOIN are one thing, with a condition or without (MySQL 15.2.13.2; SQLite, SELECT)."""

    nests_joins_bare: bool
    """Whether a join may stand inside a join without parentheses: ``a LEFT JOIN b JOIN c ON ... ON ...``."""

    natural_join_without_columns: bool
    """Whether NATURAL JOIN of tables without a common column is their product."""

    on_beside_union_reads_outer: bool
    """Whether ON in a branch of a UNION surely finds the columns of a query further out (MariaDB does not)."""

    outer_joins_read_rounded_keys: bool
    """Whether a column that is equated with a constant is read as that constant below an outer join, with digits that
    it has not: only MySQL's and MariaDB's plans tell."""

    on_sees_beyond_comma: bool
    """Whether ON may see what stands before the comma (DuckDB; how is not modelled)."""

    full_join_needs_equality: bool
    """Whether FULL JOIN wants an equality between both sides (PostgreSQL: 0A000 otherwise)."""

    using_in_parentheses: bool
    """Whether the columns of USING and NATURAL in a join in parentheses are those of any other join."""

    aliases_joins: bool
    """Whether a join in parentheses may have an alias, which hides the names inside (PostgreSQL 7.2.1.2)."""

    ambiguous_using_error: str | None
    """SQLSTATE of USING with a column that one side has twice; None: not modelled."""

    using_columns: Literal["first", "in place", "kept side first"]
    """Where SELECT * shows the columns of USING: before all others, in the place of the left side's, or before all
    others in the order of the side that keeps its rows, which comes first."""

    aliases_columns_in_from: bool
    """Whether a FROM item's alias may name its columns (MySQL's may, MariaDB's may not)."""

    knows_constants_of_derived: bool
    """Whether a column of a query in FROM that is a constant there is known as one above it."""

    column_alias_count_error: str | None
    """SQLSTATE of more column aliases than columns; None: not modelled."""

    unnamed_derived_error: str | None
    """SQLSTATE of a query in FROM without an alias; None: it needs none."""

    derives_values_and_outer_reads: bool
    """Whether VALUES, and queries that read outer columns, may stand in FROM (MySQL and MariaDB each know one of
    these)."""

    repeats_derived_columns: bool
    """Whether a query in FROM may have two columns of one name, which fails only where that name is used."""

    repeated_derived_column_error: str | None
    """SQLSTATE of such a query where it is refused; None: not modelled."""

    unnest_in_from: bool
    """Whether unnest() in FROM is modelled (PostgreSQL 7.2.1.4, 9.19)."""

    opaque_outputs: bool
    """Whether the product's aggregates and functions that give several rows are all known here by their names."""

    json_recordsets: bool
    """Whether there is jsonb_to_recordset() (PostgreSQL 9.16)."""

    lateral: bool
    """Whether LATERAL is modelled."""

    generate_series: bool
    """Whether generate_series() in FROM is modelled."""

    series_are_bigint: bool
    """Whether generate_series() gives bigint, whatever it is given (DuckDB)."""

    star_without_tables_error: str
    """SQLSTATE of SELECT * without FROM."""

    outer_stars: bool
    """Whether t.* may name a table of a query further out."""

    star_of_unknown_table_error: str
    """SQLSTATE of t.* where FROM has no t."""

    names_outputs_by_functions: bool
    """Whether an output without an alias is named after its column, field or function, seen through casts and the ELSE
    of a CASE, and not by its text."""

    star_changes: bool
    """Whether ``*`` may leave columns out (EXCLUDE) or show something else in place of one (REPLACE), and whether
    GROUP BY ALL and ORDER BY ALL stand for what is selected (DuckDB, "Friendly SQL")."""

    qualify: bool
    """Whether there is QUALIFY."""

    grouping_error: str | None
    """SQLSTATE of what grouping forbids: a column that is not grouped by, an aggregate among the keys, GROUPING of what
    is no key; None: not modelled, and some products take it."""

    grouping_sets: bool
    """Whether there are ROLLUP(), CUBE() and GROUPING SETS."""

    resolves_repeated_group_aliases: bool
    """Whether it is known which output GROUP BY means by an alias that two have."""

    groups_by_outer_columns: bool
    """Whether GROUP BY of a column of a query further out is modelled."""

    with_rollup: bool
    """Whether there is GROUP BY ... WITH ROLLUP (MySQL 14.19.2)."""

    orders_rollups: bool
    """Whether ORDER BY may stand beside WITH ROLLUP (MySQL's may, MariaDB's may not)."""

    keys_determine_columns: bool
    """Whether columns may be read that a grouped primary key determines (PostgreSQL 7.2.3, MySQL 14.19.3)."""

    bare_columns: bool
    """Whether a column that is neither grouped by nor aggregated is that of some row of the group (SQLite, SELECT)."""

    bare_columns_of_extremes: bool
    """Whether such a column beside a single MIN or MAX is that of a row where it is reached."""

    quotient_keys_by_plan: bool
    """Whether the plan decides with how many digits a quotient counts that is grouped by."""

    having_sees_aliases: bool
    """Whether HAVING may name an output by its alias."""

    having_names_by_product: bool
    """Whether the products that speak the dialect differ in what HAVING means by a column that is an alias too."""

    having_without_groups: Literal["one group", "filters rows", "unmodelled"]
    """What HAVING without GROUP BY and aggregates means: a single group of all rows, or another WHERE (MySQL
    15.2.13)."""

    selects_nothing: bool
    """Whether a select list may be empty (PostgreSQL, SELECT)."""

    select_hints: frozenset[str]
    """Words behind SELECT that say how the rows are found, kept or counted, and not which they are (MySQL 15.2.13)."""

    distinct_order_error: str | None
    """SQLSTATE of SELECT DISTINCT with ORDER BY of what is not selected; None: not modelled."""

    distinct_order_hidden: bool
    """Whether SELECT DISTINCT may be ordered by what is not selected, of some row of each: the rows are known then,
    and their order is not."""

    order_expressions_see_aliases: bool
    """Whether an expression in ORDER BY may name an output by its alias."""

    ambiguous_order_error: str | None
    """SQLSTATE of ORDER BY of a name that two outputs have; None: not modelled."""

    distinct_on: bool
    """Whether there is DISTINCT ON."""

    distinct_on_order_error: str | None
    """SQLSTATE of DISTINCT ON with an ORDER BY that does not start with it (PostgreSQL, SELECT); None: it need not."""

    limit_null_is_all: bool
    """Whether LIMIT NULL is no limit."""

    limit_column_error: str | None
    """SQLSTATE of a count in LIMIT or OFFSET that reads a column; None: not modelled."""

    limit_takes_expressions: bool
    """Whether a count in LIMIT or OFFSET may be computed."""

    limit_type_error: str | None
    """SQLSTATE of a count that is no number; None: not modelled."""

    limit_rounds: bool
    """Whether a count may be a number with digits after the point."""

    fetch_first: bool
    """Whether there is FETCH FIRST."""

    fetch_with_ties: bool
    """Whether FETCH FIRST may say WITH TIES."""

    row_locks: bool
    """Whether there are FOR UPDATE and FOR SHARE."""

    lock_target_error: str | None
    """SQLSTATE of FOR UPDATE OF what FROM has not; None: not modelled."""

    lock_error: str | None
    """SQLSTATE of row locks of what is no row of a table: of groups, of DISTINCT, of the side of an outer join that
    NULLs may fill (PostgreSQL, SELECT); None: they may stand there."""

    orders_values_and_parentheses: bool
    """Whether ORDER BY and LIMIT may follow VALUES and a query in parentheses."""

    parenthesised_branches: bool
    """Whether a branch of UNION, INTERSECT and EXCEPT may stand in parentheses."""

    intersect_all: bool
    """Whether there are INTERSECT ALL and EXCEPT ALL."""

    set_order_error: str | None
    """SQLSTATE of an expression in ORDER BY after UNION and its kin; None: not modelled."""

    set_width_error: str | None
    """SQLSTATE of branches with different numbers of columns; None: not modelled."""

    types_literals_by_other_branches: bool
    """Whether a literal or parameter takes the type of the other branch's column (PostgreSQL 10.5), and not one of its
    own."""

    columns_have_one_type: bool
    """Whether the values of all branches, or of all rows of VALUES, are brought to one type; else each keeps its
    own."""

    converts_to_exact_type: bool
    """Whether such values are converted to the very width and number of digits of that type, on which the type of a sum
    above hangs."""

    values_width_error: str | None
    """SQLSTATE of VALUES with rows of different widths; None: not modelled."""

    values_columns: tuple[str, int] | None
    """What the columns of VALUES are called: a word, followed by numbers from this one on; None: not known."""

    types_values_alone: bool
    """Whether a literal or parameter in VALUES has a type of its own, whatever the other rows have there."""

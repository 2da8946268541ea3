"""What products differ in: how INSERT, UPDATE, DELETE and their kin are bound (`frontend.writes`).

Each field is a capability or a choice that every product answers, with the manual's section where one says it. Does not
know which product answers how.
"""

from __future__ import annotations

from typing import Literal

from sql_semantics.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteRules:
    """See the module."""

    with_before_insert: bool
    """Whether WITH may stand before INSERT."""

    own_target: Literal["before", "functions see writes", "writes show", "by product"]
    """What a subquery sees of the table that its statement writes to: the rows as they were before; so too, but for
    what volatile functions read (PostgreSQL 36.7); in UPDATE and DELETE maybe rows that are written already (SQLite);
    or the products that speak the dialect differ in which subqueries may read it (MySQL: error 1093)."""

    replace: bool
    """Whether REPLACE INTO inserts."""

    overriding: bool
    """Whether INSERT may say OVERRIDING SYSTEM VALUE."""

    insert_alternatives: Literal["ignore", "or", "none"]
    """How INSERT says what else it does about a row that cannot be stored: INSERT IGNORE, or INSERT OR ... ."""

    insert_width_error: str | None
    """SQLSTATE of an INSERT with more or fewer values than columns; None: not modelled."""

    insert_may_give_fewer: bool
    """Whether an INSERT without a column list may give values for the first columns only."""

    empty_values_are_defaults: bool
    """Whether VALUES () is a row of defaults."""

    values_hold_rows: bool
    """Whether ROW(1) among several values is one value, and not a row."""

    values_see_columns: bool
    """Whether VALUES may read the columns that the statement writes."""

    fills_generated_columns: bool
    """Whether an INSERT without a column list counts the generated columns among those that it gives values for."""

    hides_generated_columns: bool
    """Whether a write knows generated columns only of rows that are stored: EXCLUDED has none, no conflict target names
    one, and none takes DEFAULT."""

    repeated_column_error: str | None
    """SQLSTATE of an INSERT that lists a column twice; None: not modelled."""

    insert_row_alias: bool
    """Whether VALUES may have an alias, by which ON DUPLICATE KEY UPDATE names the row to insert (MySQL 15.2.7.2)."""

    missing_default_error: str | None
    """SQLSTATE of an INSERT that gives no value for a NOT NULL column without a default; None: it gives NULL."""

    default_is_value: bool
    """Whether DEFAULT may stand for a value."""

    literals_are_texts: bool
    """Whether a string literal among the values is text, and not of the type that its column gives it."""

    generated_value_error: tuple[str, str] | None
    """SQLSTATE of a value for a generated column and what the product says of the column; None: not modelled."""

    conflict_clause: Literal["on conflict", "on duplicate key"]
    """How INSERT says what it does about a key that is taken."""

    conflict_constraints: bool
    """Whether there is ON CONFLICT ON CONSTRAINT."""

    untargeted_update_error: str | None
    """SQLSTATE of DO UPDATE without a conflict target; None: it may stand there."""

    untargeted_update_takes_any_key: bool
    """Whether DO UPDATE without a conflict target is modelled for tables with several keys."""

    no_arbiter_error: str | None
    """SQLSTATE of a conflict target that no key has; None: not modelled."""

    excluded_is_ambiguous: bool
    """Whether a column without a table may as well be EXCLUDED's."""

    insert_or_is_on_conflict: bool
    """Whether INSERT OR IGNORE and OR REPLACE are short for ON CONFLICT DO NOTHING and DO UPDATE, and mean no other
    errors (DuckDB, INSERT)."""

    set_qualifier: Literal["field", "table", "none"]
    """What stands before the point in ``SET a.b = ...``: a column with fields, or a table."""

    repeated_assignment_error: str | None
    """SQLSTATE of two assignments to one column; None: not modelled."""

    assigns_rows: bool
    """Whether SET may assign a row to several columns."""

    assigns_to_parenthesised: bool
    """Whether ``SET (a) = ...`` assigns a row to one column."""

    assigns_rows_of_queries: bool
    """Whether SET may assign what a query gives to several columns."""

    row_assignment_error: str | None
    """SQLSTATE of a row assignment to more or fewer columns than it has values; None: not modelled."""

    assigns_in_sequence: bool
    """Whether an assignment sees those before it (MySQL 15.2.17)."""

    orders_writes: bool
    """Whether UPDATE and DELETE may have ORDER BY and LIMIT."""

    writes_several_tables: bool
    """Whether UPDATE and DELETE list the tables that they join, with targets anywhere among them (MySQL 15.2.2,
    15.2.17), instead of joining others to one target by FROM and USING."""

    delete_using: bool
    """Whether there is DELETE ... USING."""

    merge: bool
    """Whether MERGE is modelled."""

    truncate: Literal["with others", "alone", "none"]
    """Whether TRUNCATE is modelled: of several tables and those that refer to them, or of one table that none refers
    to."""

    returning_in_all_products: bool
    """Whether all products that speak the dialect have RETURNING, of UPDATE too (of MySQL and MariaDB only the latter
    has it, of INSERT, REPLACE and DELETE)."""

    writes_through_views: bool
    """Whether a write to a simple view is one to the table below it."""

    returning_takes_subqueries: bool
    """Whether subqueries in RETURNING are modelled (DuckDB has none; SQLite's see the table after some of the rows were
    written)."""

    returning_old_and_new: bool
    """Whether RETURNING may name OLD and NEW (PostgreSQL 18)."""

    returning_sees_joined: bool
    """Whether RETURNING of a write that joins sees all items, and not its target alone."""

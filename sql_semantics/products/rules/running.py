"""What products differ in: what statements do when they run (`run`, `guarded`, what follows them in `troubadour`).

Each field is a capability or a choice that every product answers, with the manual's section where one says it. Does not
know which product answers how.
"""

from __future__ import annotations

from typing import Literal

from sql_semantics.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRules:
    """See the module."""

    # What is evaluated.
    plans_raise: bool
    """Whether constants, and parameters where their values are known, are folded while a statement is planned, so that
    it fails whatever rows there are (PostgreSQL, eval_const_expressions)."""
    elides_errors: bool
    """Whether the optimizer removes what it can prove unneeded, errors included."""
    evaluates_unasked: Literal["all", "constants"] | None
    """What is computed although no row asks for it: subqueries, what a FILTER leaves out and constants; subqueries that
    are the same for all rows, and constants in conditions; None: nothing."""
    skips_behind_null: bool
    """Whether functions differ in whether they look at what stands behind an argument that is NULL."""
    comparisons_stop_at_null: bool
    """Whether the right side of a comparison is not looked at where the left one is NULL."""
    subqueries_take_first_row: bool
    """Whether a scalar subquery of several rows gives its first (SQLite, SQL Language Expressions, 11); elsewhere it is
    an error."""

    # Queries.
    shows_padding: bool
    """Whether a CHAR(n) is answered, and met by LIKE, with blanks up to its length (PostgreSQL 8.3)."""
    shows_six_digits: bool
    """Whether a REAL is answered with six digits, of which more are not modelled (MySQL, FLOAT)."""
    null_limits: bool
    """Whether a LIMIT of NULL is none; elsewhere it is not modelled."""
    negative_limits: bool
    """Whether a negative LIMIT is none; elsewhere it is an error."""
    limit_zero_runs_nothing: bool
    """Whether a query with LIMIT 0 runs nothing, so that nothing fails (PostgreSQL, nodeLimit.c); elsewhere it may."""
    having_alone_reads_nothing: bool
    """Whether HAVING without GROUP BY and aggregates leaves the tables unread."""
    locked_joins_read_newest: bool
    """Whether a join that locks rows finds them in the version that it locks, and no older one."""
    locks_sorted_rows: bool
    """Whether a query locks its rows after it has sorted them, so that it may answer them out of order where they have
    changed since (PostgreSQL manual, SELECT, The Locking Clause)."""
    shares_rows_by_index: bool
    """Whether a shared lock may be on an entry of an index, with the row itself not looked at (InnoDB)."""
    odd_window_arguments: bool
    """Whether it is modelled what NULL and negative arguments of window functions and frames give: NULL or errors."""
    sum_digits: int | None
    """How many digits a sum of decimals may have; None for any number."""
    averages_in_steps_from: tuple[int, ...] | None
    """The version from which on the optimizer decides how AVG of decimals divides, where it divided once before; None:
    that changes nothing."""
    recursion_rounds: int | None
    """After how many rounds a recursive query is refused, where that is another number than everywhere."""
    list_aggregate: str | None
    """What the aggregate that joins texts is called, where it has a name of its own."""
    list_bytes: int | None
    """How long its result may be before it is cut (MySQL 14.19.1, group_concat_max_len); None: as long as it is."""

    # Definitions.
    newest_definitions: bool
    """Whether statements look for tables among the newest, not in their snapshot."""
    meets_newer_tables: bool
    """Whether a statement may use a table that is newer than its snapshot and sees no rows in it; elsewhere that is not
    modelled, or cannot be."""
    looks_for_new_table_first: bool
    """Whether CREATE TABLE ... AS looks for the new table before the tables of its query."""
    counts_definitions: Literal["always", "filled"] | None
    """Whether CREATE and DROP answer a number of rows, 0 or those that fill the table; only where rows fill it; None:
    never."""
    counts_are_rows: bool
    """Whether a driver may give the number of rows that a write or a definition changed as a row."""
    absent_table_state: str
    """SQLSTATE of a table that does not exist."""
    present_table_state: str
    """SQLSTATE of a table that exists already."""
    updates_replace_rows: bool
    """Whether an update may be a deletion and an insertion to the foreign keys of others (DuckDB, Over-Eager Constraint
    Checking)."""
    changes_check_references: bool
    """Whether ALTER TABLE checks references that it adds."""
    table_changes_recheck: bool
    """Whether the rows of a table that is changed are written anew as to its references."""
    definitions_commit: bool
    """Whether CREATE, ALTER and DROP commit the transaction, before and after (MySQL 15.3.3)."""
    pragmas_change_schema: bool
    """Whether something but CREATE, ALTER and DROP may change the schema."""
    has_sequences: bool
    """Whether there are sequences, and indexes whose names are not free again with their table."""

    # Routines.
    expressions_begin: Literal["evaluates", "reads"]
    """What a query within an expression of a routine, or an argument of CALL, is to the transaction."""
    optional_answers: bool
    """Whether clients may leave out the row of a CALL's output parameters."""
    named_cursors: bool
    """Whether cursors are variables with names, so that what is not open fails as such (PostgreSQL 43.7)."""
    no_data_reaches_callers: bool
    """Whether a SELECT INTO without a row may be handled by a caller."""
    savepoints_replace: bool
    """Whether SAVEPOINT deletes an older one of its name (MySQL 15.3.4)."""
    unknown_savepoint_state: str
    """SQLSTATE of a savepoint that does not exist; empty where there are none."""

    # Writes.
    exhausted_states: frozenset[str]
    """SQLSTATEs of an INSERT that takes the next number of a column, where there is none left."""
    strict_counts: bool
    """Whether rows that an UPDATE leaves as they are are neither written nor, by default, counted (MySQL 15.2.17)."""
    fires_at_once: bool
    """Whether a trigger AFTER each row is run behind that row (MySQL 27.3, SQLite), not when the statement is over."""
    actions_fire: bool
    """Whether what a foreign key's action writes fires triggers (not in MySQL 27.3.1)."""
    replacing_fires: bool
    """Whether a row that REPLACE removes fires triggers as one that is deleted (in SQLite a setting decides)."""
    triggers_spare_used_tables: bool
    """Whether a trigger fails that writes to a table of the statement that fires it (MySQL 27.9, error 1442)."""
    references_wait: bool
    """Whether foreign keys are checked when the statement is over and all that triggers do is done (SQLite)."""
    counts_replaced_rows: bool
    """Whether a row that an INSERT replaces or updates counts twice, and not at all where it stays (MySQL 15.2.7.2)."""
    counts_truncated_rows: bool
    """Whether TRUNCATE tells how many rows there were."""
    counts_answered_rows: bool
    """Whether an INSERT that answers rows tells no count, so that clients count these."""
    upserts_by_first_key: bool
    """Whether of several rows in the way of an INSERT the one of the first key is updated; elsewhere it is not
    modelled."""
    updates_once: bool
    """Whether ON CONFLICT DO UPDATE that meets a row twice is an error (PostgreSQL, INSERT)."""
    upserts_in_batches: bool
    """Whether the rows of an INSERT with a conflict clause go in together: in no order, their keys looked at before
    their constraints, and what sets others computed for all."""
    null_keys_clash: bool
    """Whether rows of one INSERT are taken for equal whose keys are NULL."""
    rivals_fail_upserts: bool
    """Whether a row that is newer than the snapshot is never skipped: the INSERT or its COMMIT fails."""
    replace_fills_nulls: bool
    """Whether INSERT OR REPLACE takes a default for NULL in a NOT NULL column (SQLite, ON CONFLICT)."""
    updates_see_themselves: bool
    """Whether an assignment to a row may see what was written to the rows before it."""
    finds_rows_first_from: tuple[int, ...] | None
    """The version from which on an UPDATE or DELETE with a subquery in its WHERE finds all rows before it writes one;
    None where no version is known to."""
    key_state: str
    """SQLSTATE of a key that two rows have."""
    null_state: str
    """SQLSTATE of NULL in a NOT NULL column."""
    check_error: tuple[str, int | None]
    """SQLSTATE and number of a CHECK that fails ..."""
    check_errors: tuple[tuple[str, tuple[str, int | None]], ...]
    """... and those of products of this dialect that have others."""
    nulls_in_primary_keys: bool
    """Whether NULL in a primary key is stored or numbered, which is not modelled (SQLite, CREATE TABLE 3.5)."""
    stamps_nulls: bool
    """Whether NULL in a NOT NULL column of instants may be the time of day, which is not modelled."""

    # References.
    foreign_key_state: str
    """SQLSTATE of a reference that finds no row."""
    restrict_state: str
    """SQLSTATE of RESTRICT."""
    checks_references: Literal["by_row", "restrict_by_row", "at_end"]
    """When references to rows that go are checked: with each row; so where RESTRICT says it; when the statement is
    done."""
    writes_by_row: bool
    """Whether the rows of a statement are written one by one, references followed with each."""
    looks_up_set_references: bool
    """Whether references are looked up again that an update sets to what they were."""
    overlooks_references: bool
    """Whether INSERT OR REPLACE may let references through that find no row (SQLite, fkey.c)."""
    counts_dangling: bool
    """Whether references that find nothing are counted, so that one may make up for another."""
    reindexes_rows: bool
    """Whether rows are taken out of their indexes and put in again where their keys stay as they are."""

    # Transactions.
    failure_ends: Literal["until_rollback_to", "transaction", "statement"]
    """What a failed statement undoes: all until ROLLBACK TO, all, or itself."""
    calls_are_transactions: bool
    """Whether, outside a transaction, each statement of a routine that is called is one by itself, so that those before
    one that fails are committed (MySQL 8.0 manual, 15.3.1)."""

    undoes_statements: bool
    """Whether a CALL that fails keeps what its statements did before."""
    fail_keeps: bool
    """Whether FAIL ends a statement and keeps what it has done (SQLite, ON CONFLICT)."""
    undoing_classes: frozenset[str]
    """SQLSTATE classes of errors that may undo a transaction where others undo a statement."""
    untold_states: frozenset[str]
    """SQLSTATEs that hang on what a log does not tell: privileges, access modes, isolation levels, encodings."""
    text_mistakes: frozenset[str]
    """SQLSTATE classes of errors that lie in a text; which of several mistakes is told is not known."""
    errors_are_known: bool
    """Whether errors of classes 22 and 23 come from what is modelled alone."""
    loads_in_parts: bool
    """Whether a LOAD that fails may have written rows."""
    begin_takes_snapshot: bool
    """Whether BEGIN may take the snapshot (MySQL 15.3.1, WITH CONSISTENT SNAPSHOT)."""
    snapshots_by: Literal["any_statement", "plain_reads", "tables"]
    """What takes a snapshot if there is none: any query, write or call; a query of a table that locks nothing; a
    statement on a table."""
    aborts_return_numbers: bool
    """Whether numbers that an aborted transaction drew are drawn again."""
    negative_limit_errors: tuple[str, str]
    """SQLSTATEs of a negative LIMIT and OFFSET."""

    folds_texts_of_keys: bool
    """Whether texts that differ may be one key."""
    switches_by_connection: bool
    """Whether connections switch foreign keys and LIKE's case themselves (SQLite, PRAGMA)."""

    settings_are_shared: bool
    """Whether what one connection sets holds for all of its database (DuckDB, Configuration: SET GLOBAL)."""

    begins_immediate: bool
    """Whether BEGIN IMMEDIATE keeps other writers out from the start (SQLite, Transaction)."""

    # Texts that are written or read.
    identifier_quote: str
    """What stands around a name."""
    numbered_parameters: bool
    """Whether parameters are written with their numbers: $1."""
    hash_comments: bool
    """Whether # begins a comment, and some comments are run (MySQL 11.7)."""
    double_quoted_texts: bool
    """Whether double quotes stand around texts."""
    backslash_escapes: bool
    """Whether a backslash in a text literal is an escape."""
    drops_cascade: bool
    """Whether DROP TABLE has CASCADE for what depends on it."""
    begin_names_level: bool
    """Whether BEGIN names the isolation level."""
    session_levels: bool
    """Whether a session is set to an isolation level beforehand."""
    isolation_tester: bool
    """Whether the product is tested with files of steps (PostgreSQL, src/test/isolation)."""
    imports_server_logs: bool
    """Whether `troubadour log import` reads what the server logs."""
    asked_for_errors: bool
    """Whether an error tells by its SQLSTATE what it was, so that a product can be asked whether it raises one."""
    own_prefix: str | None
    """What the names of functions begin with that may do anything at all; None: it is not known of any name."""
    update_returning: bool
    """Whether UPDATE has RETURNING."""
    upserts_on_conflict: bool
    """Whether INSERT has ON CONFLICT; elsewhere ON DUPLICATE KEY."""
    stored_programs: Literal["plpgsql", "psm"] | None
    """The language of stored routines."""
    procedures_are_functions: bool
    """Whether routines that answer rows are functions to be selected from, and CALL takes output parameters."""
    plain_reads_lag: bool
    """Whether plain reads are of an older snapshot than writes are at the usual level."""

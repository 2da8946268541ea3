"""What products differ in: schemas, routines, triggers and sessions as they are read (`frontend.definitions` and kin).

Each field is a capability or a choice that every product answers, with the manual's section where one says it. Does not
know which product answers how.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from sql_semantics.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinitionRules:
    """See the module."""

    serial_types: bool
    """Whether there are SERIAL and its kin."""

    auto_increment: Literal["numbers rows", "keeps rowids", "none"]
    """What AUTO_INCREMENT does: numbers the rows that have no number, or gives no rowid twice (SQLite); none: not
    modelled."""

    identity_columns: bool
    """Whether GENERATED ... AS IDENTITY is modelled."""

    sequences: bool
    """Whether CREATE SEQUENCE is modelled."""

    rowid_keys: bool
    """Whether a primary key of one INTEGER column is the rowid (SQLite, CREATE TABLE)."""

    generated_columns: bool
    """Whether generated columns are modelled."""

    generated_as_identity: bool
    """Whether GENERATED ALWAYS AS (expression) that says no more makes a virtual column."""

    stores_generated: bool
    """Whether the parser leaves out that a generated column is STORED where it can be nothing else."""

    column_collations: bool
    """Whether COLLATE of a column is modelled where it says what holds anyway (PostgreSQL 23.2)."""

    table_collations: bool
    """Whether COLLATE of a table is modelled where it says what holds anyway."""

    primary_keys_are_not_null: bool
    """Whether columns of a primary key are NOT NULL (not in SQLite)."""

    covering_keys: bool
    """Whether a key may INCLUDE columns that are no part of it."""

    nulls_not_distinct: bool
    """Whether UNIQUE may say NULLS NOT DISTINCT."""

    partial_indexes: bool
    """Whether CREATE UNIQUE INDEX ... WHERE is modelled."""

    expression_indexes: bool
    """Whether CREATE UNIQUE INDEX over expressions is modelled."""

    indexes_are_per_table: bool
    """Whether indexes of different tables may have one name."""

    drop_index_drops_constraints: bool
    """Whether DROP INDEX drops what a constraint made, too."""

    named_types: bool
    """Whether CREATE TYPE and CREATE DOMAIN are read."""

    references_by_name: bool
    """Whether a foreign key is kept as it is spelled, and refers to the table that has the name when a statement runs
    (SQLite, Foreign Key Support)."""

    references_need_parents: bool
    """Whether the table that a foreign key refers to must exist by then."""

    references_to_itself: bool
    """Whether foreign keys of a table to itself are modelled (in DuckDB a row finds no parent of its own statement)."""

    references_primary_keys: bool
    """Whether a foreign key that names no columns refers to the primary key."""

    references_need_keys: bool
    """Whether a foreign key must refer to a key."""

    references_across_numbers: bool
    """Whether foreign keys are modelled from one type of numbers to another."""

    reference_options: bool
    """Whether foreign keys may say ON DELETE, ON UPDATE and when they are checked; else each row is checked at once."""

    references_set_default: bool
    """Whether ON DELETE and ON UPDATE may SET DEFAULT."""

    registered_functions: bool
    """Whether functions beside the product's own are registered by the application, and change no rows (SQLite)."""

    storage_parameters: str
    """The pattern of the names by which CREATE TABLE says how rows are kept."""

    deferrable_references: bool
    """Whether foreign keys may be DEFERRABLE."""

    partitions: bool
    """Whether PARTITION BY and PARTITION OF are modelled (PostgreSQL 5.12)."""

    updates_moments: bool
    """Whether a column may be ON UPDATE CURRENT_TIMESTAMP (MySQL 13.2.5)."""

    column_references: bool
    """Whether REFERENCES in a column's definition makes a foreign key, whatever the product (MySQL ignores it, MariaDB
    does not)."""

    alter_table: bool
    """Whether ALTER TABLE is modelled."""

    alter_only: bool
    """Whether there is ALTER TABLE ONLY."""

    fills_added_columns: bool
    """Whether ADD COLUMN ... NOT NULL without a default fills the column with a value of its type."""

    drop_column_cascades: bool
    """Whether DROP COLUMN may say CASCADE and RESTRICT."""

    drop_column_takes_constraints: bool
    """Whether DROP COLUMN drops the constraints that have the column."""

    alters_types: bool
    """Whether ALTER COLUMN ... TYPE is modelled."""

    create_as: bool
    """Whether CREATE TABLE AS is modelled."""

    create_as_repeated_error: str | None
    """SQLSTATE of CREATE TABLE AS with two columns of one name; None: not modelled."""

    create_as_types: Literal["expressions", "columns", "affinities"]
    """Which types are known of the columns of CREATE TABLE AS: those of expressions, those of columns and casts, or
    those that columns have by affinity (SQLite)."""

    definitions_commit: bool
    """Whether CREATE, ALTER and DROP commit the transaction that they stand in (MySQL 15.3.3)."""

    transient_parents: bool
    """Whether a table may come and go in transactions to which foreign keys refer."""

    transient_below_views: bool
    """Whether a table may come and go in transactions that a view reads."""

    completes_by_indexes: bool
    """Whether CREATE UNIQUE INDEX belongs to the definition of a table that its transaction has created."""

    completes_by_changes: bool
    """Whether ALTER TABLE belongs to the definition of a table that its transaction has created."""

    view_if_not_exists: bool
    """Whether there is CREATE VIEW IF NOT EXISTS."""

    views_bind_late: bool
    """Whether a view may be created before what it reads (SQLite, CREATE VIEW)."""

    view_names_some_columns: bool
    """Whether CREATE VIEW may name the first columns only."""

    drop_cascade: bool
    """Whether DROP may say CASCADE."""

    drops_several: bool
    """Whether one DROP of several tables is modelled (DuckDB has none; MariaDB drops those that there are and fails all
    the same)."""

    drop_asks_dependents: bool
    """Whether DROP asks for views that read the table and keys that refer to it; else a view stays, and fails when it
    is used."""

    routine_languages: bool
    """Whether routines are written in a LANGUAGE (PostgreSQL, CREATE FUNCTION)."""

    psm_spelling: Literal["backquotes", "standard"]
    """How SQL/PSM is spelled: with texts in double quotes, names in backquotes and # comments (MySQL 11.1.1), or as the
    standard has it."""

    or_replace_psm: bool
    """Whether there is CREATE OR REPLACE of a routine without a language (MariaDB)."""

    psm_functions: bool
    """Whether CREATE FUNCTION without a language is modelled."""

    psm_conditions: bool
    """Whether SQL/PSM has handlers, cursors and SIGNAL."""

    into_width_error: tuple[str, int] | None
    """SQLSTATE and number of SELECT INTO with more or fewer columns than variables, when it runs; None: not
    modelled."""

    overloads_routines: bool
    """Whether routines are told apart by the types that they take; else procedures by their names, and functions by
    theirs."""

    recursive_routines: bool
    """Whether a routine may call itself."""

    row_triggers: bool
    """Whether triggers for each row are run."""

    trigger_order: Literal["names", "texts", "none"]
    """In which order several triggers of one row are run: by their names, or as they were made."""

    trigger_bodies: Literal["functions", "own", "unknown"]
    """Where the statements of a trigger stand from which it is told what it may write: in a function, or in its own
    text."""

    call_without_parentheses: bool
    """Whether CALL p means CALL p() (MySQL 15.2.1)."""

    out_arguments_are_free: bool
    """Whether any value may stand for an OUT parameter outside routines."""

    out_argument_error: str
    """SQLSTATE of a value for an OUT parameter that is no variable."""

    calls_may_end: bool
    """Whether a procedure may end the transaction that calls it (PostgreSQL 41.8)."""

    savepoints: bool
    """Whether there are savepoints."""

    savepoints_in_routines: bool
    """Whether savepoints may stand in routines."""

    rollback_words: tuple[str, ...]
    """What may stand between ROLLBACK and TO."""

    release_needs_savepoint: bool
    """Whether RELEASE needs the word SAVEPOINT."""

    savepoint_names_are_texts: bool
    """Whether a literal may name a savepoint."""

    savepoint_syntax_error: str
    """SQLSTATE of a savepoint that is not spelled as it should be."""

    lock_table: bool
    """Whether LOCK TABLE has no effect on what a transaction reads and writes."""

    set_transaction: Literal["this", "next", "none"]
    """Of which transaction SET TRANSACTION speaks."""

    set_constraints: bool
    """Whether there is SET CONSTRAINTS."""

    set_takes_several: bool
    """Whether SET sets several things at once, each with its scope (MySQL 15.7.6.1); else a comma belongs to the
    value."""

    set_names_a_setting: bool
    """Whether SET and RESET name a setting of the session's, which changes no table."""

    analyze_runs_statements: bool
    """Whether ANALYZE may be followed by a statement, which it runs (MariaDB)."""

    maintenance_commits: bool
    """Whether ANALYZE, OPTIMIZE and their kin commit the transaction that they stand in (MySQL 15.3.3)."""

    probe_words: Mapping[str, frozenset[str]]
    """The first words of statements that ask of the server and the session or set something there, by the kind of probe
    that they make."""

    session_functions: frozenset[str]
    """Functions that tell of the server and the session, lock, wait or notify; none reads or writes a modelled
    table."""

    tried_functions: frozenset[str]
    """Functions that frameworks call on a literal, to see whether they exist."""

    system_schemas: frozenset[str]
    """The schemas of the system's catalog."""

    system_tables: str
    """A regular expression for the names of the system's tables that need no schema."""

    columns_say_null: bool
    """Whether a column that takes NULL is best declared so (MySQL's TIMESTAMP does not otherwise)."""

    texts_have_lengths: bool
    """Whether the length of a CHAR or VARCHAR counts."""

    text_type: str
    """A type for texts of any length that a key may have."""

    column_types: Mapping[str, str]
    """What types of columns are called that take neither length nor precision, by kind."""

    moment_types: Mapping[str, str]
    """What types of times are called that take a precision, by kind."""

    renames_by_words: bool
    """Whether RENAME TABLE says what ALTER TABLE ... RENAME TO does (MySQL 15.1.36)."""

    name_quote: str
    """What a name that is written out for the parser is quoted by."""

    places_columns: bool
    """Whether an added column may be put FIRST or AFTER another (MySQL 15.1.9)."""

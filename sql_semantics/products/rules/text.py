"""What products differ in: how statements are spelled: literals, names, keywords (`frontend.text`, `frontend.names`).

Each field is a capability or a choice that every product answers, with the manual's section where one says it. Does not
know which product answers how.
"""

from __future__ import annotations

from typing import Literal

from sql_semantics.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TextRules:
    """See the module."""

    groups_by_all: bool
    """Whether GROUP BY ALL stands for what is selected (DuckDB, "Friendly SQL")."""

    backslash_escapes: bool
    """Whether a backslash escapes in literals, ``#`` begins a comment and backticks quote names (MySQL 11.1.1,
    11.7)."""

    nested_comments: bool
    """Whether block comments stand within each other."""

    numbers_are_places: bool
    """Whether ``$1`` is a placeholder also where a statement's parameters have names, or it has none."""

    question_mark_operators: bool
    """Whether a question mark beside placeholders of another style is an operator."""

    adjacent_texts: Literal["joined across lines", "joined", "apart"]
    """What string literals beside each other are: one, if only a line's end is between them (PostgreSQL 4.1.2.1),
    one (MySQL 11.1.1), or nothing that is read here."""

    signs_join_operators: bool
    """Whether a sign right behind an operator belongs to it (PostgreSQL 4.1.3)."""

    literals_are_texts: bool
    """Whether a string literal is a text whatever it meets; else it takes the type of that."""

    integer_texts: Literal["in range", "converted", "exact", "any number"]
    """What a text beside integers that is beyond their type's range is: an error of the literal's, an error of the
    conversion, or an exact number; with the last, a fraction is one, too."""

    reads_decimal_texts: bool
    """Whether a text beside a DECIMAL is read with all of its digits; else it gets the places of what it meets."""

    boolean_texts: Literal["words", "cast", "none"]
    """What a text beside a truth value is: one of the words for true and false (PostgreSQL 8.6), what a cast makes
    of it, or nothing that is read here."""

    float_texts_saturate: bool
    """Whether a text beyond the range of a double is the greatest one where it is compared."""

    own_real_reader: bool
    """Whether real numbers are read by a routine of the product's own, which does not always find the nearest
    double."""

    double_range_error: str | None
    """The SQLSTATE of a number written beyond the range of a double. None: not modelled."""

    unsigned_literals: bool
    """Whether an integer literal beyond BIGINT is an unsigned one."""

    long_integers: Literal["numeric", "double", "unknown"]
    """What an integer literal beyond the integer types is: NUMERIC (PostgreSQL 4.1.2.6), a double, or nothing that
    is read here."""

    fractions: Literal["numeric", "decimal", "double"]
    """What a number written with a point is: NUMERIC, also with an exponent (PostgreSQL 4.1.2.6), a DECIMAL of its
    digits or with an exponent a double (MySQL 11.1.2), or a double."""

    counts_leading_zero: bool
    """Whether the zero before the point is a digit of a DECIMAL literal's: 0.5 is a DECIMAL(2,1)."""

    typed_after_sign: bool
    """Whether a number is typed after its sign: -2147483648 is an int though 2147483648 is a bigint."""

    hexadecimal_is_bytes: bool
    """Whether ``x'00'`` is a string of bytes."""

    has_system_schema: bool
    """Whether functions of the system may be called by their schema, pg_catalog."""

    has_sql_modes: bool
    """Whether `sql_mode` says what the product does (MySQL 7.1.11)."""

    declares_affinities: bool
    """Whether a column's type says what values are converted to, and constrains nothing (SQLite "Datatypes" 3.1)."""

    default_decimal: tuple[int, int] | None
    """Digits, and places, of a DECIMAL that is declared without. None: any."""

    decimal_bounds: tuple[int, int] | None
    """The digits, and places, beyond which a DECIMAL is refused. None: it is as it is written."""

    boolean_is_tinyint: bool
    """Whether BOOLEAN and TINYINT(1) are one type, of integers."""

    has_bpchar: bool
    """Whether BPCHAR is a type: a CHAR without a length (PostgreSQL 8.3)."""

    texts_have_lengths: bool
    """Whether VARCHAR(n) and CHAR(n) constrain texts."""

    clock_digits: Literal["six", "none", "always six"]
    """Digits of the second in a type of moments: six unless declared otherwise, none unless declared (MySQL
    13.2.6), or always six."""

    float_takes_bits: bool
    """Whether FLOAT(p) is a REAL or a DOUBLE by its bits (MySQL 13.1.4)."""

    integers_take_widths: bool
    """Whether an integer type may be declared with a width, which means nothing."""

    real_is_double: bool
    """Whether REAL is DOUBLE (MySQL 13.1.4)."""

    has_schema_types: bool
    """Whether schemas define types and domains."""

    foreign_types: frozenset[str]
    """Type names that the parser takes for another type than the product does in a column's definition."""

    foreign_casts: frozenset[str]
    """The same in a CAST; SQLite casts some of them to NUMERIC, where the parser sees integers."""

    not_cast_to: frozenset[str]
    """Reserved words, so no aliases, that CAST does not take: MySQL casts to SIGNED and CHAR; MariaDB takes some of
    these."""

    char_casts_vary: bool
    """Whether CAST AS CHAR(n) gives a text of any length (MySQL 14.10)."""

    keyword_forms: frozenset[str]
    """Functions of our tables that the parser reads, for a syntax of their own like ``SUBSTRING(a FROM 2)``; SUBSTR
    has none in PostgreSQL, nor substring()'s patterns."""

    json_arrows: Literal["operators", "none", "closest"]
    """What ``->`` and ``->>`` are: operators of JSON with keys and places (PostgreSQL 9.16), nothing that is read
    here, or the closest operators beside ``||``, of texts with paths (SQLite "JSON Functions" 4.10)."""

    arrow_lambdas: bool
    """Whether ``->`` may begin a function's body."""

    inserts_or: bool
    """Whether INSERT OR REPLACE and its kin are written so."""

    inserts_without_into: bool
    """Whether INSERT does without INTO, and takes SET."""

    limit_takes_comma: bool
    """Whether LIMIT a, b is read."""

    offset_needs_limit: bool
    """Whether OFFSET stands behind LIMIT only."""

    table_is_query: bool
    """Whether TABLE t is a query here."""

    lock_is_name: bool
    """Whether LOCK inside a statement is a name."""

    says_deferrable: bool
    """Whether constraints are written with NOT DEFERRABLE, which holds anyway."""

    says_virtual: bool
    """Whether generated columns are written with VIRTUAL, which the parser does not know there."""

    builtins_may_write: bool
    """Whether some functions that the product brings along run texts, or are no functions of expressions."""

    functions: frozenset[str]
    """Functions with nodes of the parser's own that the product has, too, beside those that all have."""

    foreign_spellings: tuple[tuple[str, ...], ...]
    """Words of other products' statements, one after the other, that the parser reads."""

    quoted_names_keep_case: bool
    """Whether a quoted name of a column, an alias, a routine, ... is compared as it is written (PostgreSQL 4.1.1)."""

    table_names: Literal["folded unless quoted", "as written", "folded"]
    """How names of tables are compared (PostgreSQL 4.1.1; MySQL 11.2.3)."""

    letters_fold: Literal["ascii", "all"]
    """Which letters have a small one that counts as the same where names are folded."""

    longest_name: int | None
    """After how many bytes a name is cut (PostgreSQL 4.1.1). None: it is refused, or may be of any length."""

    home_schema: str | None
    """The schema that tables are in unless another one is named."""

    system_tables: tuple[str, ...]
    """How names of tables and functions of the product's own begin."""

    write_modifiers: frozenset[str]
    """Words before the table of a write that are no names of tables, though the parser takes them for one."""

    unknown_column_error: str | None
    """The SQLSTATE of a column that does not exist. None: not modelled, like those below."""

    ambiguous_column_error: str | None
    """The SQLSTATE of a name that several columns have."""

    repeated_table_error: str | None
    """The SQLSTATE of two FROM items of one name."""

    repeated_common_error: str | None
    """The SQLSTATE of two WITH items of one name."""

    missing_table_error: str | None
    """The SQLSTATE of a column of a table that is not in FROM."""

    position_error: str | None
    """The SQLSTATE of a position beyond the select list."""

    constant_key_error: str | None
    """The SQLSTATE of a constant that is no position, in ORDER BY and GROUP BY."""

    has_system_columns: bool
    """Whether tables have columns of the system's (PostgreSQL 5.6)."""

    key_name: str
    """Another name of the column by whose numbers a table keeps its rows (MySQL 15.1.15); empty for none."""

    qualifiers_hide: bool
    """Whether a table's name hides a table of that name further out, also for columns that it does not have."""

    columns_call_functions: bool
    """Whether t.f may mean f(t) (PostgreSQL 8.16.5)."""

    subqueries_see_aliases: bool
    """Whether a name in a subquery may be an alias of the query around it."""

    common_always_recursive: bool
    """Whether WITH means WITH RECURSIVE."""

    common_materialized: bool
    """Whether WITH items may be MATERIALIZED."""

    common_writes: bool
    """Whether WITH items may write (PostgreSQL 7.8.4)."""

    common_sees_outside: bool
    """Whether a WITH item sees columns of a query around its own."""

    unused_common_left_out: bool
    """Whether a WITH item that nothing mentions is left out, but what it mentions is planned."""

    common_names_all: bool
    """Whether a WITH item's list of columns names all of them."""

    common_repeats_columns: bool
    """Whether a WITH item may have two columns of one name."""

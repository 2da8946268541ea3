"""Differences that are understood and are not ours to mend: a product's own bug or freedom, each with its reason.

Kept few and narrow; a pattern that is too wide would hide a difference. Knows no engine beyond its name.
"""

from __future__ import annotations

import re

EXPLAINED: tuple[tuple[str, str, str, str], ...] = (
    (
        "sqlite",
        r"^INSERT .*RETURNING .*IS (NOT )?NULL",
        r"rows",
        "SQLite 3.40.1 takes a column that the INSERT leaves out for not NULL in an IS NULL of RETURNING",
    ),
    (
        "duckdb",
        r"SELECT",
        r"INTERNAL Error",
        "a bug of DuckDB 2.0's planner, as it says itself",
    ),
    (
        "mysql",
        r"\(\(.*\) (NOT )?IN \(SELECT .*UNION",
        r"NoneType",
        "MariaDB 10.11 answers NULL for a row with a NULL that is IN no row of a UNION, whatever the other columns",
    ),
    (
        "postgres",
        r"NULL",
        r"42804",
        "open: a NULL column of a derived table is text in PostgreSQL, and no truth value",
    ),
    (
        "duckdb",
        r"NULL",
        r"the engine failed with any \(Binder Error",
        "open: an untyped NULL chooses an overload in DuckDB that the text around it does not take",
    ),
    (
        "mysql",
        r"^DELETE x FROM .*\bva\b",
        r"HY000.*1443",
        "open: a write to several tables with a subquery on a view of its target",
    ),
    (
        "mysql",
        r"(MIN|MAX|COUNT|SUM|AVG)\(.*\(SELECT",
        r"HY000.*1111",
        "MariaDB 10.11 refuses an aggregate over a subquery on a common table",
    ),
    (
        "mysql",
        r"(RIGHT|LEFT) JOIN .*\(\(.*, .*\) <",
        r"rows",
        "MariaDB 10.11 makes an inner join of an outer one because of a row comparison that NULLs need not fail",
    ),
    (
        "mysql",
        r"UNION",
        r"42S22.*Unknown column .* in 'ON'",
        "MariaDB 10.11 does not resolve an outer column in the ON of a later member of a UNION",
    ),
    (
        "postgres",
        r"^TRUNCATE",
        r"0A000",
        "open: TRUNCATE of a table that a foreign key refers to",
    ),
    (
        "duckdb",
        r"\(SELECT",
        r"More than one row returned by a subquery|Division by zero",
        "open: DuckDB runs a subquery that does not depend on the row also where there is no row",
    ),
    (
        "postgres",
        r"UNION|INTERSECT|EXCEPT",
        r"where \{.*'str:'[^']* +'",
        "open: a set operation of CHAR(n) and an untyped literal is CHAR of no length",
    ),
    (
        "mysql",
        r"SELECT DISTINCT .*(OFFSET|LIMIT \d+, )",
        r"^1 rows .* expected 0 of",
        "MariaDB 10.11 stops at one row of a DISTINCT of constants, before it skips OFFSET rows",
    ),
    (
        "mysql",
        r"(IN|ALL|ANY) \(SELECT .*(INTERSECT|EXCEPT)",
        r"rows",
        "MariaDB 10.11 answers NULL for IN, ANY and ALL over an empty INTERSECT or EXCEPT with NULLs",
    ),
    (
        "mysql",
        r"NULL",
        r"rows \{.*'f-?[\d.]+'.*'(int:|n)",
        "open: arithmetic with a literal NULL is DOUBLE in MariaDB",
    ),
)
"""(engine, pattern of the statement, pattern of the problem, reason). A reason that begins with ``open:`` is a
difference that is known and not yet mended."""


def explanation(engine: str, sql: str, problem: str) -> str | None:
    """Why this difference is no mistake of the interpreter, or None."""
    for name, statement, difference, reason in EXPLAINED:
        if name == engine and re.search(statement, sql, re.DOTALL) and re.search(difference, problem, re.DOTALL):
            return reason
    return None

"""Differences that are understood and are not ours to mend: a product's own bug or freedom, each with its reason.

Kept few and narrow; a pattern that is too wide would hide a difference. Where the fault lies in an optimization that
the product lets one turn off, it is turned off, and the statement must then agree. Knows no engine beyond its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Explained:
    """`statement` and `problem` are patterns of the text and of what differs. With `without`, a statement for the
    engine that turns what is to blame off (and one that turns it on again), the difference must be gone. `plain`: it
    must be gone where generated columns are ordinary ones with the same values."""

    engine: str
    statement: str
    problem: str
    reason: str
    without: tuple[str, str] | None = None
    plain: bool = False


_ASKED_AGAIN = ("SELECT 1", "SELECT 1")
"""For answers that are other ones at other times: nothing is turned off, and the statement must agree."""
_NO_STATISTICS = ("SET disabled_optimizers = 'statistics_propagation'", "RESET disabled_optimizers")

EXPLAINED = (
    Explained(
        "sqlite",
        r"\(SELECT [^()]*(RIGHT|FULL) JOIN .*UNION ALL|UNION ALL .*(RIGHT|FULL) JOIN",
        r"any \(ON clause references tables to its right\)",
        "SQLite 3.40.1 merges a UNION ALL with a RIGHT or FULL JOIN into the query around it and then misreads its ON",
    ),
    Explained(
        "sqlite",
        r"^(INSERT|UPDATE|DELETE|REPLACE) .*RETURNING .*(IS (NOT )?NULL|\bIN \([^,]+,[^,]+,)",
        r"rows",
        "SQLite 3.40.1 takes a column for not NULL in an IS NULL, or an IN of three items, of RETURNING, whatever was"
        " stored",
    ),
    Explained(
        "sqlite",
        r"(FROM \(SELECT .*(RIGHT|FULL) JOIN .*UNION ALL .*|UNION ALL SELECT .*(RIGHT|FULL) JOIN .*)\) AS [dw]\d",
        r"^\d+ rows .* expected",
        "SQLite 3.40.1 loses a WHERE that it moves into a UNION ALL with a RIGHT or FULL JOIN",
    ),
    Explained(  # SELECT 1 FROM t LEFT JOIN (SELECT * FROM t WHERE c = 1) d ON d.k > t.k LIMIT 1, where no c is 1
        "duckdb",
        r"\bLIMIT \d|EXISTS \(",
        r"^(\d+ rows|affected \d+|rows|table )",
        "DuckDB 2.0 takes a join with a side of which statistics show that it is empty for empty, though it is an outer"
        " join or the side is an aggregate, and drops the LIMIT above it; EXISTS counts to one by such a LIMIT",
        _NO_STATISTICS,
    ),
    Explained(
        "duckdb",
        r"^",
        r"the engine failed with any \((INTERNAL Error|Invalid Input Error: BindBuiltinScalarFunction did not return)",
        "a bug of DuckDB 2.0's planner, as it says itself",
    ),
    Explained(  # SELECT (SELECT bool_or(t.c = EXISTS (SELECT 1 WHERE u.c)) FROM u) FROM t
        "duckdb",
        r"\(SELECT .*(BOOL_OR|BOOL_AND|MIN|MAX|SUM|COUNT|AVG)\(.*\(SELECT ",
        r"the engine failed with any \(Binder Error: Referenced table .* not found",
        "DuckDB 2.0 does not find the table that a subquery in an aggregate reads, where that reads an outer query too",
    ),
    Explained(  # SELECT u.g FROM t LEFT JOIN u ON FALSE, where g is GENERATED ALWAYS AS (coalesce(k, 3))
        "duckdb",
        r"\b(LEFT|RIGHT|FULL) JOIN\b",
        r"^(\d+ rows|affected \d+|rows|table )",
        "DuckDB 2.0 computes a generated column from the NULLs of an outer join",
        plain=True,
    ),
    Explained(
        "duckdb",
        r"\(\(.*, .*\) <=? ",
        r"^\d+ rows .* expected",
        "DuckDB 2.0 once lost a row by a comparison of rows with a NULL in them, and found it when asked again",
        _ASKED_AGAIN,
    ),
    Explained(
        "mysql",
        r"AVG\(ABS\(\d+\)\) OVER",
        r"n9+\.9999",
        "MariaDB 10.11 gives ABS of a literal one digit too few and cuts the average in its temporary table",
    ),
    Explained(
        "mysql",
        r"\(\(.*, .*\) (NOT )?IN \(SELECT",
        r"42000 \(\(1235,",
        "MariaDB 10.11 has no subquery in the row before IN, as it says itself, and merges derived tables into one",
    ),
    Explained(
        "mysql",
        r"INTERSECT|EXCEPT",
        r"HY000 \(\(127,",
        "a bug of MariaDB 10.11's temporary tables, as it says itself",
    ),
    Explained(
        "mysql",
        r"\(SELECT .*\(SELECT .*\b[tdwv]\d+\.\w+",
        r"42S22 \(\(1247,",
        "MariaDB 10.11 takes an outer column in a subquery for a later item of the select list that the subquery is in",
    ),
    Explained(  # SELECT t.k FROM t LEFT JOIN u ON u.k = t.k WHERE (t.k, u.a) < (5, 1)
        "mysql",
        r"(RIGHT|LEFT) JOIN .*WHERE .*\(\(.*, .*\) <",
        r"^\d+ rows .* expected|^rows|^affected|^the interpreter failed with 23000: null value",
        "MariaDB 10.11 makes an inner join of an outer one because of a row comparison that NULLs need not fail",
    ),
    Explained(
        # SELECT MAX(d.o0), COUNT(d.o0) FROM t LEFT JOIN (SELECT 7 AS o0 FROM u) AS d ON t.k = 99, which no k is
        # SELECT d.a FROM t LEFT JOIN (SELECT 1 AS a FROM u) AS d ON FALSE WHERE EXISTS (SELECT 1 FROM u WHERE d.a = 1)
        "mysql",
        r"LEFT JOIN (\(SELECT|cte\d)|(\(SELECT .*\) AS d\d+|cte\d+ AS w\d+) RIGHT JOIN",
        r"^(\d+ rows|rows|affected|table )",
        "MariaDB 10.11 takes the constant of a derived table, in MIN and MAX and in a subquery that reads it, where an"
        " outer join has NULL",
        ("SET optimizer_switch = 'derived_merge=off'", "SET optimizer_switch = DEFAULT"),
    ),
    Explained(
        # SELECT 1 FROM t JOIN u ON 1 NOT IN (SELECT w.k FROM t LEFT JOIN w USING (k) GROUP BY w.k HAVING -1 < 1)
        "mysql",
        r"IN \(SELECT .*(LEFT|RIGHT) JOIN .* HAVING ",
        r"^\d+ rows .* expected",
        "MariaDB 10.11, where it makes EXISTS of an IN with HAVING, takes a NOT NULL column of an outer join's missing"
        " side for a value",
        ("SET optimizer_switch = 'in_to_exists=off'", "SET optimizer_switch = DEFAULT"),
    ),
    Explained(
        "mysql",
        r"^(UPDATE|DELETE FROM) (\w+) .*\(SELECT .*FROM \2 .*\) AS d\d",
        r"the engine failed with HY000 \(\(1093,",
        "MariaDB 10.11 refuses the target of a write in a derived table where its plan leaves that out; HY000 does not"
        " tell what it undid, so that an audit leaves it undecided",
    ),
    Explained(  # SELECT c IN (SELECT k FROM u WHERE FALSE UNION SELECT k FROM u WHERE FALSE) FROM t, where a c is NULL
        "mysql",
        r"IN \(SELECT .*UNION (?!ALL)",
        r"^rows \{[^{}]*'NoneType:None'[^{}]*\} where \{[^{}]*'int:[01]'",
        "MariaDB 10.11 has NULL for NULL IN an empty UNION; with UNION ALL it is 0, and so is EXISTS of the UNION",
    ),
    Explained(  # SELECT DISTINCT k > ANY (SELECT e.a FROM u LEFT JOIN e ON e.k = u.k) FROM t, where e is empty
        "mysql",
        r"(?=.*\b(DISTINCT|GROUP BY|UNION|INTERSECT|EXCEPT|OVER|FROM \(SELECT)\b)"
        r".*[<>]=? (ANY|ALL) \(SELECT .*(RIGHT|LEFT) JOIN",
        r"^rows \{\([^{}]*'int:0'[^{}]*\} where \{\([^{}]*'NoneType:None'",
        "MariaDB 10.11 takes a subquery on a NOT NULL column of an outer join for never NULL: it is 0 in a temporary"
        " table",
    ),
    Explained(
        "mysql",
        r"^WITH .*(MIN|MAX|COUNT|SUM|AVG)\(.*\(SELECT",
        r"HY000 \(\(1111,",
        "MariaDB 10.11 refuses an aggregate over a subquery on a common table",
    ),
    Explained(  # SELECT DISTINCT 1 FROM t LIMIT 1 OFFSET 1
        "mysql",
        r"^SELECT DISTINCT .*(OFFSET|LIMIT \d+, )",
        r"^1 rows \[(\([^()]*\))\], expected 0 of \[\1\]$",
        "MariaDB 10.11 stops at one row of a DISTINCT of constants, before it skips OFFSET rows",
    ),
)


def explanations(engine: str, sql: str, problem: str) -> Iterator[Explained]:
    """Why this difference may be no mistake of the interpreter."""
    for item in EXPLAINED:
        if (
            item.engine == engine
            and re.search(item.statement, sql, re.DOTALL)
            and re.search(item.problem, problem, re.DOTALL)
        ):
            yield item

"""What SQLite 3.40.1 answers otherwise than it should, or by rules of its own, is refused by name. Runs no SQLite."""

from __future__ import annotations

import pytest

from sql_semantics.errors import Unsupported
from sql_semantics.values.dialect import Dialect
from tests.unit.running import Database

SCHEMA = "CREATE TABLE t (k INT NOT NULL, a INT)"
MOVING = "MIN or MAX with FILTER over a frame that moves, in sqlite"


def database() -> Database:
    return Database(Dialect("sqlite"), [SCHEMA]).fill("t", [(1, 5), (2, 7)])


@pytest.mark.parametrize(
    ("sql", "construct"),
    [
        ("SELECT min(a) FILTER (WHERE a > 5) OVER (ORDER BY k ROWS 1 PRECEDING) FROM t", MOVING),
        ("SELECT max(a) FILTER (WHERE a < 7) OVER (ORDER BY k RANGE CURRENT ROW) FROM t", MOVING),
        ("SELECT (SELECT NULL FROM t) IS (k / 0.5) FROM t", "IS of a number and a text in sqlite"),
        ("SELECT (k + 1) IS NOT (a || '') FROM t", "IS of a number and a text in sqlite"),
        (
            "SELECT (SELECT sum(CASE WHEN t.k IS NULL THEN o.a END) FROM t) FROM t AS o",
            "aggregate of a column of an outer query",
        ),
    ],
)
def test_refused(sql: str, construct: str) -> None:
    with pytest.raises(Unsupported) as caught:
        database().rows(sql)
    assert caught.value.construct == construct


def test_what_is_like_it_is_answered() -> None:
    made = database()
    assert made.rows("SELECT (k + 1) IS 'a', 'a' IS NOT (k + 1) FROM t WHERE k = 1") == [(0, 1)]
    window = "SELECT {}(a) FILTER (WHERE a > 5) OVER (ORDER BY k {}) FROM t"
    assert made.rows(window.format("min", "ROWS UNBOUNDED PRECEDING")) == [(None,), (7,)]
    assert made.rows(window.format("count", "ROWS 1 PRECEDING")) == [(0,), (1,)]
    assert made.rows("SELECT (SELECT sum(CASE WHEN t.k > 1 THEN o.a END) FROM t) FROM t AS o") == [(5,), (7,)]

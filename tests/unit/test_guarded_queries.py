"""Queries of the guarded runtime on small tables written out by hand: joins, groups, LIMIT, subqueries."""

from __future__ import annotations

from decimal import Decimal
from itertools import product

import pytest

from sql_semantics.outcome import GuardedOutcome
from sql_semantics.terms import (
    TRUE,
    atom,
    choose,
    conj,
    disj,
    evaluate,
    evaluate_guard,
    neg,
    unknown,
)
from sql_semantics.values.types import Kind, Value
from tests.guarded_view import Choice
from tests.unit.guarded_rows import BALANCE, A, B, database, row, run


def test_a_left_join_extends_by_nulls_where_nothing_matches() -> None:
    view = database(row(TRUE, 1, 5), row(B, 2, 5))
    outcome = run("SELECT x.id, y.id FROM t x LEFT JOIN t y ON y.id = x.id + 1 WHERE x.id = 1", view)
    (result,) = outcome.results
    assert dict(zip(result.rows, result.guards, strict=True)) == {(1, 2): B, (1, None): neg(B)}


def test_groups_exist_where_a_member_does() -> None:
    view = database(row(TRUE, 1, BALANCE, Decimal("1.50")), row(B, 2, 310, Decimal("2.00")))
    (result,) = run("SELECT v, COUNT(*), SUM(n) FROM t GROUP BY v ORDER BY v DESC", view).results
    assert result.keys == [(310,), (300,)]
    assert result.guards == [disj(A, B), neg(A)]
    assert result.rows[1] == (300, 1, Decimal("1.50"))


def test_distinct_rows_are_present_where_any_duplicate_is() -> None:
    (result,) = run("SELECT DISTINCT v FROM t", database(row(A, 1, 5), row(B, 2, 5))).results
    assert result.rows == [(5,)]
    assert result.guards == [disj(A, B)]


def test_limit_is_left_to_the_result_at_the_top() -> None:
    (result,) = run("SELECT id FROM t ORDER BY id LIMIT 1", database(row(A, 1, 5), row(B, 2, 5))).results
    assert (result.limit, result.offset, len(result.rows)) == (1, 0, 2)


def test_limit_0_runs_nothing_in_postgres() -> None:
    outcome = run("SELECT sum(1 / v) FROM t LIMIT 0", database(row(A, 1, 0), row(B, 2, 5)))
    assert (outcome.results[0].rows, outcome.errors) == ([], [])
    assert run("SELECT sum(1 / v) FROM t LIMIT 1", database(row(A, 1, 0))).errors


def test_limit_inside_a_write_is_run_by_paths_on_symbolic_rows() -> None:
    view = database(row(A, 1, 5), row(B, 2, 5))
    outcome = run("INSERT INTO t SELECT id + 10, v FROM t ORDER BY id LIMIT 1", view)
    inserted = [values for _, values in list(view.tables["t"].values())[2:]]
    assert len(inserted) == 1
    for a, b, count, identity in (
        (True, True, 1, 11),
        (True, False, 1, 11),
        (False, True, 1, 12),
        (False, False, 0, None),
    ):
        choice = Choice({"a": a, "b": b})
        assert evaluate(outcome.affected, choice) == count
        assert identity is None or evaluate(inserted[0][0], choice) == identity
    certain = database(row(TRUE, 1, BALANCE), row(TRUE, 2, 5))
    assert run("INSERT INTO t SELECT id + 10, v FROM t ORDER BY id LIMIT 1", certain).affected == 1


def test_a_sum_of_unknowns_is_null_where_no_row_is_and_may_overflow() -> None:
    x = unknown("x", Kind.INT, 0, 0, 9)
    (result,) = run("SELECT SUM(v), MIN(v), MAX(v), COUNT(v) FROM t", database(row(A, 1, x), row(A, 2, 3))).results
    for a, value in product((False, True), (0, 3, 7)):
        choice = Choice({"a": a}, {"x": value})
        found = [evaluate(scalar, choice) for scalar in result.rows[0]]
        assert found == ([value + 3, min(value, 3), max(value, 3), 2] if a else [None, None, None, 0])


def test_subqueries_need_no_paths() -> None:
    """As many uncertain rows as would be 2 ** 30 paths."""
    rows = [row(atom(n), n, 2) for n in range(30)]
    view = database(*rows, row(TRUE, 100, 5))
    outcome = run("UPDATE t SET v = 9 WHERE EXISTS (SELECT 1 FROM t u WHERE u.v < t.v AND u.id <> 3)", view)
    for present in ({3}, {3, 4}, {7}, set()):
        choice = Choice({n: n in present for n in range(30)})
        wanted = 1 if present - {3} else 0
        assert (evaluate(outcome.affected, choice), outcome.errors) == (wanted, [])
        assert view.under(choice)["t"][-1][1] == (9 if wanted else 5)


def test_in_subquery_is_unknown_beside_a_null() -> None:
    view = database(row(TRUE, 1, 1, s="x"), row(A, 2, 2, n=None), row(B, 3, 3, n=Decimal("1.00")))
    outcome = run("SELECT id FROM t WHERE id NOT IN (SELECT n FROM t WHERE id > 1)", view)
    (result,) = outcome.results
    for a, b, wanted in ((True, False, []), (False, True, [3]), (False, False, [1]), (True, True, [])):
        choice = Choice({"a": a, "b": b})
        found = [r[0] for guard, r in zip(result.guards, result.rows, strict=True) if evaluate_guard(guard, choice)]
        assert found == wanted


def test_a_scalar_subquery_of_two_rows_is_an_error_where_both_are_there() -> None:
    view = database(row(A, 1, 5), row(B, 2, 6), row(TRUE, 3, 7))
    outcome = run("SELECT (SELECT v FROM t WHERE id < 3) FROM t WHERE id = 3", view)
    ((guard, error),) = outcome.errors
    assert (guard, error.sqlstate) == (conj(A, B), "21000")
    ((value,),) = outcome.results[0].rows
    assert [evaluate(value, Choice({"a": a, "b": not a})) for a in (True, False)] == [5, 6]


MANY = [row(atom(n), n, 2) for n in range(30)]


def present_ids(outcome: GuardedOutcome, choice: Choice) -> list[Value]:
    (result,) = outcome.results
    rows = zip(result.guards, result.rows, strict=True)
    return [evaluate(values[0], choice) for guard, values in rows if evaluate_guard(guard, choice)]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT x.id FROM (SELECT id, v + 1 AS w FROM t WHERE id > 2) x WHERE x.w = 3", [3, 7]),
        ("WITH x AS (SELECT id FROM t WHERE v = 2) SELECT x.id FROM x JOIN x y ON y.id = x.id + 4", [3]),
        ("SELECT a.id FROM t a RIGHT JOIN t b ON a.id = b.id + 4", [None, None, 7]),
        (
            "SELECT b.id FROM t a FULL JOIN t b ON a.id = b.id + 4 WHERE a.id IS NULL OR b.id IS NULL",
            [1, 7, None, None],
        ),
        ("SELECT id FROM t WHERE id < 4 UNION SELECT v FROM t", [1, 3, 2]),
        ("SELECT id FROM t UNION ALL SELECT id FROM t WHERE id = 7", [1, 3, 7, 7]),
        ("SELECT v FROM t INTERSECT SELECT 2", [2]),
        ("SELECT id FROM t EXCEPT SELECT id FROM t WHERE id > 2", [1]),
    ],
)
def test_queries_of_many_uncertain_rows_need_no_paths(sql: str, expected: list[Value]) -> None:
    choice = Choice({n: n in (1, 3, 7) for n in range(30)})
    outcome = run(sql, database(*MANY))
    assert sorted(present_ids(outcome, choice), key=repr) == sorted(expected, key=repr)
    assert outcome.errors == []


def test_writes_with_joins_need_no_paths() -> None:
    rows = [row(atom(n), n, choose(((A, 1), (neg(A), 2)))) for n in range(30)]
    view = database(*rows)
    outcome = run("UPDATE t SET v = t.v + u.v FROM t u WHERE u.id = t.id + 4", view)
    choice = Choice({**{n: n in (1, 3, 7) for n in range(30)}, "a": True})
    assert (evaluate(outcome.affected, choice), outcome.errors) == (1, [])
    assert [values[:2] for values in view.under(choice)["t"]] == [(1, 1), (3, 2), (7, 1)]
    deleted = run("DELETE FROM t USING t u WHERE u.id < t.id", view)
    assert evaluate(deleted.affected, choice) == 2
    assert [values[0] for values in view.under(choice)["t"]] == [1]

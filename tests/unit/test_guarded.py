"""The guarded runtime on small tables written out by hand (paper §4, the running example)."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from decimal import Decimal
from itertools import product

import pytest

from sql_semantics.errors import Unsupported
from sql_semantics.frontend import bind, read_schema
from sql_semantics.guarded import compile_guarded
from sql_semantics.guarded.lifting import Failure
from sql_semantics.guarded.native.predicates import Predicate, both, either
from sql_semantics.ir.expressions import Binary, Const, Variable
from sql_semantics.ir.queries import Select
from sql_semantics.ir.schema import Catalog
from sql_semantics.ir.statements import Call, If, Procedure, SelectInto, SetVariable, Update
from sql_semantics.outcome import GuardedOutcome
from sql_semantics.terms import (
    FALSE,
    TRUE,
    Term,
    atom,
    choose,
    conj,
    disj,
    evaluate,
    evaluate_guard,
    neg,
    same,
    unknown,
)
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import BOOLEAN, INT, Kind
from tests.guarded_view import Choice, GuardedMemory
from tests.property.guarded_cases import to_variables
from tests.unit.guarded_rows import BALANCE, POSTGRES, A, B, bound, call, cases, database, row, run

MYSQL = Dialect("mysql", collation="utf8mb4_0900_bin")
Join = Callable[[Predicate, Predicate], Predicate]


def test_an_update_applies_to_the_cases_of_a_value() -> None:
    view = database(row(TRUE, 2, BALANCE))
    outcome = run("UPDATE t SET v = v + 100 WHERE id = 2", view)
    assert (outcome.affected, outcome.matched, outcome.errors) == (1, 1, [])
    ((guard, values),) = view.tables["t"].values()
    assert guard is TRUE
    assert cases(values[1]) == {410: A, 400: neg(A)}
    assert view.lookups == [("t", (0,), (2,))]
    assert view.scans == []


def test_rows_are_filtered_by_guards_and_their_values_narrowed() -> None:
    outcome = run("SELECT v FROM t WHERE v > 305", database(row(TRUE, 2, BALANCE)))
    (result,) = outcome.results
    assert result.rows == [(310,)]
    assert result.guards == [A]
    assert result.present is TRUE
    assert outcome.affected is None


def test_counts_are_plain_where_all_rows_are_certain_on_the_path() -> None:
    view = database(row(A, 1, 1), row(TRUE, 2, 2))
    assert run("DELETE FROM t", view, path=conj(A, B)).affected == 2
    assert cases(run("DELETE FROM t", database(row(A, 1, 1), row(TRUE, 2, 2))).affected) == {1: neg(A), 2: A}


def test_many_uncertain_rows_are_counted_by_a_term() -> None:
    view = database(*(row(atom(i), i, i) for i in range(40)))
    affected = run("UPDATE t SET v = 1", view).affected
    assert isinstance(affected, Term)
    assert (affected.low, affected.high) == (0, 40)


def test_guards_of_writes_contain_the_path() -> None:
    view = database(row(TRUE, 1, 5))
    run("INSERT INTO t (id, v) VALUES (7, 8)", view, path=B)
    run("DELETE FROM t WHERE id = 1", view, path=B)
    assert [guard for guard, _ in view.tables["t"].values()] == [neg(B), B]
    assert view.begun == [B, B]


def test_nothing_happens_on_an_impossible_path() -> None:
    view = database(row(TRUE, 1, 5))
    outcome = run("DELETE FROM t", view, path=FALSE)
    assert outcome == GuardedOutcome([], None, None, [])
    assert view.begun == []


def test_errors_stand_under_their_guards() -> None:
    outcome = run("UPDATE t SET v = v - 305 WHERE id = 2", database(row(B, 2, BALANCE)))
    assert [(guard, error.sqlstate) for guard, error in outcome.errors] == [(conj(B, neg(A)), "23514")]
    outcome = run("SELECT 1 / (v - 300) FROM t", database(row(B, 2, BALANCE)))
    assert [(guard, error.sqlstate, error.may) for guard, error in outcome.errors] == [
        (conj(B, neg(A)), "22012", False)
    ]


def test_only_the_first_constraint_that_fails_counts() -> None:
    outcome = run("INSERT INTO t VALUES (NULL, -1)", database(), path=B)
    assert [(guard, error.sqlstate) for guard, error in outcome.errors] == [(B, "23502")]


def test_a_key_with_cases_is_looked_up_case_by_case() -> None:
    view = database(row(TRUE, 1, 5), row(TRUE, 2, 6), row(TRUE, 3, 7))
    query = bound("SELECT v FROM t WHERE id = $1", Kind.INT)
    assert isinstance(query, Select)
    into = SelectInto(variables(query), (1,))
    condition = Binary("=", Variable(1, INT, "y"), Const(5, INT), BOOLEAN)
    choice = If(((condition, (SetVariable(0, Const(3, INT)),)),), (SetVariable(0, Const(2, INT)),))
    view.tables["t"][1] = (TRUE, (1, choose(((A, 5), (neg(A), 4))), None, None))
    outcome = call(view, into, choice, variables(query))
    assert {key for _, _, key in view.lookups} == {(1,), (2,), (3,)}
    assert len(view.lookups) == 3
    assert view.scans == []
    assert dict(zip(outcome.results[0].rows, outcome.results[0].guards, strict=True)) == {
        (7,): A,
        (6,): neg(A),
    }
    assert outcome.affected is None


def variables(query: Select) -> Select:
    """The query with its one parameter replaced by variable 0."""
    replaced = to_variables(query, [0])
    assert isinstance(replaced, Select)
    return replaced


def test_if_runs_both_branches_under_their_conditions() -> None:
    view = database(row(TRUE, 1, BALANCE))
    query = bound("SELECT v FROM t WHERE id = 1")
    assert isinstance(query, Select)
    condition = Binary(">", Variable(1, INT, "y"), Const(305, INT), BOOLEAN)
    update = bound("UPDATE t SET v = 0 WHERE id = 1")
    assert isinstance(update, Update)
    body = (SelectInto(query, (1,)), If(((condition, (update, query)),), (bound("SELECT 1"),)))
    outcome = call(view, *body, path=B)
    assert view.begun == [B, conj(A, B), conj(A, B), conj(neg(A), B)]
    assert [result.present for result in outcome.results] == [conj(A, B), conj(neg(A), B)]
    ((_, values),) = view.tables["t"].values()
    assert same(values[1], choose(((conj(A, B), 0), (conj(A, neg(B)), 310), (neg(A), 300)))) is not FALSE
    assert cases(values[1])[0] is conj(A, B)


def test_select_into_keeps_the_variable_where_no_row_is_and_fails_where_two_are() -> None:
    view = database(row(A, 1, 5), row(B, 2, 6))
    query = bound("SELECT v FROM t")
    assert isinstance(query, Select)
    outcome = call(view, SelectInto(query, (0,)), variables(selected_parameter()))
    assert [(guard, error.sqlstate) for guard, error in outcome.errors] == [(conj(A, B), "42000")]
    found = cases(outcome.results[0].rows[0][0])
    assert found[1] is neg(disj(A, B))


def selected_parameter() -> Select:
    query = bound("SELECT $1", Kind.INT)
    assert isinstance(query, Select)
    return query


def test_unknowns_take_arithmetic_and_fold_by_their_hulls() -> None:
    x = unknown("x", Kind.INT, 0, 0, 100)
    view = database(row(TRUE, 1, x))
    outcome = run("UPDATE t SET v = v * 2 + 1 WHERE v >= 0 AND v < 500", view)
    assert (outcome.affected, outcome.errors) == (1, [])
    ((_, values),) = view.tables["t"].values()
    assert isinstance(values[1], Term)
    assert (values[1].low, values[1].high) == (1, 201)
    outcome = run("UPDATE t SET v = v + 2147483447", view)
    assert [error.sqlstate for _, error in outcome.errors] == ["22003"]


@pytest.mark.parametrize(
    ("sql", "what"),
    [
        ("SELECT v / 2 FROM t", "the operator / of an unknown value"),
        ("SELECT ABS(v) FROM t", "the function abs of an unknown value"),
        ("SELECT DISTINCT v FROM t ORDER BY v", "ORDER BY by an unknown value"),
        ("SELECT v, COUNT(*) FROM t GROUP BY v", "GROUP BY by an unknown value"),
        ("SELECT DISTINCT v FROM t", "DISTINCT by an unknown value"),
        ("SELECT AVG(v) FROM t", "the aggregate avg of an unknown value"),
        ("SELECT COUNT(DISTINCT v) FROM t", r"count\(DISTINCT\) of an unknown value"),
        ("SELECT CAST(v AS TEXT) FROM t", "the conversion to text of an unknown value"),
    ],
)
def test_what_is_not_modelled_of_an_unknown_is_refused_by_name(sql: str, what: str) -> None:
    with pytest.raises(Unsupported, match=what):
        run(sql, database(row(TRUE, 1, unknown("x", Kind.INT, 0, 0, 9))))


def test_an_answer_ordered_by_an_unknown_value_is_known_by_the_order_that_it_shows() -> None:
    rows = database(row(TRUE, 1, unknown("x", Kind.INT, 0, 0, 9)), row(TRUE, 2, 5))
    (shown,) = run("SELECT id, v FROM t ORDER BY v DESC, id", rows).results
    assert shown.keys is None and shown.arranged is not None
    assert shown.arranged([(1, 7), (2, 5)]) and shown.arranged([(1, 5), (2, 5)])
    assert not shown.arranged([(2, 5), (1, 7)]) and not shown.arranged([(2, 5), (1, 5)])
    (hidden,) = run("SELECT id FROM t ORDER BY v, id", rows).results
    assert hidden.arranged is not None and hidden.arranged([(2,), (1,)])


def test_cases_beyond_the_bound_become_terms_or_are_refused() -> None:
    first = choose([(atom(i), i) for i in range(200)])
    second = choose([(atom(-i), 1000 * i) for i in range(1, 200)])
    view = GuardedMemory({"t": [(TRUE, (first, second, None, None))]})
    (result,) = run("SELECT id + v FROM t", view).results
    assert isinstance(result.rows[0][0], Term)
    with pytest.raises(Unsupported, match="too many cases in the operator %"):
        run("SELECT v % id FROM t", view)


def test_three_valued_logic_under_guards() -> None:
    view = database(row(TRUE, 1, 5, choose(((A, Decimal(1)), (neg(A), None))), choose(((B, "x"), (neg(B), None)))))
    (result,) = run("SELECT n > 0 AND s = 'x', n > 0 OR s = 'x', NOT (n > 0 AND s = 'x') FROM t", view).results
    conjunction, alternative, negated = result.rows[0]
    for a, b in product((False, True), repeat=2):
        choice = Choice({"a": a, "b": b})
        assert evaluate(conjunction, choice) is (True if a and b else None)
        assert evaluate(negated, choice) is (False if a and b else None)
        assert evaluate(alternative, choice) is (True if a or b else None)


def test_assignments_of_an_update_read_the_old_row_unless_they_are_sequential() -> None:
    schema = ("CREATE TABLE t (id INT PRIMARY KEY, v INT, w INT)",)
    for dialect in (POSTGRES, MYSQL):
        catalog = Catalog(read_schema(schema, dialect))
        statement = bind("UPDATE t SET v = w, w = v", (), catalog, dialect).statement
        view = database((TRUE, (7, 1, choose(((A, 10), (neg(A), 20))))))
        compile_guarded(statement, catalog, dialect)(view, (), TRUE)
        for a, value in ((True, 10), (False, 20)):
            assert view.under(Choice({"a": a}))["t"] == [(7, value, 1 if dialect is POSTGRES else value)]


def test_mysql_counts_and_writes_changed_rows() -> None:
    schema = ("CREATE TABLE t (id INT PRIMARY KEY, v INT)",)
    catalog = Catalog(read_schema(schema, MYSQL))
    statement = bind("UPDATE t SET v = 310", (), catalog, MYSQL).statement
    outcome = compile_guarded(statement, catalog, MYSQL)(database((TRUE, (1, BALANCE))), (), TRUE)
    assert cases(outcome.affected) == {0: A, 1: neg(A)}
    assert outcome.matched == 1


FAIL = Failure("22012", "division by zero", False)
TRUTHS = (True, False, None, FAIL)


def four_ways(name: str) -> Predicate:
    """TRUE, FALSE, NULL or a failure, as two atoms say."""
    high, low = atom((name, 1)), atom((name, 0))
    guards = (conj(neg(high), neg(low)), conj(neg(high), low), conj(high, neg(low)), conj(high, low))
    return Predicate(guards[0], guards[1], guards[2], ((guards[3], FAIL),))


@pytest.mark.parametrize("join", [both, either])
@pytest.mark.parametrize(("first", "second"), list(product(range(4), repeat=2)))
def test_connectives_keep_three_valued_logic_and_stop_early(join: Join, first: int, second: int) -> None:
    joined = join(four_ways("x"), four_ways("y"))
    bits: dict[Hashable, bool] = {}
    for name, number in (("x", first), ("y", second)):
        bits[name, 1], bits[name, 0] = number >= 2, bool(number % 2)
    choice = Choice(bits)
    left, right = TRUTHS[first], TRUTHS[second]
    stop = join is either
    if left is FAIL or (left is not stop and right is FAIL):
        assert any(evaluate_guard(guard, choice) for guard, _ in joined.failures)
        return
    assert not any(evaluate_guard(guard, choice) for guard, _ in joined.failures)
    expected = stop if stop in (left, right) else None if None in (left, right) else not stop
    held = [evaluate_guard(guard, choice) for guard in (joined.true, joined.false, joined.null)]
    assert held == [expected is True, expected is False, expected is None]


def test_a_failure_of_parameters_that_no_row_reaches_is_not_decided() -> None:
    with pytest.raises(Unsupported, match="fails with 22012 but is not reached"):
        run("SELECT 1 / $1 FROM t", database(row(A, 1, 5)), 0)
    outcome = run("SELECT 1 / $1 FROM t", database(row(TRUE, 1, 5)), 0)
    assert [(guard, error.sqlstate) for guard, error in outcome.errors] == [(TRUE, "22012")]


def test_mysql_divides_by_zero_in_a_variable_as_in_a_column() -> None:
    x, ten = Variable(0, INT, "x"), Const(10, INT)
    procedure = Procedure("p", ("x",), (INT,), (SetVariable(0, Binary("/", ten, x, INT)), bound("SELECT 1")))
    catalog = Catalog({}, {"p": procedure})
    for divisor, states in ((0, ["22012"]), (2, [])):
        compiled = compile_guarded(Call("p", (Const(divisor, INT),)), catalog, MYSQL)
        assert [error.sqlstate for _, error in compiled(database(), (), TRUE).errors] == states

"""Path exploration below guarded runs: knowledge, laziness, sharing. Does not know SQL beyond the example tables."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import pytest

from sql_semantics.errors import Unsupported
from sql_semantics.frontend import bind, read_schema
from sql_semantics.guarded import Mode, compile_guarded
from sql_semantics.guarded.paths.knowledge import Contradiction, Knowledge
from sql_semantics.guarded.paths.opaque import Cell, LazyRow, Opaque, Unknown
from sql_semantics.guarded.paths.running import PATH_LIMIT, Explorer, Looked
from sql_semantics.ir.schema import Catalog
from sql_semantics.outcome import GuardedOutcome, GuardedResult, ResultSet
from sql_semantics.terms import FALSE, TRUE, Scalar, atom, choose, conj, disj, neg, unknown
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import Kind
from tests.guarded_view import Choice, GuardedMemory
from troubadour.execution.observations.expected import explained
from troubadour.execution.observations.observation import parse_observation
from troubadour.model.log import ObservedRows, Statement

A, B, C = atom("a"), atom("b"), atom("c")
DIALECT = Dialect("postgres", collation="C")
CATALOG = Catalog(read_schema(["CREATE TABLE t (id INT PRIMARY KEY, a INT, s TEXT)"], DIALECT))


class Rank(NamedTuple):
    """A threshold atom."""

    subject: str
    rank: int

    def threshold(self) -> tuple[str, int]:
        return self.subject, self.rank


def test_knowledge_follows_parts() -> None:
    known = Knowledge()
    known.assume(conj(A, disj(neg(A), B)))
    assert known.truth(B) is True
    assert known.truth(disj(C, B)) is True
    assert known.truth(C) is None
    with pytest.raises(Contradiction):
        known.assume(neg(B))


def test_knowledge_completes_a_clause_later() -> None:
    known = Knowledge()
    known.assume(disj(A, B, C))
    known.assume(A, False)
    assert known.truth(B) is None
    known.assume(conj(B, C), False)
    known.assume(B)
    assert (known.truth(C), known.truth(neg(C))) == (False, True)


def test_a_threshold_implies_the_lower_ones() -> None:
    known = Knowledge()
    low, middle, high = (atom(Rank("r", rank)) for rank in (1, 2, 3))
    known.assume(middle)
    assert (known.truth(low), known.truth(high)) == (True, None)
    known.assume(high, False)
    assert known.truth(high) is False
    with pytest.raises(Contradiction):
        known.assume(low, False)


def run(
    sql: str, rows: list[tuple[object, tuple[Scalar, ...]]], mode: Mode = Mode.FORKED
) -> tuple[GuardedOutcome, GuardedMemory]:
    view = GuardedMemory({"t": rows})  # type: ignore[dict-item]
    statement = bind(sql, None, CATALOG, DIALECT).statement
    return compile_guarded(statement, CATALOG, DIALECT, mode=mode)(view, (), TRUE), view


def test_values_that_are_only_copied_are_not_decided() -> None:
    many = [(TRUE, (n, choose(((atom(n), n), (neg(atom(n)), -n))), "x")) for n in range(40)]
    outcome, _ = run("SELECT a, id FROM t", many)  # 2 ** 40 paths if they were
    (result,) = outcome.results
    assert (len(result.rows), set(result.guards)) == (40, {TRUE})


def test_copied_unknowns_are_written_back() -> None:
    x = unknown("x", Kind.INT, 0, 0, 9)
    _, view = run("UPDATE t SET s = 'y' WHERE id = 1", [(TRUE, (1, x, "x")), (A, (2, x, "x"))])
    assert next(iter(view.tables["t"].values())) == (TRUE, (1, x, "y"))


def test_unknown_numbers_are_compared_by_decisions() -> None:
    x = unknown("x", Kind.INT, 0, 0, 9)
    outcome, view = run("UPDATE t SET a = a + 1 WHERE a > 3", [(TRUE, (1, x, "x"))])
    for value in range(10):
        choice = Choice({}, {"x": value})
        assert view.under(choice)["t"] == [(1, value + (value > 3), "x")]
    assert outcome.errors == []


def test_an_unknown_that_has_to_be_known_is_refused_by_name() -> None:
    x = unknown("x", Kind.INT, 0, 0, 9)
    with pytest.raises(Unsupported, match="an unknown value in SELECT"):
        run("SELECT a % 3 FROM t", [(TRUE, (1, x, "x"))])


def test_exclusive_cases_are_one_decision() -> None:
    chain = [atom(Rank("r", n)) for n in range(30)]
    versions = [(conj(chain[n], neg(chain[n + 1])), n) for n in range(29)]
    cases = choose([(neg(chain[0]), -1), *versions, (chain[29], 29)])
    twice = choose([(neg(chain[0]), -1), *((guard, 2 * n) for guard, n in versions), (chain[29], 58)])
    outcome, _ = run("SELECT sum(a) FROM t", [(TRUE, (1, cases, "x")), (TRUE, (2, twice, "x"))])
    (result,) = outcome.results
    assert len(result.rows[0][0].items) == 31  # type: ignore[union-attr]


def test_too_many_paths_are_refused_by_name() -> None:
    assert PATH_LIMIT < 2**9
    with pytest.raises(Unsupported, match="too many cases in SELECT"):
        run("SELECT count(*) FROM t", [(atom(n), (n, 0, "x")) for n in range(9)])


def test_answers_that_agree_on_all_paths_are_certain() -> None:
    either = choose(((A, 1), (conj(neg(A), B), 2), (conj(neg(A), neg(B)), 3)))
    outcome, view = run("UPDATE t SET s = 'y' WHERE a > 0", [(TRUE, (1, either, "x"))])
    assert outcome.affected == 1
    assert view.tables["t"][1][0] is TRUE
    for a, b in ((True, False), (False, True), (False, False)):
        assert view.under(Choice({"a": a, "b": b}))["t"] == [(1, 1 if a else 2 if b else 3, "y")]


def test_ordered_answers_are_present_where_their_paths_are() -> None:
    swap = choose(((A, 0), (neg(A), 9)))
    outcome, _ = run("SELECT id FROM t ORDER BY a", [(TRUE, (1, swap, "x")), (TRUE, (2, 5, "x"))])
    assert {(result.present, tuple(result.rows)) for result in outcome.results} == {
        (A, ((1,), (2,))),
        (neg(A), ((2,), (1,))),
    }


def test_impossible_paths_are_empty() -> None:
    view = GuardedMemory({"t": [(TRUE, (1, 1, "x"))]})
    statement = bind("DELETE FROM t", None, CATALOG, DIALECT).statement
    path = conj(disj(A, B), disj(A, neg(B)), neg(A))
    outcome = compile_guarded(statement, CATALOG, DIALECT, mode=Mode.FORKED)(view, (), path)
    assert (outcome.results, outcome.errors, view.tables["t"][1][0]) == ([], [], TRUE)


def test_new_rows_are_numbered_path_by_path() -> None:
    rows = [(A, (1, 1, "x")), (B, (2, 2, "x"))]
    _, view = run("INSERT INTO t SELECT id + 10, a, s FROM t", rows)
    inserted = list(view.tables["t"].values())[2:]
    assert [guard for guard, _ in inserted] == [disj(A, B), conj(A, B)]


def test_every_look_into_an_opaque_value_is_noticed() -> None:
    value = Opaque(choose(((A, 1), (neg(A), 2))), "tag")  # type: ignore[arg-type]
    looks = [
        *(lambda: value == 1, lambda: value < 1, lambda: 1 + value, lambda: -value, lambda: hash(value)),
        *(lambda: bool(value), lambda: str(value), lambda: f"{value}", lambda: int(value), lambda: value.rstrip()),
        *(lambda: isinstance(value, int), lambda: value.__class__, lambda: len(value), lambda: value in {1: 1}),
        *(lambda: [3, 1].index(value), lambda: sorted([1, value]), lambda: "a" + value, lambda: round(value)),
    ]
    for look in looks:
        with pytest.raises(Looked):
            look()


def test_a_cell_is_read_whichever_way_it_is_taken_out() -> None:
    explorer = Explorer(TRUE, "a test")

    def program() -> object:
        row = LazyRow((1, Cell(explorer, choose(((A, 5), (neg(A), 6))), "tag")))  # type: ignore[arg-type]
        plain: tuple[object, ...] = (0,)
        longer = plain + row + row + plain
        assert type(longer) is LazyRow
        assert (hash(row), row) == (hash(tuple(row)), tuple(row))
        return row[1] + 1, longer[4] - longer[2], [*longer[3:]], row.count(5), max(row)

    assert explorer.explore(program).ends == [(6, 0, [1, 5, 0], 1, 5), (7, 0, [1, 6, 0], 0, 6)]


def test_an_unknown_refuses_what_it_cannot_answer() -> None:
    explorer = Explorer(TRUE, "a test")
    value = Unknown(explorer, unknown("x", Kind.INT, 0, 0, 9))
    for look in (lambda: hash(value), lambda: value % 2, lambda: str(value), lambda: isinstance(value, int)):
        with pytest.raises(Unsupported, match="an unknown value in a test"):
            look()


def test_everything_that_a_result_says_has_a_guarded_twin() -> None:
    concrete = {field.name for field in dataclasses.fields(ResultSet)}
    guarded = {field.name for field in dataclasses.fields(GuardedResult)}
    assert guarded - concrete == {"guards", "present", "arranged"}
    # what rounds is refused, see below; what was locked is asked of concrete runs, by the search and by replay
    assert concrete - guarded == {"rounded", "locked"}, "guarded.merging must take care of the new field"


def test_a_sum_that_rounds_is_refused_on_symbolic_rows() -> None:
    rows = [(A, (1, 1, "x")), (TRUE, (2, 2, "x")), (TRUE, (3, 3, "x"))]
    with pytest.raises(Unsupported, match="sum of floating-point numbers that depends on the order"):
        run("SELECT SUM(a::double precision / 10) FROM t", rows)  # type: ignore[arg-type]


def test_the_empty_answer() -> None:
    outcome, _ = run("SELECT a FROM t WHERE FALSE", [(A, (1, 1, "x"))])
    assert [guard for result in outcome.results for guard in result.guards if guard is not FALSE] == []


def test_rows_that_may_be_skipped_stay_so() -> None:
    outcome, _ = run("SELECT a FROM t FOR UPDATE SKIP LOCKED", [(A, (1, 5, "x")), (TRUE, (2, 6, "x"))])
    (result,) = outcome.results
    assert result.subset
    statement = Statement("", results=(ObservedRows(("a",), ((5,),)),))
    assert explained(parse_observation(statement, [result.types]), outcome) is A

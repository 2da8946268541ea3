"""What counts as explained: multisets, sequences up to ties, choices under LIMIT, counts."""

from __future__ import annotations

from decimal import Decimal
from itertools import permutations
from random import Random

import pytest

from sql_semantics.errors import Unsupported
from sql_semantics.outcome import Outcome, ResultSet
from sql_semantics.values.types import DOUBLE, INT, TEXT, Kind, SqlType, Value
from troubadour.execution.observations.observation import MisfitValue, mismatch, parse_observation
from troubadour.model.log import JsonValue, ObservedError, ObservedRows, Statement
from troubadour.model.values import REDACTED

MONEY = SqlType(Kind.NUMERIC, 12, 2)
CHAR = SqlType(Kind.TEXT, length=5, padded=True)


def differs(
    observed: list[tuple[JsonValue, ...]],
    expected: list[tuple[Value, ...]],
    types: tuple[SqlType, ...],
    *,
    keys: list[tuple[Value, ...]] | None = None,
    offset: int = 0,
    limit: int | None = None,
    truncated: bool = False,
    affected: int | None = None,
) -> str | None:
    rows = ObservedRows(tuple("abc"[: len(types)]), tuple(observed), truncated)
    statement = Statement("", results=(rows,), affected=affected)
    parsed = parse_observation(statement, (types,))
    return mismatch(parsed, Outcome([ResultSet(types, expected, keys, offset, limit)]))


def test_rows_without_order_are_a_multiset() -> None:
    assert differs([(2,), (1,), (1,)], [(1,), (2,), (1,)], (INT,)) is None
    assert differs([(2,), (2,), (1,)], [(1,), (2,), (1,)], (INT,)) == "observed (2), expected (1)"


def test_values_are_compared_by_type() -> None:
    assert differs([("310",)], [(Decimal("310.00"),)], (MONEY,)) is None
    assert differs([("420.00",)], [(Decimal("410.00"),)], (MONEY,)) == "observed 420.00, expected 410.00"
    assert differs([("310",)], [("310.00",)], (TEXT,)) == "observed '310', expected '310.00'"
    assert differs([(None,)], [(0,)], (INT,)) == "observed NULL, expected 0"


def test_number_of_rows() -> None:
    assert differs([], [(1,)], (INT,)) == "observed 0 rows, expected 1 row (1)"
    assert differs([(1,), (1,)], [(1,)], (INT,)) == "observed 2 rows, expected 1 row (1)"


def test_number_of_columns() -> None:
    assert differs([(1, 2)], [(1,)], (INT,)) == "observed 1/2 columns, expected 1"


def test_order_by_is_a_sequence_up_to_ties() -> None:
    rows: list[tuple[Value, ...]] = [(1, "a"), (1, "b"), (2, "c")]
    keys: list[tuple[Value, ...]] = [(1,), (1,), (2,)]
    both = (INT, TEXT)
    assert differs([(1, "b"), (1, "a"), (2, "c")], rows, both, keys=keys) is None
    assert differs([(1, "b"), (2, "c"), (1, "a")], rows, both, keys=keys) is not None


def test_limit_without_order_takes_any_rows() -> None:
    rows: list[tuple[Value, ...]] = [(1,), (2,), (2,)]
    assert differs([(2,), (2,)], rows, (INT,), limit=2) is None
    assert differs([(1,), (1,)], rows, (INT,), limit=2) is not None
    assert differs([(1,)], rows, (INT,), limit=2) == "observed 1 row, expected 2 rows"
    assert differs([(2,)], rows, (INT,), limit=2, offset=2) is None
    assert differs([], rows, (INT,), limit=2, offset=3) is None


@pytest.mark.parametrize("seed", range(30))
def test_windows_allow_exactly_the_choices_of_ties(seed: int) -> None:
    rng = Random(seed)
    expected: list[tuple[Value, ...]] = [(rng.choice((1, 1, 2)), rng.choice(("a", "b"))) for _ in range(4)]
    expected.sort(key=lambda row: str(row[0]))
    keys: list[tuple[Value, ...]] = [(row[0],) for row in expected]
    offset, limit = rng.randint(0, 3), rng.choice((None, 1, 2, 3))
    truncated = rng.random() < 0.4
    possible = set()
    for order in permutations(range(4)):
        if all(keys[order[i]] == keys[i] for i in range(4)):
            rows = [expected[i] for i in order][offset:][:limit]
            possible.add(tuple(rows))
            if truncated:
                possible.update(tuple(rows[:count]) for count in range(len(rows)))
    candidates = {(), *possible}
    for count in range(1, 4):
        for order in permutations(range(4), count):
            candidates.add(tuple(expected[i] for i in order))
    for candidate in candidates:
        answer = differs(
            list(candidate), expected, (INT, TEXT), keys=keys, offset=offset, limit=limit, truncated=truncated
        )
        assert (answer is None) == (candidate in possible), (candidate, answer)


def test_truncated_results() -> None:
    rows: list[tuple[Value, ...]] = [(1,), (2,), (3,)]
    assert differs([(3,)], rows, (INT,), truncated=True) is None
    assert differs([(4,)], rows, (INT,), truncated=True) is not None
    assert differs([(2,)], rows, (INT,), truncated=True, keys=[(1,), (2,), (3,)]) is not None
    assert differs([(1,), (2,)], rows, (INT,), truncated=True, keys=[(1,), (2,), (3,)]) is None


def test_redacted_values_need_a_matching() -> None:
    rows: list[tuple[Value, ...]] = [(1, 1), (1, 2), (2, 1)]
    assert differs([(1, REDACTED), (REDACTED, 1), (REDACTED, 2)], rows, (INT, INT)) is None
    # Each row alone has a partner, but two of them have only one between them.
    assert differs([(REDACTED, 2), (1, REDACTED), (1, 2)], rows, (INT, INT)) is not None
    assert differs([(REDACTED, REDACTED), (2, REDACTED), (1, 1)], rows, (INT, INT)) is None


def test_char_ignores_trailing_blanks_and_nan_equals_itself() -> None:
    assert differs([("ab   ",)], [("ab",)], (CHAR,)) is None
    assert differs([("ab ",)], [("ab",)], (TEXT,)) is not None
    assert differs([("NaN",), (1.5,)], [(1.5,), (float("nan"),)], (DOUBLE,)) is None
    assert differs([(1.5,)], [(float("nan"),)], (DOUBLE,)) is not None


def test_affected_counts() -> None:
    parsed = parse_observation(Statement("", affected=2), ())
    assert mismatch(parsed, Outcome([], affected=2)) is None
    assert mismatch(parsed, Outcome([], affected=1)) == "observed 2 affected rows, expected 1"


def test_the_count_of_a_query_is_its_number_of_rows() -> None:
    rows: list[tuple[Value, ...]] = [(1,), (2,), (3,)]
    assert differs([(1,), (2,)], rows, (INT,), limit=2, affected=2) is None
    assert differs([(1,), (2,)], rows, (INT,), limit=2, affected=3) is not None


def test_the_count_of_what_neither_asks_nor_writes_is_0() -> None:
    assert mismatch(parse_observation(Statement("", affected=0), ()), Outcome([])) is None
    with pytest.raises(Unsupported):
        mismatch(parse_observation(Statement("", affected=1), ()), Outcome([]))


def test_result_sets_that_the_statement_does_not_return() -> None:
    one = ObservedRows(("a",), ((1,),))
    update = parse_observation(Statement("", results=(one,)), ())
    assert mismatch(update, Outcome([], affected=1)) == "observed rows, expected none: the statement returns no result"
    empty = parse_observation(Statement("", results=(ObservedRows((), ()),)), ())
    assert mismatch(empty, Outcome([], affected=1)) is None


def test_several_result_sets() -> None:
    one, two = ObservedRows(("a",), ((1,),)), ObservedRows(("a",), ((2,),))
    parsed = parse_observation(Statement("", results=(one, two), several=True), ((INT,), (INT,)))
    expected = [ResultSet[Value]((INT,), [(1,)]), ResultSet[Value]((INT,), [(2,)])]
    assert mismatch(parsed, Outcome(expected)) is None
    assert mismatch(parsed, Outcome(expected[::-1])) == "observed 1, expected 2"
    assert mismatch(parsed, Outcome(expected[:1])) == "observed 2 result sets, expected 1"


def test_types_that_are_known_only_afterwards() -> None:
    parsed = parse_observation(Statement("", results=(ObservedRows(("a",), (("1.0",),)),)), None)
    assert mismatch(parsed, Outcome([ResultSet((MONEY,), [(Decimal(1),)])])) is None
    assert mismatch(parsed, Outcome([ResultSet((INT,), [(1,)])])) is not None
    assert mismatch(parsed, Outcome([])) is not None


def test_a_value_that_does_not_fit_names_its_column() -> None:
    with pytest.raises(MisfitValue, match="row 1, column b: "):
        parse_observation(Statement("", results=(ObservedRows(("a", "b"), ((1, "x"),)),)), ((INT, INT),))


def test_an_observed_error_is_no_success() -> None:
    parsed = parse_observation(Statement("", error=ObservedError("23505")), ())
    assert mismatch(parsed, Outcome([], affected=1)) == "observed error 23505, expected success"

"""Values without arithmetic in a model: each code stands for one value, and each value for its code."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from uuid import UUID

import pytest
import z3

from sql_semantics.terms import same, unknown
from sql_semantics.values.types import Interval, Kind, Value
from troubadour.solver.lowering import Lowering

CONSTANTS: dict[Kind, Value] = {
    Kind.TEXT: "x",
    Kind.JSON: "{}",
    Kind.DOUBLE: 7.0,
    Kind.BYTES: b"x",
    Kind.DATE: date(2026, 1, 1),
    Kind.TIME: time(12),
    Kind.TIMESTAMP: datetime(2026, 1, 1),
    Kind.TIMESTAMPTZ: datetime(2026, 1, 1, tzinfo=UTC),
    Kind.INTERVAL: Interval(microseconds=7),
    Kind.UUID: UUID(int=7),
}


@pytest.fixture
def lowering() -> Lowering:
    return Lowering(z3.main_ctx())


def formula(lowering: Lowering, kind: Kind, value: Value) -> str:
    """That an unknown has this value, as the solver is told."""
    ast = lowering.guard(same(unknown(("u", kind), kind), value))
    return str(z3.BoolRef(ast, z3.main_ctx()))


@pytest.mark.parametrize("kind", list(CONSTANTS), ids=lambda kind: kind.name)
def test_a_value_that_a_model_has_is_the_constant_of_its_code(lowering: Lowering, kind: Kind) -> None:
    assert formula(lowering, kind, CONSTANTS[kind]) in ("u0 == 2", "2 == u0")
    codes = [9, 3, -4, 0, 2, 7]
    values = [lowering.code_value(code, kind) for code in codes]
    assert {type(value) for value in values} == {type(CONSTANTS[kind])}
    assert len(set(values)) == len(codes)
    assert values[codes.index(2)] == CONSTANTS[kind]
    for code, value in zip(codes, values, strict=True):
        assert lowering.code_value(code, kind) == value
        assert formula(lowering, kind, value) in (f"u0 == {code}", f"{code} == u0")


def test_a_new_constant_has_none_of_the_codes_that_models_had(lowering: Lowering) -> None:
    taken = [lowering.code_value(code, Kind.TEXT) for code in (2, 3, 5)]
    found = [formula(lowering, Kind.TEXT, text) for text in ("x", "y", "z", *taken)]
    assert len(set(found)) == len(found)


def test_what_a_model_says_of_one_kind_is_no_constant_of_another(lowering: Lowering) -> None:
    formula(lowering, Kind.TEXT, "x")
    formula(lowering, Kind.TIMESTAMP, CONSTANTS[Kind.TIMESTAMP])
    assert isinstance(lowering.code_value(2, Kind.DATE), date)
    moment = lowering.code_value(3, Kind.TIMESTAMPTZ)
    assert isinstance(moment, datetime) and moment.tzinfo is not None

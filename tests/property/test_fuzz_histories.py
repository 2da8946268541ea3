"""The fast part of `make fuzz` for histories of other checkers and object logs."""

from __future__ import annotations

import pytest

from tests.property.fuzz_histories import BLOCK, run

FAST, SLOW = 200, 6_000


def clean(first: int) -> None:
    _, faults = run(range(first, first + BLOCK))
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("first", range(0, FAST, BLOCK))
def test_no_history_is_a_fault_of_the_program(first: int) -> None:
    clean(first)


@pytest.mark.parametrize("seed", [3001, 4008, 8789, 11857, 12955, 14360, 15252, 27669, 28996])
def test_what_was_one(seed: int) -> None:
    assert run([seed])[1] == []


@pytest.mark.slow
@pytest.mark.parametrize("first", range(FAST, SLOW, BLOCK))
def test_no_history_of_many_is_a_fault_of_the_program(first: int) -> None:
    clean(first)

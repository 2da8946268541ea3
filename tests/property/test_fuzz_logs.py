"""The fast part of `make fuzz`."""

from __future__ import annotations

import pytest

from tests.property.fuzz_logs import BLOCK, run

FAST, SLOW = 50, 3_000


def clean(first: int) -> None:
    _, faults = run(range(first, first + BLOCK))
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("first", range(0, FAST, BLOCK))
def test_no_log_is_a_fault_of_the_program(first: int) -> None:
    clean(first)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(FAST, SLOW, BLOCK))
def test_no_log_of_many_is_a_fault_of_the_program(first: int) -> None:
    clean(first)

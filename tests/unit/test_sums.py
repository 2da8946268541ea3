"""Numbers that add up: sums against enumeration, and the paper's RQ1 with all that may be different about it."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from random import Random

import pytest

from benchmarks.rq1 import Shape, rq1_log, verdict_of
from troubadour.coverage.library import library_of
from troubadour.model.verdict import Scope, Status
from troubadour.replay.checker import check
from troubadour.search.inference.values.sums import chosen, may_add_up, sums_of


@pytest.mark.parametrize("seed", range(40))
def test_sums_are_those_of_an_enumeration(seed: int) -> None:
    random = Random(seed)

    def changes(count: int) -> list[tuple[int, ...]]:
        return [tuple(random.randint(-6, 9) for _ in range(random.choice((1, 1, 2)))) for _ in range(count)]

    def enumerated(options: list[tuple[int, ...]]) -> set[int]:
        return {sum(one) for one in product(*((0, *each) for each in options))}

    first, second = changes(random.randint(1, 5)), changes(random.randint(1, 4))
    some, others = enumerated(first), enumerated(second)
    found = sums_of(first)
    for value in range(-70, 90):
        assert (value in found) == (value in some)
        parts = chosen(first, value)
        assert (parts is not None) == (value in some)
        if parts is not None:
            assert sum(added for _, added in parts) == value
            assert all(added in first[place] for place, added in parts)
            assert len({place for place, _ in parts}) == len(parts)
        assert may_add_up(found, sums_of(second), value) == any(value - one in others for one in some)


SHAPES = {
    "as in the paper": (Shape(), "400.00", "66.00"),
    "not nullable, PostgreSQL": (Shape(dialect="postgres", not_null=True), "400.00", "66.00"),
    "with times": (Shape(times=True), "400.00", "66.00"),
    "other names": (Shape(names=("konten", "nr", "saldo")), "390.00", "395.00"),
    "no common divisor": (Shape(amounts=("7.31", "11.07", "13.13")), "327.75", "301.00"),
    "impossible by count": (Shape(amounts=("30.00", "50.00")), "410.00", "340.00"),
    "the sum of two rows": (Shape(amounts=("10.00",), sums=True), "430.00", "405.00"),
}


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("size", [30, 60])
def test_rq1_is_decided(name: str, size: int, tmp_path: Path) -> None:
    shape, possible, impossible = SHAPES[name]
    log = rq1_log(size, possible, shape)
    verdict = verdict_of(size, possible, shape=shape)
    assert verdict.status is Status.CORRECT, verdict
    assert verdict.witness is not None
    assert check(log, verdict.witness, library_of(log), isolation=None) is None
    refuted = verdict_of(size, impossible, shape=shape)
    assert (refuted.status, refuted.scope) == (Status.VIOLATION, Scope.EVERY_ORDER), refuted
    assert refuted.failing_transaction == size
    assert refuted.core is not None and len(refuted.core) == size and not refuted.notes

"""Exact arithmetic and printed numbers agree with PostgreSQL digit by digit."""

from __future__ import annotations

import random
from decimal import Decimal
from typing import Any

import pytest

from sql_semantics.products.postgres import POSTGRES
from sql_semantics.values.numbers.floating import float_text
from sql_semantics.values.numbers.number import EXACT, divide_postgres, modulo_decimals, round_scale
from sql_semantics.values.types import Kind


def _number(source: random.Random) -> Decimal:
    digits = source.choice((1, 2, 4, 5, 8, 9, 16, 30))
    scale = source.choice((0, 0, 1, 2, 3, 4, 5, 8, 20))
    sign = "-" if source.random() < 0.3 else ""
    return Decimal(f"{sign}{source.randrange(10**digits)}e-{scale}")  # by text: arithmetic would round to 28 digits


def _compare(connection: Any, seed: int, count: int) -> None:
    source = random.Random(seed)
    for _ in range(count):
        left, right = _number(source), _number(source) or Decimal("0.5")
        scale = source.randrange(-3, 6)
        a, b = f"'{left:f}'::numeric", f"'{right:f}'::numeric"
        sql = f"SELECT ({a} / {b})::text, ({a} % {b})::text, ({a} * {b})::text, round({a}, {scale})::text"
        theirs = connection.execute(sql).fetchone()
        mine = (
            divide_postgres(left, right),
            modulo_decimals(left, right),
            EXACT.multiply(left, right),
            round_scale(left, scale),
        )
        ours = tuple(f"{value if value else abs(value):f}" for value in mine)
        assert ours == theirs, f"seed {seed}: {left:f} and {right:f}, {scale}"


def _compare_doubles(connection: Any, seed: int, count: int) -> None:
    source = random.Random(seed)
    values = [source.uniform(-10, 10) * 10.0 ** source.randrange(-30, 30) for _ in range(count)]
    values += [round(value, 2) for value in values] + [float(n) * 10.0**e for n in (1, 25) for e in range(-8, 20)]
    for value in values:
        (theirs,) = connection.execute("SELECT (%s::float8)::text", (value,)).fetchone()
        assert float_text(value, Kind.DOUBLE, POSTGRES.values.float_text) == theirs, f"seed {seed}: {value!r}"


def test_numbers_agree(postgres: Any) -> None:
    _compare(postgres, 11, 1500)
    _compare_doubles(postgres, 12, 200)


@pytest.mark.slow
def test_numbers_agree_at_length(postgres: Any) -> None:
    seed = random.randrange(1, 10**6)
    _compare(postgres, seed, 40_000)
    _compare_doubles(postgres, seed, 5_000)

"""Functions of exact numbers: roots, powers, logarithms, divisors, to_char() and to_number(), beside PostgreSQL."""

from __future__ import annotations

import random
from collections import Counter
from decimal import Decimal
from typing import Any

import pytest

from sql_semantics.ir.schema import Catalog
from sql_semantics.values.dialect import Dialect
from tests.differential.beside import Beside
from tests.differential.campaign import collation_of
from tests.differential.engines import Postgres

REFUSED = (
    "not certain",
    "at the end of its bucket",
    "with V",
    "with 0 behind PR",
    "with SP",
    "large exponent",
    "with EEEE",
)
"""What is left open of these by name."""


def _number(rng: random.Random) -> str:
    kind = rng.random()
    if kind < 0.1:
        return rng.choice(["0", "1", "2", "10", "100", "0.0", "1.0", "0.1", "-1", "-2.5"])
    if kind < 0.2:
        return str(1 + rng.choice([-1, 1]) * Decimal(rng.randint(1, 99999)) / 10 ** rng.randint(5, 12))
    if kind < 0.35:
        return f"0.{'0' * rng.randint(0, 12)}{rng.randint(1, 10 ** rng.randint(1, 8))}"
    places = rng.randint(0, rng.choice([2, 5, 12, 20]))
    text = str(rng.randint(0, 10 ** rng.choice([1, 2, 4, 6, 9, 15, 20])))
    if places:
        text += f".{rng.randrange(10**places):0{places}d}"
    return f"-{text}" if rng.random() < 0.15 else text


def _exponent(rng: random.Random) -> str:
    sign = "-" if rng.random() < 0.4 else ""
    return sign + rng.choice([str(rng.randint(0, 40)), str(round(rng.uniform(0, 50), rng.randint(1, 9)))])


def _call(rng: random.Random) -> str:
    a, b, c = (f"{_number(rng)}::numeric" for _ in range(3))
    near = f"{_exponent(rng)}::numeric"
    integer = rng.randint(-(2**31), 2**31 - 1)
    return rng.choice(
        [
            *(f"{name}({a})" for name in ("sqrt", "ln", "log", "log10", "scale", "min_scale", "trim_scale")),
            *(f"{name}({a}, {b})" for name in ("log", "gcd", "lcm")),
            *(f"{name}({integer}, {rng.randint(-50, 50)})" for name in ("gcd", "lcm")),
            *(f"exp({near})", f"power({a}, {near})", f"({a}) ^ ({near})", f"factorial({rng.randint(-2, 60)})"),
            f"width_bucket({a}, {b}, {c}, {rng.randint(-1, 50)})",
        ]
    )


def _pattern(rng: random.Random) -> str:
    if rng.random() < 0.5:
        pattern = rng.choice(["", "FM", "FM", "S", "SG", "MI", "PL", "FMS", "FMMI"])
        pattern += "".join(rng.choice("99990,") for _ in range(rng.randint(1, 9)))
        if rng.random() < 0.6:
            pattern += "." + "".join(rng.choice("990") for _ in range(rng.randint(0, 5)))
        return pattern + rng.choice(["", "", "", "S", "MI", "PR", "TH", "th", " x", "PL", "SG"])
    words = ["9", "9", "9", "0", "0", ",", ".", "FM", "S", "MI", "PL", "PR", "SG", "TH", "th", "EEEE"]
    return "".join(rng.choice([*words, " ", "x", '"ab"', "-", '\\"', "k", "#", "$"]) for _ in range(rng.randint(1, 10)))


def _written(rng: random.Random) -> str:
    value = rng.choice(
        [
            str(rng.randint(-(10**9), 10**9)),
            str(Decimal(rng.randint(-999, 999)) / 10 ** rng.randint(1, 4)),
            rng.choice(["0", "0.5", "-0.5", "100.00", "-1"]),
        ]
    )
    return f"to_char(({value}){rng.choice(['', '::numeric'])}, '{_pattern(rng)}')"


def _read(rng: random.Random) -> str:
    text = "".join(rng.choice("0123456789123456.,+- <>xth") for _ in range(rng.randint(0, 10)))
    return f"to_number('{text}', '{_pattern(rng)}')"


def _compare(connection: Any, seeds: range, each: int) -> None:
    engine = Postgres(connection, collation_of(connection))
    version = (connection.info.server_version // 10_000,)
    beside = Beside(engine, Dialect("postgres", collation=engine.collation, version=version), Catalog({}, {}))
    outside: Counter[str] = Counter()
    for seed in seeds:
        rng = random.Random(seed)
        for _ in range(each):
            call = rng.choice([_call, _written, _read])(rng)
            step = beside.step(f"SELECT {call}, ({call})::text")
            assert step.problem is None, f"{call}: {step.problem}"
            if step.outside is not None:
                outside[step.outside] += 1
    assert all(any(words in construct for words in REFUSED) for construct in outside), outside
    assert sum(outside.values()) < 0.05 * each * len(seeds)


def test_results_agree_to_the_last_digit(postgres: Any) -> None:
    _compare(postgres, range(1), 150)


@pytest.mark.slow
def test_many_results_agree(postgres: Any) -> None:
    _compare(postgres, range(1, 11), 1000)

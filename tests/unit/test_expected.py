"""Counting guards, against counting under every assignment. Does not test how observations are compared."""

from __future__ import annotations

import random
from collections.abc import Hashable
from dataclasses import dataclass
from itertools import product

from sql_semantics.terms import FALSE, TRUE, Guard, atom, conj, neg
from sql_semantics.terms.evaluation import evaluate_guard
from sql_semantics.values.types import Value
from troubadour.execution.observations.expected import at_least, exactly


@dataclass
class _Chosen:
    true: set[Hashable]

    def holds(self, key: Hashable) -> bool:
        return key in self.true

    def value(self, key: Hashable) -> Value:
        raise KeyError(key)


def test_counts_of_guards_hold_where_so_many_do() -> None:
    rng = random.Random("counting")
    for _ in range(60):
        atoms = [atom(("counted", n)) for n in range(rng.randint(1, 5))]
        pool: list[Guard] = [*atoms, *map(neg, atoms), conj(rng.choice(atoms), rng.choice(atoms)), TRUE, FALSE]
        guards = [rng.choice(pool) for _ in range(rng.randint(0, 7))]
        for count in range(9):
            few, just = at_least(guards, count), exactly(guards, count)
            for values in product((False, True), repeat=len(atoms)):
                chosen = _Chosen({("counted", n) for n, value in enumerate(values) if value})
                number = sum(evaluate_guard(guard, chosen) for guard in guards)
                assert evaluate_guard(few, chosen) == (number >= count)
                assert evaluate_guard(just, chosen) == (number == count)

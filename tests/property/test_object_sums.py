"""Locks and banks, tiny and random: what sums tell of them is what the oracle's enumeration says."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest

from tests.property.object_logs import Draft
from troubadour.audit.driver import Options, audit
from troubadour.audit.objects.decide import ObjectOptions, decide_objects
from troubadour.audit.objects.second import by_sql
from troubadour.coverage.library import library_for
from troubadour.formats.objects.expand import expanded
from troubadour.model.verdict import Status
from troubadour.oracle import explain
from troubadour.oracle.enumerate import BudgetExceeded

BUDGET = 40_000


def _lock(rng: random.Random) -> Draft:
    """Each takes or frees a lock, or looks at it, mostly in turn; times may say that it cannot be."""
    draft = Draft({"lock": "register"}, {("lock", 0): 0})
    held = 0
    for number in range(rng.randint(3, 5)):
        seen = held if rng.random() < 0.85 else 1 - held
        operations: list[list[Any]] = [["r", "lock", 0, seen]]
        if rng.random() < 0.8:
            operations.append(["w", "lock", 0, 1 - seen])
            held = 1 - seen
        draft.lines.append({"id": number, "status": rng.choice(["committed"] * 5 + ["unknown"]), "ops": operations})
    return _timed(draft, rng)


def _bank(rng: random.Random) -> Draft:
    draft = Draft({"b": "counter"}, {("b", key): rng.choice((0, 5)) for key in (1, 2)})
    there = {key: draft.initial["b", key] for key in (1, 2)}
    for number in range(rng.randint(3, 5)):
        if rng.random() < 0.6:
            seen = {key: value + (rng.choice((-1, 1)) if rng.random() < 0.1 else 0) for key, value in there.items()}
            operations = [["r", "b", key, value] for key, value in seen.items()]
        else:
            amount = rng.choice((-1, 1, 2))
            operations = [["inc", "b", 1, -amount], ["inc", "b", 2, amount]]
            there = {1: there[1] - amount, 2: there[2] + amount}
        draft.lines.append({"id": number, "status": rng.choice(["committed"] * 6 + ["unknown"]), "ops": operations})
    return _timed(draft, rng)


def _timed(draft: Draft, rng: random.Random) -> Draft:
    width = rng.choice((2, 8))
    server = rng.random() < 0.3
    for number, line in enumerate(draft.lines):
        begun = 4 * number + rng.randrange(4)
        ended = begun + rng.randint(1, width)
        if server:
            line |= {"start": begun, "commit": ended}
        else:
            line["invoked"] = begun
            if line["status"] == "committed":
                line["returned"] = ended
    return draft


MAKERS = {"lock": _lock, "bank": _bank}
LEVELS = ("strict-serializable", "serializable", "strict-snapshot", "snapshot")


def judged(kind: str, seeds: Iterable[int]) -> Counter[str]:
    """How logs are decided; each as the oracle says."""
    counts: Counter[str] = Counter()
    for seed in seeds:
        rng = random.Random(f"{kind} {seed}")
        log, level = MAKERS[kind](rng).read(), rng.choice(LEVELS)
        verdict = decide_objects(log, ObjectOptions(level), by_sql)
        if verdict is None:
            counts["open"] += 1
            continue
        try:
            answer = explain(*library_for(expanded(log), level), level, budget=BUDGET)
        except BudgetExceeded:
            continue
        where = f"{kind} {seed} at {level}"
        assert (verdict.status, verdict.verified_prefix) == (answer.status, answer.verified_prefix), where
        counts[verdict.status.value] += 1
    return counts


@pytest.mark.parametrize("kind", MAKERS)
def test_as_the_oracle_says(kind: str) -> None:
    counts = judged(kind, range(60))
    assert counts["correct"] > 5 and counts["violation"] > 5


@pytest.mark.slow
@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("first", range(1000, 5000, 500))
def test_as_the_oracle_says_of_many(kind: str, first: int) -> None:
    assert judged(kind, range(first, first + 500))["violation"] > 20


def test_a_bank_of_unknown_balances() -> None:
    """Totals that differ refute it, whatever was there at first; nothing else is told of it here."""
    counts: Counter[str] = Counter()
    for seed in range(20):
        rng = random.Random(f"unknown bank {seed}")
        draft = _bank(rng)
        draft.header["initial"] = {"b": "unknown"}
        log = draft.read()
        verdict = decide_objects(log, ObjectOptions("serializable"), by_sql)
        counts["open" if verdict is None else verdict.status.value] += 1
        if verdict is not None:
            sql, library = library_for(expanded(log), "serializable")
            found = audit(sql, library, Options("serializable"), lambda phase, done, total: None)
            assert found.status is Status.VIOLATION, seed
    assert counts["violation"] > 1 and counts["open"] > 5

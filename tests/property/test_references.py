"""The references of generated key-value histories agree with the oracle (benchmarks/histories)."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("clingo", reason="references by answer set programming need clingo")

from benchmarks.histories import encoding, saturation
from benchmarks.histories.facts import facts
from benchmarks.histories.generate import ORDERS, Shape, generate
from benchmarks.histories.history import History
from benchmarks.histories.mutate import mutate
from benchmarks.histories.reference import LEVELS, OF_READS, WITH_SESSIONS, reference
from troubadour.coverage.library import library_of
from troubadour.formats import read_log
from troubadour.oracle import BudgetExceeded, explain

SHAPES = {
    "unique": Shape(5, 2, operations=3),
    "blind": Shape(5, 2, operations=2, blind=True, writes=0.7),
    "repeated": Shape(5, 2, operations=3, repeated=0.6),
    "increments": Shape(5, 2, operations=3, increments=True, writes=0.6),
    "inserts": Shape(5, 4, operations=3, inserts=True),
    "nullable": Shape(5, 2, operations=3, nullable=True),
    "sessions": Shape(5, 2, operations=3, sessions=2),
    "hosts": Shape(5, 2, operations=3, sessions=3, order="hosts"),
    "stale": Shape(5, 2, operations=3, stale=True),
}


def oracle(history: History, level: str, path: Path) -> str | None:
    history.write(path)
    log = read_log([path])
    try:
        return explain(log, library_of(log), level, budget=60_000).status.value
    except BudgetExceeded:
        return None


def histories(name: str, count: int) -> list[History]:
    """As generated, and with one read altered."""
    made = [generate(SHAPES[name], seed) for seed in range(count)]
    return [*made, *(altered for seed, each in enumerate(made) if (altered := mutate(each, seed)) is not None)]


def compare(name: str, count: int, path: Path) -> Counter[str]:
    compared: Counter[str] = Counter()
    for history in histories(name, count):
        levels = {"sessions": (*LEVELS, *WITH_SESSIONS), "stale": OF_READS}.get(name, LEVELS)
        for level in levels:
            said = reference(history, level)
            right = oracle(history, level, path) if said is not None else None
            if right is not None:
                assert said == right, f"{level}: {history.note}"
                compared[f"{level} {said}"] += 1
    return compared


@pytest.mark.parametrize("name", SHAPES)
def test_references_agree_with_the_oracle(name: str, tmp_path: Path) -> None:
    if name == "stale":
        compared = compare(name, 30, tmp_path / "log.jsonl")
        assert compared["read-committed correct"] and compared["read-committed violation"]
        return
    compared = compare(name, 4, tmp_path / "log.jsonl")
    assert compared["serializable correct"] and compared["serializable violation"]


@pytest.mark.slow
@pytest.mark.parametrize("name", SHAPES)
def test_references_agree_with_the_oracle_often(name: str, tmp_path: Path) -> None:
    level = "read-committed" if name == "stale" else "snapshot"
    assert compare(name, 60, tmp_path / "log.jsonl")[f"{level} violation"]


def test_saturation_and_the_encoding_agree() -> None:
    both: Counter[bool] = Counter()
    for seed in range(30):
        history = generate(Shape(25, 6), seed)
        for each in (history, mutate(history, seed)):
            assert each is not None
            said = saturation.serializable(facts(each))
            decided = encoding.decide(facts(each), "serializable", 20)
            if said is not None:
                assert said == decided, each.note
                both[said] += 1
    assert both[True] >= 30 and both[False] >= 5


@pytest.mark.parametrize("order", ORDERS)
def test_a_generated_history_is_serializable_and_comes_again(order: str, tmp_path: Path) -> None:
    shape = Shape(60, 10, sessions=4, order=order)
    history = generate(shape, 3)
    assert history == generate(shape, 3)
    assert history != generate(shape, 4)
    assert reference(history, "serializable") == reference(history, "causal") == "correct"
    history.write(tmp_path / "log.jsonl")
    assert len(read_log([tmp_path / "log.jsonl"]).transactions) == 60

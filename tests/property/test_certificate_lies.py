"""Certificates of random runs: the true one is accepted, and each that contradicts its log or itself is not."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

import pytest

from tests.property.certified_runs import LIES, Lie, Run, Server
from troubadour.audit.certified.examine import examine
from troubadour.coverage.library import library_of
from troubadour.formats import read_log
from troubadour.formats.certificate import read_certificate
from troubadour.model.certificate import Examined, Standing
from troubadour.model.log import LogError

FAST, SLOW = range(12), range(12, 400)
LEVELS = ("snapshot", "postgres:repeatable-read")


def examined(run: Run, folder: Path, level: str) -> Examined:
    log_file, certificate = run.write(folder)
    log = read_log([log_file])
    return examine(log, library_of(log), read_certificate(certificate), isolation=level)[0]


def run_of(seed: int) -> Run:
    return Server(Random(seed), told=seed % 2 == 1).go(10)


@pytest.mark.parametrize("seed", [*FAST, *(pytest.param(seed, marks=pytest.mark.slow) for seed in SLOW)])
def test_the_true_certificate_is_accepted(tmp_path: Path, seed: int) -> None:
    assert examined(run_of(seed), tmp_path, LEVELS[seed % len(LEVELS)]) == Examined(Standing.ACCEPTED)


@pytest.mark.parametrize("lie", LIES, ids=lambda lie: lie.__name__)
@pytest.mark.parametrize("seeds", [FAST, pytest.param(SLOW, marks=pytest.mark.slow)], ids=["fast", "slow"])
def test_what_contradicts_log_or_itself_is_not_accepted(tmp_path: Path, lie: Lie, seeds: range) -> None:
    found: Counter[str] = Counter()
    for seed in seeds:
        told = lie(run_of(seed), Random(seed))
        if told is None:
            continue
        try:
            standing = examined(told, tmp_path, LEVELS[seed % len(LEVELS)]).status
        except LogError:
            found["refused"] += 1
            continue
        assert standing is not Standing.ACCEPTED, (seed, lie.__name__)
        found[standing.value] += 1
    assert found["refuted"] + found["refused"] > len(seeds) // 4
    assert not found["incomplete"], found

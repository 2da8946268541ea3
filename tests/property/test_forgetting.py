"""Replay forgets states, times and sessions that nothing asks for any more: what it says of a witness, true or mutated,
is what it says when it keeps them all."""

from __future__ import annotations

from pathlib import Path
from random import Random

import msgspec
import pytest

from troubadour.audit.driver import Options, audit
from troubadour.coverage.library import library_of
from troubadour.formats import read_log
from troubadour.model.log import Log
from troubadour.model.witness import TransactionView, Witness
from troubadour.record.simulated import simulate
from troubadour.replay import checker
from troubadour.replay.checker import check
from troubadour.replay.refusal import Refusal
from troubadour.workloads.mixed import Mixed

LEVELS = (
    "snapshot",
    "session-snapshot",
    "strict-snapshot",
    "serializable",
    "strict-serializable",
    "read-committed",
    "postgres:read-committed",
    "postgres:repeatable-read",
    "causal",
)
MUTANTS = 25
RECORDED = {
    "postgres:read-committed": "logs/recorded/bank-read-committed-20.jsonl.gz",
    "postgres:repeatable-read": "logs/recorded/bank-snapshot-20.jsonl.gz",
}


def some_log(path: Path, level: str, seed: int) -> Log:
    """A run of the simulated server, which keeps no profile; of these some transactions of a real server."""
    if ":" in level:
        log = read_log([RECORDED[level]])
        return Log(log.header, log.transactions[: 120 + 10 * seed], "some")
    isolation = "serializable" if "serializable" in level else "snapshot"
    simulate(Mixed(items=6, seed=seed), path, isolation=isolation, transactions=30, seed=seed)
    return read_log([path])


def mutated(witness: Witness, random: Random) -> Witness:
    """Two neighbours swapped, or a transaction on another state."""
    order, views = list(witness.order), list(witness.views)
    place = random.randrange(len(order) - 1)
    if random.random() < 0.5:
        order[place : place + 2] = order[place + 1], order[place]
        views[place : place + 2] = views[place + 1], views[place]
    else:
        state = max(0, views[place].state + random.choice((-3, -2, -1, 1)))
        views[place] = msgspec.structs.replace(views[place], state=state)
    return msgspec.structs.replace(witness, order=tuple(order), views=tuple[TransactionView, ...](views))


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 12))])
@pytest.mark.parametrize("level", LEVELS)
def test_what_is_forgotten_changes_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, level: str, seed: int
) -> None:
    random = Random(f"{level}/{seed}")
    log = some_log(tmp_path / "log.jsonl", level, seed)
    library = library_of(log)
    witness = audit(log, library, Options(level, timeout=600)).witness
    assert witness is not None

    def answer(candidate: Witness, every: int) -> Refusal | None:
        monkeypatch.setattr(checker, "EVERY", every)
        return check(log, candidate, library, isolation=level)

    assert answer(witness, 1) is None
    told = []
    for _ in range(MUTANTS):
        candidate = mutated(witness, random)
        kept = answer(candidate, 1 << 30)
        told.append(kept)
        assert answer(candidate, 1) == kept
    assert any(one is not None for one in told)

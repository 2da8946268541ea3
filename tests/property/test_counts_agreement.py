"""What counted rows tell, beside the oracle: amounts that differ, counts that go down, writes that change nothing, rows
that are also written otherwise, unknown outcomes. What is refuted has no witness. Does not run a search.
"""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

import pytest

from tests.property.key_value_logs import SCHEMA
from tests.property.test_engine import LEVELS, compare, key_value
from troubadour.formats import read_log, write_log
from troubadour.model.log import Header, InitialTable, Log, ObservedRows, Statement, Transaction
from troubadour.oracle import BudgetExceeded

AMOUNTS = ((1,), (1, 2), (2, 5), (0, 1), (-1,), (1, -1))
CAMPAIGN = 600


def counted_log(seed: int) -> Log:
    """Few transactions that add to two rows, each by some of the same amounts; some reads are spoilt."""
    rng = random.Random(f"counts {seed}")
    state = {0: rng.randrange(3), 1: 0}
    initial = InitialTable("kv", None, tuple(state.items()))
    amounts = {key: rng.choice(AMOUNTS) for key in state}
    writes_otherwise = rng.random() < 0.2
    found: list[Transaction] = []
    for number in range(rng.randint(3, 5)):
        done: list[Statement] = []
        own = dict(state)
        spoilt = rng.choice((-1, 1, 2)) if rng.random() < 0.4 else 0
        for _ in range(rng.randint(1, 3)):
            key = rng.randrange(2)
            if rng.random() < 0.5:
                seen = ObservedRows(("v",), ((own[key] + spoilt,),))
                done.append(Statement("SELECT v FROM kv WHERE k = $1", (key,), results=(seen,)))
            elif writes_otherwise and rng.random() < 0.3:
                own[key] = rng.randrange(4)
                done.append(Statement("UPDATE kv SET v = $2 WHERE k = $1", (key, own[key]), affected=1))
            else:
                more = rng.choice(amounts[key])
                own[key] += more
                done.append(Statement("UPDATE kv SET v = v + $2 WHERE k = $1", (key, more), affected=1))
        status = "unknown" if rng.random() < 0.15 else "committed"
        if status == "committed" or rng.random() < 0.5:
            state = own
        session = f"s{rng.randrange(3)}" if rng.random() < 0.5 else None
        found.append(Transaction(f"t{number + 1}", status, tuple(done), number + 1, session=session))
    rng.shuffle(found)
    header = Header(dialect="postgres", schema=(SCHEMA,), initial=(initial,))
    with tempfile.TemporaryDirectory() as folder:
        write_log(Path(folder) / "log.jsonl", header, found)
        return read_log([Path(folder) / "log.jsonl"])


def refuted(level: str, seeds: range) -> int:
    count = 0
    for seed in seeds:
        try:
            count += compare(counted_log(seed), key_value(), level)
        except BudgetExceeded:
            continue
    return count


def test_counts_that_are_refuted_have_no_witness() -> None:
    assert refuted("serializable", range(12)) > 1


@pytest.mark.slow
@pytest.mark.parametrize("level", LEVELS)
def test_a_campaign_of_counts_that_are_refuted(level: str) -> None:
    assert refuted(level, range(12, CAMPAIGN)) > CAMPAIGN // 20

"""Serial runs by the clients' times, with one value changed: what the last writer left and what was read are named, and
the oracle agrees; also where one transaction overlaps the next.
"""

from __future__ import annotations

import random
from pathlib import Path

import msgspec
import pytest

from tests.property.key_value_logs import key_value_log
from tests.property.test_engine import key_value
from troubadour.audit.driver import Options, audit
from troubadour.formats import read_log, write_log
from troubadour.model.log import Header, Log, ObservedRows, Transaction
from troubadour.model.verdict import Scope, Status
from troubadour.oracle import explain

LEVELS = (
    "strict-serializable",
    "strict-snapshot",
    "postgres:repeatable-read",
    "postgres:read-committed",
)


def serial_log(seed: int, folder: Path, *, transactions: int = 6, overlapping: bool = False) -> tuple[Log, int | None]:
    """A serial run, one value of which is changed, and the place of the transaction that read it; `overlapping`: two
    neighbours run at the same time."""
    rng = random.Random(f"nothing overlaps {seed}")
    shuffled = key_value_log(seed, transactions, 3, values=rng.choice(("unique", "repeated", "counted")))
    ordered = sorted(shuffled.transactions, key=lambda one: int(str(one.id)[1:]))
    readers = [n for n, one in enumerate(ordered) if any(s.results is not None for s in one.statements)]
    place = rng.choice(readers) if readers else None
    pair = rng.randrange(transactions - 1) if overlapping else None
    found: list[Transaction] = []
    for number, one in enumerate(ordered):
        begun = 100 * number - (150 if pair is not None and number == pair + 1 else 0)
        statements = list(one.statements)
        if number == place:
            at = rng.choice([n for n, s in enumerate(statements) if s.results is not None])
            changed = (ObservedRows(("v",), ((rng.choice((50, 0, 1, 2)),),)),)
            statements[at] = msgspec.structs.replace(statements[at], results=changed)
        timed = [
            msgspec.structs.replace(s, invoked=100 * number + 5 * n, returned=100 * number + 5 * n + 2)
            for n, s in enumerate(statements, 1)
        ]
        end = 100 * number + 60
        found.append(
            Transaction(one.id, "committed", tuple(timed), end, session=f"s{number}", invoked=begun, returned=end)
        )
    header = Header(dialect="postgres", schema=shuffled.header.schema, initial=shuffled.header.initial)
    write_log(folder / "log.jsonl", header, found)
    return read_log([folder / "log.jsonl"]), place


@pytest.mark.parametrize("overlapping", [False, True])
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("seeds", [range(4), pytest.param(range(4, 200), marks=pytest.mark.slow)], ids=str)
def test_one_value_changed_in_a_serial_run(seeds: range, level: str, overlapping: bool, tmp_path: Path) -> None:
    named = 0
    for seed in seeds:
        log, place = serial_log(seed, tmp_path, overlapping=overlapping)
        verdict = audit(log, key_value(), Options(level, accounts=True))
        answer = explain(log, key_value(), level, budget=2_000_000)
        assert verdict.status is answer.status, f"seed {seed}: {verdict.explanation} {verdict.reason}, oracle {answer}"
        if verdict.status is Status.CORRECT or overlapping or level == "postgres:read-committed":
            continue
        assert place is not None and verdict.failing_transaction == log.transactions[place].id
        assert verdict.scope is Scope.EVERY_ORDER and verdict.core is not None
        # an answer about what the transaction wrote itself needs no other
        assert (verdict.explanation or "").startswith("nothing overlaps") or len(verdict.core) == 1
        named += (verdict.explanation or "").startswith("nothing overlaps")
    assert named > len(seeds) // 3 or overlapping or level == "postgres:read-committed"

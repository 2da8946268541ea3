"""A log with other texts and ids has the verdict that it had (`troubadour.tools.anonymize`). Does not know why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sql_semantics.errors import Unsupported
from tests.property.random_logs import random_log, write
from tests.property.random_statements import library
from troubadour.audit.driver import Options, audit
from troubadour.cli.common import library_of
from troubadour.formats import read_log, write_log
from troubadour.model.log import Log
from troubadour.tools.anonymize import Anonymizer

FAST, SLOW = range(25), range(25, 3000)
"""`make slow` has the second."""
LEVELS = ("read-committed", "snapshot", "serializable")


@pytest.mark.parametrize("wider", [False, True])
def test_the_verdict_is_the_same(tmp_path: Path, wider: bool) -> None:
    replaced = compare(FAST, wider, tmp_path)
    assert replaced > 0.3 * len(FAST)


@pytest.mark.slow
@pytest.mark.parametrize("wider", [False, True])
def test_the_verdict_is_the_same_of_many(tmp_path: Path, wider: bool) -> None:
    compare(SLOW, wider, tmp_path)


def compare(seeds: range, wider: bool, folder: Path) -> int:
    """Counts the logs whose ids were replaced."""
    replaced = 0
    for seed in seeds:
        log = random_log(seed, wider=wider)
        try:
            anonymizer = Anonymizer(log, library())
        except Unsupported as refused:
            pytest.fail(f"seed {seed}: {refused.construct}\n{write(log)}")
        path = folder / "log.jsonl"
        write_log(path, anonymizer.header(), anonymizer.transactions())
        other = read_log([path])
        replaced += "accounts.id" not in dict(anonymizer.kept())
        level = LEVELS[seed % 3]
        before, after = told(log, level), told(other, level)
        if before[2] is not None:
            before = (*before[:2], anonymizer.ids[before[2]], *before[3:])
        assert before == after, f"seed {seed} at {level}: {before}, then {after}\n{write(log)}\n{write(other)}"
    return replaced


def told(log: Log, level: str) -> tuple[Any, ...]:
    """What an audit says, without ids and texts."""
    verdict = audit(log, library_of(log), Options(level))
    return verdict.status, verdict.verified_prefix, verdict.failing_transaction, verdict.scope

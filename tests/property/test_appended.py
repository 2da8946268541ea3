"""More log never loses a verdict: a violation stays one, whatever is appended that none of its transactions can see.

The violations of the cases and of the repository's small logs, with transactions of a table of their own behind and
amid theirs. Does not know why any of them is a violation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from tests.case_files import all_cases, opened
from tests.property.appended_logs import appended
from troubadour.audit.driver import Options, audit
from troubadour.formats import read_log
from troubadour.model.verdict import Status

LOGS = Path(__file__).parents[2] / "logs"
COUNTS = (1, 9, 40)
EACH = 36
"""Of so many violations one is looked at each time; the slow tests have all."""

Found = tuple[str, str | None, list[str]]
"""A name, the level, and the lines of a log that is a violation at it."""


def violations() -> Iterator[Found]:
    """The cases, and the logs with an expectation beside them that one line or two take a second for at most."""
    for case in all_cases():
        for expected in case.expectations:
            if expected.verdict == "violation" and not expected.order_recorded:
                yield case.name, None if expected.level == "own" else expected.level, case.lines()
    for path in sorted(path for folder in ("regress", "strangers-3") for path in (LOGS / folder).glob("*.expect")):
        log = path.with_suffix(".jsonl")
        if not log.exists() or log.stat().st_size > 20_000:
            continue
        lines = log.read_text(encoding="utf-8").splitlines()
        for level in re.findall(r"^(\S+) violation\b", path.read_text(encoding="utf-8"), re.M):
            if '"schema"' in lines[0]:
                yield path.stem, None if level == "own" else level, lines


ALL = list(violations())


def lost(found: Found, folder: Path, count: int, *, amid: bool) -> str | None:
    """Why a violation is none with so many transactions appended; None where it still is one."""
    name, level, lines = found
    path = folder / "appended.jsonl"
    more = appended(lines, count, Random(f"{name} {level} {count} {amid}"), amid=amid)
    path.write_text("".join(line + "\n" for line in more), encoding="utf-8")
    log, library = opened(read_log([path]), level)
    verdict = audit(log, library, Options(level))
    if verdict.status is Status.VIOLATION:
        return None
    return f"{name} at {level}, {count} {'amid' if amid else 'behind'}: {verdict.status.value}: {verdict.reason}"


@pytest.mark.parametrize("first", range(3))
def test_a_violation_stays_one(tmp_path: Path, first: int) -> None:
    chosen = ALL[first * EACH // 3 :: EACH * 3]
    found = [lost(one, tmp_path, COUNTS[n % 3], amid=bool(n % 2)) for n, one in enumerate(chosen)]
    assert not list(filter(None, found))


@pytest.mark.slow
@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("amid", [False, True], ids=["behind", "amid"])
@pytest.mark.parametrize("block", range(EACH))
def test_every_violation_stays_one(tmp_path: Path, block: int, count: int, amid: bool) -> None:
    assert not list(filter(None, (lost(one, tmp_path, count, amid=amid) for one in ALL[block::EACH])))

"""The table of docs/protocols.md: every shipped protocol at every level is proved or refuted as it says there, and the
log of every refutation is judged so by the audit and the oracle, too."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.protocols.refutations import second_opinion
from troubadour.protocols.check import Limits, Verdict, check
from troubadour.protocols.levels import PROTOCOL_LEVELS
from troubadour.protocols.loading import SHIPPED, load_model

PAGE = (Path(__file__).parents[2] / "docs" / "protocols.md").read_text(encoding="utf-8")
ROWS = {
    name: dict(zip(PROTOCOL_LEVELS, cells.split(" | "), strict=True))
    for name, cells in re.findall(r"^\| `([a-z0-9-]+)` \| ([PR](?: \| [PR]){7}) \|$", PAGE, re.M)
}


def test_the_table_is_whole() -> None:
    assert set(ROWS) == set(SHIPPED)


@pytest.mark.slow
@pytest.mark.parametrize("level", PROTOCOL_LEVELS)
@pytest.mark.parametrize("name", SHIPPED)
def test_the_table_is_true(name: str, level: str) -> None:
    outcome = check(load_model(name), level, Limits())
    assert outcome.verdict is {"P": Verdict.PROVED, "R": Verdict.REFUTED}[ROWS[name][level]], outcome.reason
    if outcome.trace is not None:
        assert outcome.machine is not None
        kept = [other for other, cell in ROWS[name].items() if cell == "P"]
        found = second_opinion(outcome.machine, outcome.trace, level, kept)
        assert found.agrees, found
        assert found.oracle is not None, "the oracle gave up"

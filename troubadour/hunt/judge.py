"""What an audit says of a log that the hunt recorded. Does not know how the log came about."""

from __future__ import annotations

import re
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sql_semantics.errors import SqlSemanticsError
from sql_semantics.records import dataclass, field
from troubadour.audit.driver import Options, audit
from troubadour.formats import read_log
from troubadour.hunt.derived import contradiction
from troubadour.hunt.libraries import Libraries
from troubadour.model.log import LogError
from troubadour.model.verdict import Status, Verdict

FAULTS = (ArithmeticError, AssertionError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What a fault of this program raises; never a verdict."""


@dataclass(frozen=True, slots=True)
class Judged:
    """`status`: correct, violation, undecided, or *fault*, of this program. `said`: the explanation or the reason.
    `anomaly`: what a violation is called, where that was asked for."""

    status: str
    said: str
    statements: int = 0
    judged: int = 0
    unjudged: Mapping[str, int] = field(default_factory=dict)
    anomaly: str = ""
    failing: str = ""
    statement: str = ""
    verdict: Verdict | None = None


def judge(
    log: Path, timeout: float, level: str | None = None, named: bool = False, libraries: Libraries | None = None
) -> Judged:
    """Audit a log at its own level or another; `named`: a violation is given its name; `libraries`: what was compiled
    before is used again."""
    try:
        found = read_log([log])
        options = Options(level, timeout=timeout, accounts=named)
        library = (libraries or Libraries()).of(found)
        verdict = audit(found, library, options)
        wrong = contradiction(found, library) if verdict.status is Status.CORRECT and level is None else None
    except (LogError, SqlSemanticsError, *FAULTS) as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        return Judged("fault", f"{type(error).__name__} at {Path(place.filename).name}:{place.lineno}: {error}")
    if wrong is not None:
        return Judged("fault", wrong, verdict=verdict)
    coverage = verdict.coverage
    unjudged = {item.construct: item.statements for item in coverage.unjudged} if coverage is not None else {}
    return Judged(
        verdict.status.value,
        str(verdict.explanation or verdict.reason or ""),
        coverage.statements if coverage is not None else 0,
        coverage.judged if coverage is not None else 0,
        unjudged,
        verdict.account.anomaly if verdict.account is not None else "",
        str(verdict.failing_transaction or ""),
        _statement(found, verdict) if verdict.status is Status.VIOLATION else "",
        verdict,
    )


def _statement(found: Any, verdict: Verdict) -> str:
    """The statement that a violation is about, where it is about one."""
    at = verdict.statement
    claim = verdict.claim
    transaction = claim.transaction if claim is not None else at.transaction if at is not None else None
    index = claim.statement if claim is not None else at.index if at is not None else 0
    for each in found.transactions:
        if each.id == transaction and index < len(each.statements):
            return str(each.statements[index].sql)
    return ""


def shape(text: str) -> str:
    """A statement or a reason without its literals, numbers and names."""
    text = re.sub(r"'(?:[^']|'')*'", "?", text)
    text = re.sub(r"\b\d+(?:\.\d+)?\b", "?", text)
    text = re.sub(r"\bt[abc]\b|\b[tdwv]\d+\b|\bt?\?*\b(?=\.)", "t", text)
    text = re.sub(r"\b(?:c\d|k|r|g|o\d)\b", "c", text)
    return re.sub(r"\s+", " ", text).strip()[:300]

"""Results of a pass, kept in ``last.json``, and what a new one may not be against them.

Lost is: decided, and now not; decided otherwise; accused or explained against what is known to be right; more than 1.3
times the work. A violation in the recorded order only that was found under a searched order is not protected. Does not
know how figures come about.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.verdicts.corpus import Entry
from benchmarks.verdicts.measure import Figures

ROOT = Path(__file__).parents[2]
LAST = Path(__file__).with_name("last.json")
GROWTH = 1.3
FLOOR = 0.5
"""Seconds by which a single audit may grow, whatever it took; a family of audits may by as many in all."""


@dataclass(frozen=True, slots=True)
class Result:
    """One entry's figures; `log` tells the bytes of the log, so that other logs are not compared."""

    log: str
    figures: Figures


@dataclass(frozen=True, slots=True)
class Pass:
    """All results of one build."""

    commit: str
    results: Mapping[str, Result]


def digest(paths: Sequence[Path]) -> str:
    """What tells a log's content."""
    found = hashlib.sha256()
    for path in paths:
        found.update(path.read_bytes())
    return found.hexdigest()[:12]


def read(path: Path = LAST) -> Pass | None:
    """The last pass, if there is one."""
    if not path.exists():
        return None
    stored = json.loads(path.read_text(encoding="utf-8"))
    return Pass(stored["commit"], {key: _result(value) for key, value in stored["results"].items()})


def _result(stored: Mapping[str, Any]) -> Result:
    fields = ("verdict", "scope", "core", "verified", "failing", "work", "cpu", "peak", "reason")
    return Result(stored["log"], Figures(**{name: stored.get(name) for name in fields}))  # type: ignore[arg-type]


def write(found: Pass, path: Path = LAST) -> None:
    """Store a pass, a line for each entry."""
    lines = []
    for key, result in sorted(found.results.items()):
        kept = {name: value for name, value in asdict(result.figures).items() if value is not None}
        kept["work"], kept["cpu"] = round(result.figures.work, 2), round(result.figures.cpu, 2)
        if "reason" in kept:
            kept["reason"] = kept["reason"].replace(f"{ROOT}/", "")[:80]
        lines.append(f"  {json.dumps(key)}: {json.dumps({'log': result.log, **kept}, ensure_ascii=False)}")
    text = f'{{"commit": {json.dumps(found.commit)}, "results": {{\n' + ",\n".join(lines) + "\n}}\n"
    path.write_text(text, encoding="utf-8")


def is_protected(before: Figures) -> bool:
    """Whether a verdict of the last pass has to be reached again."""
    return before.decided and before.scope != "recorded-order"


def lost(entry: Entry, before: Figures | None, now: Figures) -> str | None:
    """Why the verdict is worse than the last one, or None."""
    if now.verdict in entry.right:
        if before is None or not is_protected(before) or before.verdict == now.verdict:
            return None
        if before.verdict not in entry.right:
            return None
        return f"was {before.verdict}, is {now.verdict}"
    same = before is not None and before.verdict == now.verdict and before.scope == now.scope
    if same:
        return None
    if now.decided or now.verdict == "crashed":
        return f"is {_told(now)}, right is {' or '.join(sorted(entry.right))}"
    if before is not None and is_protected(before) and before.verdict in entry.right:
        return f"was {before.verdict}, is {now.verdict}"
    return None


def _told(figures: Figures) -> str:
    return f"{figures.verdict} ({figures.scope})" if figures.scope else figures.verdict


def is_heavier(before: Figures | None, now: Figures) -> bool:
    """Whether it took more than it may."""
    if before is None or now.limited or before.limited or not (before.decided and now.decided):
        return False
    return now.work > GROWTH * before.work + FLOOR


def heavier_families(pairs: Iterable[tuple[Entry, Figures, Figures]]) -> list[str]:
    """Families whose audits, decided before and now, took more than they may together."""
    sums: dict[str, tuple[float, float]] = {}
    for entry, before, now in pairs:
        if before.decided and now.decided and not (now.limited or before.limited):
            was, is_now = sums.get(entry.family, (0.0, 0.0))
            sums[entry.family] = (was + before.work, is_now + now.work)
    return [
        f"{family}: {was:.1f} s of work were {is_now:.1f} s"
        for family, (was, is_now) in sums.items()
        if is_now > GROWTH * was + FLOOR
    ]

"""Which gaps a user lets pass, and how gaps are named. Does not know logs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from troubadour.model.verdict import Coverage, Unjudged

EVERYTHING = "all"
"""In place of a construct: any."""

_NAMED = 4
"""Constructs that a line names."""


def not_allowed(coverage: Coverage, allowed: Sequence[str]) -> list[Unjudged]:
    """The gaps that `allowed`, constructs in any letter case, does not name."""
    names = {name.strip().lower() for name in allowed}
    return [item for item in coverage.unjudged if not names & {EVERYTHING, item.construct.lower()}]


def listed(unjudged: Sequence[Unjudged]) -> str:
    """The constructs, with how many statements each keeps from being judged."""
    counts: Counter[str] = Counter()
    for item in unjudged:
        counts[item.construct] += item.statements
    parts = [f"{name} ({count:,} statement{'' if count == 1 else 's'})" for name, count in counts.most_common(_NAMED)]
    more = f" and {len(counts) - _NAMED} more constructs" if len(counts) > _NAMED else ""
    return f"not modelled: {', '.join(parts)}{more}"

"""Which levels there are and which accept whatever another one accepts, for holding verdicts against each other.

Does not know what a level asks.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from troubadour.isolation.levels import LEVELS, implied_by

ALL_LEVELS: tuple[str, ...] = tuple(LEVELS)


def is_exact(path: Path) -> bool:
    """Whether the log's order binds: a stronger level says nothing of a weaker one then."""
    content = path.read_bytes()
    header = (gzip.decompress(content) if path.suffix == ".gz" else content).partition(b"\n")[0]
    return bool(json.loads(header).get("order") == "exact")


def contradictions(verdicts: Mapping[str, Mapping[str, str]]) -> Iterable[str]:
    """Of verdicts by log and level: where a level accepts a log that one which it implies refuses."""
    for log, levels in sorted(verdicts.items()):
        for stronger in levels:
            if levels[stronger] == "correct" and stronger in LEVELS:
                for weaker in sorted(implied_by(stronger) & levels.keys()):
                    if levels[weaker] == "violation":
                        yield f"{log}: correct at {stronger}, a violation at {weaker}"

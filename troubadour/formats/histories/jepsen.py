"""A folder of Jepsen's, ``store/<test>/<time>/history.edn``: every history in it, once.

Links such as `latest` are not followed. Does not read the histories.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from sql_semantics.records import dataclass

NAMES = ("history.edn", "history.json")


@dataclass(frozen=True, slots=True)
class Found:
    """One history: its file, the name of its test as the folders have it, and a name for a log's file."""

    path: Path
    test: str
    slug: str


def histories_in(folder: Path) -> Iterator[Found]:
    """In the order of their paths; of a run that has both forms, the EDN. Raises OSError."""
    seen: set[Path] = set()
    for name in NAMES:
        for path in sorted(folder.rglob(name)):
            run = path.parent
            if run in seen or any(parent.is_symlink() for parent in _between(run, folder)):
                continue
            seen.add(run)
            parts = run.relative_to(folder).parts or (folder.resolve().name,)
            yield Found(path, parts[0], re.sub(r"[^\w.+-]+", "-", "-".join(parts)).strip("-") or "history")


def _between(run: Path, folder: Path) -> Iterator[Path]:
    while run != folder:
        yield run
        run = run.parent

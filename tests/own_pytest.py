"""A pytest that a test starts. Does not know what it runs."""

from __future__ import annotations

from pathlib import Path


def own_temporary(folder: Path) -> Path:
    """Where a pytest within a test has its temporary folders. It closes the folder around these to other users as it
    starts; around those of this run there may be a server's, which has a user of its own."""
    temporary = folder / ".temporary"
    temporary.mkdir(exist_ok=True)
    return temporary

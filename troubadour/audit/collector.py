"""How often Python looks for cycles while an audit runs. Does not know what an audit does."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

THRESHOLDS = (200_000, 50, 50)
"""Objects that are new when cycles among them are looked for, and how many such looks bring one at older ones."""


@contextmanager
def rarely_collected() -> Iterator[None]:
    """Look for cycles rarely in this block: an audit makes many objects that stay, and few cycles."""
    before = gc.get_threshold()
    if before[0]:
        # 0: the caller has switched it off
        gc.set_threshold(*(max(pair) for pair in zip(before, THRESHOLDS, strict=True)))
    try:
        yield
    finally:
        gc.set_threshold(*before)

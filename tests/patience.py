"""Waiting for what comes by itself: as long as it takes on a busy machine, and not for ever where it never comes."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE = 600.0
"""Seconds that nothing takes, however busy a machine is."""


def until(holds: Callable[[], object]) -> None:
    """Wait until something holds. Fails where it never will."""
    ends = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < ends, "it does not come"
        time.sleep(0.02)

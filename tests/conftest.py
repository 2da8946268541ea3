"""What all tests share: reproducible property tests. Does not know any part of the project."""

from __future__ import annotations

import gc
import os

from hypothesis import HealthCheck, settings

# A failing property prints the blob that repeats it. No deadline: the machines that run this are shared. With
# HYPOTHESIS_PROFILE=long the same properties are searched for longer.
_COMMON = {"deadline": None, "print_blob": True, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("fast", max_examples=60, **_COMMON)
settings.register_profile("long", max_examples=2000, **_COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast"))


def pytest_collection_finish() -> None:
    """Modules and tests stay to the end: no later collection of garbage walks over them, which also would copy them in
    every process that is forked. Collections are as rare as in the command (`troubadour.cli.main`)."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(200_000, 50, 50)

"""Run by Python as it starts, before the application: records it, where `troubadour record app` has said so, and then
runs the `sitecustomize` that this one stands before. Does not know the application."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import json
import os
import sys
from pathlib import Path

HERE = Path(__file__).parent


def _record() -> None:
    log = os.environ.get("TROUBADOUR_LOG")
    if log:
        from troubadour.record.everything import everything

        everything(log, **json.loads(os.environ.get("TROUBADOUR_OPTIONS", "{}")))


def _the_other() -> None:
    """The `sitecustomize` of the environment, if it has one."""
    others = [folder for folder in sys.path if Path(folder or ".").resolve() != HERE.resolve()]
    found = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if found is not None and found.loader is not None:
        found.loader.exec_module(importlib.util.module_from_spec(found))


_the_other()
_record()

"""Applications recorded as they are, the quick ones whose packages are here (`make applications` has all of them).

Does not know what they do.
"""

from __future__ import annotations

import importlib.util
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.live.applications.__main__ import APPLICATIONS, Servers, tried

QUICK = ("django-sqlite", "sqlalchemy-sqlite")


@pytest.mark.parametrize("name", QUICK)
def test_quick_application(name: str, tmp_path: Path) -> None:
    (application,) = [one for one in APPLICATIONS if one.name == name]
    for module in application.packages:
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed")
    with ExitStack() as stack:
        row = tried(application, Servers(tmp_path, stack), Path(sys.executable), seconds=60.0)
    assert row.recorded
    assert (row.verdict, row.judged, row.problems) == ("correct", row.statements, [])

"""Odd schemas and statements, recorded by our recorders on the real engines: correct, or undecided for what is named.

More of each is behind the `slow` marker, and in the figures of `make round-trip`.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from pathlib import Path

import pytest

from tests.live.round_trip.cases import ENGINES, Case, scripted
from tests.live.round_trip.generated import named, together, typed
from tests.live.round_trip.running import Addresses, Ended, run


@pytest.fixture
def ended(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Case], Ended]:
    """A case run on its engine, whose server is started only for what needs it."""

    def run_case(case: Case) -> Ended:
        addresses: Addresses = {}
        if case.engine == "postgres":
            addresses["postgres"] = request.getfixturevalue("postgres_dsn")
        elif case.engine == "mysql":
            addresses["mysql"] = request.getfixturevalue("mariadb_server").dsn
        return run(case, tmp_path, addresses)

    return run_case


JUDGED = ("functions",)
"""Scripts of which every statement is judged."""


def told(case: Case) -> str:
    return f"{case.engine}, {case.name}"


@pytest.mark.parametrize("case", [case for engine in ENGINES for case in scripted(engine)], ids=told)
def test_scripts(case: Case, ended: Callable[[Case], Ended]) -> None:
    found = ended(case)
    assert found.honest, found
    assert found.verdict == "correct" or case.name.partition(":")[0] not in JUDGED, found


@pytest.mark.parametrize("engine", ENGINES)
def test_names(engine: str, ended: Callable[[Case], Ended]) -> None:
    found = ended(together(engine, islice(named(engine), 0, None, 3), "names"))
    assert found.verdict == "correct", found


@pytest.mark.parametrize("engine", ENGINES)
def test_types(engine: str, ended: Callable[[Case], Ended]) -> None:
    found = ended(together(engine, islice(typed(engine), 0, None, 3), "types"))
    assert found.honest, found


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_each_name_and_type(engine: str, ended: Callable[[Case], Ended]) -> None:
    wrong = [found for case in named(engine) if (found := ended(case)).verdict != "correct"]
    wrong += [found for case in typed(engine) if not (found := ended(case)).honest]
    assert not wrong

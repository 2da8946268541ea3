"""What well-known applications send, each application's statements in one recording: nothing is accused or refused, and
what is not judged is named.

The figures of `make typical` take each statement by itself. Does not know what the statements answer.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.live.round_trip.running import run
from tests.live.typical.cases import PRODUCTS, applications, statements
from tests.live.typical.changed import measure


@pytest.mark.parametrize("engine", PRODUCTS)
def test_applications(engine: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    postgres = engine == "postgres"
    address = request.getfixturevalue("postgres_dsn") if postgres else request.getfixturevalue("mariadb_server").dsn
    for case in applications(engine):
        found = run(case, tmp_path, {engine: address})
        assert found.honest, found


@pytest.mark.parametrize("name", ["django 2", "rails 2"])
def test_changed_answers_are_found(name: str, postgres_dsn: str, tmp_path: Path) -> None:
    """A list of rows, and an INSERT that is told the number of its row, each answer changed in every way."""
    (case,) = (case for case in statements("postgres") if case.name == f"postgres: {name}")
    verdict, found = measure(case, tmp_path, {"postgres": postgres_dsn})
    assert verdict == "correct" and {"value", "row missing", "row twice", "error for an answer"} <= {
        one.kind for one in found
    }
    assert not [one for one in found if not one.caught and not one.free]

"""What well-known applications send, each application's statements in one recording: nothing is accused or refused, and
what is not judged is named.

The figures of `make typical` take each statement by itself. Does not know what the statements answer.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.live.round_trip.running import run
from tests.live.typical.cases import PRODUCTS, applications


@pytest.mark.parametrize("engine", PRODUCTS)
def test_applications(engine: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    postgres = engine == "postgres"
    address = request.getfixturevalue("postgres_dsn") if postgres else request.getfixturevalue("mariadb_server").dsn
    for case in applications(engine):
        found = run(case, tmp_path, {engine: address})
        assert found.honest, found

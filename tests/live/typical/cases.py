"""The statements, each a case of its own upon its application's tables. Does not run anything."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.live.round_trip.cases import Case, read

SCRIPTS = Path(__file__).parent / "scripts"
PRODUCTS = {"postgres": "PostgreSQL", "mysql": "MariaDB"}


def applications(engine: str) -> Iterator[Case]:
    """A case for each application, with all that it sends."""
    yield from read(SCRIPTS / f"{engine}.sql", engine)


def statements(engine: str) -> Iterator[Case]:
    """A case for each statement."""
    for case in applications(engine):
        for number, sent in enumerate(case.recorded):
            yield Case(engine, f"{case.name} {number + 1}", case.setup, (sent,), case.opening)

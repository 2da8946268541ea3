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
    """A case for each statement: what its application sends first, then itself."""
    for case in applications(engine):
        opening = tuple(sent for sent in case.recorded if sent.sql.startswith("SET "))
        for number, sent in enumerate(each for each in case.recorded if each not in opening):
            yield Case(engine, f"{case.name} {number + 1}", case.setup, (*opening, sent))

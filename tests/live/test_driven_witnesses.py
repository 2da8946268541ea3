"""The witness of a real run, driven on the server that it ran on: it gives the log's answers again, and a wrong one
does not. `benchmarks.replayed` does that at length.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from benchmarks.mixed.runs import Plan, recorded
from benchmarks.replayed.course import NotDriven, course_of
from benchmarks.replayed.driving import PRODUCTS, Disagreed, drive
from benchmarks.replayed.one import states_of, told_of
from troubadour.audit.driver import Options, audit
from troubadour.coverage.library import library_of
from troubadour.formats import read_log
from troubadour.model.witness import Witness

RUNS = (("postgres", "REPEATABLE READ"), ("mariadb", "SERIALIZABLE"))


def _run(product: str, level: str, dsn: str, log: Path) -> Path:
    plan = Plan(product, 5, 1, "bank", 3, 25, {level: 1}, 0.0, 0.2)
    recorded(plan, dsn, log)
    return log


@pytest.fixture(params=RUNS, ids=" ".join)
def run(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, str, Path]:
    """Product, server and log of a small run."""
    product, level = request.param
    dsn = request.getfixturevalue("mariadb_dsn" if product == "mariadb" else "postgres_dsn")
    return product, dsn, _run(product, level, dsn, tmp_path / "run.jsonl")


def test_the_server_gives_the_answers_again(run: tuple[str, str, Path]) -> None:
    product, dsn, path = run
    told = told_of(path, product, dsn, 60)
    assert (told.verdict, told.refused) == ("correct", 0), told.text
    assert told.driven == "agreed", told.text
    assert told.answers > 20


def test_a_wrong_witness_is_contradicted(run: tuple[str, str, Path]) -> None:
    product, dsn, path = run
    log = read_log([path])
    library = library_of(log)
    witness = audit(log, library, Options(None, timeout=600)).witness
    assert witness is not None
    states = states_of(log, witness, library)
    turned = Witness(witness.log, None, tuple(reversed(witness.order)), tuple(reversed(witness.views)))
    early = [msgspec.structs.replace(view, state=0, statements=msgspec.UNSET) for view in turned.views]
    course = course_of(log, msgspec.structs.replace(turned, views=tuple(early)), library)
    with PRODUCTS[product](dsn, log, library) as server, pytest.raises((Disagreed, NotDriven)):
        drive(server, course, states)

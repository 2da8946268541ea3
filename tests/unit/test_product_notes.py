"""A log of a product that is refuted at a general level, and correct at the product's own."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tests.case_files import read_case
from troubadour.audit.driver import Options, audit
from troubadour.coverage.library import library_of
from troubadour.model.verdict import Status

LOST_UPDATE = """
# level: snapshot  expect: violation at t2
dialect: mysql
CREATE TABLE n (id INT PRIMARY KEY, v INT)
init n (1, 0) (2, 0)
t1 @1-2  UPDATE n SET v = v + 5
t2 @0-3  SELECT v FROM n ORDER BY id  -> (0) (0)
         UPDATE n SET v = v + 10 WHERE id = 1  -> affected 1
         SELECT v FROM n ORDER BY id  -> (15) (0)
"""


@pytest.mark.parametrize(
    ("dbms", "own", "noted"),
    [
        ("10.11.18-MariaDB", "snapshot", True),
        ("10.11.18-MariaDB", "mysql:repeatable-read", True),
        ("11.8.3-MariaDB", "snapshot", False),
        (None, "snapshot", False),
    ],
)
def test_a_profile_that_explains_the_log_is_named(dbms: str | None, own: str, noted: bool, tmp_path: Path) -> None:
    log = read_case(LOST_UPDATE, "lost-update").log(tmp_path)
    log.header = msgspec.structs.replace(log.header, dbms=dbms, isolation=own)
    verdict = audit(log, library_of(log), Options("snapshot", notes_product=True))
    assert verdict.status is Status.VIOLATION
    assert any("mysql:repeatable-read" in note for note in verdict.notes) is noted
    assert not audit(log, library_of(log), Options("snapshot")).notes

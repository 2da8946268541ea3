"""A transaction of unknown outcome beside rows that are not known: nothing is enumerated then, and nothing breaks."""

from __future__ import annotations

from pathlib import Path

from tests.case_files import read_case
from troubadour.audit.driver import Options, audit
from troubadour.coverage.library import library_of

TEXT = """
# level: serializable  expect: undecided
schema: kv.sql
init kv unknown
t1 unknown ~0-  UPDATE kv SET v = v + 1 WHERE k = 'x'
t2 ~1-3  SELECT k, v FROM kv ORDER BY k  -> ('x', 5)
t3 ~4-5  SELECT COUNT(*), SUM(v) FROM kv  -> (2, 7)
"""


def test_rows_that_are_not_known_are_not_enumerated(tmp_path: Path) -> None:
    log = read_case(TEXT, "unknown fates").log(tmp_path)
    verdict = audit(log, library_of(log), Options("serializable", order_recorded=True))
    assert verdict.status.value != "correct"

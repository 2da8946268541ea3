"""A reproduction of transactions that had levels of their own."""

from __future__ import annotations

from pathlib import Path

from tests.case_files import read_case
from troubadour.audit.driver import Options, audit
from troubadour.coverage.library import library_of
from troubadour.record.runs.reproducing import Schedule
from troubadour.report.reproduction import isolation_spec, schedule_of, script

SKEW = """
# level: own  expect: violation at t3
schema: kv.sql
init kv ('x', 0) ('y', 0)
t1 ~0-5    level:postgres:read-committed  UPDATE kv SET v = 1
t2 ~10-50  level:postgres:serializable    SELECT v FROM kv WHERE k = 'y'  -> (1)
                                          UPDATE kv SET v = 2 WHERE k = 'x'
t3 ~20-60  level:postgres:serializable    SELECT v FROM kv WHERE k = 'x'  -> (1)
                                          UPDATE kv SET v = 2 WHERE k = 'y'
"""


def test_each_session_has_its_level(tmp_path: Path) -> None:
    log = read_case(SKEW, "levels").log(tmp_path)
    library = library_of(log)
    verdict = audit(log, library, Options(accounts=True))
    assert verdict.account is not None and verdict.account.anomaly == "write-skew"
    assert [edge.kind for edge in verdict.account.chain] == ["rw", "rw"]
    schedule = schedule_of(verdict, log, library)
    assert isinstance(schedule, Schedule)
    levels = {schedule.level_of(session) for session in schedule.watched}
    assert levels == {"SERIALIZABLE"}
    for session in schedule.sessions:
        assert f"[{session}] BEGIN ISOLATION LEVEL {schedule.level_of(session)};" in script(schedule)
    assert "BEGIN ISOLATION LEVEL SERIALIZABLE" in isolation_spec(schedule)


def test_a_session_at_another_level_keeps_it(tmp_path: Path) -> None:
    lost = SKEW.replace("t2 ~10-50  level:postgres:serializable ", "t2 ~10-50  level:postgres:repeatable-read ")
    lost = lost.replace("WHERE k = 'y'", "WHERE k = 'x'")
    log = read_case(lost, "levels").log(tmp_path)
    library = library_of(log)
    schedule = schedule_of(audit(log, library, Options(accounts=True)), log, library)
    assert schedule is not None
    assert {schedule.level_of(session) for session in schedule.watched} == {"SERIALIZABLE", "REPEATABLE READ"}

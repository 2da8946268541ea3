"""What replay explains by states and places that it chooses itself, it accepts as a witness, and the search explains
it, too: of simulated servers whose commits are visible in another order than the log tells, and of recorded logs.

Does not check what is left to the search.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import msgspec
import pytest

from sql_semantics.library import SqlLibrary
from tests.property.concurrent_logs import concurrent_log
from tests.property.random_statements import library
from troubadour.audit.driver import Options, audit
from troubadour.audit.straight import ENGINE
from troubadour.coverage.library import library_of
from troubadour.formats import read_log
from troubadour.model.log import End, Header, InitialTable, Log, Statement, Transaction
from troubadour.model.verdict import Status
from troubadour.model.witness import Views, Witness
from troubadour.problem.heuristics import Heuristics
from troubadour.replay.checker import Replay, check
from troubadour.replay.newest import NotPlain
from troubadour.replay.store import LATELY, Store
from troubadour.replay.turns import InTurn, bounds, explained_in_turn, run

LOGS = Path(__file__).parents[2] / "logs" / "recorded"
FAST, SLOW = range(71_000, 71_006), [range(start, start + 100) for start in range(72_000, 74_000, 100)]
SERIAL = ("serializable", "strict-serializable")
OTHERS = ("snapshot", "session-snapshot", "read-committed", "session-read-committed")
RECORDED = (
    ("bank-snapshot-1000", "postgres:repeatable-read"),
    ("bank-snapshot-20-rtw", "postgres:repeatable-read"),
    ("bank-serializable-20", "serializable"),
    ("bank-serializable-20", "postgres:serializable"),
    ("bank-read-committed-1000", "postgres:read-committed"),
    ("bank-read-committed-1000", "read-committed"),
    ("bank-read-committed-20", "session-read-committed"),
)


def witness_of(log: Log, found: InTurn, level: str) -> Witness:
    """The witness that was found."""
    return Witness(log.digest, level, [log.transactions[place].id for place in found.order], found.views)


def in_turn(log: Log, compiled: SqlLibrary, level: str) -> InTurn | None:
    """What replay finds; None where it leaves the log to the search."""
    try:
        return explained_in_turn(log, compiled, isolation=level, progress=lambda done: None)
    except NotPlain:
        return None


def compare(seeds: range) -> Counter[str]:
    """Logs of simulated servers, right ones and such as have an answer exchanged, by what came of them."""
    came: Counter[str] = Counter()
    for seed in seeds:
        serial = seed % 2 == 0
        log = concurrent_log(seed, serial=serial, transactions=40)
        for level in SERIAL if serial else OTHERS:
            for one in (log, exchanged(log)):
                found = in_turn(one, library(), level)
                if found is None:
                    came["left"] += 1
                    continue
                came["explained"] += 1
                refusal = check(one, witness_of(one, found, level), library(), isolation=level)
                assert refusal is None, f"{seed} at {level}: {refusal}"
                if one is not log or seed % 8 < 2:
                    searched = audit(one, library(), Options(level, heuristics=Heuristics(straight=False), effort=5))
                    assert searched.status is not Status.VIOLATION, f"{seed} at {level}: {searched}"
    return came


def exchanged(log: Log) -> Log:
    """The same with an answer in the middle that is another's of the same text."""
    asked: dict[str, Statement] = {}
    changed = list(log.transactions)
    for place in range(len(changed) // 2, len(changed)):
        one = changed[place]
        for number, statement in enumerate(one.statements):
            other = asked.setdefault(statement.sql, statement)
            if statement.results is None or other.results is None or other.results == statement.results:
                continue
            answer = msgspec.structs.replace(statement, results=other.results)
            statements = (*one.statements[:number], answer, *one.statements[number + 1 :])
            changed[place] = msgspec.structs.replace(one, statements=statements)
            return Log(log.header, tuple(changed), log.digest)
    return log


def test_simulated_logs() -> None:
    assert compare(FAST)["explained"] > 4


@pytest.mark.slow
@pytest.mark.parametrize("seeds", SLOW, ids=str)
def test_many_simulated_logs(seeds: range) -> None:
    assert compare(seeds)["explained"] > 50


@pytest.mark.parametrize(("name", "level"), RECORDED)
def test_recorded_logs_need_no_search(name: str, level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = read_log([LOGS / f"{name}.jsonl.gz"])
    log = Log(whole.header, whole.transactions[:500], whole.digest)
    compiled = library_of(log)
    verdict = audit(log, compiled, Options(level))
    assert (verdict.status, verdict.engine) == (Status.CORRECT, ENGINE)
    assert verdict.witness is not None
    assert check(log, verdict.witness, compiled, isolation=level) is None
    # what is forgotten changes nothing
    kept = in_turn(log, compiled, level)
    monkeypatch.setattr(run, "EVERY", 7)
    monkeypatch.setattr(bounds, "KEPT", 40)
    forgot = in_turn(log, compiled, level)
    assert kept is not None
    assert forgot is not None
    assert (kept.order, kept.views) == (forgot.order, forgot.views)


def test_what_is_taken_back_was_never_placed() -> None:
    log = concurrent_log(3, serial=False, transactions=40)
    found = in_turn(log, library(), "snapshot")
    assert found is not None
    ones = [(log.transactions[place], view.state) for place, view in zip(found.order, found.views, strict=True)]
    for length in range(0, len(ones), 5):
        replay, other = Replay(log, library()), Replay(log, library())
        for one, state in ones:
            assert replay.append(one, state, None, "snapshot") is None
        replay.take_back(length)
        for one, state in ones[:length]:
            assert other.append(one, state, None, "snapshot") is None
        for name, table in replay.store.tables.items():
            beside = other.store.tables[name]
            assert table.newest == beside.newest
            assert [holders for _, holders in table.holders] == [holders for _, holders in beside.holders]
            assert {row: (one.states, one.values) for row, one in table.rows.items()} == {
                row: (one.states, one.values) for row, one in beside.rows.items()
            }
        assert (list(replay.order), replay.idle) == (list(other.order), other.idle)
        for one, state in ones[length:]:
            assert replay.append(one, state, None, "snapshot") is None


def test_a_row_is_found_again_whose_deletion_long_ago_is_taken_back() -> None:
    schema = ("CREATE TABLE kv (k INT PRIMARY KEY, v INT)",)
    header = Header("postgres", schema, initial=(InitialTable("kv", None, ((1, 0), (2, 0))),))
    store = Store(library_of(Log(header, (), "deleted")), {"kv": [(1, 0), (2, 0)]})
    table = store.tables["kv"]
    assert list(table.matching((1,), (0,), 0)) == ["kv:-:0", "kv:-:1"]
    store.append({"kv": {"kv:-:1": (2, 1)}})
    store.append({"kv": {"kv:-:0": None}})
    for value in range(2, LATELY + 4):
        store.append({"kv": {"kv:-:1": (2, value)}})
    assert not table.holding((1,), (0,))
    store.truncate(1)
    for value in range(2, 5):
        store.append({"kv": {"kv:-:1": (2, value)}})
    assert table.holding((1,), (0,)) == ["kv:-:0"]
    assert "kv:-:0" in table.lately(store.newest)


def test_what_acts_on_the_newest_state_does_not_hang_on_a_commit_sent_later() -> None:
    schema = ("CREATE TABLE kv (k INT PRIMARY KEY, v INT)",)
    header = Header("mysql", schema, initial=(InitialTable("kv", None, ((1, 0),)),))
    writer = Statement("UPDATE kv SET v = 1 WHERE k = 1", affected=1, invoked=1, returned=2)
    reader = Statement("UPDATE kv SET v = 2 WHERE v = 1", affected=1, invoked=3, returned=10)
    ends = End(20, 21), End(30, 31)
    log = Log(
        header,
        (
            Transaction("w", "committed", (writer,), 0, invoked=0, returned=22, end=ends[0]),
            Transaction("r", "committed", (reader,), 1, invoked=0, returned=32, end=ends[1]),
        ),
        "acts",
    )
    level = "mysql:repeatable-read"
    compiled = library_of(log)
    refusal = check(log, Witness("acts", level, ("w", "r"), Views([0, 0])), compiled, isolation=level)
    assert refusal is not None
    assert refusal.condition == "time"
    assert in_turn(log, compiled, level) is None
    assert audit(log, compiled, Options(level)).status is Status.VIOLATION

"""How much of a log is judged where one thing of it is not modelled: that costs itself, and nothing that it cannot
reach."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.unit.commands import HEADER, balance, transaction, write
from troubadour.audit.driver import Options, audit
from troubadour.coverage.library import library_for
from troubadour.execution.prepared import CALLED_ALONE
from troubadour.formats import read_log
from troubadour.model.verdict import Coverage, Verdict

LOGS = Path(__file__).parents[2] / "logs" / "strangers-3"


def audited(path: Path) -> Verdict:
    return audit(*library_for(read_log([path])), Options(unobserved=False))


def covered(path: Path) -> Coverage:
    found = audited(path).coverage
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("name", "statements", "judged"),
    [
        ("poison", 4, 3),
        ("recursive-triggers", 3, 3),
        ("without-rowid", 2, 2),
        ("epoch-literal", 3, 2),
        ("no-observations", 3, 3),
        ("public-qualified", 2, 2),
    ],
)
def test_one_thing_costs_itself(name: str, statements: int, judged: int) -> None:
    found = covered(LOGS / f"{name}.jsonl")
    assert (found.statements, found.judged) == (statements, judged)


def test_what_was_done_on_a_session_before_is_judged(tmp_path: Path) -> None:
    """A setting costs what its session sends after it, and not what was answered before."""
    entries = [
        transaction(id="t1", session="a", invoked=1, returned=2, params=[1], result=balance("100.00")),
        transaction("SET search_path = other", id="t2", session="a", invoked=3, returned=4),
        transaction(id="t3", session="a", invoked=5, returned=6, params=[1], result=balance("7.00")),
        transaction(id="t4", session="b", invoked=5, returned=6, params=[1], result=balance("100.00")),
    ]
    found = covered(Path(write(tmp_path, HEADER, *entries)))
    assert {gap.construct for gap in found.unjudged} == {"SET search_path"}
    assert (sum(gap.statements for gap in found.unjudged), found.judged) == (2, 2)


def test_an_observation_is_a_row_a_count_or_an_error(run: Any, tmp_path: Path) -> None:
    plain = transaction("UPDATE accounts SET balance = 1 WHERE id = 1", id="w")
    log = write(tmp_path, HEADER, plain)
    ended = run("audit", "--format", "json", log)
    assert (ended.status, ended.json["coverage"]["observed"]) == (3, 0)
    assert "--allow-unobserved" in ended.json["reason"]
    assert run("audit", "--allow-unobserved", log).status == 0
    assert run("gate", log).status == 3
    assert run("gate", "--allow-unobserved", log).status == 0
    for observed in (
        transaction("UPDATE accounts SET balance = 1 WHERE id = 1", id="w", affected=1),
        transaction(id="w", params=[1], result=balance("100.00")),
        transaction("SELECT 1 / 0", id="w", status="aborted", error={"sqlstate": "22012"}),
    ):
        ended = run("audit", "--format", "json", write(tmp_path, HEADER, observed))
        assert (ended.status, ended.json["coverage"]["observed"]) == (0, 1), ended.json


def test_a_policy_may_let_unobserved_logs_pass(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = write(tmp_path, HEADER, transaction("UPDATE accounts SET balance = 1 WHERE id = 1", id="w"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "troubadour.toml").write_text("[gate]\nallow-unobserved = true\n")
    assert run("gate", log).status == 0


def test_a_reason_is_brief() -> None:
    verdict = audited(LOGS / "regex-long-reason.jsonl")
    assert verdict.reason is not None
    assert len(verdict.reason) < 500
    assert all(len(item.construct) < 200 for item in covered(LOGS / "regex-long-reason.jsonl").unjudged)
    several = Verdict(verdict.status, "snapshot", 1, 1, 0, 0, 0, reason="x" * 7000)
    assert several.reason is not None
    assert len(several.reason) < 500


def test_what_is_not_modelled_inside_a_trigger_is_named(run: Any, tmp_path: Path) -> None:
    header = {
        **HEADER,
        "schema": [
            *HEADER["schema"],
            "CREATE TRIGGER tr BEFORE INSERT ON accounts FOR EACH ROW EXECUTE FUNCTION f()",
        ],
        "procedures": [
            "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN NEW.balance := hashtext('a'); RETURN NEW; END $$"
        ],
    }
    ended = run("log", "validate", write(tmp_path, header, transaction("INSERT INTO accounts VALUES (9, 1)")))
    assert ended.status == 3
    assert "the trigger tr of accounts (function hashtext())" in ended.out


PARTS = "BEGIN UPDATE kv SET v = 7 WHERE k = 1; UPDATE kv SET v = 8 WHERE k = 2; END"
ONE = "BEGIN DECLARE x INT; SET x = 7; IF x > 0 THEN UPDATE kv SET v = x WHERE k = 1; END IF; END"
LOOPS = "BEGIN WHILE (SELECT v FROM kv WHERE k = 1) < 7 DO UPDATE kv SET v = v + 6 WHERE k = 1; END WHILE; END"
LOOKS = "BEGIN DECLARE x INT; SET x = (SELECT v FROM kv WHERE k = 2); UPDATE kv SET v = x + 5 WHERE k = 1; END"
INNER = "BEGIN CALL pa(); CALL pa(); END"


@pytest.mark.parametrize("absent", [False, True])
def test_what_a_call_that_failed_wrote_before_is_not_judged(tmp_path: Path, absent: bool) -> None:
    """Outside a transaction MariaDB keeps what the statements before the one that failed wrote."""
    header = {
        **HEADER,
        "dialect": "mysql",
        "schema": ["CREATE TABLE kv (k INT PRIMARY KEY, v INT)"],
        "procedures": [
            "CREATE PROCEDURE pa() BEGIN DELETE FROM kv WHERE k = 1; "
            f"INSERT INTO {'absent' if absent else 'kv'} VALUES (2, 2); END"
        ],
        "initial": {"kv": {"columns": ["k", "v"], "rows": [[1, 1], [2, 2]]}},
    }
    code = {"sqlstate": "42S02" if absent else "23000"}
    call: dict[str, Any] = transaction("CALL pa()", session="a", invoked=10, returned=20, error=code)
    seen = transaction(
        "SELECT v FROM kv", id="t2", session="b", invoked=30, returned=40, result={"columns": ["v"], "rows": [[2]]}
    )
    call["statements"][0] |= {"invoked": 10, "returned": 20}
    found = covered(Path(write(tmp_path, header, call, seen)))
    assert found.judged == 0 and len(found.unjudged) == 1


@pytest.mark.parametrize(
    ("body", "name", "dialect", "judged"),
    [
        (PARTS, "pa", "mysql", False),
        (ONE, "pa", "mysql", True),
        (LOOPS, "pa", "mysql", False),
        (LOOKS, "pa", "mysql", False),
        (ONE, "pb", "mysql", False),
        (PARTS, "pa", "postgres", True),
    ],
)
def test_each_statement_of_a_call_outside_a_transaction_is_one_in_mysql(
    tmp_path: Path, body: str, name: str, dialect: str, judged: bool
) -> None:
    """What is read beside it may be a part of what it does; inside a transaction it is not."""
    routines = [f"CREATE PROCEDURE {called}() {text}" for called, text in (("pa", body), ("pb", INNER))]
    header = {
        **HEADER,
        "dialect": dialect,
        "schema": ["CREATE TABLE kv (k INT PRIMARY KEY, v INT)"],
        "procedures": routines,
        "initial": {"kv": {"columns": ["k", "v"], "rows": [[1, 1], [2, 2]]}},
    }
    call: dict[str, Any] = transaction(f"CALL {name}()", session="a", invoked=10, returned=90)
    seen = transaction(
        "SELECT v FROM kv ORDER BY k", id="t2", session="b", invoked=20, returned=30,
        result={"columns": ["v"], "rows": [[7], [2]]},
    )  # fmt: skip
    call["statements"][0] |= {"invoked": 10, "returned": 90}
    found = covered(Path(write(tmp_path, header, call, seen)))
    assert {gap.construct for gap in found.unjudged} == (set() if judged else {CALLED_ALONE})
    call["end"] = {"invoked": 80, "returned": 90}
    assert covered(Path(write(tmp_path, header, call, seen))).judged == 2


@pytest.mark.parametrize(
    ("seen", "verdict"), [(0.8165, "correct"), (0.816496580927726, "correct"), (0.8164, "violation"), (1, "violation")]
)
def test_a_deviation_has_all_digits_in_the_answer_of_a_prepared_statement(
    tmp_path: Path, seen: float, verdict: str
) -> None:
    header = {
        **HEADER,
        "dialect": "mysql",
        "schema": ["CREATE TABLE kv (k INT PRIMARY KEY, v INT)"],
        "initial": {"kv": {"columns": ["k", "v"], "rows": [[1, 1], [2, 2], [3, 3]]}},
    }
    read = transaction("SELECT std(v) FROM kv", result={"columns": ["std(v)"], "rows": [[seen]]})
    assert audited(Path(write(tmp_path, header, read))).status.value == verdict

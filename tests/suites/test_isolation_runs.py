"""Real runs of isolation scenarios on PostgreSQL 15: Hermitage's, and permutations of PostgreSQL's own isolation tests.

What the server answered at a level is correct at that level, and at every weaker one. Where Hermitage says that a level
lets an anomaly through, the run is a violation at the level that forbids it. Steps were made one after the other, so
their places are client times.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.suites.files import DATA, entries_of
from troubadour.audit.driver import Options, audit
from troubadour.coverage.library import library_of
from troubadour.formats import read_log
from troubadour.isolation.levels import LEVELS, implied_by
from troubadour.model.log import Log
from troubadour.model.verdict import Status
from troubadour.replay.chain import check_chain
from troubadour.replay.checker import check

HERMITAGE = DATA / "isolation-runs" / "hermitage.jsonl.gz"
PERMUTATIONS = DATA / "isolation-runs" / "postgres.jsonl.gz"

PROMISED = {
    "read committed": ("read-committed", "postgres:read-committed"),
    "repeatable read": ("strict-snapshot", "session-snapshot", "postgres:repeatable-read"),
    "serializable": ("serializable", "strict-snapshot", "session-snapshot", "postgres:serializable"),
}
"""What PostgreSQL promises on one node; profiles as far as they are there."""

FORBIDDEN_AT = {"OTV": "read-atomic", "PMP": "snapshot", "P4": "snapshot", "G-single": "read-atomic"}
"""Where an anomaly that a level let through is a violation; the others (G2) at serializable."""

NAMED = {
    "5-PMP": "phantom",
    "7-PMP": "non-repeatable-read",
    "9-P4": "lost-update",
    "11-G-single": "read-skew",
    "15-G2-item": "write-skew",
    "17-G2": "phantom",
}
"""What the violations are called."""

WHOLE = {"test": ("id", "value")}


def levels_of(promised: str) -> list[str]:
    """The levels promised and all weaker ones."""
    found = {weaker for name in PROMISED[promised] if name in LEVELS for weaker in implied_by(name)}
    return [name for name in LEVELS if name in found]


class Run:
    """A run in the making: transactions by session, with the places of the steps as client times."""

    def __init__(self, schema: list[str], initial: dict[str, Any]) -> None:
        self.header = {"format": "troubadour-log", "version": 1, "dialect": "postgres", "schema": schema}
        self.header |= {"initial": initial, "settings": {"collation": "C"}}
        self.transactions: list[dict[str, Any]] = []
        self._open: dict[str, dict[str, Any]] = {}

    def begin(self, session: str, at: int) -> None:
        """BEGIN; its level is the run's."""
        self._open[session] = self._new(session, at, "run")

    def _new(self, session: str, at: int, level: str) -> dict[str, Any]:
        found = {"id": f"{session}.{len(self.transactions)}", "session": session, "status": "aborted"}
        found |= {"level": level, "invoked": 10 * at, "statements": []}
        self.transactions.append(found)
        return found

    def end(self, session: str, at: int, *, committed: bool) -> None:
        """COMMIT or ROLLBACK; after an error either is a rollback."""
        ended = self._open.pop(session)
        failed = any("error" in statement for statement in ended["statements"])
        ended["status"] = "committed" if committed and not failed else "aborted"
        ended |= {"returned": 10 * at + 1, "end": {"invoked": 10 * at, "returned": 10 * at + 1}}

    def statement(self, session: str, sql: str, at: int, done: int, observed: dict[str, Any]) -> None:
        """A statement, in the session's transaction or in one of its own, at read committed."""
        times = {"invoked": 10 * at, "returned": 10 * done + 2}
        alone = session not in self._open
        transaction = self._new(session, at, "read-committed") if alone else self._open[session]
        transaction["statements"].append({"sql": sql, **times, **observed})
        if alone:
            transaction |= {"status": "committed", "returned": times["returned"]}

    def log(self, level: str, folder: Path) -> Log:
        """The log at a level."""
        lines: list[dict[str, Any]] = [self.header]
        for transaction in self.transactions:
            own = level if transaction["level"] == "run" else transaction["level"]
            entry = {key: value for key, value in transaction.items() if key != "level"}
            lines.append({**entry, "isolation": own})
        path = folder / "run.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        return read_log([path])


def rows_of(columns: int, rows: list[list[Any]]) -> dict[str, Any]:
    return {"result": {"columns": [f"c{n}" for n in range(columns)], "rows": rows}}


def hermitage() -> Iterator[tuple[str, str, str, bool, Run]]:
    """(id, anomaly, level, whether it was prevented, run)."""
    for number, one in enumerate(entries_of(HERMITAGE)):
        run = Run(["create table test (id int primary key, value int)"], {"test": {"rows": [[1, 10], [2, 20]]}})
        for event in one["events"]:
            session, sql, at = event["session"], event["sql"].strip(), event["i"]
            word = re.split(r"\W", sql)[0]
            if word == "begin":
                run.begin(session, at)
            elif word in ("commit", "abort", "rollback"):
                run.end(session, at, committed=event.get("status") == "COMMIT")
            else:
                observed: dict[str, Any] = {}
                if "sqlstate" in event:
                    observed["error"] = {"sqlstate": event["sqlstate"]}
                elif "rows" in event:
                    observed = rows_of(2, event["rows"])
                elif "affected" in event:
                    observed["affected"] = event["affected"]
                run.statement(session, sql.rstrip(";"), at, event.get("unblocked_after", at), observed)
        after = len(one["events"]) + 1
        run.statement("final", "select id, value from test", after, after, rows_of(2, one["final"]["test"]))
        yield f"{number}-{one['anomaly']}", one["anomaly"], one["level"], one["prevented"], run


def permutations() -> Iterator[tuple[str, str, Run]]:
    """(id, level, run)."""
    for one in entries_of(PERMUTATIONS):
        texts = [text.strip() for setup in one["setup"] for text in setup.split(";") if text.strip()]
        run = Run([text for text in texts if text.upper().startswith("CREATE")], {})
        for number, text in enumerate(text for text in texts if not text.upper().startswith("CREATE")):
            run.statement("setup", text, number, number, {})
        begun = len(texts)
        for session in one["sessions"]:
            run.begin(session["name"], begun)
        waiting: dict[str, int] = {}
        for at, event in enumerate(one["events"], begun + 1):
            session = event["session"]
            if event["event"] == "waiting":
                waiting[event["step"]] = at
                continue
            sql = event.get("sql", "").strip().rstrip(";")
            failed = "errors" in event
            if sql.upper() in ("COMMIT", "ROLLBACK", "ABORT"):
                run.end(session, at, committed=sql.upper() == "COMMIT" and not failed)
                continue
            observed: dict[str, Any] = {"error": {"sqlstate": "40001"}} if failed else {}
            for result in event.get("results", ()):
                observed = rows_of(len(result["columns"]), result["rows"])
            run.statement(session, sql or step_of(one, event["step"]), waiting.get(event["step"], at), at, observed)
        yield one["id"], one["isolation_levels"][0].lower(), run


def step_of(one: dict[str, Any], step: str) -> str:
    """The text of a step that is named again when it completes."""
    (sql,) = {event["sql"] for event in one["events"] if event["step"] == step and "sql" in event}
    return str(sql).strip().rstrip(";")


def verdict_of(run: Run, level: str, folder: Path) -> Status:
    log = run.log(level, folder)
    verdict = audit(log, library_of(log), Options())
    if verdict.witness is not None:
        assert check(log, verdict.witness, library_of(log), isolation=None) is None
    assert verdict.status is not Status.UNDECIDED, verdict.reason
    return verdict.status


SCENARIOS = list(hermitage())
ALL_PERMUTATIONS = list(permutations())


def test_scenarios_are_many() -> None:
    assert len(SCENARIOS) == 20
    assert len(ALL_PERMUTATIONS) == 50


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: f"{scenario[0]}-{scenario[2]}")
def test_hermitage(scenario: tuple[str, str, str, bool, Run], tmp_path: Path) -> None:
    _, anomaly, promised, prevented, run = scenario
    for level in PROMISED[promised]:
        if level in LEVELS:
            assert verdict_of(run, level, tmp_path) is Status.CORRECT, level
    if not prevented:
        forbidden = FORBIDDEN_AT.get(anomaly, "serializable")
        assert verdict_of(run, forbidden, tmp_path) is Status.VIOLATION, forbidden


@pytest.mark.slow
@pytest.mark.parametrize("scenario", [one for one in SCENARIOS if one[0] in NAMED], ids=lambda scenario: scenario[0])
def test_hermitage_by_name(scenario: tuple[str, str, str, bool, Run], tmp_path: Path) -> None:
    id_, anomaly, _, _, run = scenario
    forbidden = FORBIDDEN_AT.get(anomaly, "serializable")
    log = run.log(forbidden, tmp_path)
    account = audit(log, library_of(log), Options(forbidden, accounts=True)).account
    assert account is not None
    assert account.anomaly == NAMED[id_]
    assert account.explained is not None
    explained = account.explained
    prefix = Log(log.header, log.transactions[: explained.transactions], log.digest)
    assert check_chain(prefix, explained.witness, library_of(log), explained.level, explained.edges) == []


@pytest.mark.parametrize("permutation", ALL_PERMUTATIONS, ids=lambda permutation: permutation[0])
def test_permutation(permutation: tuple[str, str, Run], tmp_path: Path) -> None:
    _, promised, run = permutation
    for level in PROMISED[promised]:
        if level in LEVELS:
            assert verdict_of(run, level, tmp_path) is Status.CORRECT, level


@pytest.mark.slow
@pytest.mark.parametrize(
    ("promised", "run"),
    [pytest.param(*one[1:], id=one[0]) for one in ALL_PERMUTATIONS]
    + [pytest.param(one[2], one[4], id=f"{one[0]}-{one[2]}") for one in SCENARIOS],
)
def test_every_weaker_level_accepts_a_run(promised: str, run: Run, tmp_path: Path) -> None:
    for level in levels_of(promised):
        assert verdict_of(run, level, tmp_path) is Status.CORRECT, level

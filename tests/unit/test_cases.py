"""Every case file, at every level that it names, gets the verdict that it states (tests/cases/README.md)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.case_files import Case, CaseError, Expectation, all_cases, opened, read_case
from troubadour.audit.driver import Options, audit
from troubadour.formats import read_log
from troubadour.isolation.levels import LEVELS
from troubadour.model.log import Log
from troubadour.model.verdict import Status, Verdict
from troubadour.replay.checker import check

CASES = list(all_cases())
ROOT = Path(__file__).parents[2]
LEVELS_PAGE = (ROOT / "docs" / "isolation-levels.md").read_text(encoding="utf-8")
EXAMPLES = [
    read_case(text, f"docs-{number}") for number, text in enumerate(re.findall(r"```case\n(.*?)```", LEVELS_PAGE, re.S))
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where one log after the other is written: a folder of its own takes as long as an audit of most."""
    return tmp_path_factory.mktemp("cases")


def run(log: Log, level: str | None, *, order_recorded: bool = False, unobserved: bool = True) -> Verdict:
    """Audit; a correct verdict's witness is checked once more."""
    log, library = opened(log, level)
    verdict = audit(log, library, Options(level, order_recorded, unobserved=unobserved))
    if verdict.status is Status.CORRECT:
        assert verdict.witness is not None
        assert check(log, verdict.witness, library, isolation=level) is None
    return verdict


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        pytest.param(case, expected, id=f"{case.name}-{expected.level}")
        for case in (*CASES, *EXAMPLES)
        for expected in case.expectations
    ],
)
def test_case(case: Case, expected: Expectation, folder: Path) -> None:
    level = None if expected.level == "own" else expected.level
    verdict = run(case.log(folder), level, order_recorded=expected.order_recorded)
    said = f"{verdict.explanation} {verdict.reason}"
    assert verdict.status.value == expected.verdict, said
    if expected.verdict == "correct":
        assert verdict.verified_prefix == verdict.committed
    if expected.failing is not None:
        assert verdict.failing_transaction == expected.failing, said
    if expected.core is not None:
        assert verdict.core is not None
        assert set(verdict.core) == expected.core, said
    if expected.scope is not None:
        assert verdict.scope is not None
        assert verdict.scope.value == expected.scope, said
    if expected.prefix is not None:
        assert verdict.verified_prefix == expected.prefix, said
    if expected.says is not None:
        assert expected.says in said


def test_the_page_on_levels_has_an_example_and_the_citation_of_each() -> None:
    assert {expected.level for case in EXAMPLES for expected in case.expectations} - {"own"} == set(LEVELS)
    for level in LEVELS.values():
        (section,) = re.findall(rf"^## `{level.name}`\n(.*?)(?=^## |\Z)", LEVELS_PAGE, re.S | re.M)
        assert level.citation.split(" of Crooks")[0] in " ".join(section.replace("(paper 6.2)", "(paper §6.2)").split())


GENERAL = {
    "postgres:read-committed": "read-committed",
    "postgres:repeatable-read": "strict-snapshot",
    "postgres:serializable": "serializable",
    "mysql:repeatable-read": "read-committed",
    "mysql:read-committed": "read-committed",
    "mysql:serializable": "serializable",
    "sqlite": "serializable",
    "duckdb": "snapshot",
}
"""The general level that each profile is nearest to."""


def test_each_profile_catches_what_its_general_level_misses() -> None:
    caught = {
        name
        for case in (*CASES, *EXAMPLES)
        for name, general in GENERAL.items()
        if {(name, "violation"), (general, "correct")} <= {(each.level, each.verdict) for each in case.expectations}
    }
    assert caught == set(GENERAL) == {level.name for level in LEVELS.values() if level.dialect is not None}


def test_there_are_cases_at_every_level() -> None:
    stated = {expected.level for case in CASES for expected in case.expectations}
    assert stated == {*LEVELS, "own"}


# --- logs that are kept as such ---------------------------------------------------------------------------------------

LOGS = ROOT / "logs"
REGRESSIONS = sorted(path for folder in ("regress", "strangers-3") for path in (LOGS / folder).glob("*.expect"))


@pytest.mark.parametrize("path", sorted((LOGS / "anomalies").glob("*.jsonl")), ids=lambda path: path.stem)
def test_a_log_of_an_anomaly_is_its_case(path: Path) -> None:
    (case,) = [case for case in CASES if case.name.split("/")[1] == path.stem]
    assert path.read_text(encoding="utf-8").splitlines() == case.lines()


def test_the_table_of_anomalies_is_what_the_cases_say() -> None:
    told = {}
    order: list[str] = []
    for line in (LOGS / "anomalies" / "README.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("| log |"):
            order = [cell.strip() for cell in line.strip("|").split("|")][1:]
        if line.startswith("| `"):
            name, *marks = [cell.strip() for cell in line.strip("|").split("|")]
            told[name.split("`")[1]] = marks
    assert set(told) == {path.stem for path in (LOGS / "anomalies").glob("*.jsonl")}
    assert order == [level.name for level in LEVELS.values() if level.dialect is None and not level.ordered]
    for case in CASES:
        name = case.name.split("/")[1]
        if name in told:
            verdicts = {expected.level: expected.verdict for expected in case.expectations}
            assert told[name] == [
                {"correct": "-", "violation": "x", "undecided": "?"}[verdicts[level]] for level in order
            ], name


@pytest.mark.parametrize("path", REGRESSIONS, ids=lambda path: path.stem)
def test_regression(path: Path) -> None:
    plain = path.with_suffix(".jsonl")
    log = read_log([plain if plain.exists() else path.with_suffix(".jsonl.gz")])
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    assert lines
    for line in lines:
        level, status, *failing = line.split()
        verdict = run(log, None if level == "own" else level, unobserved=False)
        assert verdict.status.value == status, f"{level}: {verdict.explanation or verdict.reason}"
        assert not failing or verdict.failing_transaction == failing[0]


# --- RQ1 of the paper, generated ------------------------------------------------------------------------------------


def rq1(transfers: int, observed: str) -> Case:
    """RQ1 (§8.1): `transfers` transfers of 10 from account 1 to 2, then the balance of account 2 is read."""
    moves = "\n".join(f"t{n} @{2 * n}-{2 * n + 1}  CALL Transfer(1, 2, 10)" for n in range(transfers))
    end = 2 * transfers
    text = f"""
# level: read-committed  expect: correct
schema: bank.sql
init accounts (1, 100) (2, 300)
{moves}
last @{end}-{end + 1}  SELECT balance FROM accounts WHERE acc_id = 2  -> ({observed})
"""
    return read_case(text, f"rq1-{transfers}-{observed}")


@pytest.mark.parametrize(
    ("k", "observed", "status"),
    [
        (11, "400", Status.CORRECT),
        (10, "390", Status.CORRECT),
        (10, "66", Status.VIOLATION),
        (10, "400", Status.VIOLATION),
        (12, "410", Status.CORRECT),
        (12, "305", Status.VIOLATION),
    ],
)
def test_rq1_at_read_committed(k: int, observed: str, status: Status, tmp_path: Path) -> None:
    verdict = run(rq1(k - 1, observed).log(tmp_path), "read-committed")
    assert verdict.status is status, verdict.explanation or verdict.reason
    if status is Status.VIOLATION:
        assert verdict.failing_transaction == "last"


@pytest.mark.parametrize("level", ["serializable", "strict-serializable", "strict-snapshot"])
def test_rq1_where_nothing_is_lost(level: str, tmp_path: Path) -> None:
    assert run(rq1(10, "400").log(tmp_path), level).status is Status.CORRECT
    assert run(rq1(10, "410").log(tmp_path), level).status is Status.VIOLATION


# --- the reader itself ------------------------------------------------------------------------------------------------


def test_reading_a_case() -> None:
    case = read_case(
        """
# prose
# level: snapshot, serializable   expect: violation at t2   core: t1, t2   because: two reasons: a and b
schema: kv.sql
settings: {"collation": "C"}
init kv(k, v) ('it''s', 1) ('y', null)
t1 aborted session:a @3-4 ~c:5-  UPDATE kv SET v = 1  -> affected 2
   ~6-7 UPDATE kv SET v = 2 WHERE k = 'y' RETURNING v, 1.50  -> affected 1 (2, 1.50)
   ~8-9 ROLLBACK
t2 SELECT k, v FROM kv WHERE false  -> no row (k, v)
""",
        "reading",
    )
    assert [(e.level, e.verdict, e.failing, e.core) for e in case.expectations] == [
        ("snapshot", "violation", "t2", {"t1", "t2"}),
        ("serializable", "violation", "t2", {"t1", "t2"}),
    ]
    assert case.expectations[0].because == "two reasons: a and b"
    assert case.header["initial"] == {"kv": {"columns": ["k", "v"], "rows": [["it's", 1], ["y", None]]}}
    first, second = case.transactions
    assert (first["status"], first["session"], first["start"], first["commit"]) == ("aborted", "a", 3, 4)
    assert (first["clock"], first["invoked"], "returned" in first) == ("c", 5, False)
    assert first["statements"][1] == {
        "sql": "UPDATE kv SET v = 2 WHERE k = 'y' RETURNING v, 1.50",
        "invoked": 6,
        "returned": 7,
        "affected": 1,
        "result": {"columns": ["c0", "c1"], "rows": [[2, "1.50"]]},
    }
    assert first["end"] == {"invoked": 8, "returned": 9}
    assert second["statements"][0]["result"] == {"columns": ["k", "v"], "rows": []}


@pytest.mark.parametrize(
    "text",
    [
        "schema: kv.sql",
        "# level: snapshot  expect: perhaps",
        "# level: snapshot  expect: correct  colour: red",
        "# level: snapshot  expect: correct\nt1 SELECT 1  -> (1, x)",
        "# level: snapshot  expect: correct\nt1 @one-2 SELECT 1",
        "# level: snapshot  expect: correct\n  SELECT 1",
    ],
)
def test_what_is_no_case_is_refused(text: str) -> None:
    with pytest.raises(CaseError):
        read_case(text, "bad")

"""The gate: which logs it finds, what it makes of their verdicts, and what it writes for pipelines."""

from __future__ import annotations

import datetime
import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.unit.commands import GOOD, HEADER, balance, transaction, write
from troubadour.gate.discover import NothingFound, find_logs
from troubadour.gate.findings import Finding, Outcome, exit_status, fingerprint, former_fingerprints, judge
from troubadour.gate.junit import render_junit
from troubadour.gate.markdown import render_markdown, workflow_annotations
from troubadour.gate.policy import PolicyError, Rules, read_policy
from troubadour.gate.sarif import render_sarif
from troubadour.isolation.anomalies import ANOMALIES
from troubadour.model.log import Statement, Transaction

BAD = transaction(params=[1], result=balance("7.00"), id="t2")
DAY = datetime.date(2026, 11, 23)


def segment(folder: Path, name: str, *entries: Any, **header: Any) -> str:
    return write(folder, {**HEADER, **header}, *entries, name=name)


def finding(outcome: Outcome, **fields: Any) -> Finding:
    (log,) = fields.pop("log")
    return Finding(log, outcome, fields.pop("because", "a < b & \x00 ünused\nsecond"), **fields)


class TestDiscover:
    def test_folders_are_searched_and_other_files_left(self, tmp_path: Path) -> None:
        (tmp_path / "deep").mkdir()
        segment(tmp_path / "deep", "a.jsonl")
        segment(tmp_path, "b.jsonl")
        (tmp_path / "notes.txt").write_text("no log")
        assert [log.files[0].name for log in find_logs([str(tmp_path)])] == ["b.jsonl", "a.jsonl"]

    def test_segments_belong_together_by_log_id(self, tmp_path: Path) -> None:
        segment(tmp_path, "one.jsonl", log_id="x", segment=1)
        text = Path(segment(tmp_path, "other.jsonl", log_id="x", segment=2)).read_bytes()
        (tmp_path / "two.jsonl.gz").write_bytes(gzip.compress(text))
        (tmp_path / "other.jsonl").unlink()
        segment(tmp_path, "else.jsonl", log_id="y")
        found = {tuple(file.name for file in log.files) for log in find_logs([str(tmp_path)])}
        assert found == {("one.jsonl", "two.jsonl.gz"), ("else.jsonl",)}

    def test_a_glob_and_a_file_named_twice_are_one_log(self, tmp_path: Path) -> None:
        path = segment(tmp_path, "a.jsonl")
        assert len(find_logs([path, str(tmp_path / "*.jsonl")])) == 1

    @pytest.mark.parametrize("path", ["absent", "*.jsonl"])
    def test_a_path_without_logs_is_refused(self, tmp_path: Path, path: str) -> None:
        with pytest.raises(NothingFound):
            find_logs([str(tmp_path / path)])


class TestPolicy:
    def test_of_rules_that_match_the_last_says_most(self, tmp_path: Path) -> None:
        (tmp_path / "troubadour.toml").write_text(
            '[gate]\nisolation = "snapshot"\ntimeout = 5\n'
            '[[gate.log]]\npath = "*/slow/*"\ntimeout = 50\n'
            '[[gate.log]]\npath = "x.jsonl"\nmin-coverage = 0.9\n'
        )
        policy = read_policy(None, tmp_path)
        assert policy.rules(Path("a.jsonl")).timeout == 5
        rules = policy.rules(Path("logs/slow/x.jsonl"))
        assert (rules.isolation, rules.timeout, rules.min_coverage) == ("snapshot", 50, 0.9)

    def test_pyproject_serves_where_there_is_no_file_of_its_own(self, tmp_path: Path) -> None:
        (tmp_path / "pyproject.toml").write_text('[tool.troubadour.gate]\nisolation = "sqlite"\n[tool.ruff]\n')
        assert read_policy(None, tmp_path).rules(Path("a")).isolation == "sqlite"

    @pytest.mark.parametrize(
        "text",
        ["[gate]\nisolaton = 'x'", "[gate", "[gates]", "[gate]\ntimeout = -1", "[[gate.allow]]\nfingerprint='x'"],
    )
    def test_what_no_rule_knows_is_refused(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "troubadour.toml").write_text(text)
        with pytest.raises(PolicyError, match=r"troubadour\.toml"):
            read_policy(None, tmp_path)

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ('[gate]\nisolaton = "snapshot"', "[gate] has no rule 'isolaton'; did you mean isolation?"),
            ("[gate]\nmin_coverage = 1", "[gate] has no rule 'min_coverage'; did you mean min-coverage?"),
            ('[gate]\ntimeout = "5"', "[gate]: timeout is seconds, a number above 0, and not '5'"),
            (
                "[gate]\nmin-coverage = 95",
                "[gate]: min-coverage is a part of the statements, a number from 0 to 1, and not 95",
            ),
            ('[gate]\norder = "file"', "[gate]: order is \"search\" or \"recorded\", and not 'file'"),
            ("[gate]\nallow-unjudged = 1", '[gate]: allow-unjudged is a list of texts, as ["one", "two"], and not 1'),
            ("[gate]\nallow-unobserved = 1", "[gate]: allow-unobserved is true or false, and not 1"),
            ("[gate]\nallow = 3", "[gate]: allow is a table for each finding, [[gate.allow]], and not 3"),
            (
                '[[gate.allow]]\nfingerprint = "0123456789"\nreason = "x"',
                "[[gate.allow]] number 1 lacks expires: a date without quotes, as 2027-01-31",
            ),
            ("[[gate.log]]\ntimeout = 5", "[[gate.log]] number 1 lacks path: a pattern for paths, a text"),
            ("gate = 1", "gate is a table, [gate], and not 1"),
            ("[gates]", "unknown table [gates]; the rules stand in [gate]"),
        ],
    )  # fmt: skip
    def test_what_is_wrong_is_said_in_the_words_of_the_policy(self, tmp_path: Path, text: str, said: str) -> None:
        (tmp_path / "troubadour.toml").write_text(text)
        with pytest.raises(PolicyError) as refused:
            read_policy(None, tmp_path)
        assert str(refused.value) == f"{tmp_path / 'troubadour.toml'}: {said}"

    def test_a_misspelt_level_is_named_once(self, run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("a.jsonl", "b.jsonl"):
            segment(tmp_path, name)
        (tmp_path / "troubadour.toml").write_text('[gate]\nisolation = "serialisable"')
        monkeypatch.chdir(tmp_path)
        ended = run("gate", ".")
        assert (ended.status, ended.out, ended.err.count("serialisable")) == (2, "", 1)
        assert "did you mean serializable?" in ended.err

    def test_an_allowed_finding_stands_until_its_day(self, tmp_path: Path) -> None:
        (tmp_path / "troubadour.toml").write_text(
            '[[gate.allow]]\nfingerprint = "0123456789"\nexpires = 2026-11-23\nreason = "ticket 7"\n'
        )
        policy = read_policy(None, tmp_path)
        assert policy.allowed("0123456789abcdef", DAY) is not None
        assert policy.allowed("0123456789abcdef", DAY + datetime.timedelta(days=1)) is None
        assert policy.allowed("ff", DAY) is None
        assert len(policy.expired(DAY + datetime.timedelta(days=1))) == 1


class TestOutputs:
    @pytest.fixture
    def findings(self, tmp_path: Path) -> list[Finding]:
        log = find_logs([segment(tmp_path, "a|b.jsonl")])
        verdict = {
            "isolation": "snapshot",
            "transactions": {"committed": 2},
            "core": ["t2"],
            "failing_transaction": "t2",
        }
        return [
            finding(Outcome.PASSED, log=log, verdict=verdict, seconds=1.5),
            finding(Outcome.VIOLATION, log=log, verdict=verdict, fingerprint="abc", file="logs/a b.jsonl", line=3),
            finding(Outcome.UNDECIDED, log=log),
            finding(Outcome.ALLOWED, log=log, verdict=verdict, fingerprint="def", allowed="known"),
            finding(Outcome.UNUSABLE, log=log),
        ]

    def test_junit_counts_what_it_holds(self, findings: list[Finding]) -> None:
        suite = ElementTree.fromstring(render_junit(findings)).find("testsuite")
        assert suite is not None
        assert {key: suite.get(key) for key in ("tests", "failures", "errors", "skipped")} == {
            "tests": "5",
            "failures": "1",
            "errors": "2",
            "skipped": "1",
        }
        assert [len(case) for case in suite] == [0, 1, 1, 1, 1]
        failure = suite.find("testcase/failure")
        assert failure is not None
        assert "fingerprint: abc" in (failure.text or "")

    def test_sarif_places_and_suppresses(self, findings: list[Finding]) -> None:
        (run,) = json.loads(render_sarif(findings))["runs"]
        assert [result["ruleId"] for result in run["results"]] == ["violation", "undecided", "violation", "unusable"]
        place = run["results"][0]["locations"][0]["physicalLocation"]
        assert place == {"artifactLocation": {"uri": "logs/a%20b.jsonl"}, "region": {"startLine": 3}}
        assert run["results"][2]["suppressions"] == [{"kind": "external", "justification": "known"}]
        assert "suppressions" not in run["results"][0]

    def test_markdown_keeps_its_table_whatever_a_name_holds(self, findings: list[Finding]) -> None:
        text = render_markdown(findings)
        rows = [line for line in text.splitlines() if line.startswith("|")]
        assert len(rows) == 2 + len(findings)
        assert {row.replace("\\|", "").count("|") for row in rows} == {7}

    def test_annotations_are_one_line_each(self, findings: list[Finding]) -> None:
        lines = list(workflow_annotations(findings))
        assert len(lines) == 3
        assert lines[0].startswith("::error file=logs/a b.jsonl,line=3,title=violation at snapshot::a < b")
        assert all("\n" not in line and "%0A" in line for line in lines)


def test_a_fingerprint_knows_no_values_and_no_order() -> None:
    def of(*texts: str) -> str:
        core = [Transaction(n, "committed", (Statement(sql),), n) for n, sql in enumerate(texts)]
        return fingerprint({"isolation": "snapshot"}, core)

    assert of("SELECT a FROM t WHERE id = 1", "UPDATE t SET a = 'x'") == of(
        "UPDATE t  SET a = 'it''s'", "SELECT a FROM t WHERE id = 77"
    )
    assert of("SELECT a FROM t") != of("SELECT b FROM t")


@pytest.mark.parametrize(
    ("outcomes", "status"),
    [
        ("passed allowed", 0),
        ("passed undecided", 3),
        ("undecided unusable", 2),
        ("undecided unusable violation", 1),
    ],
)
def test_the_worst_outcome_is_the_status(outcomes: str, status: int, tmp_path: Path) -> None:
    log = find_logs([segment(tmp_path, "a.jsonl")])
    assert exit_status(finding(Outcome(one), log=log) for one in outcomes.split()) == status


class TestCommand:
    def test_good_and_bad_logs_in_a_folder(self, run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        logs = tmp_path / "logs"
        logs.mkdir()
        segment(logs, "good.jsonl", GOOD)
        segment(logs, "bad.jsonl", GOOD, BAD)
        artifacts = tmp_path / "artifacts"
        ended = run("gate", "logs", "--format", "json", "--artifacts", str(artifacts), "--jobs", "2")
        assert ended.status == 1
        by_name = {entry["log"]: entry for entry in ended.json["logs"]}
        bad = by_name["logs/bad.jsonl"]
        assert (bad["outcome"], bad["line"], bad["verdict"]["core"]) == ("violation", 3, ["t2"])
        assert by_name["logs/good.jsonl"]["outcome"] == "passed"
        assert (artifacts / "logs-good.jsonl" / "witness.json").exists()

        (tmp_path / "troubadour.toml").write_text(
            f'[[gate.allow]]\nfingerprint = "{bad["fingerprint"]}"\nexpires = 2999-01-01\nreason = "known"\n'
            '[[gate.log]]\npath = "good.jsonl"\nisolation = "serializable"\n'
        )
        ended = run("gate", "logs")
        assert ended.status == 0
        assert "2 of 2 logs pass" in ended.out
        assert "allowed: known (until 2999-01-01)" in ended.out

    def test_a_gate_that_finds_nothing_does_not_pass(self, run: Any, tmp_path: Path) -> None:
        ended = run("gate", str(tmp_path))
        assert ended.status == 2
        assert "no log is there" in ended.err


class TestBaseline:
    def test_what_the_last_run_lacked_is_new(self, run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        segment(tmp_path, "bad.jsonl", GOOD, BAD, isolation="snapshot")
        command = ("gate", "bad.jsonl", "--baseline", "last.json", "--sarif", "found.sarif", "--format", "json")
        told = []
        for _ in range(2):
            ended = run(*command)
            (log,) = ended.json["logs"]
            (result,) = json.loads((tmp_path / "found.sarif").read_text())["runs"][0]["results"]
            told.append((ended.status, log["new"], result["baselineState"]))
        assert told == [(1, True, "new"), (1, False, "unchanged")]
        mark = log["fingerprint"]
        # a log that cannot be judged once keeps what is known of it
        (tmp_path / "bad.jsonl").write_text("{")
        assert run(*command).json["gone"] == []
        segment(tmp_path, "bad.jsonl", GOOD, isolation="snapshot")
        assert run(*command).json["gone"] == [mark]
        assert json.loads((tmp_path / "last.json").read_text())["findings"] == []

    def test_a_file_that_is_no_baseline_is_refused(self, run: Any, tmp_path: Path) -> None:
        path = segment(tmp_path, "a.jsonl", GOOD)
        ended = run("gate", path, "--baseline", path)
        assert (ended.status, ended.out) == (2, "")
        assert "no baseline of troubadour" in ended.err

    def test_the_entry_that_is_offered_lets_the_finding_stand(
        self, run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        segment(tmp_path, "bad.jsonl", GOOD, BAD, isolation="snapshot")
        (log,) = run("gate", "bad.jsonl", "--format", "json").json["logs"]
        assert log["outcome"] == "violation"
        (tmp_path / "troubadour.toml").write_text(log["allow"])
        assert run("gate", "bad.jsonl").status == 0


def test_every_anomaly_is_a_rule_with_help() -> None:
    (told,) = json.loads(render_sarif([]))["runs"]
    rules = {rule["id"]: rule for rule in told["tool"]["driver"]["rules"]}
    assert {*ANOMALIES, "violation", "undecided", "unusable"} == set(rules)
    assert rules["lost-update"]["help"]["markdown"] == (
        "# Lost update\n\n*P4*\n\n"
        f"{ANOMALIES['lost-update'].meaning[0].upper()}{ANOMALIES['lost-update'].meaning[1:]}.\n\n"
        "## What to look at\n\nIs the isolation level the one that you expect?\n\n"
        f"## Where it is defined\n\n{ANOMALIES['lost-update'].citation}.\n"
    )


def test_what_has_another_name_now_is_known_by_the_former_one(tmp_path: Path) -> None:
    """An entry for a lost commit lets what is called a stale read now stand."""
    verdict = {"isolation": "strict-snapshot", "account": {"anomaly": "stale-read"}}
    former = {"isolation": "strict-snapshot", "account": {"anomaly": "lost-commit"}}
    core = [Transaction("t1", "committed", (Statement("SELECT 1"),), 0)]
    mark = fingerprint(former, core)
    assert mark in former_fingerprints(verdict, core)
    assert not former_fingerprints(former, core)
    (tmp_path / "troubadour.toml").write_text(
        f'[[gate.allow]]\nfingerprint = "{mark}"\nexpires = 2999-01-01\nreason = "known"\n'
    )
    policy = read_policy(None, tmp_path)
    found = finding(
        Outcome.VIOLATION, log=find_logs([segment(tmp_path, "a.jsonl")]), fingerprint=fingerprint(verdict, core)
    )
    assert judge(found, Rules(), policy, DAY).outcome is Outcome.VIOLATION
    found = replace(found, formerly=former_fingerprints(verdict, core))
    assert judge(found, Rules(), policy, DAY).outcome is Outcome.ALLOWED

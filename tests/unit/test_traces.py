"""The OpenTelemetry trace of a transaction: taken from the current span, in the log, in verdicts and in SARIF."""

from __future__ import annotations

import json
import sqlite3
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tests.unit.commands import GOOD, HEADER, balance, transaction, write
from troubadour.record import recorder

TRACE = "0af7651916cd43dd8448eb211c80319c"


@pytest.fixture
def span(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The current span, by the interface of `opentelemetry.trace`; `is_valid` False: there is none."""
    context = SimpleNamespace(trace_id=int(TRACE, 16), is_valid=True)
    module = ModuleType("opentelemetry.trace")
    module.get_current_span = lambda: SimpleNamespace(get_span_context=lambda: context)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "opentelemetry.trace", module)
    return context


def test_a_recorder_takes_the_trace_of_the_current_span(tmp_path: Path, span: Any) -> None:
    log = tmp_path / "run.jsonl"
    raw = sqlite3.connect(tmp_path / "shop.db", isolation_level=None)
    raw.execute("CREATE TABLE t (a INTEGER PRIMARY KEY)")
    connection = recorder.wrap(raw, log=log)
    for number, valid in enumerate((True, False)):
        span.is_valid = valid
        connection.execute("BEGIN")
        connection.execute(f"INSERT INTO t VALUES ({number})")
        connection.execute("COMMIT")
    connection.close()
    recorder.close()
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    told = [line.get("trace_id") for line in lines if line.get("status") == "committed"]
    assert told == [TRACE, None]


def test_verdicts_and_sarif_show_it(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    bad = transaction(params=[1], result=balance("7.00"), id="t2", trace_id=TRACE)
    write(tmp_path, {**HEADER, "isolation": "snapshot"}, GOOD, bad, name="bad.jsonl")
    assert f"trace_id {TRACE}" in run("audit", "bad.jsonl").out
    run("gate", "bad.jsonl", "--sarif", "found.sarif")
    (result,) = json.loads(Path("found.sarif").read_text(encoding="utf-8"))["runs"][0]["results"]
    assert result["properties"]["traceIds"] == [TRACE]


@pytest.mark.parametrize("wrong", ["short", TRACE.upper(), 7])
def test_a_trace_has_32_hexadecimal_digits(run: Any, tmp_path: Path, wrong: object) -> None:
    assert run("audit", write(tmp_path, HEADER, {**GOOD, "trace_id": wrong})).status == 2


def test_anonymized_logs_have_none(run: Any, tmp_path: Path) -> None:
    log = write(tmp_path, {**HEADER, "isolation": "snapshot"}, {**GOOD, "trace_id": TRACE})
    assert run("log", "anonymize", log, "--out", str(tmp_path / "out.jsonl")).status == 0
    assert TRACE not in (tmp_path / "out.jsonl").read_text(encoding="utf-8")
    assert run("log", "merge", log, "--out", str(tmp_path / "merged.jsonl")).status == 0
    assert TRACE in (tmp_path / "merged.jsonl").read_text(encoding="utf-8")

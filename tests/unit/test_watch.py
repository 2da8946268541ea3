"""`troubadour watch`: what is told as a log grows, how it ends, and that its last word is the audit's."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.property.timestamped_logs import KINDS, timestamped_log
from tests.unit.test_timestamps import HEADER, one
from tests.unit.watching import COMMAND, Json, Start, finished, started
from troubadour.audit.objects.decide import ObjectOptions, decide_objects, with_violations
from troubadour.audit.objects.second import by_sql
from troubadour.formats.entries import RawHeader, RawTransaction, read_header, read_transaction
from troubadour.isolation.levels import LEVELS
from troubadour.timestamps.ledger import Rules
from troubadour.watch.judging import ByAudits, ByTimestamps

TIMED = {**HEADER, "isolation": "timestamp-snapshot"}
LINES: list[Json] = [
    TIMED,
    one("a", 1, 2, ["w", "kv", 7, 3]),
    one("c", 5, 6, ["r", "kv", 7, 4], ["w", "kv", 7, 5]),
    one("b", 3, 4, ["w", "kv", 7, 4]),
    one("d", 7, 8, ["r", "kv", 7, 5]),
]
WRONG = one("e", 9, 10, ["r", "kv", 7, 4])


def text(*lines: Json | str) -> str:
    return "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)


def watched(stdin: str, *options: str) -> tuple[int, list[Json], str]:
    ended = subprocess.run([*COMMAND, "watch", *options, "-"], input=stdin, capture_output=True, text=True, check=False)
    return ended.returncode, [json.loads(line) for line in ended.stdout.splitlines()], ended.stderr


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    with started(tmp_path) as begin:
        yield begin


def test_a_log_that_is_correct_though_it_comes_out_of_order() -> None:
    status, told, _ = watched(text(*LINES))
    assert status == 0
    assert [one["kind"] for one in told[:-1]] == ["status", "flip", "status"]
    assert (told[1]["transaction"], told[1]["wrong"], told[1]["final"]) == ("c", False, False)
    assert told[-2]["final"] is True and told[-2]["transactions"] == 4
    assert told[-1]["verdict"] == "correct" and told[-1]["engine"] == "timestamps"


def test_what_is_wrong_at_the_end_is_final_and_as_the_audit_says(tmp_path: Path) -> None:
    status, told, _ = watched(text(*LINES, WRONG), "--timeout", "0")
    assert status == 1
    violations = [one for one in told if one.get("kind") == "violation"]
    assert {one["transaction"] for one in violations if one["final"]} == {"e"}
    path = tmp_path / "log.jsonl"
    path.write_text(text(*LINES, WRONG))
    audited = subprocess.run([*COMMAND, "audit", "--format", "json", str(path)], capture_output=True, check=False)
    expected = json.loads(audited.stdout)
    assert audited.returncode == 1
    assert {**told[-1], "seconds": 0} == {**expected, "seconds": 0}
    assert expected["violations"]["count"] == 1


def test_lines_that_cannot_be_used_are_refused_singly_and_never_correct() -> None:
    status, told, _ = watched(text(*LINES[:2], "{", one("a", 3, 4), one("x", None, 4, ["w", "kv", 1, 1]), *LINES[2:]))
    assert status == 2
    assert [one["refused"].partition(": ")[0] for one in told if "refused" in one] == [
        "<stdin>:3", "<stdin>:4", "<stdin>:5"
    ]  # fmt: skip
    assert told[-1]["verdict"] == "undecided" and "3 lines could not be used" in told[-1]["reason"]


def test_without_memory_for_the_audit_there_is_an_object_all_the_same() -> None:
    status, told, _ = watched(text(*LINES, "{"), "--memory", "40")
    assert status == 2 and told[-1]["verdict"] == "undecided" and "memory limit" in told[-1]["reason"]


@pytest.mark.parametrize("stdin", ["", '{"format": "troubadour-log"}\n'])
def test_what_is_no_log_ends_with_an_object_and_status_2(stdin: str) -> None:
    status, told, err = watched(stdin)
    assert status == 2 and told[-1]["verdict"] == "undecided" and told[-1]["reason"]
    assert err.count("\n") == 1 and "Traceback" not in err


def test_a_log_in_sql_is_audited_as_it_grows(tmp_path: Path, start: Callable[..., Any]) -> None:
    case = Path(__file__).parents[2] / "logs" / "anomalies" / "lost-update.jsonl"
    path = tmp_path / "log.jsonl"
    lines = [line for line in case.read_text().splitlines() if '"kind"' not in line]
    path.write_text(text(*lines[:2]))
    process = start(str(path), "--isolation", "serializable")
    with path.open("a") as file:
        for line in lines[2:]:
            time.sleep(0.1)
            file.write(line + "\n")
            file.flush()
    first = json.loads(process.stdout.readline())
    while first["kind"] == "status":
        first = json.loads(process.stdout.readline())
    assert (first["kind"], first["final"], first["failing_transaction"]) == ("violation", False, "t2")
    process.send_signal(signal.SIGTERM)
    status, told = finished(process)
    assert status == 1 and told[-1]["verdict"] == "violation" and told[-1]["failing_transaction"] == "t2"


def test_a_file_is_followed_to_its_end_line_over_a_rotation(tmp_path: Path, start: Callable[..., Any]) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(text(*LINES[:2])[:-9])
    process = start(str(path))
    process.stdout.readline()  # it follows
    with path.open("a") as file:
        file.write(text(*LINES[:2])[-9:] + text(LINES[2]))
    path.rename(tmp_path / "log.jsonl.1")
    path.write_text(text(TIMED, *LINES[3:], {"kind": "end", "transactions": 2}))
    status, told = finished(process)
    assert status == 0 and told[-1]["transactions"]["committed"] == 4


def test_lines_come_by_requests(tmp_path: Path, start: Callable[..., Any]) -> None:
    del tmp_path
    process = start("--listen", "0", "--until-idle", "1")
    port = json.loads(process.stdout.readline())["listening"]
    for several in (LINES[:3], LINES[3:]):
        request = urllib.request.Request(f"http://127.0.0.1:{port}/check", text(*several).encode(), method="POST")
        with urllib.request.urlopen(request) as answer:
            assert answer.status == 200
    status, told = finished(process)
    assert status == 0 and told[-1]["verdict"] == "correct" and told[-1]["transactions"]["total"] == 4


@pytest.mark.parametrize("moment", [2.5])
def test_a_run_that_was_killed_goes_on(tmp_path: Path, start: Callable[..., Any], moment: float) -> None:
    path, resume = tmp_path / "log.jsonl", tmp_path / "state"
    path.write_text(text(*LINES[:3]))
    first = start(str(path), "--resume", str(resume))
    time.sleep(moment)
    first.send_signal(signal.SIGKILL)
    first.wait()
    with path.open("a") as file:
        file.write(text(*LINES[3:], WRONG, {"kind": "end", "transactions": 5}))
    status, told = finished(start(str(path), "--resume", str(resume)))
    assert status == 1 and told[-1]["failing_transaction"] == "e" and told[-1]["transactions"]["total"] == 5
    assert not resume.exists()


# the judge by itself


def judge(header: RawHeader, level: str, clock: Callable[[], float]) -> ByTimestamps:
    found = LEVELS[level]
    return ByTimestamps(header, found, Rules(serial=found.horizon.latest), 5.0, clock, records=8)


def test_a_wrong_read_is_told_when_it_was_so_for_long_enough() -> None:
    now = 0.0
    watching = judge(read_header(json.dumps(TIMED).encode()), "timestamp-snapshot", lambda: now)
    for line in (LINES[1], LINES[2]):
        assert not [*_added(watching, line)]
    now = 4.9
    assert not [*watching.due()]
    now = 5.0
    (told,) = watching.due()
    assert (told["axiom"], told["transaction"], told["final"]) == ("EXT", "c", False)
    assert not [*watching.due()]
    (flip,) = _added(watching, LINES[3])
    assert (flip["kind"], flip["transaction"], flip["wrong"]) == ("flip", "c", False)
    assert not [*watching.closed()]


def test_rows_after_the_first_transaction_are_one_line_that_cannot_be_used() -> None:
    rows = {"kind": "rows", "table": "kv", "rows": [[9, 1]]}
    status, told, _ = watched(text(TIMED, rows, *LINES[1:3], rows, *LINES[3:]))
    assert status == 2
    assert told[-1]["verdict"] == "undecided"
    assert told[-2]["bad"] == 1
    assert [line["refused"] for line in told if "refused" in line] == ["<stdin>:5: rows after the first transaction"]


def test_a_verdict_of_any_length_is_told(tmp_path: Path) -> None:
    """One of more than a pipe holds: the audit that prints it ends all the same."""
    log = tmp_path / "log.jsonl"
    long = "x" * 300_000
    log.write_text(text({**HEADER, "isolation": "serializable"}, one("a", 1, 2, ["r", "kv", 7, long])))
    audits = ByAudits(lambda: [log], ())
    audits.grown(1)
    told: list[Json] = []
    until = time.monotonic() + 60
    while not told and time.monotonic() < until:
        told += audits.look()
        time.sleep(0.05)
    audits.close()
    assert told and told[0]["kind"] == "violation" and told[0]["final"] is False


def _added(watching: ByTimestamps, line: Json) -> Iterator[Json]:
    entry = read_transaction(json.dumps(line).encode())
    assert isinstance(entry, RawTransaction)
    return watching.add(entry)


@pytest.mark.parametrize("level", ["timestamp-snapshot", "timestamp-serializable"])
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_final_is_what_the_audit_lists(kind: str, level: str) -> None:
    compared = 0
    for seed in range(90_000, 90_040):
        draft = timestamped_log(kind, seed, least=3, most=7)
        header, *lines = draft.entries()
        log = draft.read()
        verdict = decide_objects(log, ObjectOptions(level), by_sql)
        if verdict is None:
            continue
        listed = with_violations(log, ObjectOptions(level), verdict).violations
        random.Random(seed).shuffle(lines)
        watching = judge(read_header(json.dumps(header).encode()), level, lambda: 0.0)
        final = [event for line in lines for event in _added(watching, line)] + [*watching.closed()]
        final = [event for event in final if event["kind"] == "violation" and event["final"]]
        assert len(final) == (0 if listed is None else listed.count), f"{kind} {seed}"
        assert watching.ledger.count() == len(final)
        compared += 1
    assert compared > 10


def test_help_is_quick_about_it() -> None:
    ended = subprocess.run([*COMMAND, "watch", "--help"], capture_output=True, text=True, check=True, env=os.environ)
    assert "--resume" in ended.stdout and "--listen" in ended.stdout

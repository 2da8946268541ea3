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

from tests.patience import until
from tests.property.timestamped_logs import KINDS, timestamped_log
from tests.unit.test_timestamps import HEADER, one
from tests.unit.watching import COMMAND, Json, Start, finished, is_noted, started
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
    status, told, _ = watched(text(*LINES), "--timeout", "600")
    assert status == 0 and told[0]["kind"] == "status"
    (flip,) = [one for one in told[:-1] if one["kind"] != "status"]
    assert (flip["kind"], flip["transaction"], flip["wrong"], flip["final"]) == ("flip", "c", False, False)
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


def test_a_repeated_number_of_a_session_is_one_line_that_cannot_be_used() -> None:
    numbered = [{**line, "session": "s", "sno": sno} for line, sno in zip(LINES[1:], (0, 2, 2, 1), strict=True)]
    status, told, _ = watched(text(TIMED, *numbered))
    assert status == 2 and told[-1]["verdict"] != "correct" and told[-1]["transactions"]["total"] == 3
    (refused,) = (one["refused"] for one in told if "refused" in one)
    assert refused == "<stdin>:4: transaction 'b': a repeated sno: session s had another number 2"


def test_an_intent_whose_transaction_never_came_is_of_unknown_outcome(tmp_path: Path) -> None:
    intents = [{**one(name, 5, 6, ["w", "kv", 7, 3]), "kind": "intent", "status": "unknown"} for name in "xy"]
    lines = text(HEADER, *intents, one("a", 7, 8, ["r", "kv", 7, 3]))
    status, told, err = watched(lines, "--isolation", "timestamp-snapshot")
    assert status == 0 and told[-1]["transactions"] == {"total": 3, "committed": 1, "aborted": 0, "unknown": 2}, err


def test_without_memory_for_the_audit_there_is_an_object_all_the_same() -> None:
    status, told, _ = watched(text(*LINES, "{"), "--memory", "40")
    assert status == 2 and told[-1]["verdict"] == "undecided" and "memory limit" in told[-1]["reason"]


def test_a_log_that_nothing_speaks_against_takes_little_memory_at_the_end() -> None:
    status, told, err = watched(text(TIMED, *_growing(3_000)), "--memory", "120")
    assert status == 0 and told[-1]["verified_prefix"] == 3_000, err


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


def test_a_run_that_was_killed_goes_on(tmp_path: Path, start: Callable[..., Any]) -> None:
    path, resume = tmp_path / "log.jsonl", tmp_path / "state"
    path.write_text(text(*LINES[:3]))
    first = start(str(path), "--resume", str(resume))
    until(lambda: is_noted(resume))
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


def _sessions(number: int) -> ByTimestamps:
    return ByTimestamps(
        read_header(json.dumps(TIMED).encode()), LEVELS["timestamp-snapshot"], Rules(), 5.0, sessions=number
    )


def test_what_no_session_can_mend_is_told_for_good() -> None:
    lines = [
        {**one("a", 1, 2, ["w", "kv", 7, 3]), "session": "x"},
        {**one("c", 5, 6, ["r", "kv", 7, 4]), "session": "x"},
        {**one("b", 3, 4, ["w", "kv", 8, 4]), "session": "y"},
    ]
    watching = _sessions(2)
    told = [event for line in lines for event in (*_added(watching, line), *watching.due())]
    # what y may still send commits at 4 or later
    assert not told and watching.status()["watermark"] == 4
    assert not [*_added(watching, {**one("d", 5, 7, ["w", "kv", 8, 5]), "session": "y"})]
    (final,) = watching.due()
    assert (final["axiom"], final["transaction"], final["final"]) == ("EXT", "c", True)
    assert not [*watching.closed()] and watching.ledger.count() == 1
    for others in (1, 3):
        # more sessions than were named, or fewer so far
        watching = _sessions(others)
        told = [event for line in lines for event in _added(watching, line)]
        told += _added(watching, {**one("d", 5, 7, ["w", "kv", 8, 5]), "session": "y"})
        assert not [*told, *watching.due()] and watching.status()["watermark"] is None


def test_numbers_are_never_compared_with_commits() -> None:
    lines = [{**one("a", 1, 2), "session": "x"}, {**one("b", 3, 4), "session": "x", "sno": 0}]
    for order in (lines, lines[::-1]):
        watching = judge(read_header(json.dumps(TIMED).encode()), "timestamp-snapshot", lambda: 0.0)
        told = [event["kind"] for line in order for event in _added(watching, line)]
        assert "violation" not in told and not [*watching.closed()]


def _growing(count: int, *late: int) -> list[Json]:
    """Correct transactions on 40 keys, of which some come last."""
    lines = [
        one(
            f"t{at}",
            2 * at,
            2 * at + 1,
            ["r", "kv", 1000 + at % 40, None if at < 40 else at - 40],
            ["w", "kv", 1000 + at % 40, at],
        )
        for at in range(count)
    ]
    return [lines[at] for at in range(count) if at not in late] + [lines[at] for at in late]


@pytest.mark.parametrize(("late", "status"), [((), 0), ((70,), 3)])
def test_what_was_forgotten_is_undecided_where_it_is_needed(late: tuple[int, ...], status: int) -> None:
    code = "import troubadour.watch.following as f; f.RECORDS = 200; from troubadour.cli.main import main; main()"
    lines = text(TIMED, *_growing(2_000, *late))
    command = [COMMAND[0], "-c", code, "watch", "--forget", "--timeout", "0", "-"]
    ended = subprocess.run(command, input=lines, capture_output=True, text=True, check=False)
    told = [json.loads(line) for line in ended.stdout.splitlines()]
    assert ended.returncode == status, ended.stderr
    assert told[-2]["forgotten"] == len(late) and told[-2]["reloaded"] == 0 and told[-2]["settled"] > 40
    if late:
        assert told[-1]["reason"] == "what was forgotten was needed again by so many transactions: 1 (--forget)"
    else:
        assert told[-1]["verdict"] == "correct" and not [one for one in told if one.get("kind") == "violation"]


@pytest.mark.parametrize("key", [str, lambda number: number + 10**6])
def test_what_was_moved_to_disk_is_found_again(key: Callable[[int], Any], tmp_path: Path) -> None:
    rng = random.Random(5)
    held: dict[int, int] = {}
    lines: list[Json] = []
    for at in range(600):
        cell = rng.randrange(40)
        ops = [["r", "kv", key(cell), held.get(cell)]]
        if rng.random() < 0.5:
            held[cell] = at
            ops.append(["w", "kv", key(cell), at])
        lines.append(one(f"t{at}", 2 * at, 2 * at + 1, *ops))
    late = [lines.pop(at) for at in (300, 200, 100)]
    watching = ByTimestamps(
        read_header(json.dumps(TIMED).encode()),
        LEVELS["timestamp-snapshot"],
        Rules(),
        5.0,
        records=100,
        folder=tmp_path,
    )
    for line in [*lines, *late]:
        for _ in _added(watching, line):
            pass
    assert watching.ledger.count() == 0 and watching.status()["settled"] > 40 and watching.status()["reloaded"] > 1
    watching.close()


def test_memory_of_transactions_with_keys_of_their_own_does_not_grow() -> None:
    watching = ByTimestamps(
        read_header(json.dumps(TIMED).encode()), LEVELS["timestamp-snapshot"], Rules(), 5.0, records=2000
    )
    most = 0
    for at in range(4000):
        ops = [["w", "kv", 8 * at + key, at] for key in range(4)]
        if at > 8 and (at - 9) % 3 != 1:
            ops.append(["r", "kv", 8 * (at - 9), at - 9])
        line = {**one(f"t{at}", 2 * at, 2 * at + 1, *ops), "status": "aborted" if at % 3 == 1 else "committed"}
        assert not [*_added(watching, line)]
        most = max(most, watching.ledger.records)
    assert watching.ledger.count() == 0 and most < 6000 and len(watching.ledger.versions) < 2000
    watching.close()


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
    until(lambda: bool(told.extend(audits.look()) or told))
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
    for seed in range(90_000, 90_020):
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
    assert compared > 5


def test_help_is_quick_about_it() -> None:
    ended = subprocess.run([*COMMAND, "watch", "--help"], capture_output=True, text=True, check=True, env=os.environ)
    assert "--resume" in ended.stdout and "--listen" in ended.stdout

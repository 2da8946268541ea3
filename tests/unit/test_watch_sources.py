"""`troubadour watch`: what it follows may be sent, packed, cut or replaced, and it may be killed; what it tells."""

from __future__ import annotations

import gzip
import json
import random
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.patience import PATIENCE, until
from tests.unit.test_timestamps import HEADER, one
from tests.unit.watching import Json, Start, finished, is_noted, started

TIMED = {**HEADER, "isolation": "timestamp-snapshot"}
LINES: list[Json] = [
    TIMED,
    one("a", 1, 2, ["w", "kv", 7, 3]),
    one("b", 3, 4, ["w", "kv", 7, 4]),
    one("c", 5, 6, ["r", "kv", 7, 4], ["w", "kv", 7, 5]),
    one("d", 7, 8, ["r", "kv", 7, 5]),
]
WRONG = one("e", 9, 10, ["r", "kv", 7, 4])


def text(*lines: Json) -> str:
    return "".join(json.dumps(line) + "\n" for line in lines)


def end(count: int) -> Json:
    return {"kind": "end", "transactions": count}


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    with started(tmp_path) as begin:
        yield begin


def first(process: subprocess.Popen[str]) -> Json:
    assert process.stdout is not None
    told: Json = json.loads(process.stdout.readline())
    return told


def sent(port: int, request: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as connection:
        connection.sendall(request)
        return b"".join(iter(lambda: connection.recv(1 << 16), b""))


def chunked(body: bytes, size: int) -> bytes:
    parts = [body[at : at + size] for at in range(0, len(body), size)]
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in [*parts, b""])
    return b"POST /check HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks


def killed_once_noted(start: Start, path: Path, state: Path) -> None:
    """Follow a file until what it has is noted, and kill what follows it."""
    process = start(str(path), "--resume", state.name)
    until(lambda: is_noted(state))
    process.kill()
    process.wait()


def test_an_end_line_that_is_sent_ends_it_and_chunks_are_read(start: Start) -> None:
    process = start("--listen", "0")
    port = first(process)["listening"]
    assert sent(port, chunked(text(*LINES[:3]).encode(), 50)).startswith(b"HTTP/1.1 200")
    assert sent(port, chunked(b"{}", 2).replace(b"2\r\n", b"z\r\n")).startswith(b"HTTP/1.1 400")
    packed = gzip.compress(text(*LINES[3:], end(4)).encode())
    head = b"POST / HTTP/1.1\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed)
    assert sent(port, head + packed).startswith(b"HTTP/1.1 200")
    status, told = finished(process)
    assert status == 0 and told[-1]["transactions"]["total"] == 4


def test_a_request_just_before_the_end_is_taken_or_not_answered(start: Start) -> None:
    process = start("--listen", "0")
    port = first(process)["listening"]
    taken, at = 0, 0
    sent(port, chunked(text(TIMED).encode(), 999))
    for at in range(60):
        if at == 40:
            process.send_signal(signal.SIGTERM)
        try:
            answer = sent(port, chunked(text(one(f"t{at}", 2 * at, 2 * at + 1, ["r", "kv", at, None])).encode(), 999))
        except OSError:
            break
        taken += answer.startswith(b"HTTP/1.1 200")
    status, told = finished(process)
    assert status == 0 and told[-1]["transactions"]["total"] == taken >= 40


def test_a_packed_log_goes_on_where_it_was_killed(tmp_path: Path, start: Start) -> None:
    path = tmp_path / "log.jsonl.gz"
    path.write_bytes(gzip.compress(text(*LINES[:3]).encode()))
    killed_once_noted(start, path, tmp_path / "state")
    with path.open("ab") as file:
        file.write(gzip.compress(text(*LINES[3:], end(4)).encode()))
    status, told = finished(start(str(path), "--resume", "state"))
    assert status == 0 and told[-1]["transactions"]["total"] == 4


def test_a_log_that_is_cut_and_written_on_without_a_header(tmp_path: Path, start: Start) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(text(*LINES[:4]))
    process = start(str(path), "--spill", "copy")
    until(lambda: (tmp_path / "copy" / "00000.jsonl").exists())
    path.write_text(text(LINES[4], end(4)))
    status, told = finished(process)
    assert status == 0 and told[-1]["transactions"]["total"] == 4


def test_a_log_that_was_replaced_while_nothing_followed_it(tmp_path: Path, start: Start) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(text(*LINES[:3]))
    killed_once_noted(start, path, tmp_path / "state")
    with path.open("a") as file:
        file.write(text(LINES[3]))
    path.rename(tmp_path / "log.jsonl.1")
    path.write_text(text(TIMED, LINES[4], end(1)))
    status, told = finished(start(str(path), "--resume", "state"))
    assert status == 0 and told[-1]["transactions"]["total"] == 4
    (tmp_path / "state").write_bytes(b'{"places":[],"sizes":')
    ended = start(str(path), "--resume", "state", stderr=subprocess.PIPE)
    assert finished(ended)[0] == 2


def test_a_copy_that_was_begun_and_not_noted_is_begun_anew(tmp_path: Path, start: Start) -> None:
    """As after a kill between the copy of a file's first lines and the next note."""
    path = tmp_path / "log.jsonl"
    path.write_text(text(*LINES[:3]))
    killed_once_noted(start, path, tmp_path / "state")
    path.rename(tmp_path / "log.jsonl.1")
    path.write_text(text(TIMED, *LINES[3:], end(2)))
    (tmp_path / "state.d" / "00001.jsonl").write_text(text(TIMED, LINES[3]) + '{"id": "d", "sta')
    status, told = finished(start(str(path), "--resume", "state"))
    assert status == 0 and told[-1]["transactions"]["total"] == 4


def test_a_log_that_was_cut_before_a_kill_is_written_on_without_a_header(tmp_path: Path, start: Start) -> None:
    path, state = tmp_path / "log.jsonl", tmp_path / "state"
    path.write_text(text(*LINES[:3]))
    process = start(str(path), "--resume", "state")
    until(lambda: is_noted(state))
    path.write_text("")
    until(lambda: not any(one["offset"] for one in json.loads(state.read_bytes())["places"]))
    process.kill()
    process.wait()
    path.write_text(text(*LINES[3:], end(4)))
    status, told = finished(start(str(path), "--resume", "state"))
    assert status == 0 and told[-1]["transactions"]["total"] == 4


def test_metrics_and_a_command_that_is_told(tmp_path: Path, start: Start) -> None:
    path, told_to = tmp_path / "log.jsonl", tmp_path / "told"
    path.write_text(text(*LINES, WRONG))
    process = start(
        str(path), "--metrics", "0", "--timeout", "0", "--no-flips", "--on-violation", f"cat >> {told_to}; exit 3",
        stderr=subprocess.PIPE,
    )  # fmt: skip
    port = first(process)["metrics"]
    url = f"http://127.0.0.1:{port}/metrics"

    def metrics() -> str:
        with urllib.request.urlopen(url) as answer:
            assert answer.headers["Content-Type"].startswith("text/plain")
            return str(answer.read().decode())

    until(lambda: "\ntroubadour_transactions_total 5\n" in metrics())
    assert "\n# TYPE troubadour_violations gauge\ntroubadour_violations 1\n" in metrics()
    assert all(line.startswith(("#", "troubadour_")) for line in metrics().splitlines())
    with path.open("a") as file:
        file.write(text(end(5)))
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1 and "ended with status 3" in err
    lines = [json.loads(line) for line in told_to.read_text().splitlines()]
    assert [line.get("kind") for line in lines] == ["violation", None]
    assert lines[0]["transaction"] == "e" and lines[1] == json.loads(out.splitlines()[-1])


def test_a_message_about_the_log_names_it_and_its_line(tmp_path: Path, start: Start) -> None:
    path = tmp_path / "log.jsonl"
    repeated = [
        {**one("x", 11, 12, ["w", "kv", 1, 1]), "session": "s", "sno": 4},
        {**one("y", 13, 14, ["w", "kv", 1, 2]), "session": "s", "sno": 4},
    ]
    header = {**TIMED, "isolation": "snapshot"}
    path.write_text(text(header, LINES[1]) + "\n" + text(*repeated, end(3)))
    process = start(str(path), stderr=subprocess.PIPE)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2
    assert f"{path}:5: transaction 'y': a repeated sno" in err


def _is_noted(state: Path, offset: int) -> bool:
    return state.exists() and b'"offset":%d,' % offset in state.read_bytes()


def killed(folder: Path, start: Start, moments: int, each: int, seed: int) -> None:
    """The verdict is the same wherever a run is killed, with a wrong read, and no run takes more than a tenth of the
    lines once more, or 2,000."""
    rng = random.Random(seed)
    count = moments * each
    lines = [one(f"t{at}", 2 * at, 2 * at + 1, ["w", "kv", at % 5, at]) for at in range(1, count)]
    lines.append(one("last", 2 * count, 2 * count + 1, ["r", "kv", 1, 1]))
    path = folder / "log.jsonl"
    path.write_text(text(TIMED))
    for moment in range(moments):
        process = start(str(path), "--resume", "state", "--timeout", "0")
        begun = first(process)
        assert begun.get("again", 0) <= max(2_000, 0.1 * moment * each), (moment, begun)
        with path.open("a") as file:
            file.write(text(*lines[moment * each : (moment + 1) * each]))
        if rng.random() < 0.8:
            until(partial(_is_noted, folder / "state", path.stat().st_size))
        time.sleep(rng.random() * 1.2)
        process.kill()
        process.wait()
    with path.open("a") as file:
        file.write(text(end(count)))
    status, told = finished(start(str(path), "--resume", "state"), 600)
    assert status == 1 and told[-1]["failing_transaction"] == "last" and told[-1]["transactions"]["total"] == count
    assert not (folder / "state").exists() and not [*(folder / "state.d").glob("settled*")]


def test_killed_at_some_moments(tmp_path: Path, start: Start) -> None:
    killed(tmp_path, start, 3, 3_000, 1)


def test_no_line_of_statements_is_taken_again(tmp_path: Path, start: Start) -> None:
    path, other = tmp_path / "log.jsonl", tmp_path / "other.jsonl"
    header = {"format": "troubadour-log", "version": 1, "dialect": "sqlite", "isolation": "serializable"}
    schema = {**header, "schema": ["CREATE TABLE t (id INT PRIMARY KEY)"]}
    read = {"sql": "SELECT id FROM t WHERE id < 3", "result": {"columns": ["id"], "rows": []}}
    lines = [{"id": at, "status": "committed", "statements": [read]} for at in range(40)]
    path.write_text(text(schema, *lines[:20]) + "no line\n" + text(*lines[20:30]))
    other.write_text(text({**schema, "segment": "other"}, {"id": "o", "status": "committed", "statements": []}, end(1)))
    process = start(str(path), str(other), "--resume", "state")
    until(partial(_is_noted, tmp_path / "state", path.stat().st_size))
    until(partial(_is_noted, tmp_path / "state", other.stat().st_size))
    process.kill()
    process.wait()
    with path.open("a") as file:
        file.write(text(*lines[30:]) + text({"id": 7, "status": "committed", "statements": []}))
    process = start(str(path), str(other), "--resume", "state")
    begun = first(process)
    assert (begun["again"], begun["transactions"], begun["bad"]) == (0, 31, 1)
    process.kill()
    process.wait()
    path.write_bytes(path.read_bytes()[: path.read_bytes().rindex(b'{"id": 7')] + text(end(40)).encode())
    status, told = finished(start(str(path), str(other), "--resume", "state"), 600)
    assert (status, told[-1]["transactions"]["total"]) == (2, 41)


@pytest.mark.slow
def test_killed_at_fifty_moments(tmp_path: Path, start: Start) -> None:
    killed(tmp_path, start, 50, 2_500, 2)

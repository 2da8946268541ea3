"""`audit --jobs N`: a log whose parts between checkpoints are judged apart comes to what it comes to as a whole."""

from __future__ import annotations

import contextlib
import gc
import io
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.property.test_straight import bank_log
from tests.property.test_streamed import as_stream, parts, store
from troubadour.audit.streamed.apart import judged_apart
from troubadour.audit.streamed.judge import Streaming
from troubadour.cli.auditing.streaming import LEAST
from troubadour.cli.main import cli
from troubadour.execution.free.values import json_of
from troubadour.formats.streaming.parts import parts_of
from troubadour.formats.streaming.settled import Settled
from troubadour.formats.streaming.stream import Stream, Unstreamed
from troubadour.model.verdict import Verdict

LEVELS = ["serializable", "strict-serializable", "snapshot"]
TABLES = {"owners": ["id"], "accounts": ["id", "owner", "balance", "name"]}


def checkpoint(rows: dict[str, list[Any]], at: int, place: int) -> bytes:
    """A transaction that read all rows of all tables behind the transaction at a place."""
    statements = [
        {
            "sql": f"SELECT {', '.join(columns)} FROM {table} ORDER BY id",
            "result": {"columns": columns, "rows": [list(map(json_of, row)) for row in sorted(rows[table])]},
        }
        for table, columns in TABLES.items()
    ]
    times = {"commit": 10 * at + 1, "invoked": 100 * at + 70, "returned": 100 * at + 90}
    line = {"kind": "checkpoint", "id": f"c{place}", "status": "committed", **times, "statements": statements}
    return json.dumps(line).encode() + b"\n"


def with_checkpoints(path: Path, seed: int, transactions: int = 120, sessions: int = 1) -> list[bytes]:
    """Write a log with some checkpoints; its lines."""
    store(path, bank_log(seed, transactions=transactions, sessions=sessions))
    begun, lines, ended = parts(path)
    rng = random.Random(seed)
    found = list(begun)
    last = 0
    for place in [*sorted(rng.sample(range(20, transactions - 10), 4)), len(lines)]:
        found += lines[last:place]
        if place < len(lines):
            streaming = Streaming(Stream(io.BytesIO(b"".join([*begun, *lines[:place]]))), Settled(), "serializable")
            streaming.through(lambda: None)
            found.append(checkpoint(streaming.run.rows, place - 1, place))
        last = place
    found += [b'{"kind": "end", "transactions": %d}\n' % (len(lines) + 4)] if ended else []
    path.write_bytes(b"".join(found))
    return found


def apart(path: Path, level: str, jobs: int = 2) -> tuple[Any, ...] | str:
    """What the parts of a log come to; why they come to nothing."""
    with path.open("rb") as file:
        header = Stream(file).header
    found = parts_of(path, 1000)
    assert len(found) == 5
    try:
        counts, levels, settled = judged_apart(path, header, level, found, jobs, lambda: None)
    except Unstreamed as error:
        return str(error)
    return counts.total, counts.committed, counts.statements, counts.observed, levels, list(settled.judged())


@pytest.mark.parametrize("level", LEVELS)
def test_parts_come_to_what_the_whole_comes_to(level: str, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    for seed in range(2):
        with_checkpoints(path, LEVELS.index(level) + 10 * seed)
        whole = as_stream(path.read_bytes(), level)
        assert isinstance(whole, Verdict)
        assert whole.witness is not None
        assert whole.coverage is not None
        counts = whole.total, whole.committed, whole.coverage.statements, whole.coverage.observed
        assert apart(path, level) == (*counts, (level,), list(whole.witness.order))


def read_otherwise(lines: list[bytes]) -> None:
    """A checkpoint has another name in a row."""
    place = next(place for place, line in enumerate(lines) if b'"checkpoint"' in line)
    assert b'"n1"' in lines[place]
    lines[place] = lines[place].replace(b'"n1"', b'"n777"')


def lack_a_row(lines: list[bytes]) -> None:
    """All checkpoints lack an owner."""
    lines[:] = [line.replace(b'"rows": [[1]]', b'"rows": []') if b'"checkpoint"' in line else line for line in lines]


def come_twice(lines: list[bytes]) -> None:
    """An id comes again in another part."""
    place = next(place for place, line in enumerate(lines) if b'"statements"' in line)
    lines[place] = json.dumps({**json.loads(lines[place]), "id": 110}).encode() + b"\n"


def overlap(lines: list[bytes]) -> None:
    """A transaction began before the checkpoint in front of it."""
    place = next(place for place, line in enumerate(lines) if b'"checkpoint"' in line) + 1
    one = json.loads(lines[place])
    lines[place] = json.dumps({**one, "invoked": one["invoked"] - 90}).encode() + b"\n"


def count_otherwise(lines: list[bytes]) -> None:
    """The end counts one transaction more."""
    lines[-1] = b'{"kind": "end", "transactions": 125}\n'


def read_in_part(lines: list[bytes]) -> None:
    """A checkpoint does not read whole tables."""
    lines[:] = [line.replace(b"FROM owners ORDER", b"FROM owners WHERE id > 0 ORDER") for line in lines]


def end_early(lines: list[bytes]) -> None:
    """There is an end in front of the last part."""
    place = next(place for place, line in enumerate(lines) if b'"checkpoint"' in line)
    lines.insert(place, b'{"kind": "end", "transactions": %d}\n' % (place - 3))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (read_otherwise, ""),
        (lack_a_row, ""),
        (come_twice, "an id that comes twice"),
        (overlap, "overlap a checkpoint"),
        (count_otherwise, "an end that counts otherwise"),
        (read_in_part, "does not read whole tables"),
        (end_early, "end"),
    ],
)
def test_parts_that_do_not_fit_come_to_nothing(change: Callable[[list[bytes]], None], why: str, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    lines = with_checkpoints(path, 5)
    assert not isinstance(apart(path, "strict-serializable"), str)
    change(lines)
    path.write_bytes(b"".join(lines))
    found = apart(path, "strict-serializable")
    assert isinstance(found, str), change.__doc__
    assert why in found


class Mine:
    """What must not be given back in another process than its own, as a database of DuckDB."""

    def __init__(self) -> None:
        self.itself, self.process = self, os.getpid()

    def __del__(self) -> None:
        if os.getpid() != self.process:
            os._exit(1)


@contextlib.contextmanager
def collected() -> Iterator[None]:
    gc.collect()
    yield


def test_garbage_of_the_process_is_not_given_back_in_those_of_the_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log.jsonl"
    with_checkpoints(path, 5)
    monkeypatch.setattr("troubadour.audit.streamed.apart.rarely_collected", collected)
    gc.disable()
    try:
        Mine()
        assert not isinstance(apart(path, "strict-serializable"), str)
    finally:
        gc.enable()


def test_the_order_of_a_session_goes_on_from_part_to_part(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    row = {"columns": ["v"], "rows": [[1]]}

    def line(id: str, returned: int, statement: dict[str, Any], **more: str) -> bytes:
        one = {"id": id, "status": "committed", "session": "a", "returned": returned, "statements": [statement]}
        return json.dumps({**more, **one}).encode() + b"\n"

    header = {
        "format": "troubadour-log",
        "version": 1,
        "dialect": "postgres",
        "schema": ["CREATE TABLE t (v INT)"],
        "initial": {"t": {"columns": ["v"], "rows": [[0]]}},
    }
    begun = [
        json.dumps(header).encode() + b"\n",
        line("write", 50, {"sql": "UPDATE t SET v = 1", "affected": 1}),
        line("whole", 60, {"sql": "SELECT v FROM t", "result": row}, kind="checkpoint"),
    ]
    for level, late, known in (("snapshot", 20, True), ("session-snapshot", 70, True), ("session-snapshot", 20, False)):
        path.write_bytes(b"".join([*begun, line("read", late, {"sql": "SELECT v FROM t", "result": row})]))
        with path.open("rb") as file:
            header_read = Stream(file).header
        found = parts_of(path, 10)
        assert len(found) == 2
        if known:
            assert judged_apart(path, header_read, level, found, 2, lambda: None)[0].total == 3
        else:
            with pytest.raises(Unstreamed, match="an order of sessions"):
                judged_apart(path, header_read, level, found, 2, lambda: None)


# --- the command ------------------------------------------------------------------------------------------------------


def padded(path: Path, lines: list[bytes]) -> None:
    """Write a log that is read as a stream for its size."""
    path.write_bytes(lines[0].rstrip(b"\n") + b" " * LEAST + b"\n" + b"".join(lines[1:]))


def audited(path: Path, *more: str) -> tuple[int, dict[str, Any], str]:
    result = CliRunner().invoke(
        cli, ["audit", str(path), "--isolation", "strict-serializable", "--format", "json", *more]
    )
    found = json.loads(result.stdout)
    return result.exit_code, {**found, "seconds": 0, "notes": []}, result.stderr


def test_the_command_says_the_same_with_many_processes(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    padded(log, with_checkpoints(log, 7))
    witnesses = [tmp_path / "one", tmp_path / "two"]
    one = audited(log, "--witness", str(witnesses[0]))
    assert (one[0], one[2]) == (0, "")
    assert audited(log, "--witness", str(witnesses[1]), "--jobs", "2") == one
    assert witnesses[0].read_bytes() == witnesses[1].read_bytes()
    assert CliRunner().invoke(cli, ["verify", str(log), str(witnesses[1])]).exit_code == 0


@pytest.mark.slow
def test_a_checkpoint_that_is_wrong_is_a_violation_with_any_number_of_processes(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    lines = with_checkpoints(log, 5, transactions=40)
    read_otherwise(lines)
    padded(log, lines)
    one, two = audited(log), audited(log, "--jobs", "2")
    assert one[0] == 1
    assert str(one[1]["failing_transaction"]).startswith("c")
    assert two[:2] == one[:2]
    assert two[2].startswith("troubadour: --jobs: one process judges all: ")


@pytest.mark.parametrize("short", [False, True])
def test_a_log_that_cannot_be_cut_is_judged_by_one_process(short: bool, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    store(log, bank_log(2))
    if not short:
        padded(log, log.read_bytes().splitlines(keepends=True))
    one, two = audited(log), audited(log, "--jobs", "2")
    assert two[:2] == one[:2]
    assert ("it is short" if short else "no checkpoint") in two[2]


def test_several_processes_are_not_held_to_a_limit_of_memory(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    padded(log, with_checkpoints(log, 7))
    command = [sys.executable, "-c", "from troubadour.cli.main import main; main()", "audit", str(log)]
    ended = subprocess.run([*command, "--memory", "900", "--jobs", "2"], capture_output=True, check=False)
    assert ended.returncode == 0
    assert b"--jobs: one process judges all: that of several is not held to --memory" in ended.stderr

"""`audit --resume FILE`: an audit that was ended goes on where it was, and comes to the same verdict and witness."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

from benchmarks.figures import bank
from tests.property.test_straight import bank_log
from tests.property.test_streamed import Pieces, store
from troubadour.audit.driver import Options
from troubadour.audit.streamed.judge import Streaming
from troubadour.audit.streamed.state import Resumable, State
from troubadour.cli.auditing.streaming import LEAST, Going, as_stream
from troubadour.cli.main import cli
from troubadour.formats.streaming.stream import Stream, Unresumable
from troubadour.model.verdict import Verdict

MAIN = "from troubadour.cli.main import main; main()"
COMMAND = [sys.executable, "-c", MAIN, "audit", "--format", "json"]
LEVEL = "postgres:repeatable-read"


def audited(text: bytes, folder: Path, level: str, until: int | None) -> Verdict | None:
    """Judge a log, as far as so many batches; the verdict, where it came to one."""
    resumable = Resumable(folder / "state", level, print, least=0, share=1e9)
    state = resumable.state
    stream = Stream(Pieces(text), None if state is None else state.position)
    settled = resumable.settled()
    streaming = Streaming(stream, settled, level, None if state is None else state.counts)
    resumable.restore(streaming)
    left = [until]

    def noted() -> None:
        if left[0] is not None:
            left[0] -= 1
            if left[0] < 0:
                raise KeyboardInterrupt
        resumable.note(stream, settled, streaming)

    try:
        streaming.through(noted)
    except KeyboardInterrupt:
        return None
    verdict = streaming.verdict(minimum=0, unobserved=False)
    assert verdict.witness is not None
    order = list(verdict.witness.order)
    resumable.done()
    return msgspec.structs.replace(verdict, witness=msgspec.structs.replace(verdict.witness, order=order))


@pytest.mark.parametrize("level", ["serializable", "snapshot", "postgres:serializable"])
def test_it_goes_on_from_any_batch(level: str, tmp_path: Path) -> None:
    rng = random.Random(level)
    log = tmp_path / "log.jsonl"
    store(log, bank_log(3, transactions=700))
    text = log.read_bytes()
    whole = audited(text, tmp_path, level, None)
    assert whole is not None
    for _ in range(2):
        verdict = None
        for _ in range(100):
            verdict = audited(text, tmp_path, level, rng.randrange(4, 25))
            if verdict is not None:
                break
        assert verdict is not None
        told = [msgspec.structs.replace(one, seconds=0.0, witness=None) for one in (verdict, whole)]
        assert told[0] == told[1]
        assert verdict.witness is not None
        assert whole.witness is not None
        assert verdict.witness.order == whole.witness.order
        assert verdict.witness.log == whole.witness.log
        assert len(verdict.witness.views) == len(whole.witness.views)
        assert not (tmp_path / "state").exists()


def large(path: Path, transactions: int) -> None:
    """A log that is read as a stream."""
    path.write_text("".join(json.dumps(line) + "\n" for line in bank(transactions)))


def told(out: bytes | str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(out)
    return {**found, "seconds": 0}


ENDED = f"""
import os, signal, sys
from troubadour.audit.streamed.state import Resumable
part, size = float(sys.argv.pop(1)), int(sys.argv.pop(1))
note = Resumable.note
Resumable.__init__.__kwdefaults__["least"] = 0
def noted(self, stream, *more):
    note(self, stream, *more)
    if stream.position().read >= part * size:
        os.killpg(0, signal.SIGKILL)
Resumable.note = noted
{MAIN}
"""
"""The command, whose processes kill themselves once such a part of the log was judged and noted."""


def killed_at(part: float, log: Path, arguments: list[str | Path]) -> None:
    """Run the command on a log until it kills itself."""
    command = [sys.executable, "-c", ENDED, str(part), str(log.stat().st_size), *arguments]
    ended = subprocess.run(command, stdout=subprocess.DEVNULL, start_new_session=True, check=False)
    assert ended.returncode == -signal.SIGKILL


def going_on(log: Path) -> tuple[list[str | Path], Callable[[], None]]:
    """The arguments of an audit that can be gone on with; and what looks whether it comes to what one comes to that
    was not ended."""
    folder = log.parent
    whole = ["audit", "--format", "json", log, "--isolation", LEVEL, "--witness", folder / "w"]
    reference = subprocess.run([*COMMAND[:3], *whole], capture_output=True, check=False)
    assert reference.returncode == 0, reference.stderr
    witness = (folder / "w").read_bytes()
    arguments = [*whole, "--resume", folder / "state"]

    def as_whole() -> None:
        second = subprocess.run([*COMMAND[:3], *arguments], capture_output=True, check=False)
        assert (second.returncode, second.stderr) == (0, b"")
        assert told(second.stdout) == told(reference.stdout)
        assert (folder / "w").read_bytes() == witness
        assert not (folder / "state").exists()

    return arguments, as_whole


def test_it_goes_on_after_a_kill(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    large(log, 8_000)
    arguments, as_whole = going_on(log)
    killed_at(0.3, log, arguments)
    state = msgspec.json.decode((tmp_path / "state").read_bytes(), type=State)
    assert 0.3 * log.stat().st_size <= state.position.read < log.stat().st_size
    as_whole()


@pytest.mark.slow
def test_it_goes_on_after_many_kills(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    large(log, 60_000)
    arguments, as_whole = going_on(log)
    rng, killed = random.Random(3), 0
    for _ in range(50):
        running = subprocess.Popen([*COMMAND[:3], *arguments], stdout=subprocess.DEVNULL)
        try:
            running.wait(timeout=rng.random() * 3)
        except subprocess.TimeoutExpired:
            running.kill()
            running.wait()
            killed += 1
            as_whole()
    assert killed


def test_the_audit_at_the_end_of_watch_goes_on_after_a_kill(tmp_path: Path) -> None:
    log, noted = tmp_path / "log.jsonl", tmp_path / "state.audit"
    large(log, 8_000)
    with log.open("a") as file:
        print('{"kind": "end", "transactions": 8000}', file=file)
    arguments = ["watch", log, "--isolation", LEVEL, "--resume", tmp_path / "state"]
    killed_at(0.5, log, arguments)
    position = msgspec.json.decode(noted.read_bytes(), type=State).position
    assert position.transactions > 0
    second = subprocess.run([*COMMAND[:3], *arguments], capture_output=True, check=False)
    assert (second.returncode, second.stderr) == (0, b"")
    last = json.loads(second.stdout.splitlines()[-1])
    assert (last["verdict"], last["verified_prefix"]) == ("correct", 8_000)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log.jsonl", "state.d"]


@pytest.mark.parametrize("text", ["", "something else"])
def test_what_nobody_asked_for_is_begun_anew_silently(text: str, ended: tuple[Path, Path], tmp_path: Path) -> None:
    state = copied(ended[1], tmp_path)
    state.write_text(text)
    found = as_stream(
        str(ended[0]), "serializable", Options, Going(state, silent=True), lambda *told: None, stats=False
    )
    assert found.verdict is None
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith("state")]


def test_ids_have_to_be_as_many_as_the_state_counts(ended: tuple[Path, Path], tmp_path: Path) -> None:
    state = copied(ended[1], tmp_path)
    kept = json.loads(state.read_bytes())
    kept["settled"] = 0
    state.write_text(json.dumps(kept))
    refused(resumed(ended[0], state, "--isolation", "serializable"), "state.ids is gone, or is not of it")


# --- what cannot be gone on with --------------------------------------------------------------------------------------


def resumed(log: Path, state: Path, *more: str) -> Result:
    return CliRunner().invoke(cli, ["audit", str(log), "--resume", str(state), "--quiet", *more])


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A log, and the state of an audit of it that was ended."""
    folder = tmp_path_factory.mktemp("ended")
    log = folder / "log.jsonl"
    large(log, 4_000)
    assert audited(log.read_bytes(), folder, "serializable", 150) is None
    assert (folder / "state").exists()
    return log, folder / "state"


def copied(state: Path, folder: Path) -> Path:
    for path in (state, state.with_name("state.ids")):
        (folder / path.name).write_bytes(path.read_bytes())
    return folder / "state"


def refused(result: Result, why: str) -> None:
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("troubadour: --resume: ")
    assert why in result.stderr
    assert result.stderr.count("\n") == 1


def test_it_goes_on_with_the_file_and_takes_it_away(ended: tuple[Path, Path], tmp_path: Path) -> None:
    log, state = ended[0], copied(ended[1], tmp_path)
    result = resumed(log, state, "--isolation", "serializable")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "CORRECT at serializable\n", "")
    assert not state.exists()
    assert not state.with_name("state.ids").exists()


def test_another_level_is_refused(ended: tuple[Path, Path], tmp_path: Path) -> None:
    state = copied(ended[1], tmp_path)
    refused(resumed(ended[0], state, "--isolation", "snapshot"), "it is of an audit at serializable")
    assert state.exists()


@pytest.mark.parametrize("change", ["another", "shorter", "spoilt"])
def test_another_log_is_refused(change: str, ended: tuple[Path, Path], tmp_path: Path) -> None:
    state, log = copied(ended[1], tmp_path), tmp_path / "log.jsonl"
    text = ended[0].read_bytes()
    if change == "spoilt":
        text = text.replace(b'"id": 7,', b'"id": 9999999,')
    elif change == "shorter":
        text = text[:50_000]
    else:
        text = text.replace(b"balance", b"credits")
    log.write_bytes(text + b"\n" * (1 << 20))
    refused(resumed(log, state, "--isolation", "serializable"), "the log does not begin with what was audited then")


def test_a_log_that_has_grown_goes_on(ended: tuple[Path, Path], tmp_path: Path) -> None:
    state, log = copied(ended[1], tmp_path), tmp_path / "log.jsonl"
    more = '{"id": "more", "status": "committed", "start": 9999990, "commit": 9999999, "statements": []}\n'
    log.write_bytes(ended[0].read_bytes() + more.encode())
    assert resumed(log, state, "--isolation", "serializable").exit_code == 0


@pytest.mark.parametrize("text", ["", "{}", "something of the user's", '{"format": "troubadour-log", "version": 1}'])
def test_a_file_of_another_kind_is_refused_and_left_as_it_is(
    text: str, ended: tuple[Path, Path], tmp_path: Path
) -> None:
    state = tmp_path / "state"
    state.write_text(text)
    refused(resumed(ended[0], state, "--isolation", "serializable"), "it is no state of an audit, and is left as it is")
    assert state.read_text() == text


def test_ids_that_are_gone_are_told(ended: tuple[Path, Path], tmp_path: Path) -> None:
    state = copied(ended[1], tmp_path)
    state.with_name("state.ids").unlink()
    refused(resumed(ended[0], state, "--isolation", "serializable"), "state.ids is gone, or is not of it")


def test_the_state_of_another_version_is_begun_anew(ended: tuple[Path, Path], tmp_path: Path) -> None:
    state = copied(ended[1], tmp_path)
    kept = json.loads(state.read_bytes())
    state.write_text(json.dumps({**kept, "by": "0.0.1", "run": None}))
    result = resumed(ended[0], state, "--isolation", "serializable")
    assert (result.exit_code, result.stdout) == (0, "CORRECT at serializable\n")
    assert result.stderr == "troubadour: --resume: the state is of version 0.0.1: the audit begins anew\n"


def test_the_log_is_no_place_for_the_state(ended: tuple[Path, Path]) -> None:
    refused(resumed(ended[0], ended[0]), "is the log, or the witness")


@pytest.mark.parametrize("name", ["run.ids", "run.part"])
def test_nor_is_it_one_for_what_is_written_beside_the_state(
    name: str, ended: tuple[Path, Path], tmp_path: Path
) -> None:
    log = tmp_path / name
    log.write_bytes(ended[0].read_bytes())
    refused(resumed(log, tmp_path / "run"), "is the log, or the witness")
    assert log.read_bytes() == ended[0].read_bytes()
    refused(resumed(ended[0], tmp_path / "run", "--witness", str(log)), "is the log, or the witness")


def test_what_cannot_be_resumed_is_told(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    store(log, bank_log(3))
    result = resumed(log, tmp_path / "state")
    assert (result.exit_code, result.stdout) == (0, "CORRECT at serializable\n")
    assert "no step of this audit can be resumed (it is short)" in result.stderr
    assert not (tmp_path / "state").exists()


def test_the_rows_of_a_state_are_those_of_the_log(ended: tuple[Path, Path], tmp_path: Path) -> None:
    state = copied(ended[1], tmp_path)
    kept = json.loads(state.read_bytes())
    kept["run"]["tables"] = []
    state.write_text(json.dumps(kept))
    refused(resumed(ended[0], state, "--isolation", "serializable"), "it is damaged")
    with pytest.raises(Unresumable):
        Resumable(state, "snapshot", print)


def test_a_time_limit_leaves_what_can_be_gone_on_with(tmp_path: Path) -> None:
    log, state = tmp_path / "log.jsonl", tmp_path / "state"
    large(log, 8_000)
    arguments = [*COMMAND, log, "--isolation", LEVEL, "--resume", state]
    for seconds in (1.2, 600):
        ended = subprocess.run([*arguments, "--timeout", str(seconds)], capture_output=True, check=False)
        if ended.returncode == 0:
            break
        assert ended.returncode == 3, ended.stderr
        assert told(ended.stdout)["reason"] == "the time limit was reached"
    assert told(ended.stdout)["verdict"] == "correct"
    assert not state.exists()


@pytest.mark.skipif(sys.platform != "linux", reason="named pipes as Linux has them")
def test_a_named_pipe_is_read_once(tmp_path: Path) -> None:
    log, pipe = tmp_path / "log.jsonl", tmp_path / "pipe"
    store(log, bank_log(3))
    os.mkfifo(pipe)
    writer = subprocess.Popen(["cp", log, pipe])
    result = CliRunner().invoke(cli, ["audit", str(pipe), "--quiet"])
    assert (result.exit_code, result.stdout) == (0, "CORRECT at serializable\n")
    assert writer.wait() == 0


@pytest.mark.parametrize("spoilt", [False, True])
def test_standard_input_is_read_again_where_it_has_to_be(spoilt: bool, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    store(log, bank_log(1, transactions=24, spoilt=spoilt))
    header, *lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(header.rstrip(b"\n") + b" " * LEAST + b"\n" + b"".join(lines))
    runs = [
        CliRunner().invoke(cli, ["audit", str(log), "--format", "json"]),
        CliRunner().invoke(cli, ["audit", "-", "--format", "json"], input=log.read_bytes()),
    ]
    assert runs[0].exit_code == int(spoilt)
    assert runs[0].exit_code == runs[1].exit_code
    assert told(runs[0].stdout) == told(runs[1].stdout)

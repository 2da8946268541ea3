"""Long files of operations: what is read ahead on another core is what one process reads, errors too."""

from __future__ import annotations

import gzip
import json
import random
import subprocess
import sys
from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from troubadour.formats import read, read_either
from troubadour.formats.entries import read_header
from troubadour.formats.objects import ahead, long_keys
from troubadour.formats.objects import read as objects_read
from troubadour.formats.objects.read import COLUMNS, ObjectLogReader
from troubadour.model.beside import Work
from troubadour.model.log import LogError
from troubadour.model.objects import MISSING, ObjectLog
from troubadour.replay.objects import Reading, by_timestamps, check_reading, explains, judge

OBJECTS = {"kv": "register", "l": "list", "s": "set", "c": "counter"}
CHANGES = {"kv": "w", "l": "append", "s": "add", "c": "inc"}


class AtOnce:
    """The work done by this process, when it is asked for."""

    taken = 0

    def __init__(self, work: Work) -> None:
        self.work = work

    def found(self) -> list[bytes] | None:
        AtOnce.taken += 1
        return list(self.work())

    def end(self) -> None:
        """Nothing is left."""


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    AtOnce.taken = 0
    monkeypatch.setattr(read, "LONG", 0)
    monkeypatch.setattr(ahead, "Beside", AtOnce)
    monkeypatch.setattr(ahead, "is_allowed", lambda: True)


def lines_of(rng: random.Random, count: int) -> list[dict[str, Any]]:
    def value() -> int | str:
        return rng.choice([rng.randrange(5), f"v{rng.randrange(5)}"])

    def operation(name: str) -> list[Any]:
        number, key = rng.randrange(9), value()
        if rng.random() < 0.5:
            return [CHANGES[name], name, key, number if name == "c" else value()]
        shown = [value() for _ in range(rng.randrange(3))]
        return ["r", name, key, rng.choice([value(), None]) if name == "kv" else number if name == "c" else shown]

    lines = []
    for number in range(count):
        line: dict[str, Any] = {"id": number if rng.random() < 0.5 else f"t{number}", "status": "committed"}
        line["ops"] = [operation(rng.choice([*OBJECTS])) for _ in range(rng.randrange(5))]
        line["session"] = rng.choice([1, "1", "b"]) if number < count // 2 else rng.choice(["b", "c", 2])
        line["sno"] = number
        if rng.random() < 0.5:
            line["commit"] = rng.randrange(100)
        if rng.random() < 0.2:
            line["clock"] = rng.choice("xy")
        if rng.random() < 0.2:
            line["isolation"] = rng.choice(["serializable", "snapshot"])
        lines.append(line)
    return lines


def text_of(lines: Iterable[object]) -> bytes:
    header = {"format": "troubadour-log", "version": 1, "objects": OBJECTS, "isolation": "snapshot"}
    return b"".join(json.dumps(one).encode() + b"\n" for one in (header, *lines))


def told(path: Path) -> object:
    try:
        log = read_either([path])
    except LogError as error:
        return str(error)
    assert isinstance(log, ObjectLog)
    columns = [[*getattr(log, name)] for name in (*COLUMNS, "order", "first", "kinds", "subjects")]
    operations = [log.operation(at) for at in range(len(log.kinds))]
    return log.digest, log.session_names, log.clock_names, log.level_names, columns, operations


def spoilt(rng: random.Random, lines: list[Any]) -> Iterator[object]:
    """Some lines with something that is not usual in it."""
    at = rng.randrange(len(lines))
    wrong = rng.choice(["", "id", "intent", "open", "big", "unknown", "sno"])
    for number, line in enumerate(lines):
        if number != at:
            yield line
        elif wrong == "id":
            yield {**line, "id": lines[0]["id"], "sno": 10_000}
        elif wrong == "intent":
            yield {**line, "kind": "intent", "status": "unknown"}
            yield line
        elif wrong == "open":
            yield {**line, "ops": [["r", "kv", 1]]}
        elif wrong == "big":
            yield {**line, "ops": [["w", "kv", 2**80, 1]]}
        elif wrong == "unknown":
            yield {**line, "ops": [["w", "nothing", 1, 1]]}
        elif wrong == "sno":
            yield {**line, "session": "b", "sno": 10_000}
            yield {**line, "id": "again", "session": "b", "sno": 10_000}
        else:
            yield line
    if rng.random() < 0.7:
        yield {"kind": "end", "transactions": len(lines) + (wrong == "sno") + (rng.random() < 0.2)}


@pytest.mark.parametrize("seed", range(60))
def test_both_halves_are_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, at_once: None) -> None:
    rng = random.Random(seed)
    path = tmp_path / "log.jsonl"
    text = text_of(spoilt(rng, lines_of(rng, rng.choice([3, 40, 200]))))
    path.write_bytes(text if rng.random() < 0.9 else gzip.compress(text, rng.choice([0, 6])))
    found = told(path)
    monkeypatch.setattr(read, "LONG", 1 << 60)
    assert found == told(path)


def test_usual_lines_are_read_ahead(tmp_path: Path, at_once: None) -> None:
    rng = random.Random(1)
    lines = lines_of(rng, 300)
    path = tmp_path / "log.jsonl"
    path.write_bytes(text_of([*lines, {"kind": "end", "transactions": len(lines)}]))
    taken, add = list[int](), ahead.add

    def noted(reader: ObjectLogReader, other: ObjectLog, number: int) -> bool:
        taken.append(len(other))
        return add(reader, other, number)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ahead, "add", noted)
        told(path)
    assert AtOnce.taken == 1 and 80 < taken[0] < 180


def test_on_another_core(tmp_path: Path) -> None:
    """In a process of its own, without threads."""
    rng = random.Random(2)
    path = tmp_path / "log.jsonl"
    path.write_bytes(text_of(lines_of(rng, 2000)))
    script = (
        "import sys; from troubadour.formats import read; from troubadour.formats.objects import ahead\n"
        "ahead.is_allowed = lambda: True\n"
        "read.LONG = int(sys.argv[2]); taken = []; add = ahead.add\n"
        "ahead.add = lambda *given: taken.append(1) or add(*given)\n"
        "log = read.read_either([sys.argv[1]])\n"
        "print(len(taken), len(log), log.digest, sum(log.keys), sum(log.order), log.session_names)"
    )
    outs = []
    for long in (0, 1 << 60):
        done = subprocess.run(
            [sys.executable, "-c", script, path, str(long)], capture_output=True, text=True, check=True
        )
        outs.append(done.stdout)
    assert outs[0][0] == "1" and outs[1][0] == "0"
    assert outs[0][1:] == outs[1][1:]


def test_a_process_beside_tells_or_does_not() -> None:
    script = (
        "import os, signal, sys\nfrom troubadour.model.beside import Beside\n"
        "def wrong():\n    yield b'a'\n    raise ValueError\n"
        "def killed():\n    yield b'a'\n    os.kill(os.getpid(), signal.SIGKILL)\n"
        "print(Beside(lambda: [b'', b'x' * 3_000_000]).found() == [b'', b'x' * 3_000_000])\n"
        "print(Beside(wrong).found(), Beside(killed).found())\n"
        "waits = Beside(lambda: iter(input, 1)); waits.end(); waits.end()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, input="")
    assert done.stdout == "True\nNone None\n" and not done.stderr


def test_garbage_is_left_to_the_asker() -> None:
    script = (
        "import duckdb, gc\nfrom troubadour.model.beside import Beside\ngc.disable()\n"
        "held = [duckdb.connect()]\nheld[0].execute('SELECT sum(i) FROM range(1000000) t(i)').fetchall()\n"
        "held.append(held)\ndel held\n"  # a circle: only a collection gives it back
        "print(Beside(lambda: [b'a' if gc.collect() >= 0 else b'b']).found())\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[b'a']\n"


@pytest.mark.parametrize("seed", range(40))
def test_parts_beside_are_judged_as_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    rng = random.Random(seed)
    path = tmp_path / "log.jsonl"
    held: dict[Any, Any] = {}
    lines = []
    for number in range(60):
        ops = list[Any]()
        for key in rng.sample(range(8), 4):
            if rng.random() < 0.5:
                ops.append(["w", "kv", key, number])
            else:
                ops.append(["r", "kv", key, held.get(key) if rng.random() < 0.995 else number])
        held |= {key: value for kind, _, key, value in ops if kind == "w"}
        lines.append({"id": number, "status": "committed", "start": 3 * number, "commit": 3 * number + 1, "ops": ops})
    path.write_bytes(text_of(lines))
    log = read_either([path])
    assert isinstance(log, ObjectLog)

    def judged() -> str:
        reading = by_timestamps(log, "timestamp-snapshot")
        assert isinstance(reading, Reading)
        refusal = check_reading(log, reading, "timestamp-snapshot")
        assert explains(log, reading, "timestamp-snapshot") == (refusal is None)
        return str(refusal)

    whole = judged()
    monkeypatch.setattr(judge, "PART", rng.choice([10, 50, 100]))
    apart = judged()
    monkeypatch.setattr(judge, "LONG", 0)
    monkeypatch.setattr(judge, "is_allowed", lambda: True)
    monkeypatch.setattr(judge, "Beside", AtOnce)
    assert whole == apart == judged()
    monkeypatch.setattr(AtOnce, "found", lambda self: None)
    assert whole == judged()


@pytest.mark.parametrize("seed", range(60))
def test_keys_are_found_all_at_once_as_one_by_one(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    rng = random.Random(seed)
    objects, width = rng.choice([1, 3]), rng.choice([4, 10**9])
    subjects, keys = array("H"), array("q")
    for _ in range(rng.randrange(40)):
        subjects.append(rng.randrange(objects))
        keys.append(rng.randrange(-width, width) if rng.random() < 0.5 else rng.randrange(3))
    expected: list[dict[int, None]] = [{} for _ in range(objects)]
    for subject, key in zip(subjects, keys, strict=True):
        expected[subject][key] = None
    monkeypatch.setattr(long_keys, "PART", 3)
    assert long_keys.as_they_come(subjects, keys, objects) == [[*one] for one in expected]


@pytest.mark.parametrize("seed", range(80))
def test_times_of_a_long_log_are_those_of_a_short_one(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    rng = random.Random(seed)
    reader = ObjectLogReader(read_header(text_of([]).splitlines()[0]))
    log, count = reader.log, rng.randrange(1, 12)
    log.ids += range(count)
    log.statuses += bytes(rng.choices(range(3), k=count))
    for column in (log.commits, log.invoked, log.returned, log.end_invoked):
        column.extend(MISSING if rng.random() < 0.4 else rng.randrange(20) for _ in range(count))
    log.sessions.extend(rng.randrange(-1, 2) for _ in range(count))
    log.numbers.extend(rng.choice((MISSING, rng.randrange(3), at)) for at in range(count))
    log.clocks.extend(rng.randrange(2) for _ in range(count))
    found = []
    for long in (1 << 60, 0):
        monkeypatch.setattr(objects_read, "LONG", long)
        found.append((objects_read.times_of(log), reader.numbers_ascend()))
    assert found[0] == found[1]

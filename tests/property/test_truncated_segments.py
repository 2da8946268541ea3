"""Segments that lost something: every prefix, every frame. They can be mended and audited, no transaction that
committed writes is silently missing, and a database that did what it promised is not accused."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from troubadour.cli.auditing.audit import audit
from troubadour.cli.logs.log import log
from troubadour.formats import read_log
from troubadour.record.core.frames import _HEAD, MARK
from troubadour.record.core.journal import Journal
from troubadour.record.core.segments import Captured, create
from troubadour.record.core.tape import Tape, fields

HEADER = {"dialect": "postgres", "isolation": "serializable", "schema": ["CREATE TABLE t (a INT PRIMARY KEY, b INT)"]}
ROWS = [("t", ("a", "b"), [(1, 0), (2, 0)])]


def recorded(path: Path, seed: int, transactions: int) -> bytes:
    """A segment of three sessions on a database that runs one transaction after the other; in the middle of each
    COMMIT others go on, and some answers never come."""
    assert create(path, Captured(HEADER, ROWS))
    journal = Journal(path, "")
    tapes = [Tape(journal, session=name) for name in "abc"]
    draw, rows, time = random.Random(seed), {1: 0, 2: 0}, 1_000_000
    answering: list[tuple[Tape, int]] = []
    for number in range(transactions):
        free = [tape for tape in tapes if tape.current is None]
        if not free or (answering and draw.random() < 0.5):
            tape, sent = answering.pop(0)
            tape.end("committed", sent, time := time + 1000)
            free = [tape]
        tape = draw.choice(free)
        transcript = tape.begin(time := time + 1000)
        key = draw.choice((1, 2))
        seen = b',"result":{"columns":["b"],"rows":[[%d]]}' % rows[key]
        transcript.add(fields({"sql": f"SELECT b FROM t WHERE a = {key}"}), time, time := time + 1000, seen)
        if draw.random() < 0.7:
            rows[key] = number + 100
            text = fields({"sql": f"UPDATE t SET b = {rows[key]} WHERE a = {key}"})
            transcript.add(text, time, time := time + 1000, b',"affected":1')
            transcript.wrote = True
            tape.intend(transcript, time := time + 1000)
            answering.append((tape, time))
        else:
            tape.end("committed", time := time + 1000, time := time + 1000)
    for tape, sent in answering[1:]:
        tape.end("committed", sent, time := time + 1000)
    journal._write([])
    os.close(journal._file.close())
    journal.closed = True
    return path.read_bytes()


def frames(segment: bytes) -> Iterator[tuple[int, int]]:
    """Where each begins and ends."""
    place = segment.index(b"\n" + bytes([MARK])) + 1
    while place < len(segment):
        size = _HEAD.unpack_from(segment, place)[1] + _HEAD.size
        yield place, place + size
        place += size


def judged(path: Path, segment: bytes, known: dict[bytes, int]) -> int:
    """The exit status of an audit of the segment, mended; 2 where not even the header is there."""
    path.write_bytes(segment)
    mended = CliRunner().invoke(log, ["repair", str(path)], catch_exceptions=False)
    path.with_name(path.name + ".damaged").unlink(missing_ok=True)
    if mended.exit_code:
        assert b"\n" not in segment or mended.exit_code == 2
        assert "not even the header" in mended.stderr or "not valid JSON" in mended.stderr, mended.stderr
        return 2
    text = path.read_bytes()
    if text not in known:
        known[text] = CliRunner().invoke(audit, [str(path)], catch_exceptions=False).exit_code
    return known[text]


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_every_prefix(tmp_path: Path, seed: int) -> None:
    segment = recorded(tmp_path / "whole.jsonl", seed, 4)
    known: dict[bytes, int] = {}
    outcomes = [judged(tmp_path / "log.jsonl", segment[:end], known) for end in range(len(segment) + 1)]
    begun = segment.index(b"\n") + 1
    assert set(outcomes[:begun]) <= {2, 3}
    # what was written when the COMMIT was sent is there, so that what is missing was not there to be seen
    assert set(outcomes[begun:]) <= {0, 3}
    assert outcomes[-1] == 0
    last = [end for _, end in frames(segment)]
    assert [outcomes[end] for end in last] == [0] * len(last)


@pytest.mark.parametrize(
    ("seed", "transactions"),
    [(0, 5), *(pytest.param(seed, size, marks=pytest.mark.slow) for seed, size in ((0, 8), (0, 14), (1, 14)))],
)
@pytest.mark.parametrize("how", ["removed", "damaged", "zeroed"])
def test_every_lost_frame(tmp_path: Path, seed: int, transactions: int, how: str) -> None:
    path = tmp_path / "log.jsonl"
    segment = recorded(tmp_path / "whole.jsonl", seed, transactions)
    known: dict[bytes, int] = {}
    places = list(frames(segment))
    assert len(places) > 3
    for begin, end in places[:-1]:
        lost = {"removed": b"", "damaged": b"\xff" * (end - begin), "zeroed": bytes(end - begin)}[how]
        assert judged(path, segment[:begin] + lost + segment[end:], known) == 3
        assert read_log([path]).header.gaps
    begin, _ = places[-1]
    assert judged(path, segment[:begin], known) == 0


def test_every_prefix_of_a_finished_log(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    segment = recorded(tmp_path / "whole.jsonl", 1, 2)
    assert judged(path, segment, {}) == 0
    text = path.read_bytes()
    known: dict[bytes, int] = {}
    outcomes = [judged(path, text[:end], known) for end in range(len(text) + 1)]
    assert set(outcomes) <= {0, 2, 3}
    assert outcomes[-1] == outcomes[-2] == 0
    assert 0 not in outcomes[:-2]

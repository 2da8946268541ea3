"""Histories of others are read from each format (benchmarks/histories/importers)."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest

from benchmarks.histories.facts import facts
from benchmarks.histories.history import ABSENT, History, Kind, Operation, Transaction
from benchmarks.histories.importers import BadHistory, read_history
from benchmarks.histories.saturation import causal
from troubadour.formats import read_log


def shown(history: History) -> list[str]:
    """Sessions and operations: ``w0=1`` wrote 1 to row 0."""
    return [
        f"{t.session}: " + " ".join(f"{o.kind.value[0]}{o.key}={o.value}" for o in t.operations)
        for t in history.transactions
    ]


def test_text(tmp_path: Path) -> None:
    path = tmp_path / "history.txt"
    path.write_text("w(7,0,0,0)\nw(8,5,0,0)\nw(7,1,1,1)\nr(8,5,1,1)\nr(7,1,2,2)\nw(8,2,1,3)\n")
    history = read_history(path)
    assert dict(history.initial) == {0: 0, 1: 5}
    assert shown(history) == ["s1: w0=1 r1=5", "s1: w1=2", "s2: r0=1"]
    history.write(tmp_path / "log.jsonl")
    assert len(read_log([tmp_path / "log.jsonl"]).transactions) == 3


def test_text_whose_first_session_is_one_of_all(tmp_path: Path) -> None:
    path = tmp_path / "history.txt"
    path.write_text("w(7,3,0,0)\nr(7,3,0,1)\n")
    assert shown(read_history(path)) == ["s0: w0=3", "s0: r0=3"]


def test_bincode(tmp_path: Path) -> None:
    def event(is_write: int, key: int, value: int, done: int) -> bytes:
        return struct.pack("<BQQB", is_write, key, value, done)

    name = struct.pack("<Q", 3) + b"abc"
    committed = struct.pack("<Q", 3) + event(1, 4, 9, 1) + event(0, 6, 0, 1) + event(1, 4, 8, 0) + b"\1"
    aborted = struct.pack("<Q", 1) + event(1, 4, 7, 1) + b"\0"
    content = struct.pack("<5Q", 0, 1, 2, 2, 3) + 3 * name + struct.pack("<QQ", 1, 2) + committed + aborted
    path = tmp_path / "history.bincode"
    path.write_bytes(content)
    assert shown(read_history(path)) == ["s0: w0=9 r1=0"]
    path.write_bytes(content[:-20])
    with pytest.raises(BadHistory, match="ends within"):
        read_history(path)


def test_cobra(tmp_path: Path) -> None:
    def entry(kind: bytes, *fields: int) -> bytes:
        return kind + struct.pack(f">{len(fields)}Q", *fields)

    first = entry(b"S", 1) + entry(b"W", 2**63, 5, 77) + entry(b"R", 0xBEBEEBEE, 0xDEADBEEF, 6, 0) + entry(b"C", 1)
    unfinished = entry(b"S", 2) + entry(b"W", 3, 6, 1) + b"W\0"
    (tmp_path / "T0.log").write_bytes(first + unfinished)
    (tmp_path / "T10.log").write_bytes(entry(b"S", 3) + entry(b"R", 1, 2**63, 5, 77) + entry(b"C", 3))
    assert shown(read_history(tmp_path)) == [f"sT0: w0={-(2**63)} r1=0", f"sT10: r0={-(2**63)}"]
    (tmp_path / "T11.log").write_bytes(b"Q")
    with pytest.raises(BadHistory, match=r"T11\.log"):
        read_history(tmp_path)


def test_blocks(tmp_path: Path) -> None:
    path = tmp_path / "long-fork.txt"
    path.write_text("w 0 0\nw 1 0\n=====\nw 0 1\n-----\nr 0 1\nr 1 0\n=====\nw 1 1\n-----\nr 1 1\nr 0 0\n")
    history = read_history(path)
    assert shown(history)[2:] == ["s1: r0=1 r1=0", "s2: w1=1", "s2: r1=1 r0=0"]
    assert causal(facts(history)) is True
    path.write_text("x 0 0\n")
    with pytest.raises(BadHistory):
        read_history(path)


def test_chronos(tmp_path: Path) -> None:
    path = tmp_path / "history.json"
    operations = [{"t": "w", "k": 7, "v": 2}, {"t": "R", "k": 9}]
    path.write_text(json.dumps([{"tid": 67, "sid": 19, "sts": {"p": 1, "l": 2}, "ops": operations}]))
    assert shown(read_history(path)) == ["s19: w0=2 r1=None"]
    path.write_text(json.dumps([{"tid": 67, "sid": 19, "ops": [{"t": "a", "k": 7, "v": 2}]}]))
    with pytest.raises(BadHistory, match="'a'"):
        read_history(path)


def test_what_no_order_explains_is_told_at_once() -> None:
    def broken(*operations: Operation) -> str | None:
        return facts(History((Transaction("t", operations),), {0: 0})).broken

    write, read = Operation(Kind.WRITE, 0, 5), Operation(Kind.READ, 0, 0)
    assert broken(read, write) is None
    assert "own write" in str(broken(write, read))
    assert "two versions" in str(broken(read, Operation(Kind.READ, 0, 1)))
    assert "is there" in str(broken(Operation(Kind.INSERT, 0, 5)))
    assert "did not find" in str(broken(Operation(Kind.READ, 1, ABSENT), Operation(Kind.WRITE, 1, 5)))
    with pytest.raises(ValueError, match="counted up"):
        broken(write, Operation(Kind.INCREMENT, 0, 1))

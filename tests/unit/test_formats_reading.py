"""What the reader makes of good logs: values, segments, intents, gzip, large logs, progress."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from troubadour.formats import LogWriter, read_log, write_log
from troubadour.model.log import End, InitialTable, Log, LogError, ObservedError, ObservedRows, Statement
from troubadour.model.values import REDACTED

HEADER: dict[str, Any] = {
    "format": "troubadour-log",
    "version": 1,
    "dialect": "postgres",
    "schema": ["CREATE TABLE t (id INT PRIMARY KEY, v NUMERIC(12,2))"],
}


def entry(id: object, **fields: object) -> dict[str, Any]:
    return {"id": id, "status": "committed", "statements": [], **fields}


def text(*entries: object) -> bytes:
    return b"".join((e if isinstance(e, bytes) else json.dumps(e).encode()) + b"\n" for e in entries)


def read(tmp_path: Path, *segments: bytes, **options: Any) -> Log:
    paths = []
    for number, content in enumerate(segments):
        paths.append(tmp_path / f"s{number}.jsonl")
        paths[-1].write_bytes(content)
    return read_log(paths, **options)


def ids(log: Log) -> list[object]:
    return [transaction.id for transaction in log.transactions]


def test_everything_a_transaction_can_say(tmp_path: Path) -> None:
    rows = {"columns": ["a", "b"], "rows": [[1, "x"], [None, {"redacted": True}]], "truncated": True}
    statements = [
        {"sql": "SELECT 1"},
        {"sql": "SELECT 2", "params": [1, None, "x", True], "invoked": 3, "returned": 4, "result": rows},
        {"sql": "UPDATE", "params": {"a": 1.5}, "affected": 2, "result": {"columns": [], "rows": [[]]}},
        {"sql": "CALL p()", "results": [{"columns": ["a"], "rows": []}, rows]},
        {"sql": "INSERT", "error": {"sqlstate": "23505", "message": "no"}},
        {"sql": "DELETE", "outcome": "unknown"},
        {"sql": "SELECT $1", "params": [{"redacted": True}], "result": None, "error": None},
    ]
    full = entry(
        7,
        session="a",
        isolation="snapshot",
        read_only=False,
        start=1,
        commit=2,
        invoked=3,
        returned=9,
        end={"invoked": 8, "returned": 9},
        clock="c",
        statements=statements,
    )
    (transaction,) = read(tmp_path, text(HEADER, full)).transactions
    observed = ObservedRows(("a", "b"), ((1, "x"), (None, REDACTED)), True)
    assert transaction.statements == (
        Statement("SELECT 1"),
        Statement("SELECT 2", (1, None, "x", True), (observed,), invoked=3, returned=4),
        Statement("UPDATE", {"a": Decimal("1.5")}, (ObservedRows((), ((),)),), affected=2),
        Statement("CALL p()", results=(ObservedRows(("a",), ()), observed), several=True),
        Statement("INSERT", error=ObservedError("23505", "no")),
        Statement("DELETE", outcome_unknown=True),
        Statement("SELECT $1", (REDACTED,)),
    )
    assert transaction.statements[1].results is not None
    assert transaction.statements[1].results[0].rows[1][1] is REDACTED
    assert (transaction.id, transaction.status, transaction.session) == (7, "committed", "a")
    assert (transaction.isolation, transaction.read_only, transaction.clock) == ("snapshot", False, "c")
    assert (transaction.start, transaction.commit, transaction.invoked, transaction.returned) == (1, 2, 3, 9)
    assert transaction.end == End(8, 9)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("12345678901234567890123456789", 12345678901234567890123456789),
        ("-9223372036854775809", -9223372036854775809),
        ("18446744073709551616", 2**64),
        ("310.5", Decimal("310.5")),
        ("0.12345678901234567890123456789", Decimal("0.12345678901234567890123456789")),
        ("310.50", Decimal("310.50")),
        ("1e3", Decimal("1E+3")),
        ('"\\u00e9\\ud83d\\ude00\\u0000"', "é😀\0"),
        ("true", True),
        ("1", 1),
    ],
)
def test_values_keep_every_digit(tmp_path: Path, written: str, value: object) -> None:
    line = '{"id":1,"status":"aborted","statements":[{"sql":"x","params":[VALUE]}]}'.replace("VALUE", written)
    for content in (line, line.replace('"params"', '"error": null, "params"')):  # the fast path, and the slow one
        (transaction,) = read(tmp_path, text(HEADER, entry(0), content.encode())).transactions[1:]
        (statement,) = transaction.statements
        assert isinstance(statement.params, tuple)
        assert repr(statement.params[0]) == repr(value)


def test_ids_of_two_types_are_two(tmp_path: Path) -> None:
    log = read(tmp_path, text(HEADER, entry(1), entry("1"), entry(2**70)))
    assert ids(log) == [1, "1", 2**70]


def test_blank_lines_spaces_and_a_missing_newline_do_no_harm(tmp_path: Path) -> None:
    content = text(HEADER, b"", entry(1), b" \t\r", b"  " + json.dumps(entry(2)).encode() + b" \r", entry(3))
    assert ids(read(tmp_path, content[:-1])) == [1, 2, 3]


def test_kinds_and_end(tmp_path: Path) -> None:
    content = text(HEADER, entry(1, kind="transaction"), entry(2, kind=None), {"kind": "end", "transactions": 2}, b"")
    assert ids(read(tmp_path, content)) == [1, 2]


def test_an_empty_log(tmp_path: Path) -> None:
    log = read(tmp_path, text(HEADER, {"kind": "end", "transactions": 0}))
    assert (len(log.transactions), log.committed, log.aborted, log.unknown) == (0, 0, 0, 0)


def test_initial_rows(tmp_path: Path) -> None:
    header = {**HEADER, "initial": {"t": {"columns": ["id", "v"], "rows": [[1, "2.00"]]}, "u": "unknown"}}
    more = {"kind": "rows", "table": "t", "columns": ["id", "v"], "rows": [[2, None], [3, 1.5]]}
    other = {"rows": [[4, "x"]], "table": "t", "kind": "rows"}
    log = read(tmp_path, text(header, more, other, more, entry(1)))
    rows = ((1, "2.00"), (2, None), (3, Decimal("1.5")), (2, None), (3, Decimal("1.5")))
    assert log.header.initial == (InitialTable("t", ("id", "v"), rows), InitialTable("t", None, ((4, "x"),)))
    assert log.header.initial_unknown == ("u",)


def test_counts(tmp_path: Path) -> None:
    log = read(tmp_path, text(HEADER, entry(1), entry(2, status="aborted"), entry(3, status="unknown"), entry(4)))
    assert (log.committed, log.aborted, log.unknown) == (2, 1, 1)


def test_an_intent_gives_way_to_its_transaction(tmp_path: Path) -> None:
    content = text(
        HEADER,
        entry(1, kind="intent", status="unknown"),
        entry(2, kind="intent", status="unknown"),
        entry(1, commit=5),
        {"kind": "end", "transactions": 1},
    )
    for options in ({}, {"spill_bytes": 0}):
        log = read(tmp_path, content, **options)
        assert [(t.id, t.status, t.place) for t in log.transactions] == [(2, "unknown", 1), (1, "committed", 2)]
        assert (log.committed, log.unknown) == (1, 1)


def test_an_intent_gives_way_in_another_segment_before_or_after(tmp_path: Path) -> None:
    intents = text(HEADER, *(entry(i, kind="intent", status="unknown") for i in (1, 2)))
    transactions = text(HEADER, entry(1, commit=1))
    for options in ({}, {"spill_bytes": 0}):
        for segments in ((intents, transactions), (transactions, intents)):
            log = read(tmp_path, *segments, **options)
            assert {t.id: t.status for t in log.transactions} == {1: "committed", 2: "unknown"}
            assert len(log.transactions) == 2


def test_segments(tmp_path: Path) -> None:
    initial = {"t": {"rows": [[1, "2.00"]]}}
    first = {**HEADER, "initial": initial, "log_id": "l", "segment": 1, "clock": "a"}
    second = {**HEADER, "dbms": "PostgreSQL 18", "segment": 2, "clock": "b"}
    third = {**HEADER, "initial": initial, "segment": "2"}
    parts = [text(first, entry(1, commit=3)), text(second, entry(2, commit=2, clock="z"), entry(4)), text(third)]
    log = read(tmp_path, *parts)
    assert log.header.initial == (InitialTable("t", None, ((1, "2.00"),)),)
    assert (log.header.dbms, log.header.log_id, log.header.clock, log.header.segment) == (
        "PostgreSQL 18",
        "l",
        None,
        None,
    )
    assert {t.id: t.clock for t in log.transactions} == {1: "a", 2: "z", 4: "b"}
    assert log.digest == hashlib.sha256(b"".join(parts)).hexdigest()


def test_gzip_is_told_by_content(tmp_path: Path) -> None:
    plain = text(HEADER, *(entry(i) for i in range(500)))
    half = len(plain) // 2
    packed = gzip.compress(plain[:half]) + gzip.compress(plain[half:]) + b"\0" * 7
    log = read(tmp_path, packed)
    assert len(log.transactions) == 500
    assert log.digest == hashlib.sha256(plain).hexdigest()


class OneByteAtATime(io.RawIOBase):
    def __init__(self, content: bytes) -> None:
        self._content = io.BytesIO(content)

    def read(self, size: int = -1) -> bytes:
        return self._content.read(1 if size else 0)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_standard_input(monkeypatch: pytest.MonkeyPatch, pack: Any) -> None:
    class Stdin:
        buffer = OneByteAtATime(pack(text(HEADER, entry(1), entry(2))))

    monkeypatch.setattr(sys, "stdin", Stdin)
    assert ids(read_log(["-"])) == [1, 2]
    Stdin.buffer = OneByteAtATime(pack(text(HEADER, [1])))
    with pytest.raises(LogError, match=r"^<stdin>:2: not a JSON object$"):
        read_log(["-"])


def test_a_large_log_reads_as_a_small_one(tmp_path: Path) -> None:
    entries = [
        entry(i, commit=(i * 7919) % 1000, statements=[{"sql": f"x{i % 7}", "params": [1.5, 2**80], "error": None}])
        for i in range(1000)
    ]
    content = text({**HEADER, "clock": "c"}, *entries)
    small = read(tmp_path, content)
    assert [t.commit for t in small.transactions] == list(range(1000))
    for spill_bytes in (0, 1, len(content) // 2):
        large = read(tmp_path, content, spill_bytes=spill_bytes)
        assert list(large.transactions) == list(small.transactions)
        assert list(large.transactions) == list(small.transactions)
        assert large.transactions[3] == small.transactions[3]
        assert large.transactions[-1] == small.transactions[-1]
        assert list(large.transactions[10:20]) == list(small.transactions[10:20])
        assert (large.digest, large.committed) == (small.digest, 1000)
        with pytest.raises(IndexError):
            large.transactions[1000]


def test_crossing_into_a_file_half_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As from standard input, where the size is not known beforehand."""
    monkeypatch.setattr("troubadour.formats.read.likely_size", lambda path: 0)
    monkeypatch.setattr("troubadour.formats.text.BLOCK", 1000)
    entries = [entry(i, kind="intent", status="unknown") for i in range(200)] + [entry(i) for i in range(150)]
    content = text(HEADER, *entries)
    small = read(tmp_path, content)
    large = read(tmp_path, content, spill_bytes=5000)
    assert type(large.transactions) is not type(small.transactions)
    assert list(large.transactions) == list(small.transactions)
    assert (large.committed, large.unknown) == (150, 50)


def test_progress(tmp_path: Path) -> None:
    content = text(HEADER, *(entry(i) for i in range(100)))
    calls: list[tuple[int, int | None]] = []
    read(tmp_path, content, text(HEADER), progress=lambda done, total: calls.append((done, total)))
    total = len(content) + len(text(HEADER))
    assert calls[-1] == (total, total)
    assert [done for done, _ in calls] == sorted(done for done, _ in calls)


def test_writer_writes_what_the_reader_reads(tmp_path: Path) -> None:
    for name in ("a.jsonl", "a.jsonl.gz"):
        path = tmp_path / name
        header = {"dialect": "postgres", "schema": ["CREATE TABLE t (id INT)"]}
        with LogWriter(path, header, flush=True) as writer:
            writer.rows("t", ["id"], ([i] for i in range(2500)))
            writer.intent({"id": 1, "statements": [{"sql": "SELECT 1"}]})
            writer.intent({"id": 2, "statements": []})
            result = {"columns": ["a"], "rows": [[1.5]]}
            writer.transaction(entry(1, statements=[{"sql": "SELECT 1", "result": result}]))
        writer.close()
        log = read_log([path])
        assert len(log.header.initial[0].rows) == 2500
        assert [(t.id, t.status) for t in log.transactions] == [(2, "unknown"), (1, "committed")]
        raw = path.read_bytes()
        lines = (gzip.decompress(raw) if name.endswith("gz") else raw).splitlines()
        assert [json.loads(line).get("kind") for line in lines[1:]] == ["rows"] * 3 + ["intent"] * 2 + [None, "end"]
        assert json.loads(lines[-1])["transactions"] == 1


def test_what_an_intent_says_survives_the_writer(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    writer = LogWriter(path, {"dialect": "sqlite", "schema": []})
    writer.intent({"id": 1, "statements": []})
    assert ids(read_log([path])) == [1]
    writer.transaction(entry(1))
    writer.close(end=False)
    assert b'"end"' not in path.read_bytes()


@pytest.mark.parametrize(
    "wrong",
    [
        {"id": 1},
        entry(1, statements=[{"sql": "x", "params": [float("nan")]}]),
        entry(1, statements=[{"sql": "x", "params": [float("inf"), None]}]),
        entry(1, statements=[{"sql": "x", "params": [Decimal("NaN")]}]),
        entry(1, statements=[{"sql": "\ud800"}]),
        entry(1, statements=[{"sql": "x", "params": [object()]}]),
        entry(1, kind="end"),
        entry(1, start=2, commit=1),
    ],
)
def test_writer_refuses_nonsense_and_writes_nothing_of_it(tmp_path: Path, wrong: dict[str, Any]) -> None:
    path = tmp_path / "a.jsonl"
    with LogWriter(path, {"dialect": "sqlite", "schema": []}) as writer:
        with pytest.raises(ValueError, match=r"."):
            writer.transaction(wrong)
        writer.transaction(entry(2))
        with pytest.raises(ValueError, match="before the first transaction"):
            writer.rows("t", None, [[1]])
    with pytest.raises(ValueError, match="closed"):
        writer.transaction(entry(3))
    with pytest.raises(ValueError, match="header"):
        LogWriter(path, {"dialect": "db2", "schema": []})
    assert ids(read_log([path])) == [2]


def test_equal_logs_are_equal_files(tmp_path: Path) -> None:
    log = read(tmp_path, text({**HEADER, "initial": {"t": {"rows": [[1, None]]}}}, entry(1), entry(2)))
    for name in ("a.jsonl.gz", "b.jsonl.gz"):
        write_log(tmp_path / name, log.header, log.transactions)
    assert (tmp_path / "a.jsonl.gz").read_bytes() == (tmp_path / "b.jsonl.gz").read_bytes()

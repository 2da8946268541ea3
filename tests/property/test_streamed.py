"""A log that is judged as it is read and one that is held come to the same: verdict, coverage, witness; and the general
replay accepts that witness.

Does not check what a stream leaves to the audit of a log that is held.
"""

from __future__ import annotations

import io
import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from sql_semantics.errors import SqlSemanticsError
from sql_semantics.library import SqlLibrary
from tests.property import test_profiles_agreement as profiles
from tests.property.random_logs import random_log
from tests.property.test_straight import GENERAL, KINDS, bank_log
from troubadour.audit.covered import Policy, audit_covered
from troubadour.audit.straight import straight
from troubadour.audit.streamed.judge import Streaming
from troubadour.audit.told.remarks import with_remarks
from troubadour.coverage.library import library_for
from troubadour.formats import read_log, write_log
from troubadour.formats.streaming import stream
from troubadour.formats.streaming.settled import Settled
from troubadour.formats.streaming.stream import Stream, Unstreamed
from troubadour.formats.text import opened
from troubadour.isolation.levels import LEVELS
from troubadour.model.log import Log, LogError
from troubadour.model.verdict import Status, Verdict
from troubadour.replay.checker import check
from troubadour.replay.newest import NotPlain

LOGS = Path(__file__).parents[2] / "logs"
FAST, SLOW = range(97_000, 97_006), [range(start, start + 50) for start in range(98_000, 98_500, 50)]
LEFT = ("error that is held against", "taken by BEGIN", "an order of sessions that the whole log tells")
"""What a stream leaves to others though it goes straight."""


class Pieces(io.BytesIO):
    """A text that comes in pieces of some ten transactions."""

    def read(self, size: int | None = -1) -> bytes:
        """The next piece."""
        return super().read(min(5_000, size or 0) if size != -1 else -1)


def as_stream(text: bytes, level: str | None) -> Verdict | str:
    """What a stream comes to; why it is left to others."""
    try:
        streaming = Streaming(Stream(Pieces(text)), Settled(), level)
        streaming.through(lambda: None)
        return streaming.verdict(minimum=0, unobserved=False)
    except (Unstreamed, NotPlain) as error:
        return str(error)


def held(path: Path, level: str | None) -> tuple[Verdict | None, Log, SqlLibrary]:
    """What the straight path says of a log that is held."""
    log, library = library_for(read_log([path]), level)

    def judge(log: Log, library: SqlLibrary, seconds: float | None) -> Verdict:
        found = straight(log, library, level, order_recorded=False, max_staleness=None, progress=lambda done: None)
        if isinstance(found, Verdict):
            return found
        raise NotPlain("left to the search")

    try:
        verdict = audit_covered(log, library, Policy(level, None, False, (), 0), judge)
    except NotPlain:
        return None, log, library
    return (with_remarks(log, verdict) if verdict.status is Status.CORRECT else None), log, library


def store(path: Path, log: Log) -> None:
    """Write a log in the order in which it was made."""
    write_log(path, log.header, sorted(log.transactions, key=lambda one: one.place))


def told(verdict: Verdict) -> tuple[object, ...]:
    counts = verdict.total, verdict.committed, verdict.aborted, verdict.unknown, verdict.verified_prefix
    return verdict.status, verdict.isolation, verdict.engine, verdict.notes, verdict.coverage, counts


def compare(path: Path, level: str | None, *, replayed: bool = False) -> bool:
    """Whether a stream explains a log; fails where that is not what is said of the log as a whole."""
    with opened(path) as stream:
        text = stream.read()
    found = as_stream(text, level)
    try:
        verdict, log, library = held(path, level)
    except (LogError, SqlSemanticsError):
        assert isinstance(found, str)
        return False
    if isinstance(found, str):
        assert verdict is None or any(why in found for why in LEFT), f"{path.name} at {level}: {found}"
        return False
    assert verdict is not None, f"{path.name} at {level}"
    assert told(found) == told(verdict), f"{path.name} at {level}"
    assert found.witness is not None
    assert verdict.witness is not None
    assert found.witness.log == verdict.witness.log
    assert list(found.witness.order) == list(verdict.witness.order)
    if replayed:
        refusal = check(log, found.witness, library, isolation=level)
        assert refusal is None, f"{path.name} at {level}: {refusal}"
    return True


def run(seeds: range, folder: Path) -> Counter[str]:
    explained: Counter[str] = Counter()
    for seed in seeds:
        path = folder / f"{seed}.jsonl"
        for kind in KINDS:
            store(path, random_log(seed, **kind))
            levels = (None,) if "mixed" in kind else (GENERAL[seed % len(GENERAL)], GENERAL[-1 - seed % 3])
            for level in levels:
                explained["general"] += compare(path, level, replayed=True)
        for level in profiles.PROFILES:
            dialect = LEVELS[level].dialect
            assert dialect is not None
            log = profiles.log_of(seed, dialect)
            if log is not None:
                store(path, log)
                explained[dialect] += compare(path, level, replayed=True)
    return explained


def test_streams_and_logs_that_are_held_come_to_the_same(tmp_path: Path) -> None:
    assert run(FAST, tmp_path)["general"] > 2


@pytest.mark.slow
@pytest.mark.parametrize("seeds", SLOW, ids=str)
def test_streams_and_logs_that_are_held_come_to_the_same_often(seeds: range, tmp_path: Path) -> None:
    assert run(seeds, tmp_path)["general"] > 20


STORED = [path for path in sorted(LOGS.rglob("*.jsonl*")) if "hostile" not in path.name]


@pytest.mark.parametrize("path", random.Random(5).sample(STORED, 12), ids=lambda path: path.name)
def test_some_stored_logs(path: Path) -> None:
    compare(path, None)


@pytest.mark.slow
@pytest.mark.parametrize("path", STORED, ids=lambda path: str(path.relative_to(LOGS)))
@pytest.mark.parametrize("level", [None, "serializable", "snapshot", "postgres:repeatable-read"])
def test_stored_logs(path: Path, level: str | None) -> None:
    compare(path, level)


# --- longer logs ------------------------------------------------------------------------------------------------------


def shuffled(path: Path, seed: int, near: int) -> None:
    """Let the lines of a log come in another order, each at most so many places away."""
    rng = random.Random(seed)
    begun, lines, ended = parts(path)
    keyed = sorted(enumerate(lines), key=lambda one: one[0] + rng.random() * near)
    path.write_bytes(b"".join([*begun, *(line for _, line in keyed), *ended]))


def parts(path: Path) -> tuple[list[bytes], list[bytes], list[bytes]]:
    """The lines before the first transaction, those of transactions, and the end."""
    lines = path.read_bytes().splitlines(keepends=True)
    places = [place for place, line in enumerate(lines) if b'"statements"' in line]
    return lines[: places[0]], lines[places[0] : places[-1] + 1], lines[places[-1] + 1 :]


TIMES = {"by both": (), "by clients": ("start", "commit"), "by the DBMS": ("invoked", "returned"), "by none": ("all",)}


EARLY = 9
"""The seed of a log that is spoilt more than a window before its end."""


@pytest.mark.parametrize("late", ["nothing", "a transaction", "a definition"])
@pytest.mark.parametrize("times", TIMES)
def test_what_a_stream_explained_is_not_run_again(times: str, late: str, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    store(path, bank_log(EARLY, transactions=1_300, spoilt=True))
    begun, lines, ended = parts(path)
    gone = ("start", "commit", "invoked", "returned") if times == "by none" else TIMES[times]
    found = [{name: value for name, value in json.loads(line).items() if name not in gone} for line in lines]
    if late == "a transaction":
        found.append({**found.pop(5), "id": "late"})
    elif late == "a definition":
        found[-1]["statements"] = [{"sql": "ALTER TABLE accounts ADD COLUMN more INT"}]
    path.write_bytes(b"".join([*begun, *(json.dumps(one).encode() + b"\n" for one in found), *ended]))
    streaming = Streaming(Stream(Pieces(path.read_bytes())), Settled(), "serializable")
    with pytest.raises(NotPlain):
        streaming.through(lambda: None)
    assert streaming.tried is not None
    log, library = library_for(read_log([path]), "serializable")
    assert streaming.tried.holds(log, library) == (late == "nothing" or (late, times) == ("a transaction", "by none"))
    assert not streaming.tried.holds(log, library)  # asked once


@pytest.mark.parametrize(("sessions", "near"), [(1, 0), (1, 30), (3, 0), (3, 30)])
def test_lines_that_come_a_little_late_are_put_in_order(sessions: int, near: int, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    store(path, bank_log(sessions, transactions=900, sessions=sessions))
    shuffled(path, sessions, near)
    assert compare(path, "serializable", replayed=True)


def test_a_line_that_comes_far_too_late_is_left_to_the_whole_log(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    store(path, bank_log(1, transactions=900))
    begun, (first, *lines), ended = parts(path)
    path.write_bytes(b"".join([*begun, *lines, first, *ended]))
    assert isinstance(as_stream(path.read_bytes(), "serializable"), str)


def answered(id: int | str, returned: int, statement: Mapping[str, object], session: str) -> bytes:
    """A transaction of which the time of its answer is known alone."""
    line = {"id": id, "status": "committed", "session": session, "returned": returned, "statements": [statement]}
    return json.dumps(line).encode() + b"\n"


def counter(late: int, others: int) -> list[bytes]:
    """A log of a session that wrote a 1 and read it, in this order in the file; the write was answered at 50, the read
    at `late`. Between them are reads of others."""
    header = {
        "format": "troubadour-log",
        "version": 1,
        "dialect": "postgres",
        "schema": ["CREATE TABLE t (id INT PRIMARY KEY, v INT)"],
        "initial": {"t": {"columns": ["id", "v"], "rows": [[1, 0]]}},
    }
    read = {"sql": "SELECT v FROM t", "result": {"columns": ["v"], "rows": [[1]]}}
    write = {"sql": "UPDATE t SET v = 1", "affected": 1}
    return [
        json.dumps(header).encode() + b"\n",
        answered("write", 50, write, "a"),
        *(answered(number, 100 + number, read, f"{number}") for number in range(others)),
        answered("read", late, read, "a"),
    ]


@pytest.mark.parametrize("level", ["session-serializable", "session-snapshot", "prefix"])
def test_the_order_of_a_session_is_that_of_the_whole_log(level: str, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"".join(counter(2_000, 1_200)))
    assert compare(path, level, replayed=True)
    path.write_bytes(b"".join(counter(20, 1_200)))
    assert as_stream(path.read_bytes(), level) == "an order of sessions that the whole log tells"
    assert isinstance(as_stream(path.read_bytes(), "snapshot"), Verdict)  # it keeps no order of sessions


@pytest.mark.parametrize(
    ("number", "found"), [("", True), ('"sno": 5, "session": "a",', True), ('"sno": 4, "session": "a",', False)]
)
def test_an_intent_has_the_number_of_its_transaction(number: str, found: bool, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    store(path, bank_log(1))
    begun, lines, _ = parts(path)
    last = len(lines) - 1
    for place, sno in ((last - 1, 4), (last, 5)):
        lines[place] = json.dumps({**json.loads(lines[place]), "sno": sno, "session": "a"}).encode() + b"\n"
    intent = (
        f'{{"kind": "intent", "id": {json.loads(lines[last])["id"]}, {number} "status": "unknown", "statements": []}}'
    )
    path.write_bytes(b"".join([*begun, *lines[:last], intent.encode() + b"\n", lines[last]]))
    assert compare(path, "serializable") == found


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ('{"kind": "gap", "reason": "lost"}', "gap"),
        ('{"kind": "end", "transactions": 7}', "end"),
        ('{"id": 5, "status": "committed", "statements": []}', "twice"),
        ('{"id": "x", "status": "unknown", "statements": []}', "unknown"),
        ('{"kind": "intent", "id": "x", "status": "unknown", "statements": []}', "unknown"),
        ('{"kind": "intent", "id": 5, "status": "unknown", "statements": []}', "unknown"),
        ('{"id": "x", "status"', "JSON"),
        ('{"kind": "rows", "table": "owners", "rows": [[7]]}', "rows"),
    ],
)
def test_what_is_no_stream_is_left_to_the_whole_log(more: str, why: str, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    store(path, bank_log(1))
    begun, lines, _ = parts(path)
    found = as_stream(b"".join([*begun, *lines, more.encode()]), "serializable")
    assert isinstance(found, str)
    assert why in found


def tied_log(seed: int, path: Path) -> None:
    """Lines out of order whose commits tie, with answers of one clock or of two, of which some lack."""
    rng = random.Random(seed)
    header = {"format": "troubadour-log", "version": 1, "dialect": "postgres", "schema": ["CREATE TABLE t (id INT)"]}
    lines = []
    every = rng.choice([1, 2, 3])
    clocks, numbered, lacks = rng.choice([[None], ["a", "b"]]), rng.random() < 0.2, rng.choice([0, 0, 0.2])
    for place in range(rng.randrange(2, 30)):
        line: dict[str, Any] = {"id": place, "status": "committed", "statements": [], "commit": place // every}
        if rng.random() >= lacks:
            line |= {"returned": 10 * place + rng.randrange(30)}
        if (clock := rng.choice(clocks)) is not None:
            line["clock"] = clock
        if numbered:
            line |= {"session": "s", "sno": place}
        lines.append(line)
    order = sorted(range(len(lines)), key=lambda place: place + rng.uniform(0, rng.choice([0.5, 4])))
    path.write_text("".join(json.dumps(line) + "\n" for line in [header, *(lines[place] for place in order)]))


def ties(seeds: range, path: Path, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """A stream that is certain of hint order has it, whatever comes in which batch."""
    found: Counter[str] = Counter()
    for seed in seeds:
        tied_log(seed, path)
        monkeypatch.setattr(stream, "WINDOW", 1 + seed % 7)
        size = 60 + seed * 37 % 900

        def pieces(source: BinaryIO, stored: object, size: int = size) -> Iterator[bytes]:
            yield from iter(lambda: source.read(size), b"")

        monkeypatch.setattr(stream, "blocks", pieces)
        with path.open("rb") as file:
            read = stream.Stream(file)
            try:
                streamed = [one.id for batch in read.batches() for one in batch]
            except stream.Unstreamed:
                found["numbers"] += 1
                continue
        if not read.ascent.certain:
            found["uncertain"] += 1
            continue
        log = read_log([path])
        assert streamed == [one.id for one in log.transactions], seed
        commits = [one.commit for one in log.transactions]
        found["ties" if len(set(commits)) < len(commits) else "certain"] += 1
    return found


def test_a_stream_that_is_certain_of_hint_order_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = ties(range(400), tmp_path / "log", monkeypatch)
    assert min(found["ties"], found["certain"], found["uncertain"]) > 20, found

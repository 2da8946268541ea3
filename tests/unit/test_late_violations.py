"""A violation late in a long log of overlapping transactions is decided from few of them, with its prefix and core."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from benchmarks.figures import bank
from benchmarks.streams import KINDS, LEVELS, with_violation, write
from tests.case_files import opened
from troubadour.audit import driver, one_state, searched
from troubadour.audit.account import build
from troubadour.audit.driver import Options, audit
from troubadour.cli.auditing import streaming
from troubadour.cli.auditing.audit import Request
from troubadour.cli.main import cli
from troubadour.formats import read_log
from troubadour.formats.streaming.places import places_in
from troubadour.formats.streaming.reread import Reread
from troubadour.formats.streaming.stream import Stream
from troubadour.model.log import Log, LogError, Outline
from troubadour.model.verdict import Scope, Status

FAILING = {"value": 2_700, "lost update": 2_701, "phantom": 2_700}
CORES = {"value": {2_700}, "lost update": {2_700, 2_701}, "phantom": {2_700}}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("kind", KINDS)
def test_it_is_decided_from_few(kind: str, level: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "THOUSANDS", 1_000)
    asked: list[int] = []
    decided = searched.decided

    def noted(log: one_state.Log, *more: Any) -> object:
        asked.append(len(log.transactions))
        return decided(log, *more)

    monkeypatch.setattr(searched, "decided", noted)
    log, library = opened(read_log([write(tmp_path / "log", with_violation(3_000, kind))]), level)
    verdict = audit(log, library, Options(level))
    assert (verdict.status, verdict.scope) == (Status.VIOLATION, Scope.EVERY_ORDER)
    assert verdict.failing_transaction == FAILING[kind]
    placed = [one.id for one in log.transactions].index(FAILING[kind])
    assert (verdict.verified_prefix, verdict.committed) == (placed, 3_000)
    assert verdict.core is not None
    assert CORES[kind] <= set(verdict.core)
    assert len(verdict.core) <= 4
    assert asked
    assert max(asked) < 100


@pytest.mark.parametrize("kind", ["value", pytest.param("lost update", marks=pytest.mark.slow)])
def test_what_was_read_as_a_stream_is_not_read_anew(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "THOUSANDS", 100)
    path = write(tmp_path / "log", with_violation(700, kind))

    def said() -> tuple[int, dict[str, Any]]:
        result = CliRunner().invoke(cli, ["audit", str(path), "--quiet", "--format", "json", "--isolation", LEVELS[0]])
        return result.exit_code, {**json.loads(result.stdout), "seconds": 0}

    monkeypatch.setattr(streaming, "LEAST", 1 << 62)
    held = said()
    monkeypatch.setattr(streaming, "LEAST", 1)
    monkeypatch.setattr(Request, "_read", lambda *_: pytest.fail("the log is read anew"))
    assert said() == held
    assert held[0] == 1


@pytest.mark.parametrize("kept", [True, False])
def test_transactions_are_read_again_from_where_they_stand(tmp_path: Path, *, kept: bool) -> None:
    path = write(tmp_path / "log", bank(600))
    first, *lines = path.read_bytes().splitlines(keepends=True)
    lines[3:6] = [lines[5], lines[3], lines[4]]
    text = b"\n".join([first, b"", *lines[:7]]) + b"".join(lines[7:])
    path.write_bytes(text.rstrip(b"\n"))
    whole = read_log([path])
    with path.open("rb") as file:
        places = places_in(file)
        assert places is not None
        read = [one for batch in Stream(file, places=places).batches() for one in batch]
    again = Reread(places, None, kept=kept)
    assert list(again) == read == list(whole.transactions)
    assert [again[7], again[-1], *again[590:][2:5]] == [read[7], read[-1], *read[592:595]]
    assert list(again[::-7]) == read[::-7]
    assert list(again) == read
    assert list(again.statuses()) == [(one.id, one.status) for one in read]
    path.write_bytes(text[:2_000])
    with pytest.raises(LogError, match="was cut while"):
        list(Reread(places, None, kept=False))


@pytest.mark.parametrize("line", ['{"kind":"end","transactions":3}', "garbage", '{"id":9}', "[1]"])
def test_a_log_that_was_changed_is_told(line: str, tmp_path: Path) -> None:
    path = write(tmp_path / "log", bank(9))
    lines = path.read_text().splitlines()
    with path.open("rb") as file:
        places = places_in(file)
        assert places is not None
        assert sum(len(batch) for batch in Stream(file, places=places).batches()) == 9
    lines[4] = line.ljust(len(lines[4]))
    path.write_text("\n".join(lines) + "\n")
    again = Reread(places, None, kept=False)
    for read in (again.statuses, lambda: again.outlines(0), lambda: iter(again)):
        with pytest.raises(LogError, match="was changed while"):
            list(read())


def test_outlines_are_those_of_the_transactions(tmp_path: Path) -> None:
    """Whether the transactions are held, were spilled to disk, or are read again from where they stand."""
    header, *lines = [json.loads(line) for line in write(tmp_path / "plain", bank(40)).read_text().splitlines()]
    for place, line in enumerate(lines):
        if place % 2:
            del line["invoked"]
            line["begin"] = {"invoked": 1000 * place + 1, "returned": 1000 * place + 2}
        line |= {"clock": "other"} if place % 3 == 0 else {"isolation": LEVELS[0], "snapshot_at": "statement"}
        line["end"] = {"invoked": line["returned"] - 1, "returned": line["returned"]}
        line["statements"][-1] |= {"invoked": 1000 * place + 3, "returned": 1000 * place + 4}
    lines[7]["status"] = "aborted"
    path = write(tmp_path / "log", iter([{**header, "clock": "own"}, *lines]))
    held, spilled = read_log([path]), read_log([path], spill_bytes=2_000)
    with path.open("rb") as file:
        places = places_in(file)
        assert places is not None
        stream = Stream(file, places=places)
        assert len([one for batch in stream.batches() for one in batch]) == 40
    again = Log(held.header, Reread(places, "own", kept=False), held.digest)
    names = [name for name in Outline.__struct_fields__ if name != "statements"]
    wanted = [[getattr(one, name) for name in names] for one in held.transactions]
    sent = [[one.invoked for one in transaction.statements] for transaction in held.transactions]
    assert {one[names.index("clock")] for one in wanted} == {"own", "other"}
    for log in (held, spilled, again):
        for first in (0, 1, 33):
            outlines = list(log.outlines(first))
            assert [[getattr(one, name) for name in names] for one in outlines] == wanted[first:]
            assert [[one.invoked for one in outline.statements] for outline in outlines] == sent[first:]
    assert all(isinstance(one, Outline) for log in (spilled, again) for one in log.outlines(30))


def test_what_is_compressed_or_a_pipe_has_no_places(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(gzip.compress(b"{}"))
    with path.open("rb") as file:
        assert places_in(file) is None
    assert places_in(io.BytesIO(b"{}")) is None

"""Witnesses of logs of operations on objects, as `troubadour verify` judges them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from troubadour.cli.auditing.audit import audit
from troubadour.cli.main import cli
from troubadour.formats import read_either
from troubadour.formats.entries import RawHeader, RawTransaction
from troubadour.formats.objects.read import ObjectLogReader
from troubadour.model.log import Header
from troubadour.model.objects import ObjectLog
from troubadour.replay.objects import Reading, by_timestamps, check_reading

HEADER: dict[str, Any] = {
    "format": "troubadour-log",
    "version": 1,
    "isolation": "snapshot",
    "objects": {"kv": "register", "l": "list", "s": "set", "c": "counter"},
}


def write(folder: Path, *transactions: tuple[int, int, list[list[Any]]]) -> Path:
    path = folder / "log.jsonl"
    lines = [
        {"id": f"t{number}", "status": "committed", "start": start, "commit": commit, "ops": ops}
        for number, (start, commit, ops) in enumerate(transactions, 1)
    ]
    path.write_text("".join(json.dumps(one) + "\n" for one in (HEADER, *lines)))
    return path


def log_of(path: Path) -> ObjectLog:
    found = read_either([path])
    assert isinstance(found, ObjectLog)
    return found


SKEW = (
    (0, 2, [["r", "kv", "y", None], ["w", "kv", "x", 1]]),
    (
        1,
        3,
        [["r", "kv", "x", None], ["w", "kv", "y", 1], ["append", "l", 1, 5], ["add", "s", 1, 5], ["inc", "c", 1, 5]],
    ),
    (4, 5, [["r", "kv", "x", 1], ["r", "l", 1, [5]], ["r", "s", 1, [5]], ["r", "c", 1, 5], ["r", "kv", "z", None]]),
)


def by_time(folder: Path, path: Path, level: str) -> tuple[int, str]:
    witness = folder / "witness.json"
    fields = {"format": "troubadour-witness", "version": 1, "log": log_of(path).digest, "isolation": level}
    witness.write_text(json.dumps({**fields, "order": [], "views": [], "by": "timestamps"}))
    result = CliRunner().invoke(cli, ["verify", str(path), str(witness)])
    return result.exit_code, result.output


@pytest.mark.parametrize("level", ["snapshot", "strict-snapshot", "read-atomic", "causal", "prefix"])
def test_timestamps_explain(tmp_path: Path, level: str) -> None:
    status, text = by_time(tmp_path, write(tmp_path, *SKEW), level)
    assert (status, text) == (0, f"verified at {level}: the witness explains all 3 committed transactions\n")


@pytest.mark.parametrize("level", ["serializable", "strict-serializable", "read-committed"])
def test_timestamps_do_not_explain_a_serial_order(tmp_path: Path, level: str) -> None:
    status, text = by_time(tmp_path, write(tmp_path, *SKEW), level)
    assert status == 1
    assert text == "refused at transaction 't2': observation: it answers otherwise than what it sees\n"


FAULTS: dict[str, tuple[list[list[Any]], str]] = {
    "register": ([["r", "kv", "x", 2]], "observation"),
    "own write": ([["w", "kv", "x", 7], ["r", "kv", "x", 1]], "observation"),
    "list": ([["r", "l", 1, [6]]], "observation"),
    "longer list": ([["r", "l", 1, [5, 6]]], "observation"),
    "own append": ([["append", "l", 1, 6], ["r", "l", 1, [6, 5]]], "observation"),
    "set": ([["r", "s", 1, [5, 6]]], "observation"),
    "element twice": ([["r", "s", 1, [5, 5]]], "observation"),
    "own element": ([["add", "s", 1, 6], ["r", "s", 1, [5]]], "observation"),
    "counter": ([["r", "c", 1, 4]], "observation"),
    "own count": ([["inc", "c", 1, -1], ["r", "c", 1, 5]], "observation"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_wrong_answers_are_refused(tmp_path: Path, name: str) -> None:
    ops, condition = FAULTS[name]
    status, text = by_time(tmp_path, write(tmp_path, *SKEW, (6, 7, ops)), "snapshot")
    assert (status, text.partition(": ")[0]) == (1, "refused at transaction 't4'"), text
    assert text.startswith(f"refused at transaction 't4': {condition}: ")


@pytest.mark.parametrize(
    "change", [["w", "kv", "x", 9], ["append", "l", 1, 9], ["inc", "c", 1, 9]], ids=["write", "append", "inc"]
)
def test_lost_updates_are_refused(tmp_path: Path, change: list[Any]) -> None:
    two = ((0, 2, [change]), (1, 3, [[*change[:3], 8]]))
    status, text = by_time(tmp_path, write(tmp_path, *two), "snapshot")
    assert status == 1 and text.startswith("refused at transaction 't2': NWC: ")
    assert by_time(tmp_path, write(tmp_path, *two), "read-atomic")[0] == 0


def test_adding_never_conflicts(tmp_path: Path) -> None:
    path = write(tmp_path, (0, 2, [["add", "s", 1, 9]]), (1, 3, [["add", "s", 1, 9], ["r", "s", 1, [9]]]))
    assert by_time(tmp_path, path, "snapshot")[0] == 0


def test_an_audit_s_witness_is_judged(tmp_path: Path) -> None:
    path, witness = write(tmp_path, *SKEW), tmp_path / "witness.json"
    assert CliRunner().invoke(audit, [str(path), "--witness", str(witness)]).exit_code == 0
    assert CliRunner().invoke(cli, ["verify", str(path), str(witness)]).exit_code == 0
    spoilt = json.loads(witness.read_text())
    spoilt["views"][2]["state"] = 0
    witness.write_text(json.dumps(spoilt))
    result = CliRunner().invoke(cli, ["verify", str(path), str(witness)])
    assert result.exit_code == 1 and result.output.startswith("refused at transaction 't3': observation: ")


def test_no_timestamps_and_no_columns(tmp_path: Path) -> None:
    path = write(tmp_path, *SKEW)
    text = path.read_text().replace('"commit": 3, ', "")
    path.write_text(text)
    status, told = by_time(tmp_path, path, "snapshot")
    assert status == 1 and "'t2': completeness: it has no timestamps" in told
    # numbers beyond 64 bits are added as they are
    large = write(tmp_path, (0, 1, [["inc", "c", 1, 2**62], ["inc", "c", 1, 2**62]]), (2, 3, [["r", "c", 1, 2**63]]))
    log = log_of(large)
    reading = by_timestamps(log, "snapshot")
    assert not hasattr(reading, "condition") and check_reading(log, reading, "snapshot") is None  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["register", "set"])
def test_numbers_of_pairs_beyond_32_bits(kind: str) -> None:
    """Cells, elements and positions are numbered in 32 bits, but not pairs of them."""
    change = {"register": "w", "set": "add"}[kind]
    count = 50_000
    reader = ObjectLogReader(RawHeader("troubadour-log", 1, objects={"o": kind}))  # type: ignore[dict-item]
    reader.begin("log")
    reader.add_initial(reader.initial(RawHeader("troubadour-log", 1, objects={"o": kind})))  # type: ignore[dict-item]
    for number in range(count):
        before = number - 1
        value: Any = [before] if kind == "set" else before
        ops = ([change, "o", number, number], *([["r", "o", before, value]] if number else []))
        entry = RawTransaction(number, "committed", ops=ops, start=2 * number, commit=2 * number + 1)
        reader.add(entry, b"", number, None)
    log = reader.finish(Header("", (), isolation="serializable"), "")
    places = np.arange(count)
    assert check_reading(log, Reading(places, places), None) is None
    log.values[-1] = 7
    refusal = check_reading(log, Reading(places, places), None)
    assert refusal is not None and (refusal.transaction, refusal.condition) == (count - 1, "observation")

"""Logs of sets and of counters of some thousand transactions are decided by what their answers tell of the order."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from troubadour.audit.objects.decide import ASSUMED, ObjectOptions, decide_objects
from troubadour.audit.objects.second import by_sql
from troubadour.formats import read_either
from troubadour.model.objects import ObjectLog
from troubadour.model.verdict import Status, Verdict

Line = dict[str, Any]
FAR = 10**6
"""A key that nothing else names."""


def _serial(kind: str, count: int) -> list[Line]:
    """Transactions one after another, on keys that are left after a while."""
    rng = random.Random(f"{kind} in turn")
    there: dict[int, Any] = {}
    lines = []
    for number in range(count):
        operations: list[list[Any]] = []
        for place in range(rng.randint(1, 5)):
            key = rng.randrange(10) + number // 200 * 10
            held = there.get(key, [] if kind == "set" else 0)
            if rng.random() < 0.5:
                operations.append(["r", "x", key, held])
            elif kind == "set":
                operations.append(["add", "x", key, 10 * number + place])
                there[key] = [*held, 10 * number + place]
            else:
                operations.append(["inc", "x", key, rng.randint(1, 5)])
                there[key] = held + operations[-1][3]
        lines.append({"id": number, "status": "committed", "ops": operations})
    return lines


def _decided(folder: Path, kind: str, lines: list[Line], level: str) -> Verdict:
    path = folder / "log.jsonl"
    header = {"format": "troubadour-log", "version": 1, "objects": {"x": kind}}
    path.write_text("".join(json.dumps(line) + "\n" for line in (header, *lines)))
    log = read_either([path])
    assert isinstance(log, ObjectLog)
    found = decide_objects(log, ObjectOptions(level), by_sql)
    assert found is not None
    return found


def _txn(name: str, *operations: list[Any], **times: int) -> Line:
    return {"id": name, "status": "committed", "ops": [*operations], **times}


@pytest.mark.parametrize("kind", ["set", "counter"])
@pytest.mark.parametrize("level", ["serializable", "snapshot"])
def test_a_right_log(kind: str, level: str, tmp_path: Path) -> None:
    found = _decided(tmp_path, kind, _serial(kind, 2000), level)
    assert (found.status, found.engine, found.verified_prefix) == (Status.CORRECT, "dependencies", 2000)


_WRONG = {
    "counter, lost update": (
        "counter",
        [
            _txn("a", ["r", "x", FAR, 0], ["inc", "x", FAR, 3]),
            _txn("b", ["r", "x", FAR, 0], ["inc", "x", FAR, 4]),
        ],
        "snapshot",
        "lost-update",
        {"a", "b"},
    ),
    "counter, between what one read and what it left": (
        "counter",
        [
            _txn("a", ["r", "x", FAR, 0], ["inc", "x", FAR, 3]),
            _txn("c", ["inc", "x", FAR, 1]),
            _txn("b", ["r", "x", FAR, 1]),
        ],
        "serializable",
        "fractured-read",
        {"a", "b"},
    ),
    "counters, read in opposite orders": (
        "counter",
        [
            _txn("w", ["inc", "x", FAR, 3]),
            _txn("v", ["inc", "x", FAR + 1, 3]),
            _txn("a", ["r", "x", FAR, 3], ["r", "x", FAR + 1, 0]),
            _txn("b", ["r", "x", FAR, 0], ["r", "x", FAR + 1, 3]),
        ],
        "snapshot",
        "long-fork",
        {"a", "b"},
    ),
    "counter, no sum": (
        "counter",
        [_txn("a", ["inc", "x", FAR, 3]), _txn("c", ["inc", "x", FAR, 5]), _txn("b", ["r", "x", FAR, 4])],
        "read-committed",
        "counter-anomaly",
        {"b"},
    ),
    "set, write skew": (
        "set",
        [
            _txn("a", ["r", "x", FAR, []], ["add", "x", FAR + 1, "p"]),
            _txn("b", ["r", "x", FAR + 1, []], ["add", "x", FAR, "q"]),
        ],
        "serializable",
        "write-skew",
        {"a", "b"},
    ),
    "set, a part of what one added": (
        "set",
        [_txn("a", ["add", "x", FAR, "p"], ["add", "x", FAR, "q"]), _txn("b", ["r", "x", FAR, ["q"]])],
        "prefix",
        "fractured-read",
        {"a", "b"},
    ),
    "set, an element of nothing": (
        "set",
        [_txn("a", ["add", "x", FAR, "p"]), _txn("b", ["r", "x", FAR, ["p", "q"]])],
        "read-committed",
        "garbage-read",
        {"b"},
    ),
}


@pytest.mark.parametrize("name", _WRONG)
def test_a_wrong_log(name: str, tmp_path: Path) -> None:
    kind, added, level, anomaly, core = _WRONG[name]
    found = _decided(tmp_path, kind, [*_serial(kind, 1000), *added], level)
    assert found.status is Status.VIOLATION and found.account is not None
    assert (found.account.anomaly, found.failing_transaction) == (anomaly, added[-1]["id"])
    assert (set(found.core or ()), found.verified_prefix) == (core, 1000 + len(added) - 1)


@pytest.mark.parametrize(
    ("seen", "anomaly"), [(2, "stale-read"), (9, "future-read"), (3, None)], ids=["less", "more", "enough"]
)
def test_a_counter_beside_the_clock(seen: int, anomaly: str | None, tmp_path: Path) -> None:
    unknown = {"id": "u", "status": "unknown", "ops": [["inc", "x", 1, 5]], "invoked": 0}
    lines = [
        _txn("a", ["inc", "x", 1, 1], invoked=0, returned=10),
        _txn("b", ["inc", "x", 1, 2], invoked=5, returned=12),
        unknown,
        _txn("r", ["r", "x", 1, seen], invoked=13, returned=20),
        _txn("c", ["inc", "x", 1, 1], invoked=21, returned=30),
    ]
    found = _decided(tmp_path, "counter", lines, "strict-serializable")
    assert found.status is (Status.VIOLATION if anomaly else Status.CORRECT)
    if anomaly:
        assert found.account is not None and found.account.anomaly == anomaly
        core = ("a", "b", "r") if anomaly == "stale-read" else ("r",)
        assert (found.core, found.verified_prefix, ASSUMED in found.notes) == (core, 2, True)

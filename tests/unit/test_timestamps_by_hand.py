"""Logs made by hand at the levels by timestamps (`tests/data/timestamps/by-hand.txt`): what `audit` says of each, and
that the same violations stand at the end whatever the order in which its transactions come."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.unit.commands import write
from troubadour.formats.entries import RawHeader, RawTransaction, read_header, read_transaction
from troubadour.isolation.levels import LEVELS
from troubadour.timestamps.ledger import Rules
from troubadour.watch.judging import ByTimestamps

Json = dict[str, Any]
SOURCE = Path(__file__).parents[1] / "data" / "timestamps" / "by-hand.txt"
ORDERS = 24


def operations(text: str) -> list[Any]:
    """JSON values beside one another."""
    found, at = [], 0
    while at < len(text):
        value, at = json.JSONDecoder().raw_decode(text, at)
        found.append(value)
        at += len(text[at:]) - len(text[at:].lstrip())
    return found


def transaction(line: str) -> Json:
    words, _, ops = line.partition("[")
    id, *rest = words.split()
    found: Json = {"id": id, "status": "committed"}
    for word in rest:
        if word in ("aborted", "unknown"):
            found["status"] = word
        elif "/" in word:
            session, number = word.split("/")
            found |= {"session": session, "sno": int(number)}
        else:
            times = re.fullmatch(r"[@~](-?\d+)?-(-?\d+)?", word)
            assert times is not None, word
            names = ("start", "commit") if word[0] == "@" else ("invoked", "returned")
            found |= {name: int(time) for name, time in zip(names, times.groups(), strict=True) if time}
    return {**found, "ops": operations("[" + ops)}


def header(lines: list[str]) -> Json:
    found: Json = {"format": "troubadour-log", "version": 1, "objects": {}, "initial": {}}
    for name, type, initial in (re.fullmatch(r"(\w+): (\w+) ?(.*)", line).groups() for line in lines):  # type: ignore[union-attr]
        found["objects"][name] = type
        if initial:
            found["initial"][name] = json.loads(initial)
    return found


def read() -> list[tuple[str, list[Json], list[str]]]:
    """Of each log its name, its lines and what is expected of it."""
    found = []
    for part in SOURCE.read_text(encoding="utf-8").split("\n== ")[1:]:
        name, *lines = part.strip().splitlines()
        expected = [line[2:] for line in lines if line.startswith(">")]
        objects = [line for line in lines if re.match(r"\w+: ", line)]
        rest = [line for line in lines if line not in objects and not line.startswith(">")]
        found.append((name.split()[0], [header(objects), *map(transaction, rest)], expected))
    return found


LOGS = read()


def violations_of(lines: list[Json], level: str, options: list[str]) -> int:
    """How many stand when all lines came."""
    asked = LEVELS[level]
    rules = Rules(asked.horizon.latest, "visible" in options, "violation" in options)
    begun = read_header(json.dumps(lines[0]).encode())
    assert isinstance(begun, RawHeader)
    judge = ByTimestamps(begun, asked, rules, 5.0)
    for line in lines[1:]:
        entry = read_transaction(json.dumps(line).encode())
        assert isinstance(entry, RawTransaction)
        for _ in judge.add(entry):
            pass
    return judge.ledger.count()


@pytest.mark.parametrize(("lines", "expected"), [one[1:] for one in LOGS], ids=[one[0] for one in LOGS])
def test_by_hand(run: Any, tmp_path: Path, lines: list[Json], expected: list[str]) -> None:
    assert expected
    log = write(tmp_path, *lines)
    for one in expected:
        asked, _, wanted = one.partition(": ")
        level, *options = asked.split()
        told = run("audit", "--isolation", level, *options, "--format", "json", log).json
        violations = told["violations"]
        if wanted == "correct":
            assert told["verdict"] == "correct" and violations is None, one
        else:
            verdict, prefix, *more = wanted.split(", ")
            assert f"violation at {told['failing_transaction']}" == verdict, one
            assert f"prefix {told['verified_prefix']}" == prefix, one
            for part in more:
                word, *rest = part.split()
                if word == "core":
                    assert told["core"] == rest, one
                elif word == "origin":
                    assert [violations["first"][0]["origin"]] == rest, one
                else:
                    counts = {axiom: count for axiom, count in violations["by_axiom"].items() if count}
                    pairs = part.split()
                    assert counts == dict(zip(pairs[::2], map(int, pairs[1::2]), strict=True)), one
        if not LEVELS[level].ordered:
            continue
        count = 0 if violations is None else violations["count"]
        if options and options[1] == "visible":
            # equal commits take effect in the order in which they came
            assert violations_of(lines, level, options) == count, one
            continue
        for order in itertools.islice(itertools.permutations(lines[1:]), ORDERS):
            assert violations_of([lines[0], *order], level, options) == count, (one, [each["id"] for each in order])

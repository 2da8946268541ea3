"""Tiny random logs of operations whose transactions have the database's timestamps: of snapshots as these say, some
with ties, writes that change nothing, gaps in sessions, readers and unknown outcomes without timestamps, some of them
spoilt. Seeded. Does not know which level a log is correct at.
"""

from __future__ import annotations

import random
from typing import Any

from tests.property.object_logs import CHANGE, KINDS, TYPES, Cell, Draft, Json, State

__all__ = ["KINDS", "partly_numbered", "timestamped_log"]

Step = tuple[int, float, int, str]


def timestamped_log(kind: str, seed: int, *, least: int = 2, most: int = 5, ties: float = 0.4) -> Draft:
    """A log of so many transactions; the same for the same seed. `ties`: how many of the logs have equal timestamps."""
    rng = random.Random(f"{kind} timestamps {seed}")
    if kind == "mixed":
        types = {name: rng.choice(TYPES) for name in ("a", "b")}
    else:
        types = {kind[0]: kind}
    cells: list[Cell] = [(name, key) for name in types for key in (1, 2)]
    nothing: dict[str, Any] = {"register": None, "counter": 0, "list": [], "set": frozenset()}
    start: State = {cell: nothing[types[cell[0]]] for cell in cells}
    draft = Draft(types, {})
    count = rng.randrange(least, most + 1)
    tied = rng.random() < ties
    times = _times(rng, count, tied=tied)
    serial = rng.random() < 0.35
    sessions = _sessions(rng, count)
    committed: list[tuple[int, State]] = []
    lines: dict[int, Json] = {}
    own: dict[int, State] = {}
    for moment, _, number, what in _steps(rng, times):
        if what == "start":
            seen = dict(start)
            if not serial:
                for _, written in committed:
                    _write(seen, written)
            lines[number], own[number] = _run(rng, types, cells, seen, number)
            continue
        if serial:
            seen = dict(start)
            for _, written in committed:
                _write(seen, written)
            lines[number], own[number] = _run(rng, types, cells, seen, number)
        line = lines[number]
        begin, commit = times[number]
        line |= {"start": begin, "commit": commit}
        roll = rng.random()
        if roll < 0.05:
            line["status"] = "aborted"
        elif roll < 0.1:
            line["status"] = "unknown"
        if line["status"] == "committed" or (line["status"] == "unknown" and rng.random() < 0.5):
            committed.append((moment, own[number]))
        if not own[number] and rng.random() < 0.3:
            for name in rng.choice((("commit",), ("start", "commit"))):
                del line[name]
        elif line["status"] == "unknown" and rng.random() < 0.5:
            # the answer that tells them never came
            for name in rng.choice((("commit",), ("start", "commit"))):
                del line[name]
        if number in sessions:
            line |= sessions[number]
    draft.lines = [lines[number] for number in range(count)]
    if rng.random() < 0.45:
        _spoil(rng, draft)
    if rng.random() < 0.4:
        rng.shuffle(draft.lines)
    return draft


def partly_numbered(kind: str, seed: int, *, least: int = 2, most: int = 5, ties: float = 0.4) -> Draft:
    """The same, but transactions run in sessions, and some of each have no number."""
    rng = random.Random(f"{kind} partly numbered {seed}")
    draft = timestamped_log(kind, seed, least=least, most=most, ties=ties)
    numbers = dict.fromkeys("xy", 0)
    for line in rng.sample(draft.lines, len(draft.lines)):
        line["session"] = session = rng.choice("xxy")
        line.pop("sno", None)
        if rng.random() < 0.6:
            line["sno"] = numbers[session]
            numbers[session] += 1
        if rng.random() < 0.3:
            line["invoked"], line["returned"] = sorted(rng.sample(range(100), 2))
    return draft


def _times(rng: random.Random, count: int, *, tied: bool) -> list[tuple[int, int]]:
    """The start and the commit of each."""
    if tied:
        width = rng.choice((3, 5, 2 * count))
        pairs = [sorted((rng.randrange(width), rng.randrange(width))) for _ in range(count)]
        return [(begin, commit) for begin, commit in pairs]
    moments = rng.sample(range(4 * count), 2 * count)
    if rng.random() < 0.6:
        moments.sort()
        for place in range(len(moments) - 1):
            if rng.random() < 0.4:
                moments[place], moments[place + 1] = moments[place + 1], moments[place]
    return [(min(one), max(one)) for one in zip(moments[::2], moments[1::2], strict=True)]


def _steps(rng: random.Random, times: list[tuple[int, int]]) -> list[Step]:
    """Starts and commits as they come about; equal ones in any order."""
    found: list[Step] = []
    for number, (begin, commit) in enumerate(times):
        first = rng.random()
        found += [(begin, first, number, "start"), (commit, first + rng.random(), number, "commit")]
    return sorted(found)


def _sessions(rng: random.Random, count: int) -> dict[int, Json]:
    found: dict[int, Json] = {}
    if rng.random() < 0.5:
        return found
    numbers: dict[str, int] = {}
    for number in range(count):
        if rng.random() < 0.8:
            session = rng.choice("xy")
            found[number] = {"session": session, "sno": numbers.get(session, 0)}
            numbers[session] = found[number]["sno"] + rng.choice((1, 1, 1, 2))
    return found


def _write(seen: State, written: State) -> None:
    for cell, change in written.items():
        seen[cell] = change(seen[cell])


def _run(rng: random.Random, types: dict[str, str], cells: list[Cell], seen: State, number: int) -> tuple[Json, State]:
    """The line of a transaction that sees a state, and what it does to each cell that it changes."""
    here = dict(seen)
    operations: list[list[Any]] = []
    added: dict[Cell, list[Any]] = {}
    for _ in range(rng.choice((1, 1, 2, 2, 3, 4))):
        cell = rng.choice(cells)
        kind = types[cell[0]]
        if rng.random() < 0.5:
            shown = sorted(here[cell], key=str) if kind == "set" else here[cell]
            operations.append(["r", *cell, shown] if rng.random() < 0.95 else ["r", *cell])
            continue
        value = rng.choice((0, 1, 2, "1"))
        if kind == "counter":
            value = rng.choice((0, 1, -1, 2))
        elif rng.random() < 0.6:
            value = 10 * number + rng.randrange(10) + 100
        operations.append([CHANGE[kind], *cell, value])
        added.setdefault(cell, []).append(value)
        here[cell] = _changed(kind, here[cell], [value])
    changes = {cell: _change(types[cell[0]], values) for cell, values in added.items()}
    return {"id": f"t{number + 1}", "status": "committed", "ops": operations}, changes


def _change(kind: str, values: list[Any]) -> Any:
    return lambda there: _changed(kind, there, values)


def _changed(kind: str, there: Any, values: list[Any]) -> Any:
    if kind == "register":
        return values[-1]
    if kind == "list":
        return [*there, *values]
    return there + sum(values) if kind == "counter" else there | frozenset(values)


def _spoil(rng: random.Random, draft: Draft) -> None:
    reads = [one for line in draft.lines for one in line["ops"] if one[0] == "r" and len(one) == 4]
    what = rng.choice(("read", "read", "times", "number"))
    if what == "read" and reads:
        read = rng.choice(reads)
        value, kind = read[3], draft.types[read[1]]
        written = [
            one[3] for line in draft.lines for one in line["ops"] if one[0] == CHANGE[kind] and one[1] == read[1]
        ]
        if kind == "register":
            read[3] = rng.choice([*written, None, 0, 7])
        elif kind == "counter":
            read[3] = value + rng.choice((-1, 1))
        elif value and rng.random() < 0.5:
            read[3] = value[1:]
        else:
            read[3] = [*value, rng.choice([*written, 7])]
    elif what == "times":
        line = rng.choice(draft.lines)
        if "commit" in line and "start" in line:
            line["start"] = max(0, line["start"] - rng.randrange(4))
            line["commit"] += rng.randrange(4)
    else:
        numbered = [line for line in draft.lines if "sno" in line]
        mine = [line for line in numbered if line["session"] == "x"]
        for line, number in zip(mine, reversed([one["sno"] for one in mine]), strict=True):
            line["sno"] = number

"""Tiny random logs of operations on objects, mostly of real executions, some of them spoilt, and witnesses spoilt
likewise. Seeded. Does not know which level a log is correct at.
"""

from __future__ import annotations

import itertools
import json
import random
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from tests.property.random_logs import GENERAL
from troubadour.formats import read_either
from troubadour.model.log import TransactionId
from troubadour.model.objects import COMMITTED, ObjectLog
from troubadour.model.witness import RowRead, StatementRead, TransactionView, Witness

TYPES = ("register", "list", "set", "counter")
CHANGE = {"register": "w", "list": "append", "set": "add", "counter": "inc"}
KINDS = (*TYPES, "mixed")
Json = dict[str, Any]
Cell = tuple[str, Any]
State = dict[Cell, Any]


@dataclass
class Draft:
    """A log in the making: `types` of its objects by name, what cells hold at first, its lines."""

    types: dict[str, str]
    initial: State
    lines: list[Json] = field(default_factory=list)
    header: Json = field(default_factory=dict)

    def entries(self) -> list[Json]:
        """The lines of the file."""
        initial: dict[str, Json] = {}
        for (name, key), value in self.initial.items():
            shown = sorted(value, key=_in_turn) if isinstance(value, frozenset) else value
            initial.setdefault(name, {"rows": []})["rows"].append([key, shown])
        header = {"format": "troubadour-log", "version": 1, "objects": self.types, "initial": initial, **self.header}
        return [header, *self.lines]

    def read(self) -> ObjectLog:
        """As it is read back from its file."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "log.jsonl"
            path.write_text("".join(json.dumps(entry) + "\n" for entry in self.entries()))
            found = read_either([path])
        assert isinstance(found, ObjectLog)
        return found


def random_log(kind: str, seed: int, *, timed: bool = True, distinct: bool = False) -> Draft:
    """A log of 2 to 5 transactions on objects of one type, or of several; the same for the same seed. `distinct`: of 3
    to 7, and most values are written once."""
    rng = random.Random(f"{kind} objects {seed}")
    if kind == "mixed":
        types = {name: rng.choice(TYPES) for name in ("a", "b")[: rng.choice((1, 2, 2))]}
    else:
        types = {kind[0]: kind}
    keys = [1, "1"] if rng.random() < 0.4 else [1]
    cells = [(name, key) for name in types for key in keys]
    draft = Draft(types, {cell: _first(rng, types[cell[0]]) for cell in cells if rng.random() < 0.7})
    policy = rng.choice(("serial", "snapshot", "stale", "stale", "row", "set", "set", "any"))
    states: list[State] = [{cell: draft.initial.get(cell, _nothing(types[cell[0]])) for cell in cells}]
    writes: list[State] = [{}]
    fresh = itertools.count(100) if distinct else None
    for number in range(rng.choice((3, 4, 5, 5, 6, 7) if distinct else (2, 3, 3, 4, 4, 5))):
        line: Json = {"id": f"t{number + 1}" if rng.random() < 0.9 else number + 1, "status": "committed"}
        line["ops"], own = _run(rng, types, cells, states, writes, policy, fresh)
        if rng.random() < 0.08:
            line["status"] = "unknown"
        if rng.random() < 0.07:
            line["status"] = "aborted"
            own = {}
        if line["status"] == "unknown" and rng.random() < 0.5:
            own = {}
        writes.append(own)
        states.append({**states[-1], **{cell: _merged(states[-1][cell], value) for cell, value in own.items()}})
        draft.lines.append(line)
    if rng.random() < 0.35:
        _spoil(rng, draft)
    if timed:
        _give_times(rng, draft)
    if rng.random() < 0.4:
        _give_sessions(rng, draft)
    if rng.random() < 0.3:
        rng.shuffle(draft.lines)
    if rng.random() < 0.2:
        draft.header["isolation"] = "snapshot"
        for line in draft.lines:
            line["isolation"] = rng.choice(GENERAL)
    return draft


def _first(rng: random.Random, kind: str) -> Any:
    values = [0, 1, "1"]
    if kind == "register":
        return rng.choice([*values, None])
    if kind == "counter":
        return rng.choice([0, 1, 2**63])
    some = [rng.choice(values) for _ in range(rng.randrange(3))]
    return some if kind == "list" else frozenset(some)


def _in_turn(element: object) -> tuple[str, str]:
    """1 and its text, too, are in one order, whatever the process."""
    return str(element), type(element).__name__


def _nothing(kind: str) -> Any:
    return {"register": None, "counter": 0, "list": [], "set": frozenset()}[kind]


def _merged(there: Any, written: Any) -> Any:
    """Adds to sets come beside one another; all else is written whole."""
    return there | written if isinstance(written, frozenset) else written


def _run(
    rng: random.Random,
    types: dict[str, str],
    cells: Sequence[Cell],
    states: Sequence[State],
    writes: Sequence[State],
    policy: str,
    fresh: Iterator[int] | None = None,
) -> tuple[list[list[Any]], State]:
    newest = len(states) - 1
    state = newest if policy in ("serial", "snapshot") and rng.random() < 0.8 else rng.randrange(newest + 1)
    seen = {number for number in range(1, newest + 1) if rng.random() < 0.5}

    def view(cell: Cell) -> Any:
        if policy == "row":
            return states[rng.randrange(newest + 1)][cell]
        if policy != "set":
            return states[state][cell]
        value = states[0][cell]
        for number in sorted(seen):
            if cell in writes[number]:
                value = _merged(value, writes[number][cell])
        return value

    operations: list[list[Any]] = []
    own: State = {}
    for _ in range(rng.choice((1, 1, 2, 2, 3, 4))):
        cell = rng.choice(cells)
        name, key = cell
        kind = types[name]
        there = (
            own.get(cell, _nothing(kind)) | view(cell) if kind == "set" else own[cell] if cell in own else view(cell)
        )
        if rng.random() < 0.55:
            shown = sorted(there, key=_in_turn) if kind == "set" else there
            operations.append(["r", name, key, shown] if rng.random() < 0.93 else ["r", name, key])
            continue
        value = rng.choice((0, 1, 1, 2, "1"))
        if kind == "counter":
            value = rng.choice((0, 1, 1, -1, 2, 2**62))
        elif fresh is not None and rng.random() < 0.95:
            value = next(fresh)
        operations.append([CHANGE[kind], name, key, value])
        if kind == "set":
            own[cell] = own.get(cell, frozenset()) | {value}
        else:
            own[cell] = [*there, value] if kind == "list" else there + value if kind == "counter" else value
    return operations, own


def _spoil(rng: random.Random, draft: Draft) -> None:
    reads = [one for line in draft.lines for one in line["ops"] if one[0] == "r" and len(one) == 4]
    if not reads:
        return
    read = rng.choice(reads)
    value, kind = read[3], draft.types[read[1]]
    if kind in ("list", "set"):
        items = list(value)
        change = rng.choice(("drop", "add", "swap", "twice"))
        if change == "drop" and items:
            del items[rng.randrange(len(items))]
        elif change == "swap":
            items.reverse()
        else:
            items.append(items[0] if items and change == "twice" else rng.choice((0, 1, 2, "1")))
        read[3] = items
    elif kind == "counter":
        read[3] = value + rng.choice((-1, 1))
    else:
        read[3] = rng.choice([one for one in (0, 1, 2, "1", None) if one != value or type(one) is not type(value)])


def _give_times(rng: random.Random, draft: Draft) -> None:
    width = rng.choice((1, 3, 6))
    server, client = rng.random() < 0.5, rng.random() < 0.5
    clocks = ("a", "b") if rng.random() < 0.2 else (None,)
    for number, line in enumerate(draft.lines):
        if server and rng.random() < 0.9:
            commit = 3 * number + rng.randrange(3) + 10
            line["start"] = max(0, commit - rng.randrange(1, 3 * width))
            line["commit"] = commit
        if client and rng.random() < 0.9:
            invoked = 4 * number + rng.randrange(4)
            line["invoked"] = invoked
            returned = invoked + rng.randrange(1, 4 * width)
            sent = rng.randrange(invoked, returned + 1)
            if rng.random() < 0.8:
                line["returned"] = returned
            if rng.random() < 0.5:
                line["end"] = {"invoked": sent, **({"returned": returned} if rng.random() < 0.7 else {})}
                if rng.random() < 0.3:
                    line["end"] = {"returned": returned}
            clock = rng.choice(clocks)
            if clock is not None:
                line["clock"] = clock
            if rng.random() < 0.1:
                line["begin"] = {"invoked": invoked, "snapshot": rng.choice((True, False))}
            elif rng.random() < 0.1:
                line["snapshot_at"] = rng.choice(("begin", "statement", "imported"))
    if rng.random() < 0.15:
        draft.header["order"] = "exact"


def _give_sessions(rng: random.Random, draft: Draft) -> None:
    numbers: dict[str, int] = {}
    numbered = rng.random() < 0.6
    for line in draft.lines:
        if rng.random() < 0.8:
            session = rng.choice("xy")
            line["session"] = session
            if numbered and rng.random() < 0.9:
                line["sno"] = numbers.get(session, 0)
                numbers[session] = line["sno"] + 1
    if numbered and rng.random() < 0.2:
        # the numbers of one session the other way round
        mine = [line for line in draft.lines if line.get("session") == "x" and "sno" in line]
        for line, number in zip(mine, reversed([line["sno"] for line in mine]), strict=True):
            line["sno"] = number


def in_turn(log: ObjectLog, isolation: str | None) -> Witness:
    """A witness of the log's hint order in which each transaction reads the newest state, right or wrong."""
    order = [log.ids[place] for place in log.order if log.statuses[place] == COMMITTED]
    return Witness(log.digest, isolation, tuple(order), tuple(map(TransactionView, range(len(order)))))


def mutated(witness: Witness, log: ObjectLog, rng: random.Random) -> Witness:
    """The witness with one to three changes of its order, its states, what is hidden, and of single reads."""
    order: list[TransactionId] = list(witness.order)
    views: list[TransactionView] = list(witness.views)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        if not order:
            break
        number = rng.randrange(len(order))
        view = views[number]
        change = rng.choice(
            ("swap", "swap", "move", "state", "state", "hide", "show", "row", "drop", "add", "newest", "statement")
        )
        if change in ("swap", "move"):
            other = rng.randrange(len(order))
            if change == "swap":
                order[number], order[other] = order[other], order[number]
                if rng.random() < 0.5:
                    views[number], views[other] = views[other], views[number]
            else:
                order.insert(other, order.pop(number))
                views.insert(other, views.pop(number))
            if rng.random() < 0.5:
                views = [_latest(one, place) if rng.random() < 0.7 else one for place, one in enumerate(views)]
        elif change == "state":
            views[number] = msgspec.structs.replace(
                view, state=max(-1, rng.randrange(-1, number + 2)) if rng.random() < 0.3 else rng.randrange(number + 1)
            )
        elif change == "hide" and view.state > 0:
            hidden = set(() if view.hidden is msgspec.UNSET else view.hidden) | {rng.randrange(0, view.state + 1) or 1}
            views[number] = msgspec.structs.replace(view, hidden=tuple(sorted(hidden)))
        elif change == "show" and view.hidden is not msgspec.UNSET:
            views[number] = msgspec.structs.replace(view, hidden=view.hidden[1:])
        elif change == "row":
            views[number] = msgspec.structs.replace(
                view, exceptions=(*view.exceptions, _row_read(rng, log, order, number))
            )
        elif change == "drop" and rng.random() < 0.1:
            del order[number], views[number]
        elif change == "add" and rng.random() < 0.1:
            order.insert(number, rng.choice([*log.ids, "nobody"]))
            views.insert(number, TransactionView(rng.randrange(number + 1)))
        elif change == "newest" and rng.random() < 0.4:
            views[number] = msgspec.structs.replace(view, newest=rng.randrange(number + 2))
        elif change == "statement" and rng.random() < 0.4:
            read = StatementRead(
                rng.randrange(3), rng.randrange(2), rng.choice((view.state, rng.randrange(number + 1))), None
            )
            views[number] = msgspec.structs.replace(view, statements=(read,))
    return msgspec.structs.replace(witness, order=tuple(order), views=tuple(views))


def _latest(view: TransactionView, state: int) -> TransactionView:
    return msgspec.structs.replace(view, state=state, hidden=msgspec.UNSET)


def _row_read(rng: random.Random, log: ObjectLog, order: Sequence[TransactionId], number: int) -> RowRead:
    name = rng.choice(log.objects).name
    row = rng.choice((f"{name}:-:0", f"{name}:-:1", f"{name}:{json.dumps(rng.choice(order))}:{rng.randrange(2)}"))
    return RowRead(rng.randrange(4), rng.choice((0, 0, 0, 1)), row, rng.randrange(number + 1))

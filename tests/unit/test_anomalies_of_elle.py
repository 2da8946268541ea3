"""Facts of Elle's own tests (github.com/jepsen-io/elle at ccdee6f, test/elle: which small histories have which
anomalies, and which levels these rule out), in a notation of our own.

A transaction is words: `x+1` appends 1 to list x, `x=12` reads the list [1, 2] there, `x=` an empty one; `x:1` writes 1
to register x, `x?1` reads it, `x?` reads nothing; `x<1` adds 1 to set x, `x{1` reads {1}; `x^1` adds 1 to counter x,
`x#1` reads 1. `@p` is its session; `!` it aborted, `~` its outcome is unknown.
Where `times` is set each begins after the one before it was over; where `stamps` is, by the database's timestamps.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from troubadour.anomalies.assumptions import Assumption
from troubadour.anomalies.objects import anomalies_of
from troubadour.formats import read_either
from troubadour.isolation.models import weakest
from troubadour.model.objects import ObjectLog

SEQUENTIAL, LINEARIZABLE = Assumption.SEQUENTIAL_KEYS, Assumption.LINEARIZABLE_KEYS
FOLLOWING = Assumption.WRITES_FOLLOW_READS


_OBJECTS = {"l": "list", "r": "register", "s": "set", "c": "counter"}
_OPERATIONS = {
    "+": ("l", "append"), "=": ("l", "r"), ":": ("r", "w"), "?": ("r", "r"), "<": ("s", "add"), "{": ("s", "r"),
    "^": ("c", "inc"), "#": ("c", "r"),
}  # fmt: skip


def lines_of(texts: list[str], *, times: bool, stamps: bool = False) -> list[dict[str, Any]]:
    """A log's lines for transactions in the notation above."""
    used = {operation(word)[1] for text in texts for word in text.split() if word[0] not in "!~@"}
    objects = {name: kind for name, kind in _OBJECTS.items() if name in used}
    lines: list[dict[str, Any]] = [{"format": "troubadour-log", "version": 1, "objects": objects}]
    for number, text in enumerate(texts):
        line: dict[str, Any] = {"id": f"t{number + 1}", "status": "committed", "ops": []}
        for word in text.split():
            if word == "!":
                line["status"] = "aborted"
            elif word == "~":
                line["status"] = "unknown"
            elif word.startswith("@"):
                line["session"], line["sno"] = word[1:], number
            else:
                line["ops"].append(operation(word))
        if times:
            line |= {"invoked": 10 * number, "returned": 10 * number + 5}
        if stamps:
            line |= {"start": 10 * number, "commit": 10 * number + 5}
        lines.append(line)
    return lines


def operation(word: str) -> list[Any]:
    """One operation of the notation."""
    found = re.fullmatch(r"(\w)([+=:?<{^#])(-?\w*)", word)
    assert found is not None, word
    key, what, value = found.groups()
    name, kind = _OPERATIONS[what]
    if kind == "r" and name in "ls":
        return [kind, name, key, [int(digit) for digit in value]]
    return [kind, name, key, int(value) if value else None]


@dataclass(frozen=True)
class Case:
    name: str
    texts: list[str]
    names: set[str]
    """The anomalies."""
    out: set[str]
    """The weakest levels that they rule out."""
    times: bool = False
    stamps: bool = False
    assumed: list[Assumption] = field(default_factory=list)


READ_ATOMIC_TOO = {"consistent-view", "repeatable-read", "read-atomic"}
"""Of one transaction that saw a part of another: Elle does not name read atomic for it."""

CASES = [
    # list_append_test
    Case("list G0", ["x+1 y+1", "x+2 y+2", "x=12 y=21"], {"G0"}, {"PL-1"}),
    Case("list G1a", ["x+1 !", "x=1"], {"G1a"}, {"read-committed"}),
    Case("list G1a, two readers", ["x=1 x+2", "x=12 y=3", "x+1 !", "y+3"], {"G1a"}, {"read-committed"}),
    Case("list G1b", ["x+1 x+2", "x=1"], {"G1b"}, {"read-committed"}),
    Case("list G1c", ["x+1 y=1", "x+2 y+1", "x=12 y=1"], {"G1c"}, {"read-committed"}),
    Case("list G-single", ["x+1 y+1", "x+2 y=", "x=12"], {"G-single"}, {"consistent-view", "repeatable-read"}),
    Case("list G2", ["x+1 y=", "y+1 x="], {"G2-item"}, {"repeatable-read"}),
    Case(
        "list strong SI", ["x+1 @0", "x+2 @1", "x=1 @2", "x=12 @3"], {"G-single-realtime"},
        {"strong-snapshot-isolation"}, times=True,
    ),
    Case(
        "list strong SI by timestamps", ["x+1 @0", "x+2 @1", "x=1 @2", "x=12 @3"], {"G-single-timestamp"},
        {"strong-snapshot-isolation"}, stamps=True,
    ),
    Case(
        "list G0 by timestamps", ["x+2", "x+1", "x=12"], {"G0-timestamp"}, {"strong-read-uncommitted"}, stamps=True,
    ),
    Case(
        "register G1c by timestamps", ["x?1", "x:1"], {"G1c-timestamp"}, {"strong-read-committed"}, stamps=True,
    ),
    Case(
        "both clocks", ["x+1", "x+2", "x=1"], {"G-single-timestamp"}, {"strong-snapshot-isolation"}, stamps=True,
        times=True,
    ),
    Case(
        "list strong session SI", ["x+1 @0", "x+2 @1", "x=1 @1", "x=12 @2"], {"G-single-process"}, {"prefix"}
    ),
    Case(
        "list contradictory orders", ["x+1 y=1", "x+2", "x+3 y+1", "x=13", "x=123"], {"incompatible-order"},
        {"read-committed"},
    ),
    Case("list dirty update", ["x+1 !", "x+2", "x=12"], {"dirty-update", "G1a"}, {"read-committed"}),
    Case("list dirty update, indirect", ["x+1 !", "x+2 ~", "x+3", "x=123"], {"dirty-update"}, {"read-committed"}),
    Case("list duplicates", ["x+1 y=1", "x+2 y+1", "x=121"], {"duplicate-elements"}, {"PL-1", "read-uncommitted"}),
    Case("list internal", ["x+1 x+2 x+4", "x+3 x=1234"], {"internal"}, {"read-uncommitted"}),
    Case("list internal, FaunaDB", ["x+6 x="], {"internal"}, {"read-uncommitted"}),
    Case("list internal, two reads", ["x= x=2", "x+2"], {"internal", "G-single"}, READ_ATOMIC_TOO),
    Case("list future read", ["x=012 x+1", "x+0", "x+2"], {"future-read"}, {"read-committed"}),
    Case("list future read, inside", ["x+1 x=01 x+0 x+3"], {"future-read"}, {"read-committed"}),
    Case(
        "list unobserved write", ["x+1 y+1", "x+2 y+2", "x+3 y+3", "x=12", "y=2"], {"G0", "G-single"},
        {"cursor-stability", "update-atomic"},
    ),
    Case("list repeatable read", ["x= y+1", "y= x+1"], {"G2-item"}, {"repeatable-read"}),
    Case(
        "list G-nonadjacent", ["x+1", "x=1 y=", "y+1", "y=1 x="], {"G-nonadjacent"},
        {"repeatable-read", "snapshot", "prefix"},
    ),
    Case(
        "list no G-nonadjacent", ["x=5 y+1", "y= z+2", "z= t+3", "t=3 u+4", "u= x+5"], set(), set()
    ),
    Case(
        "list lost update", ["x+0", "x=0 x+1", "x=0 x+2"], {"lost-update", "G2-item"},
        {"cursor-stability", "update-atomic"},
    ),
    Case("list one transaction, two appends", ["x= x+1 x+2", "x=12"], set(), set()),
    Case(
        "list wr and process", ["x=1 y+1 @1", "y=1 @2", "x+1 @2"], {"G1c-process"}, {"strong-session-read-committed"}
    ),
    Case(
        "list G-nonadjacent and process", ["x= z=1 @0", "x+1 @1", "z= @1", "z+1 @2"], {"G-nonadjacent-process"},
        {"prefix"},
    ),
    Case("list G-single of items", ["x+1 y+1", "x=1 y="], {"G-single"}, READ_ATOMIC_TOO),
    Case(
        "list G-nonadjacent of items", ["x+1 t+1", "x=1 y=", "y+1 z+2", "z=2 t="], {"G-nonadjacent"},
        {"repeatable-read", "snapshot", "prefix"},
    ),
    Case("list read of unknown outcome", ["x+2 ~", "x+1 y+1", "x=12 y=1"], set(), set()),
    # rw_register_test
    Case("register never written", ["x:1", "x?2"], {"garbage-read"}, {"PL-1", "read-uncommitted"}, times=True),
    Case(
        "register stale read", ["x:1", "x:2", "x?2", "x?1"], {"cyclic-versions"}, {"PL-1"}, times=True,
        assumed=[LINEARIZABLE],
    ),
    Case("register G0, unseen", ["x:1 y:2 @0", "x:2 y:1 @1"], set(), set()),
    Case(
        "register G0", ["x:1 y:2 @0", "x:2 y:1 @1", "x?2 @0", "y?2 @1"], {"G0"}, {"PL-1"}, assumed=[SEQUENTIAL]
    ),
    Case("register G1a", ["x?1", "x:1 !"], {"G1a"}, {"read-committed"}),
    Case("register G1b", ["x:1 x:2", "x?1"], {"G1b"}, {"read-committed"}),
    Case("register G1c", ["x:1 y?1", "y:1 x?1"], {"G1c"}, {"read-committed"}),
    Case(
        "register versions that contradict one another", ["x?1", "x?", "x?4 x:3", "x:4"],
        {"garbage-read", "cyclic-versions", "G1c-realtime"}, {"PL-1", "read-uncommitted"}, times=True,
        assumed=[FOLLOWING, LINEARIZABLE],
    ),
    Case("register internal", ["x?1 x?2", "x:1", "x:2"], {"internal"}, {"read-atomic"}),
    Case("register initial state", ["x? y?1", "y:1 x:2"], {"G-single"}, READ_ATOMIC_TOO),
    Case("register writes follow reads", ["y?1 x:1 y:2", "x?1 y?1", "y:1"], {"G-single"}, READ_ATOMIC_TOO),
    Case(
        "register lost update", ["x:0", "x?0 x:1", "x?0 x:2"], {"lost-update", "G2-item"},
        {"cursor-stability", "update-atomic"},
    ),
    # section 5.2: transactions order versions, these order transactions, and so on
    Case(
        "register versions by their writers", ["x:1 y:1", "y?1 x:2 z:1", "z?1 x?1"], {"G-single"},
        READ_ATOMIC_TOO, assumed=[FOLLOWING],
    ),
    Case("register versions by their writers, not assumed", ["x:1 y:1", "y?1 x:2 z:1", "z?1 x?1"], set(), set()),
    Case(
        "register versions through versions", ["x:1 y:1 @0", "y:2 x:2 z:1 @1", "y?1 @2", "y?2 @2", "z?1 x?1"],
        {"G-single"}, READ_ATOMIC_TOO, assumed=[SEQUENTIAL, FOLLOWING],
    ),
    # the paper, section 7
    Case(
        "TiDB", ["x=21 y+5 x+4", "x+5", "x=2154", "x+2", "x+1"], {"G-single"}, {"consistent-view", "repeatable-read"}
    ),
    Case(
        "the paper's example", ["x+2 x+3 y+1 y+2", "x+8", "y+4 x=238 y=124", "x=23 y+3"], {"G-single"},
        {"consistent-view", "repeatable-read"},
    ),
    Case("YugabyteDB", ["x+8 y=3", "y+5 x=", "y+3"], {"G2-item"}, {"repeatable-read"}),
    Case("Dgraph, internal", ["x:2 x?1", "x:1"], {"internal"}, {"read-uncommitted"}),
    Case(
        "Dgraph, read skew", ["x?1 y?", "y:1", "x:1 y?1"], {"G-single"},
        {"consistent-view", "repeatable-read", "prefix"},
    ),
    Case(
        "Dgraph, cyclic versions", ["z? x:2", "x? y:1", "x?2"], {"cyclic-versions"}, {"PL-1"}, times=True,
        assumed=[LINEARIZABLE],
    ),
]  # fmt: skip


def log_of(case: Case, folder: Path) -> ObjectLog:
    """The log of a case."""
    path = folder / "log.jsonl"
    path.write_text(
        "".join(json.dumps(line) + "\n" for line in lines_of(case.texts, times=case.times, stamps=case.stamps))
    )
    found = read_either([path])
    assert isinstance(found, ObjectLog)
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_names_and_levels(case: Case, tmp_path: Path) -> None:
    found = anomalies_of(log_of(case, tmp_path), case.assumed).anomalies
    names = {one.name for one in found}
    out = frozenset().union(*(one.rules_out for one in found))
    assert case.names <= names if case.names else not names, names
    assert set(weakest(out)) == case.out, [one.text for one in found]
    assert {one.name for one in found if one.assumed} <= case.names and any(one.assumed for one in found) == bool(
        case.assumed
    )


def logged(folder: Path, kind: str, rows: list[dict[str, Any]]) -> ObjectLog:
    """A log of one object, its transactions as they are given."""
    lines = [{"format": "troubadour-log", "version": 1, "objects": {"o": kind}}]
    lines += [{"id": f"t{number}", "status": "committed", **row} for number, row in enumerate(rows, 1)]
    path = folder / "log.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = read_either([path])
    assert isinstance(found, ObjectLog)
    return found


@pytest.mark.parametrize(
    ("texts", "order", "name", "out"),
    [
        (["x? y:2", "x:3 y:4"], [2, 1], "G-single", {"consistent-view", "repeatable-read"}),
        (["x:1 y:2 z:3", "x?1 y:5", "z?3 x:4", "z:7 y:8"], [1, 4, 2, 3], "G2-item", {"repeatable-read"}),
    ],
    ids=["G-single", "G2-item"],
)
def test_a_given_order_of_transactions(
    texts: list[str], order: list[int], name: str, out: set[str], tmp_path: Path
) -> None:
    rows = [
        {"ops": [[what, "o", *rest] for what, _, *rest in map(operation, text.split())], "start": 0, "commit": at}
        for text, at in zip(texts, order, strict=True)
    ]
    log = logged(tmp_path, "register", rows)
    assert not anomalies_of(log).anomalies
    found = anomalies_of(log, [Assumption.COMMIT_ORDER]).anomalies
    assert [one.name for one in found] == [name]
    assert set(weakest(frozenset().union(*(one.rules_out for one in found)))) == out


def test_reads_of_nothing_before_a_concurrent_write_are_no_circle(tmp_path: Path) -> None:
    rows = [
        {"ops": [["r", "o", 1, None]], "invoked": 3, "returned": 7},
        {"ops": [["w", "o", 1, 4]], "invoked": 4, "returned": 8},
        {"ops": [["r", "o", 1, 4]], "invoked": 9, "returned": 10},
    ]
    assert not anomalies_of(logged(tmp_path, "register", rows), [LINEARIZABLE]).anomalies


def ring(count: int, noise: int) -> list[dict[str, Any]]:
    """A circle with one anti-dependency through `count` transactions, and many with two, that are short."""
    rows: list[list[list[Any]]] = []
    for number in range(count):
        other = {0: ["append", "o", "anti", 1], count - 1: ["r", "o", "anti", []]}
        rows.append([["append", "o", "ring", number], other.get(number, ["append", "o", number, 0])])
    rows.append([["r", "o", "ring", [*range(count)]]])
    for number in range(1, count - 1):
        rows += [[["append", "o", number, at]] for at in range(1, noise - 2)]
        rows.append([["r", "o", number, [*range(noise - 2)]], ["r", "o", f"anti {number}", []]])
        rows.append([["append", "o", f"anti {number}", 0], ["r", "o", "ring", []]])
    return [{"ops": ops} for ops in rows]


@pytest.mark.parametrize(
    ("count", "noise"), [(60, 10), pytest.param(1_000, 30, marks=pytest.mark.slow)], ids=["small", "as Elle's"]
)
def test_a_long_circle_among_many_short_ones_is_found(count: int, noise: int, tmp_path: Path) -> None:
    found = {one.name: one for one in anomalies_of(logged(tmp_path, "list", ring(count, noise))).anomalies}
    assert len(found["G-single"].transactions) == count
    assert "cycle-exists" not in found

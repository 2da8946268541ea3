"""Broken and hostile histories of other checkers, and object logs, seeded: changes in bytes, lines, tokens and JSON.

``python -m tests.property.fuzz_histories --histories 20000`` (``make fuzz``) tries many; ``--show SEED`` prints one.
Whatever the file, an audit ends with a verdict, or with exit status 2 and one line; what is imported can be read. Does
not know which of them is right.
"""

from __future__ import annotations

import json
import random
import struct
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from traceback import format_exc

from tests.property.fuzz_logs import (
    STATUS,
    Found,
    Text,
    bytes_changed,
    campaign,
    ended,
    json_changed,
    lines_changed,
    misworded,
)
from tests.property.object_logs import KINDS, random_log

BLOCK = 50
_TOKENS = """
nil true {} [] () #{} #inst"2020" #uuid"x" #jepsen.history.Op{ :type :invoke :ok :fail :info :value :f :process :nemesis
:txn :append :r :w :add :read :cas :transfer -1 0 1.5 1e400 99999999999999999999 NaN ##Inf "x" "\\u12" \\a \\newline ;
{ } [ ] ( ) , : # ^ ' ` @ null false {"a":1} [[1]] "\\ud800" w( r( ) w(1,2,3,4) 1N 1M 2/3 ----- ===== [x:=1] ! --- sts
cts sid tid ops t k v p l Write Read variable version committed events 18446744073709551616 -9223372036854775809
"""
TOKENS = _TOKENS.split()

_LISTS = """{:type :invoke, :f :txn, :value [[:append 4 2] [:r 5 nil]], :process 2, :index 0, :time 1000}
#jepsen.history.Op{:index 1, :time 2500, :type :info, :process :nemesis, :f :kill, :value nil}
{:type :invoke, :f :txn, :value [[:r 4 nil] [:append 4 3]], :process 0, :index 2, :time 3000}
{:type :ok, :f :txn, :value [[:append 4 2] [:r 5 nil]], :process 2, :index 3, :time 4999}
{:type :fail, :f :txn, :value [[:r 4 nil] [:append 4 3]], :process 0, :error [:conflict "x"], :index 4, :time 6000}
{:type :invoke, :f :txn, :value [[:r 4 nil]], :process 2, :index 5, :time 7000}
{:type :info, :f :txn, :value [[:append 4 9] [:r 4 nil]], :process 2, :index 8, :time 9500}
"""


def _pairs(*operations: tuple[str, str, str]) -> bytes:
    """Operations one after another: function, what was asked, what was answered."""
    lines = []
    for process, (function, asked, answered) in enumerate(operations):
        lines.append(f"{{:type :invoke :f :{function} :value {asked} :process {process}}}")
        lines.append(f"{{:type :ok :f :{function} :value {answered} :process {process}}}")
    return ("\n".join(lines) + "\n").encode()


def _events() -> list[dict[str, object]]:
    asked, answered = [["append", 4, 2], ["r", 5, None]], [["append", 4, 2], ["r", 5, [1]]]
    return [
        {"type": "invoke", "f": "txn", "process": 2, "value": asked, "time": 10},
        {"type": "ok", "f": "txn", "process": 2, "value": answered, "time": 20},
        {"type": "invoke", "f": "txn", "process": 0, "value": [["w", 4, None], ["r", 4, None]], "time": 30},
    ]


def _bincode() -> bytes:
    text = b"".join(struct.pack("<Q", len(one)) + one for one in (b"a", b"b", b"c"))
    head = struct.pack("<5Q", 1, 1, 1, 1, 1) + text
    events = b"".join(struct.pack("<BQQB", write, 1, value, 1) for write, value in ((1, 7), (0, 7)))
    return head + struct.pack("<3Q", 1, 1, 2) + events + b"\x01"


def _cobra() -> bytes:
    def entry(kind: bytes, *fields: int) -> bytes:
        return kind + struct.pack(f">{len(fields)}Q", *fields)

    one = entry(b"S", 1) + entry(b"W", 3, 5, 77) + entry(b"R", 0xBEBEEBEE, 0xDEADBEEF, 6, 0) + entry(b"C", 1)
    return one + entry(b"S", 2) + entry(b"R", 1, 3, 5, 77) + entry(b"C", 2)


def _chronos() -> bytes:
    ops = [{"t": "w", "k": 7, "v": 2}, {"t": "r", "k": 9}, {"t": "r", "k": 7, "v": 2}]
    lists = [{"t": "a", "k": 7, "v": 2}, {"t": "r", "k": 7, "v": [2]}]
    one = {"tid": 67, "sid": 19, "sts": {"p": "10", "l": 2}, "cts": {"p": 10, "l": 5}, "ops": ops}
    return json.dumps(
        [one, one | {"tid": 68, "sts": {"p": 11, "l": 0}, "cts": {"p": 12, "l": 0}, "ops": lists}]
    ).encode()


SOURCES: tuple[tuple[str, bytes], ...] = (
    ("elle", _LISTS.encode()),
    ("elle", b"[" + _LISTS.encode() + b"]"),
    ("elle", "\n".join(map(json.dumps, _events())).encode()),
    ("elle", json.dumps(_events()).encode()),
    (
        "elle",
        _pairs(("txn", "[[:w x 1] [:r :y nil]]", "[[:w x 1] [:r :y nil]]"), ("txn", "[[:r x nil]]", "[[:r x 1]]")),
    ),
    (
        "elle",
        _pairs(("read", "nil", "{0 10, 1 12}"), ("transfer", "{:from 0 :to 1 :amount 5}", "{:from 0 :to 1 :amount 5}")),
    ),
    ("elle", _pairs(("add", "2", "2"), ("read", "nil", "2"), ("add", "-3", "-3"))),
    ("elle", _pairs(("add", "[0 1]", "[0 1]"), ("read", "nil", "#{[0 1]}"), ("read", "nil", "[2]"))),
    ("elle", _pairs(("write", "1", "1"), ("cas", "[1 2]", "[1 2]"), ("read", "nil", "2"))),
    ("elle", _pairs(("write", "[7 1]", "[7 1]"), ("cas", "[7 [1 2]]", "[7 [1 2]]"), ("read", "[7 nil]", "[7 2]"))),
    ("elle", _pairs(("acquire", "nil", "nil"), ("release", "nil", "nil"))),
    ("chronos", _chronos()),
    ("dbcop", _bincode()),
    (
        "dbcop",
        b'[[{"events":[{"Write":{"variable":0,"version":1}},{"Read":{"variable":0,"version":1}}],"committed":true}]]',
    ),
    ("dbcop", b"[x:=1 y==2]\n[x==1]!\n---\n[y:=2]\n"),
    ("polysi", b"w(7,0,0,0)\nw(8,5,0,0)\nw(7,1,1,1)\nr(8,5,1,1)\n\nr(7,1,2,2)\nw(8,-2,1,3)\n"),
    ("awdit", b"w 0 1\nr 0 1\n-----\nw 1 2\n=====\nr 1 2\n"),
    ("cobra", _cobra()),
)
"""Histories by their format."""


def _tokens_changed(rng: random.Random, text: bytes) -> bytes:
    """A token put in, or in the place of some bytes."""
    at = rng.randrange(len(text) + 1)
    words = b" %s " % rng.choice(TOKENS).encode() if rng.random() < 0.5 else rng.choice(TOKENS).encode()
    return text[:at] + words + text[at + rng.choice((0, 0, 1, 4)) :]


def _cut(rng: random.Random, text: bytes) -> bytes:
    """Torn."""
    return text[: rng.randrange(len(text) + 1)]


CHANGES: tuple[tuple[str, Text], ...] = (
    ("bytes", bytes_changed),
    ("lines", lines_changed),
    ("tokens", _tokens_changed),
    ("tokens", _tokens_changed),
    ("json", json_changed),
    ("operations", partial(json_changed, inside=b'"ops"')),
    ("torn", _cut),
)


def history_of(seed: int) -> tuple[str, str | None, bytes]:
    """What was changed, the format (None: an object log), and the file."""
    rng = random.Random(f"history {seed}")
    if rng.random() < 0.35:
        form, number = None, rng.randrange(400)
        draft = random_log(rng.choice(KINDS), number)
        text = "".join(json.dumps(entry) + "\n" for entry in draft.entries()).encode()
    else:
        form, text = rng.choice(SOURCES)
    kind, change = rng.choice(CHANGES)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        text = change(rng, text)
    return f"{kind} of {form or 'an object log'}", form, text


def fault(path: Path, form: str | None, level: str) -> tuple[int, str | None]:
    """The exit status, and what is wrong with how an audit of the file ended."""
    source = [] if form is None else ["--from", form]
    try:
        status, out, err = ended(["audit", "--format", "json", *source, "--isolation", level, str(path)])
    except Exception:  # noqa: BLE001 - a traceback is what is looked for
        return 70, format_exc()
    wrong = misworded(status, out, err, 700)
    if wrong is not None or status == 2:
        return status, wrong
    return status, None if STATUS[json.loads(out)["verdict"]] == status else f"status {status} and {out[:300]}"


def run(seeds: Sequence[int]) -> Found:
    """Counts by change and exit status, and what went wrong."""
    counts: Counter[str] = Counter()
    faults: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "cobra").mkdir()
        for seed in seeds:
            what, form, text = history_of(seed)
            path = folder / "cobra" if form == "cobra" else folder / "history"
            (path / "T0.log" if form == "cobra" else path).write_bytes(text)
            level = random.Random(seed).choice(("serializable", "strict-snapshot", "causal", "read-committed"))
            status, wrong = fault(path, form, level)
            counts[f"{what.partition(' ')[0]}: {status}"] += 1
            if wrong is not None:
                faults.append(f"seed {seed} ({what}) at {level}: {wrong}")
    return counts, faults


def shown(seed: int) -> tuple[str, bytes]:
    """What was changed, and the file."""
    what, _, text = history_of(seed)
    return what, text


if __name__ == "__main__":
    sys.exit(campaign("histories", 20_000, shown, run, BLOCK))

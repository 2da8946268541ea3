"""Logs of operations on objects: what is read, what is refused, and that the two ways of reading agree."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import pytest

from troubadour.formats import LogWriter, read_either, read_log, write_objects
from troubadour.formats.objects.read import ObjectLogReader
from troubadour.model.log import Log, LogError
from troubadour.model.objects import COMMITTED, INC, READ, UNREAD, ObjectLog, Operation

OBJECTS = {"kv": "register", "l": "list", "s": "set", "c": "counter"}
HEADER: dict[str, Any] = {"format": "troubadour-log", "version": 1, "objects": OBJECTS, "isolation": "snapshot"}
OK: dict[str, Any] = {"id": "t1", "status": "committed", "ops": [["r", "kv", 7, 3], ["w", "kv", 7, 4]]}


def dump(*entries: object) -> bytes:
    return b"".join((entry if isinstance(entry, bytes) else json.dumps(entry).encode()) + b"\n" for entry in entries)


def read(tmp_path: Path, *segments: bytes) -> ObjectLog:
    paths = []
    for number, content in enumerate(segments, 1):
        paths.append(tmp_path / f"s{number}.jsonl")
        paths[-1].write_bytes(content)
    found = read_either(paths)
    assert isinstance(found, ObjectLog)
    return found


def refusal(tmp_path: Path, *segments: bytes) -> str:
    with pytest.raises(LogError) as caught:
        read(tmp_path, *segments)
    message = str(caught.value)
    assert "\n" not in message
    return message.replace(f"{tmp_path}/", "")


def operations(log: ObjectLog, place: int) -> list[list[Any]]:
    return [
        [one.kind, log.objects[one.object].name, one.key, one.value if one.known else ...]
        for one in log.operations(place)
    ]


def test_every_type(tmp_path: Path) -> None:
    initial = {
        "kv": {"default": 0, "rows": [[7, 3], ["7", None]]},
        "l": {"rows": [[1, [5, "5"]]]},
        "c": {"default": -2},
    }
    ops = [
        ["r", "kv", 7, 3], ["r", "kv", "7", None], ["r", "kv", 7], ["w", "kv", 7, "x"], ["append", "l", 1, 2**70],
        ["r", "l", 1, [5, "5", 2**70]], ["r", "l", 2, []], ["r", "l", 3, None], ["add", "s", "k", 1],
        ["add", "s", "k", 1], ["r", "s", "k", [1]], ["inc", "c", 1, -(2**80)], ["r", "c", 1, -2 - 2**80],
    ]  # fmt: skip
    log = read(tmp_path, dump({**HEADER, "initial": initial}, {**OK, "ops": ops}))
    codes = {"r": READ, "w": 1, "append": 2, "add": 3, "inc": INC}
    expected = [[codes[kind], *rest] for kind, *rest in ops]
    expected[2] = [READ, "kv", 7, ...]
    expected[7] = [READ, "l", 3, ()]
    assert operations(log, 0) == [[k, o, key, tuple(v) if isinstance(v, list) else v] for k, o, key, v in expected]
    kv, lists, sets, counters = log.objects
    assert [log.shown(kv.initial(log.codes.code(key)), "register") for key in (7, "7", 8)] == [3, None, 0]
    assert [log.shown(lists.initial(key), "list") for key in (1, 2)] == [(5, "5"), ()]
    assert log.shown(sets.initial(1), "set") == ()
    assert log.shown(counters.initial(1), "counter") == -2
    assert log.operation(2) == Operation(READ, 0, 7, None, known=False) and log.values[2] == UNREAD


def test_fields_of_a_transaction(tmp_path: Path) -> None:
    full = {
        **OK, "session": 4, "sno": 0, "isolation": "serializable", "start": 5, "commit": 6, "invoked": 7, "returned": 8,
        "clock": "a", "end": {"invoked": 7, "returned": 8}, "xid": "12", "read_only": False,
    }  # fmt: skip
    aborted = {
        "id": 1,
        "status": "aborted",
        "session": "4",
        "sno": 1,
        "ops": [],
        "end": {"error": {"sqlstate": "40001"}},
    }
    log = read(tmp_path, dump(HEADER, full, aborted))
    assert [log.session(place) for place in (0, 1)] == ["4", "4"]
    assert (log.numbers[0], log.starts[0], log.commits[0], log.invoked[0], log.returned[0]) == (0, 5, 6, 7, 8)
    assert log.clock_names[log.clocks[0]] == "a" and log.level_names[log.levels[0]] == "serializable"
    assert log.statuses[0] == COMMITTED and log.end(1) is not None
    as_sql = read_log([tmp_path / "s1.jsonl"])
    (first, second) = as_sql.transactions
    assert (first.sno, first.xid, first.read_only, first.clock, second.id) == (0, "12", False, "a", 1)
    assert second.end is not None and second.end.error is not None
    write_objects(tmp_path / "again.jsonl.gz", log)
    again = read_log([tmp_path / "again.jsonl.gz"])
    assert list(again.transactions) == list(as_sql.transactions) and again.header == as_sql.header


def test_intents_segments_and_hint_order(tmp_path: Path) -> None:
    first = dump(
        {**HEADER, "initial": {"kv": {"default": 1}}, "log_id": "a", "segment": 1},
        {**OK, "id": "i", "kind": "intent", "status": "unknown"},
        {**OK, "id": "a", "commit": 9},
        {"kind": "end", "transactions": 1},
    )
    second = dump(
        {**HEADER, "log_id": "a", "segment": 2}, {**OK, "id": "i", "commit": 3}, {**OK, "id": "b", "commit": 5}
    )
    log = read(tmp_path, first, second)
    assert [log.ids[place] for place in log.order] == ["i", "b", "a"]
    assert log.count(COMMITTED) == 3 and log.objects[0].default == 1
    late = dump({**HEADER, "segment": 3}, {**OK, "id": "a", "kind": "intent", "status": "unknown"})
    assert read(tmp_path, first, second, late).ids == log.ids


def test_unknown_at_first(tmp_path: Path) -> None:
    header = {**HEADER, "initial": {"kv": "unknown"}}
    log = read(tmp_path, dump(header, OK))
    assert [one.unknown for one in log.objects] == [True, False, False, False]
    assert read_log([tmp_path / "s1.jsonl"]).header.initial_unknown == ("kv",)
    message = refusal(tmp_path, dump(header, {"kind": "rows", "table": "kv", "rows": [[1, 2]]}, OK))
    assert message == "s1.jsonl:2: initial values of 'kv', which the header calls unknown"


def test_packed_and_with_rows(tmp_path: Path) -> None:
    rows = {"kind": "rows", "table": "l", "rows": [[1, [2, 3]], [2, []]]}
    text = dump(HEADER, rows, OK, {"kind": "gap", "reason": "lost"}, {"kind": "end", "transactions": 1})
    log = read(tmp_path, gzip.compress(text))
    assert log.shown(log.objects[1].initial(1), "list") == (2, 3)
    assert log.header.gaps[0].reason == "lost"
    plain = read(tmp_path, text)
    assert plain.digest == log.digest


TRANSACTIONS: dict[str, tuple[dict[str, Any], str]] = {
    "unknown operation": (
        {"ops": [["r", "kv", 1], ["cas", "kv", 1, 2]]},
        "transaction 't1', operation 2: unknown operation 'cas' (known are r, w, append, add, inc)",
    ),
    "unknown object": ({"ops": [["r", "kw", 1, 2]]}, "operation 1: unknown object 'kw': the header does not name it"),
    "append to a register": ({"ops": [["append", "kv", 1, 2]]}, "'append' is for a list, but 'kv' is a register"),
    "write to a counter": ({"ops": [["w", "c", 1, 2]]}, "'w' is for a register, but 'c' is a counter"),
    "add to a list": ({"ops": [["add", "l", 1, 2]]}, "'add' is for a set, but 'l' is a list"),
    "inc of a set": ({"ops": [["inc", "s", 1, 2]]}, "'inc' is for a counter, but 's' is a set"),
    "start after commit": ({"start": 5, "commit": 4}, "transaction 't1': commit 4 is before start 5"),
    "returned early": ({"invoked": 5, "returned": 4}, "the transaction returned at 4, before it was invoked at 5"),
    "end early": ({"end": {"invoked": 5, "returned": 4}}, "the end returned at 4, before it was invoked at 5"),
    "list shown by a register": (
        {"ops": [["r", "kv", 1, [2]]]},
        "no answer to a read of a register: an integer, a text",
    ),
    "number shown by a list": ({"ops": [["r", "l", 1, 2]]}, "2 is no answer to a read of a list: a list of integers"),
    "text shown by a set": ({"ops": [["r", "s", 1, "2"]]}, "'2' is no answer to a read of a set: a list of integers"),
    "null in a list": ({"ops": [["r", "l", 1, [None]]]}, "[None] is no answer to a read of a list"),
    "text shown by a counter": ({"ops": [["r", "c", 1, "2"]]}, "'2' is no answer to a read of a counter: an integer"),
    "null shown by a counter": ({"ops": [["r", "c", 1, None]]}, "None is no answer to a read of a counter: an integer"),
    "text inc": ({"ops": [["inc", "c", 1, "2"]]}, "'2' is no value to 'inc' to a counter: an integer"),
    "null written": ({"ops": [["w", "kv", 1, None]]}, "None is no value to 'w' to a register: an integer or a text"),
    "list appended": ({"ops": [["append", "l", 1, [2]]]}, "[2] is no value to 'append' to a list"),
    "no value": ({"ops": [["w", "kv", 1]]}, "operation 1: 'w' without a value"),
    "fraction": ({"ops": [["w", "kv", 1, 2.0]]}, "Decimal('2.0') is no value to 'w'"),
    "boolean": ({"ops": [["w", "kv", 1, True]]}, "True is no value to 'w'"),
    "boolean inc": ({"ops": [["inc", "c", 1, True]]}, "True is no value to 'inc'"),
    "boolean key": ({"ops": [["w", "kv", True, 1]]}, "True is no key: keys are integers and texts"),
    "null key": ({"ops": [["r", "kv", None, 1]]}, "None is no key: keys are integers and texts"),
    "too short": ({"ops": [["r", "kv"]]}, "['r', 'kv'] is no operation"),
    "too long": ({"ops": [["r", "kv", 1, 2, 3]]}, "['r', 'kv', 1, 2, 3] is no operation"),
    "no operation": ({"ops": ["r"]}, "'r' is no operation"),
    "no list": ({"ops": {"r": 1}}, "ops: expected a list, not an object"),
    "none": ({"ops": None}, "missing required field 'ops'"),
    "statements": ({"statements": []}, "statements, in a log of operations on objects"),
    "sno": ({"sno": -1}, "sno: expected an integer >= 0"),
    "sno text": ({"sno": "1"}, "sno: expected an integer, not a text"),
    "unknown field": ({"op": []}, "unknown field 'op'"),
    "status": ({"status": "ok"}, "status: 'ok' is none of committed, aborted, unknown"),
}


@pytest.mark.parametrize("name", TRANSACTIONS)
def test_refused_transaction(tmp_path: Path, name: str) -> None:
    fields, expected = TRANSACTIONS[name]
    message = refusal(tmp_path, dump(HEADER, {**OK, "id": "t0"}, {**OK, **fields}))
    assert message.startswith("s1.jsonl:3: ") and expected in message


HEADERS: dict[str, tuple[dict[str, Any], str]] = {
    "unknown type": ({"objects": {"kv": "queue"}}, "'queue' is none of register, list, set, counter"),
    "initial of none": ({"initial": {"x": {"rows": []}}}, "initial values of 'x', which is none of the objects"),
    "default": ({"initial": {"l": {"default": 0}}}, "the default of 'l': 0 is not a list of integers and texts"),
    "null counter": ({"initial": {"c": {"default": None}}}, "the default of 'c': None is not an integer"),
    "row": ({"initial": {"kv": {"rows": [[1, 2], [1, 3]]}}}, "initial values of 'kv': row 2: a repeated key, 1"),
    "width": ({"initial": {"kv": {"rows": [[1]]}}}, "initial values of 'kv': row 1 has 1 values, not 2"),
    "key": ({"initial": {"kv": {"rows": [[None, 1]]}}}, "row 1: None is no key"),
    "value": ({"initial": {"kv": {"rows": [[1, [2]]]}}}, "row 1: [2] is not an integer, a text or null"),
}


@pytest.mark.parametrize("name", HEADERS)
def test_refused_header(tmp_path: Path, name: str) -> None:
    fields, expected = HEADERS[name]
    message = refusal(tmp_path, dump({**HEADER, **fields}, OK))
    assert message.startswith("s1.jsonl:1: ") and expected in message


def test_refused_beside_others(tmp_path: Path) -> None:
    again = {**OK, "session": "a", "sno": 0}
    message = refusal(tmp_path, dump(HEADER, OK, {**OK, "id": "t2"}, OK))
    assert message == "s1.jsonl:4: transaction 't1': a repeated id: s1.jsonl:2 with the same id"
    message = refusal(tmp_path, dump(HEADER, again, {**again, "id": "t2"}))
    assert message == "s1.jsonl:3: transaction 't2': a repeated sno: 't1' is number 0 of session a too"
    message = refusal(tmp_path, dump(HEADER, OK, b'{"id": "t2", "status": "committed", "ops": [], "ops": []}'))
    assert message == "s1.jsonl:3: the key 'ops' stands twice in one object"
    message = refusal(tmp_path, dump(HEADER, OK, b'{"id": "t2", "status": "committed", "ops": [["w", "kv'))
    assert message.startswith("s1.jsonl:3: not valid JSON")
    message = refusal(tmp_path, dump(HEADER, OK), dump({**HEADER, "objects": {"kv": "list"}}, {**OK, "id": 2}))
    assert message == "s2.jsonl:1: objects differs from that of the first segment"
    message = refusal(tmp_path, dump(HEADER, OK, {"kind": "end", "transactions": 2}))
    assert message == "s1.jsonl:3: the end line counts 2 transactions, but the log has 1"
    sql = {"format": "troubadour-log", "version": 1, "dialect": "postgres", "schema": []}
    message = refusal(tmp_path, dump(sql, OK))
    assert message == "s1.jsonl:2: transaction 't1': operations, in a log whose header names no objects"


def test_statements_numbered_twice(tmp_path: Path) -> None:
    sql = {"format": "troubadour-log", "version": 1, "dialect": "postgres", "schema": []}
    one = {"id": "t1", "status": "committed", "session": "a", "sno": 0, "statements": []}
    message = refusal(tmp_path, dump(sql, one, {**one, "id": "t2"}))
    assert message == "s1.jsonl:3: transaction 't2': a repeated sno: 't1' is number 0 of session a too"
    path = tmp_path / "s1.jsonl"
    path.write_bytes(dump(sql, one, {**one, "id": "t2", "session": "b"}, {**one, "id": 3, "sno": 1}))
    log = read_either([path])
    assert isinstance(log, Log) and [each.sno for each in log.transactions] == [0, 0, 1]


def random_line(rng: random.Random, number: int) -> dict[str, Any]:
    def value() -> int | str:
        return rng.choice([rng.randrange(5), str(rng.randrange(5)), -(2**62), 2**62, 2**64, "é", 'a"b'])

    def operation() -> list[Any]:
        name = rng.choice(list(OBJECTS))
        key = value()
        if rng.random() < 0.5:
            change = {"kv": "w", "l": "append", "s": "add", "c": "inc"}[name]
            return [change, name, key, rng.randrange(9) if name == "c" else value()]
        if rng.random() < 0.1:
            return ["r", name, key]
        shown = [value() for _ in range(rng.randrange(3))]
        return [
            "r",
            name,
            key,
            rng.choice([value(), None]) if name == "kv" else rng.randrange(9) if name == "c" else shown,
        ]

    line: dict[str, Any] = {"id": number if rng.random() < 0.5 else f"t{number}", "status": "committed"}
    line["ops"] = [operation() for _ in range(rng.randrange(4))]
    for name, given in {"session": rng.choice([1, "1", "b"]), "start": 1, "commit": 2, "end": {"invoked": 1}}.items():
        if rng.random() < 0.5:
            line[name] = given
    names = list(line)
    rng.shuffle(names)
    return {name: line[name] for name in names}


@pytest.mark.parametrize("seed", range(30))
def test_both_ways_of_reading_agree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    rng = random.Random(seed)
    objects = {name: OBJECTS[name] for name in (["kv", "c"] if rng.random() < 0.5 else OBJECTS)}
    lines = []
    while len(lines) < 60:
        line = random_line(rng, len(lines))
        if all(operation[1] in objects for operation in line["ops"]):
            if rng.random() < 0.9:
                line["ops"] = [one for one in line["ops"] if len(one) == 4 and all(type(x) is int for x in one[2:])]
            lines.append(line)
    text = dump({**HEADER, "objects": objects}, *lines)
    fast = read(tmp_path, text)
    write_objects(tmp_path / "written.jsonl", fast)
    written = read_either([tmp_path / "written.jsonl"])
    monkeypatch.setattr(ObjectLogReader, "add_all", lambda self, batch, number, clock: None)
    slow = read(tmp_path, text)
    assert isinstance(written, ObjectLog)
    order = [fast.ids[place] for place in fast.order]
    assert order == [written.ids[place] for place in written.order]
    for one in (slow, written):
        for place, line in zip(fast.order, written.order if one is written else fast.order, strict=True):
            assert operations(fast, place) == operations(one, line)
            for name in ("ids", "statuses", "numbers", "starts", "commits", "end_invoked"):
                assert getattr(fast, name)[place] == getattr(one, name)[line]
            assert fast.session(place) == one.session(line)
    told = {json.dumps(line["id"]): line["ops"] for line in lines}
    for place, id in enumerate(fast.ids):
        names = ["r", "w", "append", "add", "inc"]
        shown = [
            [names[k], o, key, *([] if v is ... else [list(v) if isinstance(v, tuple) else v])]
            for k, o, key, v in operations(fast, place)
        ]
        assert shown == told[json.dumps(id)]


def test_writer_refuses_nonsense(tmp_path: Path) -> None:
    header = {"objects": OBJECTS, "initial": {"kv": {"default": 0}}}
    with LogWriter(tmp_path / "log.jsonl", header) as writer:
        writer.rows("l", None, [[1, [2]]])
        with pytest.raises(ValueError, match="transaction 't1', operation 1: unknown object"):
            writer.transaction({**OK, "ops": [["r", "nothing", 1]]})
        with pytest.raises(ValueError, match="row 1: 3 is not a list"):
            writer.rows("l", None, [[2, 3]])
        writer.intent({"id": "t1", "ops": [["r", "kv", 1]]})
        writer.transaction(OK)
    log = read_either([tmp_path / "log.jsonl"])
    assert isinstance(log, ObjectLog) and log.ids == ["t1"]
    with pytest.raises(ValueError, match="header: "):
        LogWriter(tmp_path / "other.jsonl", {"objects": {"kv": "stack"}})


@pytest.mark.parametrize("kind", ["register", "list", "set", "counter"])
@pytest.mark.parametrize("seed", range(25))
def test_logs_of_one_type_are_refused_either_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, seed: int
) -> None:
    choose = random.Random(seed)
    change = {"register": "w", "list": "append", "set": "add", "counter": "inc"}[kind]
    shown = {"register": [1, None, "x"], "list": [[], [1], ["x", 2]], "set": [[], [1]], "counter": [0, 5]}[kind]
    some: list[Any] = [["r", "o", 1, value] for value in shown] + [[change, "o", "k", 3]]
    for value in (7, None, "y", [1], [None], True, 1.5):
        some += [["r", "o", 2, value], [change, "o", 2, value], ["w", "o", 2, value]]
    lines = [{**OK, "id": at, "ops": [choose.choice(some[: choose.choice((4, 99))])]} for at in range(3)]
    text = dump({**HEADER, "objects": {"o": kind}}, *lines)

    def found() -> object:
        try:
            log = read(tmp_path, text)
        except LogError as error:
            return str(error)
        return [operations(log, place) for place in range(len(log))]

    fast = found()
    monkeypatch.setattr(ObjectLogReader, "add_all", lambda self, batch, number, clock: None)
    assert fast == found()

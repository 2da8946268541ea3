"""Histories of others are read from each format (troubadour.formats.histories), as object logs and for the references
(benchmarks.histories). That a whole import is audited is `test_histories`' business."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest

from benchmarks.histories.facts import facts
from benchmarks.histories.history import ABSENT, History, Kind, Operation, Transaction
from benchmarks.histories.importers import BadHistory
from benchmarks.histories.importers import read_history as for_references
from benchmarks.histories.saturation import causal
from troubadour.formats.histories import FORMATS, HistoryError, Imported, read_history, told_apart

Shown = list[tuple[str, str, str]]


def shown(imported: Imported) -> Shown:
    """Id, status and operations of each transaction: ``w kv 7 1`` wrote 1, ``r kv 7`` read what is not told."""
    return [
        (str(line["id"]), line["status"], ", ".join(" ".join(map(str, op)) for op in line["ops"]))
        for line in imported.transactions
    ]


def written(path: Path, text: str | bytes) -> Path:
    if isinstance(text, bytes):
        path.write_bytes(text)
    else:
        path.write_text(text, encoding="utf-8")
    return path


# --- formats without times ------------------------------------------------------------------------------------------


def test_polysi(tmp_path: Path) -> None:
    path = written(tmp_path / "h.txt", "w(7,0,0,0)\nw(8,5,0,0)\nw(7,1,1,1)\nr(8,5,1,1)\n\nr(7,1,2,2)\nw(8,-2,1,3)\n")
    assert told_apart(path) == "polysi"
    imported = read_history(path, "polysi")
    assert imported.header["initial"] == {"kv": {"default": 0, "rows": [[7, 0], [8, 5]]}}
    assert shown(imported) == [
        ("1.0", "committed", "w kv 7 1, r kv 8 5"),
        ("2.0", "committed", "r kv 7 1"),
        ("1.1", "committed", "w kv 8 -2"),
    ]
    assert [line["sno"] for line in imported.transactions] == [0, 0, 1]
    history = for_references(path)
    assert dict(history.initial) == {0: 0, 1: 5}


def test_polysi_whose_first_session_is_one_of_all(tmp_path: Path) -> None:
    path = written(tmp_path / "h.txt", "w(7,3,0,0)\nr(7,3,0,1)\n")
    assert shown(read_history(path, "polysi")) == [("0.0", "committed", "w kv 7 3"), ("0.1", "committed", "r kv 7 3")]
    written(path, "w(7,3,0,0)\nr(7,3,0\n")
    with pytest.raises(HistoryError, match="line 2"):
        read_history(path, "polysi")


def event(is_write: int, key: int, value: int, done: int) -> bytes:
    return struct.pack("<BQQB", is_write, key, value, done)


NAME = struct.pack("<Q", 3) + b"abc"
COMMITTED = struct.pack("<Q", 3) + event(1, 4, 9, 1) + event(0, 6, 0, 1) + event(1, 4, 8, 0) + b"\1"
ABORTED = struct.pack("<Q", 1) + event(1, 4, 7, 1) + b"\0"
BINCODE = struct.pack("<5Q", 0, 1, 2, 2, 3) + 3 * NAME + struct.pack("<QQ", 1, 2) + COMMITTED + ABORTED


def test_bincode_of_dbcop(tmp_path: Path) -> None:
    path = written(tmp_path / "history.bincode", BINCODE)
    assert told_apart(path) == "dbcop"
    imported = read_history(path, "dbcop")
    assert imported.header["initial"] == {"kv": {"default": 0}}
    assert shown(imported) == [("0.0", "committed", "w kv 4 9, r kv 6 0"), ("0.1", "aborted", "w kv 4 7")]
    assert [one.operations[0].value for one in for_references(path).transactions] == [9]


@pytest.mark.parametrize("cut", range(1, len(BINCODE), 7))
def test_bincode_that_is_cut_off(cut: int, tmp_path: Path) -> None:
    with pytest.raises(HistoryError, match=r"byte \d+"):
        read_history(written(tmp_path / "history.bincode", BINCODE[:-cut]), "dbcop")


def test_json_of_dbcop(tmp_path: Path) -> None:
    sessions = [
        [{"events": [{"Write": {"variable": 0, "version": 1}}, ["r", 2, None]], "committed": True}],
        [{"events": [{"Read": {"variable": 0, "version": 1}}], "committed": False}],
    ]
    expected = [("0.0", "committed", "w kv 0 1, r kv 2 None"), ("1.0", "aborted", "r kv 0 1")]
    for content in (sessions, {"params": {}, "info": "generated", "data": sessions}):
        path = written(tmp_path / "h.json", json.dumps(content))
        assert told_apart(path) == "dbcop"
        assert shown(read_history(path, "dbcop")) == expected
    with pytest.raises(HistoryError, match="session 0, transaction 0"):
        read_history(written(tmp_path / "bad.json", '[[{"events": [{"Delete": 1}]}]]'), "dbcop")


def test_text_of_dbcop(tmp_path: Path) -> None:
    path = written(tmp_path / "h.hist", "// first\n[x:=1 y==?] [x==1]!\n---\n[y:=2\n z:=a]\n")
    assert told_apart(path) == "dbcop"
    assert shown(read_history(path, "dbcop")) == [
        ("0.0", "committed", "w kv x 1, r kv y None"),
        ("0.1", "aborted", "r kv x 1"),
        ("1.0", "committed", "w kv y 2, w kv z a"),
    ]
    for bad, line in (("[x:=1\n[y:=2]", 2), ("[x:=1]\n\n]", 3), ("[x:=?]", 1), ("[x=1]", 1), ("! [x:=1]", 1)):
        with pytest.raises(HistoryError, match=f"line {line}:"):
            read_history(written(tmp_path / "bad.hist", bad), "dbcop")
    with pytest.raises(HistoryError, match="not closed"):
        read_history(written(tmp_path / "bad.hist", "[x:=1"), "dbcop")


def entry(kind: bytes, *fields: int) -> bytes:
    return kind + struct.pack(f">{len(fields)}Q", *fields)


def test_cobra(tmp_path: Path) -> None:
    first = entry(b"S", 1) + entry(b"W", 2**63, 5, 77) + entry(b"R", 0xBEBEEBEE, 0xDEADBEEF, 6, 0) + entry(b"C", 1)
    left_open = entry(b"S", 2) + entry(b"W", 3, 6, 1)
    written(tmp_path / "T0.log", first + left_open + b"W\0")
    written(tmp_path / "T10.log", entry(b"S", 3) + entry(b"R", 1, 2**63, 5, 77) + entry(b"C", 3))
    assert told_apart(tmp_path) == "cobra"
    imported = read_history(tmp_path, "cobra")
    assert shown(imported) == [
        ("T0.0", "committed", f"w kv 5 1.{2**63:x}=4d, r kv 6 None"),
        ("T0.1", "unknown", "w kv 6 2.3=1"),
        ("T10.0", "committed", f"r kv 5 1.{2**63:x}=4d"),
    ]
    assert "T0.log ends within an operation" in imported.notes[0]
    for content in (b"Q", entry(b"W", 1, 2, 3), entry(b"S", 1) + entry(b"C", 2)):
        written(tmp_path / "T11.log", content)
        with pytest.raises(HistoryError, match=r"T11\.log: byte"):
            read_history(tmp_path, "cobra")


def test_cobra_keeps_who_is_said_to_have_written(tmp_path: Path) -> None:
    """A read names another writer than the value's: it is of another version than the one that was written."""
    written(tmp_path / "T0.log", entry(b"S", 1) + entry(b"W", 9, 5, 77) + entry(b"C", 1))
    written(tmp_path / "T1.log", entry(b"S", 3) + entry(b"R", 2, 9, 5, 77) + entry(b"C", 3))
    first, second = read_history(tmp_path, "cobra").transactions
    assert first["ops"][0][3] != second["ops"][0][3]


def test_cobra_without_numbers_of_writes(tmp_path: Path) -> None:
    """Two writes of one value are one version where the clients kept no numbers, as VeriStrong's did."""
    none = 0xABDDEFEE
    written(tmp_path / "T0.log", entry(b"S", 1) + entry(b"W", none, 5, 77) + entry(b"C", 1))
    written(tmp_path / "T1.log", entry(b"S", 3) + entry(b"R", none, none, 5, 77) + entry(b"C", 3))
    first, second = read_history(tmp_path, "cobra").transactions
    assert first["ops"][0][3] == second["ops"][0][3]


def test_awdit(tmp_path: Path) -> None:
    path = written(
        tmp_path / "long-fork.txt", "w 0 0\nw 1 0\n=====\nw 0 1\n-----\nr 0 1\nr 1 0\n=====\nw 1 1\n---\nr 0 0"
    )
    assert told_apart(path) == "awdit"
    assert [text for _, _, text in shown(read_history(path, "awdit"))] == [
        "w kv 0 0, w kv 1 0", "w kv 0 1", "r kv 0 1, r kv 1 0", "w kv 1 1", "r kv 0 0",
    ]  # fmt: skip
    assert causal(facts(for_references(path))) is True
    with pytest.raises(HistoryError, match="line 2"):
        read_history(written(path, "w 0 0\nx 0 0\n"), "awdit")


# --- Chronos --------------------------------------------------------------------------------------------------------


def chronos(*transactions: dict[str, Any]) -> str:
    return json.dumps([{"sid": 19, "sts": {"p": 1, "l": 0}, "cts": {"p": 2, "l": 0}, **one} for one in transactions])


def test_chronos(tmp_path: Path) -> None:
    ops = [{"v": 2, "t": "W", "k": 7}, {"t": "r", "k": 9}]
    clock = {"sts": {"l": 2, "p": "10"}, "cts": {"p": 10, "l": 5}}
    path = written(tmp_path / "h.json", chronos({"tid": 67, "ops": ops, **clock}, {"tid": 68, "ops": []}))
    assert told_apart(path) == "chronos"
    imported = read_history(path, "chronos")
    assert imported.header["objects"] == {"kv": "register"}
    first, second = imported.transactions
    assert (first["id"], first["session"], first["ops"]) == (67, "19", [["w", "kv", 7, 2], ["r", "kv", 9, None]])
    assert second["start"] < second["commit"] < first["start"] < first["commit"]


def test_chronos_numbers_a_session_as_the_file_has_it(run: Any, tmp_path: Path) -> None:
    late = {"sts": {"p": 10}, "cts": {"p": 20}}
    ops = [{"t": "w", "k": 7, "v": 2}]
    path = written(
        tmp_path / "h.json",
        chronos({"tid": 1, "ops": ops, **late}, {"tid": 2, "ops": []}, {"tid": 3, "sid": 4, "ops": []}),
    )
    lines = [*read_history(path, "chronos").transactions]
    assert [(line["session"], line["sno"]) for line in lines] == [("19", 0), ("19", 1), ("4", 0)]
    path.write_text(chronos({"tid": 1, "ops": ops, **late}, {"tid": 2, "ops": [{"t": "r", "k": 7}]}))
    ended = run("audit", "--from", "chronos", str(path), "--isolation", "timestamp-snapshot", "--format", "json")
    assert ended.status == 1 and ended.json["violations"]["by_axiom"]["SESSION"] == 1


def test_chronos_with_lists(tmp_path: Path) -> None:
    ops = [{"t": "a", "k": 7, "v": 2}, {"t": "r", "k": 7, "v": [2]}, {"t": "r", "k": 8}]
    path = written(tmp_path / "h.json", chronos({"tid": "a", "ops": ops}))
    imported = read_history(path, "chronos")
    assert imported.header["objects"] == {"l": "list"}
    assert shown(imported) == [("a", "committed", "append l 7 2, r l 7 [2], r l 8 []")]
    with pytest.raises(BadHistory, match="registers"):
        for_references(path)


def test_chronos_tells_what_keys_hold_at_first(tmp_path: Path) -> None:
    def start(*ops: dict[str, Any]) -> Any:
        path = written(tmp_path / "h.json", chronos({"tid": 1, "ops": list(ops)}))
        return read_history(path, "chronos").header["initial"]["kv"]["default"]

    zero, null = {"t": "r", "k": 1, "v": 0}, {"t": "r", "k": 2}
    write, of_zero = {"t": "w", "k": 3, "v": 4}, {"t": "w", "k": 3, "v": 0}
    assert start(zero, write) == 0
    assert start(zero, write, null) is None
    assert start(zero, of_zero) is None
    assert start(write, {"t": "r", "k": 3}, zero) == 0  # a read of an own write tells nothing of the start


def test_chronos_with_clocks_beyond_64_bits(tmp_path: Path) -> None:
    far = {"sts": {"p": 1 << 61, "l": 4000}, "cts": {"p": (1 << 61) + 1, "l": 0}}
    path = written(tmp_path / "h.json", chronos({"tid": 1, "ops": [], **far}, {"tid": 2, "ops": []}))
    moments = [
        moment for line in read_history(path, "chronos").transactions for moment in (line["start"], line["commit"])
    ]
    assert moments == [2, 3, 0, 1]


@pytest.mark.parametrize(
    "text",
    ["{}", '[{"tid": 1}]', '[{"tid": 1, "ops"', chronos({"tid": 1, "ops": [{"t": "x", "k": 1}]}),
     chronos({"tid": 1, "ops": [], "sts": {"p": "soon"}}),
     chronos({"tid": 1, "ops": [{"t": "a", "k": 1, "v": 1}, {"t": "w", "k": 1, "v": 1}]})],
)  # fmt: skip
def test_what_is_no_history_of_chronos(text: str, tmp_path: Path) -> None:
    with pytest.raises(HistoryError):
        read_history(written(tmp_path / "h.json", text), "chronos")


# --- Jepsen's -------------------------------------------------------------------------------------------------------

LISTS = """; a comment
{:type :invoke, :f :txn, :value [[:append 4 2] [:r 5 nil]], :process 2, :index 0, :time 1000}
#jepsen.history.Op{:index 1, :time 2500, :type :info, :process :nemesis, :f :kill, :value nil}
{:type :invoke, :f :txn, :value [[:r 4 nil] [:append 4 3]], :process 0, :index 2, :time 3000}
{:type :ok, :f :txn, :value [[:append 4 2] [:r 5 nil]], :process 2, :index 3, :time 4999}
{:type :fail, :f :txn, :value [[:r 4 nil] [:append 4 3]], :process 0, :error [:conflict "x"], :index 4, :time 6000}
{:type :invoke, :f :txn, :value [[:r 4 nil]], :process 2, :index 5, :time 7000}
{:type :invoke, :f :txn, :value [[:append 4 9] [:r 4 nil]], :process 1, :index 6, :time 8000}
{:type :ok, :f :txn, :value [[:r 4 [2]]], :process 2, :index 7, :time 9000}
{:type :info, :f :txn, :value [[:append 4 9] [:r 4 nil]], :process 1, :index 8, :time 9500}
{:type :invoke, :f :txn, :value [[:append 4 11]], :process 3, :index 9, :time 9600}
"""


def test_list_append(tmp_path: Path) -> None:
    path = written(tmp_path / "history.edn", LISTS)
    assert told_apart(path) == "elle"
    imported = read_history(path, "elle")
    assert (imported.told, imported.header["objects"]) == ("workload list-append", {"l": "list"})
    assert shown(imported) == [
        ("0", "committed", "append l 4 2, r l 5 []"),
        ("2", "aborted", "r l 4, append l 4 3"),
        ("5", "committed", "r l 4 [2]"),
        ("6", "unknown", "append l 4 9, r l 4"),
        ("9", "unknown", "append l 4 11"),
    ]
    spans = [(line["session"], line["invoked"], line.get("returned")) for line in imported.transactions]
    assert spans == [("2", 1, 4), ("0", 3, 6), ("2", 7, 9), ("1", 8, None), ("3", 9, None)]


def test_one_vector_and_json_are_read_as_well(tmp_path: Path) -> None:
    expected = shown(read_history(written(tmp_path / "history.edn", LISTS), "elle"))
    assert shown(read_history(written(tmp_path / "v.edn", f"[{LISTS}]\n"), "elle")) == expected
    events = [
        {"type": kind, "f": "txn", "process": process, "value": value}
        for kind, process, value in [
            ("invoke", 2, [["append", 4, 2], ["r", 5, None]]), ("info", "nemesis", None),
            ("invoke", 0, [["r", 4, None], ["append", 4, 3]]), ("ok", 2, [["append", 4, 2], ["r", 5, None]]),
            ("fail", 0, [["r", 4, None], ["append", 4, 3]]), ("invoke", 2, [["r", 4, None]]),
            ("invoke", 1, [["append", 4, 9], ["r", 4, None]]), ("ok", 2, [["r", 4, [2]]]),
            ("info", 1, [["append", 4, 9], ["r", 4, None]]), ("invoke", 3, [["append", 4, 11]]),
        ]
    ]  # fmt: skip
    for name, text in (("h.json", json.dumps(events)), ("l.json", "\n".join(map(json.dumps, events)))):
        path = written(tmp_path / name, text)
        assert told_apart(path) == "elle"
        imported = read_history(path, "elle")
        assert shown(imported) == expected
        assert "places in the file" in imported.notes[-1]


def history_of(tmp_path: Path, *pairs: tuple[str, str, str, str | None]) -> Imported:
    """Operations one after the other: function, the invocation's value, how it ended, the completion's value."""
    lines = []
    for process, (function, asked, ended, answered) in enumerate(pairs):
        lines.append(f"{{:type :invoke :f :{function} :value {asked} :process {process}}}")
        lines.append(f"{{:type :{ended} :f :{function} :value {answered or asked} :process {process}}}")
    return read_history(written(tmp_path / "h.edn", "\n".join(lines)), "elle")


def test_registers(tmp_path: Path) -> None:
    imported = history_of(
        tmp_path, ("txn", "[[:w x 1] [:r :y nil]]", "ok", None), ("txn", "[[:r x nil]]", "ok", "[[:r x 1]]")
    )
    assert imported.told == "workload rw-register"
    assert [ops for _, _, ops in shown(imported)] == ["w kv x 1, r kv y None", "r kv x 1"]


def test_bank(tmp_path: Path) -> None:
    transfer = "{:from 0, :to 1, :amount 5}"
    imported = history_of(
        tmp_path,
        ("read", "nil", "ok", "{0 10, 1 12}"),
        ("transfer", transfer, "ok", None),
        ("read", "nil", "info", None),
    )
    assert imported.told == "workload bank"
    assert imported.header == {"objects": {"accounts": "counter"}, "initial": {"accounts": "unknown"}, "clock": "index"}
    assert [ops for _, _, ops in shown(imported)] == [
        "r accounts 0 10, r accounts 1 12",
        "inc accounts 0 -5, inc accounts 1 5",
        "r accounts 0, r accounts 1",
    ]


def test_counter_and_set(tmp_path: Path) -> None:
    counter = history_of(tmp_path, ("add", "2", "ok", None), ("read", "nil", "ok", "2"), ("add", "3", "info", None))
    assert counter.told == "workload counter"
    assert [ops for _, _, ops in shown(counter)] == ["inc c 0 2", "r c 0 2", "inc c 0 3"]
    found = history_of(
        tmp_path, ("add", "2", "ok", None), ("add", "[0 1]", "fail", None), ("read", "nil", "ok", "#{2}")
    )
    assert found.told == "workload set"
    assert [ops for _, _, ops in shown(found)] == ["add s 0 2", "add s 0 [0 1]", "r s 0 [2]"]


def test_compare_and_set_and_mutex(tmp_path: Path) -> None:
    register = history_of(
        tmp_path,
        ("write", "1", "ok", None),
        ("cas", "[1 2]", "ok", None),
        ("cas", "[1 3]", "fail", None),
        ("read", "nil", "ok", "2"),
    )
    assert [(status, ops) for _, status, ops in shown(register)] == [
        ("committed", "w kv 0 1"),
        ("committed", "r kv 0 1, w kv 0 2"),
        ("aborted", "r kv 0, w kv 0 3"),
        ("committed", "r kv 0 2"),
    ]
    lock = history_of(
        tmp_path, ("acquire", "nil", "ok", None), ("acquire", "nil", "fail", None), ("release", "nil", "ok", None)
    )
    assert [ops for _, _, ops in shown(lock)] == [
        "r lock 0 0, w lock 0 1", "r lock 0, w lock 0 1", "r lock 0 1, w lock 0 0",
    ]  # fmt: skip


def test_several_registers_of_compare_and_set(tmp_path: Path) -> None:
    register = history_of(
        tmp_path,
        ("write", "[7 1]", "ok", None),
        ("cas", "[7 [1 2]]", "ok", None),
        ("cas", "[8 [1 3]]", "info", None),
        ("read", "[7 nil]", "ok", "[7 2]"),
        ("read", "[8 nil]", "fail", None),
    )
    assert [ops for _, _, ops in shown(register)] == [
        "w kv 7 1", "r kv 7 1, w kv 7 2", "r kv 8, w kv 8 3", "r kv 7 2", "r kv 8",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{:type :invoke :f :txn :value [] :process [0]}", "event 0: process [0]: it is a number or a name"),
        ("{:type :ok :f :txn :value [] :process 0}", "event 0: a completion of process 0 without its invocation"),
        (
            "{:type :invoke :f :txn :value [] :process 0}\n{:type :invoke :f :txn :value [] :process 0}",
            "event 1: process 0 has event 0 open already",
        ),
        (
            "{:type :invoke :f :txn :value [[:r 1 nil]] :process 0}\n{:type :ok :f :txn :value [[:r 1]] :process 0}",
            "event 0: an :ok read without its value",
        ),
        ("{:type :invoke :f :txn :value [[:append 1 1] [:w 1 1]] :process 0}", "append and w in one history"),
        ("{:type :invoke :f :brew :value nil :process 0}", "no workload that is known has the operations brew"),
        ("{:type :maybe :f :txn :value [] :process 0}", "event 0: type 'maybe'"),
        ("{:type :invoke :f :txn :value [[:append 1", "line 1: [ is not closed"),
        ('[{"type": "invoke", "f": "txn"', "JSON"),
        ("{:type :invoke :f :txn :value [}", "line 1: } closes nothing"),
        ("{:index 1}", "event 0: no operation with a :type"),
        (
            "{:type :invoke :f :transfer :value {:from 1} :process 0}",
            "event 0: a transfer without :from, :to and :amount",
        ),
    ],
)
def test_what_is_no_history_of_jepsen(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(HistoryError) as refused:
        list(read_history(written(tmp_path / "h.edn", text), "elle").transactions)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_every_format_refuses_the_files_of_the_others(tmp_path: Path) -> None:
    """With an error of its own, whatever the content."""
    files = {
        "elle": LISTS,
        "chronos": chronos({"tid": 1, "ops": []}),
        "dbcop": '[[{"events": [], "committed": true}]]',
        "polysi": "w(1,1,1,1)\n",
        "awdit": "w 0 0\n",
        "cobra": entry(b"S", 1) + entry(b"C", 1),
        "log": '{"format": "troubadour-log", "version": 1, "dialect": "postgres", "schema": []}\n',
        "noise": bytes(range(256)),
    }
    for name, content in files.items():
        path = written(tmp_path / name, content)
        assert told_apart(path) == (name if name in FORMATS else None)
        for form in FORMATS:
            if form != name:
                with pytest.raises(HistoryError):
                    list(read_history(path, form).transactions)


# --- for the references ---------------------------------------------------------------------------------------------


def test_what_no_order_explains_is_told_at_once() -> None:
    def broken(*operations: Operation) -> str | None:
        return facts(History((Transaction("t", operations),), {0: 0})).broken

    write, read = Operation(Kind.WRITE, 0, 5), Operation(Kind.READ, 0, 0)
    assert broken(read, write) is None
    assert "own write" in str(broken(write, read))
    assert "two versions" in str(broken(read, Operation(Kind.READ, 0, 1)))
    assert "is there" in str(broken(Operation(Kind.INSERT, 0, 5)))
    assert "did not find" in str(broken(Operation(Kind.READ, 1, ABSENT), Operation(Kind.WRITE, 1, 5)))
    with pytest.raises(ValueError, match="counted up"):
        broken(write, Operation(Kind.INCREMENT, 0, 1))

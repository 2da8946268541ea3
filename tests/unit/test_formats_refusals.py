"""Every refusal of the reader: one line that names file and line. Each case is a log with exactly one thing wrong."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from troubadour.formats import read_log
from troubadour.model.log import LogError

HEADER: dict[str, Any] = {
    "format": "troubadour-log",
    "version": 1,
    "dialect": "postgres",
    "schema": ["CREATE TABLE t (id INT PRIMARY KEY, v NUMERIC(12,2))"],
}
STATEMENT: dict[str, Any] = {"sql": "SELECT v FROM t", "result": {"columns": ["v"], "rows": [["1.00"]]}}
OK: dict[str, Any] = {"id": "t1", "status": "committed", "statements": [STATEMENT]}


def dump(*entries: object) -> bytes:
    return b"".join((entry if isinstance(entry, bytes) else json.dumps(entry).encode()) + b"\n" for entry in entries)


def refusal(tmp_path: Path, *segments: bytes) -> str:
    """The message without the folder; asserts that it is one line."""
    paths = []
    for number, content in enumerate(segments, 1):
        paths.append(tmp_path / f"s{number}.jsonl")
        paths[-1].write_bytes(content)
    with pytest.raises(LogError) as caught:
        read_log(paths)
    message = str(caught.value)
    assert "\n" not in message
    return message.replace(f"{tmp_path}/", "")


def with_statement(**fields: object) -> dict[str, Any]:
    return {**OK, "statements": [{"sql": "SELECT 1"}, {"sql": "SELECT 2", **fields}]}


ROWS = {"columns": ["a"], "rows": [[1]]}

HEADERS = {
    "empty": (b"", "s1.jsonl:1: empty; line 1 must be the log's header"),
    "blank": (b"\n \n", "s1.jsonl:1: empty; line 1 must be the log's header"),
    "no header": (dump(OK), "s1.jsonl:1: not a troubadour log"),
    "no object": (dump([1]), "s1.jsonl:1: not a troubadour log"),
    "version": (dump({**HEADER, "version": 2}), "s1.jsonl:1: version: 2 is no version of the log format"),
    "version bool": (dump({**HEADER, "version": True}), "s1.jsonl:1: version: True is no version"),
    "dialect": (
        dump({**HEADER, "dialect": "oracle"}),
        "s1.jsonl:1: dialect: 'oracle' is none of postgres, mysql, sqlite, duckdb",
    ),
    "field": (dump({**HEADER, "isolaton": "snapshot"}), "s1.jsonl:1: unknown field 'isolaton'"),
    "no schema": (dump({k: v for k, v in HEADER.items() if k != "schema"}), "missing required field 'schema'"),
    "schema entry": (dump({**HEADER, "schema": [1]}), "s1.jsonl:1: schema[0]: expected a text, not an integer"),
    "order": (dump({**HEADER, "order": "total"}), "s1.jsonl:1: order: 'total' is none of exact, hint"),
    "initial": (dump({**HEADER, "initial": {"t": {"rows": [[1], [1, 2]]}}}), "s1.jsonl:1: initial rows of 't': row 2"),
    "initial columns": (
        dump({**HEADER, "initial": {"t": {"columns": ["a", "a"], "rows": []}}}),
        "s1.jsonl:1: initial rows of 't': a column is named twice",
    ),
    "initial redacted": (
        dump({**HEADER, "initial": {"t": {"rows": [[{"redacted": True}]]}}}),
        "s1.jsonl:1: initial rows of 't': row 1: {'redacted': True} is no value",
    ),
    "initial known": (
        dump({**HEADER, "initial": {"t": "known"}}),
        "s1.jsonl:1: initial[...]: 'known' is none of unknown",
    ),
    "bom": (b"\xef\xbb\xbf" + dump(HEADER), "s1.jsonl:1: starts with a byte order mark; remove it: sed"),
    "utf-8": (dump(HEADER).replace(b"CREATE", b"\xff"), "s1.jsonl:1: not UTF-8 at byte"),
    "utf-16": ("{}".encode("utf-16"), "s1.jsonl:1: the file is UTF-16; a log is UTF-8: iconv -f UTF-16 -t UTF-8"),
    "an array": (
        dump([HEADER, OK]),
        "s1.jsonl:1: the file is one JSON array; a log has one entry on each line: jq -c '.[]'",
    ),
    "pretty-printed": (
        json.dumps(HEADER, indent=1).encode(),
        "s1.jsonl:1: an entry goes over several lines; each stands on one: jq -c . FILE > LOG",
    ),
    "not gzip": (b"\x1f\x8bnonsense", "s1.jsonl:1: damaged gzip data"),
    "gzip magic": (b"\x1f", "s1.jsonl:1: the last line is torn: not valid JSON"),
}


@pytest.mark.parametrize("case", HEADERS)
def test_header(tmp_path: Path, case: str) -> None:
    content, expected = HEADERS[case]
    message = refusal(tmp_path, content)
    assert expected in message
    assert message.startswith("s1.jsonl:1: ")


AT = "s1.jsonl:3: "
T1 = AT + "transaction 't1': "
S2 = AT + "transaction 't1', statement 2: "

ENTRIES: dict[str, tuple[object, str]] = {
    "torn": (b'{"id": "t1", "sta', AT + "not valid JSON"),
    "trailing": (json.dumps(OK).encode() + b" x", AT + "not valid JSON: Extra data"),
    "no object": ([OK], AT + "not a JSON object"),
    "nested": (b"[" * 100_000, AT + "not usable JSON: nested too deeply"),
    "kind": ({**OK, "kind": "transactoin"}, AT + "unknown kind 'transactoin'"),
    "kind type": ({**OK, "kind": 3}, AT + "unknown kind 3"),
    "second header": (HEADER, AT + "a header that is not on line 1"),
    "field": ({**OK, "sesion": "a"}, T1 + "unknown field 'sesion'"),
    "statement field": (with_statement(reslt=ROWS), S2 + "unknown field 'reslt'"),
    "result field": (with_statement(result={**ROWS, "row": 1}), S2 + "result: unknown field 'row'"),
    "end field": ({**OK, "end": {"invokd": 1}}, T1 + "end: unknown field 'invokd'"),
    "repeated key": (b'{"id": "t0", ' + json.dumps(OK).encode()[1:], AT + "the key 'id' stands twice in one object"),
    "repeated parameter": (
        b'{"id":"t1","status":"committed","statements":[{"sql":"x","params":{"a":1,"a":2}}]}',
        AT + "the key 'a' stands twice in one object",
    ),
    "hidden repetition": (
        b'{"id":"t\\u0022x","id":"t1","status":"committed","statements":[]}',
        AT + "the key 'id' stands twice in one object",
    ),
    "no id": ({"status": "committed", "statements": []}, AT + "missing required field 'id'"),
    "bool id": ({**OK, "id": True}, AT + "id: expected an integer or a text, not a boolean"),
    "float id": ({**OK, "id": 1.5}, AT + "id: expected an integer or a text, not a number with a fraction"),
    "no status": ({"id": "t1", "statements": []}, T1 + "missing required field 'status'"),
    "status": ({**OK, "status": "ok"}, T1 + "status: 'ok' is none of committed, aborted, unknown"),
    "no statements": ({"id": "t1", "status": "aborted"}, T1 + "missing required field 'statements'"),
    "no sql": ({**OK, "statements": [{}]}, AT + "transaction 't1', statement 1: missing required field 'sql'"),
    "bool time": (
        {**OK, "commit": True},
        T1 + "commit: expected an integer, in any unit of the database's clock, not a boolean",
    ),
    "float time": (
        {**OK, "commit": 1.0},
        T1 + "commit: expected an integer, in any unit of the database's clock, not a number with a fraction",
    ),
    "text time": (
        {**OK, "invoked": "1"},
        T1 + "invoked: expected integer microseconds of the client's clock, not a text",
    ),
    "huge time": ({**OK, "commit": 2**63}, T1 + "commit: "),
    "huge end time": ({**OK, "end": {"invoked": 2**63}}, T1 + "end: a time beyond 64 bits"),
    "nan": (with_statement(result={"columns": ["a"], "rows": [[float("nan")]]}), AT + "NaN is not JSON"),
    "infinity": (with_statement(params=[float("-inf")]), AT + '-Infinity is not JSON; write "-Infinity"'),
    "exponent": (b'{"id": 1e99999999999999999999}', AT + "the number '1e99999999999999999999' is out of range"),
    "digits": (b'{"id": 1' + b"0" * 5000 + b"}", AT + "an integer of too many digits"),
    "surrogate": (b'{"id":"\\ud800","status":"committed","statements":[]}', AT + "a lone surrogate is no character"),
    "utf-8": (b'{"id":"\xff","status":"committed","statements":[]}', AT + "not UTF-8 at byte 8 of the line"),
    "commit before start": ({**OK, "start": 5, "commit": 4}, T1 + "commit 4 is before start 5"),
    "returned before invoked": (
        {**OK, "invoked": 5, "returned": 4},
        T1 + "the transaction returned at 4, before it was invoked at 5",
    ),
    "statement time": (with_statement(invoked=5, returned=4), S2 + "the statement returned at 4, before"),
    "end time": ({**OK, "end": {"invoked": 5, "returned": 4}}, T1 + "the end returned at 4, before"),
    "committed in error": (
        {**OK, "end": {"error": {"sqlstate": "40001"}}},
        T1 + "committed, though its end failed with an error",
    ),
    "xid": ({**OK, "xid": "7a"}, T1 + "xid: expected a text matching regex"),
    "snapshot": ({**OK, "snapshot": "7:8:,"}, T1 + "snapshot: expected a text matching regex"),
    "read_only": ({**OK, "read_only": 1}, T1 + "read_only: expected true or false, not an integer"),
    "long row": (with_statement(result={"columns": ["a"], "rows": [[1], [1, 2]]}), S2 + "row 2 has 2 values for 1 col"),
    "short row": (with_statement(result={"columns": ["a"], "rows": [[]]}), S2 + "row 1 has 0 values for 1 columns"),
    "list value": (with_statement(result={"columns": ["a"], "rows": [[[1]]]}), S2 + "[1] is no value"),
    "object value": (with_statement(result={"columns": ["a"], "rows": [[{"x": 1}]]}), S2 + "{'x': 1} is no value"),
    "redacted 1": (with_statement(result={"columns": ["a"], "rows": [[{"redacted": 1}]]}), S2 + "{'redacted': 1} is"),
    "redacted false": (with_statement(params=[{"redacted": False}]), S2 + "{'redacted': False} is no value"),
    "no columns": (with_statement(result={"rows": []}), S2 + "result: missing required field 'columns'"),
    "no rows": (with_statement(result={"columns": []}), S2 + "result: missing required field 'rows'"),
    "both": (with_statement(result=ROWS, results=[ROWS]), S2 + "both result and results"),
    "results": (with_statement(results=ROWS), S2 + "results: expected"),
    "error and result": (with_statement(result=ROWS, error={"sqlstate": "23505"}), S2 + "an error together with"),
    "error and count": (with_statement(affected=0, error={"sqlstate": "23505"}), S2 + "an error together with"),
    "sqlstate": (with_statement(error={"sqlstate": "2350"}), S2 + "sqlstate '2350' is not five"),
    "no sqlstate": (with_statement(error={"message": "no"}), S2 + "error: missing required field 'sqlstate'"),
    "negative count": (with_statement(affected=-1), S2 + "affected: "),
    "bool count": (with_statement(affected=True), S2 + "affected: expected an integer, not a boolean"),
    "outcome": (with_statement(outcome="lost"), S2 + "outcome: 'lost' is none of unknown"),
    "outcome observed": (with_statement(outcome="unknown", affected=1), S2 + "an unknown outcome together with"),
    "params": (with_statement(params=1), S2 + "params: expected"),
    "nested params": (with_statement(params=[[[1]]]), S2 + "[1] is no value"),
    "named nested params": (with_statement(params={"a": {}}), S2 + "{} is no value"),
    "intent status": ({**OK, "kind": "intent"}, T1 + "an intent has status 'unknown', not 'committed'"),
    "end count": ({"kind": "end", "transactions": 2}, AT + "the end line counts 2 transactions, but the log has 1"),
    "end without count": ({"kind": "end"}, AT + "missing required field 'transactions'"),
    "late rows": ({"kind": "rows", "table": "t", "rows": [[1]]}, AT + "rows after the first transaction"),
}


@pytest.mark.parametrize("case", ENTRIES)
def test_entry(tmp_path: Path, case: str) -> None:
    entry, expected = ENTRIES[case]
    # Line 2 starts the transactions, so the fast path is on; line 4 is whole.
    content = dump(HEADER, {**OK, "id": "t0"}, entry, {**OK, "id": "t9"})
    message = refusal(tmp_path, content)
    assert message.startswith(expected), message


def test_the_same_refusal_comes_from_the_first_transaction(tmp_path: Path) -> None:
    message = refusal(tmp_path, dump(HEADER, with_statement(affected=-1)))
    assert message.startswith("s1.jsonl:2: transaction 't1', statement 2: affected: ")


ROW_LINES: dict[str, tuple[object, str]] = {
    "width": ({"kind": "rows", "table": "t", "rows": [[1], []]}, "initial rows of 't': row 2 has 0 values, not 1"),
    "columns": ({"kind": "rows", "table": "t", "columns": ["a"], "rows": [[1, 2]]}, "initial rows of 't': row 1 has 2"),
    "value": ({"kind": "rows", "table": "t", "rows": [[{}]]}, "initial rows of 't': row 1: {} is no value"),
    "redacted": ({"kind": "rows", "table": "t", "rows": [[{"redacted": True}]]}, "initial rows of 't': row 1: "),
    "field": ({"kind": "rows", "table": "t", "row": [[1]]}, "unknown field 'row'"),
    "unknown table": ({"kind": "rows", "table": "u", "rows": [[1]]}, "rows of table 'u', whose initial rows"),
}


@pytest.mark.parametrize("case", ROW_LINES)
def test_rows(tmp_path: Path, case: str) -> None:
    entry, expected = ROW_LINES[case]
    message = refusal(tmp_path, dump({**HEADER, "initial": {"u": "unknown"}}, entry, OK))
    assert message.startswith("s1.jsonl:2: " + expected), message


def test_torn_last_line(tmp_path: Path) -> None:
    message = refusal(tmp_path, dump(HEADER, OK, {**OK, "id": "t2"})[:-9])
    assert message.startswith("s1.jsonl:3: the last line is torn: not valid JSON")


def test_torn_gzip(tmp_path: Path) -> None:
    content = dump(HEADER, *({**OK, "id": i} for i in range(2000)))
    message = refusal(tmp_path, gzip.compress(content)[:-100])
    name, line, rest = message.split(":", 2)
    assert name == "s1.jsonl"
    assert int(line) > 1
    assert "torn" in rest


def test_text_after_gzip(tmp_path: Path) -> None:
    assert "damaged gzip data" in refusal(tmp_path, gzip.compress(dump(HEADER, OK)) + b"more")


def test_nothing_follows_end(tmp_path: Path) -> None:
    end = {"kind": "end", "transactions": 1}
    message = refusal(tmp_path, dump(HEADER, OK, end, {**OK, "id": "t2"}))
    assert message == "s1.jsonl:4: nothing may follow the end on line 3"


def test_repeated_id_names_both_places(tmp_path: Path) -> None:
    message = refusal(tmp_path, dump(HEADER, OK), dump(HEADER, {**OK, "id": "t2"}, OK))
    assert message == "s2.jsonl:3: transaction 't1': a repeated id: s1.jsonl:2 with the same id"


def test_repeated_intent(tmp_path: Path) -> None:
    intent = {**OK, "kind": "intent", "status": "unknown"}
    message = refusal(tmp_path, dump(HEADER, intent, intent))
    assert message == "s1.jsonl:3: transaction 't1': an intent after s1.jsonl:2 with the same id"


def test_intent_after_its_transaction(tmp_path: Path) -> None:
    intent = {**OK, "kind": "intent", "status": "unknown"}
    message = refusal(tmp_path, dump(HEADER, OK, intent))
    assert message == "s1.jsonl:3: transaction 't1': an intent after s1.jsonl:2 with the same id"


def test_transaction_after_replaced_intent(tmp_path: Path) -> None:
    intent = {**OK, "kind": "intent", "status": "unknown"}
    message = refusal(tmp_path, dump(HEADER, intent, OK, OK))
    assert message == "s1.jsonl:4: transaction 't1': a repeated id: s1.jsonl:3 with the same id"


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ({}, {"dialect": "mysql"}, "dialect differs from that of the first segment"),
        ({}, {"schema": []}, "schema differs from that of the first segment"),
        ({}, {"procedures": ["CREATE PROCEDURE p() BEGIN END"]}, "procedures differs"),
        ({"isolation": "snapshot"}, {}, "isolation differs"),
        ({}, {"order": "exact"}, "order differs"),
        ({"settings": {"collation": "C"}}, {"settings": {}}, "settings differs"),
        ({"log_id": "a"}, {"log_id": "b"}, "log_id 'b' is not that of an earlier segment, 'a'"),
        ({"segment": 1}, {"segment": 1}, "segment 1 was given already"),
        ({"initial": {"t": {"rows": [[1]]}}}, {"initial": {"t": {"rows": [[2]]}}}, "the initial rows differ"),
        ({"initial": {"t": {"rows": [[1]]}}}, {"initial": {"t": {"rows": [[True]]}}}, "the initial rows differ"),
        ({"initial": {"t": {"rows": [[1]]}}}, {"initial": {"t": "unknown"}}, "the initial rows differ"),
    ],
)
def test_segments_that_contradict(tmp_path: Path, first: dict[str, Any], second: dict[str, Any], expected: str) -> None:
    message = refusal(tmp_path, dump({**HEADER, **first}, OK), dump({**HEADER, **second}, {**OK, "id": "t2"}))
    assert message.startswith("s2.jsonl:")
    assert expected in message


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for path, reason in ((tmp_path / "no", "No such file"), (tmp_path, "Is a directory"), (tmp_path / "a\0", "null")):
        with pytest.raises(LogError, match=reason) as caught:
            read_log([path])
        assert "\n" not in str(caught.value)
    with pytest.raises(LogError, match="no log is given"):
        read_log([])
    with pytest.raises(LogError, match="standard input can be one segment only"):
        read_log(["-", "-"])


def test_names_and_values_stay_on_one_line(tmp_path: Path) -> None:
    path = tmp_path / "a\nb.jsonl"
    path.write_bytes(dump(HEADER, {**OK, "id": "x\n\u2028y", "start": 2, "commit": 1}))
    with pytest.raises(LogError) as caught:
        read_log([path])
    message = str(caught.value)
    assert len(message.splitlines()) == 1
    assert "a\\nb.jsonl:2: transaction 'x\\n\\u2028y': commit 1 is before start 2" in message

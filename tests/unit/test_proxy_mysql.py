"""What a proxy makes of MySQL's protocol: the same wherever the bytes were split, and no more than was said."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.proxied import Turn, split
from tests.unit.test_proxy_postgres import said
from troubadour.formats import read_log
from troubadour.model.log import Log
from troubadour.record.core.unroll import unroll
from troubadour.record.proxy import raw
from troubadour.record.proxy.decode.making import records
from troubadour.record.proxy.mysql.modes import Modes
from troubadour.record.proxy.mysql.packets import Framing, packet
from troubadour.record.proxy.mysql.talk import DEPRECATE_EOF, MASKED, MysqlTalk
from troubadour.record.proxy.mysql.texts import pieces
from troubadour.record.proxy.raw import Frame

VERSION = "10.11.6-MariaDB"
HEADER: dict[str, Any] = {
    "format": "troubadour-log", "version": 1, "dialect": "mysql", "isolation": "mysql:repeatable-read",
    "schema": ["CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(9))"], "segment": "first",
    "settings": {"found_rows": False},
}  # fmt: skip
AUTO, OPEN, MORE = 2, 3, 8
LONG, DECIMAL, VARCHAR = 3, 246, 253


def ok(affected: int = 0, status: int = AUTO) -> bytes:
    return b"\0" + bytes([affected, 0]) + struct.pack("<HH", status, 0)


def error(code: int, state: str) -> bytes:
    return b"\xff" + struct.pack("<H", code) + b"#" + state.encode() + b"no"


def column(name: str, type: int, charset: int = 45) -> bytes:
    def text(value: str) -> bytes:
        return bytes([len(value)]) + value.encode()

    return (
        b"".join(map(text, ("def", "shop", "t", "t", name, name)))
        + b"\x0c"
        + struct.pack("<HIBHBH", charset, 9, type, 0, 0, 0)
    )


def answered(*payloads: bytes) -> bytes:
    return b"".join(packet(number + 1, payload) for number, payload in enumerate(payloads))


def rows(columns: Sequence[bytes], *found: bytes, status: int = AUTO, deprecates: bool = False) -> list[bytes]:
    end = b"\xfe" + struct.pack("<HH", 0, status)
    if deprecates:
        return [bytes([len(columns)]), *columns, *found, b"\xfe\0\0" + struct.pack("<HH", status, 0)]
    return [bytes([len(columns)]), *columns, end, *found, end]


def row(*values: bytes | None) -> bytes:
    return b"".join(b"\xfb" if value is None else bytes([len(value)]) + value for value in values)


def query(text: str) -> bytes:
    return packet(0, b"\x03" + text.encode())


COLUMNS = (column("a", LONG, 63), column("b", VARCHAR))


def frames_of(turns: Sequence[Turn], *, deprecates: bool = False, capabilities: int = 1 << 16) -> list[Frame]:
    settings = [row(b"tx_isolation", b"REPEATABLE-READ"), row(b"innodb_snapshot_isolation", b"OFF")]
    told = rows((column("n", VARCHAR), column("v", VARCHAR)), *settings, deprecates=deprecates)
    capabilities |= DEPRECATE_EOF if deprecates else 0
    opened = {"capabilities": capabilities, "charset": 45, "database": "shop", "version": VERSION, "status": AUTO}
    found = [
        Frame(raw.OPENED, 0, 1, json.dumps({"product": "mysql", "database": "shop"}).encode()),
        Frame(raw.OPENED, 1, 2, json.dumps(opened).encode()),
    ]
    everything = [(raw.ASKED, query("SELECT")), (raw.SERVER, answered(*told)), *turns]
    found += [Frame(kind, 1, 1_000_000 * place, data) for place, (kind, data) in enumerate(everything, 1)]
    return [*found, Frame(raw.CLOSED, 1, 1_000_000 * len(found), b"")]


def turns(*data: bytes) -> list[Turn]:
    return [(raw.SERVER if place % 2 else raw.CLIENT, one) for place, one in enumerate(data)]


def logged(frames: Sequence[Frame], tmp_path: Path) -> Log:
    path = tmp_path / "log.jsonl"
    unroll(BytesIO(json.dumps(HEADER).encode() + b"\n"), path, records=records(frames, HEADER))
    return read_log([path])


@given(st.lists(st.binary(max_size=30), max_size=6), st.data())
def test_packets_are_the_same_wherever_they_are_split(payloads: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(packet(number, payload) for number, payload in enumerate(payloads))
    framing, got = Framing(), []
    while stream:
        length = data.draw(st.integers(1, len(stream)))
        got += list(framing.feed(stream[:length]))
        stream = stream[length:]
    assert got == list(enumerate(payloads))


def test_a_payload_of_several_parts_and_one_that_is_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    part = (0xFFFFFF).to_bytes(3, "little") + b"\0" + bytes(0xFFFFFF)
    (found,) = Framing().feed(part + packet(1, b"x"))
    assert found == (1, bytes(0xFFFFFF) + b"x")
    monkeypatch.setattr("troubadour.record.proxy.mysql.packets.LONGEST", 1000)
    assert list(Framing().feed(part + packet(1, b"x") + packet(0, b"y"))) == [(1, None), (0, b"y")]


SELECT = rows(COLUMNS, row(b"1", b"x"), row(b"2", None), status=OPEN)
CASES: list[tuple[list[Turn], object]] = [
    (turns(query("UPDATE t SET b = 'y' WHERE a = 1"), answered(ok(1))),
     [("committed", [("UPDATE t SET b = 'y' WHERE a = 1", 1)])]),
    (turns(query("INSERT INTO t VALUES (1, 'x')"), answered(error(1062, "23000"))),
     [("aborted", [("INSERT INTO t VALUES (1, 'x')", "23000")])]),
    (turns(query("START TRANSACTION"), answered(ok(0, OPEN)), query("SELECT a, b FROM t"), answered(*SELECT),
           query("DELETE FROM t"), answered(ok(2, OPEN)), query("COMMIT"), answered(ok())),
     [("committed", [("SELECT a, b FROM t", ((1, "x"), (2, None))), ("DELETE FROM t", 2)])]),
    # without autocommit a statement begins what COMMIT ends; an error leaves it open, a deadlock does not
    (turns(query("SET autocommit=0"), answered(ok(0, 0)), query("DELETE FROM t"), answered(ok(2, 1)),
           query("INSERT INTO t VALUES (1, 'x')"), answered(error(1062, "23000")),
               query("ROLLBACK"), answered(ok(0, 0)),
           query("DELETE FROM t"), answered(ok(2, 1)), query("DELETE FROM t"), answered(error(1213, "40001")),
           query("DELETE FROM t"), answered(ok(2, 1)), query("COMMIT"), answered(ok(0, 0))),
     [("aborted", [("DELETE FROM t", 2), ("INSERT INTO t VALUES (1, 'x')", "23000")]),
      ("aborted", [("DELETE FROM t", 2), ("DELETE FROM t", "40001")]), ("committed", [("DELETE FROM t", 2)])]),
    # a definition commits what is open, and so does BEGIN
    (turns(query("BEGIN"), answered(ok(0, OPEN)), query("DELETE FROM t"), answered(ok(2, OPEN)),
           query("CREATE TABLE u (a INT PRIMARY KEY)"), answered(ok())),
     [("committed", [("DELETE FROM t", 2)]), ("committed", [("CREATE TABLE u (a INT PRIMARY KEY)", None)])]),
    (turns(query("BEGIN"), answered(ok(0, OPEN)), query("DELETE FROM t"), answered(ok(2, OPEN)),
           query("BEGIN"), answered(ok(0, OPEN)), query("DELETE FROM t"), answered(ok(0, OPEN)),
               query("ROLLBACK"), answered(ok())),
     [("committed", [("DELETE FROM t", 2)]), ("aborted", [("DELETE FROM t", 0)])]),
    # several statements in one text, and CALL with several results
    (turns(query("DELETE FROM t; SELECT a, b FROM t"), answered(ok(2, AUTO | MORE), *rows(COLUMNS))),
     [("committed", [("DELETE FROM t", 2)]), ("committed", [("SELECT a, b FROM t", ())])]),
    (turns(query("DELETE FROM t; SELECT x"), answered(ok(2, AUTO | MORE), error(1054, "42S22"))),
     [("committed", [("DELETE FROM t", 2)]), ("aborted", [("SELECT x", "42S22")])]),
    # no answer came
    (turns(query("DELETE FROM t")), [("unknown", [("DELETE FROM t", None)])]),
    (turns(query("BEGIN"), answered(ok(0, OPEN)), query("DELETE FROM t"), answered(ok(2, OPEN)), query("COMMIT")),
     [("unknown", [("DELETE FROM t", 2)])]),
    # another database is another log's
    (turns(packet(0, b"\x02other"), answered(ok()), query("DELETE FROM t"), answered(ok(2)),
        query("USE shop"), answered(ok()),
           query("DELETE FROM t"), answered(ok(1))), [("committed", [("DELETE FROM t", 1)])]),
]  # fmt: skip


@pytest.mark.parametrize(("conversation", "expected"), CASES)
def test_what_was_done_is_told(conversation: list[Turn], expected: object, tmp_path: Path) -> None:
    log = logged(frames_of(conversation), tmp_path)
    assert said(log) == expected
    assert not log.header.gaps


@pytest.mark.parametrize("size", [1, 3, 7])
def test_decoding_does_not_depend_on_the_pieces(size: int, tmp_path: Path) -> None:
    conversation = CASES[2][0]
    assert said(logged(split(frames_of(conversation), lambda _: size), tmp_path)) == CASES[2][1]


def test_prepared_statements_and_binary_rows(tmp_path: Path) -> None:
    def executed(first: int, *, bound: bool) -> bytes:
        types = b"\x01" + struct.pack("<HH", LONG, DECIMAL) if bound else b"\0"
        return packet(
            0, b"\x17" + struct.pack("<IBI", 1, 0, 1) + b"\0" + types + struct.pack("<i", first) + b"\x041.50"
        )

    row = b"\0" + b"\0" + struct.pack("<i", -5) + b"\x01x"
    conversation = turns(
        packet(0, b"\x16SELECT a, b FROM t WHERE a = ? AND 1.5 = ?"),
        answered(b"\0" + struct.pack("<IHHBH", 1, 2, 2, 0, 0), *COLUMNS, *COLUMNS),
        executed(-5, bound=True), answered(*rows(COLUMNS, row, deprecates=True)),
        executed(7, bound=False), answered(*rows(COLUMNS, deprecates=True)),
        packet(0, b"\x19\x01\0\0\0"), b"",
    )  # fmt: skip
    log = logged(frames_of(conversation, deprecates=True), tmp_path)
    text = "SELECT a, b FROM t WHERE a = ? AND 1.5 = 1.50"
    assert said(log) == [("committed", [(text, ((-5, "x"),))]), ("committed", [(text, ())])]
    assert [transaction.statements[0].params for transaction in log.transactions] == [(-5,), (7,)]


def test_the_statement_that_was_prepared_last_has_a_number_of_its_own(tmp_path: Path) -> None:
    conversation = turns(
        packet(0, b"\x16DELETE FROM t") + packet(0, b"\x17" + struct.pack("<IBI", 0xFFFFFFFF, 0, 1)),
        answered(b"\0" + struct.pack("<IHHBH", 5, 0, 0, 0, 0)) + answered(ok(2)),
        packet(0, b"\x19" + struct.pack("<I", 5)), b"",
    )  # fmt: skip
    assert said(logged(frames_of(conversation), tmp_path)) == [("committed", [("DELETE FROM t", 2)])]


def test_a_client_asks_later_for_several_statements_in_one_text(tmp_path: Path) -> None:
    text, end = "DELETE FROM t; SELECT a, b FROM t", b"\xfe" + struct.pack("<HH", 0, AUTO)
    conversation = turns(
        packet(0, b"\x1b\0\0"), answered(end),
        query(text), answered(ok(1, AUTO | MORE), *rows(COLUMNS)),
        packet(0, b"\x1b\1\0"), answered(end),
        query("DELETE FROM t;"), answered(ok(1)),
    )  # fmt: skip
    assert said(logged(frames_of(conversation, capabilities=0), tmp_path)) == [
        ("committed", [("DELETE FROM t", 1)]),
        ("committed", [("SELECT a, b FROM t", ())]),
        ("committed", [("DELETE FROM t", 1)]),
    ]


def test_a_mode_that_is_computed_is_told() -> None:
    modes = Modes("ANSI,NO_ZERO_DATE")
    said = "set autocommit=1, sql_mode = concat(@@sql_mode,',STRICT_TRANS_TABLES'), x = 1"
    assert modes.told(said) == "set autocommit=1, sql_mode = 'ANSI,NO_ZERO_DATE,STRICT_TRANS_TABLES', x = 1"
    assert modes.told("SET @@SESSION.sql_mode = CONCAT(CONCAT(@@session.sql_mode, ',ANSI'), ',X')") == (
        "SET @@SESSION.sql_mode = 'ANSI,NO_ZERO_DATE,STRICT_TRANS_TABLES,X'"
    )
    for said in ("SET sql_mode = 'A'", "SET x = 1", "SET NAMES utf8mb4"):
        assert modes.told(said) == said
    assert modes.told("SET sql_mode = CONCAT(@@sql_mode, ',B')") == "SET sql_mode = 'A,B'"
    for said in (
        "SET sql_mode = f('x')",
        "SET sql_mode = CONCAT(@@sql_mode, ',B')",
        "SET sql_mode = CONCAT(",
        "SET sql_mode =",
    ):
        assert modes.told(said) == said


def test_levels_are_followed(tmp_path: Path) -> None:
    conversation = turns(
        query("SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE"), answered(ok()),
            query("DELETE FROM t"), answered(ok(1)),
        query("SET tx_isolation = 'READ-COMMITTED'"), answered(ok()), query("DELETE FROM t"), answered(ok(1)),
        query("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"), answered(ok()),
            query("DELETE FROM t"), answered(ok(1)),
        query("DELETE FROM t"), answered(ok(1)),
    )  # fmt: skip
    log = logged(frames_of(conversation), tmp_path)
    levels = [transaction.isolation or HEADER["isolation"] for transaction in log.transactions]
    assert levels == ["mysql:serializable", "mysql:read-committed", "mysql:repeatable-read", "mysql:read-committed"]


@pytest.mark.parametrize(
    "conversation",
    [
        turns(query("DELETE FROM t"), answered(ok(1, OPEN)), query("COMMIT"), answered(ok())),
        turns(query("BEGIN"), answered(ok(0, OPEN)), query("DELETE FROM t"), answered(ok(1, AUTO))),
        turns(query("XA START 'x'"), answered(ok(0, OPEN)), query("DELETE FROM t"), answered(ok(1, OPEN)),
              query("XA COMMIT 'x'"), answered(ok())),
        turns(packet(0, b"\x02other"), answered(ok()), query("DELETE FROM shop.t"), answered(ok(2)),
              query("USE shop"), answered(ok())),
    ],
)  # fmt: skip
def test_what_is_not_understood_is_a_gap(conversation: list[Turn], tmp_path: Path) -> None:
    later = turns(query("DELETE FROM t WHERE a = 9"), answered(ok(1)))
    log = logged(frames_of([*conversation, *later]), tmp_path)
    assert said(log)[-1] == ("committed", [("DELETE FROM t WHERE a = 9", 1)])
    assert len(log.header.gaps) == 1


def test_counts_of_rows_found_are_not_told_of_updates(tmp_path: Path) -> None:
    conversation = turns(query("UPDATE t SET b = 'x'"), answered(ok(1)), query("DELETE FROM t"), answered(ok(1)))
    log = logged(frames_of(conversation, capabilities=2), tmp_path)
    assert said(log) == [("committed", [("UPDATE t SET b = 'x'", None)]), ("committed", [("DELETE FROM t", 1)])]


def test_what_cannot_be_read_is_not_offered() -> None:
    greeting = b"\x0a" + VERSION.encode() + b"\0" + struct.pack("<I", 7) + bytes(8) + b"\0" + b"\xfe\xff"
    greeting += b"\x2d" + struct.pack("<H", 2) + b"\xff\xff" + b"\x15" + bytes(6) + struct.pack("<I", 31) + bytes(13)
    talk = MysqlTalk()
    assert talk.arrived().connect
    (_, shown), *_ = Framing().feed(talk.first_got(packet(0, greeting)).to_client)
    assert shown is not None
    place = len(VERSION) + 15
    (low,) = struct.unpack_from("<H", shown, place)
    (high,) = struct.unpack_from("<H", shown, place + 5)
    assert (low | high << 16) == (0xFFFFFFFE & ~MASKED)
    assert len(shown) == len(greeting)
    assert struct.unpack_from("<I", shown, place + 14) == (0,)
    # a client that has compression all the same is not followed
    assert MysqlTalk().first_sent(packet(1, struct.pack("<I", 1 << 5) + bytes(40))).close


def test_statements_are_told_apart() -> None:
    found = pieces("DELETE FROM t; SELECT ';' -- ;\n + 1; CREATE PROCEDURE p() BEGIN DELETE FROM t; END", several=True)
    assert [piece.sql for piece in found] == [
        "DELETE FROM t", "SELECT ';' -- ;\n + 1", "CREATE PROCEDURE p() BEGIN DELETE FROM t; END",
    ]  # fmt: skip
    assert [piece.sql for piece in pieces("DELETE FROM t;", several=False)] == ["DELETE FROM t"]


def _greeting() -> bytes:
    found = b"\x0a8.0.36\0" + struct.pack("<I", 7) + bytes(8) + b"\0" + b"\xff\xff\xff" + struct.pack("<H", 2)
    return found + b"\xff\xff" + b"\x15" + bytes(10) + bytes(13) + b"caching_sha2_password\0"


@pytest.mark.parametrize(
    "exchanged",
    [
        [("server", b"\x01\x03")],
        [("server", b"\x01\x04"), ("client", b"\x02"), ("server", b"\x01-----BEGIN"), ("client", bytes(256))],
        [("server", b"\xfemysql_native_password\0" + bytes(21)), ("client", bytes(20))],
    ],
    ids=["by what the server has cached", "by the server's public key", "by another method"],
)  # fmt: skip
def test_a_client_logs_in_at_a_fake_server(exchanged: list[tuple[str, bytes]]) -> None:
    talk = MysqlTalk()
    shown = talk.first_got(packet(0, _greeting())).to_client
    assert shown.endswith(b"caching_sha2_password\0")
    response = struct.pack("<IIB", 1 << 15 | 1 << 3 | 1 << 9, 1 << 24, 45) + bytes(23) + b"me\0\x20" + bytes(32)
    response += b"shop\0caching_sha2_password\0"
    assert talk.first_sent(packet(1, response)).to_server == packet(1, response)
    for number, (side, payload) in enumerate(exchanged, 2):
        one = packet(number, payload)
        step = talk.first_got(one) if side == "server" else talk.first_sent(one)
        assert (step.to_client, step.to_server) == ((one, b"") if side == "server" else (b"", one))
        assert step.opened is None
    step = talk.first_got(packet(9, ok()))
    assert step.to_client == packet(9, ok())
    assert step.opened is not None
    assert (step.opened["user"], step.opened["database"]) == ("me", "shop")

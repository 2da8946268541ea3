"""What a proxy makes of PostgreSQL's protocol: the same wherever the bytes were split, and no more than was said."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import proxied
from tests.proxied import (
    BOUND,
    EMPTY,
    INT,
    NO_DATA,
    NOTICE,
    PARSED,
    QUESTION,
    SUSPENDED,
    SYNC,
    TEXT,
    answer,
    bind,
    columns,
    describe,
    done,
    error,
    execute,
    frames_of,
    parse,
    query,
    ready,
    row,
    split,
    transaction,
)  # fmt: skip
from troubadour.formats import read_log
from troubadour.model.log import Log
from troubadour.record.core.unroll import unroll
from troubadour.record.proxy import raw
from troubadour.record.proxy.decode.making import make_log, records
from troubadour.record.proxy.postgres.carried.watch import Watch
from troubadour.record.proxy.postgres.protocol.framing import Framing
from troubadour.record.proxy.postgres.protocol.messages import message
from troubadour.record.proxy.postgres.statements.copying import Copy
from troubadour.record.proxy.postgres.statements.defined import Defined, may_write_intervals, plain_tables
from troubadour.record.proxy.postgres.statements.texts import pieces
from troubadour.record.proxy.raw import Damage, Frame, frame, frames

HEADER: dict[str, Any] = {
    "format": "troubadour-log", "version": 1, "dialect": "postgres", "isolation": "postgres:read-committed",
    "schema": ["CREATE TABLE t (a integer PRIMARY KEY, b text)"], "segment": "first",
}  # fmt: skip
SELECTED = columns(("a", INT), ("b", TEXT)) + row(b"1", b"x") + row(b"2", None) + done("SELECT 2")
WRITING = transaction(
    query("BEGIN"), done("BEGIN") + ready("T"),
    query("UPDATE t SET b = 'y;' WHERE a = 1;"), NOTICE + done("UPDATE 1") + ready("T"),
    parse("SELECT a, b FROM t WHERE a > $1", "s", [INT]) + bind([b"0"], "s") + describe() + execute() + SYNC,
    PARSED + BOUND + SELECTED + ready("T"),
    query("COMMIT"), done("COMMIT") + ready("I"),
    xid=77,
)  # fmt: skip


def logged(passed: Iterable[Frame | Damage], tmp_path: Path) -> Log:
    """The log of what passed, as `make_log` writes it."""
    path = tmp_path / "log.jsonl"
    source = BytesIO(json.dumps(HEADER).encode() + b"\n")
    unroll(source, path, records=records(passed, HEADER))
    return read_log([path])


def said(log: Log) -> list[tuple[str, list[tuple[str, object]]]]:
    """Each transaction's status, and its statements with what was observed."""
    found = []
    for one in log.transactions:
        statements: list[tuple[str, object]] = []
        for statement in one.statements:
            rows = None if statement.results is None else statement.results[0].rows
            observed = statement.error.sqlstate if statement.error else rows if rows is not None else statement.affected
            statements.append((statement.sql, observed))
        found.append((one.status, statements))
    return found


@given(st.lists(st.tuples(st.sampled_from(b"QDZ"), st.binary(max_size=40)), max_size=8), st.data())
def test_messages_are_the_same_wherever_they_are_split(found: list[tuple[int, bytes]], data: st.DataObject) -> None:
    stream = b"".join(message(bytes([kind]), body) for kind, body in found)
    framing, got = Framing(), []
    while stream:
        length = data.draw(st.integers(1, len(stream)))
        got += list(framing.feed(stream[:length]))
        stream = stream[length:]
    assert got == found
    assert framing.between


def test_of_a_message_that_is_too_long_the_body_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("troubadour.record.proxy.postgres.protocol.framing.LONGEST", 100)
    framing = Framing()
    stream = message(b"D", bytes(500)) + ready("I")
    got = [one for place in range(0, len(stream), 7) for one in framing.feed(stream[place : place + 7])]
    assert got == [(ord("D"), None), (ord("Z"), b"I")]


def test_a_transaction_and_its_commit_place(tmp_path: Path) -> None:
    log = logged(frames_of(WRITING), tmp_path)
    ((status, statements),) = said(log)
    assert status == "committed"
    assert statements == [
        ("UPDATE t SET b = 'y;' WHERE a = 1", 1),
        ("SELECT a, b FROM t WHERE a > $1", ((1, "x"), (2, None))),
    ]
    (transaction,) = log.transactions
    assert transaction.statements[1].params == (0,)
    found = [record for record in records(frames_of(WRITING), HEADER) if record[0] == 3]
    assert [record[12:14] for record in found] == [("77", "now")]


@pytest.mark.parametrize("size", [1, 2, 5, 6, 7])
def test_decoding_does_not_depend_on_the_pieces(size: int) -> None:
    whole = [record[:3] + record[4:] for record in records(frames_of(WRITING), HEADER)]
    assert [record[:3] + record[4:] for record in records(split(frames_of(WRITING), lambda _: size), HEADER)] == whole


ERRORS = [
    # a statement by itself, and one that fails by itself
    (transaction(query("INSERT INTO t VALUES (1, 'x')"), done("INSERT 0 1") + ready("I")),
     [("committed", [("INSERT INTO t VALUES (1, 'x')", 1)])]),
    (transaction(query("INSERT INTO t VALUES (1, 'x')"), error("23505") + ready("I")),
     [("aborted", [("INSERT INTO t VALUES (1, 'x')", "23505")])]),
    # a deferred error comes behind the completion, and is the end of what was done
    (transaction(query("INSERT INTO t VALUES (1, 'x')"), done("INSERT 0 1") + error("23503") + ready("I")),
     [("aborted", [("INSERT INTO t VALUES (1, 'x')", "23503")])]),
    # several statements in one text are one transaction
    (transaction(query("DELETE FROM t; DELETE FROM t"), done("DELETE 1") + done("DELETE 0") + ready("I")),
     [("committed", [("DELETE FROM t", 1), ("DELETE FROM t", 0)])]),
    (transaction(query("DELETE FROM t; SELECT 1/0; DELETE FROM t"), done("DELETE 1") + error("22012") + ready("I")),
     [("aborted", [("DELETE FROM t", 1), ("SELECT 1/0", "22012")])]),
    # COMMIT inside a text persists, despite a later error
    (transaction(query("DELETE FROM t; COMMIT; DELETE FROM t; x"),
                 done("DELETE 1") + NOTICE + done("COMMIT") + done("DELETE 0") + error("42601") + ready("I")),
     [("committed", [("DELETE FROM t", 1)]), ("aborted", [("DELETE FROM t", 0), ("x", "42601")])]),
    # a syntax error of the whole text: nothing was done
    (transaction(query("DELETE FROM t; SELEC"), error("42601") + ready("I")), []),
    (transaction(query(" ;"), EMPTY + ready("I"), query("-- nothing"), EMPTY + ready("I")), []),
    # a pipeline without BEGIN is one transaction up to its Sync
    (transaction(parse("DELETE FROM t") + bind() + execute() + bind() + execute() + SYNC,
                 PARSED + BOUND + done("DELETE 1") + BOUND + done("DELETE 0") + ready("I")),
     [("committed", [("DELETE FROM t", 1), ("DELETE FROM t", 0)])]),
    (transaction(parse("DELETE FROM t") + bind() + execute() + parse("SELECT 1/0") + bind() + execute() + bind() + SYNC,
                 PARSED + BOUND + done("DELETE 1") + PARSED + BOUND + error("22012") + ready("I")),
     [("aborted", [("DELETE FROM t", 1), ("SELECT 1/0", "22012")])]),
    # messages that were sent after an error, before its Sync
    (transaction(parse("SELECT 1/0") + bind() + execute(), PARSED + BOUND + error("22012"),
                 parse("DELETE FROM t") + bind() + execute() + SYNC, ready("I")),
     [("aborted", [("SELECT 1/0", "22012")])]),
    # a portal in parts
    (transaction(query("BEGIN"), done("BEGIN") + ready("T"),
                 parse("SELECT a FROM t") + bind() + describe() + execute("", 1) + SYNC,
                 PARSED + BOUND + columns(("a", INT)) + row(b"1") + SUSPENDED + ready("T"),
                 execute("", 5) + SYNC, row(b"2") + done("SELECT 1") + ready("T"),
                 query("END"), done("COMMIT") + ready("I")),
     [("committed", [("SELECT a FROM t", ((1,), (2,)))])]),
    # a transaction that failed, and COMMIT that is answered by ROLLBACK
    (transaction(query("BEGIN"), done("BEGIN") + ready("T"), query("SELECT 1/0"), error("22012") + ready("E"),
                 query("DELETE FROM t"), error("25P02") + ready("E"), query("COMMIT"), done("ROLLBACK") + ready("I")),
     [("aborted", [("SELECT 1/0", "22012"), ("DELETE FROM t", "25P02")])]),
    # a savepoint brings it back
    (transaction(query("BEGIN"), done("BEGIN") + ready("T"), query("SAVEPOINT s"), done("SAVEPOINT") + ready("T"),
                 query("SELECT 1/0"), error("22012") + ready("E"),
                 query("ROLLBACK TO s"), done("ROLLBACK") + ready("T"),
                 query("DELETE FROM t"), done("DELETE 1") + ready("T"), query("COMMIT"), done("COMMIT") + ready("I")),
     [("committed", [("SAVEPOINT s", None), ("SELECT 1/0", "22012"), ("ROLLBACK TO s", None), ("DELETE FROM t", 1)])]),
    # AND CHAIN
    (transaction(query("BEGIN"), done("BEGIN") + ready("T"), query("DELETE FROM t"), done("DELETE 1") + ready("T"),
                 query("COMMIT AND CHAIN"),
                 done("COMMIT") + ready("T"), query("DELETE FROM t"), done("DELETE 0") + ready("T"),
                 query("ROLLBACK"), done("ROLLBACK") + ready("I")),
     [("committed", [("DELETE FROM t", 1)]), ("aborted", [("DELETE FROM t", 0)])]),
    # the connection broke: a COMMIT that was sent may have happened, other things that were open have not
    (transaction(query("DELETE FROM t"))[:1], [("unknown", [("DELETE FROM t", None)])]),
    (transaction(query("BEGIN"), done("BEGIN") + ready("T"), query("DELETE FROM t"), done("DELETE 1") + ready("T"),
                 query("COMMIT")), [("unknown", [("DELETE FROM t", 1)])]),
    (transaction(query("BEGIN"), done("BEGIN") + ready("T"), query("DELETE FROM t"), done("DELETE 1") + ready("T")),
     [("aborted", [("DELETE FROM t", 1)])]),
    (transaction(query("DELETE FROM t"), error("57P01", severity="FATAL")), [("unknown", [("DELETE FROM t", None)])]),
    # cursors and prepared statements by text
    (transaction(query("BEGIN"), done("BEGIN") + ready("T"),
                 query("DECLARE c CURSOR FOR SELECT a FROM t"), done("DECLARE CURSOR") + ready("T"),
                 query("FETCH 1 FROM c"), columns(("a", INT)) + row(b"1") + done("FETCH 1") + ready("T"),
                 query("FETCH ALL FROM c"), columns(("a", INT)) + row(b"2") + done("FETCH 1") + ready("T"),
                 query("COMMIT"), done("COMMIT") + ready("I")),
     [("committed", [("SELECT a FROM t", ((1,), (2,)))])]),
    (transaction(query("PREPARE p (int) AS DELETE FROM t WHERE a = $1 AND b = $2"), done("PREPARE") + ready("I"),
                 query("EXECUTE p (-1, 'x')"), done("DELETE 1") + ready("I")),
     [("committed", [("DELETE FROM t WHERE a = (-1)::int AND b = 'x'", 1)])]),
    # rows that came in by COPY
    (transaction(query("COPY t FROM STDIN"), message(b"G", b"\0\0\2\0\0\0\0"), message(b"d", b"1\ta'b\\\\\n2\t\\"),
                 b"", message(b"d", b"N\n") + message(b"c", b""), done("COPY 2") + ready("I")),
     [("committed", [("INSERT INTO t VALUES ('1', 'a''b\\'), ('2', NULL)", 2)])]),
]  # fmt: skip


@pytest.mark.parametrize(("turns", "expected"), ERRORS)
def test_what_was_done_is_told(turns: list[proxied.Turn], expected: object, tmp_path: Path) -> None:
    log = logged(frames_of(turns), tmp_path)
    assert said(log) == expected
    assert not log.header.gaps


@pytest.mark.parametrize(
    "turns",
    [
        transaction(query("DELETE FROM t"), done("DELETE 1") + done("DELETE 1") + ready("I")),
        transaction(query("DELETE FROM t; DELETE FROM t"), done("DELETE 1") + ready("I")),
        transaction(query("DELETE FROM t"), done("COMMIT") + ready("I")),
        transaction(
            query("DELETE FROM t"), done("DELETE 1") + ready("T"), query("COMMIT"), done("COMMIT") + ready("I")
        ),
        transaction(query("BEGIN"), done("BEGIN") + ready("I")),
        transaction(message(b"F", b"1"), message(b"V", b"") + ready("I")),
    ],
)
def test_what_is_not_understood_is_a_gap_until_nothing_is_open(turns: list[proxied.Turn], tmp_path: Path) -> None:
    later = transaction(query("DELETE FROM t WHERE a = 9"), done("DELETE 1") + ready("I"))
    log = logged(frames_of([*turns, *later]), tmp_path)
    assert said(log) == [("committed", [("DELETE FROM t WHERE a = 9", 1)])]
    (gap,) = log.header.gaps
    assert gap.since is not None


LONG = "x" * 300


@pytest.mark.parametrize(
    "turns",
    [
        transaction(query(f"DELETE FROM t WHERE b = '{LONG}'"), done("DELETE 1") + ready("I")),
        transaction(query(f"DELETE FROM t WHERE b = '{LONG}'"), error("22012") + ready("I")),
        transaction(parse("DELETE FROM t WHERE b = $1") + bind([LONG.encode()]) + describe() + execute() + SYNC,
                    PARSED + BOUND + NO_DATA + done("DELETE 1") + ready("I")),
        transaction(parse(f"SELECT '{LONG}'", "s") + describe("s", b"S") + bind([], "s") + execute() + SYNC,
                    PARSED + message(b"t", b"\0\0") + columns(("a", TEXT)) + BOUND + row(b"x") + done("SELECT 1")
                    + ready("I")),
    ],
)  # fmt: skip
def test_what_is_too_long_is_a_gap_and_the_next_statement_is_told(
    turns: list[proxied.Turn], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("troubadour.record.proxy.postgres.protocol.framing.LONGEST", 250)
    monkeypatch.setattr("tests.proxied.SESSION", proxied.SHORT_SESSION)
    later = transaction(query("DELETE FROM t WHERE a = 9"), done("DELETE 1") + ready("I"))
    log = logged(frames_of([*turns, *later]), tmp_path)
    assert said(log) == [("committed", [("DELETE FROM t WHERE a = 9", 1)])]
    assert len(log.header.gaps) == 1


def test_of_rows_that_are_too_long_nothing_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("troubadour.record.proxy.postgres.protocol.framing.LONGEST", 250)
    monkeypatch.setattr("tests.proxied.SESSION", proxied.SHORT_SESSION)
    turns = transaction(
        query("SELECT b FROM t"), columns(("b", TEXT)) + row(LONG.encode()) + done("SELECT 1") + ready("I")
    )
    log = logged(frames_of(turns), tmp_path)
    assert said(log) == [("committed", [("SELECT b FROM t", None)])]
    assert not log.header.gaps


def test_levels_are_followed(tmp_path: Path) -> None:
    def one(text: str, tag: str) -> list[proxied.Turn]:
        return transaction(query(text), done(tag) + ready("I"))

    log = logged(
        frames_of(
            [
                *one("SET default_transaction_isolation TO 'serializable'", "SET"),
                *one("DELETE FROM t", "DELETE 1"),
                *one("RESET default_transaction_isolation", "RESET"),
                *one("DELETE FROM t", "DELETE 1"),
                *one("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ", "SET"),
                *one("DELETE FROM t", "DELETE 1"),
                *transaction(
                    query("BEGIN ISOLATION LEVEL READ COMMITTED"), done("BEGIN") + ready("T"),
                    query("SET default_transaction_isolation = 'serializable'"), done("SET") + ready("T"),
                    query("DELETE FROM t"), done("DELETE 1") + ready("T"),
                    query("ROLLBACK"), done("ROLLBACK") + ready("I"),
                ),
                *one("DELETE FROM t", "DELETE 1"),
            ]
        ),
        tmp_path,
    )  # fmt: skip
    levels = [transaction.isolation or HEADER["isolation"] for transaction in log.transactions]
    short = [level.removeprefix("postgres:") for level in levels]
    assert short == ["serializable", "read-committed", "repeatable-read", "read-committed", "repeatable-read"]


def test_binary_values_and_errors_of_parse(tmp_path: Path) -> None:
    number = struct.pack(">i", 5)
    turns = transaction(
        parse("SELECT a FROM t WHERE a = $1", "s") + describe("s", b"S") + SYNC,
        PARSED + message(b"t", struct.pack(">HI", 1, INT)) + columns(("a", INT)) + ready("I"),
        bind([number], "s", binary=True) + execute() + SYNC, BOUND + row(number) + done("SELECT 1") + ready("I"),
        bind([None], "s", binary=True) + execute() + SYNC, BOUND + done("SELECT 0") + ready("I"),
        parse("SELECT x FROM t WHERE a = $1") + bind([b"7"]) + describe() + execute() + SYNC,
        error("42703") + ready("I"),
        parse("DELETE FROM t") + bind() + describe() + execute() + SYNC,
        PARSED + BOUND + NO_DATA + done("DELETE 3") + ready("I"),
    )  # fmt: skip
    log = logged(frames_of(turns), tmp_path)
    assert said(log) == [
        ("committed", [("SELECT a FROM t WHERE a = $1", ((5,),))]),
        ("committed", [("SELECT a FROM t WHERE a = $1", ())]),
        ("aborted", [("SELECT x FROM t WHERE a = $1", "42703")]),
        ("committed", [("DELETE FROM t", 3)]),
    ]
    assert [transaction.statements[0].params for transaction in log.transactions] == [(5,), (None,), ("7",), None]


# --- the carrier's part ---------------------------------------------------------------------------------------------


def watched(turns: Iterable[proxied.Turn], size: int) -> tuple[bytes, Watch, int]:
    """What a client gets of what a server says, in pieces of a size; and how often the proxy asked."""
    watch, got, asked = Watch(QUESTION), b"", 0
    for kind, data in turns:
        if kind == raw.ASKED:
            continue
        if kind == raw.CLIENT:
            asked += watch.sent(data) == QUESTION
            continue
        for place in range(0, len(data), size):
            got += watch.got(data[place : place + size])
    return got + watch.ended(), watch, asked


@pytest.mark.parametrize("size", [1, 3, 5, 6, 1000])
def test_the_client_gets_what_the_server_said_without_the_answer_to_the_question(size: int) -> None:
    later = transaction(query("SELECT a, b FROM t"), SELECTED + ready("I"))
    got, watch, asked = watched([*WRITING, *later], size)
    wanted = b"".join(data.removeprefix(answer(77)) for kind, data in [*WRITING, *later] if kind == raw.SERVER)
    assert got == wanted
    assert (asked, watch.outstanding, watch.asked, watch.lost, watch.status) == (1, 0, 0, False, ord("I"))


@pytest.mark.parametrize("size", [1, 4, 1000])
def test_an_error_of_the_question_is_what_commit_is_answered(size: int) -> None:
    turns = transaction(
        query("BEGIN"), done("BEGIN") + ready("T"), query("DELETE FROM t"), done("DELETE 1") + ready("T"),
        query("COMMIT"), PARSED + error("57014") + ready("E") + done("ROLLBACK") + ready("I"),
    )  # fmt: skip
    got, watch, asked = watched(turns, size)
    assert asked == 1
    assert got.endswith(done("DELETE 1") + ready("T") + error("57014") + ready("I"))
    assert watch.status == ord("I")


COMMITS = [
    query("COMMIT"),
    query("END;"),
    parse("COMMIT") + bind() + describe() + execute() + SYNC,
    bind(name="c") + execute() + SYNC,
]
OTHERS = [
    query("COMMIT; SELECT 1"),
    query("COMMIT AND CHAIN"),
    query("COMMIT PREPARED 'x'"),
    query("SELECT 1") + query("COMMIT"),
    parse("SELECT 1") + bind() + execute() + SYNC,
    bind(name="d") + execute() + SYNC,
    bind(name="c") + execute(),
    parse("COMMIT") + bind() + execute() + bind() + execute() + SYNC,
]


@pytest.mark.parametrize(("sent", "asks"), [(one, True) for one in COMMITS] + [(one, False) for one in OTHERS])
def test_only_a_commit_by_itself_is_asked_for_its_place(sent: bytes, asks: bool) -> None:
    watch = Watch(QUESTION)
    watch.sent(parse("COMMIT", "c") + parse("DELETE FROM t", "d") + SYNC)
    watch.got(PARSED + PARSED + ready("I"))
    watch.sent(query("BEGIN"))
    watch.got(done("BEGIN") + ready("T"))
    assert watch.sent(COMMITS[0]) == b""  # nothing was written
    watch.got(ready("T"))
    watch.sent(query("DELETE FROM t"))
    assert watch.sent(COMMITS[0]) == b""  # an answer is outstanding
    watch.got(done("DELETE 1") + ready("T") + ready("T"))
    assert (watch.sent(sent) == QUESTION) is asks


def test_a_sync_that_copy_swallows_is_not_waited_for() -> None:
    watch = Watch(QUESTION)
    watch.sent(query("BEGIN"))
    watch.got(done("BEGIN") + ready("T"))
    watch.sent(parse("COPY t FROM STDIN") + bind() + execute() + SYNC)
    watch.got(PARSED + BOUND + message(b"G", b"\0\0\0"))
    watch.sent(message(b"d", b"1\n") + message(b"c", b"") + SYNC)
    watch.got(done("COPY 1") + ready("T"))
    watch.sent(query("DELETE FROM t"))
    watch.got(done("DELETE 1") + ready("T"))
    assert watch.sent(query("COMMIT")) == QUESTION


# --- what is written ------------------------------------------------------------------------------------------------


def reading(data: bytes) -> Any:
    return lambda length, place: data[place : place + length]


def test_a_segment_that_is_cut_anywhere_has_all_whole_frames() -> None:
    passed = frames_of(WRITING)
    written = [frame(*one) for one in passed]
    data = b"".join(written)
    ends = [sum(map(len, written[:count])) for count in range(len(written) + 1)]
    for end in range(0, len(data) + 1, 2):
        for rest in (b"", bytes(40)):
            there = data[:end] + rest
            whole = max(count for count, length in enumerate(ends) if there[:length] == data[:length])
            assert list(frames(reading(there), 0)) == passed[:whole]


def test_damage_is_told_and_later_connections_are_decoded(tmp_path: Path) -> None:
    first, second = frames_of(WRITING), frames_of(WRITING, 2, 90_000_000)
    data = bytearray(b"".join(frame(*one) for one in [*first, *second]))
    data[len(frame(*first[0])) + 40] ^= 1
    found = list(frames(reading(bytes(data)), 0))
    assert [one for one in found if isinstance(one, Damage)]
    log = logged(found, tmp_path)
    assert [transaction.session for transaction in log.transactions] == ["c2"]
    assert log.header.gaps


def test_a_killed_proxys_segment_is_repaired_wherever_it_was_cut(tmp_path: Path) -> None:
    header = json.dumps(HEADER).encode() + b"\n"
    written = [frame(*one) for one in frames_of(WRITING)]
    data = b"".join(written)
    answered = len(data) - len(written[-1])
    for end in range(0, len(data) + 1, 17):
        path = tmp_path / "run.jsonl"
        path.write_bytes(header + data[:end] + bytes(50))
        make_log(path, path)
        statuses = [transaction.status for transaction in read_log([path]).transactions]
        assert (statuses == ["committed"]) is (end >= answered)
        assert set(statuses) <= {"committed", "unknown", "aborted"}


def test_statements_are_told_apart() -> None:
    texts = {
        "UPDATE t SET b = 'x' WHERE a = 1;": ["UPDATE t SET b = 'x' WHERE a = 1"],
        "SELECT ';' -- ; \n; SELECT $$;$$, \";\" /* ; */": ["SELECT ';'", 'SELECT $$;$$, ";"'],
        "CREATE RULE r AS ON INSERT TO t DO ALSO (SELECT 1; SELECT 2); SELECT 3": None,
        " ; ;": [],
        "INSERT INTO t VALUES ('a;b')": ["INSERT INTO t VALUES ('a;b')"],
        "SELECT E'\\';' ; SELECT 2": ["SELECT E'\\';'", "SELECT 2"],
    }
    for text, expected in texts.items():
        found = [piece.sql for piece in pieces(text)]
        assert found == expected if expected is not None else len(found) == 2, text


def test_copy_is_told_in_the_form_that_it_has_by_default() -> None:
    for options in ("", " WITH (FORMAT text)", " WITH DELIMITER AS '\t' NULL AS '\\\\N'".replace("\\\\", "\\")):
        copy = Copy()
        copy.given(b"1\\tx\n2\t\\N\n".replace(b"\\t", b"\t"))
        told = copy.statements(f"COPY t (a, b) FROM STDIN{options}", "utf-8", {"t": {}})
        assert told == [("INSERT INTO t (a, b) VALUES ('1', 'x'), ('2', NULL)", 2)], options
    for options in (" CSV", " WITH (FORMAT binary)", " DELIMITER ','", " NULL ''"):
        assert Copy().statements(f"COPY t FROM STDIN{options}", "utf-8", {"t": {}}) is None
    copy = Copy()
    copy.given(b"1\tx\n2\t\\N\n")
    for tab in (r"\t", "\t"):
        old = rf"COPY t FROM STDIN DELIMITERS E'{tab}' WITH NULL AS E'\\N'"
        assert copy.statements(old, "utf-8", {"t": {}}) == [("INSERT INTO t VALUES ('1', 'x'), ('2', NULL)", 2)]
    assert Copy().statements("COPY (SELECT a FROM t) TO STDOUT (FORMAT csv)", "utf-8", {}) == [
        ("SELECT a FROM t", None)
    ]


def test_copy_into_other_tables_is_left_as_it_is() -> None:
    schema = [
        "CREATE TABLE t (a integer)",
        "CREATE TABLE s.u (a integer)",
        "CREATE TABLE g (a integer GENERATED ALWAYS AS (1) STORED)",
    ]
    assert plain_tables(schema) == {"t": {"a": 23}, "s.u": {"a": 23}}
    assert plain_tables([*schema, "CREATE RULE r AS ON INSERT TO t DO NOTHING"]) == {}


_BINARY = b"PGCOPY\n\xff\r\n\0" + bytes(8)


def test_copy_in_binary_is_told_where_all_types_are_known() -> None:
    (tables,) = [
        plain_tables(
            ["CREATE TABLE t (a integer NOT NULL, b character varying(9), c numeric(4,2), d point, CHECK (a > 1))"]
        )
    ]
    assert tables == {"t": {"a": 23, "b": 1043, "c": 1700, "d": None}}
    row = b"\0\2\0\0\0\4\0\0\0\7\xff\xff\xff\xff\0\2\0\0\0\4\xff\xff\xff\xff\0\0\0\4it's"
    copy = Copy()
    copy.given(_BINARY + row + b"\xff\xff")
    for text in ('COPY "t"("a", "b") FROM STDIN WITH (FORMAT binary)', "COPY t (a, b) FROM STDIN BINARY"):
        ((sql, count),) = copy.statements(text, "utf-8", tables) or []
        assert sql.endswith("VALUES ('7', NULL), ('-1', 'it''s')")
        assert count == 2
    for text in ("COPY t (a, d) FROM STDIN BINARY", "COPY t FROM STDIN BINARY", "COPY t (a) FROM STDIN BINARY"):
        assert copy.statements(text, "utf-8", tables) is None
    assert copy.statements("COPY t (a, b) FROM STDIN BINARY", "iso8859-1", tables) is None


def test_a_table_that_is_defined_anew_is_no_longer_plain() -> None:
    defined = Defined(["CREATE TABLE t (a integer)", "CREATE TABLE s.u (a integer)"])
    defined.executed("ALTER TABLE u ADD COLUMN b integer")
    assert defined.tables == {"t": {"a": 23}}


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT a FROM t WHERE b = 1", False),
        ("UPDATE t SET a = a + 1", False),
        ("SELECT age(a) FROM t", True),
        ("INSERT INTO t SELECT a - b FROM u", True),
        ("SELECT (a - b)::text FROM t", True),
        ("SELECT a - 1 FROM t", False),
    ],
)
def test_what_may_write_an_interval(sql: str, expected: bool) -> None:
    assert may_write_intervals(sql) is expected

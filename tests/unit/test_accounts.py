"""Violations by name, and their chains: each edge of each is checked by replay, which knows nothing of how it was
found."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from benchmarks.anomalies.checked import Checked, checked
from troubadour.audit.account.pieces import taken_apart
from troubadour.audit.driver import Options, audit
from troubadour.coverage.library import library_of
from troubadour.formats import read_log
from troubadour.isolation.advice import QUESTIONS, advice
from troubadour.isolation.anomalies import ANOMALIES, Kind, Link, classify, is_forbidden
from troubadour.isolation.levels import LEVELS
from troubadour.model.account import Account, Edge
from troubadour.model.log import Header, Log
from troubadour.replay.chain import check_chain
from troubadour.report.account import full_rows, lost_text

LOGS = Path(__file__).parents[2] / "logs" / "anomalies"
NAMES = [line.split() for line in (LOGS / "names.txt").read_text().splitlines() if not line.startswith("#")]
SLOW = {"fig-1-without-t3-420", "dirty-write", "long-fork"}


def account_of(log: Log, level: str) -> Account:
    verdict = audit(log, library_of(log), Options(isolation=level, accounts=True))
    assert verdict.account is not None, verdict.explanation
    return verdict.account


def wrong_edges(log: Log, account: Account, edges: tuple[Edge, ...]) -> list[str]:
    explained = account.explained
    assert explained is not None
    prefix = Log(log.header, log.transactions[: explained.transactions], log.digest)
    if explained.apart:
        pieces = taken_apart(prefix)
        assert pieces is not None
        prefix = pieces.log
    return check_chain(prefix, explained.witness, library_of(log), explained.level, edges)


def cases() -> list[object]:
    """The first level of most logs; the others among the slow tests."""
    first = {names[0]: names for names in reversed(NAMES) if names[0] not in SLOW}
    return [
        pytest.param(*names, marks=[] if names in first.values() else [pytest.mark.slow], id="-".join(names[:2]))
        for names in NAMES
    ]


@pytest.mark.parametrize(("log_name", "level", "expected"), cases())
def test_a_violation_has_its_name_and_a_chain_that_follows(log_name: str, level: str, expected: str) -> None:
    log = read_log([LOGS / f"{log_name}.jsonl"])
    account = account_of(log, level)
    assert account.anomaly == expected
    if account.explained is None:
        assert account.anomaly in ("garbage-read", "wrong-answer")
        assert account.difference is not None
        return
    edges = account.explained.edges
    circular = account.anomaly not in ("aborted-read", "intermediate-read")
    assert all(edge.text for edge in account.chain)
    assert {edge.kind for edge in account.chain} == {edge.kind for edge in edges}
    # between statements a circle is one of transactions: the edges alone are checked
    for some in [edges] if circular and not account.explained.apart else [(edge,) for edge in edges]:
        assert wrong_edges(log, account, some) == []


def test_a_false_edge_is_told() -> None:
    log = read_log([LOGS / "write-skew.jsonl"])
    account = account_of(log, "serializable")
    assert account.explained is not None
    first, second = account.explained.edges
    turned = msgspec.structs.replace(first, kind="wr", earlier=first.later, later=first.earlier)
    assert wrong_edges(log, account, (turned, second)) != []
    elsewhere = msgspec.structs.replace(first, row="kv:-:7")
    assert "was not written" in wrong_edges(log, account, (elsewhere, second))[0]
    assert wrong_edges(log, account, (first, first)) == ["the edges are no circle"]
    timed = msgspec.structs.replace(first, kind="real-time")
    assert "was not over" in wrong_edges(log, account, (timed, second))[0]


def test_each_edge_names_statement_row_values_and_writer() -> None:
    account = account_of(read_log([LOGS / "aborted-read.jsonl"]), "read-committed")
    (edge,) = account.chain
    assert (edge.kind, edge.earlier, edge.later, edge.statement) == ("wr", "t1", "t2", 0)
    assert (edge.key, edge.seen, edge.writer, edge.writer_status) == ("kv(k='x')", "v=1", "t1", "aborted")
    assert account.difference is not None
    assert (account.difference.missing, account.difference.extra) == (("(0)",), ("(1)",))
    assert ("assumed", "no client outside the log wrote to its tables") in full_rows(account)


HEADER = {"format": "troubadour-log", "version": 1, "dialect": "postgres"} | {
    "schema": ["CREATE TABLE kv (k INT PRIMARY KEY, v INT)"],
    "initial": {"kv": {"columns": ["k", "v"], "rows": [[1, 0], [2, 0]]}},
}
READ_ALL = {"sql": "SELECT k, v FROM kv", "result": {"columns": ["k", "v"], "rows": [[1, 0]]}}
INSERT = {"sql": "INSERT INTO kv VALUES (3, 7)", "affected": 1}


def account_in(folder: Path, level: str, *entries: dict[str, object]) -> Account:
    path = folder / "log.jsonl"
    path.write_text("".join(json.dumps(entry) + "\n" for entry in (HEADER, *entries)), encoding="utf-8")
    return account_of(read_log([path]), level)


def seen(k: int, *rows: list[int]) -> dict[str, object]:
    sql = f"SELECT k, v FROM kv WHERE k = {k}"
    return {"sql": sql, "result": {"columns": ["k", "v"], "rows": [list(row) for row in rows]}}


ADDED = {
    "sql": "UPDATE kv SET v = v + 1 WHERE k = 1 RETURNING k, v",
    "result": {"columns": ["k", "v"], "rows": [[1, 1]]},
}


@pytest.mark.parametrize(
    ("statements", "left", "read"),
    [
        (({"sql": "UPDATE kv SET v = 1 WHERE k = 1", "affected": 1}, seen(1, [1, 0])), "v=1", "v=0"),
        ((ADDED, seen(1, [1, 3])), "v=1", "v=3"),
        (({"sql": "DELETE FROM kv WHERE k = 1", "affected": 1}, seen(1, [1, 0])), "no row", "k=1, v=0"),
        ((INSERT, seen(3)), "k=3, v=7", "no row"),
    ],
)
def test_a_row_read_otherwise_than_it_was_left_is_an_internal_inconsistency(
    tmp_path: Path, statements: tuple[dict[str, object], ...], left: str, read: str
) -> None:
    entry = {"id": "t", "status": "committed", "statements": list(statements)}
    account = account_in(tmp_path, "snapshot", entry)
    assert account.anomaly == "internal-inconsistency"
    (edge,) = account.chain
    assert (edge.kind, edge.statement, edge.written, edge.seen) == ("internal", 1, left, read)
    log = read_log([tmp_path / "log.jsonl"])
    assert checked(log, library_of(log), account) == (Checked.VALUES, [])
    turned = msgspec.structs.replace(edge, seen="v=5")
    told = checked(log, library_of(log), msgspec.structs.replace(account, chain=(turned,)))
    assert told == (Checked.WRONG, ["statement 2 did not answer 5"])


def test_own_writes_between_two_reads_are_no_anomaly(tmp_path: Path) -> None:
    statements = [seen(1, [1, 0]), ADDED, seen(1, [1, 1]), seen(2, [2, 0]), seen(2, [2, 5])]
    account = account_in(tmp_path, "snapshot", {"id": "t", "status": "committed", "statements": statements})
    assert account.anomaly == "counter-anomaly"


def test_two_reads_of_one_row_that_nothing_else_tells_of_are_a_non_repeatable_read(tmp_path: Path) -> None:
    """Among many writers of the row without times, where it is the transaction's own answers that refute it."""
    writers = [
        {"id": f"w{n}", "status": "committed", "statements": [{"sql": f"UPDATE kv SET v = {n + 10} WHERE k = 1"}]}
        for n in range(60)
    ]
    bad = {"id": "t", "status": "committed", "statements": [seen(1, [1, 0]), seen(1, [1, 7])]}
    account = account_in(tmp_path, "serializable", *writers, bad)
    assert account.anomaly == "non-repeatable-read"
    (edge,) = account.chain
    assert (edge.kind, edge.statement, edge.written, edge.seen) == ("internal", 1, "v=0", "v=7")
    log = read_log([tmp_path / "log.jsonl"])
    assert checked(log, library_of(log), account) == (Checked.VALUES, [])


def test_a_row_that_an_answer_lacks_is_a_wrong_answer(tmp_path: Path) -> None:
    account = account_in(tmp_path, "read-committed", {"id": "t1", "status": "committed", "statements": [READ_ALL]})
    assert account.anomaly == "wrong-answer"
    assert account.difference is not None
    assert (account.difference.missing, account.difference.common) == (("(2, 0)",), 1)


def test_a_duplicate_key_names_the_other_inserter(tmp_path: Path) -> None:
    entries: list[dict[str, object]] = [{"id": f"t{n}", "status": "committed", "statements": [INSERT]} for n in (1, 2)]
    account = account_in(tmp_path, "read-committed", *entries)
    assert account.anomaly == "duplicate-key"
    assert [edge.text for edge in account.chain] == ["t1 wrote kv(k=3) and committed it; t2 wrote that key, too"]


@pytest.mark.parametrize(
    ("level", "cycle", "forbidden"),
    [
        ("serializable", "rw rw", True),
        ("snapshot", "rw rw", False),
        ("snapshot", "rw wr rw wr", True),
        ("snapshot", "rw ww", True),
        ("prefix", "rw ww", False),
        ("prefix", "rw wr", True),
        ("causal", "rw wr rw wr", False),
        ("causal", "rw wr wr", True),
        ("read-committed", "rw wr", False),
        ("read-committed", "ww wr", True),
        ("strict-snapshot", "rw real-time", True),
    ],
)
def test_which_circles_a_level_forbids(level: str, cycle: str, forbidden: bool) -> None:
    assert is_forbidden(LEVELS[level], [Kind(kind) for kind in cycle.split()]) is forbidden


@pytest.mark.parametrize(
    ("cycle", "expected"),
    [
        ("ww x, ww y", "dirty-write"),
        ("ww x, wr y", "circular-information-flow"),
        ("rw x, ww x", "lost-update"),
        ("rw x, wr x", "non-repeatable-read"),
        ("rw x, rw y", "write-skew"),
        ("rw x, real-time", "stale-read"),
        ("wr x, real-time", "future-read"),
        ("rw x, session", "read-your-writes"),
        ("rw x, wr x, session", "monotonic-reads"),
        ("ww x, session", "monotonic-writes"),
        ("wr x, ww y, session", "writes-follow-reads"),
        ("rw x, wr y, wr z", "causality-violation"),
        ("rw x, wr x, rw y, wr y", "long-fork"),
    ],
)
def test_names_of_circles(cycle: str, expected: str) -> None:
    links = [Link(Kind(kind), row or None) for kind, _, row in (part.partition(" ") for part in cycle.split(", "))]
    assert classify(links).name == expected


def test_every_anomaly_is_cited_and_says_what_to_check() -> None:
    for key, anomaly in ANOMALIES.items():
        assert key == anomaly.name
        assert anomaly.citation
        assert anomaly.check in QUESTIONS
        assert anomaly.meaning


@pytest.mark.parametrize("topic", QUESTIONS)
@pytest.mark.parametrize(
    ("dialect", "dbms", "others"),
    [
        ("postgres", None, ("@@", "PRAGMA", "MariaDB")),
        ("mysql", "8.4.2", ("SHOW ", "pg_", "PRAGMA", "PostgreSQL", "snapshot_isolation")),
        ("mysql", "TiDB 6.x", ("SHOW ", "pg_", "PRAGMA", "PostgreSQL")),
        ("mysql", "10.11.19-MariaDB", ("SHOW ", "pg_", "PRAGMA", "@@transaction_isolation")),
        ("sqlite", None, ("@@", "SHOW ", "pg_")),
        ("duckdb", None, ("@@", "SHOW ", "pg_")),
    ],
)
def test_advice_is_in_the_words_of_the_product(topic: str, dialect: str, dbms: str | None, others: Any) -> None:
    told = advice(topic, Header(dialect, (), dbms=dbms))
    assert told
    assert not [word for word in others if word in told]


@pytest.mark.slow
def test_commits_that_a_crash_lost_are_counted() -> None:
    """The server's own tables had 97 entries less than it had acknowledged."""
    log = read_log([LOGS.parent / "crashed" / "postgres-asynchronous-commit.jsonl.gz"])
    account = account_of(log, "strict-snapshot")
    assert account.anomaly == "lost-commit"
    assert account.lost is not None
    assert (account.lost.commits, account.lost.last_there) == (97, None)
    assert lost_text(account.lost).startswith("97 acknowledged commits are missing, s2-1 first; none before is there")


LEDGER = HEADER | {"isolation": "strict-serializable", "clock": "one"}


def _timed(number: int, sent: int, *statements: dict[str, object]) -> dict[str, object]:
    return {"id": f"t{number}", "session": "s", "status": "committed", "invoked": sent, "returned": sent + 5,
            "commit": 1_795_313_009_000_000 + sent, "statements": list(statements)}  # fmt: skip


def _row(key: int) -> dict[str, object]:
    return {"sql": "INSERT INTO kv VALUES ($1, 0)", "params": [key], "affected": 1}


def _count(number: int) -> dict[str, object]:
    return {"sql": "SELECT COUNT(*) FROM kv", "result": {"columns": ["count"], "rows": [[number]]}}


def test_the_last_commit_that_is_there_is_named(tmp_path: Path) -> None:
    """Ten rows are put in; after a pause four of them are there, and go on."""
    first = [_timed(n, 10 * n, _row(10 + n)) for n in range(1, 11)]
    then = [_timed(11, 5000, _count(6)), _timed(12, 5010, _row(99)), _timed(13, 5020, _count(7))]
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in (LEDGER, *first, *then)), encoding="utf-8")
    account = account_of(read_log([path]), "strict-serializable")
    assert account.anomaly == "lost-commit"
    assert account.lost is not None
    assert lost_text(account.lost) == (
        "6 acknowledged commits are missing after 2026-11-22 02:03:29.000 UTC: the last one that is there is t4, "
        "the first that is not t5"
    )


def test_a_read_that_is_stale_once_is_no_loss(tmp_path: Path) -> None:
    first = [_timed(n, 10 * n, _row(10 + n)) for n in range(1, 11)]
    then = [_timed(11, 5000, _count(6)), _timed(12, 5010, _row(99)), _timed(13, 5020, _count(13))]
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in (LEDGER, *first, *then)), encoding="utf-8")
    account = account_of(read_log([path]), "strict-serializable")
    assert (account.anomaly, account.lost) == ("stale-read", None)


NEXT = {"sql": "SELECT nextval('s')"}


def _drawn(value: int) -> dict[str, object]:
    return NEXT | {"result": {"columns": ["nextval"], "rows": [[value]]}}


def test_a_number_drawn_twice_is_an_anomaly_of_its_sequence(tmp_path: Path) -> None:
    header = HEADER | {"schema": ["CREATE SEQUENCE s", *HEADER["schema"]]}  # type: ignore[dict-item]
    entries = [{"id": f"t{n}", "status": "committed", "statements": [_drawn(v)]} for n, v in ((1, 1), (2, 2), (3, 2))]
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in (header, *entries)), encoding="utf-8")
    account = account_of(read_log([path]), "read-committed")
    assert account.anomaly == "sequence-anomaly"
    assert [edge.text for edge in account.chain] == ["sequence s gave 2 to t2's statement 1 and to t3's statement 1"]


@pytest.mark.parametrize(("seen", "expected"), [(7, "counter-anomaly"), (13, "counter-anomaly"), (12, "aborted-read")])
def test_a_number_that_nothing_adds_up_to_is_an_anomaly_of_a_counter(tmp_path: Path, seen: int, expected: str) -> None:
    """Two transactions add 5, one that is rolled back adds 2."""

    def add(number: int) -> dict[str, object]:
        return {"sql": "UPDATE kv SET v = v + $1 WHERE k = 1", "params": [number], "affected": 1}

    look: dict[str, object] = {
        "sql": "SELECT v FROM kv WHERE k = 1",
        "result": {"columns": ["v"], "rows": [[seen]]},
    }
    entries: list[dict[str, object]] = [
        {"id": "t1", "status": "committed", "statements": [add(5)]},
        {"id": "t2", "status": "committed", "statements": [add(5)]},
        {"id": "t3", "status": "aborted", "statements": [add(2)]},
        {"id": "t4", "status": "committed", "statements": [look]},
    ]
    if seen == 7:
        del entries[2]
    assert account_in(tmp_path, "read-committed", *entries).anomaly == expected


@pytest.mark.parametrize(
    ("log_name", "level", "expected"),
    [
        ("mariadb-repeatable-read", "strict-snapshot", "non-repeatable-read"),
        ("postgres-repeatable-read", "strict-serializable", "write-skew"),
    ],
)
def test_a_finding_of_a_real_server_has_its_name(log_name: str, level: str, expected: str) -> None:
    log = read_log([LOGS.parent / "anomalous" / f"{log_name}.jsonl.gz"])
    account = account_of(log, level)
    assert account.anomaly == expected
    assert account.explained is not None
    assert wrong_edges(log, account, account.explained.edges) == []


@pytest.mark.parametrize(
    ("history", "level", "expected"),
    [
        ("g0", "read-committed", "dirty-write"),
        ("g1a", "read-committed", "aborted-read"),
        ("g1c", "read-committed", "circular-information-flow"),
        ("g-single", "snapshot", "fractured-read"),
        ("g2-item", "serializable", "write-skew"),
        ("lost-update", "snapshot", "lost-update"),
    ],
)
def test_histories_of_elle_have_its_names(history: str, level: str, expected: str) -> None:
    """What docs/anomalies.md puts beside Elle's account, word by word."""
    log = read_log([LOGS.parent / "elle" / f"{history}.jsonl"])
    account = account_of(log, level)
    assert account.anomaly == expected
    assert account.explained is not None
    for edge in account.explained.edges:
        assert wrong_edges(log, account, (edge,)) == []
    page = (LOGS.parents[1] / "docs" / "anomalies.md").read_text(encoding="utf-8")
    for edge in account.chain:
        assert edge.text.partition(" comes before ")[2].partition(": ")[2] in page


STRANGERS = LOGS.parent / "strangers-3"


@pytest.mark.parametrize(
    ("log", "level", "name"),
    [("stale", "strict-serializable", "stale-read"), ("tidb-41680", "strict-snapshot", "lost-update")],
)
def test_a_commit_is_not_lost_where_less_tells_it(log: str, level: str, name: str) -> None:
    """One reader that misses a commit read an old state; an update that another one put over is a lost update."""
    account = account_of(read_log([STRANGERS / f"{log}.jsonl"]), level)
    assert (account.anomaly, account.lost) == (name, None)
    if log == "tidb-41680":
        assert not [text for text in account.next if "SHOW" in text or "PostgreSQL" in text]


def test_two_readers_after_a_pause_that_miss_a_commit_tell_of_a_loss(tmp_path: Path) -> None:
    first = [_timed(n, 10 * n, _row(10 + n)) for n in range(1, 4)]
    then = [_timed(11, 5000, _count(2)), _timed(12, 5010, _row(99)), _timed(13, 5020, _count(3))]
    for entries, name in ((then[:1], "stale-read"), (then, "lost-commit")):
        path = tmp_path / f"{name}.jsonl"
        path.write_text("".join(json.dumps(one) + "\n" for one in (LEDGER, *first, *entries)), encoding="utf-8")
        assert account_of(read_log([path]), "strict-serializable").anomaly == name


def test_a_write_after_a_pause_that_misses_a_commit_tells_of_a_loss(tmp_path: Path) -> None:
    """A write meets the newest rows."""
    add = {"sql": "UPDATE kv SET v = v + $1 WHERE k = 1 RETURNING v", "affected": 1}
    given = [(1, 10, 1, 1), (2, 20, 2, 3), (3, 5000, 4, 5)]
    entries = [
        _timed(n, sent, add | {"params": [more], "result": {"columns": ["v"], "rows": [[found]]}})
        for n, sent, more, found in given
    ]
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in (LEDGER, *entries)), encoding="utf-8")
    assert account_of(read_log([path]), "strict-serializable").anomaly == "lost-commit"


def _seen(sql: str, *rows: tuple[int, ...]) -> dict[str, object]:
    return {"sql": sql, "result": {"columns": ["c"] * len(rows[0]), "rows": list(rows)}}


def _set(sql: str) -> dict[str, object]:
    return {"sql": sql, "affected": 1}


@pytest.mark.parametrize("level", ["read-committed", "snapshot", "serializable", "postgres:read-committed"])
@pytest.mark.parametrize(
    "statements",
    [
        (_set("UPDATE kv SET v = 5 WHERE k = 1"), _seen("SELECT v FROM kv WHERE k = 1", (0,))),
        (_set("UPDATE kv SET v = v + 1 WHERE k = 1"), _seen("SELECT v FROM kv WHERE k = 1", (0,))),
        (_set("INSERT INTO kv VALUES (9, 1)"), _seen("SELECT COUNT(*) FROM kv", (2,))),
        (_set("UPDATE kv SET v = 5 WHERE k = 1"), _seen("SELECT SUM(v) FROM kv", (0,))),
        (_set("DELETE FROM kv WHERE k = 1"), _seen("SELECT k FROM kv", (1,), (2,))),
    ],
)
def test_an_own_write_that_is_missed_is_no_garbage(
    tmp_path: Path, level: str, statements: tuple[dict[str, object], ...]
) -> None:
    path = tmp_path / "log.jsonl"
    entry = {"id": "t1", "status": "committed", "statements": statements}
    path.write_text("".join(json.dumps(one) + "\n" for one in (HEADER, entry)), encoding="utf-8")
    account = account_of(read_log([path]), level)
    assert account.anomaly == "internal-inconsistency"
    (edge,) = account.chain
    assert "statement 2" in edge.text


def _timed_entries(*transactions: tuple[str, tuple[dict[str, object], ...]]) -> Iterator[dict[str, object]]:
    """One after another, by client times."""
    for number, (status, statements) in enumerate(transactions):
        at = 100 * number
        timed = [one | {"invoked": at + 10 * n + 1, "returned": at + 10 * n + 2} for n, one in enumerate(statements)]
        yield {
            "id": f"t{number}",
            "status": status,
            "statements": timed,
            "invoked": at,
            "returned": at + 99,
            "end": {"invoked": at + 97, "returned": at + 98},
        }


REPLACED = (_set("DELETE FROM kv WHERE k = 1"), _set("INSERT INTO kv VALUES (1, 99)"))
ON_ANOTHER_ROW = ("committed", (_set("UPDATE kv SET v = v + 1 WHERE k = 2"),))


@pytest.mark.parametrize(
    ("level", "writer", "read", "expected"),
    [
        ("serializable", ("aborted", REPLACED), 99, "aborted-read"),
        ("snapshot", ("aborted", REPLACED), 99, "aborted-read"),
        ("serializable", ("committed", (*REPLACED, _set("UPDATE kv SET v = 12 WHERE k = 1"))), 99, "intermediate-read"),
        ("serializable", ("committed", (*REPLACED, _set("UPDATE kv SET v = 12 WHERE k = 1"))), 98, "garbage-read"),
        ("strict-serializable", ("aborted", (_set("UPDATE kv SET v = k + 89 WHERE k = 1"),)), 90, "aborted-read"),
        ("strict-serializable", ("aborted", (_set("UPDATE kv SET v = v + 89 WHERE k = 1"),)), 100, "aborted-read"),
        ("strict-serializable", ("committed", (_set("UPDATE kv SET v = v + 89 WHERE k = 1"),)), 101, "garbage-read"),
    ],
)
def test_a_version_that_was_rolled_back_or_written_over_is_no_value_of_thin_air(
    tmp_path: Path, level: str, writer: tuple[str, tuple[dict[str, object], ...]], read: int, expected: str
) -> None:
    """A row that goes and comes again has a version; so has one whose new value no answer tells."""
    first = ("committed", (_set("UPDATE kv SET v = 11 WHERE k = 1"),))
    reader = ("committed", (_seen("SELECT v FROM kv WHERE k = 1", (read,)),))
    entries = _timed_entries(*[ON_ANOTHER_ROW] * 8, first, writer, reader)
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in (HEADER, *entries)), encoding="utf-8")
    account = account_of(read_log([path]), level)
    assert account.anomaly == expected

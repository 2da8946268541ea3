"""Certificates from TiDB's and CockroachDB's timestamps, on files as these servers would tell them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.commands import HEADER, refused, transaction, write

KV = {**HEADER, "schema": ["CREATE TABLE kv (k INT PRIMARY KEY, v INT)"], "dialect": "mysql", "log_id": "kv-1"}
KV["initial"] = {"kv": {"columns": ["k", "v"], "rows": [[1, 0], [2, 0]]}}
TSO = 424_768_545_227_014_155
"""A timestamp of TiDB's: milliseconds, and 18 bits of a counter."""
ROUND = 1 << 32
"""Between these the lower 32 bits are the same."""


def value(k: int, v: int, **fields: Any) -> dict[str, Any]:
    return transaction(f"SELECT v FROM kv WHERE k = {k}", result={"columns": ["v"], "rows": [[v]]}, **fields)


def change(k: int, v: int, **fields: Any) -> dict[str, Any]:
    return transaction(f"UPDATE kv SET v = {v} WHERE k = {k}", affected=1, **fields)


def certified(run: Any, folder: Path, product: str, log: str, *lines: dict[str, Any]) -> Any:
    times, out = folder / "times.jsonl", folder / "run.cert.jsonl"
    times.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    ended = run("log", "certify", log, "--from", product, "--times", str(times), "--out", str(out))
    if ended.status:
        return ended
    return run("audit", log, "--certificate", str(out), "--require-certificate", "--format", "json")


def tidb(id: str, start: int, commit: int = 0, **fields: int) -> dict[str, Any]:
    told = {"txn_scope": "global", "start_ts": start, "for_update_ts": 0, "commit_ts": commit, "error": ""}
    return {"transaction": id, **told, **fields}


def filled(run: Any, folder: Path, product: str, log: str, *lines: dict[str, Any]) -> Any:
    """The audit of a log by the timestamps that were put into it."""
    times, out = folder / "times.jsonl", folder / "timed.jsonl.gz"
    times.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    ended = run("log", "certify", log, "--from", product, "--times", str(times), "--log", str(out))
    assert ended.status == 0, ended.err
    return run("audit", str(out), "--isolation", "timestamp-snapshot", "--format", "json")


class TestFilled:
    @pytest.mark.parametrize(
        ("product", "times"),
        [
            ("tidb", lambda id, start, commit: tidb(id, start, commit)),
            ("yugabytedb", lambda id, start, commit: {"transaction": id, "read_time": start, "commit_time": commit}),
        ],
    )
    @pytest.mark.parametrize(("read", "status"), [(5, 0), (0, 1)])
    def test_a_log_gets_start_and_commit(
        self, run: Any, tmp_path: Path, product: str, times: Any, read: int, status: int
    ) -> None:
        log = write(tmp_path, KV, change(1, 5, id="a"), value(1, read, id="c"))
        ended = filled(run, tmp_path, product, log, times("a", TSO, TSO + 2), times("c", TSO + 4, 0))
        assert ended.status == status, ended.out

    def test_cockroach_has_one_moment_which_is_a_place(self, run: Any, tmp_path: Path) -> None:
        log = write(tmp_path, KV, change(1, 5, id="a"), value(1, 0, id="c"))
        stamps = [("a", "1700000000000000000.0000000001"), ("c", "1700000000000000000.0000000002")]
        ended = filled(run, tmp_path, "cockroachdb", log, *({"transaction": id, "timestamp": at} for id, at in stamps))
        assert ended.status == 1 and ended.json["failing_transaction"] == "c"

    def test_what_cannot_be_filled(self, run: Any, tmp_path: Path) -> None:
        log, times = write(tmp_path, KV, change(1, 5, id="a", commit=4)), tmp_path / "times.jsonl"
        times.write_text(json.dumps({"transaction": "a", "read_time": 1, "commit_time": 2}))
        common = ("log", "certify", log, "--from", "yugabytedb", "--times", str(times))
        refused(run(*common, "--log", str(tmp_path / "out")), "has timestamps already")
        assert run(*common).status == 2
        times.write_text(json.dumps({"transaction": "a", "read_time": 3, "commit_time": 2}))
        refused(run(*common, "--log", str(tmp_path / "out")), "before it read")


class TestTidb:
    def test_a_snapshot_has_the_commits_up_to_its_start(self, run: Any, tmp_path: Path) -> None:
        log = write(tmp_path, KV, change(1, 5, id="a"), change(2, 6, id="b"), value(2, 0, id="c"), value(1, 5, id="d"))
        told = [
            tidb("a", TSO, TSO + ROUND),
            tidb("b", TSO, TSO + 2 * ROUND),
            tidb("c", TSO + ROUND),
            tidb("d", TSO + ROUND),
        ]
        ended = certified(run, tmp_path, "tidb", log, *told)
        assert (ended.status, ended.json["certificate"]["status"]) == (0, "accepted")

    def test_an_older_state_than_it_was_promised_is_no_answer(self, run: Any, tmp_path: Path) -> None:
        log = write(tmp_path, KV, change(1, 5, id="a"), value(1, 0, id="c"))
        ended = certified(run, tmp_path, "tidb", log, tidb("a", TSO, TSO + 1), tidb("c", TSO + 2))
        assert (ended.status, ended.json["scope"], ended.json["failing_transaction"]) == (1, "certificate", "c")

    def test_a_lone_pessimistic_write_reads_for_update(self, run: Any, tmp_path: Path) -> None:
        add = transaction("UPDATE kv SET v = v + 1 WHERE k = 1", affected=1, id="b")
        log = write(tmp_path, KV, change(1, 5, id="a"), add, value(1, 6, id="c"))
        told = [tidb("a", TSO, TSO + 5), tidb("b", TSO + 1, TSO + 9, for_update_ts=TSO + 7), tidb("c", TSO + 9)]
        ended = certified(run, tmp_path, "tidb", log, *told)
        assert (ended.status, ended.json["certificate"]["status"]) == (0, "accepted")

    def test_a_pessimistic_transaction_that_read_several_states_has_none(self, run: Any, tmp_path: Path) -> None:
        both = change(1, 5, id="a")
        both["statements"].append({"sql": "UPDATE kv SET v = 7 WHERE k = 2", "affected": 1})
        log = write(tmp_path, KV, both)
        ended = certified(run, tmp_path, "tidb", log, tidb("a", TSO, TSO + 9, for_update_ts=TSO + 7))
        assert (ended.status, ended.json["certificate"]["because"]) == (3, "its snapshot is missing")


class TestCockroach:
    def told(self, *stamps: str) -> list[dict[str, Any]]:
        return [{"transaction": id, "timestamp": stamp} for id, stamp in zip("abc", stamps, strict=False)]

    def test_timestamps_are_the_order(self, run: Any, tmp_path: Path) -> None:
        header = {**KV, "dialect": "postgres", "isolation": "serializable"}
        log = write(tmp_path, header, change(1, 5, id="a"), value(1, 0, id="b"), value(1, 5, id="c"))
        wall = "1668194386834582000"
        stamps = self.told(f"{wall}.0000000010", f"{wall}.0000000009", f"{wall}.0000000100")
        ended = certified(run, tmp_path, "cockroachdb", log, *stamps)
        assert (ended.status, ended.json["certificate"]["status"]) == (0, "accepted")
        # the counter is a number of ten digits: .1 is the largest of these, and c misses the write then
        ended = certified(
            run, tmp_path, "cockroachdb", log, *self.told(f"{wall}.1", *[s["timestamp"] for s in stamps[1:]])
        )
        assert (ended.status, ended.json["failing_transaction"]) == (1, "c")


@pytest.mark.parametrize(
    ("product", "lines", "word"),
    [
        ("tidb", [tidb("a", TSO, TSO + 1), tidb("a", TSO, TSO + 2)], "line 2: transaction 'a' comes twice"),
        ("tidb", [tidb("a", TSO, TSO + 1), tidb("b", TSO, TSO + 1)], "one commit_ts"),
        ("tidb", [tidb("z", TSO, TSO + 1)], "line 1: the log has no transaction 'z'"),
        ("tidb", [{"transaction": "a"}], "line 1"),
        ("cockroachdb", [{"transaction": "a", "timestamp": "soon"}], "line 1"),
    ],
)
def test_what_cannot_be_used_is_refused(
    run: Any, tmp_path: Path, product: str, lines: list[dict[str, Any]], word: str
) -> None:
    log = write(tmp_path, KV, change(1, 5, id="a"), change(2, 5, id="b"))
    refused(certified(run, tmp_path, product, log, *lines), word)

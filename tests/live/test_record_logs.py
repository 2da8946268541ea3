"""The stored logs of real runs are what their README says. Needs no server."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.live.recorded import disorder, read, replay, stale_writes

LOGS = Path(__file__).parents[2] / "logs" / "recorded"
SINGLE_STATEMENT = {
    "bank-snapshot-20": "snapshot",
    "bank-snapshot-1000": "snapshot",
    "bank-read-committed-20": "read-committed",
    "bank-read-committed-1000": "read-committed",
    "bank-serializable-20": "serializable",
}
READ_THEN_WRITE = {"bank-snapshot-20-rtw": "snapshot", "bank-read-committed-20-rtw": "read-committed"}


def test_each_log_is_in_the_readme() -> None:
    names = {path.name.removesuffix(".jsonl.gz") for path in LOGS.glob("*.jsonl.gz")}
    assert names >= SINGLE_STATEMENT.keys() | READ_THEN_WRITE.keys()
    readme = (LOGS / "README.md").read_text(encoding="utf-8")
    assert [name for name in names if f"{name}.jsonl.gz" not in readme] == []


@pytest.mark.parametrize("name", sorted(SINGLE_STATEMENT | READ_THEN_WRITE))
def test_log_is_whole(name: str) -> None:
    path = LOGS / f"{name}.jsonl.gz"
    log = read(path)
    assert path.stat().st_size < 1_000_000
    assert log.header["isolation"] == (SINGLE_STATEMENT | READ_THEN_WRITE)[name]
    assert len(log.by_status("committed")) >= 2000
    assert log.by_status("unknown") == []
    assert disorder(log) == []
    assert {line["session"] for line in log.transactions} == {"s1", "s2", "s3", "s4"}


@pytest.mark.parametrize("name", sorted(SINGLE_STATEMENT))
def test_every_count_and_returned_balance_follows_from_the_commit_order(name: str) -> None:
    assert replay(read(LOGS / f"{name}.jsonl.gz"))[1] == []


@pytest.mark.parametrize("name", ["bank-snapshot-20", "bank-snapshot-20-rtw", "bank-serializable-20"])
def test_sessions_overlapped(name: str) -> None:
    """Serialization failures come only from transactions that ran at the same time."""
    aborted = read(LOGS / f"{name}.jsonl.gz").by_status("aborted")
    assert len(aborted) >= 20
    for transaction in aborted:
        errors = [statement["error"]["sqlstate"] for statement in transaction["statements"] if "error" in statement]
        errors += [transaction["end"]["error"]["sqlstate"]] if "error" in transaction["end"] else []
        assert errors in (["40001"], ["40P01"])


def test_lost_updates() -> None:
    assert stale_writes(read(LOGS / "bank-snapshot-20-rtw.jsonl.gz")) == []
    assert len(stale_writes(read(LOGS / "bank-read-committed-20-rtw.jsonl.gz"))) >= 5

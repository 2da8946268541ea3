"""The bank workload and the command line around it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from random import Random

import pytest
from click.testing import CliRunner

from tests.live.recorded import read
from troubadour.cli.recording.record import record
from troubadour.record import Answer
from troubadour.workloads.bank import Bank, Variant


class Scripted:
    """An executor that answers every read with one balance and every update with one row, and keeps the calls."""

    def __init__(self, balance: str) -> None:
        self.balance = Decimal(balance)
        self.calls: list[tuple[str, tuple[object, ...]]] = []

    def execute(self, sql: str, params: Sequence[object] = ()) -> Answer:
        self.calls.append((sql, tuple(params)))
        if sql.startswith("UPDATE"):
            return Answer([(self.balance,)] if "RETURNING" in sql else [], 1)
        return Answer([(self.balance,)], None)


def calls(bank: Bank, count: int, seed: int = 1, balance: str = "100.00") -> list[list[tuple[str, tuple[object, ...]]]]:
    random = Random(seed)
    drawn = []
    for _ in range(count):
        executor = Scripted(balance)
        bank.draw(random)(executor)
        drawn.append(executor.calls)
    return drawn


@pytest.mark.parametrize("variant", list(Variant))
def test_the_seed_decides(variant: Variant) -> None:
    bank = Bank(variant=variant, blind_writes=30)
    assert calls(bank, 200) == calls(bank, 200)
    assert calls(bank, 200) != calls(bank, 200, seed=2)
    assert Bank(seed=1).initial() == Bank(seed=1).initial() != Bank(seed=2).initial()


def test_the_mix_follows_the_percentages() -> None:
    drawn = calls(Bank(accounts=1000, rows_accessed=2, blind_writes=50, read_only=30), 4000)
    read_only = [t for t in drawn if not any(sql.startswith("UPDATE") for sql, _ in t)]
    blind = [t for t in drawn if t not in read_only and not any(re.search("SELECT|RETURNING", sql) for sql, _ in t)]
    assert len(read_only) / len(drawn) == pytest.approx(0.3, abs=0.03)
    assert len(blind) / (len(drawn) - len(read_only)) == pytest.approx(0.5, abs=0.03)
    accounts = {p for t in drawn for _, params in t for p in params if isinstance(p, int)}
    assert accounts == set(range(1, 21))


@pytest.mark.parametrize("variant", [Variant.SINGLE_STATEMENT, Variant.READ_THEN_WRITE])
def test_no_blind_write_at_zero_percent(variant: Variant) -> None:
    for transaction in calls(Bank(variant=variant), 1000):
        assert any(re.search("SELECT|RETURNING", sql) for sql, _ in transaction)


def test_read_then_write_computes_from_what_it_read() -> None:
    """With 10.00 in every account: withdrawals that do not suffice write nothing, an overdraft costs 2.50 more."""
    changes: Counter[bool] = Counter()
    for transaction in calls(Bank(variant=Variant.READ_THEN_WRITE, read_only=0), 500, balance="10.00"):
        written = [params[0] for sql, params in transaction if sql.startswith("UPDATE")]
        reads = len(transaction) - len(written)
        assert len(written) <= reads
        for balance in written:
            assert isinstance(balance, Decimal)
            assert balance >= Decimal("-42.50")
            changes[balance < 0] += 1
            if balance < 0:
                assert len(transaction) == 2
    assert min(changes[True], changes[False]) > 50


def test_bad_parameters() -> None:
    with pytest.raises(ValueError, match="read_only"):
        Bank(read_only=101)
    with pytest.raises(ValueError, match="two accounts"):
        Bank(accounts=1)


def test_command_records(postgres_dsn: str, tmp_path: Path) -> None:
    out = tmp_path / "bank.jsonl.gz"
    options = ["--isolation", "serializable", "--sessions", "2", "--transactions", "30", "--accounts", "5"]
    result = CliRunner().invoke(record, ["bank", *options, "--dsn", postgres_dsn, "--out", str(out)])
    assert result.exit_code == 0, result.output
    assert result.stdout == ""
    assert re.search(r"3\d committed in .* per second\); aborted: ", result.stderr)
    log = read(out)
    assert log.header["isolation"] == "serializable"
    assert len(log.by_status("committed")) >= 30


def test_command_refuses(tmp_path: Path) -> None:
    out = str(tmp_path / "bank.jsonl")
    both = CliRunner().invoke(record, ["bank", "--embedded", "--dsn", "host=x", "--out", out])
    assert (both.exit_code, "exclude each other" in both.stderr) == (2, True)
    nowhere = CliRunner().invoke(record, ["bank", "--dsn", f"host={tmp_path} connect_timeout=2", "--out", out])
    assert (nowhere.exit_code, nowhere.stderr.startswith("Error: cannot connect")) == (2, True), nowhere.stderr
    assert not Path(out).exists()

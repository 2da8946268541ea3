"""The reference of registers refutes only what the oracle refutes, and faults are put where they are told."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

import pytest

pytest.importorskip("clingo", reason="the reference of registers needs clingo")

from benchmarks.faults.apps import APPLICATIONS
from benchmarks.faults.campaign import kind_of, plan
from benchmarks.faults.kinds import ANYWHERE, KINDS, NoPlace, with_fault
from benchmarks.faults.raw import RawLog
from benchmarks.faults.registers import Registers
from benchmarks.faults.timed import refuted
from troubadour.coverage.library import library_of
from troubadour.execution.initial.rows import known_rows, unknown_tables
from troubadour.formats import read_log
from troubadour.oracle import BudgetExceeded, explain
from troubadour.order.rows.propagation import Rows
from troubadour.problem.problem import Problem
from troubadour.record.simulated import simulate

PROFILES = ("postgres:repeatable-read", "postgres:read-committed", "postgres:serializable")


def registers(path: Path, seed: int, transactions: int) -> RawLog:
    simulate(Registers(3), path, seed=seed, sessions=2, transactions=transactions)
    return RawLog.read(path)


def oracle(path: Path, profile: str) -> str | None:
    log = read_log([path])
    try:
        return explain(log, library_of(log), profile, budget=2_000).status.value
    except BudgetExceeded:
        return None


def compare(profile: str, seeds: int, path: Path) -> Counter[str]:
    """How the reference and the oracle speak of altered logs of three transactions."""
    found: Counter[str] = Counter()
    for seed in range(seeds):
        log = registers(path, seed, 3)
        assert not refuted(log, "postgres:repeatable-read", 10)
        for kind in KINDS:
            try:
                faulted = with_fault(log, kind, Random(seed))
            except NoPlace:
                continue
            faulted.write(path)
            no_order, right = refuted(faulted, profile, 10), oracle(path, profile)
            if right is not None:
                assert not no_order or right == "violation", f"{kind}, seed {seed}"
                found[f"{right}, refuted {no_order}"] += 1
    return found


@pytest.mark.parametrize("profile", PROFILES)
def test_what_the_reference_refutes_the_oracle_refutes(profile: str, tmp_path: Path) -> None:
    found = compare(profile, 5, tmp_path / "log.jsonl")
    assert found["violation, refuted True"] >= 8
    assert found["correct, refuted False"] >= 2


@pytest.mark.slow
@pytest.mark.parametrize("profile", PROFILES)
def test_what_the_reference_refutes_the_oracle_refutes_often(profile: str, tmp_path: Path) -> None:
    found = compare(profile, 60, tmp_path / "log.jsonl")
    assert found["violation, refuted True"] > 5 * found["violation, refuted False"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_fault_changes_a_copy(kind: str, tmp_path: Path) -> None:
    log = registers(tmp_path / "log.jsonl", 7, 60)
    before = log.copy()
    faulted = with_fault(log, kind, Random(1))
    assert log == before
    assert faulted != before
    assert faulted == with_fault(log, kind, Random(1))
    assert log.cut(10).transactions == log.transactions[: len(log.cut(10).transactions)]
    faulted.write(tmp_path / "faulted.jsonl")
    read_log([tmp_path / "faulted.jsonl"])


def test_a_log_without_a_place_for_a_fault_says_so(tmp_path: Path) -> None:
    log = registers(tmp_path / "log.jsonl", 7, 60)
    with pytest.raises(NoPlace):
        with_fault(RawLog(log.head, []), "count-changed", Random(1))


SIMULATED = [name for name, one in APPLICATIONS.items() if not any("FOREIGN KEY" in text for text in one.texts)]
"""The simulated server keeps no foreign keys."""


@pytest.mark.parametrize("application", SIMULATED)
def test_every_kind_has_a_place_in_every_application(application: str, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    simulate(APPLICATIONS[application], path, seed=5, sessions=3, transactions=60)
    log = RawLog.read(path)
    for kind in ANYWHERE:
        assert with_fault(log, kind, Random(3)) != log, kind


@pytest.mark.parametrize(
    "application", [pytest.param(name, marks=[pytest.mark.slow] * (name == "queue")) for name in SIMULATED]
)
@pytest.mark.parametrize(
    ("seed", "transactions"), [(1, 20), *(pytest.param(seed, 40, marks=pytest.mark.slow) for seed in (1, 2))]
)
def test_what_is_derived_of_rows_accuses_no_run_without_a_fault(
    application: str, seed: int, transactions: int, tmp_path: Path
) -> None:
    path = tmp_path / "log.jsonl"
    for level in ("serializable", "snapshot"):
        simulate(APPLICATIONS[application], path, isolation=level, seed=seed, sessions=4, transactions=transactions)
        log = read_log([path])
        compiled = library_of(log)
        problem = Problem(
            log, compiled, known_rows(log, compiled), isolation=level, unknown=unknown_tables(log, compiled)
        )
        derived = Rows(problem).derive()
        assert derived is not None
        assert derived.conflict is None


def refuted_by_rows(path: Path, level: str) -> bool:
    log = read_log([path])
    compiled = library_of(log)
    problem = Problem(log, compiled, known_rows(log, compiled), isolation=level, unknown=unknown_tables(log, compiled))
    derived = Rows(problem).derive()
    return derived is not None and derived.conflict is not None


def against_the_oracle(application: str, level: str, seeds: range, path: Path) -> Counter[str]:
    """What is derived of rows, and the oracle, of runs of four transactions with each kind of fault."""
    found: Counter[str] = Counter()
    for seed in seeds:
        simulate(APPLICATIONS[application], path, isolation=level, seed=seed, sessions=2, transactions=4)
        log = RawLog.read(path)
        for kind in ANYWHERE:
            try:
                with_fault(log, kind, Random(seed)).write(path)
            except NoPlace:
                continue
            refuted_, right = refuted_by_rows(path, level), oracle(path, level)
            if right is not None:
                assert not refuted_ or right == "violation", f"{kind}, seed {seed}"
                found[f"{right}, refuted {refuted_}"] += 1
    return found


@pytest.mark.parametrize("level", ["snapshot", "serializable"])
@pytest.mark.parametrize("application", [name for name in SIMULATED if name != "reports"])  # half of that is not told
def test_what_rows_refute_of_a_fault_the_oracle_refutes(application: str, level: str, tmp_path: Path) -> None:
    found = against_the_oracle(application, level, range(1), tmp_path / "log.jsonl")
    assert found["violation, refuted True"] > found["violation, refuted False"]


@pytest.mark.slow
@pytest.mark.parametrize("level", ["snapshot", "serializable"])
@pytest.mark.parametrize("application", SIMULATED)
def test_what_rows_refute_of_a_fault_the_oracle_refutes_often(application: str, level: str, tmp_path: Path) -> None:
    against_the_oracle(application, level, range(1, 60), tmp_path / "log.jsonl")


def test_a_campaign_has_each_application_at_each_profile() -> None:
    runs = [plan(number) for number in range(48)]
    assert len({(run.application, run.profile) for run in runs}) == 48
    assert {run.size for run in runs} == {100, 300, 1000}


def test_a_reason_is_counted_without_what_is_of_one_log_alone() -> None:
    one = "statement 3 of 's7-17': observed 41, expected 40"
    assert kind_of(one) == kind_of("statement 12 of 's1-2': observed 1,000, expected 7")

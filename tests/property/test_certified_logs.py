"""Certificates against the search: a true one of a run without faults is accepted, and what is accepted is correct."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from benchmarks.certificates.lying import LIES
from benchmarks.skews import PLANTED, workload_for
from troubadour.audit.certified.decide import audit_certified
from troubadour.audit.certified.examine import examine
from troubadour.audit.driver import Options, audit
from troubadour.coverage.library import library_of
from troubadour.formats import read_log
from troubadour.model.certificate import Standing
from troubadour.model.log import Log
from troubadour.model.verdict import Status
from troubadour.record.simulated import simulate
from troubadour.record.simulated.certificate import certificate_of, serial_certificate_of
from troubadour.record.simulated.faults import FAULTS
from troubadour.replay import checker
from troubadour.replay.checker import check

OF_FAULT = dict.fromkeys((*PLANTED, "missed-conflict"), "serializable")
FAST, SLOW = range(2), range(40)


def simulated(folder: Path, isolation: str, seed: int, fault: str | None = None, transactions: int = 16) -> Log:
    path = folder / f"{isolation}-{seed}-{fault}.jsonl"
    workload = workload_for(fault, seed, items=6)
    simulate(workload, path, isolation=isolation, transactions=transactions, seed=seed, fault=fault)
    return read_log([path])


def seeds(fast: range, slow: range) -> list[object]:
    return [*fast, *(pytest.param(seed, marks=pytest.mark.slow) for seed in slow if seed not in fast)]


@pytest.mark.parametrize("seed", seeds(FAST, SLOW))
@pytest.mark.parametrize("isolation", ["snapshot", "serializable"])
def test_a_true_certificate_of_a_run_without_faults_is_accepted(
    tmp_path: Path, isolation: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checker, "EVERY", 1)  # old states are forgotten at once
    log = simulated(tmp_path, isolation, seed)
    library = library_of(log)
    certificates = [certificate_of(log)]
    if isolation == "serializable":
        certificates.append(serial_certificate_of(log))
    for certificate in certificates:
        examined, witness = examine(log, library, certificate, isolation=isolation)
        assert examined.status is Standing.ACCEPTED, examined
        assert witness is not None
        assert check(log, witness, library, isolation=isolation) is None


@pytest.mark.parametrize("seed", seeds(range(1), range(12)))
@pytest.mark.parametrize("fault", FAULTS)
def test_nothing_wrong_is_accepted(tmp_path: Path, fault: str, seed: int) -> None:
    for isolation in ("snapshot", "serializable") if seed else (OF_FAULT.get(fault, "snapshot"),):
        log = simulated(tmp_path, isolation, seed, fault, transactions=16 if seed else 8)
        library = library_of(log)
        random = Random(seed)
        true = certificate_of(log)
        accepted = []
        for certificate in (true, *(lie(true, random) for lie in LIES)):
            examined, _ = examine(log, library, certificate, isolation=isolation)
            if examined.status is Standing.ACCEPTED:
                accepted.append(certificate)
            else:
                assert examined.because
        if accepted:
            assert audit(log, library, Options(isolation=isolation, timeout=600)).status is not Status.VIOLATION


def test_lies_are_seen(tmp_path: Path) -> None:
    """Most lies change what some transaction must have answered; of 12 more than half are refused."""
    refused = 0
    for seed in range(4):
        log = simulated(tmp_path, "snapshot", seed)
        library = library_of(log)
        random = Random(seed)
        for lie in LIES:
            examined, _ = examine(log, library, lie(certificate_of(log), random), isolation="snapshot")
            refused += examined.status is not Standing.ACCEPTED
    assert refused > 6


@pytest.mark.slow
def test_a_circle_that_a_certificate_names_leads_to_a_violation(tmp_path: Path) -> None:
    """The search alone excludes some orders only; of the two in the circle it is asked whatever the others wrote."""
    log = simulated(tmp_path, "serializable", 0, "updated-insert", transactions=34)
    library, options = library_of(log), Options(isolation="serializable")
    verdict = audit_certified(log, library, options, certificate_of(log))
    assert verdict.status is Status.VIOLATION
    assert verdict.core is not None
    assert set(verdict.core) == {"s1-14", "s3-12"}
    assert verdict.certificate is not None
    assert set(verdict.certificate.lead) == set(verdict.core)

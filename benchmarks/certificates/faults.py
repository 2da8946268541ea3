"""Each simulated fault with a true and with lying certificates: what becomes of them beside the search's verdict, and
certificates beside the oracle on tiny logs. Does not know how a certificate is examined.

    python -m benchmarks.certificates.faults faults [--runs 10] [FAULT...]
    python -m benchmarks.certificates.faults oracle --logs 2000 [--seed 0]
"""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from random import Random

import click

from benchmarks.certificates.lying import LIES
from benchmarks.skews import workload_for
from troubadour.audit.certified.examine import examine
from troubadour.audit.driver import Options, audit
from troubadour.coverage.library import library_of
from troubadour.formats import read_log
from troubadour.model.certificate import Standing
from troubadour.model.verdict import Status
from troubadour.oracle import BudgetExceeded, explain
from troubadour.record.simulated import FAULTS, simulate
from troubadour.record.simulated.certificate import certificate_of

KINDS = ("true", *(lie.__name__ for lie in LIES))


@click.group()
def main() -> None:
    """See the module."""


@main.command()
@click.argument("kinds", nargs=-1, type=click.Choice(["none", *FAULTS]))
@click.option("--runs", default=10, show_default=True)
@click.option("--transactions", default=12, show_default=True)
@click.option("--seconds", default=5.0, show_default=True, help="For each search.")
def faults(kinds: tuple[str, ...], runs: int, transactions: int, seconds: float) -> None:
    """Of so many runs with a fault: in how many it happened, the search's violations and what it left undecided, and of
    each kind of certificate how many were accepted/refuted/incomplete; wrong is one accepted of a violation."""
    columns = ["fault", "level", "happened", "violations", "undecided", *KINDS, "wrong"]
    print(f"| {' | '.join(columns)} |\n|---|---|{'---:|' * (len(columns) - 2)}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.jsonl"
        for kind in kinds or ("none", *FAULTS):
            for isolation in ("snapshot", "serializable"):
                found: Counter[str] = Counter()
                for seed in range(runs):
                    fault = None if kind == "none" else kind
                    found.update(_examined(path, isolation, seed, transactions, fault, seconds))
                told = ["/".join(str(found[f"{name} {one.value}"]) for one in Standing) for name in KINDS]
                row = [kind, isolation, *(str(found[name]) for name in columns[2:5]), *told, str(found["wrong"])]
                print(f"| {' | '.join(row)} |", flush=True)


def _examined(
    path: Path, isolation: str, seed: int, transactions: int, fault: str | None, seconds: float
) -> Counter[str]:
    """One run: what the search says, and what becomes of each certificate."""
    workload = workload_for(fault, seed, items=6)
    run = simulate(workload, path, isolation=isolation, seed=seed, transactions=transactions, fault=fault)
    log = read_log([path])
    library, random = library_of(log), Random(seed)
    verdict = audit(log, library, Options(isolation, timeout=seconds)).status
    found = Counter(
        happened=int(run.happened > 0),
        violations=int(verdict is Status.VIOLATION),
        undecided=int(verdict is Status.UNDECIDED),
    )
    true = certificate_of(log)
    for name, certificate in zip(KINDS, [true, *(lie(true, random) for lie in LIES)], strict=True):
        standing = examine(log, library, certificate, isolation=isolation)[0].status
        found[f"{name} {standing.value}"] += 1
        found["wrong"] += standing is Standing.ACCEPTED and verdict is Status.VIOLATION
    return found


@main.command()
@click.option("--logs", default=2000, show_default=True)
@click.option("--seed", default=0, show_default=True)
def oracle(logs: int, seed: int) -> None:
    """Tiny logs, with every fault in turn and none: what is accepted the oracle must call correct, and a true
    certificate of a run without faults must be accepted."""
    found: Counter[str] = Counter()
    kinds = [None, *FAULTS]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.jsonl"
        for number in range(seed, seed + logs):
            fault = kinds[number % len(kinds)]
            isolation = ("snapshot", "serializable")[number // len(kinds) % 2]
            workload = workload_for(fault, number, items=3)
            run = simulate(workload, path, isolation=isolation, seed=number, transactions=4, sessions=3, fault=fault)
            log = read_log([path])
            library, random = library_of(log), Random(number)
            true = certificate_of(log)
            certificate = true if number % 3 else random.choice(LIES)(true, random)
            standing = examine(log, library, certificate, isolation=isolation)[0].status
            found[standing.value] += 1
            if not run.happened and certificate is true and standing is not Standing.ACCEPTED:
                found["WRONG: a true one refused"] += 1
                print(f"seed {number}: a true certificate of a run without faults is {standing.value}")
            try:
                answer = explain(log, library, isolation).status
            except BudgetExceeded:
                found["too large for the oracle"] += 1
                continue
            found[f"oracle {answer.value}, {standing.value}"] += 1
            if standing is Standing.ACCEPTED and answer is Status.VIOLATION:
                found["WRONG: accepted"] += 1
                print(f"seed {number}: accepted, and a violation by the oracle")
    for name, count in sorted(found.items()):
        print(f"{count:6} {name}")


if __name__ == "__main__":
    main()

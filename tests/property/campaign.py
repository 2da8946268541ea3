"""Search against oracle on many random logs, level by level, with the mix of what they were.

``python -m tests.property.campaign --logs 10000`` (``make oracle``) takes hours; every seed by itself is repeatable.
Logs have orders to be searched, unknown outcomes and missing observations; every other one was made of transactions
that saw sets. One combination of heuristics per log and level, all of them in turn. With each goes a log whose
transactions are at PostgreSQL's levels, each at its own.
"""

# ruff: noqa: T201
from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor

from tests.property.random_logs import GENERAL, random_log, write
from tests.property.random_statements import library
from tests.property.test_agreement import COMBINATIONS, OWN, audited, difference, isolation
from tests.property.test_mixed_levels import faults as mixed_faults
from troubadour.isolation.levels import LEVELS, implied_by
from troubadour.model.log import Log
from troubadour.model.verdict import Status
from troubadour.oracle import BudgetExceeded, OracleAnswer, explain

NEIGHBOURS = tuple((strong, weak) for strong in GENERAL for weak in LEVELS[strong].implies if weak in GENERAL)
"""Pairs of levels with nothing in between."""

BUDGET = 400_000
BLOCK = 20


def log_of(seed: int) -> Log:
    """The log of a seed."""
    return random_log(seed, sets=True) if seed % 2 else random_log(seed)


def compare(log: Log, seed: int, level: str) -> tuple[OracleAnswer | None, str | None]:
    """The oracle's answer (None: it took too long), and what is wrong with the verdict of the search, if anything."""
    turn = 7 * (seed + 5 * (*GENERAL, OWN).index(level))
    heuristics = COMBINATIONS[turn % len(COMBINATIONS)]
    try:
        answer = explain(log, library(), isolation(level), budget=BUDGET)
        verdict = audited(log, level, False, heuristics)
        fault = difference(log, level, False, answer, verdict)
    except BudgetExceeded:
        return None, None
    if fault is None:
        return answer, None
    return answer, f"seed {seed} at {level}, {heuristics}: {fault}\n{verdict}\n{write(log)}"


def run(seeds: Sequence[int], levels: Sequence[str]) -> tuple[Counter[str], list[str]]:
    """Counts by what they count, and what went wrong."""
    counts: Counter[str] = Counter()
    faults: list[str] = []
    for seed in seeds:
        log = log_of(seed)
        counts["logs"] += 1
        counts["with unknown outcomes"] += log.unknown > 0
        found: dict[str, OracleAnswer] = {}
        for level in levels:
            answer, fault = compare(log, seed, level)
            if answer is None:
                counts[f"{level}: beyond the budget"] += 1
                continue
            if level != OWN:
                found[level] = answer
            counts[f"{level}: agreed"] += fault is None
            counts[f"{level}: correct"] += answer.status is Status.CORRECT
            if fault is not None:
                faults.append(fault)
        parted = {
            (strong, weak)
            for strong, weak in NEIGHBOURS
            if strong in found and weak in found and found[strong].status is not found[weak].status
        }
        counts["separate some neighbouring levels"] += bool(parted)
        mixed, judged, violations = mixed_faults(range(seed, seed + 1))
        faults += mixed
        counts["PostgreSQL's levels mixed: agreed"] += judged - len(mixed)
        counts["PostgreSQL's levels mixed: correct"] += judged - violations
        for strong, weak in parted:
            counts[f"separate {strong} from {weak}"] += 1
        for strong in found:
            for weak in implied_by(strong) & found.keys():
                bound = log.header.order == "exact" and LEVELS[strong].horizon.latest
                if not bound and found[strong].verified_prefix > found[weak].verified_prefix:
                    faults.append(f"seed {seed}: {strong} accepts more than {weak}\n{write(log)}")
    return counts, faults


def main() -> int:
    """Run the campaign; 1 where anything went wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=1_000_000, help="the first seed")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--levels", default=",".join((*GENERAL, OWN)))
    options = parser.parse_args()
    seeds = range(options.first, options.first + options.logs)
    blocks = [seeds[start : start + BLOCK] for start in range(0, len(seeds), BLOCK)]
    levels = options.levels.split(",")
    total: Counter[str] = Counter()
    wrong = 0
    with ProcessPoolExecutor(options.jobs) as pool:
        for counts, faults in pool.map(run, blocks, [levels] * len(blocks)):
            total.update(counts)
            wrong += len(faults)
            for fault in faults:
                print(fault, flush=True)
            if not total["logs"] % (5 * BLOCK):
                report(total, wrong)
    report(total, wrong)
    return 1 if wrong else 0


def report(total: Counter[str], wrong: int) -> None:
    """Print the counts so far."""
    print(f"--- {wrong:,} faults")
    for name, count in sorted(total.items()):
        print(f"{count:8,} {name}", flush=True)


if __name__ == "__main__":
    sys.exit(main())

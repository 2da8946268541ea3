"""What the matrix of anomalies and levels (the paper's section 8.2) costs: ``python -m tests.matrix``.

Audits each anomaly of tests/cases at each level that its file names and prints the slowest. Does not know which
verdicts are right: that the case files say.
"""

# ruff: noqa: T201  # a command: it prints
from __future__ import annotations

import sys
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from tests.case_files import Case, Expectation, all_cases
from troubadour.audit.driver import Options, audit
from troubadour.coverage.library import library_of
from troubadour.model.log import Log

ROUNDS = 5
SLOWEST = 5


def cost(case: Case, log: Log, expected: Expectation) -> float:
    """The median CPU seconds of an audit, from the log in memory on; the schema's compilation is part of it. Raises
    ValueError where the verdict is not the expected one."""
    rounds = []
    for _ in range(ROUNDS):
        start = time.process_time()
        verdict = audit(log, library_of(log), Options(expected.level))
        rounds.append(time.process_time() - start)
        if verdict.status.value != expected.verdict:
            raise ValueError(f"{case.name} at {expected.level}: {verdict.status.value}, not {expected.verdict}")
    return median(rounds)


def main() -> int:
    """Print the costs."""
    costs: list[tuple[float, str, str]] = []
    with TemporaryDirectory() as folder:
        for case in all_cases():
            if case.name.startswith("anomalies/"):
                log = case.log(Path(folder))
                costs += ((cost(case, log, expected), case.name, expected.level) for expected in case.expectations)
    costs.sort(reverse=True)
    print(f"{len(costs)} audits, median {median(spent for spent, *_ in costs) * 1000:.0f} ms of CPU; the slowest:")
    for spent, name, level in costs[:SLOWEST]:
        print(f"{spent * 1000:4.0f} ms  {name} at {level}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Records runs of each product until so many transactions are audited at its profile, and counts the verdicts.

``python -m benchmarks.profiles [PROFILE ...]``. A run that is not correct is told with its plan, its log is kept, and
what `--seed` and `--first` say comes again (the threads' timing does not). Does not know what a profile promises.
"""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path

import click

from benchmarks.contended.runs import audited
from benchmarks.profiles.runs import PROFILES, plan, product
from troubadour.model.verdict import Status


@dataclass(slots=True)
class Sum:
    """What the runs of a profile came to: runs and transactions, aborted ones not counted, by verdict."""

    runs: Counter[str] = field(default_factory=Counter)
    transactions: Counter[str] = field(default_factory=Counter)
    cpu: float = 0.0

    @property
    def total(self) -> int:
        """Committed transactions of all runs."""
        return self.transactions.total()

    def text(self) -> str:
        """One line."""
        counts = ", ".join(f"{self.runs[s.value]} runs {s.value} ({self.transactions[s.value]:,})" for s in Status)
        return f"{self.total:,} committed transactions: {counts}; {1000 * self.cpu / max(1, self.total):.2f} s CPU/1000"


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(tuple(PROFILES)))
@click.option("--transactions", default=100_000, show_default=True, help="Committed ones of each profile.")
@click.option("--seed", default=0, show_default=True)
@click.option("--first", default=0, show_default=True, help="The number of the first run.")
@click.option("--timeout", default=120.0, show_default=True, help="Seconds of each audit.")
@click.option("--folder", type=click.Path(path_type=Path), default=Path("build/profiles"), show_default=True)
def main(names: tuple[str, ...], transactions: int, seed: int, first: int, timeout: float, folder: Path) -> None:
    """Record and audit runs at each of NAMES, by default all. Fails where one is a violation."""
    folder.mkdir(parents=True, exist_ok=True)
    sums = {name: Sum() for name in names or PROFILES}
    for name, found in sums.items():
        with product(name) as record, ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            number = first
            while found.total < transactions:
                wanted = plan(name, seed, number)
                path = folder / f"{name.replace(':', '-')}-{seed}-{number}.jsonl"
                record(wanted, path, seed)
                one = pool.submit(audited, path, name, timeout).result()
                found.runs[one.verdict] += 1
                found.transactions[one.verdict] += one.committed
                found.cpu += one.cpu
                text = f"{path.name}: {one.verdict}, {one.committed} and {one.aborted} aborted, {one.cpu:.1f} s"
                print(text, flush=True)
                if one.verdict == Status.CORRECT.value:
                    path.unlink()
                else:
                    print(f"    {wanted.text}\n    {one.told}", flush=True)
                number += 1
        print(f"{name}: {found.text()}", flush=True)
    raise SystemExit(any(found.runs[Status.VIOLATION.value] for found in sums.values()))


if __name__ == "__main__":
    main()

"""``python -m benchmarks.histories``: generated and imported histories, audited beside what is known of them.

Prints a table of verdicts, processor seconds, memory, and the reference's word; fails where they contradict each
other. Does not know how an audit decides, nor how a reference does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import SystemRandom

import click

from benchmarks.histories.generate import generate
from benchmarks.histories.history import History
from benchmarks.histories.importers import read_history
from benchmarks.histories.mutate import mutate
from benchmarks.histories.plans import PLANS, SERIAL
from benchmarks.histories.public import LARGE, published
from benchmarks.histories.reference import LEVELS, OF_READS, WITH_SESSIONS, reference
from benchmarks.verdicts.measure import Auditor, Figures
from troubadour.cli.logs.importing import import_file
from troubadour.cli.recording.simulated import simulated
from troubadour.formats.histories import FORMATS

HEAD = "| history | level | verdict | reference | CPU s | MiB |\n|---|---|---|---|---:|---:|"


@dataclass(slots=True)
class Table:
    """What is printed, and counted."""

    counts: Counter[str]
    false: int = 0

    def line(self, name: str, level: str, found: Figures, right: str | None) -> None:
        """One row. A verdict against the reference is counted as false."""
        scope = f" ({found.scope})" if found.scope not in (None, "every-order") else ""
        contradicted = right is not None and found.decided and found.verdict != right
        self.false += contradicted
        self.counts[f"{found.verdict}, reference {right or 'unknown'}"] += 1
        said = f"{found.verdict}{scope}{' FALSE' if contradicted else ''}"
        print(f"| {name} | {level} | {said} | {right or '-'} | {found.cpu:.2f} | {found.peak} |", flush=True)

    def end(self) -> None:
        """The counts; fails where a verdict was false."""
        print("\n" + "; ".join(f"{count} {name}" for name, count in sorted(self.counts.items())))
        raise SystemExit(self.false > 0)


@click.group()
def main() -> None:
    """Key-value histories audited beside independent references."""


@main.command("generated")
@click.option("--plan", "plans", multiple=True, type=click.Choice(list(PLANS)), default=SERIAL, show_default=True)
@click.option("--transactions", multiple=True, type=int, default=(200,), show_default=True)
@click.option(
    "--level", "levels", multiple=True, type=click.Choice((*LEVELS, *OF_READS)), default=LEVELS, show_default=True
)
@click.option("--seed", type=int, help="Else one is drawn, and told.")
@click.option("--mutants", default=1, show_default=True, help="Altered histories for each.")
@click.option("--cpu", default=60.0, show_default=True, help="Processor seconds of an audit.")
@click.option("--seconds", default=60.0, show_default=True, help="Of a reference.")
@click.option("--python", type=click.Path(path_type=Path), help="The interpreter of another installation to measure.")
@click.option("--folder", type=click.Path(path_type=Path), default=Path("build/histories"), show_default=True)
def generated(
    plans: Sequence[str],
    transactions: Sequence[int],
    levels: Sequence[str],
    seed: int | None,
    mutants: int,
    cpu: float,
    seconds: float,
    python: Path | None,
    folder: Path,
) -> None:
    """Generated histories: serializable by construction, and with one read altered."""
    folder.mkdir(parents=True, exist_ok=True)
    seed = SystemRandom().randrange(1 << 30) if seed is None else seed
    print(f"seed {seed}\n\n{HEAD}")
    table = Table(Counter())
    with Auditor(python) as auditor:
        for size in transactions:
            for plan in plans:
                for shape in PLANS[plan](size):
                    for history, by_construction in _with_mutants(generate(shape, seed), mutants):
                        path = folder / "history.jsonl"
                        history.write(path)
                        name = shape.name if by_construction else f"{shape.name}; altered"
                        for level in levels:
                            right = "correct" if by_construction else reference(history, level, seconds)
                            table.line(name, level, auditor.audit((path,), level, cpu), right)
    table.end()


@main.command("imported")
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--form", type=click.Choice(list(FORMATS)), help="Else told by the content.")
@click.option("--level", "levels", multiple=True, default=LEVELS, show_default=True)
@click.option("--cpu", default=60.0, show_default=True, help="Processor seconds of an audit.")
@click.option("--seconds", default=60.0, show_default=True, help="Of a reference.")
@click.option("--python", type=click.Path(path_type=Path), help="The interpreter of another installation to measure.")
@click.option("--folder", type=click.Path(path_type=Path), default=Path("build/histories"), show_default=True)
def imported(
    paths: Sequence[Path],
    form: str | None,
    levels: Sequence[str],
    cpu: float,
    seconds: float,
    python: Path | None,
    folder: Path,
) -> None:
    """Histories of others: PATHS are files, or folders of Cobra's."""
    folder.mkdir(parents=True, exist_ok=True)
    print(HEAD)
    table = Table(Counter())
    with Auditor(python) as auditor:
        for source in paths:
            history = read_history(source, form)
            path = folder / "imported.jsonl"
            history.write(path)
            for level in levels:
                right = reference(history, level, seconds) if level in (*LEVELS, *WITH_SESSIONS, *OF_READS) else None
                name = f"{source.name}, {len(history.transactions):,}"
                table.line(name, level, auditor.audit((path,), level, cpu), right)
    table.end()


@main.command("public")
@click.argument("root", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--cpu", default=30.0, show_default=True, help="Processor seconds of an audit.")
@click.option("--folder", type=click.Path(path_type=Path), default=Path("build/histories"), show_default=True)
def public(root: Path, cpu: float, folder: Path) -> None:
    """Public histories beside what is published of them: ROOT holds clones of their repositories."""
    folder.mkdir(parents=True, exist_ok=True)
    print(HEAD)
    table = Table(Counter())
    with Auditor(None) as auditor:
        for one in published(root):
            path = folder / "public.jsonl"
            told = import_file(one.form, root / one.repository / one.path, path)
            count = sum(1 for line in path.open(encoding="utf-8") if '"ops"' in line)
            # an initial transaction that the file spells out is the log's initial state
            if one.transactions not in (None, count, count + 1):
                table.false += 1
                told += f"; {count:,} TRANSACTIONS, published {one.transactions:,}"
            for level, right in one.verdicts.items():
                name = f"{one.repository} {Path(one.path).name}, {told.split(';')[0]}"
                table.line(name, level, auditor.audit((path,), level, cpu), right)
    table.end()


@main.command("large")
@click.argument("root", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--cpu", default=60.0, show_default=True, help="Processor seconds of an audit, reading included.")
@click.option("--folder", type=click.Path(path_type=Path), default=Path("build/histories"), show_default=True)
def large(root: Path, cpu: float, folder: Path) -> None:
    """Large histories: public ones (ROOT as for `public`), and runs of 100,000 transactions that are simulated."""
    folder.mkdir(parents=True, exist_ok=True)
    print("| history | level | verdict | core | CPU s | MiB |\n|---|---|---|---:|---:|---:|")
    with Auditor(None) as auditor:
        for name, levels, path in _large(root, folder):
            for level in levels:
                found = auditor.audit((path,), level, cpu)
                core = "-" if found.core is None else found.core
                row = (name, level, found.verdict, core, f"{found.cpu:.1f}", found.peak)
                print(f"| {' | '.join(map(str, row))} |", flush=True)


def _large(root: Path, folder: Path) -> Iterator[tuple[str, tuple[str, ...], Path]]:
    """Name, levels and log of each."""
    path = folder / "large.jsonl"
    for repository, place, form, levels in LARGE:
        if (root / repository / place).exists():
            told = import_file(form, root / repository / place, path)
            shown = Path(place).parent.parent if Path(place).name == "history.bincode" else Path(place)
            yield f"{repository} {shown.name}, {told.split(';')[0]}", levels, path
    for kind in ("register", "list"):
        options = ["--workload", "objects", "--type", kind, "--transactions", "100000", "--sessions", "50"]
        if kind == "list":
            options += ["--writes-per-key", "100"]
        simulated.main([*options, "--out", str(path)], standalone_mode=False)
        yield f"simulated {kind}s, 100,000 x 15", ("snapshot",), path


def _with_mutants(history: History, count: int) -> Iterator[tuple[History, bool]]:
    yield history, True
    for seed in range(count):
        altered = mutate(history, seed)
        if altered is not None:
            yield altered, False


if __name__ == "__main__":
    main()

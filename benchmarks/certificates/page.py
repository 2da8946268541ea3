"""The figures of docs/certificates-measured.md, measured again and put there, each table between its marks, with the
commit that was measured. Does not know what a figure ought to be.

    python -m benchmarks.certificates.page --page docs/certificates-measured.md [PART...]
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import click

PAPER = {
    ("order", "100,000"): ("1.7", "98.3", "184.2"),
    ("order, predicates", "2,500"): ("0.6", "76.2", "cannot"),
}
"""Seconds that Emme §7.2 and §7.3 give: of this mode, of Emme, of Elle."""
EMME = {
    "order": ("order", "--sizes", "10000,30000,100000"),
    "order, predicates": ("order", "--sizes", "2500,10000", "--predicates"),
    "dependencies": ("snapshots", "--sizes", "2500,10000"),
    "dependencies, predicates": ("snapshots", "--sizes", "2500", "--predicates"),
}
KINDS = ("recorded", "with commit times", "with snapshots", "with WAL", "with both", "with a certificate")
COST = re.compile(
    r"\w+ (?P<kind>.{18}) +(?P<rate>\d+) per second \(\d+ to \d+\), ratio (?P<ratio>[\d.]+), all (?P<all>[\d.]+); "
    r"us of processor: client (?P<client>\d+), server (?P<server>\d+), closing (?P<closing>\d+), waited (?P<waited>\d+)"
)


def measured(module: str, *arguments: str) -> list[str]:
    """The lines that a benchmark prints."""
    command = [sys.executable, "-m", f"benchmarks.{module}", *arguments]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()


def rows(lines: Sequence[str]) -> list[list[str]]:
    """The cells of a table without its head."""
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")][1:]


def emme() -> list[str]:
    """Emme's workloads."""
    found = [
        "| mode | committed | certificate | CPU s | per CPU s | peak MiB | paper: this mode, s | Emme, s | Elle, s |",
        "|---|---:|---|---:|---:|---:|---:|---:|---:|",
    ]
    for mode, arguments in EMME.items():
        for row in rows(measured("certificates.emme", *arguments)):
            found.append(f"| {' | '.join((mode, *row, *PAPER.get((mode, row[0]), ('', '', ''))))} |")
    return found


def workloads() -> list[str]:
    """Ours on PostgreSQL."""
    lines = measured("certificates.emme", "workloads", "--runs", "15", "--sizes", "200")
    cells = [row[3].split(" of ") for row in rows(lines)]
    accepted, logs = (sum(int(cell[number]) for cell in cells) for number in (0, 1))
    equal = sum(int(row[4].split(" of ")[0]) for row in rows(lines))
    share = f"{accepted} of {logs} certificates are accepted ({100 * accepted / logs:.1f}%)"
    return [*lines, "", f"{share}, {equal} of {logs} where the search says correct and only there."]


def faults() -> list[str]:
    """Faults and lies."""
    return measured("certificates.faults", "faults")


def oracle() -> list[str]:
    """Tiny logs beside the oracle."""
    lines = measured("certificates.faults", "oracle", "--logs", "2000")
    wrong = sum(int(line.split()[0]) for line in lines if "WRONG" in line)
    return ["```text", *(line.strip() for line in lines), "```", "", f"Wrong: {wrong}."]


def cost() -> list[str]:
    """What recording one costs."""
    kinds = [part for kind in KINDS for part in ("--kind", kind)]
    answers = measured("recording.recorder", "--transactions", "1000", "--rounds", "5", *kinds)
    found = [COST.fullmatch(line) for line in answers]
    lines = [
        "| recorded | per second | ratio | CPU ratio | client | server | closing | waited |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for one in found:
        assert one is not None
        lines.append(f"| {' | '.join(cell.strip() for cell in one.groups())} |")
    last = found[-1]
    assert last is not None
    generation, recovery = 1e6 / int(last["rate"]), int(last["waited"])
    below = "below" if recovery < generation else "NOT below"
    told = (
        f"Recovery (*waited*) takes {recovery:,} µs a transaction, {below} the {generation:,.0f} µs of generating it."
    )
    return [*lines, "", told]


PARTS: Mapping[str, Callable[[], list[str]]] = {
    "emme": emme, "workloads": workloads, "faults": faults, "oracle": oracle, "cost": cost,
}  # fmt: skip


def commit() -> str:
    """The commit that is measured, with a mark where files were changed since."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=7", "--exclude=*"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def put(page: Path, name: str, lines: Sequence[str]) -> None:
    """Put a part between its marks. Raises ValueError where the page has none."""
    begin, end = f"<!-- table {name} -->", f"<!-- end of table {name} -->"
    before, found, rest = page.read_text(encoding="utf-8").partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise ValueError(f"{page} has no {begin}")
    page.write_text(before + "\n".join([begin, "", *lines, "", end]) + after, encoding="utf-8")


@click.command()
@click.argument("parts", nargs=-1, type=click.Choice(list(PARTS)))
@click.option("--page", type=click.Path(exists=True, dir_okay=False, path_type=Path), required=True)
def main(parts: tuple[str, ...], page: Path) -> None:
    """See the module."""
    at = commit()
    for name in parts or PARTS:
        lines = PARTS[name]()
        put(page, name, [f"Measured at commit `{at}`.", "", *lines])
        click.echo("\n".join([f"## {name}", *lines, ""]))


if __name__ == "__main__":
    main()

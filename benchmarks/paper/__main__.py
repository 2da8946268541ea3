"""``python -m benchmarks.paper`` (``make paper``): the paper's evaluation (§8) again, into docs/evaluation.md.

Logs are recorded on an embedded PostgreSQL with two sessions, once, into a folder. By default slices: the paper's sizes
are ``--transactions 100000 --timeout 300``. Questions may be asked one at a time; figures.json beside this keeps the
last answers of each, with the commit and the load that they were measured at. Does not know how a log is audited.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

from benchmarks.paper.page import write_page
from benchmarks.paper.questions import Sizes, bugs, encoding, heuristics, workloads
from benchmarks.paper.runs import auditor, logs

ROOT = Path(__file__).parents[2]
KEPT = Path(__file__).with_name("figures.json")
PAGE = ROOT / "docs" / "evaluation.md"
QUESTIONS = ("rq1", "rq2", "rq3", "rq4")


def _commit() -> str:
    return subprocess.check_output(["git", "rev-parse", "--short=8", "HEAD"], text=True, cwd=ROOT).strip()


@click.command()
@click.argument("questions", nargs=-1, type=click.Choice(QUESTIONS))
@click.option(
    "--transactions", default=2_000, show_default=True, help="Committed ones of each log; the paper: 100,000."
)
@click.option("--ablation", default=1_000, show_default=True, help="Of each log of RQ4.")
@click.option("--timeout", default=60.0, show_default=True, help="Seconds of each audit; the paper: 300.")
@click.option("--fast", is_flag=True, help="200 transactions, 10 seconds: whether it works.")
@click.option("--folder", type=click.Path(path_type=Path), default=ROOT / "build" / "paper", help="Of the logs.")
@click.option("--keep", is_flag=True, help="Keep the figures, and write docs/evaluation.md and its pictures.")
@click.option("--page-only", is_flag=True, help="Write the page of the figures that are kept.")
def main(
    questions: tuple[str, ...],
    transactions: int,
    ablation: int,
    timeout: float,
    fast: bool,
    folder: Path,
    keep: bool,
    page_only: bool,
) -> None:
    """Ask QUESTIONS, by default all four. Exit status 1 where a verdict is not as it should be."""
    kept: dict[str, Any] = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    if page_only:
        write_page(PAGE, kept)
        return
    sizes = Sizes(transactions, ablation, timeout, (10, *range(20, 241, 20)))
    if fast:
        sizes = Sizes(200, 200, 10.0, (10, 30, 60))
    wrong = 0
    for name in questions or QUESTIONS:
        rows = []
        for row in _asked(name, sizes, folder):
            click.echo(json.dumps(row))
            rows.append(row)
            wrong += row["verdict"] not in (row.get("expected", "correct"), "undecided") and "balance" not in row
        size = sizes.ablation if name == "rq4" else sizes.transactions
        kept[name] = {
            "commit": _commit(),
            "load": round(os.getloadavg()[0], 1),
            "transactions": size,
            "timeout": sizes.timeout,
            "rows": rows,
        }
        if keep:
            KEPT.write_text(_lines(kept), encoding="utf-8")
            write_page(PAGE, kept)
    raise SystemExit(wrong > 0)


def _lines(kept: dict[str, Any]) -> str:
    """JSON with a line for each row."""
    text = json.dumps(kept, indent=1)
    return re.sub(r"\{\n    .*?\}", lambda row: json.dumps(json.loads(row[0])), text, flags=re.S) + "\n"


def _asked(name: str, sizes: Sizes, folder: Path) -> Iterator[dict[str, Any]]:
    simple: dict[str, Callable[[Sizes], Iterator[dict[str, Any]]]] = {"rq1": encoding, "rq2": bugs}
    if name in simple:
        yield from simple[name](sizes)
        return
    size = sizes.ablation if name == "rq4" else sizes.transactions
    with auditor() as audited, logs(folder, size) as recorded:
        yield from (heuristics if name == "rq4" else workloads)(sizes, recorded, audited)


if __name__ == "__main__":
    main()

"""What real products show of Elle's workloads (Alvaro and Kingsbury 2020, section 7): lists that are appended to, and
registers, at each level that a product has, with connections and clients killed all the while.

``python -m benchmarks.objects.products --page docs/all-anomalies.md`` records each run, lists its anomalies and puts
the table where the page has the last one. Does not know how an anomaly is found.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from troubadour.isolation.levels import LEVELS
from troubadour.isolation.models import weaker
from troubadour.record.objects import PRODUCTS

TYPES = ("list", "register")
BEGIN, END = "<!-- products -->", "<!-- end of products -->"
_COLUMNS = (
    "product", "level", "type", "committed, aborted, unknown", "at its level", "anomalies", "not",
    "proved, the strongest", "CPU s",
)  # fmt: skip
HEAD = f"| {' | '.join(_COLUMNS)} |\n{'|---' * (len(_COLUMNS) - 1)}|---:|"


def _run(arguments: Sequence[str]) -> tuple[str, str, float]:
    """What the command printed to either stream, and processor seconds."""
    command = [sys.executable, "-c", "from troubadour.cli.main import main; main()", *arguments]
    before = os.times()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return done.stdout, done.stderr, used


def strongest(levels: Sequence[str]) -> list[str]:
    """Of levels of this project those that none of the others implies."""
    ours = [one for one in levels if one in LEVELS]
    return [one for one in ours if not any(one in weaker(other) for other in ours if other != one)]


def row(product: str, level: str, kind: str, transactions: int, seed: int, folder: Path) -> dict[str, Any]:
    """One run and what it shows. Raises SystemExit where it could not be recorded or used."""
    path = folder / f"{product}-{level}-{kind}.jsonl"
    options = ["--dbms", product, "--type", kind, "--isolation", level, "--disturb", "--seed", str(seed)]
    options += ["--keys", "8", "--operations", "1-5", "--writes-per-key", "100", "--sessions", "8"]
    _, told, _ = _run(["record", "objects", *options, "--transactions", str(transactions), "--out", str(path)])
    if not path.exists():
        raise SystemExit(f"{product} {level} {kind}: {told}")
    printed, error, cpu = _run(["anomalies", str(path), "--expect", level, "--format", "json"])
    if not printed:
        raise SystemExit(f"{product} {level} {kind}: {error}")
    found = json.loads(printed)
    statuses = Counter(json.loads(line).get("status") for line in path.read_text().splitlines()[1:])
    names: Counter[str] = Counter()
    for one in found["anomalies"]:
        names[one["name"]] += one["count"]
    return {
        "product": product, "level": level, "type": kind,
        "counts": [statuses["committed"], statuses["aborted"], statuses["unknown"]],
        "standing": found["standing"], "anomalies": dict(names), "not": found["not"],
        "proved": strongest(found["proved"]), "cpu": round(cpu, 1),
    }  # fmt: skip


def shown(one: dict[str, Any]) -> str:
    """A row of the table."""
    names = ", ".join(f"{name} {count:,}" for name, count in one["anomalies"].items())
    counts = ", ".join(f"{count:,}" for count in one["counts"])
    cells = [one["product"], f"`{one['level']}`", one["type"], counts, one["standing"], names or "-"]
    cells += [", ".join(one["not"]) or "-", ", ".join(one["proved"]) or "-", f"{one['cpu']:.1f}"]
    return f"| {' | '.join(cells)} |"


def _cases(products: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    for product in products or PRODUCTS:
        for level in PRODUCTS[product].begin:
            for kind in TYPES:
                yield product, level, kind


@click.command()
@click.argument("products", nargs=-1, type=click.Choice([*PRODUCTS]))
@click.option("--transactions", default=2000, show_default=True, help="That commit in each run.")
@click.option("--seed", default=0, show_default=True)
@click.option("--folder", type=click.Path(path_type=Path), default=Path("build/products"), show_default=True)
@click.option("--page", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Put the table here.")
def main(products: tuple[str, ...], transactions: int, seed: int, folder: Path, page: Path | None) -> None:
    """Record and judge all runs; exit status 1 where one does not keep the level that it was run at."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    print(HEAD)
    for case in _cases(products):
        rows.append(row(*case, transactions, seed, folder))
        print(shown(rows[-1]), flush=True)
    if page is not None:
        head = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
        told = f"At {head.stdout.strip()}, {transactions:,} committed transactions a run, seed {seed}:"
        text = "\n".join([BEGIN, "", told, "", HEAD, *map(shown, rows), "", END])
        before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
        page.write_text(before + text + rest.partition(END)[2], encoding="utf-8")
    sys.exit(1 if any(one["standing"] == "ruled out" for one in rows) else 0)


if __name__ == "__main__":
    main()

"""Records runs, audits them at the levels that they ran at, and drives the witnesses on the server that they ran on.

``python -m benchmarks.replayed [PROFILE ...]``. A profile is a level of a product's, or ``mixed``: each transaction at
one of its own. A log that is not correct, or whose witness the server contradicts, is kept. Does not know how a log
is audited, nor how a witness is driven.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from multiprocessing import get_context
from pathlib import Path
from random import Random

import click

from benchmarks.mixed.__main__ import up
from benchmarks.mixed.hot import hot_shapes
from benchmarks.mixed.runs import LEVELS, Plan, plan, recorded
from benchmarks.mixed.shapes import SHAPES
from benchmarks.replayed.one import Told, told_of
from troubadour.model.verdict import Status

PROFILES: Mapping[str, tuple[str, str | None]] = {
    "postgres:read-committed": ("postgres", "READ COMMITTED"),
    "postgres:repeatable-read": ("postgres", "REPEATABLE READ"),
    "postgres:serializable": ("postgres", "SERIALIZABLE"),
    "postgres:mixed": ("postgres", None),
    "mysql:read-committed": ("mariadb", "READ COMMITTED"),
    "mysql:repeatable-read": ("mariadb", "REPEATABLE READ"),
    "mysql:serializable": ("mariadb", "SERIALIZABLE"),
    "mysql:mixed": ("mariadb", None),
}
"""The product of each, and what SQL calls the level (None: several)."""


@dataclass(slots=True)
class Row:
    """One line of the table. `refused`: witnesses that replay refused, though another may have been accepted; `agreed`:
    witnesses of which the server gave all answers again; `not_driven`: why others were not brought about."""

    profile: str
    runs: int = 0
    transactions: int = 0
    correct: int = 0
    undecided: int = 0
    accused: int = 0
    refused: int = 0
    replayed: int = 0
    agreed: int = 0
    answers: int = 0
    cpu: float = 0.0
    not_driven: Counter[str] = field(default_factory=Counter)

    def add(self, told: Told) -> None:
        """One more run."""
        self.runs += 1
        self.transactions += told.committed
        self.correct += told.verdict == Status.CORRECT.value
        self.undecided += told.verdict == Status.UNDECIDED.value
        self.accused += told.verdict == Status.VIOLATION.value
        self.refused += told.refused
        self.replayed += told.driven in ("agreed", "disagreed")
        self.agreed += told.driven == "agreed"
        self.answers += told.answers
        self.cpu = round(self.cpu + told.cpu, 2)
        if told.verdict == Status.CORRECT.value and told.driven not in ("agreed", "disagreed"):
            self.not_driven[told.driven] += 1

    @property
    def line(self) -> str:
        """As in the table of docs/benchmarks.md."""
        why = ", ".join(f"{count} {reason}" for reason, count in self.not_driven.most_common())
        cells = (
            f"`{self.profile}`", self.runs, self.transactions, self.correct, self.undecided, self.accused, self.refused,
            self.replayed, self.agreed, self.answers, why or "-",
        )  # fmt: skip
        return "| " + " | ".join(map(str, cells)) + " |"


HEAD = (
    "| profile | runs | committed | correct | undecided | accused | refused by replay | witnesses replayed | agreed | "
    "answers compared | not driven |\n|---|" + "---:|" * 9 + "---|"
)


def planned(profile: str, clients: int | None, seed: int, number: int) -> Plan:
    """The `number`-th run at a profile."""
    product, level = PROFILES[profile]
    if level is None:
        return plan(product, seed, number)
    names = [*hot_shapes(product), *SHAPES]
    random = Random(f"{profile}/{seed}/{number}")
    return Plan(
        product,
        seed,
        number,
        shape=names[number % len(names)],
        clients=clients or random.choice((3, 6, 12)),
        transactions=random.choice((60, 100, 150)),
        levels={level: 1},
        read_only=random.choice((0.0, 0.0, 0.2)),
        pauses=random.choice((0.0, 0.1, 0.4)),
    )


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(tuple(PROFILES)))
@click.option("--runs", default=40, show_default=True, help="Of each profile.")
@click.option("--clients", type=int, help="Of each run but the mixed ones; by default 3, 6 or 12.")
@click.option("--seed", default=0, show_default=True)
@click.option("--first", default=0, show_default=True, help="The number of the first run.")
@click.option("--timeout", default=120.0, show_default=True, help="Seconds of each audit.")
@click.option("--folder", type=click.Path(path_type=Path), default=Path("build/replayed"), show_default=True)
@click.option("--drive/--only-audit", default=True, show_default=True, help="Whether witnesses are driven.")
@click.option("--json", "out", type=click.Path(path_type=Path), help="Where the figures go.")
def main(
    names: tuple[str, ...],
    runs: int,
    clients: int | None,
    seed: int,
    first: int,
    timeout: float,
    folder: Path,
    drive: bool,
    out: Path | None,
) -> None:
    """Record, audit and drive runs at each of NAMES, by default all. Fails where one is a violation, or a witness is
    refused by replay or contradicted by the server."""
    assert set(LEVELS) >= {level for _, level in PROFILES.values() if level is not None}
    folder.mkdir(parents=True, exist_ok=True)
    rows = [Row(name) for name in names or PROFILES]
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        for row in rows:
            product, _ = PROFILES[row.profile]
            with up(product) as dsn:
                for number in range(first, first + runs):
                    wanted = planned(row.profile, clients, seed, number)
                    path = folder / f"{row.profile.replace(':', '-')}-{seed}-{number}.jsonl"
                    path.unlink(missing_ok=True)
                    recorded(wanted, dsn, path)
                    told = pool.submit(told_of, path, product, dsn if drive else None, timeout).result()
                    row.add(told)
                    if told.is_fine:
                        path.unlink()
                    else:
                        print(f"{path.name}: {wanted.text}\n    {told.text}", flush=True)
            print(row.line, flush=True)
    print(HEAD, *(row.line for row in rows), sep="\n")
    if out is not None:
        lines = [{**asdict(row), "not_driven": dict(row.not_driven)} for row in rows]
        figures = {"seed": seed, "first": first, "rows": lines}
        out.write_text(json.dumps(figures, indent=1) + "\n")
    raise SystemExit(any(row.accused or row.refused or row.agreed < row.replayed for row in rows))


if __name__ == "__main__":
    main()

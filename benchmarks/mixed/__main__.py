"""Records mixed runs, audits each at its transactions' own levels, and counts the verdicts.

``python -m benchmarks.mixed [PRODUCT ...]``. A log that is not correct is kept, and told with its plan. Does not know
how a log is audited.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path

import click

from benchmarks.mixed.judged import verdict_on
from benchmarks.mixed.runs import PRODUCTS, plan, recorded
from troubadour.model.verdict import Status
from troubadour.record import EmbeddedPostgres
from troubadour.record.servers.embedded_mariadb import PrivateMariaDB


@contextmanager
def up(product: str) -> Iterator[str]:
    """A server of one's own; its address."""
    if product == "mariadb":
        with PrivateMariaDB() as mariadb:
            yield mariadb.dsn
    else:
        with EmbeddedPostgres({"fsync": "off"}) as postgres:
            yield postgres.dsn


@click.command()
@click.argument("products", nargs=-1, type=click.Choice(PRODUCTS))
@click.option("--runs", default=100, show_default=True, help="Of each product.")
@click.option("--seed", default=0, show_default=True)
@click.option("--first", default=0, show_default=True, help="The number of the first run.")
@click.option("--timeout", default=120.0, show_default=True, help="Seconds of each audit.")
@click.option("--folder", type=click.Path(path_type=Path), default=Path("build/mixed"), show_default=True)
@click.option("--dsn", help="A server that is up, in place of one of its own.")
@click.option("--keep", is_flag=True, help="Keep the logs that are correct, too.")
@click.option("--json", "out", type=click.Path(path_type=Path), help="Where the figures go.")
def main(
    products: tuple[str, ...],
    runs: int,
    seed: int,
    first: int,
    timeout: float,
    folder: Path,
    dsn: str | None,
    keep: bool,
    out: Path | None,
) -> None:
    """Record and audit runs on each of PRODUCTS, by default all. Fails where one is a violation."""
    folder.mkdir(parents=True, exist_ok=True)
    figures: dict[str, dict[str, float]] = {}
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        for product in products or PRODUCTS:
            counts: Counter[str] = Counter()
            transactions, cpu = 0, 0.0
            with up(product) if dsn is None else _given(dsn) as address:
                for number in range(first, first + runs):
                    wanted = plan(product, seed, number)
                    path = folder / f"{product}-{seed}-{number}.jsonl"
                    path.unlink(missing_ok=True)
                    recorded(wanted, address, path)
                    status, told, committed, seconds = pool.submit(verdict_on, path, timeout).result()
                    counts[status] += 1
                    transactions += committed
                    cpu += seconds
                    if status != Status.CORRECT.value:
                        print(f"{path.name}: {status}\n    {wanted.text}\n    {told}", flush=True)
                    elif not keep:
                        path.unlink()
            figures[product] = {status.value: counts[status.value] for status in Status}
            figures[product] |= {"runs": runs, "committed": transactions, "cpu": round(cpu, 1)}
            print(f"{product}: {figures[product]}", flush=True)
    if out is not None:
        out.write_text(json.dumps({"seed": seed, "first": first, "products": figures}, indent=1) + "\n")
    raise SystemExit(any(found[Status.VIOLATION.value] for found in figures.values()))


@contextmanager
def _given(dsn: str) -> Iterator[str]:
    yield dsn


if __name__ == "__main__":
    main()

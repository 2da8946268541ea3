"""How many of the statements that well-known applications send are judged, each recorded and audited by itself.

    python -m tests.live.typical [--page FILE] [ENGINE ...]

Ends with status 1 where one is neither correct nor undecided for what is named. Does not know the statements.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import click

from tests.live.applications.page import commit, put
from tests.live.round_trip.running import Ended, run
from tests.live.typical.cases import PRODUCTS, statements
from troubadour.record import EmbeddedPostgres
from troubadour.record.servers.embedded_mariadb import PrivateMariaDB


def table(results: dict[str, list[Ended]], at: str) -> list[str]:
    """The figures as Markdown."""
    lines = [f"Measured at commit `{at}`.", "", "| engine | application | statements | judged | not judged, and why |"]
    lines.append("|---|---|---:|---:|---|")
    for engine, found in results.items():
        for name in dict.fromkeys(one.case.name.rpartition(" ")[0] for one in found):
            of_it = [one for one in found if one.case.name.rpartition(" ")[0] == name]
            why = Counter(construct for one in of_it for construct in one.constructs)
            told = ", ".join(f"{count} x {construct[:100]}" for construct, count in why.most_common())
            judged = sum(one.verdict == "correct" for one in of_it)
            application = name.partition(": ")[2]
            lines.append(f"| {PRODUCTS[engine]} | {application} | {len(of_it)} | {judged} | {told} |")
    return lines


@click.command(help=__doc__)
@click.argument("engines", nargs=-1)
@click.option("--page", type=click.Path(path_type=Path), help="The page whose table is written anew.")
def main(engines: tuple[str, ...], page: Path | None) -> None:
    """Measure, and write the figures."""
    with ExitStack() as stack:
        addresses = {
            "postgres": stack.enter_context(EmbeddedPostgres()).dsn,
            "mysql": stack.enter_context(PrivateMariaDB()).dsn,
        }
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        results = {
            engine: [run(case, folder, addresses) for case in statements(engine)] for engine in engines or PRODUCTS
        }
    lines = table(results, commit())
    click.echo("\n".join(lines))
    if page is not None:
        put(page, "typical", lines)
    wrong = [one for found in results.values() for one in found if one.verdict != "correct"]
    for one in wrong:
        click.echo(f"{one.case.name}: {one.verdict}, {one.constructs or one.said}", err=True)
    sys.exit(any(not one.honest for one in wrong))


main()

"""The figures of the round trip: every case on its own, a row for each engine, in docs/round-trip.md.

    python -m tests.live.round_trip [--page FILE] [--json FILE]

Ends with status 1 where a case is neither correct nor undecided for what is named. Does not know the cases.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import click

from tests.live.applications.page import commit
from tests.live.round_trip.cases import ENGINES, Case, scripted
from tests.live.round_trip.generated import named, typed
from tests.live.round_trip.running import Addresses, Ended, run
from troubadour.record import EmbeddedPostgres
from troubadour.record.servers.embedded_mariadb import PrivateMariaDB

BEGIN, END = "<!-- figures -->", "<!-- end of figures -->"
PRODUCTS = {"postgres": "PostgreSQL", "mysql": "MariaDB", "sqlite": "SQLite", "duckdb": "DuckDB"}


def cases(engine: str) -> Iterator[Case]:
    """All of an engine's."""
    yield from scripted(engine)
    yield from named(engine)
    yield from typed(engine)


def measured(engine: str, addresses: Addresses) -> list[Ended]:
    """What came of each case of an engine."""
    found = []
    for case in cases(engine):
        with tempfile.TemporaryDirectory() as folder:
            found.append(run(case, Path(folder), addresses))
    return found


def table(results: dict[str, list[Ended]], at: str) -> list[str]:
    """The figures as Markdown."""
    lines = [f"Measured at commit `{at}`.", "", "| engine | cases | correct | undecided | neither |"]
    lines.append("|---|---:|---:|---:|---:|")
    for engine, found in results.items():
        correct = sum(one.verdict == "correct" for one in found)
        honest = sum(one.honest for one in found)
        lines.append(f"| {PRODUCTS[engine]} | {len(found)} | {correct} | {honest - correct} | {len(found) - honest} |")
    lines += ["", "| engine | cases | not judged in them |", "|---|---:|---|"]
    for engine, found in results.items():
        constructs = Counter(
            name for one in found if one.honest for name in sorted({_plain(item) for item in one.constructs})
        )
        for name, count in constructs.most_common():
            lines.append(f"| {PRODUCTS[engine]} | {count} | {name[:120].replace('|', chr(92) + '|')} |")
    return lines


def _plain(construct: str) -> str:
    """A construct without where it stands."""
    return re.sub(r" at line \d+.*| Line \d+, Col: \d+\.", "", construct.split(", in the definition of ")[0])


@click.command(help=__doc__)
@click.option("--page", type=click.Path(path_type=Path), help="The page whose table is written anew.")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="The figures as JSON.")
def main(page: Path | None, json_file: Path | None) -> None:
    """Measure, and write the figures."""
    with ExitStack() as stack:
        addresses = {
            "postgres": stack.enter_context(EmbeddedPostgres()).dsn,
            "mysql": stack.enter_context(PrivateMariaDB()).dsn,
        }
        results = {engine: measured(engine, addresses) for engine in ENGINES}
    lines = table(results, commit())
    click.echo("\n".join(lines))
    if page is not None:
        before, _, rest = page.read_text().partition(BEGIN)
        page.write_text("\n".join([before + BEGIN, *lines, END]) + rest.partition(END)[2])
    if json_file is not None:
        rows = [
            {"engine": one.case.engine, "case": one.case.name, "verdict": one.verdict, "unjudged": one.constructs}
            for found in results.values()
            for one in found
        ]
        json_file.write_text(json.dumps({"commit": commit(), "cases": rows}, indent=1, ensure_ascii=False) + "\n")
    wrong = [one for found in results.values() for one in found if not one.honest]
    for one in wrong:
        click.echo(f"{one.case.engine}, {one.case.name}: {one.verdict}, {one.said}", err=True)
    sys.exit(bool(wrong))


main()

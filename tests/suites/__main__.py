"""How many statements of PostgreSQL's regression scripts agree with the server, and what is refused, by construct.

    python -m tests.suites [SCRIPT ...]

Ends with status 1 where one differs. Does not know the statements.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click
import psycopg

from tests.suites.files import DATA, name_of
from tests.suites.pg_regress import Report, shares
from tests.suites.test_pg_regress import run
from troubadour.record import EmbeddedPostgres


@click.command(help=__doc__)
@click.argument("scripts", nargs=-1)
def main(scripts: Sequence[str]) -> None:
    """Measure."""
    known = [name_of(path).removesuffix(".sql") for path in sorted((DATA / "pg-regress").glob("*.sql.gz"))]
    with EmbeddedPostgres() as server, psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.prepare_threshold = None
        connection.execute("SET client_min_messages = error")
        reports: dict[str, Report] = {}
        for name in scripts or known:
            reports[name] = run(connection, name)
            click.echo(f"{name}: {reports[name]}", err=True)
    click.echo("\n".join(shares(reports)))
    sys.exit(any(report.differences for report in reports.values()))


if __name__ == "__main__":
    main()

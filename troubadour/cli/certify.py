"""``troubadour log certify``: a certificate from the timestamps that a database told its clients.

Does not know whether they are true.
"""

from __future__ import annotations

from pathlib import Path

import click

from troubadour.cli.common import emit, load, refuse
from troubadour.model.log import LogError


@click.command()
@click.argument("logs", metavar="LOG...", nargs=-1, required=True)
@click.option(
    "--from",
    "product",
    type=click.Choice(["tidb", "cockroachdb"]),
    required=True,
    help="Whose timestamps they are.",
)
@click.option(
    "--times",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    metavar="FILE",
    help="A JSON object a line, `transaction` being its id in the log.",
)
@click.option(
    "--out",
    "-o",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    help="Where the certificate goes; gzip if the name ends in .gz.",
)
def certify(logs: tuple[str, ...], product: str, times: Path, out: Path) -> None:
    """Make a certificate of the timestamps that TiDB or CockroachDB told.

    TiDB: the fields of @@tidb_last_txn_info (start_ts, for_update_ts, commit_ts), asked for after each COMMIT.
    CockroachDB: `timestamp`, the text of cluster_logical_timestamp(), asked for as the last statement of each
    transaction.

    \b
    Example:
      troubadour log certify run.jsonl --from tidb --times ts.jsonl --out run.cert.jsonl
      troubadour audit run.jsonl --certificate run.cert.jsonl
    """
    from troubadour.formats.certificate import write_certificate
    from troubadour.tools.timestamps import IMPORTS

    try:
        found = IMPORTS[product](load(logs), times)
        write_certificate(out, found)
    except LogError as error:
        refuse(str(error))
    except OSError as error:
        refuse(f"{out}: {error.strerror}")
    emit(f"{out}: {len(found.commits):,} commits, {len(found.reads):,} read states")

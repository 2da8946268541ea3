"""``troubadour log certify``: a certificate from the timestamps that a database told its clients.

Does not know whether they are true.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import click

from troubadour.cli.common import emit, load, refuse
from troubadour.model.log import LogError


@click.command()
@click.argument("logs", metavar="LOG...", nargs=-1, required=True)
@click.option(
    "--from",
    "product",
    type=click.Choice(["tidb", "cockroachdb", "yugabytedb"]),
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
    metavar="FILE",
    help="Where the certificate goes; gzip if the name ends in .gz.",
)
@click.option(
    "--log",
    "filled",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Where the log goes with these timestamps as `start` and `commit`; gzip if the name ends in .gz.",
)
def certify(logs: tuple[str, ...], product: str, times: Path, out: Path | None, filled: Path | None) -> None:
    """Make a certificate of the timestamps that TiDB, CockroachDB or YugabyteDB told, and put them into the log.

    TiDB: the fields of @@tidb_last_txn_info (start_ts, for_update_ts, commit_ts), asked for after each COMMIT.
    CockroachDB: `timestamp`, the text of cluster_logical_timestamp(), asked for as the last statement of each
    transaction.
    YugabyteDB: `read_time` and `commit_time`, hybrid times as integers, from its write-ahead log.

    \b
    Example:
      troubadour log certify run.jsonl --from tidb --times ts.jsonl --out run.cert.jsonl
      troubadour audit run.jsonl --certificate run.cert.jsonl
      troubadour log certify run.jsonl --from yugabytedb --times ts.jsonl --log timed.jsonl
    """
    if out is None and filled is None:
        raise click.UsageError("name --out, --log, or both")
    if filled is not None and (len(logs) != 1 or logs[0] == "-"):
        raise click.UsageError("--log is for one LOG, a file")
    from troubadour.formats.certificate import write_certificate
    from troubadour.tools.timestamps import IMPORTS, stamped

    certificate, times_of = IMPORTS[product]
    try:
        log = load(logs)
        if out is not None:
            found = certificate(log, times)
            write_certificate(out, found)
            emit(f"{out}: {len(found.commits):,} commits, {len(found.reads):,} read states")
        if filled is not None:
            stamps = times_of(log, times)
            given = Path(logs[0]).read_bytes()
            text = stamped(gzip.decompress(given) if given.startswith(b"\x1f\x8b") else given, stamps)
            filled.write_bytes(gzip.compress(text) if filled.name.endswith(".gz") else text)
            emit(f"{filled}: {len(stamps):,} transactions with timestamps")
    except LogError as error:
        refuse(str(error))
    except OSError as error:
        refuse(f"{error.filename or out or filled}: {error.strerror}")

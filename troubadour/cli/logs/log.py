"""``troubadour log``: begin, look at, mend and change logs. Does not know how a log is judged."""

from __future__ import annotations

import gzip
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import click

from sql_semantics.errors import Unsupported
from sql_semantics.products import PRODUCTS
from troubadour.cli.common import as_sql, brief, emit, library_of, load, load_either, opened, refuse, refuse_log, warn
from troubadour.cli.logs.certify import certify
from troubadour.cli.logs.importing import from_option, import_histories
from troubadour.formats import write_log, write_objects
from troubadour.isolation.levels import LEVELS
from troubadour.isolation.naming import unknown_level
from troubadour.model.log import Header, Log, LogError, Transaction, TransactionId
from troubadour.model.objects import ObjectLog
from troubadour.model.verdict import Verdict
from troubadour.report.transactions import operation_lines, transaction_lines

LOGS = click.argument("logs", metavar="LOG...", nargs=-1, required=True)
OUT = click.option(
    "--out",
    "-o",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    help="Where the new log goes; gzip if the name ends in .gz. Never one of the LOGs.",
)


@click.group()
def log() -> None:
    """Begin, look at, mend and change logs.

    \b
    A log's life:
      troubadour log init DSN --out run.jsonl     schema, routines and rows as they are now
      (run your application on recorded connections: docs/recording.md)
      troubadour log repair run*.jsonl            if a process was killed
      troubadour log validate run*.jsonl          is all of it modelled?
      troubadour audit run*.jsonl
      troubadour log anonymize run*.jsonl -o shared.jsonl.gz

    Several LOGs are segments of one. Exit status 2: the input or the options cannot be used.
    """


log.add_command(certify)


@log.command()
@click.argument("dsn", metavar="DSN")
@click.option(
    "--out",
    "-o",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    help="The log to write, a plain .jsonl file; recorded connections then add segments beside it.",
)
@click.option("--table", "-t", "tables", multiple=True, metavar="NAME", help="Only this table; may be repeated.")
@click.option("--isolation", metavar="LEVEL", help="For the header, in place of the database's default level.")
def init(dsn: str, out: Path, tables: tuple[str, ...], isolation: str | None) -> None:
    """Begin a log with the schema, the routines and the rows that a database has now.

    Everything is read while writers are locked out, so it is the state before the first recorded transaction, if from
    now on only recorded connections write. (Where the log is not there yet the first recorded connection does the same
    by itself.) DSN is libpq's for PostgreSQL, or sqlite:FILE, duckdb:FILE, mysql://USER@HOST/DATABASE.

    \b
    Examples:
      troubadour log init "host=localhost dbname=shop" --out run.jsonl
      troubadour log init sqlite:shop.db --out run.jsonl
      troubadour log init "mysql://root@localhost/shop" --out run.jsonl
    """
    from troubadour.record.begin import begin
    from troubadour.record.errors import RecordError

    if isolation is not None and isolation not in LEVELS:
        refuse(f"--isolation: {unknown_level(isolation, None)}")
    if out.suffix == ".gz":
        refuse("--out: a log that is to be added to is not packed; troubadour log merge packs it in the end")
    try:
        begin(dsn, out, tables or None, isolation)
    except RecordError as error:
        refuse(str(error))
    except OSError as error:
        refuse(f"{out}: {error.strerror}")
    found = load((str(out),))
    try:
        library_of(found)
    except Unsupported as error:
        warn(f"not modelled: {error.construct}; an audit will be undecided")
    rows = sum(len(table.rows) for table in found.header.initial)
    emit(f"{out}: {len(found.header.schema)} schema statements, {len(found.header.procedures)} routines, {rows:,} rows")


@log.command("import")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@from_option
@click.option("--begin", metavar="LOG", help="Of a csvlog: a log made by `log init` before: schema, rows, level.")
@click.option("--database", metavar="NAME", help="Only sessions of this database.")
@click.option(
    "--out",
    "-o",
    type=click.Path(path_type=Path),
    required=True,
    help="Where the new log goes; gzip if the name ends in .gz. Of a Jepsen's store: a folder.",
)
def import_(files: tuple[str, ...], source: str | None, begin: str | None, database: str | None, out: Path) -> None:
    """Make a log of a history of another checker (--from), or of PostgreSQL's own log.

    With --from elle FILE may be a Jepsen's `store` or any folder in it: each history in it becomes a log in the folder
    OUT.

    Without --from FILEs are PostgreSQL's csvlog with log_statement = all, or with pgaudit's lines. It has statements,
    parameters and errors, and the order in which transactions ended. It has no rows, no counts and
    no times, so an audit finds only what errors and their absence tell. A COMMIT that is a session's last line is of
    unknown outcome. Record with `recorder.connect` where you can.

    \b
    Example:
      troubadour log import --from elle store/ --out logs/
      troubadour audit --isolation strict-serializable logs/etcd-append-20261126T1200.jsonl

    \b
    Example (log_destination = csvlog, logging_collector = on, log_statement = all):
      troubadour log init "dbname=shop" --out begin.jsonl
      troubadour log import /var/lib/postgresql/data/log/*.csv --begin begin.jsonl --out run.jsonl
    """
    from troubadour.formats import LogWriter
    from troubadour.formats.write import header_json
    from troubadour.tools.server_log import transactions

    if source is not None:
        if begin is not None or database is not None:
            raise click.UsageError("--begin and --database are of PostgreSQL's csvlog, not of --from")
        import_histories(source, files, out)
        return
    if begin is None:
        raise click.UsageError("a csvlog of PostgreSQL's needs --begin; a history of another checker --from FORMAT")
    header = load((begin,)).header
    if not PRODUCTS[header.dialect].running.imports_server_logs:
        refuse(f"--begin: {begin} is not of PostgreSQL")
    entry = {**header_json(header), "clock": None, "segment": None}
    count = 0
    with _written(out), LogWriter(out, entry) as writer:
        for table in header.initial:
            writer.rows(table.table, table.columns, table.rows)
        for transaction in transactions([Path(name) for name in files], database):
            writer.transaction(transaction)
            count += 1
    emit(f"{out}: {count:,} transactions; no rows, no counts and no times, which the server does not log")


@log.command()
@LOGS
def stats(logs: tuple[str, ...]) -> None:
    """Count what is in a log: transactions, sessions, levels, statements, errors, times.

    \b
    Example:
      troubadour log stats logs/recorded/bank-snapshot-20.jsonl.gz
    """
    from troubadour.tools.stats import count, object_lines, stats_lines

    found = load_either(logs)
    if isinstance(found, ObjectLog):
        emit("\n".join(object_lines(found)))
        return
    emit("\n".join(stats_lines(found, count(found))))


@log.command()
@LOGS
@click.option("--id", "-i", "ids", multiple=True, metavar="ID", help="Only this transaction; may be repeated.")
@click.option("--session", "-s", "sessions", multiple=True, metavar="NAME", help="Only transactions of this session.")
@click.option("--match", "-m", metavar="TEXT", help="Only transactions with a statement that contains this text.")
@click.option("--first", "-n", type=click.IntRange(1), metavar="N", help="Print at most N.")
def show(logs: tuple[str, ...], ids: tuple[str, ...], sessions: tuple[str, ...], match: str | None, first: int) -> None:
    """Print transactions as text, in hint order (by commit times, else client times, else the file).

    \b
    Examples:
      troubadour log show run.jsonl | less
      troubadour log show run.jsonl --id c1-17 --id c2-4
      troubadour log show run.jsonl --match "balance - " --first 5
    """
    either = load_either(logs)
    found = as_sql(either)
    shown = 0
    for place, transaction in enumerate(found.transactions):
        if (ids and str(transaction.id) not in ids) or (sessions and transaction.session not in sessions):
            continue
        told = operation_lines(either, either.order[place]) if isinstance(either, ObjectLog) else None
        if match is not None and not any(match in text for text in told or (one.sql for one in transaction.statements)):
            continue
        emit("\n".join(transaction_lines(transaction, told)))
        shown += 1
        if shown == first:
            break
    if not shown:
        refuse("no such transaction")


@log.command()
@LOGS
def validate(logs: tuple[str, ...]) -> None:
    """Read a log as an audit would, without judging it: is it well formed, do schema and statements bind, do the values
    fit their columns, is anything not modelled?

    Exit status: 0 all of it is modelled, 2 it cannot be used, 3 something is not modelled. An audit leaves that out,
    and what may depend on it, and judges the rest; what, and how many statements, is listed.

    \b
    Example:
      troubadour log validate run*.jsonl
    """
    from troubadour.tools.validate import validate_log

    found = load(logs)
    try:
        coverage, shown, unread = validate_log(found, lambda: opened(found, None, logs))
    except LogError as error:
        refuse_log(error, logs)
    for item in shown:
        emit(f"{item.construct}: values shown by {item.statements:,} statements, judged where spelled as stored")
    for text, reason in unread.items():
        emit(f"a definition that cannot be read: {brief(text)}: {brief(reason)}")
    if not coverage.unjudged:
        count = len(found.transactions)
        emit(f"{count:,} transaction{'s' * (count != 1)}, all of them modelled")
        if unread:
            raise click.exceptions.Exit(3)
        return
    emit(f"{coverage.judged:,} of {coverage.statements:,} statements would be judged; not the others:")
    for item in coverage.unjudged:
        table = "" if item.table is None else f", {item.table}"
        emit(f"  {item.statements:,} x {item.construct}{table}  (first in {item.example})")
    raise click.exceptions.Exit(3)


@log.command()
@LOGS
@OUT
@click.option(
    "--first",
    "-n",
    "number",
    type=click.IntRange(1),
    required=True,
    metavar="N",
    help="How many transactions to keep, in hint order.",
)
def cut(logs: tuple[str, ...], out: Path, number: int) -> None:
    """Make a smaller log of the first transactions.

    Commits that those may have seen are kept as well, but nothing of what they saw themselves: so the small log is
    correct wherever the whole is.

    \b
    Example:
      troubadour log cut run.jsonl --first 500 --out small.jsonl
    """
    from troubadour.tools.cut import first, first_objects

    found = load_either(logs)
    if isinstance(found, ObjectLog):
        _write_objects(logs, out, lambda: first_objects(found, number))
    else:
        _write(logs, out, found.header, lambda: first(found, number))


@log.command()
@LOGS
@OUT
def merge(logs: tuple[str, ...], out: Path) -> None:
    """Make one log of several segments, in hint order; intents that were replaced are left out.

    \b
    Example:
      troubadour log merge run.jsonl run.*.jsonl --out all.jsonl.gz
    """
    found = load_either(logs)
    if isinstance(found, ObjectLog):
        _write_objects(logs, out, lambda: found)
    else:
        _write(logs, out, found.header, lambda: found.transactions)


@log.command()
@LOGS
@OUT
def expand(logs: tuple[str, ...], out: Path) -> None:
    """Write a log of operations on objects as the SQL that they stand for: it has the same verdict at every level.

    \b
    Example:
      troubadour log expand registers.jsonl --out sql.jsonl
    """
    found = load_either(logs)
    if not isinstance(found, ObjectLog):
        refuse("expand: this is a log of SQL statements already")
    told = as_sql(found)
    _write(logs, out, told.header, lambda: told.transactions)


@log.command()
@LOGS
@click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
@click.option(
    "--out",
    "-o",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the repaired segment here, and leave LOG as it is; gzip if the name ends in .gz.",
)
def repair(logs: tuple[str, ...], dry_run: bool, out: Path | None) -> None:
    """Repair the segments of processes that were killed: in place, or to --out.

    The last line is removed where it is torn, and the end line added. A transaction whose COMMIT had been sent is kept,
    with outcome unknown. What is missing elsewhere than at the end becomes a gap, which an audit takes into account.
    The damaged file stays beside the repaired one, as NAME.damaged. Not for a process that still runs.

    \b
    Example:
      troubadour log repair run*.jsonl
    """
    if out is not None and len(logs) > 1:
        refuse("--out: one LOG at a time")
    if out is not None and out.exists() and out.samefile(logs[0]):
        refuse(f"--out: {out} is the LOG; without --out it is mended in place")
    for name in logs:
        try:
            complete, transactions, standing, dropped, gaps = _mended(Path(name), dry_run, out)
        except LogError as error:
            refuse(str(error))
        except OSError as error:
            refuse(f"{name}: {error.strerror}")
        what = "is whole" if complete else "would be mended" if dry_run else "mended"
        emit(
            f"{name} {what}: {transactions:,} transactions, {standing:,} more of unknown outcome, "
            f"{dropped:,} bytes taken off" + (f", {gaps} gaps" if gaps else "")
        )


def _mended(path: Path, dry_run: bool, out: Path | None) -> tuple[bool, int, int, int, int]:
    """Whether it was whole, transactions that ended, those whose outcome is unknown, bytes taken off, gaps."""
    from troubadour.record.core.unroll import under_way, unroll
    from troubadour.record.proxy.decode.making import holds_frames, make_log
    from troubadour.tools.repair import repair as mend

    damaged = path.with_name(path.name + ".damaged")
    target = path if out is None else out
    if (passed := holds_frames(path)) or under_way(path):
        with tempfile.TemporaryDirectory(dir=target.parent) as folder:
            if passed:
                found = make_log(path, Path(folder) / target.name)
            else:
                with path.open("rb") as source:
                    found = unroll(source, Path(folder) / target.name)
            if not dry_run:
                if out is None:
                    path.rename(damaged)
                (Path(folder) / target.name).rename(target)
        return False, found.transactions, found.standing, found.dropped, found.gaps
    mended = mend(path)
    if not dry_run and (out is not None or not mended.complete):
        if out is None:
            path.rename(damaged)
        else:
            target.unlink(missing_ok=True)
        target.touch(mode=0o600)
        target.write_bytes(gzip.compress(mended.text) if target.suffix == ".gz" else mended.text)
    return mended.complete, mended.transactions, mended.standing, mended.dropped, mended.gaps


@log.command()
@LOGS
@OUT
@click.option("--isolation", metavar="LEVEL", help="Compare the verdicts at this level. Default: the level in the log.")
def anonymize(logs: tuple[str, ...], out: Path, isolation: str | None) -> None:
    """Replace every text and every id in a log by another, and show that the verdict is the same.

    Equal texts become equal ones, and they sort as before, within arrays, rows, enums, bytes and JSON, too;
    transactions, sessions, clocks and aliases get other names; comments, error messages, ids of the DBMS and settings
    that nothing depends on go. Statements that do more with texts (LIKE, length, concatenation, ...) are refused, and
    the construct is named: exit status 3. Texts that are numbers stay where a statement reads them as such. Integers
    and UUIDs are replaced as well where they are only compared and handed on; columns of which more is made (sums,
    literals in a statement, sequences) keep theirs, and are named with the reason. Other numbers, dates, and the names
    of tables, columns and types stay as they are.

    Of a log of operations on objects, keys, values and elements are replaced; counters keep their numbers.

    \b
    Example:
      troubadour log anonymize run.jsonl --out shared.jsonl.gz
    """
    from troubadour.audit.driver import Options
    from troubadour.audit.driver import audit as decide

    def judged(log: Log) -> Verdict:
        return decide(log, library_of(log), Options(isolation), lambda phase, done, total: None)

    found = load_either(logs)
    try:
        before = judged(as_sql(found))
        ids, kept = _anonymized(logs, out, found, isolation)
    except LogError as error:
        refuse(str(error))
    except Unsupported as error:
        warn(f"cannot be anonymized: {error.construct}")
        raise click.exceptions.Exit(3) from error
    after = judged(as_sql(load_either((str(out),))))
    failing = None if before.failing_transaction is None else ids[before.failing_transaction]
    expected = (before.status, before.verified_prefix, failing)
    if expected != (after.status, after.verified_prefix, after.failing_transaction):
        out.unlink(missing_ok=True)
        refuse(f"the verdict would be another ({before.status.value}, then {after.status.value}): nothing is written")
    for name, reason in kept:
        emit(f"{name} keeps its values: {reason}")
    emit(f"verdict before and after: {before.status.value}, {before.verified_prefix:,} transactions explained")


def _anonymized(
    logs: Iterable[str], out: Path, found: Log | ObjectLog, isolation: str | None
) -> tuple[Mapping[TransactionId, str], Iterable[tuple[str, str]]]:
    """Write the log without what it says; gives the new names of its transactions, and what keeps its values, with the
    reason. Raises Unsupported, LogError."""
    from troubadour.tools.anonymize import Anonymizer, without_names

    if isinstance(found, ObjectLog):
        other, ids = without_names(found)
        _write_objects(logs, out, lambda: other)
        return ids, [
            (one.name, "no other numbers have the same sums") for one in found.objects if one.type == "counter"
        ]
    anonymizer = Anonymizer(*opened(found, isolation))
    _write(logs, out, anonymizer.header(), anonymizer.transactions)
    return anonymizer.ids, anonymizer.kept()


@contextmanager
def _written(out: Path) -> Iterator[None]:
    """A log is written there; ends with exit status 2 where it cannot be, with nothing left of it."""
    try:
        yield
    except (LogError, ValueError) as error:
        out.unlink(missing_ok=True)
        refuse(str(error))
    except OSError as error:
        refuse(f"{out}: {error.strerror}")


def _write_objects(logs: Iterable[str], out: Path, made: Callable[[], ObjectLog]) -> None:
    _refuse_to_overwrite(logs, out)
    with _written(out):
        found = made()
        write_objects(out, found)
    emit(f"{out}: {len(found):,} transactions")


def _refuse_to_overwrite(logs: Iterable[str], out: Path) -> None:
    if out.exists() and any(Path(name).exists() and out.samefile(name) for name in logs):
        refuse(f"--out: {out} is one of the logs")


def _write(logs: Iterable[str], out: Path, header: Header, transactions: Callable[[], Iterable[Transaction]]) -> None:
    _refuse_to_overwrite(logs, out)
    count = 0

    def counted() -> Iterable[Transaction]:
        nonlocal count
        for transaction in transactions():
            count += 1
            yield transaction

    with _written(out):
        write_log(out, header, counted())
    emit(f"{out}: {count:,} transactions")

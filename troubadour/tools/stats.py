"""What is in a log, counted. Does not know SQL beyond a statement's first word."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from sql_semantics.records import dataclass, field
from troubadour.model.log import Log, Transaction
from troubadour.model.objects import ABORTED, COMMITTED, KINDS, MISSING, READ, UNKNOWN, UNREAD, ObjectLog


@dataclass(slots=True)
class Stats:
    """Counts over the transactions of a log; `errors` by SQLSTATE, `lengths` by number of statements."""

    sessions: set[str] = field(default_factory=set)
    levels: Counter[str] = field(default_factory=Counter)
    words: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    lengths: Counter[int] = field(default_factory=Counter)
    statements: int = 0
    rows: int = 0
    with_commit: int = 0
    read_only: int = 0
    first: int | None = None
    last: int | None = None
    busy: int = 0
    clocks: set[str | None] = field(default_factory=set)


def count(log: Log) -> Stats:
    """Look at each transaction once."""
    stats = Stats()
    for transaction in log.transactions:
        _count(stats, transaction, log.header.isolation)
    return stats


READS = frozenset({"SELECT", "SHOW", "VALUES", "WITH", "SAVEPOINT", "RELEASE", "ROLLBACK", "TABLE"})


def _count(stats: Stats, transaction: Transaction, level: str | None) -> None:
    if transaction.session is not None:
        stats.sessions.add(transaction.session)
    stats.levels[transaction.isolation or level or "(none named)"] += 1
    stats.lengths[len(transaction.statements)] += 1
    stats.with_commit += transaction.commit is not None
    stats.clocks.add(transaction.clock)
    words = set()
    for statement in transaction.statements:
        stats.statements += 1
        word = (statement.sql.split(None, 1) or ["?"])[0].upper()
        words.add(word)
        stats.words[word] += 1
        stats.rows += sum(len(result.rows) for result in statement.results or ())
        if statement.error is not None:
            stats.errors[statement.error.sqlstate] += 1
    if transaction.end is not None and transaction.end.error is not None:
        stats.errors[transaction.end.error.sqlstate] += 1
    stats.read_only += words <= READS
    begin, end = transaction.invoked, transaction.returned
    if begin is not None and end is not None:
        stats.first = begin if stats.first is None else min(stats.first, begin)
        stats.last = end if stats.last is None else max(stats.last, end)
        stats.busy += end - begin


def stats_lines(log: Log, stats: Stats) -> Iterator[str]:
    """The counts as aligned lines."""
    header = log.header
    yield _line("dialect", header.dialect + (f", {header.dbms}" if header.dbms else ""))
    yield _line("levels", _counted(stats.levels))
    yield _line("transactions", f"{log.committed:,} committed, {log.aborted:,} aborted, {log.unknown:,} unknown")
    yield _line("", f"{stats.read_only:,} of reading statements only; {stats.with_commit:,} with a commit time")
    yield _line("sessions", f"{len(stats.sessions):,}")
    yield _line("statements", f"{stats.statements:,}: {_counted(stats.words)}")
    total = sum(stats.lengths.values())
    if total:
        yield _line("", f"{stats.statements / total:.1f} in a transaction, {max(stats.lengths)} at most")
    yield _line("rows seen", f"{stats.rows:,}")
    yield _line("errors", _counted(stats.errors) or "none")
    if stats.first is not None and stats.last is not None and len(stats.clocks) == 1 and stats.last > stats.first:
        seconds = (stats.last - stats.first) / 1e6
        yield _line("time", f"{seconds:.2f} s, {total / seconds:,.0f} transactions per second")
        yield _line("", f"{stats.busy / (stats.last - stats.first):.1f} transactions at once on average")
    rows = {table.table: len(table.rows) for table in header.initial} | dict.fromkeys(header.initial_unknown, -1)
    tables = ", ".join(f"{table} ({'unknown' if n < 0 else f'{n:,} rows'})" for table, n in rows.items())
    yield _line("initial state", tables or "every table is empty")
    yield _line("schema", f"{len(header.schema)} statements, {len(header.procedures)} routines")


def object_lines(log: ObjectLog) -> Iterator[str]:
    """The counts of a log of operations on objects, as aligned lines."""
    levels = Counter(log.level_names[level] or log.header.isolation or "(none named)" for level in log.levels)
    yield _line("objects", ", ".join(f"{one.name} ({one.type})" for one in log.objects))
    yield _line("levels", _counted(levels))
    counts = [log.count(status) for status in (COMMITTED, ABORTED, UNKNOWN)]
    yield _line("transactions", "{:,} committed, {:,} aborted, {:,} unknown".format(*counts))
    timed = len(log) - log.commits.count(MISSING)
    yield _line("", f"{timed:,} with a commit time")
    yield _line("sessions", f"{len(log.session_names):,}")
    kinds = Counter({name: log.kinds.count(kind) for kind, name in enumerate(KINDS)})
    yield _line("operations", f"{len(log.kinds):,}: {_counted(+kinds)}")
    if len(log):
        longest = max(last - first for first, last in pairwise(log.first))
        yield _line("", f"{len(log.kinds) / len(log):.1f} in a transaction, {longest} at most")
    reads = sum(1 for kind, value in zip(log.kinds, log.values, strict=True) if kind == READ and value != UNREAD)
    yield _line("answers", f"{reads:,}")
    keys = Counter(subject for subject, _ in set(zip(log.subjects, log.keys, strict=True)))
    yield _line("keys", ", ".join(f"{keys[number]:,} of {one.name}" for number, one in enumerate(log.objects)))


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{n:,} {name}" for name, n in counts.most_common(12))


def _line(label: str, text: str) -> str:
    return f"{label:14}{text}"

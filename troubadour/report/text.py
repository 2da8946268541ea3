"""A verdict for people. Does not know how it was reached."""

from __future__ import annotations

import io
import shutil
from collections.abc import Sequence

import msgspec
from rich.console import Console
from rich.table import Table

from troubadour.model.breaches import Breaches
from troubadour.model.certificate import Examined, Standing
from troubadour.model.log import Log, TransactionId
from troubadour.model.verdict import Clash, CoreScope, Coverage, Scope, Status, StepCount, Verdict
from troubadour.model.visible import visible
from troubadour.report.account import brief_rows, full_rows
from troubadour.report.styled import plain
from troubadour.report.transactions import name, transaction_lines
from troubadour.report.undecided import levels_text, nearly, next_steps

_STYLE = {Status.CORRECT: "bold green", Status.VIOLATION: "bold red", Status.UNDECIDED: "bold yellow"}
_MEANING = {
    Status.CORRECT: "There is an execution that this level allows and that gives every result in the log. It was found "
    "by search, and confirmed by running the log's statements again, transaction by transaction.",
    Status.VIOLATION: "No execution that this level allows gives the results in the log.",
    Status.UNDECIDED: "The log was neither shown to be correct nor refuted.",
}
_MEANING_BOUNDED = (
    "No execution was found that this level allows, that gives the results in the log, and in which nothing reads an "
    "older state than is assumed."
)
_MEANING_IN_ORDER = (
    "No execution that this level allows, with the transactions in the order of the log, gives the results in it."
)
_MEANING_ACCEPTED = (
    "The execution that the database's certificate tells of is one that this level allows, and gives every result in "
    "the log, as running the log's statements again confirmed, transaction by transaction."
)
_MEANING_CERTIFIED = "The results in the log are not those of the execution that the database's certificate tells of."
_CERTIFICATE = {
    Standing.ACCEPTED: "accepted; nothing was searched",
    Standing.REFUTED: "refuted: the results are not those of the execution that it tells of",
    Standing.INCOMPLETE: "incomplete",
}
_SCOPE = {
    Scope.EVERY_ORDER: "every order of the transactions that the level allows",
    Scope.RECORDED_ORDER: "the recorded order of the transactions; others were not excluded",
    Scope.BOUNDED_STALENESS: "what reads no older state than is assumed; older ones were not looked at",
    Scope.CERTIFICATE: "the execution that the database's certificate tells of",
}
LEVELS = {
    "read-uncommitted": "each row read is of some version that a transaction wrote, own writes first",
    "read-committed": "each row read is of some earlier committed state, own writes first",
    "session-read-committed": "each row read is of some earlier committed state, own writes first; the order keeps "
    "sessions",
    "read-atomic": "a transaction sees others whole or not at all, all its reads the same ones",
    "session-read-atomic": "a transaction sees others whole or not at all, and what its session had committed before",
    "update-atomic": "a transaction sees others whole or not at all, and overwrites nothing that it has not seen",
    "causal": "a transaction that sees another one sees what that one saw, and what its session had committed before",
    "parallel-snapshot": "a transaction that sees another one sees what that one saw, and what its session had "
    "committed before; nothing is overwritten unseen",
    "prefix": "a transaction reads one committed state, no older than what its session had committed",
    "snapshot": "a transaction reads one committed state, and overwrites nothing that changed since",
    "session-snapshot": "a transaction reads one committed state, no older than what its session had committed, and "
    "overwrites nothing that changed since",
    "strict-snapshot": "a transaction reads the state at its start, and overwrites nothing that changed since",
    "serializable": "the transactions ran as if one after another, in some order",
    "session-serializable": "the transactions ran as if one after another, each session's in its order",
    "strict-serializable": "the transactions ran as if one after another, in an order that real time allows",
    "timestamp-snapshot": "a transaction reads what had committed by its start timestamp, and writes no row that "
    "another wrote meanwhile",
    "timestamp-serializable": "the transactions ran as if one after another, in the order of their commit timestamps",
    "postgres:read-committed": "each statement reads one state, and writes the newest versions of the rows found in it",
    "postgres:repeatable-read": "a transaction reads the state at its first statement, and writes no row written since",
    "postgres:serializable": "as postgres:repeatable-read, and among themselves as if one after another",
    "mysql:read-committed": "plain reads are of one state each, writes and locking reads meet rows one by one",
    "mysql:repeatable-read": "plain reads are of one snapshot, writes and locking reads of the newest state",
    "mysql:serializable": "the transactions ran as if one after another, in an order that real time allows",
    "sqlite": "the transactions ran one after another, each at once on the state that its first statement found",
    "duckdb": "a transaction reads the state at its start, and changes no row changed since",
}
"""What each level promises, in a line."""

_SHOWN = 6
"""Transactions of a core that are shown with their statements."""

_WIDTH = 100
_NARROWEST, _WIDEST = 60, 200


def render_text(
    verdict: Verdict, log: Log, *, color: bool = False, explain: str = "full", width: int | None = None
) -> str:
    """The verdict and its evidence, without a last newline; as wide as the terminal, of 60 to 200 columns, 100 where
    there is none. `explain`: ``brief`` leaves out the transactions, the answer row by row and what to look at."""
    columns = width or shutil.get_terminal_size((_WIDTH, 24)).columns
    width = min(max(columns, _NARROWEST), _WIDEST)
    console = Console(
        file=io.StringIO(),
        width=width,
        force_terminal=color,
        color_system="standard" if color else None,
        highlight=False,
    )
    with console.capture() as captured:
        _print(verdict, log, console, explain)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def render_quiet(verdict: Verdict) -> str:
    """The verdict in one line."""
    told = verdict.status.value.upper()
    anomaly = "" if verdict.account is None else f": {verdict.account.title}"
    where = "" if verdict.failing_transaction is None else f" at transaction {name(verdict.failing_transaction)}"
    because = "" if verdict.reason is None else f": {' '.join(verdict.reason.split())}"
    return visible(f"{told} at {verdict.isolation}{anomaly}{where}{because}")


def _print(verdict: Verdict, log: Log, console: Console, explain: str) -> None:
    title = plain(f": {verdict.account.title}", "bold") if verdict.account is not None else plain("")
    console.print(
        plain(verdict.status.value.upper(), _STYLE[verdict.status]), "at", plain(verdict.isolation, "bold") + title
    )
    console.print(plain(verdict_meaning(verdict)))
    console.print()
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for label, text in _rows(verdict, log, explain):
        table.add_row(label, plain(text))
    console.print(table)
    if verdict.stats:
        _print_stats(verdict.stats, console)
    if explain == "brief":
        return
    if verdict.clash is not None:
        _print_clash(verdict.clash, len(verdict.core or ()), log, console)
    elif (near := nearly(verdict, log)) is not None:
        console.print()
        beside = "; beside it, which wrote to its tables:" if near.beside else ":"
        console.print(plain(f"No place was found for {name(near.transaction)}{beside}"))
        _print_transactions((near.transaction, *near.beside), log, console)
    elif verdict.core is not None:
        _print_core(verdict.core, _where(verdict), log, console)


def verdict_meaning(verdict: Verdict) -> str:
    """What a verdict says, in a sentence or two."""
    narrower = {
        Scope.RECORDED_ORDER: _MEANING_IN_ORDER,
        Scope.BOUNDED_STALENESS: _MEANING_BOUNDED,
        Scope.CERTIFICATE: _MEANING_CERTIFIED,
    }
    meaning = _MEANING[verdict.status]
    if verdict.certificate is not None and verdict.certificate.status is Standing.ACCEPTED:
        meaning = _MEANING_ACCEPTED
    return meaning if verdict.scope is None else narrower.get(verdict.scope, meaning)


def verdict_rows(verdict: Verdict, log: Log) -> list[tuple[str, str]]:
    """What is told beside the account: labels and texts."""
    return _rows(msgspec.structs.replace(verdict, account=None), log, "full") + (
        [] if verdict.account is None else full_rows(msgspec.structs.replace(verdict.account, difference=None))
    )


def _rows(verdict: Verdict, log: Log, explain: str) -> list[tuple[str, str]]:
    rows = []
    if verdict.isolation in LEVELS:
        rows.append(("promise", LEVELS[verdict.isolation]))
    unknown = f", {verdict.unknown:,} of unknown outcome" if verdict.unknown else ""
    rows.append(("transactions", f"{verdict.committed:,} committed, {verdict.aborted:,} aborted{unknown}"))
    if verdict.status is Status.CORRECT:
        rows.append(("explained", f"all {verdict.committed:,} committed"))
    elif verdict.status is Status.UNDECIDED and verdict.verified_prefix == verdict.committed:
        rows.append(("explained", f"all {verdict.committed:,} committed, as far as they are judged"))
    elif verdict.verified_prefix:
        rows.append(("explained", f"the first {verdict.verified_prefix:,} of {verdict.committed:,} committed"))
    if verdict.max_staleness is not None and verdict.status is not Status.CORRECT:
        behind = f"{verdict.max_staleness:,} transactions"
        rows.append(("assumed", f"nothing reads a state that more than {behind} have followed"))
    if verdict.failing_transaction is not None:
        rows.append(
            (
                "fails at",
                f"{name(verdict.failing_transaction)}, the {'next' if verdict.verified_prefix else 'first'} one",
            )
        )
    if verdict.explanation is not None:
        rows.append(("because", verdict.explanation))
    if verdict.violations is not None:
        rows += _violations(verdict.violations)
    if verdict.clash is not None:
        clash = verdict.clash
        beside = f", among what {', '.join(map(name, clash.writers))} wrote" if clash.writers else ""
        rows.append(("look at", f"{', '.join(map(name, clash.transactions))}{beside}"))
    if verdict.account is not None:
        rows += brief_rows(verdict.account)
    if verdict.scope is not None:
        rows.append(("excluded", _SCOPE[verdict.scope]))
    if verdict.reason is not None:
        rows.append(("stopped by", verdict.reason))
    if verdict.certificate is not None:
        rows.append(("certificate", _certificate(verdict.certificate)))
    if verdict.statement is not None:
        at = verdict.statement
        rows.append(("at", f"statement {at.index + 1} of transaction {name(at.transaction)}"))
    rows += [("decided" if number == 0 else "", text) for number, text in enumerate(levels_text(verdict))]
    if verdict.account is not None and explain == "full":
        rows += full_rows(verdict.account)
    rows += [("note", note) for note in verdict.notes]
    rows += _coverage_rows(verdict.coverage)
    if explain == "full":
        rows += [("next" if number == 0 else "", step) for number, step in enumerate(next_steps(verdict, log))]
    rate = ""
    if verdict.status is Status.CORRECT and verdict.seconds and verdict.committed >= _RATED:
        rate = f", {verdict.committed / verdict.seconds:,.0f} transactions per second"
    rows.append(("time", f"{verdict.seconds:.2f} s{rate}"))
    return rows


def _certificate(examined: Examined) -> str:
    text = _CERTIFICATE[examined.status]
    if examined.transaction is not None:
        text += f", at {name(examined.transaction)}"
    return text if examined.because is None else f"{text}: {examined.because}"


_RATED = 1000
"""Transactions from which on a rate is told: of a few it is that of starting up."""

_WRITERS = 10
"""Writers beside a clash up to which their statements are shown."""

_GAPS = 8
"""Gaps that are shown one by one."""


def _coverage_rows(coverage: Coverage | None) -> list[tuple[str, str]]:
    """What was judged, where that is not everything."""
    if coverage is None or (not coverage.unjudged and coverage.observed and not coverage.filtered):
        return []
    left = f", {coverage.filtered:,} left out by --filter" if coverage.filtered else ""
    judged = f"{coverage.judged:,} of {coverage.statements:,} statements, {coverage.observed:,} observed{left}"
    rows = [("judged", judged)]
    for item in coverage.unjudged[:_GAPS]:
        table = "" if item.table is None else f" ({item.table})"
        rows.append(("not judged", f"{item.statements:,} x {item.construct}{table}, first in {item.example}"))
    if len(coverage.unjudged) > _GAPS:
        rows.append(("not judged", f"and {len(coverage.unjudged) - _GAPS} more constructs"))
    return rows


def _violations(found: Breaches) -> list[tuple[str, str]]:
    """How many axioms fail, and the first of them."""
    from troubadour.timestamps.told import told  # which takes numpy

    counts = ", ".join(f"{count:,} {axiom}" for axiom, count in found.by_axiom.items() if count)
    more = f", the first {len(found.first)}" if found.count > len(found.first) else ""
    return [
        ("violations", f"{found.count:,} ({counts}){more}:"),
        *((one.axiom, told(one)) for one in found.first),
    ]


def _where(verdict: Verdict) -> str:
    """In which order a core contradicts itself, where that is not every one."""
    if verdict.core_scope is not CoreScope.ONE_ORDER:
        return ""
    return f" in the {'recorded order' if verdict.scope is Scope.RECORDED_ORDER else 'order that was tried last'}"


def _print_core(core: tuple[TransactionId, ...], where: str, log: Log, console: Console) -> None:
    last = core[-_SHOWN:]
    more = f"{len(core) - len(last):,} more and " if len(core) > len(last) else ""
    console.print()
    if len(core) == 1:
        says = "cannot be explained"
    else:
        says = "contradict each other"
    console.print(plain(f"{more}{', '.join(map(name, last))} {says}{where}, whatever the others wrote:"))
    _print_transactions(last, log, console)


def _print_stats(stats: Sequence[StepCount], console: Console) -> None:
    console.print()
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("step", overflow="fold")
    for heading in ("tried", "helped", "1,000 units", "CPU s"):
        table.add_column(heading, justify="right", no_wrap=True)
    for one in stats:
        table.add_row(
            plain(one.step), f"{one.tried:,}", f"{one.helped:,}", f"{one.units / 1000:,.0f}", f"{one.seconds:,.3f}"
        )
    console.print(table)


def _print_clash(clash: Clash, core: int, log: Log, console: Console) -> None:
    console.print()
    names = ", ".join(map(name, clash.transactions))
    verb = "contradict each other" if len(clash.transactions) > 1 else "cannot be explained"
    text = f"{names} {verb} after the first {clash.explained:,} as they were explained, whatever the order"
    if clash.writers:
        text += f", among what {', '.join(map(name, clash.writers))} wrote"
    console.print(plain(f"{text}:"))
    _print_transactions(clash.transactions, log, console)
    if clash.writers and len(clash.writers) <= _WRITERS:
        console.print(plain("These wrote there:"))
        _print_transactions(clash.writers, log, console)
    if core > len(clash.transactions):
        console.print(plain(f"Whatever the others wrote, {core:,} contradict each other (core, --format json)."))


def _print_transactions(ids: Sequence[TransactionId], log: Log, console: Console) -> None:
    shown = set(ids)
    for transaction in log.transactions:
        if transaction.id in shown:
            for line in transaction_lines(transaction):
                console.print(plain(f"  {line}"))

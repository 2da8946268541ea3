"""The page of a verdict: what is shown of it and of its log, put into the template.

Of a large log the core, the chain and what stands around the failing transaction are shown, and figures of the whole.
Does not know how a verdict was reached.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from importlib.resources import files
from itertools import islice

from jinja2 import Environment, StrictUndefined, select_autoescape
from markupsafe import Markup

from sql_semantics.records import dataclass
from troubadour.model.account import Edge
from troubadour.model.log import Log, Transaction, TransactionId
from troubadour.model.verdict import Status, Verdict
from troubadour.report.account import lost_text
from troubadour.report.html.drawing import Linked, bars, circle, timeline
from troubadour.report.html.figures import figures_of
from troubadour.report.html.inert import inert
from troubadour.report.html.stepping import MOST as STEPS
from troubadour.report.html.stepping import Steps
from troubadour.report.text import verdict_meaning, verdict_rows
from troubadour.report.transactions import name, observed_text, parameters_text
from troubadour.report.undecided import nearly, next_steps

AROUND = 24
"""Transactions before the failing one that the time line shows."""
MOST = 60
"""Transactions on the time line."""
_CORE = 12
"""Transactions whose statements are shown."""
_STATEMENTS = 40
COLOURS = 6
"""Transactions that are told apart by colour."""
KINDS = {
    "rw": "reads what the other overwrites later",
    "wr": "writes what the other reads",
    "ww": "writes what the other overwrites",
    "session": "is earlier in the same session",
    "real-time": "is over before the other begins",
    "sequence": "draws the same number",
    "internal": "contradicts itself: reads a row otherwise than before",
}


@dataclass(frozen=True, slots=True)
class _Line:
    """A statement as the page shows it."""

    sql: str
    parameters: str
    observed: str
    wrong: bool
    anchor: str
    mark: str


@dataclass(frozen=True, slots=True)
class _Shown:
    """A transaction as the page shows it."""

    id: str
    facts: str
    failing: bool
    lines: list[_Line]
    more: int
    colour: int
    anchor: str
    link: Link | None


@dataclass(frozen=True, slots=True)
class Link:
    """Where a transaction stands: a file's line, as people read it and as a page links to it."""

    text: str
    target: str


def shown_on_page(verdict: Verdict, log: Log) -> list[TransactionId]:
    """The transactions whose statements are on the page."""
    return [one.id for one in _members(_around(log, verdict, _core(verdict, log), _chained(verdict)), verdict, log)]


def render_html(
    verdict: Verdict, log: Log, steps: Steps | None = None, links: Mapping[TransactionId, Link] | None = None
) -> str:
    """The whole page; `steps`: the explanation step by step, `links`: where transactions stand in the log."""
    environment = Environment(autoescape=select_autoescape(default=True), undefined=StrictUndefined, trim_blocks=True)
    folder = files("troubadour.report.html")
    template = environment.from_string(folder.joinpath("report.html").read_text(encoding="utf-8"))
    style, script = (folder.joinpath(file).read_text(encoding="utf-8") for file in ("report.css", "report.js"))
    account = verdict.account
    chain = account.chain if account is not None else ()
    core = _core(verdict, log)
    shown = _around(log, verdict, core, _chained(verdict))
    figures = figures_of(log.transactions)
    members = dict.fromkeys(_chained(verdict) + core)
    colours = {one: number % COLOURS for number, one in enumerate(members)}
    told = list(_members(shown, verdict, log))
    anchors = {one.id: f"t{number}" for number, one in enumerate(told, 1)}
    edges = [_edge(edge, anchors) for edge in chain]
    return template.render(
        title=inert(f"{verdict.status.value} at {verdict.isolation}" + (f": {account.title}" if account else "")),
        verdict=verdict,
        word=verdict.status.value,
        isolation=inert(verdict.isolation),
        account=account,
        chain=edges,
        steps=steps,
        most_steps=STEPS,
        anchors=anchors,
        next=next_steps(verdict, log) if account is None else account.next,
        lost=None if account is None or account.lost is None else lost_text(account.lost),
        heading=account.title if account else f"{verdict.status.value} at {inert(verdict.isolation)}",
        meaning=verdict_meaning(verdict),
        facts=[(label, inert(text)) for label, text in _facts(verdict)],
        kinds=KINDS,
        used=list(dict.fromkeys(edge.kind for edge in chain)),
        colours=colours,
        rows=[(label, inert(text)) for label, text in _rows(verdict, log)],
        inert=inert,
        name=name,
        # drawn by us, each text in it escaped there
        timeline=Markup(timeline(shown, colours, edges)),
        circle=Markup(circle(edges, colours)),
        plots=[(plot, Markup(bars(plot))) for plot in figures.plots],
        figures=figures,
        sessions=sorted({inert(one.session, 60) for one in shown if one.session is not None}),
        transactions=[
            _transaction(one, verdict, colours.get(one.id, 9), core[0] if core else None, anchors[one.id], steps, links)
            for one in told
        ],
        more=sum(one not in anchors for one in core),
        style=Markup(style),
        script=Markup(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        version=version("troubadour"),
        violation=verdict.status is Status.VIOLATION,
    )


def _facts(verdict: Verdict) -> Iterator[tuple[str, str]]:
    """What stands above all else."""
    yield "audited at", verdict.isolation
    yield "transactions", f"{verdict.total:,} ({verdict.committed:,} committed)"
    if verdict.status is not Status.CORRECT:
        yield "explained", f"the first {verdict.verified_prefix:,} of {verdict.committed:,}"
    if verdict.failing_transaction is not None:
        yield "fails at", name(verdict.failing_transaction)
    if verdict.account is not None and verdict.account.holds:
        yield "correct up to there at", verdict.account.holds[0]
    if verdict.status is Status.CORRECT:
        yield "confirmed by", "replay of its witness"


_ABOVE = ("transactions", "explained", "fails at", "next")


def _rows(verdict: Verdict, log: Log) -> list[tuple[str, str]]:
    """What is told beside the account, but for what stands elsewhere on the page."""
    found: list[tuple[str, str]] = []
    kept = True
    for label, text in verdict_rows(verdict, log):
        kept = label not in _ABOVE if label else kept
        if kept:
            found.append((label, text))
    return found


def _core(verdict: Verdict, log: Log) -> list[TransactionId]:
    """The transactions that a page is about: a violation's, or where an undecided audit stopped."""
    if (near := nearly(verdict, log)) is not None:
        return [near.transaction, *near.beside]
    core = verdict.clash.transactions if verdict.clash is not None else verdict.core or ()
    failing = () if verdict.failing_transaction is None else (verdict.failing_transaction,)
    return list(dict.fromkeys((*failing, *core)))


def _around(
    log: Log, verdict: Verdict, core: Sequence[TransactionId], chained: Sequence[TransactionId]
) -> list[Transaction]:
    """The transactions of the time line, in hint order."""
    wanted = set(core[:_CORE]) | set(chained)
    if not wanted:
        return list(islice(log.transactions, MOST))
    # an undecided verdict has no failing transaction: the first of these is where it stopped
    failing = verdict.failing_transaction if verdict.failing_transaction is not None else core[0] if core else None
    before: list[Transaction] = []
    found: list[Transaction] = []
    after = 0
    for transaction in log.transactions:
        if transaction.id in wanted:
            found.append(transaction)
            wanted.discard(transaction.id)
            if transaction.id == failing:
                found += before
            continue
        if failing in wanted:
            before = [*before[-AROUND + 1 :], transaction]
        elif after < AROUND // 4:
            after += 1
            found.append(transaction)
        if not wanted and after >= AROUND // 4:
            break
    return sorted(found, key=lambda one: one.place)[:MOST]


def _chained(verdict: Verdict) -> list[TransactionId]:
    """The transactions of the chain: an aborted one that was read is in no core."""
    chain = () if verdict.account is None else verdict.account.chain
    return list(dict.fromkeys(one for edge in chain for one in (edge.earlier, edge.later)))


def _members(shown: Sequence[Transaction], verdict: Verdict, log: Log) -> Iterator[Transaction]:
    kept = {*_chained(verdict), *_core(verdict, log)}
    return islice((one for one in shown if one.id in kept), _CORE)


def _edge(edge: Edge, anchors: Mapping[TransactionId, str]) -> Linked:
    """An edge with the place of its statement on the page."""
    reader = edge.earlier if edge.kind == "rw" else edge.later
    if reader not in anchors:
        return Linked(edge, None, "")
    if edge.statement is None:
        return Linked(edge, f"#{anchors[reader]}", inert(f"statements of {name(reader)}", 100))
    at = f"#{anchors[reader]}-{edge.statement + 1}"
    return Linked(edge, at, inert(f"statement {edge.statement + 1} of {name(reader)}", 100))


def _transaction(
    transaction: Transaction,
    verdict: Verdict,
    colour: int,
    blamed: TransactionId | None,
    anchor: str,
    steps: Steps | None,
    links: Mapping[TransactionId, Link] | None,
) -> _Shown:
    account = verdict.account
    marks: dict[int, list[str]] = {}
    for identifier, number, text in () if steps is None else steps.marks:
        if identifier == transaction.id:
            marks.setdefault(number, []).append(text)
    wrong = account.difference if account is not None else None
    facts = [transaction.status]
    if transaction.session is not None:
        facts.append(f"session {transaction.session}")
    facts += [
        f"{label} {value}"
        for label in ("start", "commit", "invoked", "returned")
        if (value := getattr(transaction, label)) is not None
    ]
    lines = [
        _Line(
            inert(statement.sql),
            inert(parameters_text(statement)),
            inert(observed_text(statement)),
            wrong is not None and (wrong.transaction, wrong.statement) == (transaction.id, number),
            f"{anchor}-{number + 1}",
            inert("; ".join(dict.fromkeys(marks.get(number, ())))),
        )
        for number, statement in enumerate(transaction.statements[:_STATEMENTS])
    ]
    failing = transaction.id == blamed
    more = max(0, len(transaction.statements) - _STATEMENTS)
    link = None if links is None else links.get(transaction.id)
    return _Shown(inert(name(transaction.id), 80), inert(", ".join(facts)), failing, lines, more, colour, anchor, link)

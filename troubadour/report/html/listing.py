"""The page of all anomalies of a log: each with its chain, the levels that it rules out, and what its transactions did.

Works without scripts. Does not know how an anomaly was found.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from importlib.metadata import version
from importlib.resources import files

from jinja2 import Environment, StrictUndefined, select_autoescape
from markupsafe import Markup

from sql_semantics.records import dataclass
from troubadour.anomalies.report import Listed, Report, in_order
from troubadour.model.log import Log, TransactionId
from troubadour.model.objects import ObjectLog
from troubadour.model.verdict import Status
from troubadour.report.anomalies import STANDING
from troubadour.report.html.drawing import Linked, circle
from troubadour.report.html.inert import inert
from troubadour.report.html.page import COLOURS, KINDS, Link
from troubadour.report.transactions import name, operation_lines, statement_line

MOST = 60
"""Anomalies that are shown."""
_CIRCLE = 12
"""Transactions of a circle up to which it is drawn."""
_LINES = 40
"""Statements or operations of a transaction that are shown."""


@dataclass(frozen=True, slots=True)
class _Transaction:
    """What a transaction did."""

    name: str
    anchor: str
    lines: Sequence[str]
    more: int
    link: Link | None


@dataclass(frozen=True, slots=True)
class _Found:
    """An anomaly as the page shows it."""

    listed: Listed
    anchor: str
    times: str
    chain: Sequence[Linked]
    circle: Markup
    rules_out: str
    transactions: Sequence[_Transaction]


def transactions_on_page(report: Report) -> list[TransactionId]:
    """The transactions whose statements are on the page."""
    return list(dict.fromkeys(one for listed in report.anomalies[:MOST] for one in listed.transactions[:_CIRCLE]))


def render_listing(
    report: Report, log: Log | ObjectLog, expected: str | None, standing: Status, links: Mapping[TransactionId, Link]
) -> str:
    """The whole page; `links`: where transactions stand in the log."""
    environment = Environment(autoescape=select_autoescape(default=True), undefined=StrictUndefined, trim_blocks=True)
    folder = files("troubadour.report.html")
    template = environment.from_string(folder.joinpath("listing.html").read_text(encoding="utf-8"))
    told = _told(log, set(transactions_on_page(report)))
    count = sum(one.count for one in report.anomalies)
    plural = "" if count == 1 else "s"
    facts = [
        ("ruled out", ", ".join(report.weakest_excluded()) or "no level"),
        ("and with these", ", ".join(report.also_excluded()) or "no other"),
        ("proved", ", ".join(in_order(report.proved)) or "no level"),
    ]
    more = len(report.anomalies) - MOST
    notes = [*report.notes, *([f"{more:,} more kinds of anomalies are not shown"] if more > 0 else ())]
    return template.render(
        title=f"{count:,} anomal{'y' if count == 1 else 'ies'} of {len(report.anomalies)} kind{plural}"
        if count
        else "No anomaly",
        word=standing.value,
        standing=STANDING[standing],
        expected=expected,
        facts=facts,
        found=[_found(number, one, told, links) for number, one in enumerate(report.anomalies[:MOST], 1)],
        notes=notes,
        kinds=KINDS,
        inert=inert,
        style=Markup(folder.joinpath("report.css").read_text(encoding="utf-8")),
        version=version("troubadour"),
    )


def _told(log: Log | ObjectLog, wanted: Collection[TransactionId]) -> dict[TransactionId, list[str]]:
    """What some transactions did, a line for each statement or operation."""
    if isinstance(log, ObjectLog):
        return {one: operation_lines(log, place) for place, one in enumerate(log.ids) if one in wanted}
    return {one.id: [statement_line(line) for line in one.statements] for one in log.transactions if one.id in wanted}


def _found(
    number: int, listed: Listed, told: Mapping[TransactionId, Sequence[str]], links: Mapping[TransactionId, Link]
) -> _Found:
    anchor = f"a{number}"
    shown = listed.transactions[:_CIRCLE]
    anchors = {one: f"{anchor}-t{place}" for place, one in enumerate(shown, 1)}
    chain = [
        Linked(edge, f"#{anchors[edge.later]}", inert(name(edge.later), 60))
        if edge.later in anchors
        else Linked(edge, None, "")
        for edge in listed.chain
    ]
    colours = {one: place % COLOURS for place, one in enumerate(shown)}
    drawn = circle(chain, colours, f"{anchor}-circle") if len(listed.transactions) <= _CIRCLE else ""
    times = f"{listed.count:,} times" if listed.count > 1 else ""
    return _Found(
        listed,
        anchor,
        f"{times or 'once'} or more" if listed.more else times,
        chain,
        Markup(drawn),
        ", ".join(in_order(listed.rules_out)) or "no level",
        [_transaction(one, anchors[one], told.get(one, ()), links.get(one)) for one in shown],
    )


def _transaction(identifier: TransactionId, anchor: str, lines: Sequence[str], link: Link | None) -> _Transaction:
    return _Transaction(name(identifier), anchor, lines[:_LINES], max(0, len(lines) - _LINES), link)

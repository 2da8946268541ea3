"""The pictures of a report as plain SVG: a time line, the circle of dependencies, bars.

Every text goes through `inert` and is escaped here. Does not know verdicts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

from troubadour.model.account import Edge
from troubadour.model.log import Transaction, TransactionId
from troubadour.report.html.figures import Plot
from troubadour.report.html.inert import inert
from troubadour.report.transactions import name, statement_line

_LANE, _LEFT, _WIDTH, _TOP, _BAR = 46, 120, 1080, 28, 20
_LABEL = 28


@dataclass(frozen=True, slots=True)
class _Span:
    transaction: Transaction
    lane: int
    begin: float
    end: float


def timeline(transactions: Sequence[Transaction], core: Sequence[TransactionId], chain: Sequence[Edge]) -> str:
    """A lane for each session, a bar for each transaction with a mark for each statement, the core in colour, and an
    arrow for each edge of the chain, from the earlier transaction to the later one."""
    if not transactions:
        return ""
    lanes: dict[str, int] = {}
    for one in transactions:
        lanes.setdefault(_lane(one), len(lanes))
    spans, axis = _spans(transactions, lanes)
    height = _TOP + _LANE * len(lanes) + 30
    parts = [
        f'<svg id="timeline" viewBox="0 0 {_LEFT + _WIDTH + 20} {height}" role="img" aria-labelledby="timeline-title">',
        f'<title id="timeline-title">Time line of {len(transactions)} transactions in {len(lanes)} sessions</title>',
        _ARROW,
    ]
    for lane, number in lanes.items():
        y = _TOP + _LANE * number
        parts.append(f'<line class="lane" x1="{_LEFT}" x2="{_LEFT + _WIDTH}" y1="{y + _BAR}" y2="{y + _BAR}"/>')
        parts.append(f'<text class="label" x="8" y="{y + 15}">{_text(lane, 16)}</text>')
    marked = set(core)
    for span in spans:
        parts.append(_bar(span, span.transaction.id in marked))
    places = {span.transaction.id: span for span in spans}
    for edge in chain:
        if edge.earlier in places and edge.later in places and edge.earlier != edge.later:
            parts.append(_arrow(places[edge.earlier], places[edge.later], edge))
    parts.append(f'<text class="axis" x="{_LEFT}" y="{height - 8}">{escape(axis)}</text></svg>')
    return "".join(parts)


def _lane(transaction: Transaction) -> str:
    return f"session {transaction.session}" if transaction.session is not None else f"{name(transaction.id)}"


def _spans(transactions: Sequence[Transaction], lanes: dict[str, int]) -> tuple[list[_Span], str]:
    if all(one.invoked is not None and one.returned is not None for one in transactions):
        ends = [(float(one.invoked or 0), float(one.returned or 0)) for one in transactions]
        axis = "clients' time →"
    elif all(one.start is not None and one.commit is not None for one in transactions):
        ends = [(float(one.start or 0), float(one.commit or 0)) for one in transactions]
        axis = "the DBMS's timestamps, from snapshot to commit →"
    else:
        ends = [(float(place), place + 0.8) for place in range(len(transactions))]
        axis = "order in the log (it has no times for all of these) →"
    low, high = min(end[0] for end in ends), max(end[1] for end in ends)
    scale = _WIDTH / ((high - low) or 1.0)
    spans = []
    for one, (begin, end) in zip(transactions, ends, strict=True):
        x = _LEFT + (begin - low) * scale
        spans.append(_Span(one, lanes[_lane(one)], x, max(x + 8, _LEFT + (end - low) * scale)))
    return spans, axis


def _bar(span: _Span, core: bool) -> str:
    one = span.transaction
    y = _TOP + _LANE * span.lane
    width = span.end - span.begin
    told = "; ".join(statement_line(statement) for statement in one.statements[:6])
    kind = "core" if core else "other"
    count = len(one.statements)
    marks = "".join(
        f'<line class="mark" x1="{x:.1f}" x2="{x:.1f}" y1="{y + 3}" y2="{y + _BAR - 3}"/>'
        for x in (span.begin + width * (place + 1) / (count + 1) for place in range(min(count, 20)))
    )
    session = quoteattr(inert(one.session if one.session is not None else name(one.id), 60))
    return (
        f'<g class="transaction {kind} {one.status}" data-session={session}>'
        f"<title>{_text(name(one.id))} ({one.status}): {_text(told)}</title>"
        f'<rect x="{span.begin:.1f}" y="{y}" width="{width:.1f}" height="{_BAR}" rx="4"/>{marks}'
        f'<text x="{span.begin:.1f}" y="{y + _BAR + 12}">{_text(name(one.id), 20)}</text></g>'
    )


def _arrow(earlier: _Span, later: _Span, edge: Edge) -> str:
    x, y = (earlier.begin + earlier.end) / 2, _TOP + _LANE * earlier.lane + _BAR / 2
    u, v = (later.begin + later.end) / 2, _TOP + _LANE * later.lane + _BAR / 2
    bend = 26 if earlier.lane == later.lane else 0
    middle = (x + u) / 2 + (24 if edge.kind == "rw" else -24), (y + v) / 2 - bend
    return (
        f'<g class="edge {edge.kind}"><title>{_text(edge.text)}</title>'
        f'<path d="M{x:.1f} {y:.1f}Q{middle[0]:.1f} {middle[1]:.1f} {u:.1f} {v:.1f}" marker-end="url(#arrow)"/></g>'
    )


def circle(chain: Sequence[Edge]) -> str:
    """The transactions of a chain around a ring, and its edges with their kinds; empty for fewer than two."""
    names = list(dict.fromkeys(one for edge in chain for one in (edge.earlier, edge.later)))
    if len(names) < 2:
        return ""
    radius, size = 110, 360
    angle = {one: 2 * math.pi * place / len(names) - math.pi / 2 for place, one in enumerate(names)}
    at = {one: (size / 2 + radius * math.cos(a), size / 2 + radius * math.sin(a)) for one, a in angle.items()}
    told = ", ".join(f"{name(edge.earlier)} {edge.kind} {name(edge.later)}" for edge in chain)
    parts = [
        f'<svg id="circle" viewBox="0 0 {size} {size}" role="img" aria-labelledby="circle-title">',
        f'<title id="circle-title">Circle of dependencies: {_text(told)}</title>{_ARROW}',
    ]
    for edge in chain:
        (x, y), (u, v) = at[edge.earlier], at[edge.later]
        length = math.hypot(u - x, v - y) or 1.0
        shift = 0.22 * length
        a, b = (x + u) / 2 - (v - y) / length * shift, (y + v) / 2 + (u - x) / length * shift
        cut = _LABEL / max(1.0, math.hypot(u - a, v - b))
        u, v = u + (a - u) * cut, v + (b - v) * cut
        parts.append(
            f'<g class="edge {edge.kind}"><title>{_text(edge.text)}</title>'
            f'<path d="M{x:.1f} {y:.1f}Q{a:.1f} {b:.1f} {u:.1f} {v:.1f}" marker-end="url(#arrow)"/>'
            f'<text x="{a:.1f}" y="{b:.1f}">{escape(edge.kind)}</text></g>'
        )
    for one, (x, y) in at.items():
        parts.append(f'<g class="node"><circle cx="{x:.1f}" cy="{y:.1f}" r="{_LABEL - 4}"/>')
        parts.append(f'<text x="{x:.1f}" y="{y + 5:.1f}">{_text(name(one), 8)}</text></g>')
    return "".join([*parts, "</svg>"])


def bars(plot: Plot) -> str:
    """A plot of bars, the second values on top of the first."""
    width, height, left = 420, 130, 8
    top = max((one + other for one, other in plot.bars), default=0.0) or 1.0
    each = (width - 2 * left) / max(1, len(plot.bars))
    parts = [
        f'<svg class="plot" viewBox="0 0 {width} {height + 34}" role="img">'
        f"<title>{_text(plot.title)}, {_text(plot.unit)}: at most {top:,.4g}</title>"
    ]
    for place, (one, other) in enumerate(plot.bars):
        x = left + place * each
        low, high = one / top * height, other / top * height
        parts.append(
            f'<rect class="first" x="{x:.1f}" y="{height - low:.1f}" width="{each * 0.85:.1f}" height="{low:.1f}"/>'
        )
        if high:
            parts.append(
                f'<rect class="second" x="{x:.1f}" y="{height - low - high:.1f}" width="{each * 0.85:.1f}" '
                f'height="{high:.1f}"/>'
            )
    parts.append(f'<text class="axis" x="{left}" y="{height + 16}">{_text(plot.low)}</text>')
    parts.append(f'<text class="axis end" x="{width - left}" y="{height + 16}">{_text(plot.high)}</text>')
    parts.append(f'<text class="axis" x="{left}" y="{height + 31}">at most {top:,.4g} {_text(plot.unit)}</text></svg>')
    return "".join(parts)


def _text(text: object, longest: int = 300) -> str:
    return escape(inert(text, longest))


_ARROW = (
    '<defs><marker id="arrow" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" '
    'orient="auto-start-reverse"><path class="head" d="M0 0L10 5L0 10z"/></marker></defs>'
)

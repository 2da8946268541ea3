"""The pictures of a report as plain SVG: a time line, the circle of dependencies, bars.

Every text goes through `inert` and is escaped here. Does not know verdicts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape, quoteattr

from sql_semantics.records import dataclass
from troubadour.model.account import Edge
from troubadour.model.log import Transaction, TransactionId
from troubadour.report.html.figures import Plot, written
from troubadour.report.html.inert import inert
from troubadour.report.transactions import name, statement_line

_LEFT, _WIDTH, _TOP, _BAR = 120, 1080, 26, 24
_LANE = 62
_WIDE = 92
"""Heights of a lane: of many, and of few."""
_FEW = 6
_LABEL = 30
_LETTER = 7.2
"""How wide a letter is, about."""


@dataclass(frozen=True, slots=True)
class Linked:
    """An edge, and where its statement stands on the page: an address and its text (None: it has none there)."""

    edge: Edge
    target: str | None
    text: str

    def linked(self, drawn: str) -> str:
        """What is drawn of it, to be clicked."""
        return drawn if self.target is None else f"<a href={quoteattr(self.target)}>{drawn}</a>"


@dataclass(frozen=True, slots=True)
class _Span:
    transaction: Transaction
    lane: int
    top: float
    begin: float
    end: float
    marks: tuple[float, ...]

    def at(self, statement: int | None) -> float:
        """Where a statement stands, the end for none."""
        if statement is not None and statement < len(self.marks):
            return self.marks[statement]
        return self.end - min(6.0, (self.end - self.begin) / 2)


def timeline(transactions: Sequence[Transaction], colours: Mapping[TransactionId, int], chain: Sequence[Linked]) -> str:
    """A lane for each session, a bar for each transaction with a mark for each statement, the core in colour, and an
    arrow for each edge of the chain, from the earlier transaction to the later one."""
    if not transactions:
        return ""
    lanes: dict[str, int] = {}
    for one in transactions:
        lanes.setdefault(_lane(one), len(lanes))
    step = _WIDE if len(lanes) <= _FEW else _LANE
    spans, axis = _spans(transactions, lanes, step)
    height = _TOP + step * (len(lanes) - 1) + _LANE + 12
    parts = [
        f'<svg id="timeline" viewBox="0 0 {_LEFT + _WIDTH + 20} {height}" role="img" aria-labelledby="timeline-title">',
        f'<title id="timeline-title">Time line of {len(transactions)} transactions in {len(lanes)} sessions</title>',
        _arrowhead("timeline"),
    ]
    for lane, number in lanes.items():
        y = _TOP + step * number
        parts.append(f'<line class="lane" x1="{_LEFT}" x2="{_LEFT + _WIDTH}" y1="{y + _BAR}" y2="{y + _BAR}"/>')
        parts.append(f'<text class="label" x="8" y="{y + 17}">{_text(lane, 14)}</text>')
    free = [-math.inf] * len(lanes)
    # the core's labels come first, others where there is room
    taken = [[(one.begin, _reach(one)) for one in spans if one.lane == lane and one.transaction.id in colours]
             for lane in range(len(lanes))]  # fmt: skip
    for span in spans:
        colour = colours.get(span.transaction.id)
        clear = all(_reach(span) < begin or span.begin > end for begin, end in taken[span.lane])
        labelled = colour is not None or (clear and span.begin > free[span.lane])
        if labelled:
            free[span.lane] = max(free[span.lane], _reach(span))
        parts.append(_bar(span, colour, labelled))
    places = {span.transaction.id: span for span in spans}
    for number, linked in enumerate(chain):
        edge = linked.edge
        if edge.earlier in places and edge.later in places and edge.earlier != edge.later:
            parts.append(linked.linked(_arrow(places[edge.earlier], places[edge.later], edge, number)))
    parts.append(f'<text class="axis" x="{_LEFT}" y="{height - 6}">{escape(axis)}</text></svg>')
    return "".join(parts)


def _lane(transaction: Transaction) -> str:
    return f"session {transaction.session}" if transaction.session is not None else f"{name(transaction.id)}"


def _reach(span: _Span) -> float:
    """Where the label of a bar ends."""
    return span.begin + _LETTER * min(20, len(name(span.transaction.id))) + 4


def _spans(transactions: Sequence[Transaction], lanes: dict[str, int], step: int) -> tuple[list[_Span], str]:
    timed = all(one.invoked is not None and one.returned is not None for one in transactions)
    if timed:
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
        to = max(x + 8, _LEFT + (end - low) * scale)
        count = len(one.statements)
        if timed and all(statement.invoked is not None for statement in one.statements):
            marks = [_LEFT + (float(statement.invoked or 0) - low) * scale for statement in one.statements]
            marks = [min(max(mark, x + 1), to - 1) for mark in marks]
        else:
            marks = [x + (to - x) * (place + 1) / (count + 1) for place in range(count)]
        lane = lanes[_lane(one)]
        spans.append(_Span(one, lane, _TOP + step * lane, x, to, tuple(marks)))
    return spans, axis


def _bar(span: _Span, colour: int | None, labelled: bool) -> str:
    one = span.transaction
    y = span.top
    width = span.end - span.begin
    told = "; ".join(statement_line(statement) for statement in one.statements[:6])
    kind = "other" if colour is None else f"core t{colour}"
    marks = "".join(
        f'<line class="mark" x1="{x:.1f}" x2="{x:.1f}" y1="{y + 4}" y2="{y + _BAR - 4}"/>' for x in span.marks[:20]
    )
    session = quoteattr(inert(one.session if one.session is not None else name(one.id), 60))
    label = f'<text x="{span.begin:.1f}" y="{y + _BAR + 13}">{_text(name(one.id), 20)}</text>' if labelled else ""
    return (
        f'<g class="transaction {kind} {one.status}" data-session={session}>'
        f"<title>{_text(name(one.id))} ({one.status}): {_text(told)}</title>"
        f'<rect x="{span.begin:.1f}" y="{y}" width="{width:.1f}" height="{_BAR}" rx="4"/>{marks}{label}</g>'
    )


def _arrow(earlier: _Span, later: _Span, edge: Edge, number: int) -> str:
    """From and to the statement that tells; else a commit, at the bar's end."""
    reads_first = edge.kind == "rw"
    x = earlier.at(edge.statement if reads_first else None)
    u = later.at(None if reads_first else edge.statement)
    if earlier.lane == later.lane:
        y = v = earlier.top
        bend = (x + u) / 2, y - 30.0
    else:
        down = earlier.lane < later.lane
        y = earlier.top + (_BAR if down else 0)
        v = later.top + (0 if down else _BAR)
        bend = (x + u) / 2 + (30 if u >= x else -30), (y + v) / 2
    # labels stand near where their edges begin: two that cross have theirs apart
    t = (0.3, 0.3, 0.45)[number % 3]
    place = [(1 - t) ** 2 * a + 2 * t * (1 - t) * b + t**2 * c for a, b, c in ((x, bend[0], u), (y, bend[1], v))]
    label = edge.kind if edge.key is None else f"{edge.kind} {edge.key}"
    return (
        f'<g class="edge {edge.kind}"><title>{_text(edge.text)}</title>'
        f'<path d="M{x:.1f} {y:.1f}Q{bend[0]:.1f} {bend[1]:.1f} {u:.1f} {v:.1f}" marker-end="url(#arrow-timeline)"/>'
        f'<text x="{place[0]:.1f}" y="{place[1] + 4:.1f}">{_text(label, 32)}</text></g>'
    )


def circle(chain: Sequence[Linked], colours: Mapping[TransactionId, int], called: str = "circle") -> str:
    """The transactions of a chain around a ring, and its edges with their kinds and rows; empty for fewer than two.
    `called`: its id on the page."""
    names = list(dict.fromkeys(end for one in chain for end in (one.edge.earlier, one.edge.later)))
    if len(names) < 2:
        return ""
    radius, width, height, bow = 112, 400, 330, 0.28
    two = len(names) == 2
    if two:
        # one above the other: labels stand outside of the two curves, to the left and to the right
        width, height, bow = 480, 300, 0.36
    angle = {one: 2 * math.pi * place / len(names) - math.pi / 2 for place, one in enumerate(names)}
    at = {one: (width / 2 + radius * math.cos(a), height / 2 + radius * math.sin(a)) for one, a in angle.items()}
    told = ", ".join(f"{name(one.edge.earlier)} {one.edge.kind} {name(one.edge.later)}" for one in chain)
    parts = [
        f'<svg id="{called}" class="circle" viewBox="0 0 {width} {height}" role="img" '
        f'aria-labelledby="{called}-title">',
        f'<title id="{called}-title">Circle of dependencies: {_text(told)}</title>{_arrowhead(called)}',
    ]
    for linked in chain:
        edge = linked.edge
        (x, y), (u, v) = at[edge.earlier], at[edge.later]
        length = math.hypot(u - x, v - y) or 1.0
        shift = bow * length
        a, b = (x + u) / 2 + (v - y) / length * shift, (y + v) / 2 - (u - x) / length * shift
        x, y = _towards(x, y, a, b)
        u, v = _towards(u, v, a, b)
        # the middle of the curve, and the row below the kind
        middle = (x + 2 * a + u) / 4, (y + 2 * b + v) / 4
        side = ""
        if two:
            right = middle[0] > width / 2
            side = f' class="{"from" if right else "to"}"'
            middle = middle[0] + (9 if right else -9), middle[1]
        key = "" if edge.key is None else f'<tspan x="{middle[0]:.1f}" dy="14">{_text(edge.key, 22)}</tspan>'
        drawn = (
            f'<g class="edge {edge.kind}"><title>{_text(edge.text)}</title>'
            f'<path d="M{x:.1f} {y:.1f}Q{a:.1f} {b:.1f} {u:.1f} {v:.1f}" marker-end="url(#arrow-{called})"/>'
            f'<text{side} x="{middle[0]:.1f}" y="{middle[1]:.1f}">{escape(edge.kind)}{key}</text></g>'
        )
        parts.append(linked.linked(drawn))
    for one, (x, y) in at.items():
        parts.append(f'<g class="node n{colours.get(one, 9)}"><circle cx="{x:.1f}" cy="{y:.1f}" r="{_LABEL - 4}"/>')
        parts.append(f'<text x="{x:.1f}" y="{y + 4:.1f}">{_text(name(one), 7)}</text></g>')
    return "".join([*parts, "</svg>"])


def _towards(x: float, y: float, a: float, b: float) -> tuple[float, float]:
    """The point on the rim of a node in the direction of another point."""
    far = math.hypot(a - x, b - y) or 1.0
    return x + (a - x) / far * _LABEL, y + (b - y) / far * _LABEL


def bars(plot: Plot) -> str:
    """A plot of bars, the second values on top of the first."""
    width, height, left = 420, 130, 8
    top = max((one + other for one, other in plot.bars), default=0.0) or 1.0
    most = written(top)
    each = (width - 2 * left) / max(1, len(plot.bars))
    parts = [
        f'<svg class="plot" viewBox="0 0 {width} {height + 34}" role="img">'
        f"<title>{_text(plot.title)}, {_text(plot.unit)}: at most {most}</title>"
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
    parts.append(f'<text class="axis" x="{left}" y="{height + 31}">at most {most} {_text(plot.unit)}</text></svg>')
    return "".join(parts)


def _text(text: object, longest: int = 300) -> str:
    return escape(inert(text, longest))


def _arrowhead(picture: str) -> str:
    """The head of a picture's arrows."""
    return (
        f'<defs><marker id="arrow-{picture}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" '
        'orient="auto-start-reverse"><path class="head" d="M0 0L10 5L0 10z"/></marker></defs>'
    )

"""Drawings of anomalies as DOT and SVG: transactions on a circle with an arrow for each edge, and the answers of a key
one below the other. Does not know which anomaly is drawn.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from xml.sax.saxutils import escape

from troubadour.model.log import TransactionId
from troubadour.model.objects import ABORTED, READ, ObjectLog
from troubadour.model.visible import one_line

FEW = 40
"""Transactions up to which a circle or a component is drawn as SVG."""
ANSWERS, ITEMS = 100, 60
"""Answers of a key that are drawn, and elements of each."""

Edges = Sequence[tuple[str, TransactionId, TransactionId]]
"""What an edge is called, the earlier transaction and the later one."""

Answer = tuple[TransactionId, Sequence[object]]
"""A transaction, and the list that it read."""

_HEAD = (
    '<defs><marker id="end" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto">'
    '<path d="M0 0L10 5L0 10z"/></marker></defs>'
)


def dot(title: str, transactions: Sequence[TransactionId], edges: Edges, told: Mapping[TransactionId, str]) -> str:
    """A graph for `dot`, each transaction with what it did."""
    lines = [f"digraph {json.dumps(title)} {{", "  node [shape=box];"]
    for name in transactions:
        lines.append(f"  {json.dumps(str(name))} [label={json.dumps(f'{name}: {told.get(name, str())}'[:200])}];")
    for label, earlier, later in edges:
        lines.append(f"  {json.dumps(str(earlier))} -> {json.dumps(str(later))} [label={json.dumps(label)}];")
    return "\n".join([*lines, "}", ""])


def circle(title: str, transactions: Sequence[TransactionId], edges: Edges) -> str:
    """The transactions on a circle, with an arrow for each edge; those between the same two are one."""
    count = len(transactions)
    radius = max(180, 12 * count)
    size = 2 * radius + 120
    place = {
        name: (
            size / 2 + radius * math.sin(2 * math.pi * number / count),
            size / 2 - radius * math.cos(2 * math.pi * number / count),
        )
        for number, name in enumerate(transactions)
    }
    labels: dict[tuple[TransactionId, TransactionId], list[str]] = {}
    for label, earlier, later in edges:
        if earlier in place and later in place:
            labels.setdefault((earlier, later), []).append(label)
    parts = [_opened(size, size), _HEAD, f"<title>{_text(title)}</title>"]
    for (earlier, later), several in labels.items():
        parts.append(_arrow(place[earlier], place[later], ", ".join(dict.fromkeys(several))))
    for name, (x, y) in place.items():
        parts.append(f'<circle cx="{x:.0f}" cy="{y:.0f}" r="22" fill="#fff" stroke="#333"/>')
        parts.append(f'<text x="{x:.0f}" y="{y + 4:.0f}" text-anchor="middle">{_text(str(name)[:24])}</text>')
    return "\n".join([*parts, "</svg>", ""])


def answers_of(log: ObjectLog, key: tuple[str, object]) -> list[Answer]:
    """The lists that transactions which did not abort read of a key, shorter ones first."""
    found: list[Answer] = []
    subject = next(number for number, one in enumerate(log.objects) if one.name == key[0])
    for place, (begin, end) in enumerate(pairwise(log.first)):
        if log.statuses[place] == ABORTED:
            continue
        for at in range(begin, end):
            if log.subjects[at] == subject and log.kinds[at] == READ and log.codes.value(log.keys[at]) == key[1]:
                value = log.seen(at)
                if isinstance(value, tuple):
                    found.append((log.ids[place], value))
    return sorted(found, key=lambda one: len(one[1]))


def reads(title: str, answers: Sequence[Answer]) -> str:
    """Answers of one key, each a row; an element that most of them do not have at its place is in red."""
    shown = answers[-ANSWERS:]
    usual = [
        Counter(items[place] for _, items in shown if place < len(items)).most_common(1)[0][0]
        for place in range(min(ITEMS, max((len(items) for _, items in shown), default=0)))
    ]
    wide, high, left = 44, 20, 170
    parts = [_opened(left + wide * (len(usual) + 1), 40 + high * (len(shown) + 1)), f"<title>{_text(title)}</title>"]
    parts.append(f'<text x="8" y="20">{_text(title)}</text>')
    for row, (name, items) in enumerate(shown):
        y = 44 + high * row
        parts.append(f'<text x="8" y="{y}">{_text(str(name)[:24])}</text>')
        for place, item in enumerate(items[:ITEMS]):
            colour = "#333" if item == usual[place] else "#c00"
            parts.append(f'<text x="{left + wide * place}" y="{y}" fill="{colour}">{_text(str(item)[:6])}</text>')
        if len(items) > ITEMS:
            parts.append(f'<text x="{left + wide * ITEMS}" y="{y}">and {len(items) - ITEMS:,} more</text>')
    if len(answers) > len(shown):
        y = 44 + high * len(shown)
        parts.append(f'<text x="8" y="{y}">and {len(answers) - len(shown):,} shorter ones</text>')
    return "\n".join([*parts, "</svg>", ""])


def _opened(width: float, height: float) -> str:
    size = f"{width:.0f} {height:.0f}"
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" font-family="sans-serif" font-size="13">'


def _text(text: str) -> str:
    return escape(one_line(text))


def _arrow(one: tuple[float, float], other: tuple[float, float], label: str) -> str:
    """A bent arrow, so that two between the same transactions are beside one another."""
    length = math.dist(one, other) or 1.0
    along = ((other[0] - one[0]) / length, (other[1] - one[1]) / length)
    begin = (one[0] + 24 * along[0], one[1] + 24 * along[1])
    end = (other[0] - 24 * along[0], other[1] - 24 * along[1])
    bend = ((begin[0] + end[0]) / 2 - 40 * along[1], (begin[1] + end[1]) / 2 + 40 * along[0])
    path = f"M{begin[0]:.0f} {begin[1]:.0f}Q{bend[0]:.0f} {bend[1]:.0f} {end[0]:.0f} {end[1]:.0f}"
    return (
        f'<path d="{path}" fill="none" stroke="#333" marker-end="url(#end)"/>'
        f'<text x="{bend[0]:.0f}" y="{bend[1]:.0f}" text-anchor="middle">{_text(label)}</text>'
    )

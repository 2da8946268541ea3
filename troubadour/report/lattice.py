"""The lattice of isolation levels with what a log keeps of it, as text and as SVG. Does not know how that was found."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean
from xml.sax.saxutils import escape

from troubadour.isolation.levels import LEVELS, implied_by
from troubadour.model.verdict import Status

MARK = {Status.CORRECT: "✓", Status.VIOLATION: "✗", Status.UNDECIDED: "?"}
_WORD = {Status.CORRECT: "holds", Status.VIOLATION: "does not hold", Status.UNDECIDED: "undecided"}
_WIDTH, _HEIGHT, _GAP_X, _GAP_Y, _MARGIN = 196, 38, 24, 44, 16
_PASS = 24
"""How wide an edge is that passes between levels."""
_SWEEPS = 12


def covers(levels: Mapping[str, Status]) -> list[tuple[str, str]]:
    """(stronger, weaker) where nothing lies between the two."""
    below = {name: (set(implied_by(name)) & set(levels)) - {name} for name in levels}
    return [
        (name, other)
        for name in levels
        for other in sorted(below[name])
        if not any(other in below[between] for between in below[name] - {other})
    ]


def ranks(levels: Mapping[str, Status]) -> list[list[str]]:
    """The levels in rows, each below all that imply it, the strongest first."""
    edges = covers(levels)
    depth = dict.fromkeys(levels, 0)
    for _ in levels:
        for stronger, weaker in edges:
            depth[weaker] = max(depth[weaker], depth[stronger] + 1)
    return [[name for name in levels if depth[name] == row] for row in range(max(depth.values(), default=-1) + 1)]


def lattice_text(levels: Mapping[str, Status]) -> str:
    """A line for each level, the strongest first, with what it implies directly."""
    edges = covers(levels)
    width = max(map(len, levels), default=0)
    lines = []
    for row in ranks(levels):
        for name in row:
            weaker = ", ".join(other for stronger, other in edges if stronger == name)
            arrow = f"  implies {weaker}" if weaker else ""
            lines.append(f"{MARK[levels[name]]} {name:{width}}{arrow}".rstrip())
    return "\n".join(lines)


Slot = str | tuple[str, str]
"""A place in a row: a level, or an edge that passes through to a row further down."""


def slots(levels: Mapping[str, Status]) -> list[list[Slot]]:
    """The rows with the edges that pass through them, so ordered that neighbours stand near each other."""
    names = ranks(levels)
    depth = {name: number for number, row in enumerate(names) for name in row}
    rows: list[list[Slot]] = [list(row) for row in names]
    above: dict[Slot, list[Slot]] = {}
    for stronger, weaker in covers(levels):
        last: Slot = stronger
        for number in range(depth[stronger] + 1, depth[weaker]):
            rows[number].append((stronger, weaker))
            above.setdefault((stronger, weaker), [last] if last == stronger else [(stronger, weaker)])
            last = (stronger, weaker)
        above.setdefault(weaker, []).append(last)
    below: dict[Slot, list[Slot]] = {}
    for slot, parents in above.items():
        for parent in parents:
            below.setdefault(parent, []).append(slot)
    at: dict[Slot, float] = {}
    for row in rows:
        at |= {slot: number - (len(row) - 1) / 2 for number, slot in enumerate(row)}
    for sweep in range(_SWEEPS):
        near = below if sweep % 2 else above
        for row in reversed(rows) if sweep % 2 else rows:
            mean = {slot: fmean(at[one] for one in near[slot]) if near.get(slot) else at[slot] for slot in row}
            row.sort(key=mean.__getitem__)
            at |= {slot: number - (len(row) - 1) / 2 for number, slot in enumerate(row)}
    return rows


def lattice_svg(levels: Mapping[str, Status]) -> str:
    """The lattice as a picture that follows the reader's light or dark scheme."""
    rows = slots(levels)
    spans = [sum(_wide(slot) for slot in row) + (len(row) - 1) * _GAP_X for row in rows]
    width = 2 * _MARGIN + max(spans, default=_WIDTH)
    height = 2 * _MARGIN + len(rows) * _HEIGHT + (len(rows) - 1) * _GAP_Y
    place: dict[str, tuple[float, float]] = {}
    through: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for number, (row, span) in enumerate(zip(rows, spans, strict=True)):
        left = (width - span) / 2
        top = float(_MARGIN + number * (_HEIGHT + _GAP_Y))
        for slot in row:
            if isinstance(slot, str):
                place[slot] = (left, top)
            else:
                through.setdefault(slot, []).append((left + _PASS / 2, top))
            left += _wide(slot) + _GAP_X
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" role="img">',
        f"<title>{escape(_summary(levels))}</title>",
        f"<style>{_STYLE}</style>",
    ]
    for stronger, weaker in covers(levels):
        (x, y), (u, v) = place[stronger], place[weaker]
        points = [(x + _WIDTH / 2, y + _HEIGHT)]
        for a, top in through.get((stronger, weaker), ()):
            points += [(a, top), (a, top + _HEIGHT)]
        parts.append(f'<path class="edge" d="{_curve([*points, (u + _WIDTH / 2, v)])}"/>')
    for name, (x, y) in place.items():
        status = levels[name]
        parts.append(f'<g class="{status.value}"><title>{escape(LEVELS[name].citation)}</title>')
        parts.append(f'<rect x="{x:g}" y="{y:g}" width="{_WIDTH}" height="{_HEIGHT}" rx="6"/>')
        text = f"{MARK[status]} {name}"
        parts.append(f'<text x="{x + _WIDTH / 2:g}" y="{y + _HEIGHT / 2 + 5:g}">{escape(text)}</text></g>')
    return "".join([*parts, "</svg>\n"])


def _wide(slot: Slot) -> int:
    return _WIDTH if isinstance(slot, str) else _PASS


def _curve(points: list[tuple[float, float]]) -> str:
    """A line through points, upright at each."""
    (x, y), *rest = points
    path = f"M{x:g} {y:g}"
    for u, v in rest:
        middle = (y + v) / 2
        path += f"C{x:g} {middle:g} {u:g} {middle:g} {u:g} {v:g}"
        x, y = u, v
    return path


def _summary(levels: Mapping[str, Status]) -> str:
    return "; ".join(f"{name} {_WORD[status]}" for name, status in levels.items())


_STYLE = (
    "text{font:13px system-ui,sans-serif;text-anchor:middle;fill:#1b1b1f}rect{stroke-width:1.5}"
    ".edge{fill:none;stroke:#8a8a93;stroke-width:1.2}"
    ".correct rect{fill:#e3f4e6;stroke:#2c7a3f}.violation rect{fill:#fbe4e4;stroke:#b3261e}"
    ".undecided rect{fill:#f6f1dc;stroke:#8a6d00}"
    "@media(prefers-color-scheme:dark){text{fill:#ececf1}.correct rect{fill:#173d22;stroke:#5bbd74}"
    ".violation rect{fill:#4a1a18;stroke:#f2867e}.undecided rect{fill:#40380f;stroke:#d9be4a}}"
)

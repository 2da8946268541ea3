"""The lattice of isolation levels with what a log keeps of it, as text and as SVG. Does not know how that was found."""

from __future__ import annotations

from collections.abc import Mapping
from xml.sax.saxutils import escape

from troubadour.isolation.levels import LEVELS, implied_by
from troubadour.model.verdict import Status

MARK = {Status.CORRECT: "✓", Status.VIOLATION: "✗", Status.UNDECIDED: "?"}
_WORD = {Status.CORRECT: "holds", Status.VIOLATION: "does not hold", Status.UNDECIDED: "undecided"}
_WIDTH, _HEIGHT, _GAP_X, _GAP_Y, _MARGIN = 196, 38, 24, 44, 16


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


def lattice_svg(levels: Mapping[str, Status]) -> str:
    """The lattice as a picture that follows the reader's light or dark scheme."""
    rows = ranks(levels)
    columns = max(map(len, rows), default=1)
    width = 2 * _MARGIN + columns * _WIDTH + (columns - 1) * _GAP_X
    height = 2 * _MARGIN + len(rows) * _HEIGHT + (len(rows) - 1) * _GAP_Y
    place: dict[str, tuple[float, float]] = {}
    for number, row in enumerate(rows):
        span = len(row) * _WIDTH + (len(row) - 1) * _GAP_X
        for column, name in enumerate(row):
            left = (width - span) / 2 + column * (_WIDTH + _GAP_X)
            place[name] = (left, _MARGIN + number * (_HEIGHT + _GAP_Y))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" role="img">',
        f"<title>{escape(_summary(levels))}</title>",
        f"<style>{_STYLE}</style>",
    ]
    for stronger, weaker in covers(levels):
        (x, y), (u, v) = place[stronger], place[weaker]
        top, bottom = y + _HEIGHT, v
        middle = (top + bottom) / 2
        a, b = x + _WIDTH / 2, u + _WIDTH / 2
        parts.append(f'<path class="edge" d="M{a:g} {top:g}C{a:g} {middle:g} {b:g} {middle:g} {b:g} {bottom:g}"/>')
    for name, (x, y) in place.items():
        status = levels[name]
        parts.append(f'<g class="{status.value}"><title>{escape(LEVELS[name].citation)}</title>')
        parts.append(f'<rect x="{x:g}" y="{y:g}" width="{_WIDTH}" height="{_HEIGHT}" rx="6"/>')
        text = f"{MARK[status]} {name}"
        parts.append(f'<text x="{x + _WIDTH / 2:g}" y="{y + _HEIGHT / 2 + 5:g}">{escape(text)}</text></g>')
    return "".join([*parts, "</svg>\n"])


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

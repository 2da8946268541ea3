"""Lines over a few values, as SVG: a field for each title, the same scale in all. Does not know what is drawn."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

COLORS = ("#1f6feb", "#bf5b00", "#1a7f37", "#8250df", "#57606a")
_WIDTH, _HEIGHT, _LEFT, _TOP = 280, 180, 52, 30


@dataclass(frozen=True, slots=True)
class Field:
    """One field: the names of its values from left to right, and the lines over them; None: nothing is known there."""

    title: str
    values: Sequence[str]
    lines: Mapping[str, Sequence[float | None]]


def opening(width: int, height: int) -> list[str]:
    """How a picture begins."""
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="10">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]


def frame(title: str, left: int, top: int, wide: int, deep: int) -> list[str]:
    """The title of a field and its axes."""
    return [
        f'<text x="{left}" y="{top - 8}" font-weight="bold">{title}</text>',
        f'<path d="M{left},{top}V{top + deep}H{left + wide}" fill="none" stroke="#888"/>',
    ]


def way(dots: Sequence[tuple[float, float]], color: str) -> list[str]:
    """A line through dots."""
    along = " ".join(f"{x},{y}" for x, y in dots)
    return [
        f'<polyline points="{along}" fill="none" stroke="{color}" stroke-width="1.5"/>',
        *(f'<circle cx="{x}" cy="{y}" r="2.5" fill="{color}"/>' for x, y in dots),
    ]


def drawn(fields: Sequence[Field], unit: str, columns: int = 3) -> str:
    """The picture, by the decimal logarithm of what is drawn; `unit` stands beside the numbers."""
    numbers = [one for field in fields for line in field.lines.values() for one in line if one is not None and one > 0]
    low, high = math.floor(math.log10(min(numbers))), math.ceil(math.log10(max(numbers)))
    high = max(high, low + 1)
    names = list(dict.fromkeys(name for field in fields for name in field.lines))
    columns = min(columns, len(fields))
    width, height = columns * _WIDTH, -(-len(fields) // columns) * _HEIGHT + 24
    parts = opening(width, height)
    for at, field in enumerate(fields):
        parts += _field(field, at % columns * _WIDTH + _LEFT, at // columns * _HEIGHT + _TOP, (low, high), unit, names)
    for number, name in enumerate(names):
        place = _LEFT + number * (width - _LEFT) // len(names)
        parts.append(f'<text x="{place}" y="{height - 6}" fill="{COLORS[number % len(COLORS)]}">{name}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _field(field: Field, left: int, top: int, scale: tuple[int, int], unit: str, names: Sequence[str]) -> list[str]:
    low, high = scale
    wide, deep = _WIDTH - _LEFT - 16, _HEIGHT - _TOP - 24

    def down(power: float) -> float:
        return round(top + deep * (1 - (power - low) / (high - low)), 1)

    parts = frame(field.title, left, top, wide, deep)
    for power in range(low, high + 1):
        label = f"{10**power:,}" if power >= 0 else f"{10.0**power:g}"
        parts.append(f'<path d="M{left},{down(power)}H{left + wide}" stroke="#ddd"/>')
        parts.append(f'<text x="{left - 4}" y="{down(power) + 3}" text-anchor="end">{label}{unit}</text>')
    places = [round(left + wide * (number + 0.5) / len(field.values), 1) for number in range(len(field.values))]
    step = -(-len(places) // 8)
    for place, value in list(zip(places, field.values, strict=True))[::step]:
        parts.append(f'<text x="{place}" y="{top + deep + 13}" text-anchor="middle">{value}</text>')
    for name, line in field.lines.items():
        color = COLORS[names.index(name) % len(COLORS)]
        dots = [(x, down(math.log10(y))) for x, y in zip(places, line, strict=True) if y is not None and y > 0]
        parts += way(dots, color)
    return parts

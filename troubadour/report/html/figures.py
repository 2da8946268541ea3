"""What a log is like as numbers: rate, aborts, contention, latencies, in one pass (for any size of log).

Does not know how numbers are drawn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from sql_semantics.patterns import pattern
from sql_semantics.records import dataclass, field
from troubadour.model.log import Transaction


def written(value: float) -> str:
    """A number as people write it: 10,160 and 2.5, never 1.016e+04."""
    if value >= 100:
        return f"{float(f'{value:.4g}'):,.0f}"
    return f"{value:.3g}" if value == 0 or value >= 0.001 else f"{value:.6f}".rstrip("0").rstrip(".")


def duration(microseconds: float) -> str:
    """A time as people write it: 21 µs, 3.4 ms, 12.5 s, 5 min 20 s."""
    for size, unit, below in ((1, "µs", 1e3), (1e3, "ms", 1e6), (1e6, "s", 120e6)):
        if microseconds < below:
            return f"{written(microseconds / size)} {unit}"
    minutes, seconds = divmod(round(microseconds / 1e6), 60)
    return f"{minutes:,} min {seconds} s" if minutes < 60 else f"{minutes // 60:,} h {minutes % 60} min"


BINS = 48
"""Bars of a plot."""
SHAPES = 2000
"""Different statements that are counted; more are counted as others."""
_LITERAL = pattern(r"'(?:[^']|'')*'|\b\d+(?:\.\d+)?\b")
_SAMPLES = 1 << 16


@dataclass(slots=True)
class Plot:
    """Bars from left to right, one or two values in each, and what the axis says at its ends."""

    title: str
    unit: str
    bars: list[tuple[float, float]]
    low: str
    high: str
    legend: tuple[str, ...] = ()


@dataclass(slots=True)
class Figures:
    """Counts of a log. `statements` are the most frequent shapes, with how often each was sent and failed."""

    transactions: int = 0
    statements: int = 0
    sessions: int = 0
    plots: list[Plot] = field(default_factory=list)
    shapes: list[tuple[str, int, int]] = field(default_factory=list)
    overlapping: float = 0.0


def figures_of(transactions: Iterable[Transaction]) -> Figures:
    """Count a log's transactions."""
    found = Figures()
    shapes: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    sessions: set[str] = set()
    ends: list[tuple[int, int, bool]] = []
    stride, latencies = 1, []
    for transaction in transactions:
        found.transactions += 1
        found.statements += len(transaction.statements)
        if transaction.session is not None and len(sessions) < _SAMPLES:
            sessions.add(transaction.session)
        for statement in transaction.statements:
            shape = " ".join(_LITERAL.sub("?", statement.sql[:400]).split())
            if shape not in shapes and len(shapes) >= SHAPES:
                shape = "others"
            shapes[shape] += 1
            failed[shape] += statement.error is not None
        if transaction.invoked is None or transaction.returned is None:
            continue
        if found.transactions % stride == 0:
            ends.append((transaction.invoked, transaction.returned, transaction.status == "aborted"))
            latencies.append(transaction.returned - transaction.invoked)
            if len(ends) > _SAMPLES:
                # every other one is enough
                ends, latencies, stride = ends[::2], latencies[::2], stride * 2
    found.sessions = len(sessions)
    found.shapes = [(shape, count, failed[shape]) for shape, count in shapes.most_common(10)]
    if ends:
        found.plots = [_rate(ends, stride), _latency(latencies, stride), _contention(ends)]
    return found


def _rate(ends: list[tuple[int, int, bool]], stride: int) -> Plot:
    low, high = min(end[1] for end in ends), max(end[1] for end in ends)
    width = max(1, high - low + 1)
    bars = [[0.0, 0.0] for _ in range(BINS)]
    for _, returned, aborted in ends:
        bars[(returned - low) * BINS // width][aborted] += stride
    seconds = width / BINS / 1e6
    rates = [(done / seconds, undone / seconds) for done, undone in bars]
    return Plot("Transactions ended", "per second", rates, "0 s", duration(width), ("committed", "rolled back"))


def _latency(latencies: list[int], stride: int) -> Plot:
    ordered = sorted(latencies)
    top = max(1, ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)])
    bars = [0.0] * BINS
    for latency in ordered:
        bars[min(BINS - 1, latency * BINS // (top + 1))] += stride
    return Plot("Latency", "transactions", [(bar, 0.0) for bar in bars], "0 ms", f"{duration(top)} (99%)")


def _contention(ends: list[tuple[int, int, bool]]) -> Plot:
    """How many transactions were under way at once, over time."""
    low, high = min(end[0] for end in ends), max(end[1] for end in ends)
    width = max(1, high - low + 1)
    each = width / BINS
    bars = [0.0] * BINS
    for invoked, returned, _ in ends:
        first, last = (invoked - low) * BINS // width, (returned - low) * BINS // width
        for place in range(first, last + 1):
            begin, end = low + place * each, low + (place + 1) * each
            bars[place] += max(0.0, min(end, returned) - max(begin, invoked))
    level = [(bar / each, 0.0) for bar in bars]
    return Plot("Under way at once", "transactions, of those looked at", level, "0 s", duration(width))

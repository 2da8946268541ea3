"""How the processor seconds of an audit by timestamps hang on each parameter of a log (Chronos, Table I), on which of
its stages they go (Figure 8), and how those of `watch` hang on how much is kept in memory, so how often what is old
goes to disk (Figure 10): a picture and a table.

``python -m benchmarks.timestamps.sweeps --page docs/histories.md`` (``make sweeps``). Logs are simulated, seeded; each
audit is a process of its own, beside one of a log of one transaction, which is what starting up takes. Does not know
how a log is judged.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from benchmarks.anomalies.page import put
from benchmarks.paper import charts
from benchmarks.timestamps.runs import LEVELS, measured, recorded
from troubadour.audit.objects.timestamps import refuted, rules_of
from troubadour.formats import read_either
from troubadour.isolation.levels import LEVELS as BY_NAME
from troubadour.model.objects import ObjectLog
from troubadour.replay.objects import Reading, by_timestamps, check_reading

DEFAULTS = {
    "--sessions": "50", "--operations": "15", "--reads": "50", "--keys": "1000", "--distribution": "zipf",
}  # fmt: skip
"""Table I's defaults."""
SWEEPS: dict[str, tuple[str, ...]] = {
    "--transactions": ("0.2", "0.4", "0.6", "0.8", "1"),
    "--operations": ("5", "15", "30", "50"),
    "--sessions": ("10", "50", "100", "200"),
    "--reads": ("10", "50", "90"),
    "--keys": ("200", "1000", "5000"),
    "--distribution": ("uniform", "zipf", "hotspot"),
}
"""Table I's values, the transactions as parts of all."""
LIMITS = (120, 160, 240, 400)
"""MiB that `watch` may use: with fewer more goes to disk, more often."""
COLORS = ("#1f6feb", "#bf5b00")
_WIDTH, _HEIGHT, _LEFT, _TOP = 260, 170, 44, 30


@dataclass(frozen=True, slots=True)
class Line:
    """What one parameter comes to: a value and the seconds at each level."""

    parameter: str
    points: tuple[tuple[str, tuple[float, ...]], ...]


def swept(folder: Path, transactions: int) -> list[Line]:
    """Every parameter by itself, the others as they are by default."""
    found = []
    for parameter, values in SWEEPS.items():
        points = []
        for value in values:
            given = dict(DEFAULTS)
            count = transactions
            if parameter == "--transactions":
                count = round(transactions * float(value))
            else:
                given[parameter] = value
            options = [one for pair in given.items() for one in pair]
            log = recorded(folder, "swept", "--transactions", str(count), "--concurrency", "16", *options)
            spent = tuple(measured("audit", "--isolation", level, "--format", "json", str(log))[3] for level in LEVELS)
            points.append((f"{count:,}" if parameter == "--transactions" else value, spent))
        found.append(Line(parameter.strip("-"), tuple(points)))
    options = [one for pair in DEFAULTS.items() for one in pair]
    log = recorded(folder, "swept", "--transactions", str(4 * transactions), "--concurrency", "16", *options)
    return [*found, _stages(log), _collected(log)]


def _stages(log: Path) -> Line:
    """The stages of an audit: reading the log, sorting it by its timestamps, checking it and listing what fails."""
    spent = []
    for level in LEVELS:
        moments = [time.process_time()]
        found = read_either([log])
        assert isinstance(found, ObjectLog)
        moments.append(time.process_time())
        reading = by_timestamps(found, level)
        assert isinstance(reading, Reading)
        moments.append(time.process_time())
        if check_reading(found, reading, level) is not None:
            refuted(found, rules_of(BY_NAME[level]))
        moments.append(time.process_time())
        spent.append([later - earlier for earlier, later in pairwise(moments)])
    names = ("load", "sort", "check")
    return Line("stage", tuple((name, one) for name, one in zip(names, zip(*spent, strict=True), strict=True)))


def _collected(log: Path) -> Line:
    """The seconds of `watch`, before its end, by its limit of memory."""
    points = []
    for limit in LIMITS:
        spent = []
        for level in LEVELS:
            _, events, *_ = measured("watch", "--isolation", level, "--memory", str(limit), "-", stdin=log)
            assert not any("stopped" in one for one in events)
            spent.append(float(events[-1]["cpu"]))
        points.append((str(limit), tuple(spent)))
    return Line("watch: MiB", tuple(points))


def drawn(lines: Sequence[Line], started: float) -> str:
    """A picture with a field for each parameter: the seconds at each level, and a line at what starting up takes."""
    most = 1.1 * max(second for line in lines for _, spent in line.points for second in spent)
    columns = 3
    width, height = columns * _WIDTH, -(-len(lines) // columns) * _HEIGHT + 20
    parts = charts.opening(width, height)
    for at, line in enumerate(lines):
        left, top = at % columns * _WIDTH + _LEFT, at // columns * _HEIGHT + _TOP
        wide, high = _WIDTH - _LEFT - 16, _HEIGHT - _TOP - 24

        def down(second: float, top: int = top, high: int = high) -> float:
            return round(top + high * (1 - second / most), 1)

        parts += charts.frame(line.parameter, left, top, wide, high)
        parts.append(
            f'<path d="M{left},{down(started)}H{left + wide}" stroke="#888" stroke-dasharray="3 3" fill="none"/>'
        )
        for second in (0.0, most / 2, most):
            parts.append(f'<text x="{left - 4}" y="{down(second) + 3}" text-anchor="end">{second:.1f} s</text>')
        places = [round(left + wide * (number + 0.5) / len(line.points), 1) for number in range(len(line.points))]
        for place, (value, _) in zip(places, line.points, strict=True):
            parts.append(f'<text x="{place}" y="{top + high + 13}" text-anchor="middle">{value}</text>')
        for level, color in enumerate(COLORS):
            dots = [(place, down(spent[level])) for place, (_, spent) in zip(places, line.points, strict=True)]
            parts += charts.way(dots, color)
    for level, (name, color) in enumerate(zip(LEVELS, COLORS, strict=True)):
        parts.append(f'<text x="{_LEFT + 200 * level}" y="{height - 6}" fill="{color}">{name}</text>')
    parts.append(f'<text x="{_LEFT + 400}" y="{height - 6}" fill="#666">dashed: starting up</text>')
    return "\n".join([*parts, "</svg>", ""])


def main() -> None:
    """Measure, and print the table or write it and the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--transactions", type=int, default=100_000)
    parser.add_argument("--page", type=Path)
    given = parser.parse_args()
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
    with tempfile.TemporaryDirectory(prefix="troubadour-sweeps-") as folder:
        one = recorded(Path(folder), "one", "--transactions", "1", "--operations", "1")
        started = measured("audit", "--isolation", LEVELS[0], "--format", "json", str(one))[3]
        lines = swept(Path(folder), given.transactions)
    load = os.getloadavg()[0]
    table = [
        f"At {commit.stdout.strip()}, {given.transactions:,} transactions ({4 * given.transactions:,} for stages and",
        f"`watch`), two cores, load {load:.0f} at the end; starting up takes {started:.2f} CPU s:",
        "",
        f"| | {' | '.join(f'`{level}`, CPU s' for level in LEVELS)} |",
        "|---|---:|---:|",
        *(
            f"| {line.parameter} {value} | {' | '.join(f'{second:.2f}' for second in spent)} |"
            for line in lines
            for value, spent in line.points
        ),
    ]
    if given.page is None:
        print("\n".join(table))
        return
    picture = given.page.parent / "pictures" / "timestamps.svg"
    picture.write_text(drawn(lines, started), encoding="utf-8")
    put(
        given.page,
        "sweeps",
        ["![CPU seconds of an audit as each parameter varies](pictures/timestamps.svg)", "", *table],
    )


if __name__ == "__main__":
    main()

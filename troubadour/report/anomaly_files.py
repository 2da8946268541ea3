"""What ``--out DIR`` writes of a log's anomalies: a text and a drawing for each name, and `results.edn`, in the shape
that users of *Elle* know (`:valid?`, `:anomaly-types`, `:anomalies`, `:not`, `:also-not`). Does not know how they were
found."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

from troubadour.anomalies.report import Listed, Report, called, in_order
from troubadour.model.log import Log, TransactionId
from troubadour.model.objects import KINDS, READ, ObjectLog
from troubadour.model.verdict import Status
from troubadour.model.visible import one_line, visible
from troubadour.report.anomalies import described

_VALID = {Status.CORRECT: "true", Status.VIOLATION: "false", Status.UNDECIDED: ":unknown"}
_FEW = 40
"""Transactions of a circle up to which it is drawn."""


def write_files(folder: Path, report: Report, log: Log | ObjectLog, standing: Status) -> None:
    """Write all files. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    told = _operations(log, {one for listed in report.anomalies for one in listed.transactions})
    by_name: dict[str, list[Listed]] = {}
    for listed in report.anomalies:
        by_name.setdefault(listed.name, []).append(listed)
    for name, several in by_name.items():
        texts = ["\n".join(_in_full(one, told)) for one in several]
        _write(folder / f"{name}.txt", "\n\n".join(texts) + "\n")
        for number, one in enumerate(several, 1):
            if one.chain and len(one.transactions) <= _FEW:
                stem = name if len(several) == 1 else f"{name}-{number}"
                _write(folder / f"{stem}.dot", _dot(one, told))
                _write(folder / f"{stem}.svg", _svg(one))
    _write(folder / "results.edn", _edn(report, standing))


def _write(path: Path, text: str) -> None:
    path.write_text(visible(text), encoding="utf-8", errors="backslashreplace")


def _operations(log: Log | ObjectLog, wanted: set[TransactionId]) -> dict[TransactionId, str]:
    """What some transactions did, each on one line."""
    if isinstance(log, ObjectLog):
        return {one: _of_objects(log, place) for place, one in enumerate(log.ids) if one in wanted}
    chosen = (one for one in log.transactions if one.id in wanted)
    return {one.id: "; ".join(one_line(statement.sql) for statement in one.statements) for one in chosen}


def _of_objects(log: ObjectLog, place: int) -> str:
    parts = []
    for one in log.operations(place):
        key = f"{log.objects[one.object].name}({json.dumps(one.key)})"
        value = "?" if one.kind == READ and not one.known else json.dumps(one.value)
        parts.append(f"{KINDS[one.kind]} {key} {value}")
    return one_line("; ".join(parts))


def _in_full(one: Listed, told: dict[TransactionId, str]) -> list[str]:
    lines = ["Let:", *(f"  {one_line(str(name))} = {told.get(name, '')}" for name in one.transactions), "", "Then:"]
    return [*lines, *described(one)]


def _dot(one: Listed, told: dict[TransactionId, str]) -> str:
    lines = [f"digraph {json.dumps(one.name)} {{", "  node [shape=box];"]
    for name in one.transactions:
        lines.append(f"  {json.dumps(str(name))} [label={json.dumps(f'{name}: {told.get(name, str())}'[:200])}];")
    for edge in one.chain:
        ends = f"{json.dumps(str(edge.earlier))} -> {json.dumps(str(edge.later))}"
        lines.append(f"  {ends} [label={json.dumps(called(edge))}];")
    return "\n".join([*lines, "}", ""])


def _svg(one: Listed) -> str:
    """The transactions on a circle, with an arrow for each edge."""
    count = len(one.transactions)
    size, radius = 480, 180
    middle = size / 2
    place = {
        name: (
            middle + radius * math.sin(2 * math.pi * number / count),
            middle - radius * math.cos(2 * math.pi * number / count),
        )
        for number, name in enumerate(one.transactions)
    }
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size} {size}" font-family="sans-serif" font-size="13">',
        '<defs><marker id="end" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L10 5L0 10z"/></marker></defs>',
        f"<title>{escape(one_line(one.name))}</title>",
    ]
    for edge in one.chain:
        if edge.earlier in place and edge.later in place:
            parts.append(_arrow(place[edge.earlier], place[edge.later], called(edge)))
    for name, (x, y) in place.items():
        text = escape(one_line(str(name))[:24])
        parts.append(f'<circle cx="{x:.0f}" cy="{y:.0f}" r="22" fill="#fff" stroke="#333"/>')
        parts.append(f'<text x="{x:.0f}" y="{y + 4:.0f}" text-anchor="middle">{text}</text>')
    return "\n".join([*parts, "</svg>", ""])


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
        f'<text x="{bend[0]:.0f}" y="{bend[1]:.0f}" text-anchor="middle">{escape(one_line(label))}</text>'
    )


def _edn(report: Report, standing: Status) -> str:
    names = list(dict.fromkeys(one.name for one in report.anomalies))
    anomalies = "\n  ".join(
        f":{name} [{' '.join(_edn_of(one) for one in report.anomalies if one.name == name)}]" for name in names
    )
    return "\n ".join(
        [
            f"{{:valid? {_VALID[standing]}",
            f":anomaly-types [{_keywords(names)}]",
            f":anomalies {{{anomalies}}}",
            f":not #{{{_keywords(report.weakest_excluded())}}}",
            f":also-not #{{{_keywords(report.also_excluded())}}}",
            f":proved #{{{_keywords(in_order(report.proved))}}}}}\n",
        ]
    )


def _edn_of(one: Listed) -> str:
    steps = " ".join(f"{{:type :{edge.kind} :a {_value(edge.earlier)} :b {_value(edge.later)}}}" for edge in one.chain)
    cycle = _values(one.transactions)
    return f"{{:type :{one.name} :txns [{cycle}] :steps [{steps}] :count {one.count} :explanation {_value(one.text)}}}"


def _values(names: Sequence[TransactionId]) -> str:
    return " ".join(map(_value, names))


def _value(value: TransactionId) -> str:
    return str(value) if isinstance(value, int) else json.dumps(one_line(value), ensure_ascii=False)


def _keywords(names: Iterable[str]) -> str:
    return " ".join(f":{name}" for name in names)

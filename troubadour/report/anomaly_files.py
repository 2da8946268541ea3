"""What ``--out DIR`` writes of a log's anomalies: a text and drawings for each name, and `results.edn`, in the shape
that users of *Elle* know (`:valid?`, `:anomaly-types`, `:anomalies`, `:not`, `:also-not`). Does not know how they were
found."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from troubadour.anomalies.report import Listed, Report, called, in_order
from troubadour.model.log import Log, TransactionId
from troubadour.model.objects import KINDS, READ, ObjectLog
from troubadour.model.verdict import Status
from troubadour.model.visible import one_line, visible
from troubadour.report.anomalies import described
from troubadour.report.anomaly_plots import FEW, answers_of, circle, dot, reads

_VALID = {Status.CORRECT: "true", Status.VIOLATION: "false", Status.UNDECIDED: ":unknown"}


def write_files(folder: Path, report: Report, log: Log | ObjectLog, standing: Status) -> None:
    """Write all files. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    around = (name for one in report.anomalies if one.around and one.around.edges for name in one.around.transactions)
    told = _operations(log, {*around, *(name for one in report.anomalies for name in one.transactions)})
    by_name: dict[str, list[Listed]] = {}
    for listed in report.anomalies:
        by_name.setdefault(listed.name, []).append(listed)
    for name, several in by_name.items():
        texts = ["\n".join(_in_full(one, told)) for one in several]
        _write(folder / f"{name}.txt", "\n\n".join(texts) + "\n")
        for number, one in enumerate(several, 1):
            stem = name if len(several) == 1 else f"{name}-{number}"
            for end, text in _pictures(one, log, told):
                _write(folder / f"{stem}{end}", text)
    _write(folder / "results.edn", _edn(report, standing))


def _pictures(one: Listed, log: Log | ObjectLog, told: dict[TransactionId, str]) -> Iterator[tuple[str, str]]:
    """The drawings of an anomaly, each with what its file's name ends with."""
    if one.chain and len(one.transactions) <= FEW:
        edges = [(called(edge), edge.earlier, edge.later) for edge in one.chain]
        yield ".dot", dot(one.name, one.transactions, edges, told)
        yield ".svg", circle(one.name, one.transactions, edges)
    if one.around is not None and len(one.around.edges) > len(one.chain):
        names, edges = one.around.transactions, [*one.around.edges]
        yield "-component.dot", dot(f"{one.name}, component", names, edges, told)
        if len(names) <= FEW:
            yield "-component.svg", circle(f"{one.name}, component", names, edges)
    if one.key is not None and isinstance(log, ObjectLog):
        yield "-reads.svg", reads(f"reads of {one.key[0]}({json.dumps(one.key[1])})", answers_of(log, one.key))


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
    found = [*lines, *described(one)]
    if one.around is not None:
        large = "" if one.around.edges else ", too many to be drawn"
        found.append(f"  - its component has {len(one.around.transactions):,} transactions{large}")
    return found


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

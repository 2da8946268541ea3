"""All anomalies of a log as text or JSON. Does not know how they were found."""

from __future__ import annotations

import msgspec

from troubadour.anomalies.report import Listed, Report, in_order
from troubadour.model.verdict import Status
from troubadour.model.visible import one_line, visible

STANDING = {Status.VIOLATION: "ruled out", Status.CORRECT: "proved", Status.UNDECIDED: "neither ruled out nor proved"}


def anomalies_json(
    report: Report, expected: str | None, standing: Status, seconds: float, reason: str | None = None
) -> str:
    """One JSON object on one line."""
    document = {
        "expected": expected,
        "standing": STANDING[standing],
        "anomalies": [_json(one) for one in report.anomalies],
        "not": report.weakest_excluded(),
        "also_not": report.also_excluded(),
        "proved": in_order(report.proved),
        "open": list(report.open),
        "notes": list(report.notes),
        "reason": reason,
        "seconds": seconds,
    }
    return visible(msgspec.json.encode(document).decode())


def _json(one: Listed) -> dict[str, object]:
    return {
        "name": one.name,
        "title": one.title,
        "aka": list(one.aka),
        "cause": one.cause,
        "transactions": list(one.transactions),
        "explanation": one.text,
        "count": one.count,
        "more": one.more,
        "rules_out": in_order(one.rules_out),
        "assumed": list(one.assumed),
        "chain": [
            {"kind": edge.kind, "earlier": edge.earlier, "later": edge.later, "text": edge.text} for edge in one.chain
        ],
    }


def anomalies_text(report: Report, expected: str | None, standing: Status, reason: str | None = None) -> str:
    """The same for people."""
    count = sum(one.count for one in report.anomalies)
    lines = [f"ANOMALIES  {count} of {len(report.anomalies)} kinds" if count else "ANOMALIES  none found"]
    for one in report.anomalies:
        lines += ["", *described(one)]
    lines += ["", f"not        {', '.join(report.weakest_excluded()) or '-'}"]
    lines.append(f"also not   {', '.join(report.also_excluded()) or '-'}")
    lines.append(f"proved     {', '.join(in_order(report.proved)) or '-'}")
    if report.open:
        lines.append(f"open       {', '.join(report.open)}")
    lines += [f"note       {note}" for note in report.notes]
    if reason is not None:
        lines.append(f"undecided  {reason}")
    lines += ["", f"{expected or 'the level of each transaction'}: {STANDING[standing]}"]
    return "\n".join(lines)


def described(one: Listed) -> list[str]:
    """An anomaly in a few lines."""
    names = "" if one.title == one.name else f", {one.title}"
    more = " or more" if one.more else ""
    times = f"  x {one.count:,}{more}" if one.count > 1 or one.more else ""
    head = f"{one.name}{names}  ({one.cause}){times}"
    lines = [head, f"  transactions  {', '.join(one_line(str(name)) for name in one.transactions)}"]
    if one.assumed:
        lines.append(f"  assuming      {', '.join(one.assumed)}")
    if one.chain:
        texts = [one_line(edge.text) for edge in one.chain]
        lines += [f"  - {text}" for text in texts[:-1]]
        lines.append(f"  - however, {texts[-1]}: a contradiction!" if len(texts) > 1 else f"  - {texts[-1]}")
    else:
        lines.append(f"  - {one_line(one.text)}")
    return lines

"""Violations of axioms in words. Does not know how they are found."""

from __future__ import annotations

from troubadour.facts.objects.names import shown
from troubadour.model.breaches import Breach


def told(breach: Breach) -> str:
    """One violation, in a sentence."""
    id, key = breach.transaction, f"{breach.object}({shown(breach.key)})"
    expected, observed = (_shown(one) for one in (breach.expected, breach.observed))
    match breach.axiom:
        case "SESSION" if breach.expected_writer is not None:
            before = breach.expected_writer.transaction
            return (
                f"{id} started at {breach.start}, and {before}, which its session committed before, only committed at "
                f"{breach.expected}"
            )
        case "SESSION":
            return f"{id} is number {breach.observed} of its session, where {breach.expected} was to come"
        case "INT":
            return f"{id} read {observed} of {key}, of which it had left or read {expected}"
        case "NOCONFLICT":
            other = breach.observed_writer
            assert other is not None
            return (
                f"{id} ({breach.start} to {breach.commit}) and {other.transaction} ({other.start} to {other.commit}) "
                f"both wrote {key}"
            )
    writer, source = breach.expected_writer, breach.observed_writer
    by = "at first" if writer is None else f"as {writer.transaction} left it ({_interval(writer.start, writer.commit)})"
    text = f"{id} ({_interval(breach.start, breach.commit)}) read {observed} of {key}, which held {expected} {by}"
    if source is None:
        return text
    return (
        f"{text}; what it read is of {source.transaction} ({_interval(source.start, source.commit)}), {breach.origin}"
    )


def _interval(start: int | None, commit: int | None) -> str:
    return " to ".join("-" if time is None else str(time) for time in (start, commit))


def _shown(value: object) -> str:
    return shown(tuple(value) if isinstance(value, list) else value)

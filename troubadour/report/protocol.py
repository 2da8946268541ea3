"""What a check of a protocol came to, as text and as JSON (docs/protocols.md). Does not know how it was reached."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from sql_semantics.records import dataclass
from troubadour.model.log import Log
from troubadour.model.verdict import Verdict as AuditVerdict
from troubadour.protocols.check import Limits, Outcome, Verdict
from troubadour.protocols.proofs.obligations import Obligation
from troubadour.protocols.proofs.prove import Way
from troubadour.protocols.runs.committed import shapes
from troubadour.protocols.runs.machine import Taken
from troubadour.protocols.runs.possible import Possible
from troubadour.report.json_report import render_json
from troubadour.report.text import render_text

TWICE = "each obligation decided twice, with another seed and in another order; Z3 is no checker with a small kernel"
KINDS = ("initiation", "consecution", "refinement")


@dataclass(frozen=True, slots=True)
class Refutation:
    """The log of a run that breaks the level, and the audit's verdict on it."""

    log: Log
    audited: AuditVerdict


def render_check_text(
    outcome: Outcome, limits: Limits, refutation: Refutation | None, seconds: float, *, color: bool = False
) -> str:
    """The verdict in words: one line that says it, then what it rests on."""
    lines = [_headline(outcome, limits)]
    match outcome.verdict:
        case Verdict.PROVED:
            lines += [_proof(outcome, limits, seconds), _committed(outcome, limits), TWICE]
        case Verdict.REFUTED:
            assert outcome.trace is not None and refutation is not None
            lines += _run(outcome)
            lines += ["", render_text(refutation.audited, refutation.log, color=color)]
        case Verdict.OPEN:
            lines += [*_lacking(outcome), _reached(outcome, limits), _committed(outcome, limits)]
            if outcome.trace is not None and refutation is not None:
                lines += [*_run(outcome), "", render_text(refutation.audited, refutation.log, color=color)]
    if outcome.verdict is not Verdict.PROVED:
        lines.append(f"{seconds:.1f} s")
    return "\n".join(lines)


def _headline(outcome: Outcome, limits: Limits) -> str:
    name = outcome.level.name
    match outcome.verdict:
        case Verdict.PROVED:
            return f"PROVED at {name}, for any number of keys, clients and transactions"
        case Verdict.REFUTED:
            besides = "" if limits.keeping is None else f", and allowed at {limits.keeping}"
            return f"REFUTED at {name}: a run of {outcome.model.name} that it does not allow{besides}"
        case _:
            return f"OPEN at {name}: {outcome.reason}"


def _proof(outcome: Outcome, limits: Limits, seconds: float) -> str:
    counts = Counter(one.kind for one in outcome.obligations)
    parts = ", ".join(f"{counts[kind]} {kind}" for kind in KINDS)
    bound = limits.bound
    never = [f"{name}, {outcome.possible.get(name, Possible.UNKNOWN).value}" for name in outcome.unreached]
    possible = "each event possible" if not never else f"never taken: {'; '.join(never)}"
    where = f"{possible} ({bound.keys} keys, {bound.clients} clients)"
    return f"{len(outcome.obligations)} obligations: {parts} · {where} · {seconds:.0f} s"


def _committed(outcome: Outcome, limits: Limits) -> str:
    """The programs that committed in runs: a proof says nothing of those that never do."""
    found = outcome.found.committed.shapes
    never = [str(one) for one in shapes(limits.bound.keys) if one not in found]
    told = ", ".join(str(one) for one in shapes(limits.bound.keys) if one in found) or "none"
    return f"programs that committed in runs: {told}" + (f"; that never did: {', '.join(never)}" if never else "")


def _run(outcome: Outcome) -> Iterator[str]:
    assert outcome.trace is not None
    programs = outcome.trace.programs
    for t in range(1, programs.active + 1):
        if any(taken.transaction == t for taken in outcome.trace.steps):
            reads = "".join(f" r{k + 1}" for k, there in enumerate(programs.reads[t]) if there)
            writes = "".join(f" w{k + 1}" for k, there in enumerate(programs.writes[t]) if there)
            yield f"  t{t} of client c{programs.client[t] + 1}:{reads}{writes}"
    for number, taken in enumerate(outcome.trace.steps, 1):
        yield f"  {number:>3} {_step(taken)}"


def _step(taken: Taken) -> str:
    short = {"Key": "k", "Txn": "t", "Client": "c", "Val": "="}
    parts = []
    for parameter, value in zip(taken.event.parameters, taken.arguments, strict=True):
        sort = parameter.sort.name
        shown = value + 1 if sort in ("Key", "Client") else value
        parts.append(f"{short[sort]}{shown}" if sort in short else str(shown))
    text = f"{taken.event.name}({', '.join(parts)})"
    if taken.commit is not None:
        reads = [f"r{key + 1}={value}" for key, value in taken.commit.reads.items()]
        writes = [f"w{key + 1}={value}" for key, value in taken.commit.writes.items()]
        text += f"  commits {' '.join([*reads, *writes])}"
    return text


def _lacking(outcome: Outcome) -> Iterator[str]:
    proved = sum(one.proved for one in outcome.decided)
    if outcome.obligations:
        yield f"{proved} of {len(outcome.obligations)} obligations proved, {len(outcome.decided)} tried"
    for one in outcome.failed[:1]:
        yield f"not proved: {_named(one.obligation)}"
        yield f"  {one.reason}"
    if outcome.undecided:
        others = "the other " if outcome.decided else "all "
        yield f"undecided: {others}{len(outcome.undecided)}, the first of them {_named(outcome.undecided[0])}"
    if outcome.lacking is not None:
        yield "  a counterexample to induction, which need not be reachable and refutes nothing:"
        if outcome.lacking.arguments:
            yield f"    {', '.join(outcome.lacking.arguments)}"
        yield from (f"    {line}" for line in outcome.lacking.state)


def _named(one: Obligation) -> str:
    return f"{one.kind} of {one.name!r}" + (f" under {one.event}" if one.event else "")


def _reached(outcome: Outcome, limits: Limits) -> str:
    bound, found = limits.bound, outcome.found
    within = f"{bound.keys} keys, {bound.clients} clients, {bound.transactions} transactions"
    left = f", {found.cut} of them not to the end" if found.cut else ""
    return (
        f"bounded search ({within}): {found.states} states of {found.programs} sets of programs{left}, all with up to "
        f"{found.operations} reads and writes; {outcome.runs} random runs"
    )


def render_check_json(outcome: Outcome, limits: Limits, refutation: Refutation | None, seconds: float) -> str:
    """The same as one JSON object."""
    counts = Counter(one.kind for one in outcome.obligations)
    bound, found = limits.bound, outcome.found
    audited = refutation.audited if refutation is not None else None
    said: dict[str, Any] = {
        "verdict": outcome.verdict.value,
        "model": outcome.model.name,
        "level": outcome.level.name,
        "obligations": {
            "total": len(outcome.obligations),
            **{kind: counts[kind] for kind in KINDS},
            "proved": sum(one.proved for one in outcome.decided),
            "decisions": 2,
            "unchanged": sum(one.way is Way.UNCHANGED for one in outcome.decided),
            "failed": [
                {
                    "kind": one.obligation.kind,
                    "name": one.obligation.name,
                    "event": one.obligation.event,
                    "reason": one.reason,
                }
                for one in outcome.failed
            ],
            "undecided": len(outcome.undecided),
            "next": _named(outcome.undecided[0]) if outcome.undecided else None,
        },
        "counterexample_to_induction": None
        if outcome.lacking is None
        else {"arguments": list(outcome.lacking.arguments), "state": list(outcome.lacking.state)},
        "bounded": {
            "keys": bound.keys,
            "clients": bound.clients,
            "transactions": bound.transactions,
            "times": bound.times,
            "operations": found.operations,
            "states": found.states,
            "programs": found.programs,
            "cut": found.cut,
            "runs": outcome.runs,
        },
        "committed": sorted(map(str, found.committed.shapes)),
        "never_committed": [str(one) for one in shapes(bound.keys) if one not in found.committed.shapes],
        "unreached": {name: outcome.possible.get(name, Possible.UNKNOWN).value for name in outcome.unreached},
        "trace": None if outcome.trace is None else [_step(taken) for taken in outcome.trace.steps],
        "audit": None if audited is None else json.loads(render_json(audited)),
        "reason": outcome.reason,
        "seconds": seconds,
    }
    return json.dumps(said, ensure_ascii=False)


def render_stopped(model: str, level: str | None, reason: str, seconds: float, *, form: str) -> str:
    """What is said of a check that could not even end by itself: its model's own code had not ended."""
    if form != "json":
        return f"OPEN{'' if level is None else f' at {level}'}: {reason}\n{seconds:.1f} s"
    keys = ("obligations", "counterexample_to_induction", "bounded", "committed", "never_committed", "unreached")
    said = {"verdict": Verdict.OPEN.value, "model": model, "level": level, **dict.fromkeys((*keys, "trace", "audit"))}
    return json.dumps({**said, "reason": reason, "seconds": seconds}, ensure_ascii=False)

"""Which levels hold of a log, which do not, and what is named for those that an audit alone rules out.

What the anomalies of a log rule out is not asked again, but for the level that is expected: that is audited as ever,
and where it is then explained after all something is wrong here. Does not know how a level is decided: it asks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from troubadour.anomalies.names import name_of_verdict, other_names, title
from troubadour.anomalies.report import Listed, Report, worst_first
from troubadour.audit.strongest import survey_levels
from troubadour.isolation.anomalies import ANOMALIES
from troubadour.isolation.levels import LEVELS
from troubadour.isolation.models import MODELS, stronger, weaker
from troubadour.model.log import Log
from troubadour.model.objects import ObjectLog
from troubadour.model.verdict import Status, Verdict

Decide = Callable[[str | None, bool], Verdict]
"""f(level, briefly): the verdict at a level, None for each transaction's own; `briefly`: with little effort."""

Further = Callable[[str | None, Verdict], Sequence[Verdict]]
"""f(level, violation): other violations of the log at that level."""


class Disagreement(AssertionError):
    """An audit explains a log at a level that an anomaly rules out: a fault of this program."""


def levels_of(
    log: Log | ObjectLog,
    listed: Sequence[Listed],
    notes: Sequence[str],
    expected: str | None,
    own: Sequence[str],
    decide: Decide,
    further: Further,
) -> tuple[Report, Status]:
    """What holds of a log with these anomalies, and whether what is `expected` does (None: what the log's transactions
    ask for, each for itself; `own` are the names of these). Raises Disagreement."""
    anomalies = [*listed]
    excluded = {name for one in listed for name in one.rules_out}
    certain = {name for one in listed if not one.assumed for name in one.rules_out}
    proved: set[str] = set()
    open_: list[str] = []
    standing: Status | None = None
    asked = expected if expected is not None else own[0] if len(own) == 1 else None
    if asked in LEVELS or (asked is None and len(own) > 1):
        verdict = decide(asked, False)
        standing = verdict.status
        if standing is Status.CORRECT and asked is not None:
            if asked in certain:
                raise Disagreement(f"an anomaly rules out {asked}, and an audit explains the log at that level")
            proved |= weaker(asked)
        elif standing is Status.CORRECT:
            _check(certain, own)
        elif standing is Status.VIOLATION:
            out = frozenset() if asked is None else stronger([asked])
            if asked is None or asked not in excluded:
                anomalies.append(_of_verdict(verdict, out))
                anomalies += [_of_verdict(one, out) for one in further(asked, verdict)]
            excluded |= out
            certain |= out
        elif asked is not None and asked not in excluded:
            open_.append(asked)
    rest = [
        name
        for name, level in LEVELS.items()
        if not (level.dialect or level.dirty or level.ordered) and name not in excluded | proved and name != asked
    ]

    def brief(level: str, seconds: float) -> Verdict:
        return decide(level, True)

    for name, found in survey_levels(log, brief, levels=rest).items():
        match found.status:
            case Status.CORRECT:
                proved |= weaker(name)
            case Status.VIOLATION:
                if name not in excluded and found.verdict is not None:
                    anomalies.append(_of_verdict(found.verdict, stronger([name])))
                excluded |= stronger([name])
            case Status.UNDECIDED:
                open_.append(name)
    # what holds is what was asked for with what is taken for granted
    proved -= excluded
    shown = frozenset(one for one in excluded if _is_shown(one, asked))
    report = Report(
        worst_first(_grouped(anomalies)),
        shown,
        frozenset(one for one in proved if _is_shown(one, asked)),
        tuple(one for one in open_ if one not in excluded | proved),
        tuple(notes),
    )
    if asked is None:
        return report, standing or Status.UNDECIDED
    return report, report.standing(asked)


def _check(certain: set[str], own: Sequence[str]) -> None:
    if own and all(name in certain for name in own):
        raise Disagreement(f"anomalies rule out {', '.join(own)}, and an audit explains the log at these levels")


def _is_shown(name: str, asked: str | None) -> bool:
    """Products' own levels, and those by timestamps, are told of where they are asked for."""
    return name in MODELS or name == asked or not (LEVELS[name].dialect or LEVELS[name].ordered)


def _of_verdict(verdict: Verdict, out: frozenset[str]) -> Listed:
    """What a violation found by an audit is called."""
    account = verdict.account
    found = ANOMALIES["unclassified" if account is None else account.anomaly]
    name = name_of_verdict(found.name)
    chain = () if account is None else account.chain
    members = dict.fromkeys(edge.earlier for edge in chain) or dict.fromkeys(verdict.core or ())
    cause = ", ".join(sorted({f"{edge.kind} {edge.table}" if edge.table else edge.kind for edge in chain}))
    text = "; ".join(edge.text for edge in chain) or verdict.explanation or ""
    return Listed(
        name,
        title(name, found),
        other_names(name, found),
        cause or verdict.isolation,
        tuple(members),
        text,
        1,
        out,
        chain,
    )


def _grouped(anomalies: Sequence[Listed]) -> list[Listed]:
    """Each anomaly once: those that several levels show, or several times, are counted."""
    found: dict[tuple[object, ...], Listed] = {}
    seen: dict[tuple[object, ...], set[tuple[object, ...]]] = {}
    for one in anomalies:
        key = (one.name, one.cause, one.assumed)
        other = found.get(key)
        if other is None:
            found[key] = one
            seen[key] = {one.transactions}
            continue
        again = one.transactions in seen[key]
        seen[key].add(one.transactions)
        found[key] = Listed(
            other.name, other.title, other.aka, other.cause, other.transactions, other.text,
            other.count + (0 if again else one.count), other.rules_out | one.rules_out, other.chain, other.assumed,
            other.more or one.more,
        )  # fmt: skip
    return [*found.values()]

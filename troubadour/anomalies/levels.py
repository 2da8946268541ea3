"""Which levels hold of a log, which do not, and what is named for those that an audit alone rules out.

What the anomalies of a log rule out is not asked again, but for the level that is expected: that is audited as ever,
and where it is then explained after all something is wrong here. Does not know how a level is decided: it asks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from troubadour.anomalies.names import name_of_verdict, other_names, title, with_patterns
from troubadour.anomalies.report import Listed, Report, cause_of, worst_first
from troubadour.audit.strongest import survey_levels
from troubadour.isolation.anomalies import ANOMALIES
from troubadour.isolation.levels import LEVELS
from troubadour.isolation.models import MODELS, stronger, weaker
from troubadour.model.log import Log
from troubadour.model.objects import ObjectLog
from troubadour.model.verdict import Status, Verdict

Decide = Callable[[str | None, bool], Verdict]
"""f(level, briefly): the verdict at a level, None for each transaction's own; `briefly`: with little effort."""

ANSWERS = "answers"
"""The cause of what no circle shows, but that nothing explains what was answered."""

Further = Callable[[str | None, Verdict], Sequence[Verdict]]
"""f(level, violation): other violations of the log at that level."""


class Disagreement(AssertionError):
    """An audit explains a log at a level that an anomaly rules out: a fault of this program."""


class Survey:
    """What holds of a log with some anomalies, as far as it has been asked."""

    def __init__(
        self,
        log: Log | ObjectLog,
        listed: Sequence[Listed],
        notes: Sequence[str],
        expected: str | None,
        own: Sequence[str],
    ) -> None:
        """`expected`: a level or a model; None: what the log's transactions ask for, each for itself, `own` being the
        names of these."""
        self._log, self._own = log, own
        self._notes = tuple(notes)
        self._anomalies = [*listed]
        self._excluded = {name for one in listed for name in one.rules_out}
        self._certain = {name for one in listed if not one.assumed for name in one.rules_out}
        self._proved: set[str] = set()
        self._open: list[str] = []
        self._asked = expected if expected is not None else own[0] if len(own) == 1 else None
        self._of_own: Status | None = None

    def look(self, decide: Decide, further: Further, *, together: bool = False) -> None:
        """Ask for what is expected, and then for what that leaves open; `together`: for what is expected among the
        others, as one above it may hold and say so. Raises Disagreement."""
        asked = self._asked
        together &= (
            asked in LEVELS and asked not in self._excluded and _is_shown(asked, None) and not LEVELS[asked].dirty
        )
        if not together and (asked in LEVELS or (asked is None and len(self._own) > 1)):
            self._take(decide(asked, False), further)
        rest = [
            name
            for name, level in LEVELS.items()
            if not (level.dialect or level.dirty or level.ordered)
            and name not in self._excluded | self._proved
            and (name != asked or together)
        ]

        def brief(level: str, seconds: float) -> Verdict:
            del seconds
            verdict = decide(level, level != asked)
            if level == asked:
                self._take(verdict, further)
            else:
                self._note(level, verdict)
            return verdict

        # what the anomalies of objects do not rule out holds mostly
        survey_levels(self._log, brief, levels=rest, hopeful=isinstance(self._log, ObjectLog))

    def _take(self, verdict: Verdict, further: Further) -> None:
        """What the audit at the expected level says."""
        asked = self._asked
        self._of_own = verdict.status
        if asked is not None:
            if verdict.status is Status.CORRECT and asked in self._certain:
                raise Disagreement(f"an anomaly rules out {asked}, and an audit explains the log at that level")
            found_before = asked in self._excluded
            self._note(asked, verdict)
            if verdict.status is Status.VIOLATION and not found_before:
                self._anomalies += [_of_verdict(one, stronger([asked])) for one in further(asked, verdict)]
        elif verdict.status is Status.CORRECT and all(name in self._certain for name in self._own):
            raise Disagreement(f"anomalies rule out {', '.join(self._own)}, and an audit explains the log")
        elif verdict.status is Status.VIOLATION:
            self._anomalies += [_of_verdict(one, frozenset()) for one in (verdict, *further(None, verdict))]

    def _note(self, level: str, verdict: Verdict) -> None:
        match verdict.status:
            case Status.CORRECT:
                self._proved |= weaker(level)
            case Status.VIOLATION:
                if level not in self._excluded:
                    self._anomalies.append(_of_verdict(verdict, stronger([level])))
                self._excluded |= stronger([level])
            case Status.UNDECIDED:
                self._open.append(level)

    def report(self) -> Report:
        """What is known by now."""
        # what holds is what was asked for with what is taken for granted
        excluded = {one for one in self._excluded if _is_shown(one, self._asked)}
        proved = {one for one in self._proved - self._excluded if _is_shown(one, self._asked)}
        open_ = tuple(one for one in self._open if one not in self._excluded | self._proved)
        anomalies = worst_first(with_patterns(_grouped(self._anomalies)))
        return Report(anomalies, frozenset(excluded), frozenset(proved), open_, self._notes)

    def standing(self) -> Status:
        """Whether what is expected holds, as is known by now."""
        if self._asked is None:
            return self._of_own or Status.UNDECIDED
        return self.report().standing(self._asked)


def _is_shown(name: str, asked: str | None) -> bool:
    """Products' own levels, and those by timestamps, are told of where they are asked for."""
    return name in MODELS or name == asked or not (LEVELS[name].dialect or LEVELS[name].ordered)


def _of_verdict(verdict: Verdict, out: frozenset[str]) -> Listed:
    """What a violation found by an audit is called."""
    account = verdict.account
    found = ANOMALIES["unclassified" if account is None else account.anomaly]
    chain = () if account is None else account.chain
    name = name_of_verdict(found.name, chain)
    members = dict.fromkeys(edge.earlier for edge in chain) or dict.fromkeys(verdict.core or ())
    text = "; ".join(edge.text for edge in chain) or verdict.explanation or ""
    return Listed(
        name,
        title(name, found),
        other_names(name, found),
        cause_of(chain) or ANSWERS,
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
        found[key] = replace(
            other,
            count=other.count + (0 if again else one.count),
            rules_out=other.rules_out | one.rules_out,
            more=other.more or one.more,
        )
    return [*found.values()]

"""Which levels a log keeps and which it does not, through their lattice (paper §6.2; Crooks et al. 2017, Fig. 1).

A level that holds holds all that it implies, one that does not fails all that imply it: the next level asked is the one
whose answer settles most. Statements are compiled once. Does not know how one level is decided.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sql_semantics.records import dataclass
from troubadour.isolation.levels import LEVELS, implied_by
from troubadour.model.log import Log
from troubadour.model.objects import ObjectLog
from troubadour.model.verdict import Status, Verdict
from troubadour.problem.budget import THOROUGHLY

Decide = Callable[[str, float], Verdict]
"""f(level, seconds left): the verdict at one level."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What is known of one level. `by` is the level whose verdict settles it, where it was not asked itself."""

    level: str
    status: Status
    verdict: Verdict | None = None
    by: str | None = None


def levels_for(log: Log) -> tuple[str, ...]:
    """The levels that a log can be held to: the general ones that are modelled whole, and its product's profiles. Those
    that take the database's timestamps for true are asked for by name."""
    return tuple(
        level.name
        for level in LEVELS.values()
        if not (level.dirty or level.ordered) and level.dialect in (None, log.header.dialect)
    )


def survey_levels(
    log: Log | ObjectLog,
    decide: Decide,
    *,
    levels: Iterable[str] | None = None,
    left: Callable[[], float] | None = None,
    hopeful: bool = False,
) -> dict[str, Standing]:
    """Each level's standing. The seconds that are `left` are shared (None: `EACH` for each); what is not reached is
    undecided. Those of a log of operations on objects are given. `hopeful`: they are likely to hold, so that the one
    is asked first that then settles most.

    Where a log binds its commit order a stronger level implies nothing, as it may ask for another order: every level is
    asked by itself then.
    """
    if levels is None:
        assert isinstance(log, Log)
        levels = levels_for(log)
    open_ = list(levels)
    exact = log.header.order == "exact"
    weaker = {name: ({name} if exact else set(implied_by(name)) & set(open_)) for name in open_}
    stronger = {name: {other for other in open_ if name in weaker[other]} for name in open_}
    found: dict[str, Standing] = {}
    while open_:
        remaining = set(open_)
        against = weaker if hopeful else stronger
        name = max(open_, key=lambda one: (_settled(one, weaker, against, remaining), -open_.index(one)))
        share = THOROUGHLY if left is None else left() / len(open_)
        if share <= 0:
            found |= {one: Standing(one, Status.UNDECIDED) for one in open_}
            break
        verdict = decide(name, share)
        found[name] = Standing(name, verdict.status, verdict)
        settled = weaker if verdict.status is Status.CORRECT else stronger
        if verdict.status is not Status.UNDECIDED:
            for other in settled[name] & remaining - {name}:
                found[other] = Standing(other, verdict.status, by=name)
        open_ = [one for one in open_ if one not in found]
    return found


def _settled(name: str, one: dict[str, set[str]], other: dict[str, set[str]], open_: set[str]) -> int:
    """How many open levels either answer settles at least."""
    return min(len(one[name] & open_), len(other[name] & open_))


def strongest(standings: dict[str, Standing]) -> tuple[str, ...]:
    """The levels that hold and are implied by no other that does."""
    holding = [name for name, one in standings.items() if one.status is Status.CORRECT]
    return tuple(name for name in holding if not any(name != other and name in implied_by(other) for other in holding))

"""A log that no visibility explains, with its proof (Biswas and Enea 2019).

The chain of steps is checked anew, one after the other, by plain lists and searches, with nothing of the closures that
found it. Only a chain that passes is a refutation. Does not know how the chain was found.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from troubadour.facts.sql.effects import Accounts, may_agree
from troubadour.isolation.levels import Visible
from troubadour.order.visibility import Chain, Seen, Step, Why, comes_once, sees_sets
from troubadour.problem.budget import FEW
from troubadour.problem.orders import must_precede
from troubadour.problem.problem import Problem
from troubadour.proof.chains.versions import Versions, reaches
from troubadour.proof.refutation import Refutation


def checked_visibility(problem: Problem, chain: Chain, prefix: int, accounts: Accounts) -> Refutation | None:
    """The refutation of the first `prefix` committed transactions, with any of the later ones, that a chain gives; None
    where it does not hold."""
    if not sees_sets(problem):
        return None
    checker = _Checker(problem, accounts, prefix)
    if not all(checker.holds(step) for step in chain.steps) or not checker.concludes(chain):
        return None
    return Refutation(chain.items, _text(problem, chain), every_order=True)


class _Checker:
    """What was shown so far."""

    def __init__(self, problem: Problem, accounts: Accounts, prefix: int) -> None:
        self._problem = problem
        self._level = problem.levels[problem.committed[0]]
        self._accounts = accounts
        self._versions = Versions(problem, accounts)
        self._bound = set(problem.committed[:prefix])
        self._happened = set(self._bound)
        self._sees: dict[int, set[int]] = defaultdict(set)
        self._before: dict[int, set[int]] = defaultdict(set)
        """By transaction those that it is seen by, and those that come after it."""
        self._excluded: dict[Seen, set[int | None]] = defaultdict(set)

    def holds(self, step: Step) -> bool:
        """Whether a step follows from what was shown; then it is shown, too."""
        if not self._follows(step):
            return False
        match step.why:
            case Why.HAPPENED:
                self._happened.add(step.later)
            case Why.LATER | Why.REPLACED:
                assert step.seen is not None
                self._excluded[step.seen].add(step.earlier)
            case Why.SESSION | Why.TAKEN:
                assert step.earlier is not None
                self._sees[step.earlier].add(step.later)
            case _:
                assert step.earlier is not None
                self._before[step.earlier].add(step.later)
        return True

    def concludes(self, chain: Chain) -> bool:
        """Whether what was shown is impossible."""
        if chain.unexplained is not None:
            return self._is_observed(chain.unexplained) and not [*self._left(chain.unexplained)]
        following = (*chain.circle[1:], *chain.circle[:1])
        return bool(chain.circle) and all(
            later in self._before[earlier] for earlier, later in zip(chain.circle, following, strict=True)
        )

    def _follows(self, step: Step) -> bool:
        seen, earlier, later, other = step.seen, step.earlier, step.later, step.other
        if step.why is Why.SESSION:
            happened = earlier is not None and {earlier, later} <= self._happened
            return happened and self._is_session(earlier, later)
        if step.why is Why.SEEN:
            return earlier is not None and later in self._sees[earlier]
        if seen is None or not self._is_observed(seen):
            return False
        match step.why:
            case Why.HAPPENED:
                return [*self._left(seen)] == [later]
            case Why.TAKEN:
                return later == seen.item and [*self._left(seen)] == [earlier]
            case Why.OVERWRITTEN:
                overwrites = earlier is not None and self._spoils(seen, earlier) and self._is_seen(earlier, seen.item)
                return overwrites and [*self._left(seen)] == [later]
            case Why.LATER:
                return later == seen.item and earlier is not None and reaches(self._before, later, earlier)
            case _:
                if later != seen.item or other is None or not self._spoils(seen, other):
                    return False
                newer = earlier is None or reaches(self._before, earlier, other)
                return newer and self._is_seen(other, seen.item)

    def _is_session(self, earlier: int | None, later: int) -> bool:
        problem = self._problem
        if earlier is None or not self._level.session:
            return False
        return earlier in problem.earlier_in_session(later) and must_precede(problem, earlier, later)

    def _is_seen(self, writer: int, reader: int) -> bool:
        """Whether it was shown that a transaction sees another one."""
        if self._level.visible is Visible.CLOSED:
            return reaches(self._sees, writer, reader)
        return reader in self._sees[writer]

    def _is_observed(self, seen: Seen) -> bool:
        """Whether it is what the transaction's own answers say, of a row that comes once and never goes."""
        writers = [self._accounts.of(item) for item in self._versions.writers(seen.place)]
        is_plain = comes_once(seen.place, self._versions.initial(seen.place), writers)
        if seen.item not in self._happened or not is_plain:
            return False
        met = self._accounts.of(seen.item).met
        return seen.place in met and met[seen.place] == seen.known

    def _left(self, seen: Seen) -> Iterator[int | None]:
        """The sources that it may have, but for those that were shown to be none."""
        for source in self._versions.sources(seen.item, seen.place, seen.known):
            if source not in self._excluded[seen]:
                yield source

    def _spoils(self, seen: Seen, other: int) -> bool:
        """Whether another transaction certainly leaves something else than was seen."""
        if other == seen.item or other not in self._bound or not self._versions.is_certain(other, seen.place):
            return False
        return not may_agree(self._accounts.of(other).wrote[seen.place].after, seen.known)


def _text(problem: Problem, chain: Chain) -> str:
    def named(item: int | None) -> str:
        return "the initial state" if item is None else repr(problem.transaction(item).id)

    def met(seen: Seen) -> str:
        return f"{seen.place[0]}({', '.join(map(str, seen.place[1]))}) as {named(seen.item)} met it"

    why: list[str] = []
    for step in chain.steps:
        match step.why:
            case Why.TAKEN if step.seen is not None:
                why.append(f"{named(step.later)} sees {named(step.earlier)} by {met(step.seen)}")
            case Why.SESSION:
                why.append(f"{named(step.later)} sees {named(step.earlier)}, before it in its session")
            case Why.OVERWRITTEN if step.seen is not None:
                why.append(f"{named(step.earlier)} before {named(step.later)} by {met(step.seen)}")
    told = "; ".join(why[:FEW]) + (f"; and {len(why) - FEW} more" if len(why) > FEW else "")
    if chain.unexplained is not None:
        return f"no version is left of {met(chain.unexplained)}: what it sees replaced it" + (
            f" ({told})" if told else ""
        )
    circle = " before ".join(named(item) for item in (*chain.circle, chain.circle[0]))
    return f"no order exists: {circle} ({told})"

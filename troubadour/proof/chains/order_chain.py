"""A log that no order explains, with its proof (Adya 1999; Biswas and Enea 2019).

The engine tells a chain of facts; here each of them is checked anew, one after the other, from what single transactions
met and wrote and from times alone: by plain lists and searches, with nothing of the engine's closure. Only a chain that
passes is a refutation. Does not know how the chain was found.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from troubadour.facts.sql.counted import Counted, counted
from troubadour.facts.sql.effects import Accounts, Known, Place, Unknown, may_agree
from troubadour.facts.sql.events import Moment, viewing_statement
from troubadour.facts.sql.view_accounts import RowAccounts, accounts_for, reads_rows, reads_views
from troubadour.isolation.levels import Conflict
from troubadour.isolation.times import in_snapshot, precedes_in_session, sent_after, was_there
from troubadour.order.evidence import Evidence, Fact, Observation
from troubadour.order.history import applies
from troubadour.order.saturation import Rule
from troubadour.problem.budget import FEW
from troubadour.problem.orders import must_precede
from troubadour.problem.problem import Problem
from troubadour.proof.chains.thin_air import thin_air
from troubadour.proof.chains.versions import Versions, reaches
from troubadour.proof.refutation import Refutation


def checked_chain(
    problem: Problem, evidence: Evidence, prefix: int, accounts: Accounts | None = None
) -> Refutation | None:
    """The refutation of the first `prefix` committed transactions, with any of the later ones, that evidence gives;
    None where it does not hold. `accounts`: what each transaction says by itself, where that was made already."""
    level = problem.levels[problem.committed[0]]
    if not applies(problem, level):
        return None
    checker = _Checker(problem, accounts or accounts_for(problem, level), prefix)
    if not all(checker.holds(fact) for fact in evidence.facts) or not checker.concludes(evidence):
        return None
    air = thin_air(problem, evidence, checker.accounts)
    if air is not None:
        return Refutation(evidence.items, air.says, every_order=True, garbage=air.edge)
    return Refutation(evidence.items, _text(problem, evidence), every_order=True)


class _Checker:
    """What was shown so far: which moments are before which, which sources are excluded, which transactions have
    happened. `accounts`: what each transaction says by itself."""

    def __init__(self, problem: Problem, accounts: Accounts, prefix: int) -> None:
        self._problem = problem
        self._level = problem.levels[problem.committed[0]]
        self._reads_views = reads_views(problem, self._level)
        self._reads_rows = reads_rows(problem, self._level)
        self.accounts = accounts
        self._bound = set(problem.committed[:prefix])
        self._happened = set(self._bound)
        self._after: dict[Moment, set[Moment]] = defaultdict(set)
        self._excluded: dict[Observation, set[Moment | None]] = defaultdict(set)
        self._versions = Versions(problem, accounts)
        self._counts_of: dict[Place, Counted | None] = {}

    def holds(self, fact: Fact) -> bool:
        """Whether a fact follows from what was shown; then it is shown, too."""
        if fact.rule is Rule.GIVEN:
            if fact.earlier is None or not self._is_given(fact.earlier, fact.later):
                return False
            self._after[fact.earlier].add(fact.later)
            return True
        seen = fact.observation
        if seen is None or not self._is_observed(seen):
            return False
        if fact.rule is None:
            if [*self._left(seen)] != [fact.later]:
                return False
            self._happened.add(_item(fact.later))
            return True
        if fact.rule in (Rule.LATER, Rule.REPLACED):
            if not self._is_excluded(seen, fact):
                return False
            self._excluded[seen].add(fact.earlier)
            return True
        if fact.earlier is None:
            return False
        by_count = fact.rule in (Rule.FEWER, Rule.AS_MANY, Rule.ADDED_UP)
        if not (self._counts if by_count else self._follows)(seen, fact, fact.earlier):
            return False
        self._after[fact.earlier].add(fact.later)
        return True

    def concludes(self, evidence: Evidence) -> bool:
        """Whether what was shown is impossible."""
        if evidence.unexplained is not None:
            seen = evidence.unexplained
            if not self._is_observed(seen):
                return False
            if self._is_too_much(seen, evidence.added, 0) or self._is_too_little(seen, evidence.added, 0):
                return True
            return not [*self._left(seen)]
        circle = evidence.circle
        following = (*circle[1:], *circle[:1])
        return bool(circle) and all(b in self._after[a] for a, b in zip(circle, following, strict=True))

    def _reaches(self, one: Moment, other: Moment) -> bool:
        return reaches(self._after, one, other)

    def _is_given(self, one: Moment, other: Moment) -> bool:
        problem, level = self._problem, self._level
        first, second = _item(one), _item(other)
        if not {first, second} <= self._happened:
            return False
        times = problem.times[first], problem.times[second]
        if self._reads_views and not {one[0], other[0]} <= {"place", "snapshot"}:
            return self._is_given_view(one, other)
        match one[0], other[0]:
            case "snapshot", "place":
                if first == second:
                    return not level.horizon.latest
                return level.horizon.at_start and in_snapshot(times[1], times[0]) is False
            case "place", "place":
                return first != second and must_precede(problem, first, second)
            case "place", "snapshot":
                if level.session and precedes_in_session(*times):
                    return True
                return level.horizon.at_start and in_snapshot(*times) is True
        return False

    def _is_given_view(self, one: Moment, other: Moment) -> bool:
        """Whether times, or the statements' turn, put a view before another moment or after it."""
        first, second = _item(one), _item(other)
        times = self._problem.times[first], self._problem.times[second]
        views = viewing_statement(one[0]), viewing_statement(other[0])
        if first == second:
            is_later = other[0] == "place" or (views[1] is not None and (views[0] or 0) < views[1])
            return views[0] is not None and is_later
        if views[0] is not None:
            return other[0] == "place" and self._writes(second) and sent_after(times[1], times[0], views[0])
        if views[1] is None or one[0] != "place":
            return False
        return self._writes(first) and was_there(times[0], times[1], times[1].put[views[1]])

    def _writes(self, item: int) -> bool:
        """Whether a transaction certainly writes something."""
        return any(written.certain for written in self.accounts.of(item).wrote.values())

    def _is_observed(self, seen: Observation) -> bool:
        """Whether it is what the transaction's own answers say."""
        if seen.item not in self._happened or _item(seen.event) != seen.item:
            return False
        account, level = self.accounts.of(seen.item), self._level
        if self._reads_rows:
            return seen.event[0] == "place" and not seen.unseen and self._has_read(seen)
        if self._reads_views:
            inserts = seen.event[0] == "place" and seen.place in account.inserted and seen.place[0] not in account.wild
            view = account.met_at(seen.event[0])
            is_met = seen.place in view and view[seen.place] == seen.known
            return not seen.unseen and (is_met or (inserts and seen.known is None))
        at_commit = seen.event[0] == "place"
        written = account.wrote.get(seen.place)
        wild = seen.place[0] in account.wild
        inserts = seen.place in account.inserted
        if inserts and at_commit and not level.horizon.latest and (seen.unseen or seen.known is not None):
            # it overwrites nothing: what its snapshot had there may have been deleted since
            return False
        if seen.unseen:
            changes = at_commit and not level.horizon.latest and not wild and written is not None and written.certain
            if not changes:
                return False
            versions = level.conflict is Conflict.VERSIONS
            if versions or (level.conflict is Conflict.VALUES and self._all_differ(seen.place)):
                return True
            return level.conflict is Conflict.VALUES and self._is_added_to(seen.place, seen.event)
        met = seen.place in account.met and account.met[seen.place] == seen.known
        if not at_commit or level.horizon.latest:
            if met:
                return True
            return at_commit and not wild and seen.known is None and inserts
        if wild:
            return False
        if seen.known is None and inserts:
            return True
        if not met or written is None or not written.certain or not level.write_conflict:
            return False
        return level.conflict is Conflict.VERSIONS or not may_agree(seen.known, written.after)

    def _has_read(self, seen: Observation) -> bool:
        """Whether a transaction read this version of the only row that was ever at a place."""
        if not isinstance(self.accounts, RowAccounts) or not self.accounts.has_one_row(seen.place):
            return False
        views = self.accounts.of(seen.item).views.values()
        return any(seen.place in met and met[seen.place] == seen.known for met in views)

    def _all_differ(self, place: Place) -> bool:
        values: list[Known] = [self._versions.initial(place)]
        for item in self._versions.writers(place):
            account = self.accounts.of(item)
            if place[0] in account.wild or item not in self._bound or not account.wrote[place].certain:
                return False
            after = account.wrote[place].after
            if after is Unknown.ROW or any(may_agree(after, other) for other in values):
                return False
            values.append(after)
        return True

    def _left(self, seen: Observation) -> Iterator[Moment | None]:
        """The sources that an observation may have, but for those that were shown to be none."""
        for source in self._sources(seen):
            if source not in self._excluded[seen]:
                yield source

    def _sources(self, seen: Observation) -> Iterator[Moment | None]:
        if seen.unseen:
            yield "snapshot", seen.item
            return
        view = viewing_statement(seen.event[0])
        is_read = not self._reads_rows and (seen.event[0] != "place" or self._level.horizon.latest)
        if self._reads_views:
            is_read = view is not None
        statement = -1 if view is None else view
        for source in self._versions.sources(seen.item, seen.place, seen.known, is_read=is_read, statement=statement):
            yield None if source is None else ("place", source)

    def _spoils(self, seen: Observation, other: Moment | None) -> bool:
        """Whether a commit certainly leaves something else than was observed, where that is no longer seen then."""
        if self._reads_rows or other is None or other[0] != "place" or other[1] == seen.item:
            return False
        item = _item(other)
        if item not in self._bound or not self._versions.is_certain(item, seen.place):
            return False
        written = self.accounts.of(item).wrote[seen.place]
        if seen.unseen:
            # a value that was restored is no conflict
            versions = self._level.conflict is Conflict.VERSIONS
            return versions or self._all_differ(seen.place) or self._is_added_to(seen.place, other)
        return not may_agree(written.after, seen.known)

    def _counted(self, place: Place) -> Counted | None:
        """How a row is counted; None where some transaction does something else with it."""
        if place in self._counts_of:
            return self._counts_of[place]
        level, accounts = self._level, self.accounts
        items = self._versions.writers(place)
        newest = level.horizon.latest or self._reads_views or level.conflict is Conflict.VERSIONS
        adds = level.conflict is not Conflict.COLUMNS and (newest or level.write_conflict)
        told = adds and not any(place[0] in accounts.of(item).wild for item in items)
        writes = [accounts.of(item).wrote[place] for item in items] if told else []
        found = self._counts_of[place] = counted(self._versions.initial(place), writes, newest=newest)
        return found

    def _counter(self, seen: Observation) -> tuple[Counted, int] | None:
        """How the row that was seen is counted, and how much was when it was; None where that is not told."""
        found = None if seen.unseen else self._counted(seen.place)
        value = None if found is None else found.added_before(seen.known)
        return None if found is None or value is None else (found, value)

    def _is_added_to(self, place: Place, moment: Moment) -> bool:
        """Whether a commit certainly adds to a counted row."""
        found = self._counted(place)
        return found is not None and self._adds(found, place, moment) > 0

    def _adds(self, by: Counted, place: Place, moment: Moment) -> int:
        """How much a commit certainly adds; 0 where that is not known."""
        item = _item(moment)
        if moment[0] != "place" or item not in self._bound:
            return 0
        account = self.accounts.of(item)
        written = None if place[0] in account.wild else account.wrote.get(place)
        return by.added_by(written) if written is not None and written.certain else 0

    def _is_too_much(self, seen: Observation, added: Sequence[Moment], more: int) -> bool:
        """Whether commits before an observation come, with `more`, to more than what it counts."""
        found = self._counter(seen)
        if found is None or len({*added}) < len(added) or not all(self._reaches(one, seen.event) for one in added):
            return False
        return sum(self._adds(found[0], seen.place, one) for one in added if _item(one) != seen.item) + more > found[1]

    def _is_too_little(self, seen: Observation, added: Sequence[Moment], less: int) -> bool:
        """Whether all that may count comes, without commits after an observation and `less`, to less than it counts."""
        found = self._counter(seen)
        if found is None or not all(one[0] == "place" and self._reaches(seen.event, one) for one in added):
            return False
        later = {seen.item, *map(_item, added)}
        others = [item for item in self._versions.writers(seen.place) if item not in later]
        left = sum(found[0].added_by(self.accounts.of(item).wrote[seen.place]) for item in others)
        return left - less < found[1]

    def _counts(self, seen: Observation, fact: Fact, earlier: Moment) -> bool:
        """Whether what was counted forces two moments to be in this turn."""
        found = self._counter(seen)
        if found is None or earlier == fact.later:
            return False
        by, value = found
        if fact.rule is Rule.FEWER:
            # what was seen at the earlier one is less than there was after the later one
            less = self._seen_at(earlier, seen.place)
            counts = None if less is None else by.added_before(less)
            own = self._adds(by, seen.place, fact.later) if fact.later == ("place", seen.item) else 0
            return fact.later == seen.event and counts is not None and counts < value + own
        commit = earlier if fact.later == seen.event else fact.later
        if seen.event not in (earlier, fact.later) or _item(commit) == seen.item:
            return False
        more = self._adds(by, seen.place, commit)
        if fact.rule is Rule.ADDED_UP:
            if not more or commit in fact.added:
                return False
            is_wrong = self._is_too_much if commit == fact.later else self._is_too_little
            return is_wrong(seen, fact.added, more)
        if fact.other is None or not more:
            return False
        same = self._seen_at(fact.other, seen.place)
        if same is None or by.added_before(same) != value:
            return False
        if commit == earlier:
            return self._reaches(commit, fact.other)
        return self._reaches(fact.other, commit)

    def _seen_at(self, moment: Moment, place: Place) -> Known:
        """What a transaction saw of a row at a moment; None where that is not told."""
        item = _item(moment)
        if item not in self._happened:
            return None
        known = self.accounts.of(item).met_at(moment[0]).get(place)
        if known is None or not self._is_observed(Observation(moment, item, place, known, unseen=False)):
            return None
        return known

    def _is_excluded(self, seen: Observation, fact: Fact) -> bool:
        source = fact.earlier
        if fact.rule is Rule.LATER:
            return source is not None and self._reaches(seen.event, source)
        other = fact.other
        if other is None or not self._spoils(seen, other) or not self._reaches(other, seen.event):
            return False
        return source is None or self._reaches(source, other)

    def _follows(self, seen: Observation, fact: Fact, earlier: Moment) -> bool:
        left = [*self._left(seen)]
        other = fact.other
        match fact.rule:
            case Rule.TAKEN:
                return left == [earlier] and fact.later == seen.event
            case Rule.OVERWRITTEN:
                spoils = earlier == other and self._spoils(seen, other)
                return spoils and left == [fact.later] and self._reaches(earlier, seen.event)
            case Rule.UNREAD:
                if earlier != seen.event or fact.later != other or not self._spoils(seen, other):
                    return False
                return all(source is None or self._reaches(source, fact.later) for source in left)
            case Rule.COMMON:
                if fact.later != seen.event or not left:
                    return False
                return all(s is not None and (s == earlier or self._reaches(earlier, s)) for s in left)
        return False


def _item(moment: Moment) -> int:
    item = moment[1]
    return item if isinstance(item, int) else -1


def _text(problem: Problem, evidence: Evidence) -> str:
    def named(moment: Moment | None) -> str:
        return "the initial state" if moment is None else repr(problem.transaction(_item(moment)).id)

    if evidence.unexplained is not None:
        seen = evidence.unexplained
        table, key = seen.place
        values = ", ".join(map(str, key))
        return f"{named(seen.event)}: nothing can have left what it met in {table}({values}), in any order"
    chain = " before ".join(named(moment) for moment in (*evidence.circle, evidence.circle[0]))
    why: list[str] = []
    for fact in evidence.facts:
        if fact.observation is None or fact.earlier is None or fact.rule in (None, Rule.LATER, Rule.REPLACED):
            continue
        table, values = fact.observation.place[0], ", ".join(map(str, fact.observation.place[1]))
        met = f"by {table}({values}) as {named(fact.observation.event)} met it"
        told = f"{named(fact.earlier)} before {named(fact.later)} {met}"
        if told not in why:
            why.append(told)
    more = f", and {len(why) - FEW} more" if len(why) > FEW else ""
    return f"no order exists: {chain} ({'; '.join(why[:FEW])}{more})"

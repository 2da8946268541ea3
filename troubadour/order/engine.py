"""From a problem to an order of its transactions, or a contradiction: infer, saturate, complete (docs/architecture.md).

First as if every transaction read the newest state, which explains most logs at any level; where that fails and the
level allows more, with snapshots of their own. An order found is a hint, which is run; only a contradiction under the
level's own model, in which everything is certain, says something. Does not know how an order is run.
"""

from __future__ import annotations

from sql_semantics.records import dataclass, field
from troubadour.facts.sql.effects import Accounts
from troubadour.facts.sql.view_accounts import accounts_for
from troubadour.isolation.levels import Scope
from troubadour.order.graph import ones
from troubadour.order.history import Rules, applies, history_of, rules_of, shortest_prefix
from troubadour.order.linearization import Effort, Limits, Linearizer
from troubadour.order.rows.propagation import RowContradiction
from troubadour.order.saturation import Impossible, Known
from troubadour.order.visibility import Sets, Unseen, contradict_in_sets, sees_sets, unseen_in, unseen_or_sets
from troubadour.problem.budget import THOUSANDS
from troubadour.problem.problem import Problem


@dataclass(frozen=True, slots=True)
class Steps:
    """Which steps are taken, and the events up to which a closure is made: its size grows with their square (two bits
    for each pair)."""

    saturate: bool = True
    linearize: bool = True
    snapshots: bool = True
    events: int = 24_000
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True, slots=True)
class Place:
    """A transaction's turn, and the number of commits that it sees (None: all before it)."""

    item: int
    state: int | None


@dataclass(frozen=True, slots=True)
class Contradiction:
    """What is known of a log contradicts itself at its level, whatever the order."""

    known: Known
    impossible: Impossible
    accounts: Accounts


@dataclass(frozen=True, slots=True)
class Alone:
    """No one state gives a committed transaction's own answers, whatever it holds: no other transaction matters."""

    item: int
    accounts: Accounts


Conflict = Contradiction | Alone | Unseen | RowContradiction
"""What excludes every order of a log."""


@dataclass(slots=True)
class Inferred:
    """`orders`: how the transactions may have run, the likelier first. `contradiction`: why they cannot have. `known`:
    what is known where each reads the newest state, or else any version, also what was decided on the way to an order.
    `before`: of each transaction those that commit before it where each reads the newest state, without any decision.
    `sets`: an order with what each sees, where that is a set and no order was found."""

    known: Known | None = None
    before: dict[int, list[int]] = field(default_factory=dict)
    orders: list[list[Place]] = field(default_factory=list)
    contradiction: Conflict | None = None
    effort: list[Effort] = field(default_factory=list)
    sets: Sets = field(default_factory=list)


def is_for(problem: Problem) -> bool:
    """Whether the engine knows how to order what the problem asks for."""
    return may_contradict(problem) and not problem.aborted


def may_contradict(problem: Problem) -> bool:
    """Whether the engine may tell that no order of what was committed is as the problem asks for."""
    return not (
        problem.order_recorded
        or problem.discovery.unknown
        or problem.max_staleness is not None
        or not problem.committed
    )


def infer(problem: Problem, steps: Steps | None = None) -> Inferred:
    """What the transactions' own answers tell of their order. Raises OutOfTime."""
    steps = steps or Steps()
    found = Inferred()
    level = problem.levels[problem.committed[0]]
    rules = rules_of(problem, level)
    asks_first = rules.views or rules.any_version
    certain = applies(problem, level) and not asks_first
    accounts = Accounts(problem, latest=level.horizon.latest)
    found.contradiction = contradiction_of(problem, steps) if asks_first else _alone(problem, accounts)
    if found.contradiction is not None:
        return found
    models = [Rules(level, latest=True)]
    if level.scope is Scope.ROW:
        models.append(Rules(level, latest=True, any_version=True))
    elif not level.horizon.latest and steps.snapshots:
        models.append(Rules(level, latest=False))
    for rules in models:
        if (1 if rules.latest else 2) * len(problem.committed) > steps.events or not steps.saturate:
            break
        known = Known(history_of(problem, rules, accounts), problem.budget.left)
        impossible = known.saturate()
        if impossible is not None:
            if certain and rules == Rules(level, level.horizon.latest):
                found.contradiction = Contradiction(known, impossible, accounts)
            continue
        if rules.latest and found.known is None:
            found.known = known
            found.before = _commits_before(known)
        if not steps.linearize:
            continue
        linearizer = Linearizer(known, steps.limits)
        events = linearizer.run()
        found.effort.append(linearizer.effort)
        if events is not None:
            found.orders.append(_places(known, events))
            if level.scope is not Scope.ROW:
                break
    if not found.orders and steps.saturate and len(problem.committed) <= steps.events and sees_sets(problem):
        told = unseen_or_sets(problem, accounts)
        if isinstance(told, Unseen):
            found.contradiction = told
        else:
            found.sets = told
    return found


def contradiction_of(
    problem: Problem, steps: Steps | None = None, accounts: Accounts | None = None
) -> Contradiction | Alone | None:
    """What is known of a log that contradicts itself at its level; None where nothing is, or the level's model does not
    apply. What aborted is not asked for. `accounts`: those that were made already. Raises OutOfTime."""
    found = certain_of(problem, steps, accounts).contradiction
    assert not isinstance(found, Unseen | RowContradiction)
    return found


def certain_of(problem: Problem, steps: Steps | None = None, accounts: Accounts | None = None) -> Inferred:
    """What is certain of a log at its level, if the level's model applies: a contradiction, or what is known of the
    order. What aborted is not asked for. `accounts`: those that were made already. Raises OutOfTime."""
    steps = steps or Steps()
    if not steps.saturate or not may_contradict(problem) or len(problem.committed) > steps.events:
        return Inferred()
    level = problem.levels[problem.committed[0]]
    accounts = accounts or accounts_for(problem, level)
    if not applies(problem, level):
        return Inferred(contradiction=_alone(problem, accounts))
    history = history_of(problem, rules_of(problem, level), accounts)
    if len(history.names) > steps.events:
        return Inferred()
    known = Known(history, problem.budget.left)
    impossible = known.saturate()
    if impossible is not None:
        return Inferred(contradiction=Contradiction(known, impossible, accounts))
    return Inferred(known, contradiction=_alone(problem, accounts))


def completed(known: Known, steps: Steps | None = None) -> list[int] | None:
    """The committed transactions in an order that has all that is known; None where none is found. Raises OutOfTime."""
    events = Linearizer(known, (steps or Steps()).limits).run()
    return None if events is None else [place.item for place in _places(known, events)]


def _alone(problem: Problem, accounts: Accounts) -> Alone | None:
    """The first committed transaction whose own answers surely contradict each other."""
    if applies(problem, problem.levels[problem.committed[0]]):
        item = next((item for item in problem.committed if accounts.of(item).contradicts), None)
    else:
        item = contradict_in_sets(problem, accounts, problem.committed)
    return None if item is None else Alone(item, accounts)


def first_refuted(
    problem: Problem, found: Contradiction | Alone | Unseen, explained: int = 0
) -> tuple[int, Contradiction | Alone | Unseen]:
    """The number of committed transactions of the shortest prefix that is refuted, with any of the later ones, and
    how. The first `explained` are known to be explained."""
    level = problem.levels[problem.committed[0]]
    rules = rules_of(problem, level)
    accounts = found.accounts

    def refute(prefix: int) -> Contradiction | Alone | Unseen | None:
        if not applies(problem, level):
            return unseen_in(problem, accounts, prefix)
        known = Known(history_of(problem, rules, accounts, prefix), problem.budget.left)
        impossible = known.saturate()
        return None if impossible is None else Contradiction(known, impossible, accounts)

    place = {item: count for count, item in enumerate(problem.committed, start=1)}

    def ends(one: Contradiction | Alone | Unseen) -> int | None:
        items = _named(one) if isinstance(one, Contradiction) else []
        return max((place[item] for item in items if item in place), default=None)

    alone = found if isinstance(found, Alone) else _alone(problem, accounts)
    if alone is None:
        return shortest_prefix(len(problem.committed), found, refute, ends, explained)
    count = problem.committed.index(alone.item)
    others = None if count <= explained else refute(count)
    if others is None:
        return count + 1, alone
    return shortest_prefix(len(problem.committed), others, refute, ends, explained)


def _named(found: Contradiction) -> list[int]:
    """The transactions that a contradiction names itself, without those that show it."""
    history, impossible = found.known.history, found.impossible
    if impossible.read >= 0:
        return [history.reads[impossible.read].item]
    events = {event for edge in impossible.circle for event in (edge.earlier, edge.later)}
    if impossible.count is not None:
        number, place = impossible.count
        events.update(history.counters[number].cuts[place].seen)
    named = (history.item_of(event) for event in events if event < len(history.names))
    return [item for item in named if item is not None]


def _commits_before(known: Known) -> dict[int, list[int]]:
    """Of each transaction those whose commits are known to be before its own; of none where there are too many."""
    history, before = known.history, known.graph.before
    if len(history.commit) > THOUSANDS:
        return {}
    items = {event: item for item, event in history.commit.items()}
    commits = sum(1 << event for event in items)
    return {item: [items[other] for other in ones(before[event] & commits)] for event, item in items.items()}


def _places(known: Known, events: list[int]) -> list[Place]:
    history = known.history
    wanted = {sources[0] for sources in known.sources if len(sources) == 1}
    state, seen = 0, dict[int, int]()
    found: list[Place] = []
    for event in events:
        item = history.item_of(event) if event < len(history.names) else None
        if item is None or (item in history.optional and history.commit[item] not in wanted):
            continue
        if event != history.commit[item]:
            seen[item] = state
            continue
        found.append(Place(item, seen.get(item)))
        state += 1
    return found

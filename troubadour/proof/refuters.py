"""All ways to refute, each by its name, in the order in which they are asked.

Those that ask of a log before anything is searched come first; then those that ask of a prefix which a search could not
explain: what excludes every order before what excludes one. Does not know how a verdict is put together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sql_semantics.errors import Unsupported
from troubadour.facts.sql.effects import reads_once
from troubadour.facts.sql.view_accounts import accounts_for, reads_views
from troubadour.isolation.levels import Visible
from troubadour.order.visibility import contradict_in_sets, unseen
from troubadour.problem.budget import MOST
from troubadour.problem.orders import must_precede
from troubadour.problem.problem import Heuristics
from troubadour.proof.aborted import impossible_answer
from troubadour.proof.chains.visibility_chain import checked_visibility
from troubadour.proof.cores.core import Core
from troubadour.proof.cores.few_in_every_order import MEMBERS, Meter, few_in_every_order
from troubadour.proof.cores.sums_core import core_of_sums, two_readers, writers_of_row, writers_of_sums
from troubadour.proof.dirty_reads import is_refuted_dirty
from troubadour.proof.nothing_overlaps import only_state
from troubadour.proof.refutation import Question, Refutation, Refuter, Stage
from troubadour.proof.sequences import survey
from troubadour.proof.unknown_outcomes import contradictions_in_all, fates, refuted_in_all, unexplained_in_all
from troubadour.search.inference.values.reachable_numbers import is_no_sum, numbers_of_all
from troubadour.search.inference.values.unreachable_rows import RowsByKey
from troubadour.search.inference.values.value_closure import is_refuted_anywhere
from troubadour.search.inference.values.visible_values import refuted_by_times
from troubadour.search.symbolic.abstract_refutation import refuting_set, with_unknown_anywhere


def _number_drawn_twice(question: Question) -> Refutation | None:
    """A sequence gave a number twice."""
    problem = question.problem
    repeated = survey(problem)
    if repeated is None:
        return None
    first, second = (problem.transaction(number.item).id for number in (repeated.first, repeated.second))
    text = f"sequence {repeated.first.name} gave {repeated.first.value!r} to {first!r} and to {second!r}"
    items = (repeated.first.item, repeated.second.item)
    core = Core(tuple(dict.fromkeys(items)), minimal=True, confirmed=True)
    return Refutation(frozenset(items), text, every_order=True, core=core, says=text, blamed=items[1])


def _impossible_aborted(question: Question) -> Refutation | None:
    """An aborted transaction had an answer that no state explains."""
    found = impossible_answer(question.problem)
    if found is None:
        return None
    item, text = found
    core = Core((item,), minimal=True, confirmed=True)
    return Refutation(frozenset({item}), text, every_order=True, core=core, says=text, blamed=item)


def _no_version_at_all(question: Question) -> Refutation | None:
    """Not even versions that were never committed explain it."""
    problem, failing = question.problem, question.failing
    if not any(level.dirty for level in problem.levels) or not is_refuted_dirty(problem, failing):
        return None
    text = f"{problem.transaction(failing).id!r}: no version that anybody wrote explains its observations"
    core = Core((failing,), minimal=True, confirmed=True)
    return Refutation(frozenset({failing}), text, every_order=True, core=core, says=text)


def _times_contradict(question: Question) -> Refutation | None:
    """Two transactions stand before one another by their times, or against the order that is bound."""
    found, problem = question.failed, question.problem
    if found.contradiction is None or found.failure is None or found.failure.other is None:
        return None
    item, other = found.failure.item, found.failure.other
    both = must_precede(problem, item, other) and must_precede(problem, other, item)
    if {item, other} & set(problem.unknown) or not (both or problem.order_recorded):
        return None
    core = Core(tuple(sorted(found.contradiction)), minimal=True, confirmed=True)
    every = both and not problem.order_recorded
    return Refutation(found.contradiction, "their times contradict each other", every, core=core)


def _every_order_tried(question: Question) -> Refutation | None:
    """Every order and reading of a small log was tried."""
    if not question.failed.every_order:
        return None
    return _whole(question, "every order and reading was tried", every_order=True)


def _no_sum(question: Question) -> Refutation | None:
    """Transactions only add to the numbers that it saw, and these are no sums of what they add."""
    problem = question.problem
    shown = is_no_sum(problem, question.failing)
    if shown is None:
        return None
    core = core_of_sums(problem, question.failing, shown)
    if core is None and (question.core is None or not question.core.confirmed):
        core = writers_of_sums(problem, question.failing, shown)
    every = not problem.order_recorded
    return Refutation(shown.members(), "nothing that was added comes to what it saw", every_order=every, core=core)


def _never_so(question: Question) -> Refutation | None:
    """The first that saw a row as no version is, where most transactions tell nothing."""
    problem = question.problem
    numbers = numbers_of_all(problem) if problem.tells_little() else None
    if numbers is None:
        return None
    rows = RowsByKey(numbers)
    for item in problem.committed:
        found = rows.unreachable(problem, item)
        core = None if found is None else two_readers(problem, rows, found) or writers_of_row(problem, item, found)
        if found is not None and core is not None:
            return Refutation(
                frozenset(core.items),
                "no version is as it was seen",
                every_order=not problem.order_recorded,
                core=core,
                says=f"{problem.transaction(item).id!r}: {found.told()}",
                blamed=item,
                unseen=found,
            )
    return None


NO_ONE_STATE = "its own answers contradict each other: no one state gives them"


def _answers_contradict(question: Question) -> Refutation | None:
    """No one state gives its answers, whatever that holds: it needs no other transaction to be refuted."""
    problem, failing = question.problem, question.failing
    level = problem.levels[failing]
    if problem.order_recorded or failing in problem.aborted:
        return None
    accounts = accounts_for(problem, level)
    if level.visible is not Visible.STATE:
        contradicts = contradict_in_sets(problem, accounts, [failing]) is not None
    else:
        contradicts = (reads_once(problem, level) or reads_views(problem, level)) and accounts.of(failing).contradicts
    if not contradicts:
        return None
    core = Core((failing,), minimal=True, confirmed=True)
    return Refutation(frozenset({failing}), NO_ONE_STATE, every_order=True, core=core)


def _nothing_to_see(question: Question) -> Refutation | None:
    """No set of transactions that it may see explains what each of them saw."""
    problem, failing = question.problem, question.failing
    if problem.order_recorded or problem.discovery.unknown or failing in problem.aborted:
        return None
    count = question.verified + 1
    found = unseen(problem, count)
    if found is None:
        return None
    shown = checked_visibility(problem, found.chain, count, found.accounts)
    if shown is None:
        return None
    core = Core(tuple(sorted(shown.transactions)), minimal=False, confirmed=True)
    return replace(shown, core=core, says=shown.reason)


def _no_version_anywhere(question: Question) -> Refutation | None:
    """No value that a row may ever have had explains it."""
    if question.problem.order_recorded or not is_refuted_anywhere(question.problem, question.failing):
        return None
    return Refutation(frozenset({question.failing}), "no row ever had what it saw, in any order", every_order=True)


def _no_version_by_times(question: Question) -> Refutation | None:
    """None of the versions is left that a row may have had after what the transaction must see."""
    problem, failing = question.problem, question.failing
    if problem.order_recorded or failing in problem.aborted:
        return None
    found = refuted_by_times(problem, failing)
    if found is None:
        return None
    off = Heuristics(index=False, window=None, concretize=False, stronger_first=False)
    again = refuted_by_times(problem.with_heuristics(off), failing)
    core = Core(tuple(sorted((*found.others, failing))), minimal=True, confirmed=again is not None)
    return Refutation(frozenset(core.items), found.reason, every_order=True, core=core)


def _few_in_every_order(question: Question) -> Refutation | None:
    """Few transactions contradict each other in each of their orders, whatever the others wrote and wherever."""
    problem = question.problem
    if problem.order_recorded:
        return None
    meter = Meter(problem.budget)
    tried: set[frozenset[int]] = set()
    for suspects in _suspects(question):
        if suspects in tried:
            continue
        tried.add(suspects)
        core = few_in_every_order(problem, suspects, meter)
        if core is not None and core.confirmed:
            return Refutation(
                frozenset(core.items), "they contradict each other in each of their orders", every_order=True, core=core
            )
    return None


def _named_few(question: Question) -> Refutation | None:
    """Those that were named before a search contradict each other in each of their orders."""
    problem, suspects = question.problem, question.suspects
    if not suspects or problem.order_recorded:
        return None
    core = few_in_every_order(problem, suspects, Meter(problem.budget))
    if core is None or not core.confirmed:
        return None
    names = ", ".join(repr(problem.transaction(item).id) for item in core.items)
    text = f"{names}: no order of them gives their answers, whatever the others wrote"
    return Refutation(frozenset(core.items), text, every_order=True, core=core, says=text, blamed=max(core.items))


def _suspects(question: Question) -> Iterator[frozenset[int]]:
    yield frozenset({question.failing})
    if question.failed.contradiction is not None and len(question.failed.contradiction) <= MEMBERS:
        yield frozenset(question.failed.contradiction) - question.choosing
    core = question.core
    if core is not None:
        yield frozenset(core.items)


def _only_order(question: Question) -> Refutation | None:
    """The level leaves no other order than the one that failed."""
    problem = question.problem
    if problem.unknown or problem.order_recorded or not question.is_total:
        return None
    return _whole(question, "the level leaves no other order", every_order=True)


def _whole(question: Question, reason: str, *, every_order: bool) -> Refutation:
    """The failing order as a whole; with a bound on staleness its oldest states were not looked at."""
    order = question.failed.order
    bounded = question.problem.oldest(len(order) - 1) > 0
    return Refutation(frozenset(order), reason, every_order, bounded=bounded)


def _bound_order(question: Question) -> Refutation | None:
    """The hint order binds, and fails."""
    problem = question.problem
    if problem.unknown or not problem.order_recorded:
        return None
    return _whole(question, "in the recorded order", every_order=False)


def _whatever_happened(question: Question) -> Refutation | None:
    """The failing transaction is refuted with every transaction of unknown outcome left open at every place."""
    problem, found = question.problem, question.failed
    if not _asks_for_fates(question):
        return None
    order = [item for item in found.order if item not in problem.unknown]
    whole = with_unknown_anywhere(order, problem.unknown)
    if len(whole) > MOST:
        return None
    try:
        refuting = refuting_set(problem, whole, problem.unknown)
    except Unsupported:
        return None
    if refuting is None:
        return None
    every = question.is_total and not problem.order_recorded
    return Refutation(refuting, "whatever became of those of unknown outcome", every, orders=(tuple(whole),))


def _in_every_fate(question: Question) -> Refutation | None:
    """The failing transaction is refuted with those of unknown outcome left out, and at each of their places."""
    problem = question.problem
    if not _asks_for_fates(question):
        return None
    tried = fates(problem, question.failed.order)
    refuting = refuted_in_all(problem, tried) if tried else None
    if refuting is None:
        if not tried or not unexplained_in_all(problem, tried):
            return None
        refuting = contradictions_in_all(problem, tried)
    every = question.is_total and not problem.order_recorded
    orders = tuple(map(tuple, tried))
    everything = frozenset(item for order in tried for item in order)
    return Refutation(refuting or everything, "whatever became of those of unknown outcome", every, orders=orders)


def _asks_for_fates(question: Question) -> bool:
    bound = question.problem.order_recorded or question.is_total
    return bool(question.problem.unknown) and bound


REFUTERS: tuple[Refuter, ...] = (
    Refuter("number drawn twice", _number_drawn_twice, Stage.UNSEARCHED, dirty=True),
    Refuter("impossible answer of an aborted one", _impossible_aborted, Stage.UNFAILED, dirty=True),
    Refuter("few that were named", _named_few, Stage.UNSEARCHED, alone=True),
    Refuter("row that was never so", _never_so, Stage.LOOKED_AT, alone=True),
    Refuter("no version, committed or not", _no_version_at_all, dirty=True, alone=True),
    Refuter("times that contradict each other", _times_contradict, alone=True),
    Refuter("nothing that overlaps it", only_state, alone=True),
    Refuter("every order tried", _every_order_tried),
    Refuter("no sum of what was added", _no_sum),
    Refuter("answers of no one state", _answers_contradict),
    Refuter("only order", _only_order, alone=True),
    Refuter("nothing that may be seen", _nothing_to_see),
    Refuter("no version in any order", _no_version_anywhere),
    Refuter("no version that times leave", _no_version_by_times),
    Refuter("few in every order", _few_in_every_order, alone=True),
    Refuter("bound order", _bound_order, alone=True),
    Refuter("whatever happened", _whatever_happened, alone=True),
    Refuter("in every fate", _in_every_fate, alone=True),
)
"""All of them, in the order in which they are asked."""


def refute(question: Question, *, alone: bool = False) -> tuple[Refuter, Refutation] | None:
    """The first refutation that is found, and who found it; `alone`: of those that hang on what they name alone.
    Raises OutOfTime."""
    dirty = any(level.dirty for level in question.problem.levels)
    for refuter in REFUTERS:
        if refuter.stage is question.stage and (refuter.dirty or not dirty) and (refuter.alone or not alone):
            with question.problem.budget.step(f"refute: {refuter.name}") as tally:
                found = refuter.refute(question)
                tally.helped += found is not None
            if found is not None:
                return refuter, found
    return None

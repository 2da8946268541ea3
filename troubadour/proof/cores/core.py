"""The few transactions that clash (paper §7 localization), and the second decision.

A core is a subset-minimal set that stays contradictory while every other transaction of the failing prefix has unknown
writes to the rows that it can have written. Does not know how the failing prefix was found.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence
from contextlib import suppress
from itertools import combinations, permutations

from sql_semantics.errors import Unsupported
from sql_semantics.records import dataclass
from troubadour.isolation.times import sent_after
from troubadour.problem.budget import FEW, LONGER, SECOND, SEVERAL, SOME, THOUSANDS, OutOfUnits
from troubadour.problem.orders import is_allowed
from troubadour.problem.problem import Heuristics, OutOfTime, Problem
from troubadour.proof.cores.all_orders import InEveryOrder
from troubadour.proof.cores.necessity import Necessity
from troubadour.search.symbolic.abstract_refutation import is_refuted, relevant_order
from troubadour.search.symbolic.cegar import is_satisfiable_by_newest, relax
from troubadour.solver import Answer

ALL_ORDERS = 5
"""Transactions up to which a core is asked to contradict itself in every order, not only in the failing one."""


@dataclass(frozen=True, slots=True)
class Core:
    """Items that contradict each other. `minimal`: no one of them can be left out; `confirmed`: decided a second
    time on a fresh solver without heuristics."""

    items: tuple[int, ...]
    minimal: bool
    confirmed: bool


def find_core(
    problem: Problem,
    order: Sequence[int],
    kept: Collection[int] | None,
    prefix: Sequence[int] | None,
    fates: Sequence[Sequence[int]] = (),
) -> Core | None:
    """A minimal core of a failing order, or of all of `fates` where there are some; None where the solver could not
    decide it.

    `kept` is a set known to contradict itself under `order` (None: only the whole is known to). `prefix` are the
    committed items of the failing prefix where every order of them fails, whichever of the later ones they may have
    seen: then so does the core of a small log.
    """
    off = Heuristics(index=False, window=None, concretize=False, stronger_first=False)
    # a symbolic scan of a large table can be out of reach; then at least everything else is off
    fallback = dataclasses.replace(off, index=True)
    try:
        later = set() if prefix is None or fates else set(_later(problem, prefix))
        orders = [list(order)] if prefix is None else _orders(problem, order, prefix)
        orders = [list(fate) for fate in fates] or orders
        found = _minimize(problem, orders, order, kept, later)
        if found is None:
            return None
        items, minimal = found
        scans = sum(map(len, problem.initial.values())) * len(order)
        confirmed = any(
            _is_confirmed(problem.with_heuristics(switches), orders, items | later)
            for switches in ((off, fallback) if scans <= THOUSANDS else (fallback,))
        )
    except (Unsupported, OutOfTime):
        return None
    return Core(tuple(sorted(items)), minimal, bool(confirmed))


def _is_confirmed(problem: Problem, orders: Sequence[Sequence[int]], items: Collection[int]) -> bool:
    try:
        return bool(_contradicts(problem, orders, items, precise=True))
    except Unsupported:
        # without the index a statement may look into rows that hold anything
        return False


def looks_at_every_order(problem: Problem, prefix: Sequence[int]) -> bool:
    """Whether a core of a prefix of which every order fails is one in every order, too."""
    return len(prefix) + len(problem.unknown) + len(_later(problem, prefix)) <= ALL_ORDERS


def _later(problem: Problem, prefix: Sequence[int]) -> list[int]:
    """Those behind a prefix in the hint order that write, and whose writes it may have seen: a prefix is explained with
    any of them, which then have seen what they say."""
    later = (item for item in problem.judged if item not in prefix and item not in problem.aborted)
    return [item for item in later if _may_be_seen(problem, item, prefix)]


def _may_be_seen(problem: Problem, item: int, readers: Sequence[int]) -> bool:
    writes = any(one.program is None or not one.program.read_only for one in problem.prepared(item).statements)
    return writes and not all(_is_sent_after(problem, item, reader) for reader in readers)


def _is_sent_after(problem: Problem, item: int, reader: int) -> bool:
    """Whether a commit was sent after the last answer of another transaction, which then cannot have seen it."""
    writer, other = problem.times[item], problem.times[reader]
    return bool(other.got) and sent_after(writer, other, len(other.got) - 1)


def _orders(problem: Problem, order: Sequence[int], prefix: Sequence[int]) -> list[list[int]]:
    """Every order of the failing prefix that the level allows, with every choice of unknown and later transactions;
    where these are too many, the failing order alone."""
    if not looks_at_every_order(problem, prefix):
        return [list(order)]
    orders: list[list[int]] = []
    others = [*problem.unknown, *_later(problem, prefix)]
    for count in range(len(others), -1, -1):
        for happened in combinations(others, count):
            items = sorted([*prefix, *happened])
            orders += [items] if problem.order_recorded else [list(other) for other in permutations(items)]
    return [other for other in orders if is_allowed(problem, other)] or [list(order)]


def _contradicts(
    problem: Problem,
    orders: Sequence[Sequence[int]],
    kept: Collection[int],
    *,
    precise: bool = False,
    together: InEveryOrder | None = None,
) -> bool | None:
    """Whether `kept` is unsatisfiable under every order; None where that could not be decided. `precise` asks the
    solver however many they are, within a bound. `together` decides several orders at once."""
    if len(orders) > 1:
        together = together or InEveryOrder(problem, orders, LONGER)
        with suppress(Unsupported):
            return together.contradicts(kept)
    unknown = False
    for order in orders:
        verdict = _contradicts_in(problem, order, kept, precise)
        if verdict is False:
            return False
        unknown = unknown or verdict is None
    return None if unknown else True


def _contradicts_in(problem: Problem, order: Sequence[int], kept: Collection[int], precise: bool) -> bool | None:
    try:
        if order[-1] in kept and is_refuted(problem, order, kept):
            return True
    except Unsupported:
        # a statement looks into values of which only a hull is known; the solver may know more
        precise = True
    if len(kept) > SEVERAL and not precise:
        return False if is_satisfiable_by_newest(problem, order, kept) else None
    if len(order) > SOME:
        with suppress(Unsupported):
            order = relevant_order(problem, order, kept)
    try:
        with problem.budget.within(effort=LONGER):
            answer, _ = relax(problem, order, kept)
    except OutOfUnits:
        return None
    return None if answer is Answer.UNKNOWN else answer is Answer.UNSATISFIABLE


def _minimize(
    problem: Problem, orders: list[list[int]], order: Sequence[int], kept: Collection[int] | None, later: set[int]
) -> tuple[set[int], bool] | None:
    """`later` are kept wherever they stand, and belong to no core."""
    budget = problem.budget
    enough = budget.spent + LONGER * SECOND
    items = {item for other in orders for item in other} - later
    if kept is not None:
        items = set(kept)
    elif len(orders) == 1 and not _contradicts(problem, orders, items):
        # of several it is known: all of them were looked at
        return None
    single = len(orders) == 1
    necessity = Necessity(problem, order) if single and len(items) > FEW else None
    minimal = True
    together = None if single else InEveryOrder(problem, orders, LONGER)
    for item in sorted(items, reverse=True):
        if single and item == orders[0][-1]:
            # the prefix without it is explained
            continue
        if budget.spent > enough:
            return items, False
        smaller = items - {item}
        if necessity is not None and necessity.is_explained_without(item, smaller):
            continue
        try:
            verdict = _contradicts(problem, orders, smaller | later, together=together)
        except Unsupported:
            verdict = None
        if verdict:
            items = smaller
        minimal = minimal and verdict is not None
    return items, minimal

"""What a search that failed comes to: a violation that holds, or undecided and what would decide it.

A refutation is asked for, and what it names is decided a second time. Under a searched order only what excludes every
order is a violation. Does not know how a refutation is found.
"""

from __future__ import annotations

from collections.abc import Sequence

from sql_semantics.errors import Unsupported
from troubadour.audit.told.explain import claim_of, claim_of_garbage, explain
from troubadour.audit.told.verdicts import undecided, verdict_on
from troubadour.model.verdict import Clash, CoreScope, Scope, Status, Verdict
from troubadour.order.engine import Alone, Conflict, Contradiction, first_refuted
from troubadour.order.evidence import evidence_of
from troubadour.order.rows.propagation import RowContradiction
from troubadour.order.visibility import Unseen
from troubadour.problem.budget import SEVERAL
from troubadour.problem.problem import OutOfTime, Problem
from troubadour.proof.chains.order_chain import checked_chain
from troubadour.proof.chains.visibility_chain import checked_visibility
from troubadour.proof.cores.core import ALL_ORDERS, Core, find_core, looks_at_every_order
from troubadour.proof.cores.seen_row import clash_of, explained_but_for
from troubadour.proof.refutation import Question, Refutation
from troubadour.proof.refuters import NO_ONE_STATE, refute
from troubadour.proof.rows import refuted_rows
from troubadour.search.exhaustive import enumerate_again
from troubadour.search.found import Found
from troubadour.search.inference.values.unreachable_rows import Unreachable
from troubadour.search.inference.values.value_closure import is_refuted_anywhere
from troubadour.search.symbolic.cegar import Unresolved

NOT_MINIMAL = "the core contradicts itself, but could not be shown to be minimal"
READABLE = 3
"""Transactions of a core up to which nothing easier to read is looked for."""


def blame(question: Question) -> Verdict | None:
    """A violation that no failure of a search is needed for; None where there is none."""
    problem = question.problem
    asked = refute(question)
    if asked is None:
        return None
    _, refutation = asked
    assert refutation.blamed is not None and refutation.core is not None
    found, core = question.found, refutation.core
    verified = sum(other < refutation.blamed for other in problem.judged) if found is None else found.verified
    clash = None
    if refutation.unseen is not None and len(core.items) > READABLE:
        clash = _clash_of(problem, refutation.unseen)
    return verdict_on(
        problem,
        Status.VIOLATION,
        verified,
        failing_transaction=problem.transaction(refutation.blamed).id,
        core=tuple(problem.transaction(item).id for item in core.items),
        core_scope=CoreScope.EVERY_ORDER,
        clash=clash,
        scope=Scope.EVERY_ORDER,
        explanation=refutation.says,
        notes=() if core.minimal else (NOT_MINIMAL,),
    )


def _clash_of(problem: Problem, shown: Unreachable) -> Clash | None:
    """A row that was never as it was seen, for people; None where the log before it is not explained."""
    with problem.budget.step("row that was never so, explained") as tally:
        explained = explained_but_for(problem, shown)
        if explained is None:
            return None
        tally.helped += 1
    return clash_of(explained, problem.transaction(shown.item), shown)


def contradicted(problem: Problem, conflict: Conflict, verified: int) -> Verdict:
    """A violation where what is known of the log contradicts itself in every order; undecided where the chain that
    shows it is not confirmed. The first `verified` of those judged are explained."""
    if isinstance(conflict, RowContradiction):
        return _contradicted_rows(problem, conflict, verified)
    try:
        count, conflict = first_refuted(problem, conflict, problem.committed_among(verified))
        shown = _shown(problem, conflict, count)
    except OutOfTime as error:
        return undecided(problem, verified, error)
    if shown is None:
        return undecided(
            problem, verified, Unresolved("what was inferred of the order contradicts itself, unconfirmed")
        )
    notes = () if len(shown.transactions) == 1 else (NOT_MINIMAL,)
    return verdict_on(
        problem,
        Status.VIOLATION,
        count - 1,
        failing_transaction=problem.transaction(problem.committed[count - 1]).id,
        core=tuple(problem.transaction(item).id for item in sorted(shown.transactions)),
        core_scope=CoreScope.EVERY_ORDER,
        scope=Scope.EVERY_ORDER,
        explanation=shown.reason,
        notes=notes,
        claim=None if shown.garbage is None else claim_of_garbage(shown.garbage),
    )


def _contradicted_rows(problem: Problem, conflict: RowContradiction, verified: int) -> Verdict:
    """A violation where answers about rows contradict each other; undecided where that is not confirmed."""
    try:
        found = refuted_rows(problem, conflict, problem.committed_among(verified))
    except OutOfTime as error:
        return undecided(problem, verified, error)
    if found is None:
        return undecided(problem, verified, Unresolved("what was inferred of rows contradicts itself, unconfirmed"))
    count, core, says = found
    failing = problem.committed[count - 1]
    return verdict_on(
        problem,
        Status.VIOLATION,
        problem.judged.index(failing),
        failing_transaction=problem.transaction(failing).id,
        core=tuple(problem.transaction(item).id for item in core.items),
        core_scope=CoreScope.EVERY_ORDER,
        scope=Scope.EVERY_ORDER,
        explanation=says,
        notes=() if core.minimal else (NOT_MINIMAL,),
    )


def _shown(problem: Problem, conflict: Contradiction | Alone | Unseen, count: int) -> Refutation | None:
    """What a contradiction of the first `count` committed transactions names, if it is confirmed. Raises OutOfTime."""
    if isinstance(conflict, Alone):
        text = f"{problem.transaction(conflict.item).id!r}: {NO_ONE_STATE}"
        return Refutation(frozenset({conflict.item}), text, every_order=True)
    if isinstance(conflict, Unseen):
        return checked_visibility(problem, conflict.chain, count, conflict.accounts)
    evidence = evidence_of(conflict.known, conflict.impossible)
    return None if evidence is None else checked_chain(problem, evidence, count, conflict.accounts)


def decide_failure(problem: Problem, found: Found) -> Verdict:
    """The verdict where a search could not explain a prefix."""
    if problem.discovery.unknown:
        problem = problem.in_open_world()
    question = Question(problem, found)
    failing = question.failing
    # what writes nothing can matter by what it saw only
    open_choice = next((i for i in sorted(question.choosing) if i == failing or not _only_reads(problem, i)), None)
    dirty = any(level.dirty for level in problem.levels)
    if open_choice is not None and not dirty:
        return _chosen_otherwise(question, open_choice)
    few = found.verified + 1 + len(problem.unknown) <= ALL_ORDERS
    try:
        asked = refute(question, alone=bool(question.choosing) and not few)
        if asked is None:
            return _not_refuted(question)
        core = _core(question, asked[1])
        if core is None or isinstance(core, Verdict):
            return core or _chosen_otherwise(question, min(question.choosing))
        return _violation(question, asked[1], core)
    except (OutOfTime, Unsupported, Unresolved) as error:
        return undecided(problem, found.verified, error)


def _core(question: Question, refutation: Refutation) -> Core | Verdict | None:
    """The core, confirmed; else what is said instead, None where the DBMS may have chosen otherwise."""
    problem, found = question.problem, question.failed
    core = refutation.core or _found_core(question, refutation)
    if core is not None and found.every_order and _is_explained(question, core):
        # a later one that the explained prefix took may need more of the failing one than the core has
        core = Core((*sorted({*found.order, *problem.judged[: found.verified + 1]}),), False, core.confirmed)
    if question.choosing and (core is None or not core.confirmed or question.choosing & set(core.items)):
        return None
    if core is not None and core.confirmed:
        return core
    text = explain(problem, found.trace, question.failure)
    guess = problem.free.any_guess()
    if problem.discovery.unknown:
        names = ", ".join(problem.discovery.unknown)
        reason = f"{text}; but initial rows of {names} that nothing in the log names may explain it"
    elif guess is not None:
        reason = (
            f"{text}; but the second decision of the failing prefix did not confirm it, and the DBMS may have chosen "
            f"other values in transaction {problem.transaction(guess[0]).id!r}"
        )
    elif enumerate_again(problem, found.order, every_order=found.every_order):
        # every fate of those of unknown outcome was excluded by what they observed, too
        everything = {*_failing_prefix(question), *(problem.unknown if found.every_order else ())}
        return core or Core(tuple(sorted(everything)), minimal=False, confirmed=True)
    else:
        reason = f"{text}; but the second decision of the failing prefix did not confirm it"
    return verdict_on(problem, Status.UNDECIDED, found.verified, reason=reason)


def _failing_prefix(question: Question) -> Sequence[int]:
    """What contradicts itself: where every order was tried, whichever of those behind the prefix it may have seen."""
    found = question.failed
    return question.problem.judged[: found.verified + 1] if found.every_order else found.order


def _found_core(question: Question, refutation: Refutation) -> Core | None:
    problem, found = question.problem, question.failed
    if refutation.orders:
        return find_core(problem, refutation.orders[0], refutation.transactions, None, refutation.orders)
    if found.enumerated and len(found.order) > SEVERAL:
        # too long for the solver; looked at state by state, it can be looked at again
        return None
    if found.every_order:
        kept = found.contradiction
        if question.choosing:
            kept = frozenset(found.order if kept is None else kept) - question.choosing
        return find_core(problem, found.order, kept, problem.judged[: found.verified + 1])
    return question.core


def _core_scope(question: Question, refutation: Refutation, core: Core) -> CoreScope:
    problem, found = question.problem, question.failed
    nothing_else = {*_failing_prefix(question), *problem.unknown} <= set(core.items)
    tried = found.every_order and looks_at_every_order(problem, problem.judged[: found.verified + 1])
    alone = refutation.core is not None or bool(refutation.orders) or question.is_total or nothing_else or tried
    return CoreScope.EVERY_ORDER if alone and not problem.order_recorded else CoreScope.ONE_ORDER


def _violation(question: Question, refutation: Refutation, core: Core) -> Verdict:
    problem, found = question.problem, question.failed
    assert not _is_explained(question, core), "the core is one that the explained prefix explains"
    text = refutation.says or explain(problem, found.trace, question.failure)
    notes: tuple[str, ...] = ()
    if not core.minimal:
        notes = (NOT_MINIMAL,)
    scope = Scope.EVERY_ORDER
    assert refutation.every_order or problem.order_recorded
    if problem.order_recorded:
        # no other order was asked about
        scope = Scope.RECORDED_ORDER
        text += (
            f" (in the recorded order{', whatever became of those of unknown outcome' if refutation.orders else ''})"
        )
    if refutation.bounded and not is_refuted_anywhere(problem, question.failing):
        scope = Scope.BOUNDED_STALENESS
        behind = f"more than {problem.max_staleness} transactions"
        text += f"; states that {behind} had followed were not looked at (--max-staleness)"
    return verdict_on(
        problem,
        Status.VIOLATION,
        found.verified,
        failing_transaction=problem.transaction(question.failing).id,
        core=tuple(problem.transaction(item).id for item in core.items),
        core_scope=_core_scope(question, refutation, core),
        scope=scope,
        explanation=text,
        notes=notes,
        claim=claim_of(problem, found, refutation.garbage),
    )


def _is_explained(question: Question, core: Core) -> bool:
    """Whether a core holds only what the longest explained prefix explains: others may write anything, and so nothing.
    Where times or a bound order tie the failing transaction to others, it may be in their way all the same."""
    problem, verified = question.problem, question.verified
    tied = problem.order_recorded or problem.order_exact or any(level.real_time for level in problem.levels)
    return not tied and set(core.items) <= set(problem.judged[:verified])


def _not_refuted(question: Question) -> Verdict:
    """Nothing explains the prefix, and nothing excludes that something does: what would decide it."""
    problem, found = question.problem, question.failed
    failing = repr(problem.transaction(question.failing).id)
    if any(level.dirty for level in problem.levels):
        reason = f"transaction {failing} may have read what was never committed, which is not modelled"
    elif question.choosing:
        return _chosen_otherwise(question, min(question.choosing))
    elif problem.unknown:
        reason = (
            f"transaction {failing} is not explained, but not every fate of the {len(problem.unknown)} transactions of "
            "unknown outcome was tried"
        )
    elif problem.discovery.unknown:
        names = ", ".join(problem.discovery.unknown)
        reason = (
            f"{explain(problem, found.trace, question.failure)}; but initial rows of {names} that nothing in the log "
            "names may explain it"
        )
    else:
        reason = (
            "no order was found that explains it, but not every order was excluded: "
            f"{explain(problem, found.trace, question.failure)}; {_what_would_decide(problem)}"
        )
    return verdict_on(problem, Status.UNDECIDED, found.verified, reason=reason)


def _what_would_decide(problem: Problem) -> str:
    """What a log would have to hold, or a user to say, so that fewer orders are left."""
    known = []
    if all(problem.times[item].invoked is None for item in problem.committed):
        known.append("clients' times")
    if all(problem.times[item].commit is None for item in problem.committed):
        known.append("commit timestamps")
    elif not problem.order_exact:
        known.append('exact commit timestamps ("order": "exact")')
    more = " or ".join(known)
    bound = "--order recorded decides it for the order in the log"
    return f"{more} would leave fewer orders; {bound}" if more else bound


def _chosen_otherwise(question: Question, chooser: int) -> Verdict:
    problem = question.problem
    reason = (
        f"transaction {problem.transaction(question.failing).id!r} is not explained, but the DBMS may have chosen "
        f"otherwise in transaction {problem.transaction(chooser).id!r}: {problem.chosen_otherwise(chooser)}"
    )
    return verdict_on(problem, Status.UNDECIDED, question.failed.verified, reason=reason)


def _only_reads(problem: Problem, item: int) -> bool:
    programs = [statement.program for statement in problem.prepared(item).statements]
    return all(program is None or program.read_only for program in programs)

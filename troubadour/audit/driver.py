"""An audit from log to verdict (CONTRACT §2, §3; DESIGN §7): prepare, search, prove, decide failures twice.

``correct`` leaves here only with a witness that replay has checked, ``violation`` only after the failing prefix was
decided a second time. Does not know files or how a verdict is shown.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from sql_semantics.errors import Unsupported
from sql_semantics.library import SqlLibrary
from troubadour.audit.composite import audit_parts
from troubadour.audit.explain import explain
from troubadour.audit.witness import witness_of
from troubadour.execution.initial.rows import known_rows, unknown_tables
from troubadour.execution.prepared import UnsupportedStatement
from troubadour.isolation.levels import parts_of
from troubadour.model.log import Log
from troubadour.model.verdict import Scope, StatementRef, Status, Verdict
from troubadour.proof.aborted import impossible_answer, notes_on_aborted
from troubadour.proof.context_core import smaller_clash
from troubadour.proof.core import ALL_ORDERS, PRECISE, Core, find_core
from troubadour.proof.dirty_reads import is_refuted_dirty
from troubadour.proof.refutation import refutation
from troubadour.proof.sequences import Repeated, survey
from troubadour.proof.unknown_outcomes import contradictions_in_all, fates, refuted_in_all, unexplained_in_all
from troubadour.replay import check
from troubadour.search.engine.engine import Contradiction, first_refuted
from troubadour.search.engine.evidence import evidence_of
from troubadour.search.exhaustive import enumerate_again
from troubadour.search.inference.dependency_graph import contradicts_in_every_order
from troubadour.search.inference.key_mentions import name_all_rows
from troubadour.search.inference.value_closure import is_refuted_anywhere
from troubadour.search.problem.orders import is_total
from troubadour.search.problem.problem import Deadline, Heuristics, OutOfTime, Problem
from troubadour.search.scheduler import Found, Search
from troubadour.search.symbolic.abstract_refutation import refuting_set, with_unknown_anywhere
from troubadour.search.symbolic.cegar import Unresolved
from troubadour.search.unknown_rows import search_hidden

UNKNOWN_PLACES = 20_000
"""Places of unknown transactions up to which an observation is asked to be impossible whatever they did."""

SEARCHES = 8
"""Searches of a log whose initial rows are unknown, each of which may discover further rows."""

Progress = Callable[[str, int, int], None]
"""Called with a phase, how much of it is done and how much there is."""


@dataclass(frozen=True, slots=True)
class Options:
    """What a user may choose. `isolation` None: each transaction's own level, else the header's. `max_staleness`: no
    transaction is taken to read a state that more than so many of the order have followed (None: any)."""

    isolation: str | None = None
    order_recorded: bool = False
    timeout: float | None = None
    heuristics: Heuristics = field(default_factory=Heuristics)
    max_staleness: int | None = None


def audit(log: Log, library: SqlLibrary, options: Options, progress: Progress | None = None) -> Verdict:
    """Decide a log. Raises LogError where it cannot be used, Unsupported where nothing of it can be modelled."""
    parts = parts_of(log, options.isolation)
    if not parts:
        return _audit(log, library, options, progress)

    def decide(part: Log, isolation: str | None, timeout: float | None) -> Verdict:
        return _audit(part, library, replace(options, isolation=isolation, timeout=timeout), progress)

    return audit_parts(
        log, library, options.isolation, options.timeout, parts, decide, order_recorded=options.order_recorded
    )


def _audit(log: Log, library: SqlLibrary, options: Options, progress: Progress | None) -> Verdict:
    begun = time.perf_counter()
    unknown = unknown_tables(log, library)
    problem = Problem(
        log,
        library,
        known_rows(log, library),
        isolation=options.isolation,
        order_recorded=options.order_recorded,
        heuristics=options.heuristics,
        deadline=Deadline(options.timeout),
        unknown=unknown,
        max_staleness=options.max_staleness,
    )
    report = progress or (lambda phase, done, total: None)
    unsupported = _prepare_all(problem, report)
    repeated = survey(problem)
    if repeated is not None:
        return msgspec.structs.replace(_repeated(problem, repeated), seconds=round(time.perf_counter() - begun, 4))
    limit = problem.index_of(unsupported.transaction) if unsupported is not None else None
    total = len(problem.judged)
    name_all_rows(problem)
    for _ in range(SEARCHES):
        named = problem.discovery.total
        search = search_hidden if problem.discovery.unknown else _search
        found = search(problem, limit, lambda done: report("searching", done, total))
        report("searching", found.verified, total)
        verdict = _conclude(problem, found, unsupported, report)
        if verdict.status is Status.CORRECT or problem.discovery.total == named:
            break
        # rows were discovered that those before might have met
    return msgspec.structs.replace(verdict, seconds=round(time.perf_counter() - begun, 4))


def _search(problem: Problem, limit: int | None, progress: Callable[[int], None]) -> Found:
    return Search(problem, limit, progress).run()


def _prepare_all(problem: Problem, report: Progress) -> UnsupportedStatement | None:
    """Bind every statement and read every value; the first unmodelled statement in hint order."""
    first: UnsupportedStatement | None = None
    count = len(problem.statuses)
    for item in range(count):
        if not item & 255:
            report("reading statements", item, count)
        try:
            problem.prepared(item)
        except UnsupportedStatement as error:
            first = first or error
    report("reading statements", count, count)
    return first


def _verdict(problem: Problem, status: Status, verified: int, **fields: Any) -> Verdict:
    log = problem.log
    names = sorted({level.name for level in problem.levels})
    return Verdict(
        status=status,
        isolation=problem.isolation or ", ".join(names) or log.header.isolation or "",
        total=len(log.transactions),
        committed=log.committed,
        aborted=log.aborted,
        unknown=log.unknown,
        verified_prefix=problem.committed_among(verified),
        max_staleness=problem.max_staleness,
        **fields,
    )


def _conclude(problem: Problem, found: Found, unsupported: UnsupportedStatement | None, report: Progress) -> Verdict:
    if found.failure is None:
        refuted = _refuted_aborted(problem, found.verified)
        if refuted is not None:
            return refuted
    if found.conflict is not None:
        return _contradicted(problem, found.conflict)
    if found.stopped is not None:
        return _undecided(problem, found.verified, found.stopped)
    if found.failure is not None:
        return _violation(problem, found, unsupported is not None)
    if unsupported is not None:
        return _undecided(problem, found.verified, unsupported)
    witness = witness_of(problem, found)
    total = len(witness.order)
    try:
        refusal = check(
            problem.log,
            witness,
            problem.library,
            isolation=problem.isolation,
            order_recorded=problem.order_recorded,
            progress=lambda done: report("replaying", done, total),
        )
    except Unsupported as error:
        return _undecided(problem, found.verified, error)
    if refusal is not None:
        where = "" if refusal.transaction is None else f" at transaction {refusal.transaction!r}"
        reason = f"the witness found was refused by replay{where}: {refusal.condition}: {refusal.text}"
        return _verdict(problem, Status.UNDECIDED, 0, reason=reason)
    notes = notes_on_aborted(problem)
    return _verdict(problem, Status.CORRECT, found.verified, witness=witness, notes=notes)


def _repeated(problem: Problem, repeated: Repeated) -> Verdict:
    """A sequence gave a number twice, whatever the order."""
    first, second = (problem.transaction(number.item).id for number in (repeated.first, repeated.second))
    item = repeated.second.item
    return _verdict(
        problem,
        Status.VIOLATION,
        sum(other < item for other in problem.judged),
        failing_transaction=second,
        core=(first,) if first == second else (first, second),
        scope=Scope.EVERY_ORDER,
        explanation=f"sequence {repeated.first.name} gave {repeated.first.value!r} to {first!r} and to {second!r}",
    )


def _contradicted(problem: Problem, conflict: Contradiction) -> Verdict:
    """A violation where what is known of the log contradicts itself in every order; undecided where the chain that
    shows it is not confirmed."""
    try:
        count, conflict = first_refuted(problem, conflict)
        evidence = evidence_of(conflict.known, conflict.impossible)
        shown = None if evidence is None else refutation(problem, evidence, count)
    except OutOfTime as error:
        return _undecided(problem, 0, error)
    if shown is None:
        return _undecided(problem, 0, Unresolved("what was inferred of the order contradicts itself, unconfirmed"))
    return _verdict(
        problem,
        Status.VIOLATION,
        count - 1,
        failing_transaction=problem.transaction(problem.committed[count - 1]).id,
        core=tuple(problem.transaction(item).id for item in sorted(shown.items)),
        scope=Scope.EVERY_ORDER,
        explanation=shown.text,
        notes=("the core contradicts itself, but could not be shown to be minimal",),
    )


def _refuted_aborted(problem: Problem, verified: int) -> Verdict | None:
    """A violation where an aborted transaction had an answer that no state explains."""
    impossible = impossible_answer(problem)
    if impossible is None:
        return None
    transaction, text = impossible
    return _verdict(
        problem,
        Status.VIOLATION,
        verified,
        failing_transaction=transaction,
        core=(transaction,),
        scope=Scope.EVERY_ORDER,
        explanation=text,
    )


def _undecided(problem: Problem, verified: int, why: Exception) -> Verdict:
    statement = None
    match why:
        case UnsupportedStatement():
            reason = f"not modelled: {why.construct}"
            statement = StatementRef(why.transaction, why.index)
        case Unsupported():
            reason = f"not modelled: {why.construct}"
        case OutOfTime():
            reason = "the time limit was reached"
        case Unresolved():
            reason = why.reason
        case _:
            raise why
    return _verdict(problem, Status.UNDECIDED, verified, reason=reason, statement=statement)


def _chosen_otherwise(problem: Problem, found: Found, failing: int, chooser: int) -> Verdict:
    reason = (
        f"transaction {problem.transaction(failing).id!r} is not explained, but the DBMS may have chosen otherwise "
        f"in transaction {problem.transaction(chooser).id!r}: {problem.free.choices[chooser]}"
    )
    return _verdict(problem, Status.UNDECIDED, found.verified, reason=reason)


def _only_reads(problem: Problem, item: int) -> bool:
    programs = [statement.program for statement in problem.prepared(item).statements]
    return all(program is None or program.read_only for program in programs)


def _violation(problem: Problem, found: Found, cut: bool) -> Verdict:
    failure = found.failure
    assert failure is not None
    if problem.discovery.unknown:
        problem = problem.in_open_world()
    failing = problem.judged[found.verified]
    choosing = {item for item in (*found.order, failing) if item in problem.free.choices}
    # what writes nothing can matter by what it saw only
    open_choice = next((item for item in choosing if item == failing or not _only_reads(problem, item)), None)
    if any(level.dirty for level in problem.levels):
        return _dirty(problem, found, failing)
    if open_choice is not None:
        return _chosen_otherwise(problem, found, failing, open_choice)
    settled = cut or found.every_order or (problem.order_recorded and not problem.unknown)
    clashing = None
    if not settled and failing not in problem.aborted:
        clashing = contradicts_in_every_order(problem, problem.committed_among(found.verified))
    anywhere = not settled and (clashing is not None or is_refuted_anywhere(problem, failing))
    open_fate = bool(problem.unknown) and not anywhere and not found.every_order
    tried: list[list[int]] = []
    if open_fate and not _impossible_whatever_happened(problem, found):
        tried = _impossible_in_every_fate(problem, found)
    else:
        open_fate = False
    if open_fate and not tried:
        reason = (
            f"transaction {problem.transaction(failing).id!r} is not explained, but not every fate of the "
            f"{len(problem.unknown)} transactions of unknown outcome was tried"
        )
        return _verdict(problem, Status.UNDECIDED, found.verified, reason=reason)
    # of the aborted ones nothing remains, so wherever they stand, the others are as they were
    remaining = [item for item in problem.judged if item == failing or item not in problem.aborted]
    excluded = found.every_order or anywhere or is_total(problem, remaining)
    every = not cut and not problem.order_recorded and excluded
    try:
        text = explain(problem, found.trace, failure)
        if not excluded and not problem.order_recorded and any(level.dialect is not None for level in problem.levels):
            # a product's run is hardly ever in the order of its commit timestamps: this would be a false alarm
            reason = f"no order was found that explains it, but not every order was excluded: {text}"
            return _verdict(problem, Status.UNDECIDED, found.verified, reason=reason)
        notes: list[str] = []
        if failure.other is not None and found.contradiction is not None:
            # two times contradict the order, nothing has to be decided
            core: Core | None = Core(tuple(sorted(found.contradiction)), minimal=True, confirmed=True)
        elif found.enumerated and len(found.order) > PRECISE:
            # too long for the solver; looked at state by state, it can be looked at again
            core = None
        else:
            prefix = problem.judged[: found.verified + 1] if found.every_order else None
            kept = found.contradiction
            if choosing:
                kept = frozenset(found.order if kept is None else kept) - choosing
            core = find_core(problem, found.order, kept, prefix, tried)
        if choosing and (core is None or not core.confirmed or choosing & set(core.items)):
            return _chosen_otherwise(problem, found, failing, min(choosing))
        if choosing and found.verified + 1 + len(problem.unknown) > ALL_ORDERS:
            every = every and is_total(problem, remaining)
        if core is None or not core.confirmed:
            guess = problem.free.any_guess()
            if problem.discovery.unknown:
                names = ", ".join(problem.discovery.unknown)
                reason = f"{text}; but initial rows of {names} that nothing in the log names may explain it"
                return _verdict(problem, Status.UNDECIDED, found.verified, reason=reason)
            if guess is not None or not enumerate_again(problem, found.order, every_order=found.every_order):
                reason = f"{text}; but the second decision of the failing prefix did not confirm it"
                if guess is not None:
                    chooser = problem.transaction(guess[0]).id
                    reason += f", and the DBMS may have chosen other values in transaction {chooser!r}"
                return _verdict(problem, Status.UNDECIDED, found.verified, reason=reason)
            # every fate of those of unknown outcome was excluded by what they observed, too
            everything = {*found.order, *(problem.unknown if found.every_order else ())}
            core = core or Core(tuple(sorted(everything)), minimal=False, confirmed=True)
    except (OutOfTime, Unsupported, Unresolved) as error:
        return _undecided(problem, found.verified, error)
    clash = None
    if not core.minimal:
        notes.append("the core contradicts itself, but could not be shown to be minimal")
        clash = smaller_clash(problem, found.trace, found.order, len(core.items))
    text += "" if every else _order_remark(problem, cut, bool(tried))
    bounded = problem.oldest(len(found.order) - 1) > 0 and not (anywhere or is_refuted_anywhere(problem, failing))
    if bounded:
        behind = f"more than {problem.max_staleness} transactions"
        text += f"; states that {behind} had followed were not looked at (--max-staleness)"
    return _verdict(
        problem,
        Status.VIOLATION,
        found.verified,
        failing_transaction=problem.transaction(failing).id,
        core=tuple(problem.transaction(item).id for item in core.items),
        clash=clash,
        scope=Scope.BOUNDED_STALENESS if bounded else Scope.EVERY_ORDER if every else Scope.RECORDED_ORDER,
        explanation=text,
        notes=tuple(notes),
    )


def _dirty(problem: Problem, found: Found, failing: int) -> Verdict:
    """Where reads of what was never committed are allowed to some transaction: a violation only of what no version
    explains."""
    transaction = problem.transaction(failing).id
    try:
        if is_refuted_dirty(problem, failing):
            return _verdict(
                problem,
                Status.VIOLATION,
                found.verified,
                failing_transaction=transaction,
                core=(transaction,),
                scope=Scope.EVERY_ORDER,
                explanation=f"{transaction!r}: no version that anybody wrote explains its observations",
            )
    except OutOfTime as error:
        return _undecided(problem, found.verified, error)
    reason = f"transaction {transaction!r} may have read what was never committed, which is not modelled"
    return _verdict(problem, Status.UNDECIDED, found.verified, reason=reason)


def _impossible_whatever_happened(problem: Problem, found: Found) -> bool:
    """Whether the failing transaction is refuted with every transaction of unknown outcome left open at every place;
    `found` then holds that order and the set that refutes it."""
    order = [item for item in found.order if item not in problem.unknown]
    whole = with_unknown_anywhere(order, problem.unknown)
    if len(whole) > UNKNOWN_PLACES:
        return False
    try:
        refuting = refuting_set(problem, whole, problem.unknown)
    except (Unsupported, OutOfTime):
        return False
    if refuting is None:
        return False
    found.order, found.contradiction, found.enumerated = whole, refuting, False
    return True


def _impossible_in_every_fate(problem: Problem, found: Found) -> list[list[int]]:
    """The orders under which the failing transaction is refuted with those of unknown outcome left out and at every
    place; `found` then holds the items that refute it. Empty where that is not shown."""
    tried = fates(problem, found.order)
    refuting = refuted_in_all(problem, tried) if tried else None
    if refuting is not None:
        found.order, found.contradiction, found.enumerated = tried[0], refuting, False
    elif unexplained_in_all(problem, tried):
        refuting = contradictions_in_all(problem, tried)
        found.order, found.contradiction, found.enumerated = tried[0], refuting, refuting is None
    else:
        return []
    return tried


def _order_remark(problem: Problem, cut: bool, fates: bool) -> str:
    if fates:
        return " (in the recorded order, whatever became of those of unknown outcome; other orders were not excluded)"
    if problem.order_recorded:
        return " (in the recorded order)"
    if cut:
        return " (in the recorded order; later transactions could not be modelled, so other orders were not excluded)"
    return " (in the recorded order and with overlapping transactions transposed; other orders were not excluded)"

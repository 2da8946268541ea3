"""An audit from log to verdict: prepare, search, prove, decide failures twice.

``correct`` leaves here only with a witness that replay has checked, ``violation`` only after the failing prefix was
decided a second time. Does not know files or how a verdict is shown.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import msgspec

from sql_semantics.errors import Unsupported
from sql_semantics.library import SqlLibrary
from sql_semantics.terms import metered
from troubadour.audit.account.build import account_of
from troubadour.audit.collector import rarely_collected
from troubadour.audit.covered import Policy, audit_covered
from troubadour.audit.executions import by_executions
from troubadour.audit.parts import log_of, parts_with, told_of_whole
from troubadour.audit.product import with_note
from troubadour.audit.remarks import with_remarks
from troubadour.audit.serial import audit_serial
from troubadour.audit.straight import straight
from troubadour.audit.stronger import explained_by_stronger
from troubadour.audit.untimed import check_timestamps
from troubadour.audit.untold import by_other_settings
from troubadour.audit.verdicts import undecided, verdict_on
from troubadour.audit.violation import blame, contradicted, decide_failure
from troubadour.audit.witness import witness_of
from troubadour.coverage.other_scopes import other_readings
from troubadour.coverage.untold import is_untold
from troubadour.execution.initial.rows import known_rows, unknown_tables
from troubadour.execution.prepared import UnsupportedStatement
from troubadour.facts.sql.key_mentions import name_all_rows
from troubadour.isolation.levels import snapshots_of
from troubadour.model.log import Log, LogError, TransactionId
from troubadour.model.verdict import Status, StepCount, Verdict
from troubadour.model.witness import GivenUp, Witness
from troubadour.problem.budget import FEW, LONGER, SECOND, THOROUGHLY, THOUSANDS, Budget
from troubadour.problem.problem import Heuristics, OutOfTime, Problem
from troubadour.proof.aborted import notes_on_aborted
from troubadour.proof.refutation import Question
from troubadour.replay import Refusal, check
from troubadour.search.found import Found
from troubadour.search.inference.values.reachable_numbers import is_no_sum
from troubadour.search.scheduler import Search
from troubadour.search.unknown_rows import search_hidden

Progress = Callable[[str, int, int], None]
"""Called with a phase, how much of it is done and how much there is."""


@dataclass(frozen=True, slots=True)
class Options:
    """What a user may choose. `isolation` None: each transaction's own level, else the header's. `max_staleness`: no
    transaction is taken to read a state that more than so many of the order have followed (None: any).
    `allowed`: constructs that may go unjudged in a correct log, or ``all``; `minimum`: committed transactions of which
    something has to be judged; `unobserved`: a log may be correct of which nothing was observed. `notes_product`: a
    violation says where the log is correct at the product's own profile. `accounts`: it names its anomaly and tells the
    chain of its dependencies. `timeout`: seconds by the clock; `effort`: seconds of an idle machine, counted in units
    of the `budget`, which is shared by all audits that are asked with it and tells what their steps spent. `lead`:
    transactions that are suspected where the search decides nothing. `parts`: of a log that is not decided, parts are
    asked for that nothing else can have changed."""

    isolation: str | None = None
    order_recorded: bool = False
    timeout: float | None = None
    heuristics: Heuristics = field(default_factory=Heuristics)
    max_staleness: int | None = None
    allowed: tuple[str, ...] = ()
    minimum: int = 0
    unobserved: bool = True
    notes_product: bool = False
    accounts: bool = False
    budget: Budget = field(default_factory=Budget)
    effort: float | None = None
    lead: tuple[TransactionId, ...] = ()
    parts: bool = True


def audit(log: Log, library: SqlLibrary, options: Options, progress: Progress | None = None) -> Verdict:
    """Decide a log, as far as it is modelled. Raises LogError where it cannot be used, Unsupported where nothing of it
    can be modelled."""
    with rarely_collected():
        return _audited(log, library, options, progress)


def _audited(log: Log, library: SqlLibrary, options: Options, progress: Progress | None) -> Verdict:
    begun = time.monotonic()
    verdict = _as_far_as_modelled(log, library, options, progress)
    if verdict.status is Status.VIOLATION and library.standing:
        verdict = _by_other_definitions(log, library, verdict, options)
    if verdict.status is Status.VIOLATION and is_untold(log):
        verdict = _by_other_settings(log, library, verdict, options, time.monotonic() - begun)
    verdict = with_remarks(log, verdict)
    if options.accounts and verdict.status is Status.VIOLATION:
        with options.budget.step("account") as tally:
            verdict = _with_account(log, library, verdict, options, time.monotonic() - begun)
            tally.helped += verdict.account is not None
    if verdict.status is not Status.VIOLATION or not options.notes_product or options.order_recorded:
        return verdict
    left = None if options.timeout is None else options.timeout - (time.monotonic() - begun)
    if left is not None and left <= 0:
        return verdict

    def decide(profile: str, effort: float) -> Verdict:
        other = replace(options, isolation=profile, timeout=left, effort=effort, parts=False)
        return _as_far_as_modelled(log, library, other, None)

    with options.budget.step("product's profile"):
        return with_note(verdict, log, decide)


def _by_other_definitions(log: Log, library: SqlLibrary, verdict: Verdict, options: Options) -> Verdict:
    """A violation that stands only where no reading of the log by other definitions is explained."""
    readings = other_readings(log, library, options.isolation)
    left = None if options.timeout is None else options.timeout - verdict.seconds
    for reading in readings or ():
        if left is not None and left <= 0:
            readings = None
            break
        other = _as_far_as_modelled(reading, library, replace(options, timeout=left), None)
        left = None if left is None else left - other.seconds
        if other.status is not Status.VIOLATION:
            readings = None
            break
    if readings is not None:
        return verdict
    reason = "which definitions of tables that change the statements met is not told by their answers"
    return Verdict(
        Status.UNDECIDED,
        verdict.isolation,
        verdict.total,
        verdict.committed,
        verdict.aborted,
        verdict.unknown,
        0,
        reason=reason,
        coverage=verdict.coverage,
        seconds=verdict.seconds,
    )


def _by_other_settings(log: Log, library: SqlLibrary, verdict: Verdict, options: Options, taken: float) -> Verdict:
    """A violation that stands only where no setting explains it that the log does not tell; `taken`: seconds by the
    clock that it took."""

    def judge(log: Log, library: SqlLibrary, given_up: Sequence[GivenUp], timeout: float | None) -> Verdict:
        return _as_far_as_modelled(log, library, replace(options, timeout=timeout), None, given_up)

    left = None if options.timeout is None else options.timeout - taken
    return by_other_settings(log, library, verdict, left, judge)


OVERRUN = 2.5
"""Seconds of a time limit that are kept back."""


def _with_account(log: Log, library: SqlLibrary, verdict: Verdict, options: Options, taken: float) -> Verdict:
    """`taken`: seconds by the clock that the verdict took."""
    budget = options.budget
    effort = max(LONGER, budget.spent / SECOND / 4)
    # the verdict must not be lost to its explanation; what is decided for that may overrun its time a little
    seconds = None if options.timeout is None else (options.timeout - taken) / 2 - OVERRUN
    if seconds is not None and seconds <= 0:
        return verdict

    def decide(log: Log, level: str, effort: float) -> Verdict:
        options = Options(isolation=level, effort=effort, budget=budget, parts=False)
        return _as_far_as_modelled(log, library, options, None)

    with budget.within(seconds=seconds):
        account = account_of(log, library, verdict, decide, budget, effort)
    return msgspec.structs.replace(verdict, account=account)


def _as_far_as_modelled(
    log: Log,
    library: SqlLibrary,
    options: Options,
    progress: Progress | None,
    given_up: Sequence[GivenUp] = (),
) -> Verdict:
    def judge(log: Log, library: SqlLibrary, timeout: float | None) -> Verdict:
        return _serially(log, library, replace(options, timeout=timeout), progress)

    policy = Policy(
        options.isolation,
        options.timeout,
        options.order_recorded,
        options.allowed,
        options.minimum,
        options.unobserved,
        tuple(given_up),
    )
    return audit_covered(log, library, policy, judge)


def _serially(log: Log, library: SqlLibrary, options: Options, progress: Progress | None) -> Verdict:
    if not snapshots_of(log, options.isolation):
        return _audit(log, library, options, progress)

    def decide(other: Log, isolation: str | None, timeout: float | None) -> Verdict:
        return _audit(other, library, replace(options, isolation=isolation, timeout=timeout), progress)

    return audit_serial(log, library, options.isolation, options.timeout, decide, order_recorded=options.order_recorded)


def stats_of(budget: Budget) -> tuple[StepCount, ...]:
    """What the steps came to that were taken with a budget."""
    return tuple(
        StepCount(one.name, one.tried, one.helped, one.units, round(one.seconds, 4)) for one in budget.tallies()
    )


def _audit(log: Log, library: SqlLibrary, options: Options, progress: Progress | None) -> Verdict:
    budget = options.budget
    with budget.within(effort=options.effort, seconds=options.timeout), metered(budget.note_operands):
        return _decided(log, library, options, progress)


def _decided(log: Log, library: SqlLibrary, options: Options, progress: Progress | None) -> Verdict:
    begun = time.perf_counter()

    def at(isolation: str | None) -> Problem:
        return Problem(
            log,
            library,
            known_rows(log, library),
            isolation=isolation,
            order_recorded=options.order_recorded,
            heuristics=options.heuristics,
            budget=options.budget,
            unknown=unknown_tables(log, library),
            max_staleness=options.max_staleness,
        )

    report = progress or (lambda phase, done, total: None)
    explained = _straight(log, library, options, report)
    if explained is not None:
        return msgspec.structs.replace(explained, seconds=round(time.perf_counter() - begun, 4))
    problem = at(options.isolation)
    with options.budget.step("reading statements"):
        unsupported = _prepare_all(problem, report)
    check_timestamps(problem)
    if unsupported is not None:
        return undecided(problem, 0, unsupported)
    blamed = blame(Question(problem))
    if blamed is not None:
        return msgspec.structs.replace(blamed, seconds=round(time.perf_counter() - begun, 4))
    decided = by_executions(problem, THOUSANDS)
    if decided is not None:
        return msgspec.structs.replace(decided, seconds=round(time.perf_counter() - begun, 4))
    suspects = _suspected(problem, options.lead)
    kept_back = None if options.timeout is None or not suspects else options.timeout * (1 - FOR_THE_LEAD)
    with options.budget.within(seconds=kept_back):
        verdict = _searched(problem, at, options, report)
    if verdict.status is Status.UNDECIDED and suspects and not problem.refused.count:
        with suppress(OutOfTime):
            verdict = blame(Question(problem, suspects=suspects)) or verdict
    if verdict.status is Status.UNDECIDED:
        verdict = by_executions(problem, 2 * THOUSANDS) or verdict
    if verdict.status is Status.UNDECIDED and options.parts:
        verdict = _by_parts(problem, verdict, options) or verdict
    return msgspec.structs.replace(verdict, seconds=round(time.perf_counter() - begun, 4))


def _by_parts(problem: Problem, verdict: Verdict, options: Options) -> Verdict | None:
    """A violation of the log that is one of a part of it, with the first transaction that was not explained."""
    if verdict.statement is not None or verdict.verified_prefix >= len(problem.committed):
        return None
    failing = problem.committed[verdict.verified_prefix]
    own = replace(options, isolation=problem.isolation, lead=(), parts=False)
    with options.budget.step("a part of the log") as tally, options.budget.within(effort=THOROUGHLY):
        for items in parts_with(problem, failing):
            found = _decided(log_of(problem, items), problem.library, own, None)
            if found.status is Status.VIOLATION:
                tally.helped += 1
                return told_of_whole(problem, found)
    return None


def _straight(log: Log, library: SqlLibrary, options: Options, report: Progress) -> Verdict | None:
    """What the straight path says; None where that is nothing, or time is up."""
    if not (options.heuristics.straight and options.heuristics.stronger_first):
        return None
    total, budget = len(log.transactions), options.budget

    def looked(done: int) -> None:
        budget.left()
        report("searching", done, total)

    with budget.step("straight") as tally:
        try:
            found = straight(
                log,
                library,
                options.isolation,
                order_recorded=options.order_recorded,
                max_staleness=options.max_staleness,
                progress=looked,
            )
        except OutOfTime:
            return None
        tally.helped += found is not None
    return found


FOR_THE_LEAD = 0.25
"""Part of a time limit that is kept for transactions that are suspected."""


def _suspected(problem: Problem, lead: Sequence[TransactionId]) -> frozenset[int]:
    wanted = {(type(one), one) for one in lead}
    return frozenset(item for item, (one, _) in enumerate(problem.log.statuses()) if (type(one), one) in wanted)


def _searched(problem: Problem, at: Callable[[str | None], Problem], options: Options, report: Progress) -> Verdict:
    total = len(problem.judged)
    name_all_rows(problem)
    refused: Verdict | None = None
    for _ in range(FEW):
        named, excluded = problem.discovery.total, problem.refused.count
        with options.budget.step("search") as tally:
            found = _first_look(problem, lambda done: report("searching", done, total))
            tally.helped += found is not None and _is_explained(found)
        if found is None:
            try:
                blamed = blame(Question(problem, looked=True))
            except OutOfTime as error:
                return undecided(problem, 0, error)
            if blamed is not None and refused is None:
                return blamed
            with options.budget.step("search") as tally:
                found = Search(problem, None, lambda done: report("searching", done, total)).run()
                tally.helped += _is_explained(found)
        report("searching", found.verified, total)
        if refused is not None and not _is_explained(found):
            # what was excluded may be right: nothing follows from finding no other
            verdict = refused
            break
        verdict = _conclude(problem, found, report)
        if problem.refused.count > excluded:
            refused = verdict
            continue
        if verdict.status is Status.CORRECT or problem.discovery.total == named:
            break
        # rows were discovered that those before might have met
    if verdict.status is Status.UNDECIDED:
        with options.budget.step("stronger levels") as tally:
            stronger = explained_by_stronger(problem, at)
            tally.helped += stronger is not None
            verdict = stronger or verdict
    return verdict


def _is_explained(found: Found) -> bool:
    return found.failure is None and found.stopped is None and found.conflict is None


def _first_look(problem: Problem, progress: Callable[[int], None]) -> Found | None:
    """How a search ends that a log asks for first; None where it is to be searched along its hint order."""
    if problem.discovery.unknown:
        return search_hidden(problem, progress)
    if problem.heuristics.stronger_first and problem.tells_little():
        # concrete runs first: what they explain needs no symbol, and what no numbers add up to no search
        with problem.guessing_readings():
            found = Search(problem, None, progress, brief=True).run()
            if found.stopped is None and (found.failure is None or is_no_sum(problem, found.failure.item) is not None):
                return found
    return None


def _prepare_all(problem: Problem, report: Progress) -> UnsupportedStatement | None:
    """Bind every statement and read every value; the first unmodelled statement in hint order, where there is one: what
    does not fit may then be what that statement made it."""
    first: UnsupportedStatement | None = None
    unfit: LogError | None = None
    count = len(problem.statuses)
    for item in range(count):
        if not item & 255:
            report("reading statements", item, count)
        try:
            problem.prepared(item)
        except UnsupportedStatement as error:
            first = first or error
        except LogError as error:
            unfit = unfit or error
    if unfit is not None and first is None:
        raise unfit
    report("reading statements", count, count)
    return first


def _conclude(problem: Problem, found: Found, report: Progress) -> Verdict:
    if found.conflict is not None:
        return contradicted(problem, found.conflict)
    if found.failure is not None and found.stopped is None:
        return decide_failure(problem, found)
    blamed = blame(Question(problem, found))
    if blamed is not None:
        return blamed
    if found.stopped is not None:
        return undecided(problem, found.verified, found.stopped)
    witness = witness_of(problem, found)
    total = len(witness.order)
    try:
        with problem.budget.step("replay") as tally:
            refusal = check(
                problem.log,
                witness,
                problem.library,
                isolation=problem.isolation,
                order_recorded=problem.order_recorded,
                progress=lambda done: report("replaying", done, total),
            )
            tally.helped += refusal is None
    except Unsupported as error:
        return undecided(problem, found.verified, error)
    if refusal is not None:
        where = "" if refusal.transaction is None else f" at transaction {refusal.transaction!r}"
        reason = f"the witness found was refused by replay{where}: {refusal.condition}: {refusal.text}"
        _exclude(problem, found, witness, refusal)
        return verdict_on(problem, Status.UNDECIDED, 0, reason=reason)
    notes = notes_on_aborted(problem)
    return verdict_on(problem, Status.CORRECT, found.verified, witness=witness, notes=notes)


def _exclude(problem: Problem, found: Found, witness: Witness, refusal: Refusal) -> None:
    """Exclude what the refused transaction read where it stands, so that another search goes on without it."""
    if refusal.transaction is None or refusal.transaction not in witness.order:
        return
    placements = found.trace.placements
    place = witness.order.index(refusal.transaction)
    choices = placements[place].choices
    if choices is not None:
        problem.refused.add([one.item for one in placements[:place]], placements[place].item, choices)

"""A log that is modelled throughout, from its statements to a verdict: prepare, search, prove, decide failures twice.

Does not know what of a log is modelled, nor how an audit ends that finds a violation.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from sql_semantics.errors import Unsupported
from sql_semantics.library import SqlLibrary
from troubadour.audit.again.stronger import explained_by_stronger
from troubadour.audit.executions import by_executions
from troubadour.audit.parts import log_of, parts_with, told_of_whole
from troubadour.audit.told.verdicts import undecided, verdict_on
from troubadour.audit.violation import blame, contradicted, decide_failure
from troubadour.audit.witness import witness_of
from troubadour.execution.initial.rows import known_rows, unknown_tables
from troubadour.execution.prepared import UnsupportedStatement
from troubadour.facts.sql.key_mentions import name_all_rows
from troubadour.facts.sql.observations import may_write
from troubadour.isolation.naming import untimed
from troubadour.model.log import Log, LogError, TransactionId
from troubadour.model.verdict import Status, Verdict
from troubadour.model.witness import Witness
from troubadour.problem.budget import FEW, THOROUGHLY, THOUSANDS
from troubadour.problem.problem import OutOfTime, Problem
from troubadour.proof.aborted import notes_on_aborted
from troubadour.proof.refutation import Question
from troubadour.replay.checker import check
from troubadour.replay.refusal import Refusal
from troubadour.search.found import Found
from troubadour.search.inference.values.reachable_numbers import is_no_sum
from troubadour.search.scheduler import Search
from troubadour.search.unknown_rows import search_hidden

if TYPE_CHECKING:
    from troubadour.audit.driver import Options, Progress


def decided(log: Log, library: SqlLibrary, options: Options, report: Progress) -> Verdict:
    """The verdict on a log that is modelled throughout. Raises LogError where it cannot be used."""
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

    problem = at(options.isolation)
    with options.budget.step("reading statements"):
        unsupported = _prepare_all(problem, report)
    _check_timestamps(problem)
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
    with suppress(OutOfTime):
        if verdict.status is Status.UNDECIDED and suspects and not problem.refused.count:
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
    own = replace(options, isolation=problem.isolation, lead=(), parts=False, whole=None)
    with options.budget.step("a part of the log") as tally, options.budget.within(effort=THOROUGHLY):
        for items in parts_with(problem, failing):
            found = decided(log_of(problem, items), problem.library, own, lambda phase, done, total: None)
            if found.status is Status.VIOLATION:
                tally.helped += 1
                return told_of_whole(problem.log, found)
    return None


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
            tally.helped += found is not None and found.is_explained
        if found is None:
            try:
                blamed = blame(Question(problem, looked=True))
            except OutOfTime as error:
                return undecided(problem, 0, error)
            if blamed is not None and refused is None:
                return blamed
            with options.budget.step("search") as tally:
                found = Search(problem, None, lambda done: report("searching", done, total)).run()
                tally.helped += found.is_explained
        report("searching", found.verified, total)
        if refused is not None and not found.is_explained:
            # what was excluded may be right: nothing follows from finding no other
            verdict = refused
            break
        verdict = _conclude(problem, found, options, report)
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


def _conclude(problem: Problem, found: Found, options: Options, report: Progress) -> Verdict:
    if found.conflict is not None:
        return contradicted(problem, found.conflict, found.verified)
    if found.failure is not None and found.stopped is None:
        return decide_failure(problem, found)
    try:
        blamed = blame(Question(problem, found))
    except OutOfTime as error:
        blamed, found.stopped = None, found.stopped or error
    if blamed is not None:
        return blamed
    if found.stopped is not None:
        return undecided(problem, found.verified, found.stopped, found.mended)
    witness = witness_of(problem, found)
    total = len(witness.order)
    try:
        with problem.budget.step("replay") as tally:
            progress, prepare = lambda done: report("replaying", done, total), problem.preparations
            whole = options.whole is not None and options.whole(witness, prepare, progress)
            refusal = None if whole else check(problem.log, witness, problem.library, isolation=problem.isolation,
                                               order_recorded=problem.order_recorded, progress=progress,
                                               prepare=prepare)  # fmt: skip
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


def _check_timestamps(problem: Problem) -> None:
    """Raises LogError where a committed transaction that writes lacks a timestamp by which its level orders it."""
    for item in problem.committed:
        level, times = problem.levels[item], problem.times[item]
        missing = level.missing_timestamp(times.start, times.commit)
        if missing is not None and _writes(problem, item):
            raise LogError(untimed(problem.transaction(item).id, missing, level))


def _writes(problem: Problem, item: int) -> bool:
    try:
        statements = problem.prepared(item).statements
    except UnsupportedStatement:
        return False
    return any(one.program is not None and may_write(one) for one in statements)

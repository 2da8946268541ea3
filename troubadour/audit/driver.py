"""An audit from log to verdict (CONTRACT §2, §3; DESIGN §7): prepare, search, prove, decide failures twice.

``correct`` leaves here only with a witness that replay has checked, ``violation`` only after the failing prefix was
decided a second time. Does not know files or how a verdict is shown.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import msgspec

from sql_semantics.errors import Unsupported
from sql_semantics.library import SqlLibrary
from troubadour.audit.composite import audit_parts
from troubadour.audit.product import with_note
from troubadour.audit.stronger import explained_by_stronger
from troubadour.audit.verdicts import undecided, verdict_on
from troubadour.audit.violation import blame, decide_failure
from troubadour.audit.witness import witness_of
from troubadour.execution.initial.rows import known_rows, unknown_tables
from troubadour.execution.prepared import UnsupportedStatement
from troubadour.isolation.levels import parts_of
from troubadour.model.log import Log
from troubadour.model.verdict import Status, Verdict
from troubadour.proof.aborted import notes_on_aborted
from troubadour.proof.refutation import Question
from troubadour.replay import check
from troubadour.search.inference.key_mentions import name_all_rows
from troubadour.search.inference.reachable_numbers import is_no_sum
from troubadour.search.problem.problem import Deadline, Heuristics, Problem
from troubadour.search.scheduler import Found, Search
from troubadour.search.unknown_rows import search_hidden

SEARCHES = 8
"""Searches of a log whose initial rows are unknown, each of which may discover further rows."""

Progress = Callable[[str, int, int], None]
"""Called with a phase, how much of it is done and how much there is."""


@dataclass(frozen=True, slots=True)
class Options:
    """What a user may choose. `isolation` None: each transaction's own level, else the header's. `max_staleness`: no
    transaction is taken to read a state that more than so many of the order have followed (None: any).
    `notes_product`: a violation says where the log is correct at the product's own profile."""

    isolation: str | None = None
    order_recorded: bool = False
    timeout: float | None = None
    heuristics: Heuristics = field(default_factory=Heuristics)
    max_staleness: int | None = None
    notes_product: bool = False


def audit(log: Log, library: SqlLibrary, options: Options, progress: Progress | None = None) -> Verdict:
    """Decide a log. Raises LogError where it cannot be used, Unsupported where nothing of it can be modelled."""
    begun = time.monotonic()
    verdict = _audit_whole(log, library, options, progress)
    if not options.notes_product or options.order_recorded:
        return verdict
    left = None if options.timeout is None else options.timeout - (time.monotonic() - begun)

    def decide(profile: str, seconds: float) -> Verdict:
        return _audit_whole(log, library, replace(options, isolation=profile, timeout=seconds), None)

    return with_note(verdict, log, decide, left)


def _audit_whole(log: Log, library: SqlLibrary, options: Options, progress: Progress | None) -> Verdict:
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
    deadline = Deadline(options.timeout)

    def at(isolation: str | None) -> Problem:
        return Problem(
            log,
            library,
            known_rows(log, library),
            isolation=isolation,
            order_recorded=options.order_recorded,
            heuristics=options.heuristics,
            deadline=deadline,
            unknown=unknown_tables(log, library),
            max_staleness=options.max_staleness,
        )

    problem = at(options.isolation)
    report = progress or (lambda phase, done, total: None)
    unsupported = _prepare_all(problem, report)
    blamed = blame(Question(problem))
    if blamed is not None:
        return msgspec.structs.replace(blamed, seconds=round(time.perf_counter() - begun, 4))
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
    if verdict.status is Status.UNDECIDED and unsupported is None:
        verdict = explained_by_stronger(problem, at) or verdict
    return msgspec.structs.replace(verdict, seconds=round(time.perf_counter() - begun, 4))


def _search(problem: Problem, limit: int | None, progress: Callable[[int], None]) -> Found:
    if problem.heuristics.stronger_first and problem.tells_little():
        # concrete runs first: what they explain needs no symbol, and what no numbers add up to no search
        with problem.guessing_readings():
            found = Search(problem, limit, progress, brief=True).run()
            if found.stopped is None and (found.failure is None or is_no_sum(problem, found.failure.item) is not None):
                return found
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


def _conclude(problem: Problem, found: Found, unsupported: UnsupportedStatement | None, report: Progress) -> Verdict:
    if found.failure is not None and found.stopped is None:
        return decide_failure(problem, found, unsupported)
    blamed = blame(Question(problem, found))
    if blamed is not None:
        return blamed
    if found.stopped is not None:
        return undecided(problem, found.verified, found.stopped)
    if unsupported is not None:
        return undecided(problem, found.verified, unsupported)
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
        return undecided(problem, found.verified, error)
    if refusal is not None:
        where = "" if refusal.transaction is None else f" at transaction {refusal.transaction!r}"
        reason = f"the witness found was refused by replay{where}: {refusal.condition}: {refusal.text}"
        return verdict_on(problem, Status.UNDECIDED, 0, reason=reason)
    notes = notes_on_aborted(problem)
    return verdict_on(problem, Status.CORRECT, found.verified, witness=witness, notes=notes)

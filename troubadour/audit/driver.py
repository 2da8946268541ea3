"""An audit from log to verdict: prepare, search, prove, decide failures twice.

``correct`` leaves here only with a witness that replay has checked, ``violation`` only after the failing prefix was
decided a second time. Does not know files or how a verdict is shown.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

import msgspec

from sql_semantics.library import SqlLibrary
from sql_semantics.records import dataclass, field, replace
from sql_semantics.terms import metered
from troubadour.audit.collector import rarely_collected
from troubadour.audit.covered import NO_TIME, Policy, audit_covered
from troubadour.audit.straight import Tried, in_turn, straight
from troubadour.audit.told.remarks import with_remarks
from troubadour.coverage.untold import is_untold
from troubadour.isolation.levels import snapshots_of
from troubadour.model.bounds import OutOfTime
from troubadour.model.log import Log, TransactionId
from troubadour.model.verdict import Status, StepCount, Verdict
from troubadour.model.witness import GivenUp
from troubadour.problem.budget import LONGER, SECOND, SOME, THOROUGHLY, THOUSANDS, Budget
from troubadour.problem.heuristics import Heuristics
from troubadour.replay.newest import Unexplained

if TYPE_CHECKING:
    from troubadour.audit.serial import Whole

_Asked = TypeVar("_Asked", bound="Verdict | Unexplained | None")
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
    asked for that nothing else can have changed. `tried`: what a stream of the log came to, for its first audit.
    `whole`: whether a witness is one of more than these levels, so that it is one of these."""

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
    tried: Tried | None = None
    whole: Whole | None = None


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
    if options.accounts and verdict.status is Status.VIOLATION and verdict.account is None:
        with options.budget.step("account") as tally:
            verdict = _with_account(log, library, verdict, options, time.monotonic() - begun)
            tally.helped += verdict.account is not None
    if verdict.status is not Status.VIOLATION or not options.notes_product or options.order_recorded:
        return verdict
    left = None if options.timeout is None else options.timeout - (time.monotonic() - begun)
    if left is not None and left <= 0:
        return verdict

    from troubadour.audit.again.product import with_note

    def decide(profile: str, effort: float) -> Verdict:
        other = replace(options, isolation=profile, timeout=left, effort=effort, parts=False)
        return _as_far_as_modelled(log, library, other, None)

    with options.budget.step("product's profile"):
        return with_note(verdict, log, decide)


def _by_other_definitions(log: Log, library: SqlLibrary, verdict: Verdict, options: Options) -> Verdict:
    """A violation that stands only where no reading of the log by other definitions is explained."""
    from troubadour.coverage.other_scopes import other_readings

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
    from troubadour.audit.again.untold import by_other_settings

    def judge(log: Log, library: SqlLibrary, given_up: Sequence[GivenUp], timeout: float | None) -> Verdict:
        return _as_far_as_modelled(log, library, replace(options, timeout=timeout), None, given_up)

    left = None if options.timeout is None else options.timeout - taken
    return by_other_settings(log, library, verdict, left, judge)


OVERRUN = 2.5
"""Seconds of a time limit that are kept back."""


def _with_account(log: Log, library: SqlLibrary, verdict: Verdict, options: Options, taken: float) -> Verdict:
    """`taken`: seconds by the clock that the verdict took."""
    from troubadour.audit.account.build import account_of

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
    report = progress or (lambda phase, done, total: None)

    def judge(log: Log, library: SqlLibrary, timeout: float | None) -> Verdict:
        return _serially(log, library, replace(options, timeout=timeout), report)

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


def _serially(log: Log, library: SqlLibrary, options: Options, report: Progress) -> Verdict:
    begun = time.perf_counter()
    found: Verdict | Unexplained | None
    if options.tried is not None and options.tried.holds(log, library):
        found = options.tried.stopped
    else:
        found = _straight(log, library, options, report)
    stopped, ways = (found if isinstance(found, Unexplained) else None), list[str]()
    found = None if isinstance(found, Unexplained) else found
    long = len(log.transactions) > THOUSANDS
    if stopped is not None and (long or not stopped.untimed):
        ways = [BY_STATE, BY_ROW] if not stopped.untimed and _is_apart(log, stopped.place) else [BY_STATE]
        found = _by_few(log, library, options, stopped, [*ways, BY_ROWS] if long else ways)
    if found is None:
        found = _in_turn(log, library, options, report)
    if found is None and stopped is not None and long and not stopped.untimed and BY_ROW not in ways:
        found = _by_few(log, library, options, stopped, (BY_ROW,))
    if found is not None:
        return msgspec.structs.replace(found, seconds=round(time.perf_counter() - begun, 4))
    if options.timeout is not None:
        options = replace(options, timeout=max(options.timeout - (time.perf_counter() - begun), NO_TIME))
    if not snapshots_of(log, options.isolation):
        return _audit(log, library, options, report)
    from troubadour.audit.serial import audit_serial

    def decide(other: Log, isolation: str | None, timeout: float | None, whole: Whole | None) -> Verdict:
        return _audit(other, library, replace(options, isolation=isolation, timeout=timeout, whole=whole), report)

    return audit_serial(log, library, options.isolation, options.timeout, decide, order_recorded=options.order_recorded)


BY_STATE, BY_ROW, BY_ROWS = "one state is left", "one row", "rows that are left"
"""Ways of deciding that few transactions are a violation, by which these are."""


def _by_few(
    log: Log, library: SqlLibrary, options: Options, stopped: Unexplained, ways: Sequence[str]
) -> Verdict | None:
    """The violation of a few transactions which decide it that the newest state does not explain one, with its account
    where that is asked for; None where there is none. What is not decided so is searched."""
    if options.order_recorded or options.max_staleness is not None:
        return None
    from troubadour.audit.one_state import refuted_by_known_rows, refuted_by_one_row, refuted_by_one_state, window_of

    own = replace(options, lead=(), parts=False, effort=THOROUGHLY)

    def judge(part: Log) -> Verdict:
        verdict = _serially(part, library, own, lambda phase, done, total: None)
        garbage = verdict.claim is not None and verdict.claim.garbage is not None
        if verdict.status is Status.VIOLATION and options.accounts and garbage:
            # what else it may be called hangs on the whole log
            with options.budget.step("account"):
                return _with_account(part, library, verdict, options, 0.0)
        return verdict

    budget = options.budget
    isolation = options.isolation
    window = functools.cache(lambda: window_of(log, library, isolation, stopped))

    def refuted(name: str) -> Verdict | None:
        if name == BY_ROW:
            return refuted_by_one_row(log, library, isolation, stopped, judge)
        few = window()
        if few is None:
            return None
        if name == BY_STATE:
            return refuted_by_one_state(log, library, isolation, stopped, few, judge)
        return refuted_by_known_rows(log, library, stopped, few, judge)

    for name in ways:
        within = budget.within(effort=options.effort, seconds=options.timeout)
        with suppress(OutOfTime), within, budget.step(name) as tally:
            found = refuted(name)
            tally.helped += found is not None
            if found is not None:
                return found
    return None


def _is_apart(log: Log, place: int) -> bool:
    """Whether no times say that a transaction ran beside another one near it: then another order is no likely reason
    for what it read."""
    one = log.transactions[place]
    for number in range(max(0, place - SOME), min(len(log.transactions), place + SOME)):
        other = log.transactions[number]
        first, second = (other, one) if number < place else (one, other)
        if number == place or first.returned is None or second.invoked is None:
            continue
        if first.clock != second.clock or first.returned > second.invoked:
            return False
    return True


def stats_of(budget: Budget) -> tuple[StepCount, ...]:
    """What the steps came to that were taken with a budget."""
    return tuple(
        StepCount(one.name, one.tried, one.helped, one.units, round(one.seconds, 4)) for one in budget.tallies()
    )


def _audit(log: Log, library: SqlLibrary, options: Options, report: Progress) -> Verdict:
    budget = options.budget
    with budget.within(effort=options.effort, seconds=options.timeout), metered(budget.note_operands):
        # what goes straight needs none of this
        from troubadour.audit.searched import decided

        return decided(log, library, options, report)


def _straight(log: Log, library: SqlLibrary, options: Options, report: Progress) -> Verdict | Unexplained | None:
    """What the straight path says; None where that is nothing, or time is up."""

    def ask(progress: Callable[[int], None]) -> Verdict | Unexplained | None:
        return straight(
            log,
            library,
            options.isolation,
            order_recorded=options.order_recorded,
            max_staleness=options.max_staleness,
            progress=progress,
        )

    return _without_search("straight", log, options, report, ask)


def _in_turn(log: Log, library: SqlLibrary, options: Options, report: Progress) -> Verdict | None:
    """What replay says that chooses by itself what was read; None where that is nothing, or time is up."""
    if options.max_staleness is not None:
        return None

    def ask(progress: Callable[[int], None]) -> Verdict | None:
        return in_turn(log, library, options.isolation, order_recorded=options.order_recorded, progress=progress)

    return _without_search("in turn", log, options, report, ask)


def _without_search(
    name: str, log: Log, options: Options, report: Progress, ask: Callable[[Callable[[int], None]], _Asked]
) -> _Asked | None:
    """What a step comes to that searches nothing; None where it is not taken, or time is up."""
    if not (options.heuristics.straight and options.heuristics.stronger_first):
        return None
    total, budget = len(log.transactions), options.budget

    def looked(done: int) -> None:
        budget.left()
        report("searching", done, total)

    with budget.within(effort=options.effort, seconds=options.timeout), budget.step(name) as tally:
        try:
            found = ask(looked)
        except OutOfTime:
            return None
        tally.helped += isinstance(found, Verdict)
    return found

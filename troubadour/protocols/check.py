"""A protocol checked at a level: random runs, proof, bounded search (docs/protocols.md).

PROVED: every obligation was, twice, a run commits by every commit event, and where the level keeps an order of time a
run has it. REFUTED: a run is there whose history
the level does not allow (the caller has its log audited, too). OPEN: neither; a counterexample to induction refutes
nothing. Does not know how this is shown.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from enum import Enum

from sql_semantics.records import dataclass, field, replace
from troubadour.protocols.language import Model
from troubadour.protocols.levels import PROTOCOL_LEVELS, ProtocolLevel
from troubadour.protocols.proofs.induction import Counterexample, counterexample
from troubadour.protocols.proofs.obligations import Obligation, invariants_of, obligations_of
from troubadour.protocols.proofs.prove import Clock, Decided, OutOfTime, Prover, Way
from troubadour.protocols.runs.bounded import STATES, Found, Judge, search, search_programs
from troubadour.protocols.runs.machine import Bound, Machine, Programs
from troubadour.protocols.runs.possible import Possible, possible_events
from troubadour.protocols.runs.shorten import needed_programs, shortened, smaller_programs
from troubadour.protocols.runs.simulate import bound_of, read_programs, run
from troubadour.protocols.runs.trace import Trace
from troubadour.protocols.terms import ModelError

RUNS = 300
"""Random runs before the proof; where it fails, twenty times as many before the bounded search."""
GIVEN = 5_000
"""Random runs of programs that are given."""
MORE = 2
"""Transactions that random runs have beside those of the bound."""
SHORTENING = 100_000
"""States that are looked at to make a run shorter that breaks the level."""
FIRST_SHARE = 0.25
"""Of the time that is left, what random runs before the proof may take."""
SHARE = 0.5
"""Of the time that is left, what proofs may take, and what it may take to make a run shorter."""
LACKING = 5.0
"""Seconds at most for a counterexample to induction, and of the time limit this part of what is left."""
LACKING_SHARE = 0.1


class Verdict(Enum):
    """What a check came to."""

    PROVED = "proved"
    REFUTED = "refuted"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class Limits:
    """What a user may choose. `operations`: reads and writes of all programs of the bounded search together; `keeping`:
    a level that a refutation has to be allowed at, for one of what only the checked level refuses. `programs`: tried
    first (`read_programs`)."""

    bound: Bound = field(default_factory=Bound)
    operations: int = 4
    runs: int = RUNS
    seconds: float | None = None
    keeping: str | None = None
    programs: str = ""


@dataclass
class Outcome:
    """The verdict and what it rests on."""

    model: Model
    level: ProtocolLevel
    machine: Machine | None = None
    """That of the trace, where there is one."""
    verdict: Verdict = Verdict.OPEN
    obligations: list[Obligation] = field(default_factory=list)
    """In the order in which they are tried."""
    decided: list[Decided] = field(default_factory=list)
    trace: Trace | None = None
    found: Found = field(default_factory=Found)
    possible: dict[str, Possible] = field(default_factory=dict)
    """By event, where runs and bounded searches left an event untaken."""
    runs: int = 0
    lacking: Counterexample | None = None
    reason: str | None = None

    @property
    def failed(self) -> list[Decided]:
        """The obligations that were tried and not proved."""
        return [one for one in self.decided if not one.proved]

    @property
    def undecided(self) -> list[Obligation]:
        """The obligations that were not tried."""
        return self.obligations[len(self.decided) :]

    @property
    def unreached(self) -> list[str]:
        """The events that no run took."""
        return [one.name for one in self.model.events if one.name not in self.found.events]

    def disputed(self, said: str) -> None:
        """The audit of the run's log did not find a violation: nothing is refuted then."""
        self.verdict = Verdict.OPEN
        self.reason = f"a run breaks the level, but the audit of its log says {said}"


Progress = Callable[[str, int, int], None]


def check(model: Model, level_name: str, limits: Limits, progress: Progress | None = None) -> Outcome:
    """Raises ModelError where the model or the level cannot be used."""
    if level_name not in PROTOCOL_LEVELS:
        raise ModelError(f"unknown level {level_name!r}; known are {', '.join(PROTOCOL_LEVELS)}")
    clock = Clock(limits.seconds)
    level = PROTOCOL_LEVELS[level_name]
    keeping = None if limits.keeping is None else PROTOCOL_LEVELS[limits.keeping]
    outcome = Outcome(model, level)
    if model.abstraction:
        # what the level asks comes first: where that fails, the rest is the same at every level
        outcome.obligations = sorted(obligations_of(model, level), key=lambda one: one.kind != "refinement")
    report = progress or (lambda phase, done, total: None)

    def judge_of(bound: Bound) -> Judge:
        return Judge(Machine(model, bound, clock.left), level, keeping, clock.left)

    try:
        judge = judge_of(limits.bound)
        judge_wide = judge_of(replace(limits.bound, transactions=limits.bound.transactions + MORE))
        wrong = None
        given = limits.programs or model.programs
        if given:
            tried = judge_of(bound_of(given, limits.bound))
            wrong = _random_runs(outcome, tried, clock, 0, GIVEN, read_programs(given, tried.machine.bound))
            if wrong is not None:
                judge_wide = tried
        if wrong is None:
            with suppress(OutOfTime):
                wrong = _random_runs(outcome, judge_wide, clock.part(FIRST_SHARE), 0, limits.runs)
            clock.left()
        if wrong is None and keeping is None and _proved(outcome, clock, report):
            _reach(outcome, judge_wide, clock, limits)
        else:
            if wrong is None:
                _lacking(outcome, clock)
                wrong = _random_runs(outcome, judge_wide, clock, limits.runs, 20 * limits.runs)
            if wrong is not None:
                # what is left is for the audit of its log
                _shorten(outcome, judge_wide, clock.part(SHARE), wrong)
            else:
                report("searching", 0, limits.operations)
                outcome.trace = search(judge.machine, judge, clock.left, limits.operations, outcome.found).trace
                outcome.machine = judge.machine
                _ask_guards(outcome, limits, clock)
    except OutOfTime:
        outcome.reason = "the time limit was reached"
    _conclude(outcome)
    return outcome


def _conclude(outcome: Outcome) -> None:
    commits = [one.name for one in outcome.model.events if one.refines == "commit"]
    missing = [name for name in commits if name not in outcome.found.events]
    if outcome.trace is not None:
        outcome.verdict = Verdict.REFUTED
        outcome.lacking = None
    elif outcome.obligations and len(outcome.decided) == len(outcome.obligations) and not outcome.failed:
        if missing:
            outcome.reason = f"{_unreached(outcome, missing)}, so the proof may be of nothing"
        elif (lack := outcome.found.committed.lacks(outcome.level)) is not None:
            outcome.reason = f"{lack} in any run tried, so the proof may be of nothing where order is kept"
        else:
            outcome.verdict = Verdict.PROVED
            outcome.reason = None
    elif missing and outcome.reason is None:
        outcome.reason = _unreached(outcome, missing)
    elif outcome.reason is None:
        outcome.reason = "not every obligation was proved, and no run within the bound breaks the level"


def _unreached(outcome: Outcome, missing: list[str]) -> str:
    said = [f"{name} ({outcome.possible[name].value})" if name in outcome.possible else name for name in missing]
    return f"no run within the bound reaches {', '.join(said)}"


def _random_runs(
    outcome: Outcome, judge: Judge, clock: Clock, first: int, count: int, programs: Programs | None = None
) -> Trace | None:
    """Runs by seeds from the first; one whose history is refused ends them."""
    machine = judge.machine
    for seed in range(first, first + count):
        clock.left()
        trace = run(machine, seed, programs, clock.left)
        if trace is None:
            return None
        outcome.runs += 1
        outcome.found.events.update(taken.event.name for taken in trace.steps)
        outcome.found.committed.note(trace.programs, trace.seen)
        if judge.refuses(trace.programs, trace.initial, trace.seen):
            return trace
    return None


def _proved(outcome: Outcome, clock: Clock, report: Progress) -> bool:
    """Whether every obligation was; they stop at one that was not."""
    if not outcome.obligations:
        outcome.reason = f"{outcome.model.name} has no abstraction, so nothing can be proved"
        return False
    prover = Prover(invariants_of(outcome.model), clock.part(SHARE))
    for count, one in enumerate(outcome.obligations):
        report("proving", count, len(outcome.obligations))
        try:
            outcome.decided.append(prover.decide(one))
        except OutOfTime:
            clock.left()
            outcome.decided.append(Decided(one, Way.NOT, 0.0, "half of the time limit had passed"))
        if outcome.failed:
            return False
    return True


def _lacking(outcome: Outcome, clock: Clock) -> None:
    """A counterexample to the induction of what was not proved."""
    if outcome.failed:
        left = _part_for_reasons(clock)
        with suppress(OutOfTime):
            outcome.lacking = counterexample(outcome.model, outcome.failed[0].obligation, left(), left)
        clock.left()


def _ask_guards(outcome: Outcome, limits: Limits, clock: Clock) -> None:
    """Whether the guards of events that no run took hold together anywhere."""
    if outcome.unreached:
        left = _part_for_reasons(clock)
        with suppress(OutOfTime):
            for name, found in possible_events(outcome.model, limits.bound, outcome.found.events, left):
                outcome.possible[name] = found
        clock.left()


def _part_for_reasons(clock: Clock) -> Callable[[], float]:
    """The seconds that are left for why a proof fails or an event is not taken; raises OutOfTime where none are."""
    part = Clock(clock.part(LACKING_SHARE).left(LACKING))
    return part.left


def _reach(outcome: Outcome, judge: Judge, clock: Clock, limits: Limits) -> None:
    """More runs where an event was not taken yet: a proof of what never happens says nothing."""
    first = limits.runs
    while (outcome.unreached or outcome.found.committed.lacks(outcome.level)) and first < 10 * limits.runs:
        wrong = _random_runs(outcome, judge, clock, first, limits.runs)
        assert wrong is None, "a run breaks what was proved"
        first += limits.runs
    _ask_guards(outcome, limits, clock)


def _shorten(outcome: Outcome, judge: Judge, clock: Clock, wrong: Trace) -> None:
    """The run with what it needs only, and where that is found, the shortest one of its programs."""
    outcome.trace, outcome.machine = wrong, judge.machine
    try:
        outcome.trace = wrong = shortened(judge.machine, judge, wrong, clock.left)
        programs = needed_programs(judge.machine, wrong)
        left = [SHORTENING]
        shorter = _shortest(outcome, judge, clock, programs, left)
        if shorter is not None and len(shorter.steps) <= len(wrong.steps):
            outcome.trace = shorter
        else:
            return
        smaller: Trace | None = shorter
        while smaller is not None:
            outcome.trace = smaller
            tried = (_shortest(outcome, judge, clock, one, left) for one in smaller_programs(smaller.programs))
            smaller = next((one for one in tried if one is not None), None)
    except OutOfTime:
        return


def _shortest(outcome: Outcome, judge: Judge, clock: Clock, programs: Programs, left: list[int]) -> Trace | None:
    """The shortest run of these programs that is refused, where their states are few enough."""
    if left[0] <= 0:
        return None
    found = Found(events=outcome.found.events)
    search_programs(judge.machine, programs, judge, clock.left, found, min(left[0], STATES))
    left[0] -= found.states
    outcome.found.states += found.states
    outcome.found.programs += found.programs
    return found.trace

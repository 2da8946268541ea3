"""A hunt: case after case on one engine, each run, recorded and audited; what is found is made small and kept.

Does not know how a finding is shown, nor what the command line is.
"""

from __future__ import annotations

import fcntl
import json
import re
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from sql_semantics.library import SqlLibrary
from sql_semantics.records import dataclass, field, replace
from troubadour.hunt import findings
from troubadour.hunt.against import disagreement
from troubadour.hunt.case import ALONE, CANCEL, KILL, VANISH, Case, Step
from troubadour.hunt.engines.protocol import Engine, EngineError
from troubadour.hunt.findings import Found, Known
from troubadour.hunt.generate.cases import EVERY, make
from troubadour.hunt.generate.pieces import piece
from troubadour.hunt.generate.seldom import Seldom, seldom_from
from troubadour.hunt.judge import Judged, judge, shape
from troubadour.hunt.libraries import Libraries
from troubadour.hunt.orders import every_order
from troubadour.hunt.schedule import NotMade, Ran, run
from troubadour.hunt.shrink import in_a_row, shrink
from troubadour.model.log import Header

PATIENCE = 30.0
"""Seconds that the audit of one run is given."""
SHRINKING = 60.0
"""Seconds of the processor, this program's, that one finding is made small for."""
ATTEMPTS = 1500
AGAIN = 5
"""Runs of the small case that tell how often it comes."""
FORMAT = 2
"""Of the file of the state; one of another form is of another hunt."""
STATE, LOCK = "state.json", "lock"
_DISTURBING = (KILL, VANISH, CANCEL)


class Unusable(Exception):
    """The folder cannot be used."""


@dataclass(slots=True)
class Tally:
    """How it stands. `orders`: runs of cases that are run in every order of their statements; `all_orders`: those of
    which all were. `verdicts`: of runs; `weaker`: runs that are right at the product's profile and a violation of the
    level of the literature that its name stands for. `again`: runs that were undecided for want of an order and were
    run once more, one transaction after another. `seconds`: of the engine, of audits and of making small."""

    cases: int = 0
    orders: int = 0
    all_orders: int = 0
    runs: int = 0
    transactions: int = 0
    statements: int = 0
    judged: int = 0
    waited: int = 0
    again: int = 0
    verdicts: Counter[str] = field(default_factory=Counter)
    weaker: Counter[str] = field(default_factory=Counter)
    undecided: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    new: Counter[str] = field(default_factory=Counter)
    known: Counter[str] = field(default_factory=Counter)
    seconds: dict[str, float] = field(default_factory=dict)

    def took(self, what: str, seconds: float) -> None:
        """So many seconds more."""
        self.seconds[what] = self.seconds.get(what, 0.0) + seconds

    def as_json(self) -> dict[str, Any]:
        """For the file of the state."""
        values = {name: getattr(self, name) for name in self.__slots__}
        return {name: dict(value) if isinstance(value, dict) else value for name, value in values.items()}

    @property
    def status(self) -> int:
        """The exit status: 1 a new finding, 3 nothing but undecided runs, else 0."""
        if self.new:
            return 1
        decided = self.verdicts["correct"] + self.verdicts["violation"]
        return 0 if decided or self.known else 3


_NUMBERS = ("cases", "orders", "all_orders", "runs", "transactions", "statements", "judged", "waited", "again")


def _tally(found: dict[str, Any]) -> Tally:
    """From the file of the state."""
    tally = Tally(*(found[name] for name in _NUMBERS))
    tally.seconds = dict(found["seconds"])
    for name in ("verdicts", "weaker", "undecided", "refused", "new", "known"):
        getattr(tally, name).update(found[name])
    return tally


@dataclass(frozen=True, slots=True)
class Plan:
    """What the user asked for. `levels`: names of the engine's, taken in turn. `against`: an engine whose answers are
    compared."""

    levels: tuple[str, ...]
    seed: int
    sessions: int
    out: Path
    against: Engine | None = None


class Hunt:
    """One hunt. Goes on where the folder has one of the same engine, seed and levels. Raises Unusable."""

    def __init__(self, engine: Engine, plan: Plan, told: Callable[[Found, Path, Known | None], None]) -> None:
        self._engine, self._plan, self._told = engine, plan, told
        self._known = findings.known_ones()
        self._libraries = Libraries()
        self._progress: Callable[[Tally], None] = lambda tally: None
        self._begun = {
            "state": FORMAT, "engine": engine.name, "dbms": engine.dbms, "levels": list(plan.levels), "seed": plan.seed,
            "sessions": plan.sessions,
        }  # fmt: skip
        self.tally, self._folders, self._seldom = self._kept()
        self._lock = self._locked()
        self._keep()

    def _locked(self) -> IO[str]:
        """Held as long as this object is."""
        lock = (self._plan.out / LOCK).open("w", encoding="utf-8")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            lock.close()
            raise Unusable(f"another hunt is at work in {self._plan.out}; give another --out") from error
        return lock

    def close(self) -> None:
        """Leave the folder to others."""
        self._lock.close()

    def _kept(self) -> tuple[Tally, dict[str, str], Seldom]:
        path = self._plan.out / STATE
        try:
            self._plan.out.mkdir(parents=True, exist_ok=True)
            if not path.exists():
                if any(each.name not in (LOCK, f"{path.stem}.new") for each in self._plan.out.iterdir()):
                    raise Unusable(f"{self._plan.out} is not empty, and no hunt of this program has been there")
                return Tally(), {}, Seldom()
            found = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, json.JSONDecodeError) as error:
            raise Unusable(f"{path}: {error}") from error
        if found.get("hunt") != self._begun:
            raise Unusable(f"{path} is of another hunt: {found.get('hunt')}; give another --out")
        return _tally(found["tally"]), dict(found["folders"]), seldom_from(found["constructs"])

    def _keep(self) -> None:
        state = {
            "hunt": self._begun, "tally": self.tally.as_json(), "folders": self._folders,
            "constructs": self._seldom.as_json(),
        }  # fmt: skip
        path = self._plan.out / STATE
        fresh = path.with_suffix(".new")
        fresh.write_text(json.dumps(state, indent=1) + "\n", encoding="utf-8")
        fresh.replace(path)

    def until(self, deadline: float, progress: Callable[[Tally], None]) -> Tally:
        """Go on until a moment of the monotonic clock; one case at least. Raises EngineError, OSError."""
        self._progress = progress
        while True:
            self._one(self._case(self._plan.seed + self.tally.cases), deadline)
            self.tally.cases += 1
            self._keep()
            progress(self.tally)
            if time.monotonic() >= deadline:
                return self.tally

    def _case(self, seed: int) -> Case:
        levels = self._plan.levels
        begun = time.monotonic()
        disturbances = [VANISH, KILL] if self._engine.crashes else [VANISH]
        disturbances += [] if self._engine.dialect in ("sqlite", "duckdb") else [CANCEL, CANCEL]
        level = levels[seed % len(levels)]
        case = make(seed, self._engine.dialect, level, self._plan.sessions, disturbances, self._seldom, self._library)
        self.tally.took("generated", time.monotonic() - begun)
        return case

    def _library(self, schema: Sequence[str], routines: Sequence[str]) -> SqlLibrary:
        """The one that a log of the case will be judged with."""
        engine = self._engine
        header = Header(
            engine.dialect, tuple(schema), engine.dbms, procedures=tuple(routines), settings=engine.settings()
        )
        return self._libraries.before(header)

    # --- one case -----------------------------------------------------------------------------------------------------

    def _run(self, case: Case) -> Ran:
        """An engine that is gone before a case has begun is started again, twice. Raises NotMade, EngineError."""
        for left in (2, 1, 0):
            try:
                ran = run(self._engine, case)
                if ran.died is not None:
                    self._engine.restart()
                return ran
            except EngineError:
                if not left:
                    raise
            with suppress(EngineError):
                self._engine.restart()
        raise AssertionError("the last try returns or raises")

    def _judged(self, ran: Ran, level: str | None = None, named: bool = False) -> Judged:
        with tempfile.TemporaryDirectory(prefix="troubadour-hunt-") as folder:
            log = Path(folder) / "log.jsonl"
            ran.write(log)
            return judge(log, PATIENCE, level, named, self._libraries)

    def _one(self, case: Case, deadline: float) -> None:
        """One case, of two sessions perhaps in every order."""
        if case.flavour != EVERY:
            self._in_this_order(case)
            return
        found, apart = len(self._folders), self._engine.dialect != "sqlite"
        for order in every_order(case, apart):
            self._in_this_order(order)
            self.tally.orders += 1
            if len(self._folders) > found or time.monotonic() >= deadline:
                return  # the others would show the same once more
        self.tally.all_orders += 1

    def _in_this_order(self, case: Case) -> None:
        tally = self.tally
        begun = time.monotonic()
        try:
            ran = self._run(case)
        except NotMade as refused:
            tally.refused[shape(str(refused).partition(": ")[2])[:100]] += 1
            return
        ended = time.monotonic()
        tally.took("run", ended - begun)
        judged = self._judged(ran)
        tally.took("audited", time.monotonic() - ended)
        tally.runs += 1
        tally.transactions += len(ran.lines)
        tally.waited += ran.waited
        tally.statements += judged.statements
        tally.judged += judged.judged
        tally.verdicts[judged.status] += 1
        self._seldom.count(case.features, judged.status != "undecided")
        if judged.status == "undecided":
            tally.undecided.update(reasons(judged))
        if judged.status == "correct" and "hot" in case.flavour:
            self._generally(case, ran)
        for kind, said, statement in _accusations(ran, judged):
            self._found(case, kind, said, statement, ran, judged)
        if judged.status == "undecided" and not judged.unjudged:
            self._in_a_row(case)
        if self._plan.against is not None:
            self._compare(case)

    def _generally(self, case: Case, ran: Ran) -> None:
        """Whether the level that the product's name stands for holds, too."""
        level = self._engine.levels[case.level]
        if level.general != level.profile and self._judged(ran, level.general).status == "violation":
            self.tally.weaker[f"{level.profile} allowed what {level.general} does not"] += 1

    def _in_a_row(self, case: Case) -> None:
        """The same transactions one after another: where no order was found, that may tell whether there is one."""
        serial = in_a_row(case)
        try:
            ran = self._run(serial)
        except NotMade:
            return
        judged = self._judged(ran)
        self.tally.again += 1
        for kind, said, statement in _accusations(ran, judged):
            self._found(serial, kind, said, statement, ran, judged)

    # --- what is found ------------------------------------------------------------------------------------------------

    def _found(self, case: Case, kind: str, said: str, statement: str, first: Ran, judged: Judged) -> None:
        begun, used = time.monotonic(), time.process_time()
        found = Found(kind, self._engine.name, self._engine.dbms, case.level, case.seed, said, statement)
        label = _label(kind, said)
        tries = cut = 0

        def shows(smaller: Case) -> bool:
            nonlocal tries, cut
            tries += 1
            self._progress(self.tally)
            if tries > ATTEMPTS or time.process_time() - used > SHRINKING:
                cut += 1
                return False
            return self._again(smaller, kind, label) is not None

        for fewer in _cores(case, judged):
            if shows(fewer):
                case = fewer
                break
        small = shrink(case, shows)
        shown = [one for _ in range(AGAIN) if (one := self._again(small, kind, label)) is not None]
        if not shown:
            small, shown = case, [one for _ in range(AGAIN) if (one := self._again(case, kind, label)) is not None]
        ran, said, statement = shown[0] if shown else (first, said, statement)
        named = self._judged(ran, named=True) if kind == "violation" else None
        found = replace(
            found, said=said, statement=statement, rate=f"{len(shown)} of {AGAIN}", small=bool(shown) and not cut,
            anomaly=named.anomaly if named is not None else "",
        )  # fmt: skip
        known = findings.known_as(found, small, self._known, self._cured)
        self._write(found, small, ran, named, known)
        self.tally.took("shrunk", time.monotonic() - begun)

    def _cured(self, case: Case, text: str) -> bool:
        """Whether the case is right where each session sends a statement first."""
        last = max(case.transactions)
        first = [Step(session, last + 1 + n, ALONE, piece(text)) for n, session in enumerate(case.sessions)]
        try:
            ran = self._run(replace(case, steps=(*first, *case.steps)))
        except NotMade:
            return False
        return ran.died is None and not ran.internal and self._judged(ran).status == "correct"

    def _compare(self, case: Case) -> None:
        """The same transactions one after another, here and on the other engine."""
        serial = in_a_row(replace(case, steps=tuple(step for step in case.steps if step.role not in _DISTURBING)))
        apart = self._apart(serial)
        if apart is not None:
            ran, said, statement = apart
            self._found(serial, "disagreement", said, statement, ran, Judged("correct", ""))

    def _apart(self, case: Case) -> tuple[Ran, str, str] | None:
        """What ran here, and where the other engine answers otherwise."""
        other = self._plan.against
        assert other is not None
        try:
            ran, beside = self._run(case), run(other, case)
        except NotMade:
            return None
        if beside.died is not None:
            other.restart()
        found = disagreement(ran, beside)
        return None if found is None else (ran, *found)

    def _again(self, case: Case, kind: str, label: str) -> tuple[Ran, str, str] | None:
        """The finding in a case: what ran, what is said of it and the statement; None where it is not there, of
        sessions that run freely in none of several runs."""
        if kind == "disagreement":
            return self._apart(case)
        for _ in range(AGAIN if "free" in case.flavour and len(case.sessions) > 1 else 1):
            try:
                ran = self._run(case)
            except NotMade:
                return None
            for other, said, statement in _accusations(ran, self._judged(ran)):
                if other == kind and _label(other, said) == label:
                    return ran, said, statement
        return None

    def _write(self, found: Found, case: Case, ran: Ran, judged: Judged | None, known: Known | None) -> None:
        first = found.fingerprint not in self._folders
        name = self._folders.setdefault(
            found.fingerprint, f"{found.kind.replace(' ', '-')}-{len(self._folders) + 1}-{found.fingerprint}"
        )
        folder = self._plan.out / name
        if first:
            findings.write(folder, found, case, ran, judged, known)
            self._told(found, folder, known)
        self._count(found, known)

    def _count(self, found: Found, known: Known | None) -> None:
        if known is not None:
            self.tally.known[known.why] += 1
        else:
            self.tally.new[self._folders.get(found.fingerprint, found.fingerprint)] += 1


def _cores(case: Case, judged: Judged) -> Iterator[Case]:
    """The case with the transactions that a violation names, and with those up to the one that fails."""
    verdict = judged.verdict
    if judged.status != "violation" or verdict is None:
        return
    core = {f"{name}" for name in verdict.core or ()}
    named = frozenset(each for each in case.transactions if f"t{each}" not in core)
    if len(named) < len(case.transactions):
        yield case.without(named)
        yield in_a_row(case.without(named))
    failing = next((each for each in case.transactions if f"t{each}" == judged.failing), None)
    if failing is not None:
        last = max(place for place, step in enumerate(case.steps) if step.transaction == failing)
        later = {step.transaction for step in case.steps[last + 1 :]}
        yield case.without(frozenset(later - {step.transaction for step in case.steps[: last + 1]}))


def _accusations(ran: Ran, judged: Judged) -> list[tuple[str, str, str]]:
    """What a run is accused of: kind, what is said, and the statement. After an internal error the engine may answer
    anything: that is one finding."""
    found = [("internal error", own_fault(message), "") for message in ran.internal[:1]]
    if ran.died is not None:
        last = str(ran.sent[-1].text) if ran.sent else ""
        found.append(("crash", ran.died, last))
    if judged.status == "violation" and not found:
        found.append(("violation", judged.said, judged.statement))
    if judged.status == "fault":
        found.append(("fault", judged.said, ""))
    return found


def own_fault(message: str) -> str:
    """Of a message the line in which the engine blames itself."""
    lines = message.splitlines()
    marks = [line[line.index("INTERNAL Error") :] for line in lines if "INTERNAL Error" in line]
    return (marks or lines or [message])[0]


_SAID = (("succeeded, but must fail", "no error"), ("answered error", "error"))
"""What is said of a violation, and what is told apart by it; of one fault the other texts differ with the log."""


def _label(kind: str, said: str) -> str:
    """What has to stay as a case is made small."""
    if kind in ("internal error", "fault"):
        return shape(said.splitlines()[0] if said else "")[:60]
    if kind != "violation":
        return ""
    return next((label for part, label in _SAID if part in said), "answer")


def reasons(judged: Judged) -> list[str]:
    """Why a run is undecided: the constructs that are not modelled, or what stopped the audit."""
    if judged.unjudged:
        return [f"not modelled: {name}" for name in judged.unjudged]
    return [re.sub(r"'?t\d+'?", "t", shape(judged.said.split(":")[0].split(";")[0]))[:100]]

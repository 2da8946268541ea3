"""Search and oracle agree on random logs: verdict and verified prefix, at every level, in searched and in recorded
order, whatever heuristics are on.

What a verdict carries is checked as far as it can be: witnesses by replay; cores by the oracle, on the log in which the
failing prefix keeps only the core's observations. Does not check that a core is minimal.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from itertools import product

import msgspec
import pytest

from sql_semantics.library import SqlLibrary
from tests.property.random_logs import LEVELS, random_log, write
from tests.property.random_statements import library
from troubadour.audit.driver import Options, audit
from troubadour.isolation.levels import LEVELS as ALL_LEVELS
from troubadour.isolation.levels import implied_by
from troubadour.model.log import Log, LogError, Statement, TransactionId
from troubadour.model.verdict import Scope, Status, Verdict
from troubadour.oracle import OracleAnswer, explain
from troubadour.problem.problem import Heuristics
from troubadour.replay.checker import check
from troubadour.replay.commit_tests.levels import is_judged, level_of

MODELLED = tuple(name for name, level in ALL_LEVELS.items() if level.dialect in (None, "postgres"))

OWN = "each its own"
"""No level for all: each transaction's own, else the header's."""

AUDITED = (*LEVELS, OWN)
COMBINATIONS = tuple(
    Heuristics(index, window, concretize, stronger, straight=False)
    for index, window, concretize, stronger in product((True, False), (None, 1, 8), (True, False), (True, False))
)
"""Ways to search: what goes straight is compared with these in `test_straight`."""
RUNS = 2
"""Combinations that each seed is audited under, at one level and in one kind of order."""

FAST, SLOW = range(12), range(12, 2220)
"""`make slow` has the second, and `make oracle` as many as one likes."""
BLOCK, SLOW_BLOCK = 20, 100
LATTICE, MANY_LATTICE = range(5000, 5006), range(5006, 5326)
SECONDS = 600.0
"""Far more than any of these logs takes; what reaches it is undecided, and fails."""


def blocks(seeds: range, size: int) -> list[range]:
    return [seeds[start : start + size] for start in range(0, len(seeds), size)]


def heuristics_of(seed: int, level: str, recorded: bool) -> list[Heuristics]:
    """Two combinations that differ in several switches; others for the next seed, level and kind of order."""
    turn = 5 * AUDITED.index(level) + 11 * recorded + RUNS * seed
    return [COMBINATIONS[7 * (turn + run) % len(COMBINATIONS)] for run in range(RUNS)]


@cache
def log_of(seed: int) -> Log:
    return random_log(seed)


def isolation(level: str) -> str | None:
    return None if level == OWN else level


def audited(log: Log, level: str, recorded: bool, heuristics: Heuristics) -> Verdict:
    options = Options(isolation(level), recorded, timeout=SECONDS, heuristics=heuristics)
    return audit(log, library(), options)


@pytest.mark.parametrize("concretize", [True, False])
def test_what_a_session_committed_is_seen_and_not_all_that_stands_before_it(concretize: bool) -> None:
    log, level = random_log(1000022), "session-read-atomic"
    answer = explain(log, library(), level, budget=400_000)
    wide = Heuristics(window=8, concretize=concretize, stronger_first=False)
    verdict = audited(log, level, False, wide)
    assert difference(log, level, False, answer, verdict) is None, f"{verdict}\n{write(log)}"


def test_all_combinations_of_heuristics_occur() -> None:
    for level in AUDITED:
        for recorded in (False, True):
            chosen = [heuristics_of(seed, level, recorded) for seed in FAST]
            assert {heuristics for some in chosen for heuristics in some} == set(COMBINATIONS)
            assert all(len(set(some)) == RUNS for some in chosen)


@pytest.mark.parametrize("seed", [91000729, 93000145])
def test_a_set_holds_what_one_that_reads_a_state_saw(seed: int) -> None:
    """The one that reads a state is kept by formulas, the reader at `causal` runs concretely."""
    log = random_log(seed, sets=True)
    answer = explain(log, library(), None, budget=400_000)
    plain = Heuristics(index=False, window=1, concretize=False, stronger_first=False)
    verdict = audited(log, OWN, False, plain)
    assert difference(log, OWN, False, answer, verdict) is None, f"{verdict}\n{write(log)}"


@pytest.mark.parametrize("level", AUDITED)
@pytest.mark.parametrize("seeds", blocks(FAST, BLOCK), ids=str)
def test_search_and_oracle_agree(seeds: range, level: str) -> None:
    compare(seeds, level)


@pytest.mark.slow
@pytest.mark.parametrize("level", AUDITED)
@pytest.mark.parametrize("seeds", blocks(SLOW, SLOW_BLOCK), ids=str)
def test_search_and_oracle_agree_on_many(seeds: range, level: str) -> None:
    compare(seeds, level)


def compare(seeds: range, level: str) -> None:
    for seed in seeds:
        log = log_of(seed)
        for recorded in (False, True):
            answer = explain(log, library(), isolation(level), recorded)
            for heuristics in heuristics_of(seed, level, recorded):
                verdict = audited(log, level, recorded, heuristics)
                fault = difference(log, level, recorded, answer, verdict)
                if fault is not None:
                    order = "recorded order" if recorded else "every order"
                    pytest.fail(f"seed {seed} at {level}, {order}, {heuristics}: {fault}\n{verdict}\n{write(log)}")


def difference(
    log: Log, level: str, recorded: bool, answer: OracleAnswer, verdict: Verdict, compiled: SqlLibrary | None = None
) -> str | None:
    """What is wrong with a verdict, if anything; `compiled` is the log's library where that is another one."""
    compiled = compiled or library()
    found, wanted = (verdict.status, verdict.verified_prefix), (answer.status, answer.verified_prefix)
    if found != wanted:
        return f"search says {found}, the oracle {wanted}"
    if verdict.status is Status.CORRECT:
        assert verdict.witness is not None
        refusal = check(log, verdict.witness, compiled, isolation=isolation(level), order_recorded=recorded)
        return None if refusal is None else f"replay refuses the witness: {refusal}"
    if verdict.failing_transaction != answer.failing:
        return f"{answer.failing} fails, not {verdict.failing_transaction}"
    return wrong_scope(recorded, verdict) or wrong_core(log, level, recorded, verdict, compiled)


def wrong_scope(recorded: bool, verdict: Verdict) -> str | None:
    """These logs are so small that every order is searched where it is open."""
    wanted = Scope.RECORDED_ORDER if recorded else Scope.EVERY_ORDER
    return None if verdict.scope is wanted else f"scope {verdict.scope}"


def wrong_core(log: Log, level: str, recorded: bool, verdict: Verdict, compiled: SqlLibrary) -> str | None:
    judged = judged_by(log, level, recorded)
    failing = verdict.failing_transaction
    assert failing is not None
    place = judged.index(failing)
    core = verdict.core
    if not core or len(set(core)) < len(core):
        return "the core is empty or has a transaction twice"
    prefix = {*judged[: place + 1], *(t.id for t in log.transactions if t.status == "unknown")}
    if not set(core) <= (prefix if recorded else prefix.union(judged)):
        return "the core is not of the failing prefix"
    if failing not in core and must_contain_failing(log, level, recorded):
        return "the failing transaction is not in the core"
    stripped = with_observations_of(log, set(core), prefix)
    answer = explain(stripped, compiled, isolation(level), recorded)
    if answer.failing is None or judged.index(answer.failing) > place:
        return f"the core's observations alone are explained by {answer.witness}"
    return None


def judged_by(log: Log, level: str, recorded: bool) -> list[TransactionId]:
    """The transactions that an order must have, in hint order."""
    levels = ((transaction, level_of(transaction, log, isolation(level))) for transaction in log.transactions)
    return [transaction.id for transaction, own in levels if is_judged(transaction, own, order_recorded=recorded)]


def must_contain_failing(log: Log, level: str, recorded: bool) -> bool:
    """Whether a core has to contain the failing transaction.

    In the recorded order it comes last. Elsewhere take a witness of the prefix before it, with whichever later ones
    that needs, and put it at the end with writes that change nothing: it is in nobody's way, so a core without it is
    explained, as it holds only what the explained prefix explains. Only real time and a bound
    commit order may refuse that place, and tie two others by standing between them (a < failing by one clock,
    failing < b by another).
    """
    if recorded:
        return True
    levels = [ALL_LEVELS[isolation(level) or t.isolation or str(log.header.isolation)] for t in log.transactions]
    return log.header.order != "exact" and not any(one.real_time for one in levels)


def with_observations_of(log: Log, core: set[str | int], prefix: set[str | int]) -> Log:
    """The log without what the others of the failing prefix observed (unknown outcomes count to it). That leaves
    less open than unknown writes do: real ones are one case of them. So it is contradictory if the core is."""

    def blind(statement: Statement) -> Statement:
        if statement.error is not None:
            return statement
        # "the rows that it wrote" are none where it reported none
        wrote_nothing = 0 if statement.affected == 0 else None
        return msgspec.structs.replace(statement, results=None, several=False, affected=wrote_nothing)

    transactions = [
        msgspec.structs.replace(t, statements=tuple(map(blind, t.statements))) if t.id in prefix - core else t
        for t in log.transactions
    ]
    return Log(log.header, transactions, log.digest)


@pytest.mark.parametrize("recorded", [False, True], ids=["every order", "recorded order"])
@pytest.mark.parametrize(
    "seeds",
    [
        *blocks(LATTICE, BLOCK // 2),
        *(pytest.param(seeds, marks=pytest.mark.slow) for seeds in blocks(MANY_LATTICE, SLOW_BLOCK)),
    ],
    ids=str,
)
def test_what_a_stronger_level_accepts_a_weaker_one_accepts(seeds: range, recorded: bool) -> None:
    """Beginning by beginning. `order: exact` binds the snapshots, but not the serial orders, so it is left out; so are
    levels that go by timestamps which a log lacks."""
    for seed in seeds:
        log = log_of(seed)
        if log.header.order == "exact":
            continue
        prefixes: dict[str, int] = {}
        for level in MODELLED:
            with suppress(LogError):
                prefixes[level] = audited(log, level, recorded, Heuristics()).verified_prefix
        assert prefixes.keys() >= {level for level in MODELLED if not ALL_LEVELS[level].ordered}
        for strong in prefixes:
            for weak in implied_by(strong) & prefixes.keys():
                assert prefixes[strong] <= prefixes[weak], f"seed {seed}, {strong} and {weak}\n{write(log)}"

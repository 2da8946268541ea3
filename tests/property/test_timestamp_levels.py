"""At the levels by timestamps the audit of a log's SQL, the decision by timestamps, the oracle and both replays say the
same, and the ledger has the same violations whatever the order of arrival."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from unittest import mock

import pytest

from sql_semantics.library import SqlLibrary
from tests.property.object_logs import Draft
from tests.property.timestamped_logs import KINDS, partly_numbered, timestamped_log
from tests.unit.test_objects_ahead import AtOnce
from troubadour.audit.driver import Options, audit
from troubadour.audit.objects.decide import ObjectOptions, decide_objects
from troubadour.audit.objects.second import by_sql
from troubadour.audit.objects.timestamps import refuted
from troubadour.coverage.library import library_for
from troubadour.formats.objects.expand import expanded
from troubadour.model.log import Log
from troubadour.model.objects import ObjectLog
from troubadour.model.verdict import Status
from troubadour.oracle import explain
from troubadour.replay.checker import check as check_sql
from troubadour.replay.objects import check as check_columns
from troubadour.replay.objects.windows import explained
from troubadour.timestamps.counted import PART, doubt
from troubadour.timestamps.ledger import Ledger, Rules
from troubadour.timestamps.offline import initial_of, ledger_of, stamped
from troubadour.timestamps.store import Store

LEVELS = ("timestamp-snapshot", "timestamp-serializable")


_libraries: dict[tuple[str, str], SqlLibrary] = {}
"""By the header of a log in SQL and the level: those of one kind are alike."""


def in_sql(log: ObjectLog, level: str) -> tuple[Log, SqlLibrary]:
    """A log in SQL, and its library, which is made once for logs that are alike."""
    sql = expanded(log)
    about = repr(sql.header), level
    if about not in _libraries:
        told, _libraries[about] = library_for(sql, level)
        assert told.header == sql.header and list(told.transactions) == list(sql.transactions)
    return sql, _libraries[about]


def compared(kind: str, seeds: Iterable[int], drafted: Callable[[str, int], Draft] = timestamped_log) -> Counter[str]:
    """What the judges say, each as the oracle does."""
    counts: Counter[str] = Counter()
    for seed in seeds:
        log = drafted(kind, seed).read()
        for level in LEVELS:
            sql, library = in_sql(log, level)
            answer = explain(sql, library, level)
            verdict = audit(sql, library, Options(level))
            where = f"{kind} {seed} at {level}"
            counts[answer.status.value] += 1
            timed = decide_objects(log, ObjectOptions(level), by_sql)
            if timed is not None:
                counts["by timestamps"] += 1
                assert (timed.status, timed.verified_prefix) == (answer.status, answer.verified_prefix), where
                assert timed.violations is None or timed.violations.count, where
            if verdict.status is Status.UNDECIDED:
                assert sql.unknown, where
                counts["open"] += 1
                continue
            assert (verdict.status, verdict.verified_prefix) == (answer.status, answer.verified_prefix), where
            for witness in (verdict.witness, answer.witness):
                if witness is not None and answer.status is Status.CORRECT:
                    assert check_sql(sql, witness, library, isolation=level) is None, where
                    assert check_columns(log, witness, level) is None, where
    return counts


def state(ledger: Ledger) -> tuple[object, ...]:
    """All violations that a ledger has."""
    return set(ledger.wrong), sorted(map(repr, ledger.faults)), set(ledger.conflicts), ledger.late, ledger.gaps


def arrived(kind: str, seeds: Iterable[int], orders: int, drafted: Callable[..., Draft] = timestamped_log) -> int:
    """How many violations logs have, each whatever the order in which its transactions come."""
    found = 0
    for seed in seeds:
        log = drafted(kind, seed, least=3, most=8).read()
        rng = random.Random(f"arrivals {kind} {seed}")
        rules = Rules(serial=rng.random() < 0.4, visible=rng.random() < 0.3, gaps=rng.random() < 0.3)
        whole = ledger_of(log, rules)
        found += whole.count()
        assert whole.breaches().count == whole.count() == sum(whole.breaches().by_axiom.values())
        for _ in range(orders):
            places = rng.sample(range(len(log)), len(log))
            other = Ledger(
                [one.type for one in log.objects],
                [one.name for one in log.objects],
                partial(initial_of, log),
                rules,
            )
            store = Store()
            for place in places:
                other.add(stamped(log, place))
                if rng.random() < 0.5:
                    other.settle(rng.choice([one for one in (*log.starts, *log.commits) if one >= 0] or [0]), 0, store)
                if rng.random() < 0.2:
                    # another run goes on from what was kept
                    store.keep(other.kept())
                    records = other.records
                    other = Ledger(other.types, other.names, partial(initial_of, log), rules)
                    other.resume(store.kept(), store)
                    assert other.records == records
            assert state(other) == state(whole), f"{kind} {seed} {places}"
            assert sorted(map(repr, other.breaches(99).first)) == sorted(map(repr, whole.breaches(99).first))
            store.close()
    return found


def late_in_sessions(kind: str, seeds: Iterable[int]) -> Counter[str]:
    """Transactions that a ledger has as late in sessions of which some transactions have no number: each is so in the
    order of its session, which is the hint order, or the other one is late there, and the oracle refutes the log."""
    found: Counter[str] = Counter()
    for seed in seeds:
        log = partly_numbered(kind, seed).read()
        ledger = ledger_of(log, Rules())
        found["logs"] += 1
        if not ledger.late:
            continue
        where = f"{kind} {seed}"
        place = {one: at for at, one in enumerate(log.order)}
        for late, before in ledger.late.items():
            assert place[before] < place[late] or log.commits[late] > log.starts[before], where
        sql, library = in_sql(log, "timestamp-snapshot")
        assert explain(sql, library, "timestamp-snapshot").status is Status.VIOLATION, where
        found["late"] += len(ledger.late)
        found["beside others without numbers"] += {log.numbers[one] < 0 for one in range(len(log))} == {True, False}
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_late_in_a_session_of_some_numbers_is_so_for_good(kind: str) -> None:
    found = late_in_sessions(kind, range(84_000, 84_040))
    assert found["late"] > 10 and found["beside others without numbers"] > 5, found
    assert arrived(kind, range(85_000, 85_020), 3, partly_numbered) > 10


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_late_in_a_session_of_some_numbers_is_so_for_good_of_many(kind: str) -> None:
    assert late_in_sessions(kind, range(86_000, 88_000))["late"] > 500
    assert arrived(kind, range(88_000, 89_000), 3, partly_numbered) > 500
    assert compared(kind, range(89_000, 89_300), partly_numbered)["violation"] > 50


@pytest.mark.parametrize("kind", KINDS)
def test_arrivals_in_any_order_are_as_all_at_once(kind: str) -> None:
    assert arrived(kind, range(73_000, 73_030), 4) > 15


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_arrivals_in_any_order_are_as_all_at_once_of_many(kind: str) -> None:
    assert arrived(kind, range(74_000, 74_500), 4) > 200


def counted(seeds: Iterable[int]) -> Counter[str]:
    """Of logs of registers: a count elsewhere and a look at some keys are the list of all, and refute the same."""
    found: Counter[str] = Counter()
    for seed in seeds:
        log = timestamped_log("register", seed, least=4, most=16, ties=0.2).read()
        rng = random.Random(seed)
        rules = Rules(serial=rng.random() < 0.5)
        beside = {
            "LONG": 0,
            "PART": rng.choice((PART, 4)),
            "is_allowed": rng.choice((bool, lambda: True)),
            "Beside": AtOnce,
        }
        with mock.patch.multiple("troubadour.timestamps.counted", **beside):
            whole, some = ledger_of(log, rules, 10**9), doubt(log, rules, rng.randrange(1, 3))
        if some is None:
            continue
        with mock.patch("troubadour.timestamps.offline.doubt", return_value=some):
            part, refutation = ledger_of(log, rules, 0), refuted(log, rules, 0)
        assert part.count() == whole.count(), seed
        assert part.breaches().by_axiom == whole.breaches().by_axiom, seed
        assert part.breaches(1).first == whole.breaches(1).first, seed
        other = refuted(log, rules, 10**9)
        assert (other is None) == (refutation is None), seed
        if other is not None and refutation is not None:
            assert (refutation.weight, refutation.members, refutation.explanation) == (
                other.weight, other.members, other.explanation,
            ), seed  # fmt: skip
        found["violations"] += whole.count()
        found["elsewhere"] += sum(part.elsewhere.values())
        found["logs"] += 1
    return found


def test_what_is_counted_is_what_is_listed() -> None:
    found = counted(range(81_000, 81_600))
    assert found["logs"] > 100 and found["elsewhere"] > 10, found


@pytest.mark.slow
def test_what_is_counted_is_what_is_listed_of_many() -> None:
    assert counted(range(82_000, 102_000))["elsewhere"] > 300


def by_windows(kind: str, seeds: Iterable[int], folder: Path) -> int:
    """How many logs their windows explain, each of which the whole explains, too."""
    path, found = folder / "log.jsonl", 0
    for seed in seeds:
        draft = timestamped_log(kind, seed, least=3, most=12, ties=0.1)
        path.write_text("".join(json.dumps(line) + "\n" for line in draft.entries()))
        log = draft.read()
        for level in LEVELS:
            windows = explained(path, level, random.Random(seed).randrange(1, 5))
            if windows is None:
                continue
            found += 1
            verdict = decide_objects(log, ObjectOptions(level, unobserved=True), by_sql)
            assert verdict is not None and verdict.status is Status.CORRECT, f"{kind} {seed} at {level}"
            assert (windows.total, windows.committed, windows.aborted) == (
                verdict.total, verdict.committed, verdict.aborted,
            )  # fmt: skip
            coverage = verdict.coverage
            assert coverage is not None and (windows.operations, windows.observed) == (
                coverage.statements, coverage.observed,
            )  # fmt: skip
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_what_windows_explain_is_correct(kind: str, tmp_path: Path) -> None:
    assert by_windows(kind, range(75_000, 75_150), tmp_path) > 10


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_what_windows_explain_is_correct_of_many(kind: str, tmp_path: Path) -> None:
    assert by_windows(kind, range(76_000, 80_000), tmp_path) > 400


@pytest.mark.parametrize("kind", KINDS)
def test_as_the_oracle_says(kind: str) -> None:
    counts = compared(kind, range(70_000, 70_008))
    assert counts["correct"] > 2 and counts["violation"] > 2 and counts["open"] < 3 and counts["by timestamps"] > 2


def test_the_prefix_is_explained_without_what_comes_later() -> None:
    """A window put two later ones before the second, and after these one state alone was left for the third."""
    assert compared("counter", [300_025])["violation"] == 2


@pytest.mark.parametrize(("kind", "seed"), [("list", 8_348), ("set", 8_268)])
def test_a_start_alone_bounds_no_commit_of_unknown_outcome(kind: str, seed: int) -> None:
    """What was read began after the reader and has no commit timestamp: the SQL may place it anywhere."""
    assert compared(kind, [seed])["violation"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("first", range(71_000, 72_000, 100))
def test_as_the_oracle_says_of_many(kind: str, first: int) -> None:
    assert compared(kind, range(first, first + 100))["violation"] > 20

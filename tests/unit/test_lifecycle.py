"""What an error does to its transaction, by the answers alone, in each dialect."""

from __future__ import annotations

import pytest

from troubadour.execution.observations.lifecycle import Fate, Step, UnclearFate, judge

OK, LOST = Step(None, False, "other"), Step(None, True, "other")
SAVEPOINT, BACK = Step(None, False, "savepoint"), Step(None, False, "rollback-to")


def error(sqlstate: str, kind: str = "other") -> Step:
    return Step(sqlstate, False, kind)


def fates(dialect: str, *steps: Step, committed: bool = True) -> str:
    """One letter per statement: r(un), f(ailed), R(efused), u(nknown), i(mpossible)."""
    letters = {Fate.RUN: "r", Fate.FAILED: "f", Fate.REFUSED: "R", Fate.UNKNOWN: "u", Fate.IMPOSSIBLE: "i"}
    return "".join(letters[judged.fate] for judged in judge(steps, dialect, committed=committed))


KEY, REFUSED = error("23505"), error("25P02")


@pytest.mark.parametrize(
    ("steps", "committed", "told"),
    [
        ((OK, OK), True, "rr"),
        ((OK, KEY), True, "ri"),
        ((OK, KEY), False, "rf"),
        ((OK, KEY, OK), False, "rfi"),
        ((OK, KEY, REFUSED, BACK, OK), True, "rfRrr"),
        ((OK, KEY, error("42601"), error("57014"), BACK), True, "rfRRr"),
        ((OK, KEY, KEY, BACK), True, "rfir"),
        ((OK, KEY, error("3B001", "rollback-to"), BACK), True, "rffr"),
        ((OK, REFUSED), False, "ri"),
        ((SAVEPOINT, LOST, BACK, OK), True, "rurr"),
        ((SAVEPOINT, LOST, REFUSED, BACK), True, "ruRr"),
        ((SAVEPOINT, LOST, REFUSED), True, "riR"),
        ((LOST, OK), True, "rr"),
        ((LOST, KEY, BACK), True, "rfr"),
        ((OK, LOST), True, "rr"),
    ],
)
def test_postgres(steps: tuple[Step, ...], committed: bool, told: str) -> None:
    assert fates("postgres", *steps, committed=committed) == told


@pytest.mark.parametrize(
    "steps",
    [
        (LOST, LOST),
        (SAVEPOINT, LOST, error("57014"), BACK),
        (Step(None, True, "savepoint"), BACK),
        (KEY, Step(None, True, "rollback-to"), OK),
    ],
)
def test_postgres_unclear(steps: tuple[Step, ...]) -> None:
    with pytest.raises(UnclearFate):
        fates("postgres", *steps)


@pytest.mark.parametrize("dialect", ["mysql", "sqlite"])
def test_statements_that_fail_alone(dialect: str) -> None:
    assert fates(dialect, OK, KEY, OK, KEY) == "rfrf"
    with pytest.raises(UnclearFate):
        fates(dialect, OK, LOST)
    with pytest.raises(UnclearFate):
        fates(dialect, OK, error("40001"), OK)
    assert fates(dialect, OK, error("40001"), committed=False) == "rf"


def test_duckdb() -> None:
    assert fates("duckdb", OK, KEY, error("25000"), OK, committed=False) == "rfRi"
    # versions differ in whether the binder's errors abort
    assert fates("duckdb", error("42P01"), OK, OK, committed=True) == "frr"
    assert fates("duckdb", error("42P01"), error("25000"), OK, committed=False) == "fRi"
    with pytest.raises(UnclearFate):
        fates("duckdb", OK, KEY)

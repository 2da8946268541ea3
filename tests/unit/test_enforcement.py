"""Under which value of SQLite's foreign_keys each transaction of a log ran."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from sql_semantics.values.dialect import Dialect
from troubadour.coverage.enforcement import enforcement
from troubadour.model.log import End, Header, Log, ObservedError, ObservedRows, Statement, Transaction

WRITE = "DELETE FROM t"
ON, OFF = "PRAGMA foreign_keys = ON", "PRAGMA foreign_keys = OFF"
Texts = Sequence[str | Statement]


def ran_under(*transactions: tuple[str | None, Texts, bool], setting: bool | None = False) -> list[str]:
    """Of transactions (session, statements, whether they were begun)."""
    made = [
        Transaction(
            number,
            "aborted" if any(isinstance(one, Statement) and one.error for one in texts) else "committed",
            tuple(Statement(one) if isinstance(one, str) else one for one in texts),
            number,
            session=session,
            end=End() if begun else None,
        )
        for number, (session, texts, begun) in enumerate(transactions)
    ]
    settings = {} if setting is None else {"foreign_keys": setting}
    log = Log(Header("sqlite", ("CREATE TABLE t (a INTEGER)",), settings=settings), made, "a log")
    found = enforcement(log, Dialect("sqlite", foreign_keys=setting))
    if found.dialect.foreign_keys is False:
        return ["ignored"] * len(made)
    return [one.references for one in found.of(log).transactions]


def told(value: int) -> Statement:
    return Statement("PRAGMA foreign_keys", results=(ObservedRows(("foreign_keys",), ((value,),)),))


@pytest.mark.parametrize(
    "before",
    [
        ON,
        "pragma FOREIGN_KEYS=1;",
        "PRAGMA main.foreign_keys = yes",
        "PRAGMA foreign_keys(true)",
        "PRAGMA foreign_keys = 'on'",
    ],
)
def test_a_pragma_by_itself_holds_from_there_on(before: str) -> None:
    wrote = ("a", [WRITE], False)
    assert ran_under(wrote, ("a", [before], False), wrote, ("b", [WRITE], False))[2:] == ["kept", "ignored"]
    assert ran_under(wrote, ("a", [before], False), wrote)[0] == "ignored"


def test_inside_a_transaction_it_does_nothing() -> None:
    wrote = ("a", [WRITE], False)
    assert ran_under(("a", [ON, WRITE], True), wrote) == ["ignored"] * 2
    assert ran_under(("a", [ON], True), wrote) == ["ignored"] * 2
    assert ran_under(("a", [OFF, WRITE], True), wrote, setting=True) == ["kept"] * 2


@pytest.mark.parametrize(
    "doubtful",
    [
        "PRAGMA foreign_keys = maybe",
        "PRAGMA foreign_keys = 2",
        "EXPLAIN PRAGMA foreign_keys = ON",
        Statement(ON, error=ObservedError("HY000", "")),
        Statement(ON, outcome_unknown=True),
    ],
)
def test_what_is_not_certain_is_unknown(doubtful: str | Statement) -> None:
    assert ran_under(("a", [WRITE], False), ("a", [doubtful], False), ("a", [WRITE], False))[2] == "unknown"


def test_without_ends_no_pragma_is_known_to_stand_by_itself() -> None:
    assert ran_under(("a", [ON], False), ("a", [WRITE], False), ("a", [WRITE, WRITE], False))[1:] == ["unknown"] * 2
    assert ran_under(("a", [OFF], False), ("a", [WRITE, WRITE], False)) == ["ignored"] * 2


def test_what_a_connection_was_told_is_so() -> None:
    wrote = ("a", [WRITE], False)
    assert ran_under(("a", [told(1)], False), wrote, setting=None)[1] == "kept"
    assert ran_under(("a", [told(0)], False), wrote, setting=None)[1] == "ignored"
    assert ran_under(wrote, ("a", [told(1)], False), wrote)[::2] == ["unknown"] * 2


def test_a_transaction_of_no_session_ran_under_the_log_s_own() -> None:
    assert ran_under((None, [WRITE], False), ("a", [ON], False), ("a", [WRITE], False))[::2] == ["ignored", "kept"]
    assert ran_under((None, [WRITE], False), (None, [ON], False))[0] == "unknown"

"""What a client's clock says of the DBMS's where the log has no commit times."""

from __future__ import annotations

from datetime import datetime, timedelta

from troubadour.execution.free.moments import UNKNOWN, moments_of
from troubadour.model.log import ObservedRows, Statement, Transaction

START = datetime(2026, 1, 2, 3, 4, 5)


def transaction(place: int, invoked: int | None, *shown: datetime) -> Transaction:
    rows = ObservedRows(("at",), tuple((moment.isoformat(sep=" ") + "+00",) for moment in shown))
    returned = None if invoked is None else invoked + 50_000
    return Transaction(
        f"t{place}",
        "committed",
        (Statement("SELECT now()", results=(rows,)),),
        place,
        invoked=invoked,
        returned=returned,
    )


def test_the_present_is_found_among_moments() -> None:
    step = timedelta(seconds=1)
    log = [
        transaction(0, 1_000_000, START + timedelta(days=40)),
        transaction(1, 2_000_000, START + step + timedelta(milliseconds=20), START - step),
        transaction(2, 5_000_000, START + 4 * step + timedelta(milliseconds=30)),
        transaction(3, 9_000_000),
    ]
    moment = moments_of(log)
    found = [moment(place) for place in range(4)]
    assert [round((later - found[0]).total_seconds()) for later in found] == [0, 1, 4, 8]
    assert abs(found[0] - START) < timedelta(milliseconds=50)


def test_behind_what_the_rows_hold_where_no_answer_tells() -> None:
    moment = moments_of([transaction(0, 5_000)], lambda: ["2020-01-01", None, "2999-01-01", 7])
    assert moment(0) == datetime(2020, 1, 2, 1)


def test_without_any_moment_the_order_is_kept() -> None:
    moment = moments_of([transaction(0, 1_000), transaction(1, 3_000)])
    assert moment(1) - moment(0) == timedelta(microseconds=2000)
    assert moments_of([transaction(0, None)])(0) == UNKNOWN

"""The abstract transaction model, event by event (VerIso §3.2): each guard of a commit alone refuses it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from troubadour.protocols.levels import PROTOCOL_LEVELS
from troubadour.protocols.runs.abstract import (
    Configuration,
    View,
    commit,
    extend_view,
    initial_configuration,
    skip,
    view_of,
    visible_writers,
    well_formed,
)
from troubadour.protocols.runs.history import HistoryTransaction

LEVELS = list(PROTOCOL_LEVELS)
NOTHING: View = {0: frozenset((0,)), 1: frozenset((0,))}


def transaction(name: int, reads: dict[int, int], writes: dict[int, int], client: int = 1) -> HistoryTransaction:
    return HistoryTransaction(name, reads, writes, frozenset(), client)


def two_writers() -> Configuration:
    """Transaction 1 of client 1 wrote both keys, then 2 of client 2 key 0, without having seen 1."""
    level = PROTOCOL_LEVELS["read-atomic"]
    first = commit(initial_configuration({0: 100, 1: 101}), transaction(1, {}, {0: 10, 1: 11}), 1, NOTHING, level)
    assert first is not None
    second = commit(first, transaction(2, {}, {0: 20}, 2), 2, NOTHING, level)
    assert second is not None
    return second


@pytest.mark.parametrize("name", LEVELS)
def test_what_sees_all_commits_at_every_level(name: str) -> None:
    before = two_writers()
    everything = view_of(before.store, frozenset((1, 2)))
    after = commit(before, transaction(3, {0: 20, 1: 11}, {1: 31}, 3), 3, everything, PROTOCOL_LEVELS[name])
    assert after is not None
    assert [version.value for version in after.store.versions[1]] == [101, 11, 31]
    assert after.store.versions[0][-1].readers == {3}
    assert after.store.committed[-1] == (3, 3)


def test_each_guard_refuses() -> None:
    before, level = two_writers(), PROTOCOL_LEVELS["read-atomic"]
    one = transaction(3, {0: 10}, {}, 3)
    view = view_of(before.store, frozenset((1,)))
    assert commit(before, one, 3, view, level) is not None
    # the client's view shows more already
    seen = extend_view(before, 3, view_of(before.store, frozenset((1, 2))))
    assert seen is not None
    assert commit(seen, one, 3, view, level) is None
    # half of a transaction is shown, or a version that is not there
    for other in ({**NOTHING, 0: frozenset((0, 1))}, {**NOTHING, 0: frozenset((0, 7))}, {**view, 0: frozenset((1,))}):
        assert not well_formed(before.store, other)
        assert commit(before, transaction(3, {}, {}, 3), 3, other, level) is None
    # the name was used
    assert commit(before, replace(one, name=2), 3, view, level) is None
    # what was read is not the newest shown
    assert commit(before, replace(one, reads={0: 20}), 3, view, level) is None


@pytest.mark.parametrize("name", LEVELS)
def test_what_is_shown_is_closed_under_the_levels_relation(name: str) -> None:
    """A writer of key 0 that has not seen transaction 2, which wrote it: at the levels that let no update be lost this
    is refused, and where all is seen a reader of an old version is."""
    before, level = two_writers(), PROTOCOL_LEVELS[name]
    first = view_of(before.store, frozenset((1,)))
    writes = commit(before, transaction(3, {}, {0: 30}, 3), 3, first, level)
    assert (writes is None) is level.conflicts
    reads = commit(before, transaction(3, {0: 10}, {}, 3), 3, first, level)
    assert (reads is None) is level.total


@pytest.mark.parametrize("name", LEVELS)
def test_views_shift_where_sessions_count(name: str) -> None:
    """Monotonic reads and read your writes: the client goes on with what it saw and wrote, or from the beginning."""
    before, level = two_writers(), PROTOCOL_LEVELS[name]
    everything = view_of(before.store, frozenset((1, 2)))
    after = commit(before, transaction(3, {}, {1: 31}, 3), 3, everything, level)
    assert after is not None
    assert visible_writers(after.store, after.view(3)) == ({0, 1, 2, 3} if level.shifts else {0})


def test_a_view_grows_alone_and_a_skip_changes_nothing() -> None:
    before = two_writers()
    first, everything = (view_of(before.store, frozenset(shown)) for shown in ((1,), (1, 2)))
    grown = extend_view(before, 3, first)
    assert grown is not None
    assert (grown.store, grown.view(3), grown.view(1)) == (before.store, first, before.view(1))
    assert extend_view(grown, 3, NOTHING) is None
    assert extend_view(grown, 3, {**NOTHING, 0: frozenset((0, 1))}) is None
    assert skip(grown) == grown
    # a commit with a view is a view that grows, and then a commit
    level, one = PROTOCOL_LEVELS["causal"], transaction(3, {0: 20}, {1: 31}, 3)
    again = extend_view(grown, 3, everything)
    assert again is not None
    assert commit(again, one, 3, everything, level) == commit(before, one, 3, everything, level)

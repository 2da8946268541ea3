"""Facts of Elle's own tests of its consistency models (github.com/jepsen-io/elle at ccdee6f, consistency_model_test):
which levels an anomaly rules out, and which of some levels are the weakest.

Levels that keep sessions here, or are of this project alone, are not compared, nor what Elle has no anomaly for.
"""

from __future__ import annotations

import pytest

from troubadour.isolation.models import implied, ruled_out, stronger, weaker, weakest

OURS = {
    "strong-serializable": "strict-serializable", "snapshot-isolation": "snapshot",
    "strong-session-serializable": "session-serializable",
    "parallel-snapshot-isolation": "parallel-snapshot", "causal-cerone": "causal",
}  # fmt: skip
"""Elle's names for levels that have others here."""

SNAPSHOTS = {"snapshot-isolation", "serializable", "strong-serializable", "strong-session-serializable",
             "strong-snapshot-isolation"}  # fmt: skip
CONSISTENT = SNAPSHOTS | {"consistent-view", "forward-consistent-view", "update-serializable"}
ATOMIC = SNAPSHOTS | {"read-atomic", "update-atomic", "causal-cerone", "parallel-snapshot-isolation", "prefix"}
COMMITTED = CONSISTENT | ATOMIC | {
    "read-committed", "monotonic-atomic-view", "repeatable-read", "cursor-stability", "monotonic-view",
    "monotonic-snapshot-read", "strong-session-read-committed", "strong-read-committed",
}  # fmt: skip


def here(names: set[str]) -> set[str]:
    return {OURS.get(name, name) for name in names}


@pytest.mark.parametrize(
    ("anomaly", "out"),
    [
        ("G-single", CONSISTENT), ("dirty-update", COMMITTED), ("G1a", COMMITTED), ("internal", ATOMIC),
        ("G-single-realtime", {"strong-snapshot-isolation", "strong-serializable"}), ("cyclic-versions", COMMITTED),
    ],
)  # fmt: skip
def test_what_an_anomaly_rules_out(anomaly: str, out: set[str]) -> None:
    assert here(out) <= ruled_out(anomaly)


@pytest.mark.parametrize(
    ("anomaly", "kept"),
    [
        ("G-single", {"read-committed", "cursor-stability", "monotonic-view"}),
        ("internal", {"read-committed", "cursor-stability", "repeatable-read"}),
        ("G-single-realtime", SNAPSHOTS - {"strong-snapshot-isolation", "strong-serializable"}),
        ("dirty-update", {"PL-1"}), ("G1a", {"PL-1"}),
        ("lost-update", {"read-committed", "read-atomic"}),
    ],
)  # fmt: skip
def test_what_an_anomaly_does_not_rule_out(anomaly: str, kept: set[str]) -> None:
    assert ruled_out(anomaly).isdisjoint(here(kept))


@pytest.mark.parametrize(
    ("anomalies", "first"),
    [
        ((), set()), (("G1a",), {"read-committed"}), (("cyclic-versions",), {"PL-1"}),
        (("lost-update",), {"update-atomic", "cursor-stability"}),
        (("G-single-realtime",), {"strong-snapshot-isolation"}),
    ],
)  # fmt: skip
def test_the_weakest_levels_ruled_out(anomalies: tuple[str, ...], first: set[str]) -> None:
    assert set(weakest(frozenset().union(*map(ruled_out, anomalies)))) == first


@pytest.mark.parametrize(
    ("names", "first"),
    [
        ([], []), (["serializable", "strict-serializable"], ["serializable"]),
        (["repeatable-read", "read-committed"], ["read-committed"]), (["serializable", "read-atomic"], ["read-atomic"]),
    ],
)  # fmt: skip
def test_the_weakest_of_some(names: list[str], first: list[str]) -> None:
    assert weakest(names) == first == weakest(reversed(names))


def test_the_strongest_of_some() -> None:
    assert "read-atomic" in weaker("serializable")
    assert "serializable" in weaker("strict-serializable")
    assert "serializable" in stronger(["read-atomic"])
    assert "read-committed" in weaker("repeatable-read")


def test_an_anomaly_implies_itself_and_weaker_ones() -> None:
    assert "G-single" in implied("G-single")
    assert {"G1c", "G-single-realtime"}.isdisjoint(implied("G2-item"))
    assert "G1c" in implied("G0")

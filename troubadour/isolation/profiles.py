"""What the products promise at the levels that SQL names, and which audits ask for less.

Does not know any transaction, nor how a level is decided.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from troubadour.isolation.levels import LEVELS, implied_by

PROFILES: Mapping[str, Sequence[str]] = {
    "postgres": ("postgres:read-committed", "postgres:repeatable-read", "postgres:serializable"),
    "mysql": ("mysql:read-committed", "mysql:repeatable-read", "mysql:serializable"),
    "sqlite": ("sqlite",),
    "duckdb": ("duckdb",),
}
"""By dialect, the weakest first."""

_COMMITTED = frozenset({"read-uncommitted", "read-committed"})
_SERIAL = frozenset({"serializable", "session-serializable", "strict-serializable"})


def profile_of(dialect: str, level: str | None) -> str | None:
    """What a product promises where a log names this level, general or its own; None where that is not known."""
    profiles = PROFILES[dialect]
    if level is None or level in profiles or level not in LEVELS:
        return level if level in profiles else None
    if LEVELS[level].dialect is not None:
        return None
    rank = 0 if level in _COMMITTED else 2 if level in _SERIAL else 1
    return profiles[min(rank, len(profiles) - 1)]


def asks_less(level: str, profile: str, dialect: str) -> bool:
    """Whether an audit at `level` lets pass what `profile`, of the same product, does not."""
    if level == profile or profile in implied_by(level):
        return False
    profiles = PROFILES[dialect]
    if level in profiles:
        return profiles.index(level) < profiles.index(profile)
    return level in implied_by(profile) or level in _COMMITTED

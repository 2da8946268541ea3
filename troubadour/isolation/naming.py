"""Names of levels as people write them. Knows no level's meaning."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches

from troubadour.isolation.levels import LEVELS, Level
from troubadour.model.log import TransactionId

_OTHERWISE = {
    "si": "snapshot",
    "snapshot-isolation": "snapshot",
    "ssi": "serializable",
    "serialisable": "serializable",
    "rc": "read-committed",
    "ru": "read-uncommitted",
    "dirty-read": "read-uncommitted",
    "ra": "read-atomic",
    "psi": "parallel-snapshot",
    "causal-consistency": "causal",
}
_PROMISED = {"sqlite": "sqlite", "duckdb": "duckdb"}
"""Products with one level."""


def nearest_level(name: str, dialect: str | None) -> str | None:
    """The level that was probably meant: the profile of the log's dialect where it has one of that name."""
    plain = re.sub(r"[\s_]+", "-", name.strip().lower())
    plain = re.sub(r"^(postgresql|mariadb):", lambda found: "postgres:" if found[1] != "mariadb" else "mysql:", plain)
    plain = re.sub(r"^(?:iso|isolation)-|-isolation(?:-level)?$", "", plain)
    if plain in LEVELS and LEVELS[plain].dialect in (None, dialect):
        return plain
    own = plain.rpartition(":")[2]
    own = {"rr": "repeatable-read"}.get(own, own)
    if f"{dialect}:{own}" in LEVELS:
        return f"{dialect}:{own}"
    if own == "repeatable-read":
        return _PROMISED.get(dialect or "", "snapshot")
    if own in _OTHERWISE:
        return _OTHERWISE[own]
    usable = [level for level, found in LEVELS.items() if found.dialect in (None, dialect)]
    names = {level.rpartition(":")[2]: level for level in reversed(usable)} | {level: level for level in usable}
    close = get_close_matches(own, names, 1, 0.75)
    return names[close[0]] if close else None


def unknown_level(name: str, dialect: str | None, others: Iterable[str] = ()) -> str:
    """What is said of a name that no level has, and none of the `others` that may stand there."""
    near = nearest_level(name, dialect)
    if near is not None:
        return f"unknown level {name[:60]!r}; did you mean {near}? (troubadour audit --help lists all)"
    usable = [level for level, found in LEVELS.items() if dialect is None or found.dialect in (None, dialect)]
    return f"unknown level {name[:60]!r}; known are {', '.join((*usable, *others))}"


def untimed(id: TransactionId, missing: str, level: Level) -> str:
    """What is said of a writer without a timestamp."""
    return f"transaction {id!r}: it writes, and has no {missing!r} timestamp, which {level.name} goes by"

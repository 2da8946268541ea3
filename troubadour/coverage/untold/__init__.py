"""Settings that a log does not tell of: recorders once wrote those that they judged by and no others, so that what a
connection had been set to before recording began may be why a statement answered as it did.

Each of a product's settings is supposed by itself: where it is modelled the log is read by it, and where it is not the
statements are left out that it may have decided about and whose answers it could have given. Does not know whether a
log is explained so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sql_semantics.library import SqlLibrary
from sql_semantics.patterns import pattern
from sql_semantics.records import dataclass
from sql_semantics.values.unsettled import OTHERS
from troubadour.coverage.untold.accused import Accused
from troubadour.coverage.untold.deciding import DECIDING, decided
from troubadour.coverage.untold.modelled import MODELLED, Readings
from troubadour.model.log import Log
from troubadour.model.verdict import Verdict
from troubadour.model.witness import GivenUp

UNKNOWN = "unknown"
"""Of other settings: what they were is not known."""
_DRAWN = pattern(r"[0-9a-f]{16}")
"""A `log_id` of the recorders'."""


@dataclass(frozen=True, slots=True)
class Supposition:
    """The log and its library as they read if connections had a setting changed before recording began; `given_up`: the
    statements of which it is not known what they mean then."""

    log: Log
    library: SqlLibrary
    given_up: tuple[GivenUp, ...] = ()


def is_untold(log: Log) -> bool:
    """Whether a recorder wrote the log that did not tell all settings."""
    header = log.header
    if OTHERS in header.settings:
        return bool(header.settings[OTHERS] == UNKNOWN)
    return header.log_id is not None and bool(_DRAWN.fullmatch(header.log_id))


def untold_settings(log: Log) -> tuple[str, ...]:
    """The settings of its product that a log does not tell."""
    told = {name.lower() for name in log.header.settings}
    product = log.header.dialect
    return tuple(name for name in dict.fromkeys((*MODELLED[product], *DECIDING[product])) if name not in told)


def suppositions(setting: str, log: Log, library: SqlLibrary, accusations: Sequence[Verdict]) -> Iterator[Supposition]:
    """How a log may read if a setting had been changed: one that is a violation, as each of some `accusations` says."""
    about = Accused(log, library, accusations)
    for reading in MODELLED[log.header.dialect].get(setting, _none)(about):
        yield Supposition(*reading)
    decides = DECIDING[log.header.dialect].get(setting)
    given_up = () if decides is None else decided(about, setting, decides)
    if given_up:
        yield Supposition(log, library, given_up)


def _none(about: Accused) -> Readings:
    yield from ()

"""Time zones by name, from the tz database (PostgreSQL 9.9.4, appendix B.1).

Only names of regions (`Europe/Berlin`) and UTC, as they are written in the database, and only moments whose offset its
releases agree on. Does not know abbreviations, nor what a session is set to.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from sql_semantics.errors import Unsupported

_FIRST, _LAST = datetime(1970, 1, 2, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC)
"""What is asked of a zone lies between: rules of later years may still change from release to release."""


@lru_cache(maxsize=64)
def zone_of(name: str) -> ZoneInfo:
    """The zone of a name. Raises Unsupported for one that the database does not have in these letters, and for
    abbreviations and offsets."""
    if name.upper() == "UTC":
        return ZoneInfo("UTC")
    if "/" not in name or name not in available_timezones():
        raise Unsupported(f"the time zone {name}")
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        raise Unsupported(f"the time zone {name}") from None


def clock_in(name: str, moment: datetime) -> datetime:
    """What clocks in a zone showed at a moment, which is in UTC. Raises Unsupported."""
    zone = zone_of(name)
    if zone.key != "UTC":
        _check(moment)
    return moment.astimezone(zone).replace(tzinfo=None, fold=0)


def moment_of(name: str, shown: datetime) -> datetime:
    """When clocks in a zone showed this, in UTC: a time that the clocks skipped counts by the offset before it, one
    that they showed twice is the later one. Raises Unsupported."""
    zone = zone_of(name)
    offsets = [shown.replace(tzinfo=zone, fold=fold).utcoffset() for fold in (0, 1)]
    offset = min(found for found in offsets if found is not None)
    try:
        moment = shown.replace(tzinfo=UTC) - offset
    except OverflowError:
        raise Unsupported("a moment beyond the years 1 to 9999") from None
    if zone.key != "UTC":
        _check(moment)
    return moment


def _check(moment: datetime) -> None:
    if not _FIRST <= moment < _LAST:
        raise Unsupported("the time in a zone before 1970, or from 2026 on")

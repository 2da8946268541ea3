"""What becomes of a row that two concurrent transactions wrote, where a product merges them column by column: DuckDB
(tried on DuckDB 2.0). Does not know which transactions were concurrent.
"""

from __future__ import annotations

from sql_semantics.ir.schema import Table
from sql_semantics.view import Row
from troubadour.execution.states.history import RowHistory, Version

MERGED = "what becomes of a row that another writes too"


class Clash(Exception):
    """Both deleted the row, or changed one of its columns: DuckDB refuses the second."""


class Unmergeable(Exception):
    """What becomes of the row is not modelled: a column of a key was changed, or what it was is not known."""


def merged(table: Table, source: Version, mine: Row | None, last: Version) -> Row | None:
    """The row after a write `mine` over `source`, where others had made `last` of it meanwhile. A deletion stays one.
    Raises Clash and Unmergeable."""
    if mine == source or source == last:
        return mine if source == last else _plain(last)
    if mine is None and last is None:
        raise Clash
    old = _plain(source)
    if old is None:
        raise Unmergeable
    theirs = _plain(last)
    keys = {column for key in table.keys for column in key.columns}
    if any(version is not None and any(version[n] != old[n] for n in keys) for version in (mine, theirs)):
        raise Unmergeable
    if mine is None or theirs is None:
        return None
    if any(before not in (one, other) for before, one, other in zip(old, mine, theirs, strict=True)):
        raise Clash
    return tuple(one if one != before else other for before, one, other in zip(old, mine, theirs, strict=True))


def may_merge(table: Table, row: RowHistory, mine: Version, low: int) -> bool:
    """Whether a write may stand beside a later one than its snapshot, which is state `low` or a later one."""
    if not row.positions or row.positions[-1] <= low:
        return False
    sources = [
        row.at(low),
        *(version for place, version in zip(row.positions, row.versions, strict=True) if place > low),
    ]
    for source in sources[:-1]:
        try:
            merged(table, source, _plain(mine), row.versions[-1])
        except Clash:
            continue
        except Unmergeable:
            pass
        return True
    return False


def _plain(version: Version) -> Row | None:
    if version is None or isinstance(version, tuple):
        return version
    raise Unmergeable

"""Which transaction wrote each row last, what the row was before it, and whether it ever had a value: as much as is
kept of the past.

Does not know when that was, nor whether another order is possible.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sql_semantics.view import Row, RowId
from troubadour.replay.newest.kept import Written
from troubadour.replay.newest.rows import Columns

_KEPT = 1 << 16
"""Rows that are gone, of which it is remembered what they were."""
_LINKS = 8
"""The last writers of a row that are remembered, and as many more."""
_MASK = (1 << 23) - 1
"""The bits of the filter for the values that rows had (Bloom 1970, with one hash)."""


Link = tuple[int, "Row | None", "Link | None", int, bool]
"""The place of a transaction that wrote a row, what that was before (None: not there), the link before (None: none
wrote it, or that is forgotten), how many there are, and whether none is forgotten."""


class LastWriters:
    """By row, the last transactions that wrote it."""

    __slots__ = ("_gone", "_had", "_last")

    def __init__(self) -> None:
        self._last: dict[RowId, Link] = {}
        self._gone: dict[RowId, tuple[str, Link]] = {}
        self._had = bytearray((_MASK + 1) >> 3)

    def note(self, place: int, journal: Sequence[Written]) -> None:
        """The transaction at a place wrote so."""
        last, had = self._last, self._had
        for table, row, before, after in journal:
            known = last.get(row)
            if known is None:
                last[row] = known = (place, before, None, 1, True)
                for column, value in enumerate(before or ()):
                    bit = hash((row, column, value)) & _MASK
                    had[bit >> 3] |= 1 << (bit & 7)
            elif known[0] != place:
                if known[3] > 2 * _LINKS:
                    known = _shortened(known, _LINKS)
                last[row] = known = (place, before, known, known[3] + 1, known[4])
            if after is not None:
                for column, value in enumerate(after):
                    if before is None or before[column] != value:
                        bit = hash((row, column, value)) & _MASK
                        had[bit >> 3] |= 1 << (bit & 7)
                continue
            del last[row]
            if known[1] is not None:
                self._gone[row] = table, known
                if len(self._gone) > _KEPT:
                    del self._gone[next(iter(self._gone))]

    def may_have_had(self, row: RowId, column: int, value: object) -> bool:
        """Whether a row may have had a value in a column, in any version that it changed from or to; True now and then
        where it had not."""
        bit = hash((row, column, value)) & _MASK
        return bool(self._had[bit >> 3] >> (bit & 7) & 1)

    def of(self, row: RowId) -> Link | None:
        """The last writer of a row that is there; None where none wrote it."""
        return self._last.get(row)

    def has_all_gone_since(self, place: int) -> bool:
        """Whether no row is forgotten that one at this place, or a later one, removed."""
        return len(self._gone) < _KEPT or next(iter(self._gone.values()))[1][0] < place

    def gone(self, table: str, columns: Columns | None, key: Row) -> Iterator[tuple[RowId, Link]]:
        """The rows of a table that are gone and that had a key (None: any), and what removed each."""
        for row, (name, link) in self._gone.items():
            before = link[1]
            if name != table or before is None:
                continue
            if columns is None or tuple([before[column] for column in columns]) == key:
                yield row, link


def _shortened(link: Link, count: int) -> Link:
    place, before, older, _, _ = link
    older = None if count == 1 or older is None else _shortened(older, count - 1)
    return place, before, older, 1 if older is None else older[3] + 1, False

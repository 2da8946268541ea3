"""A view that says of itself what a level's view says (`View.rechecks`, `View.locks`), though it has one state only.

Whatever it says, a statement answers the same here: nothing is newer than what is read. Knows no level.
"""

from __future__ import annotations

from zlib import crc32

from sql_semantics.run import MemoryView

Says = tuple[bool, bool]
"""`rechecks` and `locks`."""

SAID: dict[str, tuple[Says, ...]] = {
    "postgres": ((False, False), (True, False), (False, True)),
    "mysql": ((False, False), (True, False)),
}
"""What is said at the levels of a product; of others nothing."""


class LeveledView(MemoryView):
    """A view of one state; `say` before a statement runs."""

    __slots__ = ("locks", "rechecks")

    def say(self, says: Says) -> None:
        """What it says from now on."""
        self.rechecks, self.locks = says


def said_of(product: str, sql: str) -> Says:
    """What the view says where a statement runs once: the same for the same text."""
    said = SAID.get(product, ((False, False),))
    return said[crc32(sql.encode()) % len(said)]

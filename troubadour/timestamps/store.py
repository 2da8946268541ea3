"""Settled parts of a ledger, on disk: versions and reads of keys, sessions, ids of transactions; and, for another run
to go on from, what was in memory at some moment. Does not know what any of it means.
"""

from __future__ import annotations

import marshal
import sqlite3
import sys
from collections.abc import Iterable
from operator import itemgetter
from pathlib import Path
from typing import Any

_TABLES = """
PRAGMA cache_size = -16384; PRAGMA locking_mode = EXCLUSIVE;
CREATE TABLE IF NOT EXISTS parts (name BLOB NOT NULL, part BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS by_name ON parts (name);
CREATE TABLE IF NOT EXISTS heads (name BLOB PRIMARY KEY, head BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS blocks (number INTEGER PRIMARY KEY, block BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS kept (number INTEGER PRIMARY KEY, version TEXT NOT NULL, state BLOB NOT NULL);
"""
_PASSING = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
_LASTING = "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
_VERSION = f"4 {sys.version}"
"""What wrote a state: others may not read it."""

NAME = "settled.sqlite"
NEAR = 64
"""Blocks that are kept in memory."""

Named = tuple[bytes, Any]
"""A name, and what goes by it: numbers, texts, None, and tuples, lists and frozensets of them."""


class Store:
    """In a file of a folder (None: a temporary one), which is gone when the process is; but where it `lasts`, all that
    is there is what was there when a state was last kept. One that `forgets` has no parts. Raises OSError."""

    def __init__(self, folder: Path | None = None, *, lasts: bool = False, forgets: bool = False) -> None:
        path = None if folder is None else folder / NAME
        self._lasts = lasts and path is not None
        self.forgets = forgets
        if path is not None and not self._lasts:
            path.unlink(missing_ok=True)
        try:
            self._disk = sqlite3.connect("" if path is None else path, isolation_level=None)
            self._disk.executescript((_LASTING if self._lasts else _PASSING) + _TABLES)
        except sqlite3.Error as error:
            raise OSError(f"{path or 'a temporary file'}: {error}") from error
        if self._lasts:
            self._disk.execute("BEGIN")
        elif path is not None:
            path.unlink()
        self.parts = 0
        """Parts so far, those that were taken back too."""
        self._near: dict[int, Any] = {}
        """The blocks that were asked for last."""

    def put(self, parts: Iterable[Named], heads: Iterable[Named] = ()) -> None:
        """Add a part to each name, and set what stands for all of some."""
        if not self._lasts:
            self._disk.execute("BEGIN")
        if self.forgets:
            self.parts += sum(1 for _ in parts)
        else:
            before = self._disk.total_changes
            # beside one another in the index, as far as they are so by name: that is several times faster
            told = ((name, marshal.dumps(one)) for name, one in sorted(parts, key=itemgetter(0)))
            self._disk.executemany("INSERT INTO parts VALUES (?, ?)", told)
            self.parts += self._disk.total_changes - before
        self._disk.executemany(
            "INSERT OR REPLACE INTO heads VALUES (?, ?)",
            ((name, marshal.dumps(one)) for name, one in sorted(heads, key=itemgetter(0))),
        )
        if not self._lasts:
            self._disk.execute("COMMIT")

    def keep(self, state: Any) -> None:
        """What another run finds of all this is what is here now, and this state."""
        row = _VERSION, marshal.dumps((self.parts, state))
        self._disk.execute("INSERT OR REPLACE INTO kept VALUES (0, ?, ?)", row)
        if self._lasts:
            self._disk.execute("COMMIT")
            self._disk.execute("BEGIN")

    def kept(self) -> Any:
        """The state that was kept; None where there is none, or another version of this wrote it."""
        found = self._disk.execute("SELECT state FROM kept WHERE version = ?", (_VERSION,)).fetchone()
        if found is None:
            return None
        self.parts, state = marshal.loads(found[0])
        return state

    def clear(self) -> None:
        """Let go of all that is there."""
        self._near.clear()
        for table in ("parts", "heads", "blocks", "kept"):
            self._disk.execute(f"DELETE FROM {table}")
        self.parts = 0

    def head(self, name: bytes) -> Any:
        """What stands for all parts of a name; None where nothing does."""
        found = self._disk.execute("SELECT head FROM heads WHERE name = ?", (name,)).fetchone()
        return None if found is None else marshal.loads(found[0])

    def take(self, name: bytes) -> list[Any]:
        """The parts of a name, in the order in which they came; they are not here any more."""
        found = self._disk.execute("SELECT part FROM parts WHERE name = ? ORDER BY rowid", (name,)).fetchall()
        self._disk.execute("DELETE FROM parts WHERE name = ?", (name,))
        return [marshal.loads(part) for (part,) in found]

    def put_block(self, number: int, block: list[Any]) -> None:
        """Keep a block by its number."""
        self._disk.execute("INSERT INTO blocks VALUES (?, ?)", (number, marshal.dumps(block)))

    def block(self, number: int) -> Any:
        """A block by its number."""
        near = self._near
        if number not in near:
            (found,) = self._disk.execute("SELECT block FROM blocks WHERE number = ?", (number,)).fetchone()
            if len(near) == NEAR:
                del near[next(iter(near))]
            near[number] = marshal.loads(found)
        return near[number]

    def close(self) -> None:
        """Let go of it."""
        self._disk.close()

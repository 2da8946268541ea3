"""Settled parts of a ledger, on disk: versions and reads of keys, sessions, ids of transactions. Does not know
what any of it means.
"""

from __future__ import annotations

import marshal
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

_TABLES = """
PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -16384; PRAGMA locking_mode = EXCLUSIVE;
CREATE TABLE parts (name BLOB NOT NULL, part BLOB NOT NULL); CREATE INDEX by_name ON parts (name);
CREATE TABLE heads (name BLOB PRIMARY KEY, head BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE blocks (number INTEGER PRIMARY KEY, block BLOB NOT NULL);
"""

Named = tuple[bytes, Any]
"""A name, and what goes by it: numbers, texts, None, and tuples, lists and frozensets of them."""


class Store:
    """In a file of a folder (None: a temporary one), which is gone when the process is. Raises OSError."""

    def __init__(self, folder: Path | None = None) -> None:
        path = None if folder is None else folder / "settled.sqlite"
        if path is not None:
            path.unlink(missing_ok=True)
        try:
            # nothing of it outlives the process
            self._disk = sqlite3.connect("" if path is None else path, isolation_level=None)
            self._disk.executescript(_TABLES)
        except sqlite3.Error as error:
            raise OSError(f"{path or 'a temporary file'}: {error}") from error
        if path is not None:
            path.unlink()
        self.parts = 0
        """Parts so far, those that were taken back too."""

    def put(self, parts: Iterable[Named], heads: Iterable[Named] = ()) -> None:
        """Add a part to each name, and set what stands for all of some."""
        self._disk.execute("BEGIN")
        before = self._disk.total_changes
        self._disk.executemany("INSERT INTO parts VALUES (?, ?)", ((name, marshal.dumps(one)) for name, one in parts))
        self.parts += self._disk.total_changes - before
        self._disk.executemany(
            "INSERT OR REPLACE INTO heads VALUES (?, ?)", ((name, marshal.dumps(one)) for name, one in heads)
        )
        self._disk.execute("COMMIT")

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
        (found,) = self._disk.execute("SELECT block FROM blocks WHERE number = ?", (number,)).fetchone()
        return marshal.loads(found)

    def close(self) -> None:
        """Let go of it."""
        self._disk.close()

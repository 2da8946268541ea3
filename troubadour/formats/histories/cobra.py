"""Cobra's binary logs: a folder with a file ``T*.log`` for each session, big-endian.

``S`` transaction, ``W`` write key value, ``R`` writer write key value, ``C`` transaction; numbers of 64 bits. A value
of the log is the writer's number, the write's and the value together, so that a read that names a writer which wrote
no such thing is seen as what it is; where the clients kept no numbers of writes it is the value alone. A transaction
without its ``C`` is of unknown outcome. Does not know times.
"""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import Any

from troubadour.formats.histories.imported import Imported, Sessions, wrong

INITIAL = frozenset({0xBEBEEBEE, 0xDEADBEEF})
"""Numbers of the writer, and of the write, of what was there at first."""

UNNAMED = 0xABDDEFEE
"""Number of a write, and of the writer and the write of a read, where the clients kept none: the value alone tells of
which write a read is (VeriStrong's histories of RUBiS and Twitter)."""
_FIELDS = {0x53: ("S", 1), 0x43: ("C", 1), 0x57: ("W", 3), 0x52: ("R", 4)}


def read(folder: Path) -> Imported:
    """Raises HistoryError and OSError."""
    files = sorted(folder.glob("T*.log"), key=lambda path: (len(path.stem), path.stem)) if folder.is_dir() else [folder]
    if not files:
        raise wrong(folder, "folder", "no T*.log, as Cobra writes for each session")
    built = Sessions(initial=None)
    torn = []
    for path in files:
        if not _session(built, path):
            torn.append(path.name)
    notes = [f"{name} ends within an operation, which is left out" for name in torn]
    return built.imported(notes=notes)


def _session(built: Sessions, path: Path) -> bool:
    """Whether the file is whole."""
    content, position = path.read_bytes(), 0
    session = re.sub(r"\W", "_", path.stem)
    transaction: int | None = None
    ops: list[list[Any]] = []
    while position < len(content):
        kind, count = _FIELDS.get(content[position], ("", 0))
        if not kind:
            raise wrong(path, f"byte {position}", f"an operation {content[position]:#04x}; Cobra's are S, W, R and C")
        if position + 1 + 8 * count > len(content):
            if ops:
                built.add(session, ops, "unknown")
            return False
        fields = struct.unpack_from(f">{count}Q", content, position + 1)
        if kind == "S":
            if transaction is not None and ops:
                built.add(session, ops, "unknown")
            transaction, ops = fields[0], []
        elif transaction is None:
            raise wrong(path, f"byte {position}", f"{kind} outside a transaction")
        elif kind == "W":
            write, key, value = fields
            ops.append(["w", "kv", key, _version(transaction, write, value)])
        elif kind == "R":
            writer, write, key, value = fields
            initial = {writer, write} & INITIAL
            ops.append(["r", "kv", key, None if initial else _version(writer, write, value)])
        else:
            if fields[0] != transaction:
                raise wrong(path, f"byte {position}", f"the end of {fields[0]}, within {transaction}")
            built.add(session, ops)
            transaction, ops = None, []
        position += 1 + 8 * count
    if transaction is not None and ops:
        built.add(session, ops, "unknown")
    return True


def _version(writer: int, write: int, value: int) -> str:
    if write == UNNAMED:
        return f"{value:x}"
    return f"{writer:x}.{write:x}={value:x}"

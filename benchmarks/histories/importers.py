"""Histories of others, read from their formats: key-value text, bincode of dbcop, logs of Cobra, text of AWDIT, JSON
of Chronos. Each becomes a history on one table whose rows are all there at first.

Formats are told apart by the file's name or the caller. Only committed transactions are kept. Does not know where the
files come from, nor what is published of them.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.histories.history import History, Kind, Operation, Transaction, Value

COBRA_INITIAL = (0xBEBEEBEE, 0xDEADBEEF)


class BadHistory(Exception):
    """A file is not of the format that it was taken for."""


@dataclass(slots=True)
class _Builder:
    """Collects transactions session by session. Keys of any kind are numbered."""

    initial: dict[int, Value] = field(default_factory=dict)
    sessions: dict[str, list[tuple[Operation, ...]]] = field(default_factory=dict)
    keys: dict[object, int] = field(default_factory=dict)

    def key(self, name: object) -> int:
        """The row of a key, which is there with value 0 unless told otherwise."""
        number = self.keys.setdefault(name, len(self.keys))
        self.initial.setdefault(number, 0)
        return number

    def read(self, key: object, value: Value) -> Operation:
        """A read."""
        return Operation(Kind.READ, self.key(key), value)

    def write(self, key: object, value: Value) -> Operation:
        """A write."""
        return Operation(Kind.WRITE, self.key(key), value)

    def add(self, session: object, operations: Iterable[Operation]) -> None:
        """One committed transaction."""
        self.sessions.setdefault(str(session), []).append(tuple(operations))

    def history(self, note: str) -> History:
        """Grouped by session: the formats say no more of the order."""
        transactions = tuple(
            Transaction(f"{session}.{number}", operations, f"s{session}")
            for session, those in self.sessions.items()
            for number, operations in enumerate(those, 1)
            if operations
        )
        return History(transactions, self.initial, note=note)


def text(path: Path) -> History:
    """``w(key,value,session,transaction)`` and ``r(...)``, a line each; transaction 0 of session 0 may write what is
    there at first."""
    built = _Builder()
    found: dict[tuple[int, int], list[tuple[str, int, int]]] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").split(), 1):
        match = re.fullmatch(r"([rw])\((-?\d+),(-?\d+),(\d+),(\d+)\)", line)
        if match is None:
            raise BadHistory(f"{path.name}, line {number}: {line[:40]}")
        key, value, session, transaction = map(int, match.groups()[1:])
        found.setdefault((session, transaction), []).append((match[1], key, value))
    first = found.get((0, 0))
    if first is not None and all(kind == "w" for kind, _, _ in first) and {s for s, _ in found} != {0}:
        del found[0, 0]
        built.initial.update({built.key(key): value for _, key, value in first})
    for (session, _), operations in found.items():
        built.add(session, [built.read(k, v) if kind == "r" else built.write(k, v) for kind, k, v in operations])
    return built.history(path.name)


def bincode(path: Path) -> History:
    """dbcop's, little-endian."""
    content, position = path.read_bytes(), 0

    def take(form: str) -> int:
        nonlocal position
        try:
            (value,) = struct.unpack_from("<" + form, content, position)
        except struct.error as error:
            raise BadHistory(f"{path.name}: ends within a transaction") from error
        position += struct.calcsize(form)
        return int(value)

    for _ in range(5):
        take("Q")
    for _ in range(3):
        length = take("Q")
        position += length
    built = _Builder()
    for session in range(take("Q")):
        for _ in range(take("Q")):
            operations = []
            for _ in range(take("Q")):
                is_write, key, value, done = take("B"), take("Q"), take("Q"), take("B")
                if done:
                    operations.append(built.write(key, value) if is_write else built.read(key, value))
            if take("B"):
                built.add(session, operations)
    return built.history(path.name)


def cobra(folder: Path) -> History:
    """Cobra's, big-endian, a file ``T*.log`` for each session. A value is the number of its write."""
    built = _Builder()
    for path in sorted(folder.glob("T*.log"), key=lambda path: int(re.sub(r"\D", "", path.stem))):
        _cobra_session(built, path)
    if not built.sessions:
        raise BadHistory(f"{folder.name}: no T*.log")
    return built.history(folder.name)


def _cobra_session(built: _Builder, path: Path) -> None:
    content, position = path.read_bytes(), 0
    operations: list[Operation] = []
    while position < len(content):
        kind = content[position : position + 1]
        count = {b"S": 1, b"C": 1, b"W": 3, b"R": 4}.get(kind)
        if count is None:
            raise BadHistory(f"{path.name}: {kind!r} at {position}")
        try:
            fields = struct.unpack_from(f">{count}Q", content, position + 1)
        except struct.error:
            break  # the client was stopped while it wrote
        position += 1 + 8 * count
        if kind == b"S":
            operations = []
        elif kind == b"W":
            operations.append(built.write(fields[1], _signed(fields[0])))
        elif kind == b"R":
            writer, write, key, _ = fields
            operations.append(built.read(key, 0 if {writer, write} & set(COBRA_INITIAL) else _signed(write)))
        else:
            built.add(path.stem, operations)
            operations = []


def _signed(number: int) -> int:
    """As a BIGINT holds it."""
    return number - (1 << 64) if number >> 63 else number


def blocks(path: Path) -> History:
    """AWDIT's: ``w key value`` and ``r key value``, ``-----`` between transactions, ``=====`` between sessions; the
    first version of a row is one that is written."""
    built = _Builder()
    for session, part in enumerate(re.split(r"^=+$", path.read_text(encoding="utf-8"), flags=re.M)):
        for transaction in re.split(r"^-+$", part, flags=re.M):
            operations = []
            for line in filter(None, map(str.strip, transaction.splitlines())):
                kind, key, value = line.split()
                make = {"r": built.read, "w": built.write}.get(kind)
                if make is None:
                    raise BadHistory(f"{path.name}: {line[:40]}")
                operations.append(make(int(key), int(value)))
            built.add(session, operations)
    built.initial.update(dict.fromkeys(built.initial))
    return built.history(path.name)


def chronos(path: Path) -> History:
    """The JSON of Chronos; an absent value is NULL. Its timestamps are left out."""
    built = _Builder()
    for transaction in json.loads(path.read_text(encoding="utf-8")):
        operations = []
        for operation in transaction["ops"]:
            kind, key, value = operation["t"].lower(), operation["k"], operation.get("v")
            if kind not in ("r", "w"):
                raise BadHistory(f"{path.name}: an operation {kind!r}")
            operations.append(built.read(key, value) if kind == "r" else built.write(key, value))
        built.add(transaction["sid"], operations)
    return built.history(path.name)


IMPORTERS: Mapping[str, Callable[[Path], History]] = {
    "text": text,
    "bincode": bincode,
    "cobra": cobra,
    "blocks": blocks,
    "chronos": chronos,
}


def read_history(path: Path, form: str | None = None) -> History:
    """Read a file, or a folder of Cobra's. Raises BadHistory, ValueError and OSError."""
    if form is None:
        if path.is_dir():
            form = "cobra"
        elif path.suffix in (".bincode", ".json"):
            form = {".bincode": "bincode", ".json": "chronos"}[path.suffix]
        else:
            with path.open(encoding="utf-8") as file:
                form = "text" if "(" in file.readline() else "blocks"
    return IMPORTERS[form](path)

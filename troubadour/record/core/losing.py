"""What is said of a segment whose file was lost while it was recorded: removed, renamed or cut by others. A segment
beside it has the header again and a *gap* (docs/log-format.md), so that the verdict on what is left knows.

Does not know what was recorded, but how much.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from troubadour.record.core.appending import PRIVATE, AppendedFile

LOST_NAME = "lost-"
"""What the token of such a segment begins with."""
_PIECE = 1 << 16


class Beginning:
    """The header and the initial rows of a segment that is about to be appended to. `tables`: those that have rows.
    `header`: as it stands in the file."""

    def __init__(self, file: AppendedFile, tables: Sequence[str]) -> None:
        self._file = file
        self._tables = tables
        self._length = file.appended
        line = b""
        while b"\n" not in line and (piece := file.read(_PIECE, len(line))):
            line += piece
        self._line = line.partition(b"\n")[0] + b"\n"
        self.header: dict[str, Any] = json.loads(self._line)

    def is_whole(self) -> bool:
        """Whether the file has it still."""
        line = self._file.read(len(self._line), 0)
        return line == self._line and self._file.read(1, self._length - 1) == b"\n"

    def made_anew(self, segment: str | None = None) -> bytes:
        """The header, where the initial rows are not known any more; of another `segment` of the log, if one is
        named."""
        header = dict(self.header)
        if self._tables:
            header["initial"] = dict.fromkeys(self._tables, "unknown")
        if segment is not None:
            header["segment"] = segment
        return json.dumps(header).encode() + b"\n"

    def again(self, segment: str) -> bytes:
        """The header of another segment, where the initial rows are still to be had."""
        header = {name: value for name, value in self.header.items() if name != "initial"}
        return json.dumps({**header, "segment": segment}).encode() + b"\n"


class Beside:
    """The segment beside one that was lost: ``run.lost-3f2a.jsonl`` for ``run.jsonl``. Raises OSError."""

    def __init__(self, lost: Path, beginning: Beginning) -> None:
        self._token = f"{LOST_NAME}{secrets.token_hex(2)}"
        self._path = beside(lost, self._token)
        self._beginning = beginning

    def tell(self, reason: str, since: int, transactions: int, rows: bool) -> None:
        """So many transactions that may have written are missing, none of which committed before `since`, in
        microseconds; `rows`: the initial rows are not among what is lost."""
        header = self._beginning.again(self._token) if rows else self._beginning.made_anew(self._token)
        gap = {"kind": "gap", "reason": reason, "since": since, "transactions": transactions}
        lines = (header, json.dumps(gap).encode(), b'\n{"kind":"end","transactions":0}\n')
        draft = self._path.with_name(f".{self._path.name}")
        try:
            with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE), "wb") as file:
                file.writelines(lines)
            os.replace(draft, self._path)
        except OSError:
            with suppress(OSError):
                draft.unlink()
            raise

    def remove(self) -> None:
        """The log says it by now."""
        self._path.unlink(missing_ok=True)


def beside(path: Path, token: str) -> Path:
    """Where another segment of a log goes."""
    stem, dot, rest = path.name.partition(".jsonl")
    return path.with_name(f"{stem}.{token}{dot}{rest}")

"""The logs below some paths, segments of one log put together by their ``log_id``.

Reads headers only. Does not know transactions.
"""

from __future__ import annotations

import glob
import gzip
import zlib
from collections.abc import Sequence
from pathlib import Path

import msgspec

from sql_semantics.records import dataclass

ENDINGS = (".jsonl", ".jsonl.gz")
_HEADER_BYTES = 64 << 20


class _Header(msgspec.Struct):
    log_id: str | int | None = None


@dataclass(frozen=True, slots=True)
class LogFiles:
    """One log: its segments in the order of their names; `name` is what people call it."""

    name: str
    files: tuple[Path, ...]


class NothingFound(Exception):
    """A path that leads to no log (exit status 2: a gate that looks at nothing must not pass)."""


def find_logs(paths: Sequence[str]) -> list[LogFiles]:
    """The logs at paths: files as they are, folders with all logs below them, globs. Raises NothingFound."""
    files: dict[Path, None] = {}
    for path in paths:
        found = list(_files(path))
        if not found:
            raise NothingFound(f"{path}: no log is there (files that end in {' or '.join(ENDINGS)})")
        files.update(dict.fromkeys(found))
    together: dict[object, list[Path]] = {}
    for file in files:
        identity = _log_id(file)
        together.setdefault(file if identity is None else ("id", identity), []).append(file)
    return [LogFiles(_name(group), tuple(sorted(group))) for group in together.values()]


def _files(path: str) -> list[Path]:
    place = Path(path)
    if place.is_dir():
        return sorted(file for file in place.rglob("*") if file.name.endswith(ENDINGS) and file.is_file())
    if place.exists():
        return [place]
    matches = (Path(match) for match in sorted(glob.glob(path, recursive=True)))
    return [file for match in matches for file in (_files(str(match)) if match.is_dir() else [match])]


def _name(group: Sequence[Path]) -> str:
    first, more = min(group), len(group) - 1
    return first.as_posix() + (f" and {more} more" if more else "")


def _log_id(file: Path) -> str | int | None:
    """The header's; None where there is none, or none that can be read: the audit says then what is wrong."""
    try:
        with file.open("rb") as raw:
            zipped = raw.read(2) == b"\x1f\x8b"
        with gzip.open(file) if zipped else file.open("rb") as stream:
            line = stream.readline(_HEADER_BYTES)
        return msgspec.json.decode(line, type=_Header).log_id
    except (OSError, EOFError, zlib.error, msgspec.MsgspecError, UnicodeDecodeError):
        return None

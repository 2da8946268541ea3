"""Files that are hostile before any statement is read. Does not know what is said of them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

MIB = 1 << 20
_HEADER = '{"format": "troubadour-log", "version": 1, "dialect": "postgres", "isolation": "serializable", "schema": []'


def inputs(folder: Path) -> Iterator[tuple[str, str]]:
    """Name and path of each; what does not exist yet is written."""
    yield "/dev/zero", "/dev/zero"
    yield "100 MiB in one line", _written(folder / "line.jsonl", lambda: [b'{"format": "'] + [b"x" * MIB] * 100)
    statement = _transaction("SELECT '" + "x" * 100 * MIB + "'")
    yield "a statement of 100 MiB", _written(folder / "statement.jsonl", lambda: [_HEADER.encode(), b"}\n", statement])
    deep = b"[" * 10_000_000
    yield "JSON of 10,000,000 brackets", _written(folder / "brackets.jsonl", lambda: [deep])
    yield "an integer of 10 MiB", _written(folder / "integer.jsonl", lambda: [b'{"version": ', b"9" * 10 * MIB, b"}"])
    yield "gzip bomb, blanks", _zipped(folder / "blanks.jsonl.gz", b" " * MIB, 1_000)
    yield "gzip bomb, empty lines", _zipped(folder / "lines.jsonl.gz", b"\n" * MIB, 1_000)
    entry = _transaction("SELECT 1")
    yield (
        "gzip bomb, one transaction for ever",
        _zipped(folder / "same.jsonl.gz", entry * 10_000, 200, first=_HEADER + "}\n"),
    )
    yield (
        "a key of 100,000 characters",
        _written(folder / "key.jsonl", lambda: [_HEADER.encode(), b', "', b"k" * 100_000, b'": 1}\n']),
    )
    yield (
        "a table's name of 100,000 characters",
        _written(
            folder / "name.jsonl", lambda: [_HEADER.encode(), b"}\n", _transaction("SELECT * FROM " + "n" * 100_000)]
        ),
    )


def _transaction(sql: str) -> bytes:
    return json.dumps({"id": "t1", "status": "committed", "statements": [{"sql": sql}]}).encode() + b"\n"


def _written(path: Path, parts: Callable[[], Iterable[bytes]]) -> str:
    if not path.exists():
        with path.open("wb") as file:
            file.writelines(parts())
    return str(path)


def _zipped(path: Path, part: bytes, times: int, first: str = "") -> str:
    if not path.exists():
        with gzip.open(path, "wb", compresslevel=1) as file:
            file.write(first.encode())
            for _ in range(times):
                file.write(part)
    return str(path)

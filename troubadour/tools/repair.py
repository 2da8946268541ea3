"""Mends the segments of processes that died: what they had not finished writing is taken off, and the end added.

No transaction that may have committed writes is lost by it where intents are written before COMMIT is sent: a torn
intent is of a COMMIT that never was. From a file whose lines were made at once, after the run, anything may be missing:
that is a *gap*. Does not know SQL.
"""

from __future__ import annotations

import json
import zlib
from pathlib import Path

from sql_semantics.records import dataclass
from troubadour.formats.entries import BadEntry, RawEnd, RawGap, RawRows, RawTransaction, read_header, read_transaction
from troubadour.model.log import LogError


@dataclass(frozen=True, slots=True)
class Repaired:
    """`text`: the whole segment, mended. `transactions` finished, `standing` intents without a transaction line
    (whose outcome is unknown), `dropped` bytes taken off, `gaps` that the log has; `complete`: nothing was wrong."""

    text: bytes
    transactions: int
    standing: int
    dropped: int
    gaps: int
    complete: bool


def repair(path: Path) -> Repaired:
    """Read a segment as far as it goes. Raises LogError where it is damaged elsewhere than at its end."""
    stored = path.read_bytes()
    text = _inflated(stored) if stored.startswith(b"\x1f\x8b") else stored
    whole = text.rstrip(b"\0")
    lines = whole.split(b"\n")
    last = lines.pop()
    if last.strip() and _is_json(last):
        lines.append(last)  # only the line feed is missing
    if not lines:
        raise LogError(f"{path}: not even the header is whole")
    kept = []
    finished: set[object] = set()
    intended: set[object] = set()
    ended = made_at_once = False
    gaps = 0
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            if number == 1:
                made_at_once = read_header(line).segment is not None
            else:
                entry = read_transaction(line)
                if ended:
                    raise BadEntry("a line after the end")
                if isinstance(entry, RawGap):
                    gaps += 1
                elif isinstance(entry, RawTransaction):
                    (intended if entry.kind == "intent" else finished).add(_key(entry.id))
                elif isinstance(entry, RawEnd):
                    if entry.transactions != len(finished):
                        raise BadEntry(f"the end counts {entry.transactions} transactions, not {len(finished)}")
                    ended = True
                    continue
                else:
                    assert isinstance(entry, RawRows)
        except BadEntry as error:
            raise LogError(f"{path}:{number}: {error.text} (only what was cut off at the end can be mended)") from error
        kept.append(line)
    if made_at_once and not ended:
        # the recorder makes all lines at the end, in an order that has nothing to do with what saw what
        kept.append(json.dumps({"kind": "gap", "reason": "the end of the file was cut off"}).encode())
        gaps += 1
    kept.append(json.dumps({"kind": "end", "transactions": len(finished)}).encode())
    mended = b"\n".join(kept) + b"\n"
    dropped = len(text) - sum(len(line) + 1 for line in lines)
    complete = ended and dropped <= 0
    return Repaired(mended, len(finished), len(intended - finished), max(dropped, 0), gaps, complete)


def _key(id: object) -> object:
    return (type(id), id)


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def _inflated(data: bytes) -> bytes:
    """As much text as can be had of gzip data that may end early."""
    text = []
    while data:
        inflate = zlib.decompressobj(zlib.MAX_WBITS | 16)
        try:
            text.append(inflate.decompress(data))
        except zlib.error:
            break
        data = inflate.unused_data.lstrip(b"\0")
    return b"".join(text)

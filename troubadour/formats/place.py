"""Where a transaction stands in the files of a log, for messages. Does not know what is wrong with it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from troubadour.formats.entries import id_of
from troubadour.formats.text import STDIN, Torn, blocks, lines, opened, shown
from troubadour.model.log import LogError, TransactionId


def place_of(paths: Sequence[str | Path], transaction: TransactionId) -> str | None:
    """The file and the line of a transaction of a log that was read, as ``run.jsonl:17``, the last one where an intent
    stands before it. None where the log was read from standard input, or a file is not there any more."""
    found = None
    with suppress(LogError, Torn):
        for path in paths:
            if str(path) == STDIN:
                return None
            with opened(path) as stream:
                read = (line for batch, _ in lines(blocks(stream, lambda size: None)) for line in batch)
                for number, line in enumerate(read, 1):
                    if _is_of(line, transaction):
                        found = f"{shown(path)}:{number}"
    return found


def _is_of(line: bytes, transaction: TransactionId) -> bool:
    text = str(transaction)
    if text.isascii() and text.isalnum() and text.encode() not in line:
        return False
    name = id_of(line)
    return name == transaction and type(name) is type(transaction)

"""Where transactions stand in the files of a log, for messages and links. Does not know what is wrong with them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path

from sql_semantics.records import dataclass
from troubadour.formats.entries import id_of
from troubadour.formats.text import STDIN, Torn, blocks, lines, opened, shown
from troubadour.model.log import LogError, TransactionId


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a file, from 1."""

    path: str
    line: int


def place_of(paths: Sequence[str | Path], transaction: TransactionId) -> str | None:
    """The file and the line of a transaction of a log that was read, as ``run.jsonl:17``. None as for `places_of`."""
    found = places_of(paths, [transaction]).get(transaction)
    return None if found is None else f"{shown(found.path)}:{found.line}"


def places_of(paths: Sequence[str | Path], transactions: Collection[TransactionId]) -> dict[TransactionId, Place]:
    """Where these transactions of a log that was read stand, each at its last line where an intent stands before it.
    Empty where the log was read from standard input, or a file is not there any more."""
    found: dict[TransactionId, Place] = {}
    if STDIN in map(str, paths) or not transactions:
        return found
    # a line without any of these texts need not be decoded; ids with other characters may be written in several ways
    texts = [str(one) for one in transactions]
    wanted = [text.encode() for text in texts] if all(text.isascii() and text.isalnum() for text in texts) else [b""]
    names = {(type(one), one): one for one in transactions}
    with suppress(LogError, Torn):
        for path in paths:
            with opened(path) as stream:
                read = (line for batch, _ in lines(blocks(stream, lambda size: None)) for line in batch)
                for number, line in enumerate(read, 1):
                    if any(text in line for text in wanted):
                        name = id_of(line)
                        if name is not None and (one := names.get((type(name), name))) is not None:
                            found[one] = Place(str(path), number)
    return found

"""The JSON of Chronos, Aion and TimeKiller: a list of transactions with hybrid timestamps ``{"p": ..., "l": ...}``.

Operations ``w`` and ``r`` on registers, or ``a`` and ``r`` on lists. The timestamps become `start` and `commit`,
integers of one order; the transactions of a session are numbered as they stand in the file. An absent value is null, or
the empty list. Does not judge by the timestamps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from troubadour.formats.histories.imported import Imported, Json, Scalar, brief, scalar, wrong

Clock = tuple[int, int]
_KINDS = frozenset(("r", "w", "a"))


class _Stamp(msgspec.Struct, frozen=True, gc=False):
    p: int | str
    l: int | str = 0  # noqa: E741 - the format's name

    def clock(self) -> Clock:
        return int(self.p), int(self.l)


class _Operation(msgspec.Struct, frozen=True, gc=False):
    t: str
    k: Any
    v: Any = None


class _Transaction(msgspec.Struct, frozen=True):
    tid: int | str
    sid: int | str
    sts: _Stamp
    cts: _Stamp
    ops: list[_Operation]


def read(path: Path) -> Imported:
    """Raises HistoryError and OSError."""
    try:
        raw = msgspec.json.decode(path.read_bytes(), type=list[msgspec.Raw])
    except msgspec.MsgspecError as error:
        raise wrong(path, "JSON", f"no list of transactions: {error}") from error
    decoder = msgspec.json.Decoder(_Transaction)
    kinds: set[str] = set()
    stamps: list[Clock] = []
    answers: dict[bool, tuple[int, object]] = {}
    zeros, nulls, wrote_zero, listed = False, False, False, False
    for place, one in enumerate(raw):
        try:
            transaction = decoder.decode(one)
            stamps += (transaction.sts.clock(), transaction.cts.clock())
        except (msgspec.MsgspecError, ValueError) as error:
            raise wrong(path, f"transaction {place}", str(error)) from error
        written: set[object] = set()
        for operation in transaction.ops:
            kind, key, value = operation.t, operation.k, operation.v
            if kind not in _KINDS:
                kind = kind.lower()
            kinds.add(kind)
            if type(value) is list:
                listed = True
            if kind == "r" and value is not None and (type(value) is list) not in answers:
                answers[type(value) is list] = place, value
            if nulls or wrote_zero:
                # nothing else is asked
                continue
            if kind == "w":
                wrote_zero = value == 0
                written.add(_named(key))
            elif kind == "r" and (value is None or value == 0) and _named(key) not in written:
                zeros, nulls = zeros or value is not None, value is None
    if not kinds <= {"r", "w", "a"} or {"w", "a"} <= kinds:
        raise wrong(path, "operations", f"{', '.join(sorted(kinds))}: Chronos has r with w (registers) or a (lists)")
    lists = "a" in kinds or ("w" not in kinds and listed)
    if (not lists) in answers:
        place, value = answers[not lists]
        raise wrong(path, f"transaction {place}", f"a {'list' if lists else 'register'} was read as {brief(value)}")
    header: Json = {"isolation": "strict-snapshot"}
    notes = []
    if lists:
        header |= {"objects": {"l": "list"}}
    else:
        initial: Scalar | None = 0 if zeros and not nulls and not wrote_zero else None
        header |= {"objects": {"kv": "register"}, "initial": {"kv": {"default": initial}}}
        if initial == 0:
            notes.append("keys hold 0 at first: it is read, never written, and no read gives null")
    return Imported(header, _lines(raw, decoder, _order(stamps), lists), notes=tuple(notes))


def _named(key: object) -> object:
    """A key as one to be looked up; `1`, `"1"`, `1.0` and `true` are different ones."""
    return key if type(key) is int or type(key) is str else (repr(key),)


def _order(stamps: Sequence[Clock]) -> dict[Clock, int]:
    """Each timestamp as one integer of the same order: its physical part where no logical one matters, both in 62
    bits where they fit, else its place among all."""
    bits = max((logical for _, logical in stamps), default=0).bit_length()
    highest = max((physical for physical, _ in stamps), default=0)
    lowest = min((min(stamp) for stamp in stamps), default=0)
    if lowest >= 0 and highest.bit_length() + bits <= 62:
        return {stamp: stamp[0] << bits | stamp[1] for stamp in stamps}
    return {stamp: place for place, stamp in enumerate(sorted(set(stamps)))}


def _lines(
    raw: Sequence[msgspec.Raw], decoder: msgspec.json.Decoder[_Transaction], order: dict[Clock, int], lists: bool
) -> Iterator[Json]:
    numbers: dict[str, int] = {}
    for one in raw:
        transaction = decoder.decode(one)
        session = str(transaction.sid)
        number = numbers[session] = numbers.get(session, -1) + 1
        yield {
            "id": transaction.tid,
            "session": session,
            "sno": number,
            "status": "committed",
            "start": order[transaction.sts.clock()],
            "commit": order[transaction.cts.clock()],
            "ops": [_operation(operation, lists) for operation in transaction.ops],
        }


def _operation(operation: _Operation, lists: bool) -> list[Any]:
    kind, key, value = operation.t, operation.k, operation.v
    if kind not in _KINDS:
        kind = kind.lower()
    if type(key) is not int:
        key = scalar(key)
    if lists:
        if kind == "r":
            return ["r", "l", key, [scalar(one) for one in value or ()]]
        return ["append", "l", key, scalar(value)]
    return [kind, "kv", key, value if value is None or type(value) is int else scalar(value)]

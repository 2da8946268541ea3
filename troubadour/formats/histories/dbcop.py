"""dbcop's histories: bincode (little-endian), JSON, and the text with ``[x:=1 y==2]``.

Keys hold 0 at first in bincode; elsewhere an uninitialized read is told as such, and the initial value is null. What
did not succeed is left out, a transaction that did not commit is aborted. Does not know times: no form has them.
"""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import Any

import msgspec

from sql_semantics.patterns import pattern
from troubadour.formats.histories.imported import Imported, Sessions, brief, scalar, wrong

_STATUS = {True: "committed", False: "aborted"}


def read(path: Path) -> Imported:
    """Any of the three forms, told apart by the content. Raises HistoryError and OSError."""
    content = path.read_bytes()
    head = content.lstrip()[:1]
    if head in (b"[", b"{") and _is_json(content):
        return _json(path, content)
    if path.suffix == ".hist" or (head in (b"[", b"/") and b"\0" not in content):
        return _text(path, content)
    return _bincode(path, content)


def _is_json(content: bytes) -> bool:
    second = content.lstrip()[1:].lstrip()[:1]
    return content.lstrip()[:1] == b"{" or second in (b"[", b"{", b"]")


def _bincode(path: Path, content: bytes) -> Imported:
    position = 0

    def take(form: str) -> int:
        nonlocal position
        try:
            (value,) = struct.unpack_from("<" + form, content, position)
        except struct.error as error:
            raise wrong(
                path, f"byte {position}", "the file ends within a transaction, or is no bincode of dbcop"
            ) from error
        position += struct.calcsize(form)
        return int(value)

    def count() -> int:
        number = take("Q")
        if number > len(content):
            raise wrong(path, f"byte {position}", f"a length of {number}, in a file of {len(content)} bytes")
        return number

    for _ in range(5):
        take("Q")
    for _ in range(3):
        length = count()
        position += length
    built = Sessions(initial=0)
    for session in range(count()):
        for _ in range(count()):
            ops: list[list[Any]] = []
            for _ in range(count()):
                is_write, key, value, succeeded = take("B"), take("Q"), take("Q"), take("B")
                if succeeded:
                    ops.append(["w" if is_write else "r", "kv", key, value])
            built.add(str(session), ops, _STATUS[bool(take("B"))])
    if position != len(content):
        raise wrong(path, f"byte {position}", "more than dbcop writes")
    return built.imported()


def _json(path: Path, content: bytes) -> Imported:
    try:
        whole = msgspec.json.decode(content)
    except msgspec.DecodeError as error:
        raise wrong(path, "JSON", str(error)) from error
    sessions = whole.get("data") if isinstance(whole, dict) else whole
    if not isinstance(sessions, list):
        raise wrong(path, "JSON", "no list of sessions, nor an object with `data`")
    built = Sessions(initial=None)
    for number, session in enumerate(sessions):
        for place, transaction in enumerate(session if isinstance(session, list) else [session]):
            where = f"session {number}, transaction {place}"
            events = transaction.get("events") if isinstance(transaction, dict) else None
            if not isinstance(events, list):
                raise wrong(path, where, f"no `events`: {brief(transaction)}")
            committed = transaction.get("committed", True)
            built.add(str(number), [_event(path, where, event) for event in events], _STATUS[bool(committed)])
    return built.imported()


def _event(path: Path, where: str, event: object) -> list[Any]:
    match event:
        case {"Write": {"variable": key, "version": value}} if value is not None:
            return ["w", "kv", scalar(key), scalar(value)]
        case {"Read": {"variable": key, "version": value}}:
            return ["r", "kv", scalar(key), None if value is None else scalar(value)]
        case ["w", key, value] if value is not None:
            return ["w", "kv", scalar(key), scalar(value)]
        case ["r", key, value]:
            return ["r", "kv", scalar(key), None if value is None else scalar(value)]
    raise wrong(path, where, f"neither a Read nor a Write: {brief(event)}")


_TOKEN = pattern(r"(?:\s|//[^\n]*)*(?:(-+)|(\[)|(\])|(!)|(\w+)\s*(:=|==)\s*(\?|-?\w+))")


def _text(path: Path, content: bytes) -> Imported:
    text = content.decode("utf-8", "replace")
    built = Sessions(initial=None)
    session, position = 0, 0
    ops: list[list[Any]] | None = None
    closed: list[list[Any]] | None = None
    end = len(re.sub(r"(?:\s|//[^\n]*)+\Z", "", text))
    while position < end:
        match = _TOKEN.match(text, position)
        at = position if match is None else match.start(match.lastindex or 0)
        where = f"line {text.count(chr(10), 0, at) + 1}"
        if match is None:
            raise wrong(path, where, f"no text of dbcop: {brief(text[position : position + 40].strip())}")
        position = match.end()
        dash, opens, closes, bang, key, operator, value = match.groups()
        if closed is not None:
            built.add(str(session), closed, _STATUS[bang is None])
            closed = None
            if bang:
                continue
        if bang or (ops is None) != bool(dash or opens):
            raise wrong(path, where, f"{match[0].strip()} does not belong here")
        if dash:
            session += 1
        elif opens:
            ops = []
        elif closes:
            ops, closed = None, ops
        elif ops is not None:
            if operator == ":=" and value == "?":
                raise wrong(path, where, "a write of ?")
            ops.append(["w" if operator == ":=" else "r", "kv", key, None if value == "?" else _number(value)])
    if closed is not None:
        built.add(str(session), closed)
    if ops is not None:
        raise wrong(path, "end", "a transaction is not closed")
    return built.imported()


def _number(text: str) -> int | str:
    return int(text) if re.fullmatch(r"-?\d+", text) else text

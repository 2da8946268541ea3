"""Addresses of the internet as numbers, bytes and texts (MariaDB's manual, Miscellaneous Functions; tried on 10.11).

An address of version 4 has four bytes, one of version 6 sixteen; bytes of other lengths are none. Does not know how
bytes are stored.
"""

from __future__ import annotations

import string
from collections.abc import Callable

from sql_semantics.values.functions.rule import Rule, Slot, Table, any_of, exactly, of_either, plainly
from sql_semantics.values.types import BYTES, INT, INTEGER_KINDS, TEXT, UBIGINT, Kind, Value

_HEXADECIMAL = frozenset(string.hexdigits)
_DIGITS = frozenset(string.digits)
_GROUPS = 8


def _number_of(text: str) -> int | None:
    """INET_ATON: parts of up to 255; of two and three parts the last one keeps its place at the end."""
    found = part = dots = 0
    for letter in text:
        if letter in _DIGITS:
            part = part * 10 + int(letter)
            if part > 255:
                return None
        elif letter == ".":
            found, part, dots = found << 8 | part, 0, dots + 1
        else:
            return None
    if not text or text.endswith("."):
        return None
    return ((found << {1: 16, 2: 8}.get(dots, 0)) << 8 | part) % 2**64


def _text_of(number: int) -> str | None:
    return ".".join(map(str, number.to_bytes(4, "big"))) if 0 <= number < 2**32 else None


def _four_bytes(text: str) -> bytes | None:
    parts = text.split(".")
    if len(parts) != 4 or not all(0 < len(part) < 4 and _DIGITS.issuperset(part) for part in parts):
        return None
    numbers = [int(part) for part in parts]
    return bytes(numbers) if max(numbers) < 256 else None


def _sixteen_bytes(text: str) -> bytes | None:
    """Eight groups of up to four digits; ``::`` stands for zeros, the last two groups may be written as version 4."""
    if not 2 <= len(text) <= 39:
        return None
    head, gap, tail = text.partition("::")
    before, after = _groups(head, not gap), _groups(tail, True)
    if before is None or after is None:
        return None
    missing = 2 * _GROUPS - len(before) - len(after)
    if missing < 0 or bool(missing) != bool(gap):
        return None
    return before + bytes(missing) + after


def _groups(text: str, last: bool) -> bytes | None:
    """The bytes of groups with colons between; None where one is none."""
    found = b""
    groups = text.split(":") if text else []
    for place, group in enumerate(groups, 1):
        if "." in group:
            four = _four_bytes(group) if last and place == len(groups) else None
            if four is None:
                return None
            found += four
        elif 0 < len(group) <= 4 and _HEXADECIMAL.issuperset(group):
            found += int(group, 16).to_bytes(2, "big")
        else:
            return None
    return found


def _bytes_of(text: str) -> bytes | None:
    return _four_bytes(text) or _sixteen_bytes(text)


def _shown(address: bytes) -> str | None:
    if len(address) == 4:
        return ".".join(map(str, address))
    return _shown_groups(address) if len(address) == 16 else None


def _shown_groups(address: bytes) -> str:
    """The first of the longest runs of zeros is written ``::``, and an address of version 4 within as such."""
    groups = [int.from_bytes(address[at : at + 2], "big") for at in range(0, 16, 2)]
    length, start = max((_zeros(groups, place), -place) for place in range(_GROUPS))
    start = -start
    if not length:
        return ":".join(f"{group:x}" for group in groups)
    if start == 0 and (length == 6 or (length == 5 and groups[5] == 0xFFFF)):
        return "::" + "ffff:" * (length == 5) + ".".join(map(str, address[12:]))
    head, tail = groups[:start], groups[start + length :]
    return ":".join(f"{group:x}" for group in head) + "::" + ":".join(f"{group:x}" for group in tail)


def _zeros(groups: list[int], place: int) -> int:
    length = 0
    while place + length < _GROUPS and not groups[place + length]:
        length += 1
    return length


def _is(holds: Callable[[bytes], bool]) -> Callable[[Value], int]:
    """0 for NULL and for a text: only bytes are addresses of version 6."""
    return lambda address: int(isinstance(address, bytes) and len(address) == 16 and holds(address))


def _is_written(read: Callable[[str], bytes | None]) -> Callable[[Value], int]:
    def apply(value: Value) -> int:
        text = value.decode("latin-1") if isinstance(value, bytes) else value
        return int(isinstance(text, str) and read(text) is not None)

    return apply


def _nothing(text: str) -> None:
    """A text is no address: only bytes are."""


_BINARY = Slot(frozenset({Kind.BYTES}))
_ANY_TEXT = exactly(TEXT)
_WHOLE = any_of(INTEGER_KINDS)

MYSQL: Table = {
    "inet_aton": (Rule(_ANY_TEXT, UBIGINT, plainly(_number_of)),),
    "inet_ntoa": (Rule((_WHOLE,), TEXT, plainly(_text_of)),),
    "inet6_aton": (Rule(_ANY_TEXT, BYTES, plainly(_bytes_of)),),
    "inet6_ntoa": (Rule((_BINARY,), TEXT, plainly(_shown)), Rule(_ANY_TEXT, TEXT, plainly(_nothing))),
    "is_ipv4": of_either(INT, plainly(_is_written(_four_bytes)), strict=False),
    "is_ipv6": of_either(INT, plainly(_is_written(_sixteen_bytes)), strict=False),
    **{
        name: of_either(INT, plainly(_is(holds)), strict=False)
        for name, holds in {
            "is_ipv4_compat": lambda a: not any(a[:12]) and int.from_bytes(a[12:], "big") > 1,
            "is_ipv4_mapped": lambda a: not any(a[:10]) and a[10:12] == b"\xff\xff",
        }.items()
    },
}

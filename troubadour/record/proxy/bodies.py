"""What bodies of messages have alike in both protocols. Does not know any message."""

from __future__ import annotations

import struct

BROKEN = (ValueError, IndexError, struct.error)
"""What reading raises of bytes that are not as the protocol says."""


def cstring(data: bytes, place: int = 0) -> tuple[bytes, int]:
    """A text that ends with a zero, and where the next thing begins. Raises ValueError."""
    end = data.index(0, place)
    return data[place:end], end + 1

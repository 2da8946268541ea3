"""Messages of PostgreSQL's protocol 3, cut out of a stream that comes in pieces, wherever these were split. Does not
know what a message says.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

LENGTH = struct.Struct(">I")
LONGEST = 1 << 24
"""Of longer messages the body is passed over: memory is bounded, whatever a client sends."""

Message = tuple[int, bytes | None]
"""A message's type, as a byte, and its body: None where it was longer than `LONGEST`."""


class Framing:
    """One direction of a connection, behind its startup. Raises ValueError where a length cannot be one: this is not
    the protocol, or something is missing."""

    __slots__ = ("_passing", "_rest", "_type")

    def __init__(self) -> None:
        self._rest = b""
        self._passing = 0
        """How much of a long message is still to come."""
        self._type = 0

    def feed(self, data: bytes) -> Iterator[Message]:
        """The messages that end in this piece."""
        if self._passing:
            if len(data) < self._passing:
                self._passing -= len(data)
                return
            data, self._passing = data[self._passing :], 0
            yield self._type, None
        if self._rest:
            data = self._rest + data
            self._rest = b""
        place, size = 0, len(data)
        unpack = LENGTH.unpack_from
        while size - place >= 5:
            (length,) = unpack(data, place + 1)
            if length < 4:
                raise ValueError("a message of less than no length")
            end = place + 1 + length
            if end > size:
                if length > LONGEST:
                    self._type, self._passing = data[place], end - size
                    return
                break
            yield data[place], data[place + 5 : end] if length <= LONGEST else None
            place = end
        self._rest = data[place:]

    @property
    def between(self) -> bool:
        """Whether the last message is whole."""
        return not self._rest and not self._passing

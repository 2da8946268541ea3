"""How a MySQL or MariaDB connection begins, up to the server's OK; from then on it is followed no further than whether
an answer is owed. Nothing of the beginning is written down but who came and how: it has passwords.

What the server offers and a proxy could not read is taken out of its greeting: compression, LOCAL INFILE, bulk
statements, and answers without their columns; TLS too, unless the proxy has a certificate. Packets of a login are
numbered, and a side that has TLS has one more of them. Does not know sockets.
"""

from __future__ import annotations

import struct

from troubadour.record.proxy.bodies import BROKEN, cstring
from troubadour.record.proxy.carrier.talk import PIECE, Step
from troubadour.record.proxy.mysql import packets
from troubadour.record.proxy.mysql.asking import AnswerEnd, of_session
from troubadour.record.proxy.mysql.packets import Framing, packet

WITH_DATABASE, LOCAL_FILES, COMPRESS, SSL = 1 << 3, 1 << 7, 1 << 5, 1 << 11
SECURE, LENGTHS, DEPRECATE_EOF = 1 << 15, 1 << 21, 1 << 24
OPTIONAL_METADATA, ZSTD, ATTRIBUTES = 1 << 25, 1 << 26, 1 << 27
MASKED = COMPRESS | LOCAL_FILES | SSL | OPTIONAL_METADATA | ZSTD | ATTRIBUTES
UNREADABLE = COMPRESS | SSL | ZSTD
"""What a client that has it anyway cannot be followed with."""
_OK, _ERROR = 0, 0xFF


class MysqlTalk:
    """One connection."""

    def __init__(self, *, offers_tls: bool = False, wants_tls: bool = False) -> None:
        """`offers_tls`: to clients; `wants_tls`: of the server."""
        self._offers_tls, self._wants_tls = offers_tls, wants_tls
        self._secure = False
        """Whether the client has it."""
        self._client, self._server = Framing(), Framing()
        self._greeted = False
        self._version = ""
        self._process = 0
        self._told: dict[str, object] = {}
        self._asking = False
        self._answer = AnswerEnd(deprecates_eof=False)

    @property
    def piece(self) -> int:
        """As `Talk`: what follows a wish for TLS is TLS."""
        return self._client.missing if self._offers_tls and not (self._secure or self._told) else PIECE

    @property
    def _more(self) -> int:
        """By how much the numbers that the server has are above the client's."""
        return self._wants_tls - self._secure

    def arrived(self) -> Step:
        """As `Talk`."""
        return Step(connect=True)

    def greeted(self) -> Step:
        """As `Talk`."""
        return Step()

    def first_got(self, data: bytes) -> Step:
        """As `Talk`."""
        mine = b""
        found = list(self._server.feed(data))
        for place, (number, payload) in enumerate(found):
            if payload is None:
                return Step(close=True)
            if not self._greeted and payload[:1] != bytes([_ERROR]):
                self._greeted = True
                payload = self._without_what_cannot_be_read(payload)
                if not payload:
                    return Step(close=True)
                mine += packet(number, payload)
                continue
            number -= self._more
            if payload[:1] == bytes([_OK]):
                rest = b"".join(packet(place, payload or b"") for place, payload in found[place + 1 :])
                return self._opened(mine + packet(number, payload), packets.ok(payload).status, rest)
            mine += packet(number, payload)
        return Step(to_client=mine)

    def _without_what_cannot_be_read(self, payload: bytes) -> bytes:
        """The server's greeting, less some capabilities; nothing, where it has no TLS and should."""
        version, place = cstring(payload, 1)
        self._version = version.decode("utf-8", "replace")
        (self._process,) = struct.unpack_from("<I", payload, place)
        changed = bytearray(payload)
        low, high = place + 13, place + 18
        if self._wants_tls and not struct.unpack_from("<H", changed, low)[0] & SSL:
            return b""
        for at, shift in ((low, 0), (high, 16)):
            (offered,) = struct.unpack_from("<H", changed, at)
            ours = SSL >> shift if self._offers_tls else 0
            struct.pack_into("<H", changed, at, (offered & ~(MASKED >> shift) | ours) & 0xFFFF)
        if not payload[low] & 1:  # MariaDB has more of them behind
            struct.pack_into("<I", changed, high + 9, 0)
        return bytes(changed)

    def first_sent(self, data: bytes) -> Step:
        """As `Talk`."""
        if self._told and not self._more:
            return Step(to_server=data)
        mine, plain = b"", b""
        for number, payload in list(self._client.feed(data)):
            if payload is None:
                return Step(close=True)
            if not self._told and self._offers_tls and len(payload) == 32 and payload[1] & SSL >> 8:
                self._secure = True
                return Step(secure_client=True)
            if not self._told:
                try:
                    self._told = self._response(payload)
                except BROKEN:
                    return Step(close=True)
                (wanted,) = struct.unpack_from("<I", payload)
                if wanted & UNREADABLE & ~(SSL if self._secure else 0):
                    return Step(close=True)
                # some clients ask for what was not offered
                payload = struct.pack("<I", wanted & ~MASKED | (SSL if self._wants_tls else 0)) + payload[4:]
                if self._wants_tls:
                    plain = packet(1, payload[:32])
            mine += packet(number + self._more, payload)
        return Step(to_server=mine, plain_to_server=plain, secure_server=bool(plain))

    def _response(self, payload: bytes) -> dict[str, object]:
        (capabilities,) = struct.unpack_from("<I", payload)
        user, place = cstring(payload, 32)
        database = b""
        if capabilities & WITH_DATABASE:
            if capabilities & LENGTHS:
                _, place = packets.text(payload, place)
            elif capabilities & SECURE:
                place += 1 + payload[place]
            else:
                _, place = cstring(payload, place)
            database, _ = cstring(payload + b"\0", place)
        return {
            "capabilities": capabilities, "charset": payload[8], "user": user.decode("utf-8", "replace"),
            "database": database.decode("utf-8", "replace"),
        }  # fmt: skip

    def _opened(self, mine: bytes, status: int, rest: bytes) -> Step:
        opened = {**self._told, "version": self._version, "status": status, "process": self._process}
        self._asking = True
        capabilities = int(str(self._told["capabilities"]))
        self._answer = AnswerEnd(deprecates_eof=bool(capabilities & DEPRECATE_EOF))
        return Step(to_client=mine, opened=opened, rest=rest, ask=of_session(self._version))

    # -- then

    def sent(self, data: bytes) -> bytes:
        """As `Talk`."""
        return b""

    def got(self, data: bytes) -> bytes:
        """As `Talk`: what the proxy was answered is its own, and comes before all else."""
        if not self._asking:
            return data
        found = self._answer.feed(data)
        if found is None:
            return b""
        self._asking = False
        return found

    def ended(self) -> bytes:
        """As `Talk`."""
        return b""

    @property
    def busy(self) -> bool:
        """As `Talk`."""
        return self._asking

    @property
    def asking(self) -> bool:
        """As `Talk`."""
        return self._asking

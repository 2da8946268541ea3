"""How a PostgreSQL connection begins, up to the server's first ReadyForQuery; from then on `watch` follows it. Nothing
of this is written down but what the server was asked for and told: it has passwords. Does not know sockets.
"""

from __future__ import annotations

import struct

from troubadour.record.proxy.bodies import BROKEN
from troubadour.record.proxy.carrier.talk import PIECE, Step
from troubadour.record.proxy.postgres.carried.asking import OF_SESSION, of_transaction
from troubadour.record.proxy.postgres.carried.watch import Watch
from troubadour.record.proxy.postgres.protocol import messages

_SSL, _GSS, _CANCEL = 80877103, 80877104, 80877102
_LONGEST = 10_000
"""Bytes of a client's first packet at most, as the server has it."""
_SASL = 10
_PLUS = b"SCRAM-SHA-256-PLUS\0"


class PostgresTalk:
    """One connection. `database`: the one that is recorded; `commit_places`: whether a COMMIT is asked for its place.
    `offers_tls`: whether clients may have TLS; `wants_tls`: whether the server is to be asked for it."""

    def __init__(
        self, database: str, *, commit_places: bool, offers_tls: bool = False, wants_tls: bool = False
    ) -> None:
        self._database = database
        self._offers_tls, self._wants_tls = offers_tls, wants_tls
        self._watch = Watch(of_transaction() if commit_places else None)
        self._waiting = b""
        self._startup = b""
        self._client_secure = False
        self._answers_tls = False
        """Whether the server's next byte says if it takes TLS."""
        self._passing = False
        self._told: dict[str, str] = {}
        self._process: tuple[int, bytes] = (0, b"")
        self._asked_for: dict[str, str] = {}

    # -- the beginning

    @property
    def piece(self) -> int:
        """As `Talk`: a client waits for an answer before it begins TLS."""
        return PIECE

    def arrived(self) -> Step:
        """As `Talk`."""
        return Step()

    def first_sent(self, data: bytes) -> Step:
        """As `Talk`."""
        if self._passing:
            return Step(to_server=data)
        self._waiting += data
        if len(self._waiting) < 8:
            return Step()
        length, code = struct.unpack_from(">Ii", self._waiting)
        if not 8 <= length <= _LONGEST:
            return Step(close=True)
        if len(self._waiting) < length:
            return Step()
        packet, self._waiting = self._waiting[:length], self._waiting[length:]
        if code == _SSL and self._offers_tls and not self._client_secure:
            self._client_secure = True
            return Step(to_client=b"S", secure_client=True)
        if code in (_SSL, _GSS):
            return Step(to_client=b"N")
        if code == _CANCEL:
            return Step(connect=True, to_server=packet, cancels=(struct.unpack_from(">i", packet, 8)[0], packet[12:]))
        try:
            self._asked_for = messages.parameters(packet[8:])
        except BROKEN:
            return Step(close=True)
        self._startup = packet + self._waiting
        self._waiting = b""
        return Step(connect=True)

    def greeted(self) -> Step:
        """As `Talk`."""
        if not self._startup:
            return Step()
        if self._wants_tls:
            self._answers_tls = True
            return Step(to_server=struct.pack(">II", 8, _SSL))
        self._passing = True
        return Step(to_server=self._startup)

    def first_got(self, data: bytes) -> Step:
        """As `Talk`."""
        if self._answers_tls:
            if data[:1] != b"S":
                return Step(close=True)
            self._answers_tls, self._passing = False, True
            return Step(secure_server=True, to_server=self._startup)
        data = self._waiting + data
        place, mine = 0, []
        while len(data) - place >= 5:
            (length,) = struct.unpack_from(">I", data, place + 1)
            end = place + 1 + length
            if end > len(data) or length < 4:
                break
            kind, body = data[place : place + 1], data[place + 5 : end]
            mine.append(self._without_binding(kind, body) if kind == b"R" else data[place:end])
            place = end
            if kind == b"S":
                name, value = messages.parameter_status(body)
                self._told[name] = value
            elif kind == b"K":
                self._process = (struct.unpack_from(">i", body)[0], body[4:])
            elif kind == b"Z":
                return self._opened(b"".join(mine), data[place:])
        self._waiting = data[place:]
        return Step(to_client=b"".join(mine))

    def _without_binding(self, kind: bytes, body: bytes) -> bytes:
        """The mechanisms for logging in, without the one that needs TLS on the client's side as well."""
        if struct.unpack_from(">I", body)[0] == _SASL and self._wants_tls and not self._client_secure:
            body = body.replace(_PLUS, b"", 1)
        return messages.message(kind, body)

    def _opened(self, mine: bytes, rest: bytes) -> Step:
        user = self._asked_for.get("user", "")
        database = self._asked_for.get("database") or user
        opened = {
            "user": user, "database": database, "application": self._asked_for.get("application_name", ""),
            "parameters": self._told, "process": self._process[0],
        }  # fmt: skip
        step = Step(to_client=mine, opened=opened, rest=rest)
        if self._asked_for.get("replication", "false").lower() not in ("false", "off", "no", "0", ""):
            step.unrecorded = "it replicates"
        elif database != self._database:
            step.unrecorded = f"it is to database {database}, and the log is of {self._database}"
        else:
            step.ask = OF_SESSION
            self._watch.ask()
        return step

    @property
    def process(self) -> tuple[int, bytes]:
        """What the server calls the connection, and the secret that stops its statements."""
        return self._process

    # -- then

    def sent(self, data: bytes) -> bytes:
        """As `Talk`."""
        return self._watch.sent(data)

    def got(self, data: bytes) -> bytes:
        """As `Talk`."""
        return self._watch.got(data)

    def ended(self) -> bytes:
        """As `Talk`."""
        return self._watch.ended()

    @property
    def busy(self) -> bool:
        """As `Talk`."""
        return self._watch.outstanding > 0 or self._watch.asked > 0

    @property
    def asking(self) -> bool:
        """As `Talk`."""
        return self._watch.asked > 0

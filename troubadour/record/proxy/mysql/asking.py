"""What the proxy itself asks a MySQL or MariaDB server on a client's connection: how the session is set, before its
first statement. Does not know sockets.
"""

from __future__ import annotations

from troubadour.record.proxy.mysql.packets import packet

_MARIADB = (
    "SELECT LOWER(VARIABLE_NAME), SESSION_VALUE FROM information_schema.SYSTEM_VARIABLES"
    " WHERE SESSION_VALUE IS NOT NULL AND (NOT SESSION_VALUE <=> DEFAULT_VALUE OR VARIABLE_NAME IN ("
    "'TX_ISOLATION', 'INNODB_SNAPSHOT_ISOLATION',"
    " 'SQL_MODE', 'COLLATION_CONNECTION', 'TIME_ZONE', 'TX_READ_ONLY')) LIMIT 10000"
)
_MYSQL = "SHOW SESSION VARIABLES"


def of_session(version: str) -> bytes:
    """The question, to a server of that version: names and values of variables."""
    text = _MARIADB if "MariaDB" in version else _MYSQL
    return packet(0, b"\x03" + text.encode())


class AnswerEnd:
    """Follows the answer to the question up to its end. `deprecates_eof`: how the client wanted answers to end."""

    def __init__(self, *, deprecates_eof: bool) -> None:
        self._ends = 1 if deprecates_eof else 2
        self._first = True
        self._rest = b""

    def feed(self, data: bytes) -> bytes | None:
        """What comes behind the answer, once that has ended; None before."""
        self._rest += data
        while len(self._rest) >= 4:
            end = 4 + int.from_bytes(self._rest[:3], "little")
            if end > len(self._rest):
                return None
            payload, self._rest = self._rest[4:end], self._rest[end:]
            failed = payload[:1] == b"\xff"
            if not self._first and payload[:1] == b"\xfe" and len(payload) < 0xFFFF:
                self._ends -= 1
            self._first = False
            if failed or not self._ends:
                return self._rest
        return None

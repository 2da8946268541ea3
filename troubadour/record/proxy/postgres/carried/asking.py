"""What the proxy itself asks a PostgreSQL server on a client's connection, and what became of it: how the session is
set, before its first statement; and in front of a COMMIT the id of the transaction, by which its commit time is looked
up later.

Neither changes what the client is answered. A question before COMMIT has names of its own, as the unnamed statement and
portal are the client's, and is closed again, so that no DISCARD or DEALLOCATE can make it fail. Does not know sockets.
"""

from __future__ import annotations

import secrets
import struct

from troubadour.record.postgres.log import LIFETIME
from troubadour.record.proxy.postgres.protocol.messages import message
from troubadour.record.settings import POSTGRES

STARTED = " started"
"""Stands among the names of settings for when the server was started."""
OF_SESSION = message(b"Q", f"{POSTGRES} UNION ALL SELECT '{STARTED}', {LIFETIME}".encode() + b"\0")
"""Asked when a session begins, as names and values."""
_OF_TRANSACTION = (
    b"SELECT pg_catalog.pg_current_xact_id_if_assigned()::pg_catalog.text,"
    b" pg_catalog.current_setting('transaction_isolation')"
)


def of_transaction() -> bytes:
    """The question before COMMIT, under names that no client has."""
    name = f"troubadour_{secrets.token_hex(8)}".encode() + b"\0"
    return b"".join(
        (
            message(b"P", name + _OF_TRANSACTION + b"\0\0\0"),
            message(b"B", name + name + struct.pack(">HHH", 0, 0, 0)),
            message(b"E", name + b"\0\0\0\0"),
            message(b"C", b"P" + name),
            message(b"C", b"S" + name),
            message(b"S", b""),
        )
    )

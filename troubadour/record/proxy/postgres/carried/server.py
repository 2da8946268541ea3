"""The PostgreSQL server behind a proxy: where it is, what the log of it begins with, whether it keeps commit times. All
of it on a connection of the proxy's own. Does not know clients.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from troubadour.record.core.segments import Captured
from troubadour.record.errors import RecordError
from troubadour.record.postgres.capture import capture
from troubadour.record.postgres.wal import WalOrder
from troubadour.record.proxy.origin import Origin, connected
from troubadour.record.proxy.postgres.carried.startup import PostgresTalk
from troubadour.record.servers.server import connect, one_line

ORDERS = ("timestamps", "wal", "client")
_ENUMS = b"SELECT oid::int8 FROM pg_catalog.pg_type WHERE typtype = 'e'"


@contextmanager
def open_postgres(dsn: str, commit_order: str, *, offers_tls: bool) -> Iterator[Origin]:
    """The server that a connection string names. Raises RecordError."""
    if commit_order not in ORDERS:
        raise RecordError(f"commit_order {commit_order!r} is none of {', '.join(ORDERS)}")
    with connect(dsn) as own:
        try:
            tracks = _one(own, b"SHOW track_commit_timestamp") == "on"
            labels = [row[0] for row in own.execute(_ENUMS)]
            database = str(_one(own, b"SELECT current_database()"))
        except psycopg.Error as error:
            raise RecordError(f"the server cannot be asked: {one_line(error)}") from error
        host, port = own.info.hostaddr or own.info.host, own.info.port
        by_wal = commit_order == "wal"
        if by_wal:  # so that what it needs is said before anything is captured
            WalOrder(dsn).close()
        places = by_wal or (tracks and commit_order == "timestamps")
        tls = _tls(dsn) if own.pgconn.ssl_in_use else None

        def begin() -> Captured:
            try:
                return capture(own)
            except psycopg.Error as error:
                raise RecordError(f"what the log begins with cannot be read: {one_line(error)}") from error

        yield Origin(
            begin,
            lambda: connected(f"{host}/.s.PGSQL.{port}" if host.startswith("/") else host, port),
            lambda: PostgresTalk(database, commit_places=places, offers_tls=offers_tls, wants_tls=tls is not None),
            {"product": "postgres", "labels": labels},
            dsn if places else None,
            by_wal,
            own.info.host,
            tls,
        )


def _one(own: Any, query: bytes) -> object:
    row = own.execute(query).fetchone()
    return row[0]


def _tls(dsn: str) -> ssl.SSLContext:
    """As libpq checks a server: not at all, unless it is asked to."""
    given = conninfo_to_dict(dsn)
    mode = str(given.get("sslmode") or "prefer")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = mode == "verify-full"
    context.verify_mode = ssl.CERT_REQUIRED if mode in ("verify-full", "verify-ca") else ssl.CERT_NONE
    if context.verify_mode is ssl.CERT_REQUIRED:
        root = given.get("sslrootcert")
        context.load_verify_locations(str(root)) if root and root != "system" else context.load_default_certs()
    return context

"""The MySQL or MariaDB server behind a proxy: where it is, and what the log of it begins with. Does not know
clients."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from troubadour.record.capture import capture_mysql
from troubadour.record.core.segments import Captured
from troubadour.record.drivers.detection import mysql_level
from troubadour.record.drivers.mysql import connect
from troubadour.record.errors import RecordError
from troubadour.record.proxy.mysql.talk import MysqlTalk
from troubadour.record.proxy.origin import Origin, connected

PORT = 3306


def is_mysql(dsn: str) -> bool:
    """Whether a connection string is of MySQL or MariaDB."""
    return dsn.startswith(("mysql://", "mariadb://"))


@contextmanager
def open_mysql(dsn: str, *, offers_tls: bool = False) -> Iterator[Origin]:
    """The server that ``mysql://user:password@host:port/database?unix_socket=...`` names; options that begin
    with ``ssl_`` are PyMySQL's, and give the server TLS. Raises RecordError."""
    parts = urlsplit(dsn)
    database = unquote(parts.path.lstrip("/"))
    if not database:
        raise RecordError("the connection string names no database: mysql://user@host/DATABASE")
    host = dict(parse_qsl(parts.query)).get("unix_socket") or parts.hostname or "localhost"
    with connect(dsn.replace("mariadb://", "mysql://", 1)) as own:

        def begin() -> Captured:
            found = capture_mysql(own)
            return Captured({**found.header, "isolation": mysql_level(own)}, found.rows)

        tls = own.ctx if _has_tls(own) else None
        yield Origin(
            begin,
            lambda: connected(host, parts.port or PORT),
            lambda: MysqlTalk(offers_tls=offers_tls, wants_tls=tls is not None),
            {"product": "mysql", "database": database},
            host=parts.hostname or "localhost",
            tls=tls,
        )


def _has_tls(own: Any) -> bool:
    with own.cursor() as cursor:
        cursor.execute("SHOW STATUS LIKE 'Ssl_cipher'")
        (found,) = cursor.fetchall()
        return bool(found[1])

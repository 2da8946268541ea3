"""What a server does otherwise by its version or by a setting, as the log's header tells it. Does not know levels."""

from __future__ import annotations

import re

from troubadour.model.log import Header

SINCE = (11, 6, 2)
"""The MariaDB from which on `innodb_snapshot_isolation` is on by default."""


def refuses_newer_rows(header: Header) -> bool:
    """Whether InnoDB refuses, at REPEATABLE READ, to write or lock a row that was changed since the snapshot (error
    1020): MariaDB's `innodb_snapshot_isolation`, in the header's `settings`, else by the version in `dbms`."""
    setting = header.settings.get("innodb_snapshot_isolation")
    if setting is not None:
        return str(setting).lower() in ("on", "true", "1")
    dbms = header.dbms or ""
    version = re.search(r"(\d+)\.(\d+)\.(\d+)", dbms)
    return "mariadb" in dbms.lower() and version is not None and tuple(map(int, version.groups())) >= SINCE

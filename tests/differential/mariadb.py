"""The private MariaDB of the differential tests: the recorders' own."""

from __future__ import annotations

from troubadour.record.servers.embedded_mariadb import COLLATION, PrivateMariaDB, missing

__all__ = ["COLLATION", "PrivateMariaDB", "missing"]

"""The engines of the differential tests, for suites that run beside them."""

from __future__ import annotations

from tests.differential.conftest import mariadb, mariadb_server, postgres, postgres_uri

__all__ = ["mariadb", "mariadb_server", "postgres", "postgres_uri"]

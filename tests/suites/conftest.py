"""The engines of the differential tests, for suites that run beside them."""

from __future__ import annotations

from tests.differential.conftest import mariadb, postgres

__all__ = ["mariadb", "postgres"]

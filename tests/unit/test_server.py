"""What a server does by its version or by a setting."""

from __future__ import annotations

import pytest

from troubadour.model.log import Header
from troubadour.model.server import refuses_newer_rows


@pytest.mark.parametrize(
    ("dbms", "settings", "refuses"),
    [
        (None, {}, False),
        ("10.11.18-MariaDB-0+deb12u1", {}, False),
        ("MariaDB 11.6.1", {}, False),
        ("MariaDB 11.6.2", {}, True),
        ("11.8.3-MariaDB", {}, True),
        ("MySQL 12.0.1", {}, False),
        ("11.8.3-MariaDB", {"innodb_snapshot_isolation": "OFF"}, False),
        ("11.8.3-MariaDB", {"innodb_snapshot_isolation": False}, False),
        ("10.11.18-MariaDB", {"innodb_snapshot_isolation": "on"}, True),
        (None, {"innodb_snapshot_isolation": 1}, True),
    ],
)
def test_when_innodb_refuses_newer_rows(dbms: str | None, settings: dict[str, object], refuses: bool) -> None:
    assert refuses_newer_rows(Header("mysql", (), dbms=dbms, settings=settings)) is refuses

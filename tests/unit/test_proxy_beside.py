"""The connection string that leads to a proxy has the form of the server's, and its database, user and options."""

from __future__ import annotations

import pytest

from troubadour.record.errors import RecordError
from troubadour.record.proxy.beside import leading_to


@pytest.mark.parametrize(
    ("dsn", "expected"),
    [
        ("host=/run port=1 dbname=shop user=me", "host=127.0.0.1 port=7 dbname=shop user=me sslmode=disable"),
        ("postgresql://me:a%40b@db:1/shop?sslmode=require&application_name=x",
         "postgresql://me:a%40b@127.0.0.1:7/shop?application_name=x&sslmode=disable"),
        ("postgresql:///shop?host=/run", "postgresql://127.0.0.1:7/shop?sslmode=disable"),
        ("mysql://root@localhost/shop?unix_socket=/run/s&charset=utf8mb4", "mysql://root@127.0.0.1:7/shop?charset=utf8mb4"),
    ],
)  # fmt: skip
def test_the_string_leads_to_the_proxy(dsn: str, expected: str) -> None:
    assert sorted(leading_to(dsn, 7).split()) == sorted(expected.split())


def test_what_is_no_connection_string_is_refused() -> None:
    with pytest.raises(RecordError, match="cannot be read"):
        leading_to("no=such", 7)

"""A MariaDB that is started for a run shares nothing with others on the machine."""

from __future__ import annotations

from pathlib import Path

from troubadour.record.servers.embedded_mariadb import PrivateMariaDB


def test_temporary_tables_are_where_no_other_server_removes_them(mariadb_server: PrivateMariaDB) -> None:
    """A server that starts empties the directory that it has for them."""
    with mariadb_server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SELECT @@tmpdir, @@datadir")
        ((temporary, data),) = cursor.fetchall()
    assert Path(temporary).parent == Path(data).parent

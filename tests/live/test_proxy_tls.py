"""TLS through the proxy: of clients, of the server, and of both with the server's own certificate, and SCRAM."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from benchmarks.recording.proxied.servers import BINARIES, Postgres, postgres
from tests.live.audited import done
from tests.live.test_proxy import proxied_port
from tests.servers import free_port
from troubadour.record.servers.embedded_mariadb import PrivateMariaDB, missing

pytestmark = pytest.mark.skipif(
    shutil.which("openssl") is None or not BINARIES.exists(), reason="no openssl, or no PostgreSQL that listens"
)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("tls")
    paths = (folder / "server.crt", folder / "server.key")
    command = [
        "openssl",
        "req",
        "-new",
        "-x509",
        "-days",
        "2",
        "-nodes",
        "-subj",
        "/CN=localhost",
        "-newkey",
        "rsa:2048",
    ]
    subprocess.run([*command, "-out", str(paths[0]), "-keyout", str(paths[1])], check=True, capture_output=True)
    return paths


@pytest.fixture(scope="module")
def server(certificate: tuple[Path, Path]) -> Iterator[Postgres]:
    """A server with TLS, by TCP, and a user who has a password."""
    with postgres("fsync = off", free_port()) as running:
        with psycopg.connect(running.dsn, autocommit=True) as connection:
            connection.execute("CREATE USER till PASSWORD 'secret'")
            connection.execute("CREATE TABLE t (a INT PRIMARY KEY)")
            connection.execute("GRANT ALL ON t TO till")
            data = running.folder / "data"
            for path in certificate:
                target = data / path.name
                shutil.copy(path, target)
                shutil.chown(target, data.owner(), data.group())
                target.chmod(0o600)
            (data / "pg_hba.conf").write_text("local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n")
            connection.execute("ALTER SYSTEM SET ssl = on")
            connection.execute("SELECT pg_reload_conf()")
        yield running


DSN = "host=127.0.0.1 port={port} user=till password=secret dbname=shop sslmode={mode} channel_binding={binding}"


@pytest.mark.parametrize(
    ("to_server", "to_proxy", "binding"),
    [
        ("disable", "require", "prefer"),  # of the client alone
        ("require", "disable", "prefer"),  # of the server alone
        ("require", "require", "require"),  # of both, bound to the server's own certificate
    ],
)
def test_tls(
    server: Postgres, certificate: tuple[Path, Path], tmp_path: Path, to_server: str, to_proxy: str, binding: str
) -> None:
    log = tmp_path / "log.jsonl"
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute("DELETE FROM t")
    dsn = DSN.format(port=server.port, mode=to_server, binding="prefer")
    tls = ("--tls-certificate", str(certificate[0]), "--tls-key", str(certificate[1])) if to_proxy == "require" else ()
    with proxied_port(dsn, log, *tls) as port:
        with psycopg.connect(DSN.format(port=port, mode=to_proxy, binding=binding)) as connection:
            assert connection.pgconn.ssl_in_use is (to_proxy == "require")
            rows = ", ".join(f"({n})" for n in range(1000))
            connection.execute(f"INSERT INTO t VALUES {rows}".encode())
            assert len(connection.execute(f"SELECT a, '{'x' * 100}' FROM t".encode()).fetchall()) == 1000
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(DSN.format(port=port, mode=to_proxy, binding="prefer").replace("secret", "other"))
        assert "secret" not in log.read_bytes().decode("utf-8", "replace")
    assert [len(transaction.statements) for transaction in done(log).transactions] == [2]


@pytest.mark.skipif(missing() is not None, reason="no MariaDB")
@pytest.mark.parametrize(("to_server", "to_proxy"), [(False, True), (True, False), (True, True)])
def test_tls_of_mariadb(certificate: tuple[Path, Path], tmp_path: Path, to_server: bool, to_proxy: bool) -> None:
    import pymysql

    options = (f"--ssl-cert={certificate[0]}", f"--ssl-key={certificate[1]}")
    log = tmp_path / "log.jsonl"
    with PrivateMariaDB(options) as server:
        with server.connect() as connection, connection.cursor() as cursor:
            cursor.execute("CREATE TABLE t (a INT PRIMARY KEY)")
            cursor.execute("CREATE USER till IDENTIFIED BY 'secret'")
            cursor.execute("CREATE USER till@localhost IDENTIFIED BY 'secret'")
            cursor.execute("GRANT ALL ON *.* TO till, till@localhost")
        dsn = server.dsn.replace("root@", "till:secret@") + (f"&ssl_ca={certificate[0]}" if to_server else "")
        tls = ("--tls-certificate", str(certificate[0]), "--tls-key", str(certificate[1])) if to_proxy else ()
        with proxied_port(dsn, log, *tls) as port:
            given = {"host": "localhost", "port": port, "user": "till", "database": "test"}
            given |= (
                {"ssl_ca": str(certificate[0]), "ssl_verify_identity": True} if to_proxy else {"ssl_disabled": True}
            )
            with pymysql.connect(password="secret", **given) as connection, connection.cursor() as cursor:
                cursor.execute("INSERT INTO t VALUES " + ", ".join(f"({n})" for n in range(1000)))
                cursor.execute(f"SELECT a, '{'x' * 100}' FROM t")
                assert len(cursor.fetchall()) == 1000
                connection.commit()
            with pytest.raises(pymysql.OperationalError, match="Access denied"):
                pymysql.connect(password="other", **given)
            assert "secret" not in log.read_bytes().decode("utf-8", "replace")
    assert [len(transaction.statements) for transaction in done(log).transactions] == [2]

"""The clients that are sent through the proxy: what each needs, how it is had, and how it is run. Does not know what is
compared.

Packages of the system's are not installed (Debian's names: php-cli php-mysql php-pgsql, libdbd-pg-perl
libdbd-mysql-perl, ruby-pg ruby-mysql2 ruby-activerecord, golang-go golang-github-lib-pq-dev
golang-github-go-sql-driver-mysql-dev, libmariadb-java, node and npm, a JDK and Maven):
clients that lack theirs are named as not to be had.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.recording.proxied.servers import BINARIES

HERE = Path(__file__).parent / "clients"
BUILD = Path("build/proxied").absolute()
PACKAGES = (
    "psycopg[binary]", "psycopg2-binary", "asyncpg", "pg8000", "sqlalchemy", "piccolo[postgres]", "kinto[postgresql]",
    "webtest", "PyMySQL", "mysql-connector-python",
)  # fmt: skip
MODULES = (
    "pg", "knex", "sequelize", "typeorm", "graphile-worker", "pg-boss@10", "mysql2", "mariadb",
    "prisma@7", "@prisma/client@7", "@prisma/adapter-pg@7",
)  # fmt: skip
PRISMA = """
generator client {
  provider = "prisma-client-js"
}
datasource db {
  provider = "postgresql"
}
model accounts {
  id      Int     @id
  owner   String?
  balance Decimal @db.Decimal(12, 2)
}
model notes {
  id   Int       @id @default(autoincrement())
  text String?
  day  DateTime? @db.Date
}
"""
PSQL = r"""
BEGIN; UPDATE accounts SET balance = balance + 1 WHERE id = 1; SAVEPOINT s;
UPDATE accounts SET balance = balance / 0; ROLLBACK TO s;
UPDATE accounts SET balance = 7 WHERE id = 2; COMMIT AND CHAIN;
DELETE FROM notes; ROLLBACK;
\copy notes (text) from program 'seq 1 5'
INSERT INTO notes (text) VALUES ('a'), ('b') RETURNING id;
SELECT count(*) FROM notes \; SELECT sum(balance) FROM accounts;
BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY; SELECT * FROM accounts ORDER BY id; COMMIT;
PREPARE p AS SELECT owner FROM accounts WHERE id = $1; EXECUTE p (3);
BEGIN; DECLARE c CURSOR FOR SELECT id FROM accounts ORDER BY id; FETCH 3 FROM c; FETCH ALL FROM c; COMMIT;
"""
MYSQL = r"""
BEGIN; UPDATE accounts SET balance = balance + 1 WHERE id = 1; SAVEPOINT s;
UPDATE accounts SET balance = 7 WHERE id = 2; ROLLBACK TO s; COMMIT;
INSERT INTO notes (text, day) VALUES ('it''s', '2020-01-31'), ('b', NULL); SELECT LAST_INSERT_ID();
START TRANSACTION READ ONLY; SELECT * FROM accounts ORDER BY id; COMMIT;
SET autocommit = 0; DELETE FROM notes WHERE id = 2; ROLLBACK; SET autocommit = 1;
SELECT COUNT(*) FROM notes; DELETE FROM notes WHERE id = 77;
"""


@dataclass(frozen=True, slots=True)
class Client:
    """`command`: what to run at a port, for the server itself with ``setup`` where the client makes its tables
    (`sets_up`), then for the proxy. `needs`: what must be there; where it is not the client is not to be had."""

    name: str
    command: Callable[[int], Sequence[str]]
    needs: Callable[[], bool]
    product: str = "postgres"
    sets_up: bool = False


def _runs(program: str, *arguments: str) -> Callable[[], bool]:
    """Whether a program is there and succeeds."""

    def found() -> bool:
        if shutil.which(program) is None:
            return False
        return subprocess.run([program, *arguments], capture_output=True, check=False).returncode == 0

    return found


def _at(port: int) -> list[str]:
    return ["-h", "127.0.0.1", "-p", str(port), "-U", "postgres"]


def _pgbench(mode: str) -> Client:
    return Client(
        f"pgbench -M {mode}",
        lambda port: [str(BINARIES / "pgbench"), "-n", "-M", mode, "-c", "4", "-t", "100", *_at(port), "shop"],
        (BINARIES / "pgbench").exists,
    )


def _python(name: str, module: str, product: str = "postgres") -> Client:
    python = BUILD / "python" / "bin" / "python"
    return Client(
        name, lambda port: [str(python), str(HERE / "drivers.py"), module, str(port)], python.exists, product
    )  # fmt: skip


def _node(name: str, what: str, module: str, product: str = "postgres", *, sets_up: bool = False) -> Client:
    return Client(
        f"node: {name}",
        lambda port: ["node", str(BUILD / "node.js"), what, str(port)],
        (BUILD / "node_modules" / module).exists,
        product,
        sets_up,
    )


def _jdbc(product: str, jars: Callable[[], Sequence[Path]], url: str) -> Client:
    name = "JDBC" if product == "postgres" else "JDBC on MariaDB"
    return Client(
        name,
        lambda port: ["java", "-cp", str(jars()[-1]), str(HERE / "Jdbc.java"), url.format(port=port)],
        lambda: shutil.which("java") is not None and bool(jars()),
        product,
    )


def _postgres_jars() -> Sequence[Path]:
    return sorted(Path.home().glob(".m2/repository/org/postgresql/postgresql/*/postgresql-*.jar"))


def _mariadb_jars() -> Sequence[Path]:
    found = sorted(Path.home().glob(".m2/repository/org/mariadb/jdbc/mariadb-java-client/*/mariadb-java-client-*.jar"))
    return found or sorted(Path("/usr/share/java").glob("mariadb-java-client.jar"))


def _script(name: str, program: str, file: str, what: str, needs: Callable[[], bool], product: str) -> Client:
    return Client(name, lambda port: [program, str(HERE / file), what, str(port)], needs, product)


def _wordpress() -> Client:
    folder = BUILD / "debian" / "usr" / "share" / "wordpress"
    return Client(
        "WordPress on MariaDB",
        lambda port: ["php", str(HERE / "wordpress.php"), str(folder), f"127.0.0.1:{port}"],
        lambda: (folder / "wp-load.php").exists() and _runs("php", "-r", "exit(extension_loaded('mysqli') ? 0 : 1);")(),
        "mariadb",
        sets_up=True,
    )


def _kinto() -> Client:
    python = BUILD / "python" / "bin" / "python"
    return Client(
        "kinto", lambda port: [str(python), str(HERE / "kinto_store.py"), str(port)], python.exists, sets_up=True
    )


def _has_php(extension: str) -> Callable[[], bool]:
    return _runs("php", "-r", f"exit(extension_loaded('{extension}') ? 0 : 1);")


def _go(name: str, what: str, product: str) -> Client:
    program = BUILD / "client-go"
    return Client(name, lambda port: [str(program), what, str(port)], program.exists, product)


CLIENTS: Sequence[Client] = (
    *map(_pgbench, ("simple", "extended", "prepared")),
    Client(
        "psql",
        lambda port: [str(BINARIES / "psql"), "-q", *_at(port), "shop", "-f", str(BUILD / "psql.sql")],
        (BINARIES / "psql").exists,
    ),
    *(_python(name, name) for name in ("psycopg", "psycopg2", "asyncpg", "pg8000", "sqlalchemy", "piccolo")),
    _kinto(),
    _node("pg", "pg", "pg"),
    _node("knex", "knex", "knex"),
    _node("sequelize", "sequelize", "sequelize"),
    _node("TypeORM", "typeorm", "typeorm"),
    _node("Prisma", "prisma", ".prisma/client/index.js"),
    _node("graphile-worker", "graphile", "graphile-worker", sets_up=True),
    _node("pg-boss", "pgboss", "pg-boss", sets_up=True),
    _jdbc("postgres", _postgres_jars, "jdbc:postgresql://127.0.0.1:{port}/shop?user=postgres"),
    _script("Perl's DBI", "perl", "client.pl", "postgres", _runs("perl", "-MDBD::Pg", "-e", "1"), "postgres"),
    _script("PHP: pgsql", "php", "client.php", "pgsql", _has_php("pgsql"), "postgres"),
    _script("PHP: PDO", "php", "client.php", "pdo_pgsql", _has_php("pdo_pgsql"), "postgres"),
    _script("Ruby: pg", "ruby", "client.rb", "pg", _runs("ruby", "-rpg", "-e", "1"), "postgres"),
    _script(
        "Ruby: ActiveRecord", "ruby", "client.rb", "activerecord",
        _runs("ruby", "-rpg", "-ractive_record", "-e", "1"), "postgres",
    ),
    _go("Go: lib/pq", "postgres", "postgres"),
    Client(
        "mariadb (its shell)",
        lambda port: ["mariadb", "-h", "127.0.0.1", "-P", str(port), "-u", "root", "shop",
                      "-e", f"source {BUILD / 'mariadb.sql'}"],
        lambda: shutil.which("mariadb") is not None,
        "mariadb",
    ),
    _python("PyMySQL", "pymysql", "mariadb"),
    _python("mysql-connector", "connector", "mariadb"),
    _node("mysql2", "mysql2", "mysql2", "mariadb"),
    _node("mariadb", "mariadb", "mariadb", "mariadb"),
    _jdbc("mariadb", _mariadb_jars, "jdbc:mariadb://127.0.0.1:{port}/shop?user=root"),
    _script(
        "Perl's DBI on MariaDB", "perl", "client.pl", "mariadb", _runs("perl", "-MDBD::mysql", "-e", "1"), "mariadb",
    ),
    _script("PHP: mysqli", "php", "client.php", "mysqli", _has_php("mysqli"), "mariadb"),
    _script("PHP: PDO on MariaDB", "php", "client.php", "pdo_mysql", _has_php("pdo_mysql"), "mariadb"),
    _script("Ruby: mysql2", "ruby", "client.rb", "mysql2", _runs("ruby", "-rmysql2", "-e", "1"), "mariadb"),
    _script(
        "Ruby: ActiveRecord on MariaDB", "ruby", "client.rb", "activerecord-mysql",
        _runs("ruby", "-rmysql2", "-ractive_record", "-e", "1"), "mariadb",
    ),
    _go("Go: go-sql-driver", "mysql", "mariadb"),
    _wordpress(),
)  # fmt: skip


def prepare() -> None:
    """The clients, in a folder that may be thrown away."""
    BUILD.mkdir(parents=True, exist_ok=True)
    (BUILD / "psql.sql").write_text(PSQL, encoding="utf-8")
    (BUILD / "mariadb.sql").write_text(MYSQL, encoding="utf-8")
    shutil.copy(HERE / "node.js", BUILD)
    if not (BUILD / "python").exists():
        subprocess.run([sys.executable, "-m", "venv", str(BUILD / "python")], check=True)
        subprocess.run([str(BUILD / "python/bin/pip"), "install", "--quiet", *PACKAGES], check=False)
    if not (BUILD / "node_modules").exists() and shutil.which("npm"):
        subprocess.run(["npm", "install", "--silent", "--prefix", str(BUILD), *MODULES], check=False)
        (BUILD / "schema.prisma").write_text(PRISMA, encoding="utf-8")
        # the client is made of WebAssembly; the engine for schemas, which would be fetched, is not used
        environment = {**os.environ, "PRISMA_SCHEMA_ENGINE_BINARY": shutil.which("true") or ""}
        subprocess.run(
            ["npx", "prisma", "generate", "--schema", "schema.prisma"], cwd=BUILD, env=environment, check=False
        )
    if shutil.which("mvn"):
        for jars, artifact in ((_postgres_jars, "org.postgresql:postgresql:42.7.13"),
                               (_mariadb_jars, "org.mariadb.jdbc:mariadb-java-client:3.5.8")):  # fmt: skip
            if not jars():
                subprocess.run(["mvn", "-q", "dependency:get", f"-Dartifact={artifact}"], check=False)
    if shutil.which("go") and not (BUILD / "client-go").exists():
        shutil.copy(HERE / "client.go", BUILD)
        environment = {**os.environ, "GO111MODULE": "off", "GOPATH": "/usr/share/gocode"}
        subprocess.run(["go", "build", "-o", "client-go", "client.go"], cwd=BUILD, env=environment, check=False)
    if shutil.which("apt-get") and not (BUILD / "debian").exists():
        _unpacked(BUILD / "debian")


def _unpacked(folder: Path) -> None:
    """Debian's WordPress, which needs no installing."""
    folder.mkdir()
    packages = ["wordpress", "php-getid3", "libjs-underscore", "libjs-cropper"]
    subprocess.run(["apt-get", "download", *packages], cwd=folder, check=False)
    for package in folder.glob("*.deb"):
        subprocess.run(["dpkg", "-x", str(package), str(folder)], check=True)

"""Real clients through the proxy, each log beside its server's own and audited; the proxy, its server and its clients
killed; and what it costs. ``--page`` puts the tables into a page. Does not know how the proxy works."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import click
import psycopg
import pymysql

from benchmarks.recording.proxied.catalogue import CLIENTS, Client, prepare
from benchmarks.recording.proxied.compared import compared, compared_with_general
from benchmarks.recording.proxied.cost import cost
from benchmarks.recording.proxied.killing import kills
from benchmarks.recording.proxied.limits import limits
from benchmarks.recording.proxied.servers import BINARIES, MariaDB, Postgres, postgres, proxy
from troubadour.formats import read_log
from troubadour.model.log import Log

KILLS = Path(__file__).parent / "kills.json"
"""What came of all kills so far; those go on behind it."""
UNSAFE = "fsync = off\nsynchronous_commit = off\nfull_page_writes = off\nlog_statement = all"
MAIN = "from troubadour.cli.main import main; main()"
TABLES = """
DROP TABLE IF EXISTS accounts, notes;
CREATE TABLE accounts (id INT PRIMARY KEY, owner TEXT, balance NUMERIC(12,2) NOT NULL);
CREATE TABLE notes (id SERIAL PRIMARY KEY, text TEXT, day DATE);
INSERT INTO accounts SELECT i, 'owner ' || i, 100 FROM generate_series(1, 10) i
"""
MARIADB_TABLES = (
    "DROP DATABASE IF EXISTS shop",
    "CREATE DATABASE shop",
    "CREATE TABLE shop.accounts (id INT PRIMARY KEY, owner VARCHAR(100), balance DECIMAL(12,2) NOT NULL)",
    "CREATE TABLE shop.notes (id INT AUTO_INCREMENT PRIMARY KEY, text VARCHAR(200), day DATE)",
    "INSERT INTO shop.accounts SELECT seq, CONCAT('owner ', seq), 100 FROM test.seq_1_to_10",
)


@dataclass(slots=True)
class Row:
    """What came of one client. `unseen`, `invented`: statements; `share`: of those that are judged, in percent."""

    client: str
    transactions: int
    statements: int
    unseen: list[str]
    invented: list[str]
    verdict: str
    share: float
    places: int
    left: list[str]


class Side(Protocol):
    """A product's server, as clients are compared with it. `port`: of the server itself."""

    @property
    def port(self) -> int:
        """Of the server itself."""

    @property
    def dsn(self) -> str:
        """Of its database, by the socket."""

    def fresh(self) -> None:
        """Everything is as at first."""

    def look(self, port: int) -> None:
        """A last client reads all tables."""

    def compare(self, since: int, log: Log) -> tuple[int, list[str], list[str]]:
        """As `compared.compared`, of what was logged since so many lines."""

    def lines(self) -> int:
        """How many lines the server has logged."""


@dataclass(frozen=True, slots=True)
class PostgresSide:
    """Of PostgreSQL."""

    server: Postgres

    @property
    def port(self) -> int:
        """As `Side`."""
        return self.server.port

    @property
    def dsn(self) -> str:
        """As `Side`."""
        return self.server.dsn

    def fresh(self) -> None:
        """As `Side`."""
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            own = "SELECT nspname FROM pg_namespace WHERE nspname !~ '^(pg_|information_schema)'"
            for (name,) in connection.execute(own).fetchall():
                connection.execute(f'DROP SCHEMA "{name}" CASCADE'.encode())
            connection.execute(b"CREATE SCHEMA public")
            connection.execute(TABLES.encode())

    def look(self, port: int) -> None:
        """As `Side`."""
        with psycopg.connect(f"host=127.0.0.1 port={port} user=postgres dbname=shop", autocommit=True) as connection:
            asked = (
                "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables"
                " WHERE schemaname !~ '^(pg_|information_schema)'"
            )
            for (name,) in connection.execute(asked.encode()).fetchall():
                connection.execute(f"SELECT * FROM {name}".encode()).fetchall()

    def compare(self, since: int, log: Log) -> tuple[int, list[str], list[str]]:
        """As `Side`."""
        return compared(self.server.logged()[since:], log)

    def lines(self) -> int:
        """As `Side`."""
        return len(self.server.logged())


@dataclass(frozen=True, slots=True)
class MariaSide:
    """Of MariaDB."""

    server: MariaDB

    @property
    def port(self) -> int:
        """As `Side`."""
        return self.server.port

    @property
    def dsn(self) -> str:
        """As `Side`."""
        return self.server.dsn

    def fresh(self) -> None:
        """As `Side`."""
        with self.server.connect() as connection, connection.cursor() as cursor:
            for text in MARIADB_TABLES:
                cursor.execute(text)

    def look(self, port: int) -> None:
        """As `Side`."""
        given = {"host": "127.0.0.1", "port": port, "user": "root", "database": "shop", "autocommit": True}
        with pymysql.connect(charset="utf8mb4", **given) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'shop'")
            for (name,) in cursor.fetchall():
                cursor.execute(f"SELECT * FROM `{name}`")

    def compare(self, since: int, log: Log) -> tuple[int, list[str], list[str]]:
        """As `Side`."""
        return compared_with_general(self.server.logged()[since:], log)

    def lines(self) -> int:
        """As `Side`."""
        return len(self.server.logged())


def run(client: Client, side: Side, log: Path) -> Row:
    """One client, from empty tables to the verdict."""
    side.fresh()
    if client.name.startswith("pgbench"):
        initialize = ["-h", "127.0.0.1", "-p", str(side.port), "-U", "postgres", "shop"]
        subprocess.run([str(BINARIES / "pgbench"), "-i", "-q", *initialize], check=True, capture_output=True)
    if client.sets_up:
        _call(client, [*client.command(side.port), "setup"])
    with proxy(side.dsn, log) as running:
        before = side.lines()
        _call(client, client.command(running.port))
        side.look(running.port)
        running.end()
    found = read_log([log])
    count, unseen, invented = side.compare(before, found)
    audited = subprocess.run(
        [sys.executable, "-c", MAIN, "audit", str(log), "--format", "json", "--timeout", "300"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if not audited.stdout:
        raise RuntimeError(f"{client.name}: {audited.stderr}")
    verdict = json.loads(audited.stdout)
    coverage = verdict["coverage"]
    share = 100 * coverage["judged"] / max(coverage["statements"], 1)
    left = [f"{one['statements']} x {one['construct']}" for one in coverage["unjudged"]]
    left += [gap.reason for gap in found.header.gaps]
    places = sum(transaction.commit is not None for transaction in found.transactions)
    return Row(
        client.name, len(found.transactions), count, unseen, invented, verdict["verdict"], share, places, left
    )  # fmt: skip


def _call(client: Client, command: Sequence[str]) -> None:
    """A client that fails is told, and what it did is looked at all the same."""
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    if ended.returncode:
        click.echo(f"{client.name}: {ended.stdout[-500:]}{ended.stderr[-1500:]}", err=True)


HEAD = (
    "| client | transactions | statements that the server logged | unseen | invented | verdict | judged |"
    " commit times | why not all |\n|---|---:|---:|---:|---:|---|---:|---:|---|"
)


@click.group()
def main() -> None:
    """Prove and measure the proxy."""


@main.command()
@click.argument("names", nargs=-1)
@click.option("--page", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--keep", type=click.Path(file_okay=False, path_type=Path), help="Keep the logs in a folder.")
def clients(names: tuple[str, ...], page: Path | None, keep: Path | None) -> None:
    """Each client through the proxy, beside the server's own log."""
    prepare()
    rows: list[Row] = []
    missing: list[str] = []
    wanted = [one for one in CLIENTS if not names or one.name in names]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        if keep is not None:
            folder = keep
            folder.mkdir(parents=True, exist_ok=True)
        for product in ("postgres", "mariadb"):
            some = [one for one in wanted if one.product == product]
            missing += [one.name for one in some if not one.needs()]
            some = [one for one in some if one.needs()]
            if not some:
                continue
            with ExitStack() as running:
                side: Side
                if product == "postgres":
                    side = PostgresSide(running.enter_context(postgres(UNSAFE)))
                else:
                    side = MariaSide(running.enter_context(MariaDB()))
                for client in some:
                    place = re.sub(r"\W+", "-", client.name)
                    (folder / f"{place}.jsonl").unlink(missing_ok=True)
                    row = run(client, side, folder / f"{place}.jsonl")
                    rows.append(row)
                    for kind, texts in (("unseen", row.unseen), ("invented", row.invented)):
                        for text in texts[:5]:
                            click.echo(f"{client.name}: {kind}: {text[:200]}", err=True)
                    click.echo(_line(row), err=True)
    told = [HEAD, *map(_line, rows)]
    if missing:
        told.append(f"\nNot to be had on this machine: {', '.join(missing)}.")
    put(page, "clients", "\n".join(told))


def _line(row: Row) -> str:
    return (
        f"| {row.client} | {row.transactions:,} | {row.statements:,} | {len(row.unseen)} |"
        f" {len(row.invented)} | {row.verdict} | {row.share:.1f}% | {row.places:,} | {'; '.join(row.left)} |"
    )


def put(page: Path | None, name: str, text: str) -> None:
    """Print a table, and put it into a page between its marks."""
    click.echo(text)
    if page is not None:
        marks = (f"<!-- proxied {name} -->\n", f"<!-- end of proxied {name} -->\n")
        found = page.read_text(encoding="utf-8")
        pattern = re.escape(marks[0]) + ".*?" + re.escape(marks[1])
        page.write_text(
            re.sub(pattern, lambda _: f"{marks[0]}{text}\n{marks[1]}", found, flags=re.DOTALL), encoding="utf-8"
        )


@main.command(name="kills")
@click.option("--runs", default=300, show_default=True, help="So many more than there were.")
@click.option("--page", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--state", type=click.Path(dir_okay=False, path_type=Path), default=KILLS, show_default=True)
def _kills(runs: int, page: Path | None, state: Path) -> None:
    """The proxy, its decoder, the server, a client killed at random moments, in turns."""
    put(page, "kills", kills(runs, state))


@main.command(name="limits")
@click.option("--connections", default=500, show_default=True)
@click.option("--page", type=click.Path(dir_okay=False, path_type=Path))
def _limits(connections: int, page: Path | None) -> None:
    """Many clients at once, and messages of a gigabyte."""
    put(page, "limits", limits(connections))


@main.command(name="cost")
@click.option("--rounds", default=3, show_default=True)
@click.option("--seconds", default=8, show_default=True)
@click.option("--page", type=click.Path(dir_okay=False, path_type=Path))
def _cost(rounds: int, seconds: int, page: Path | None) -> None:
    """Throughput and processor time beside the bare server and an empty forwarder, in turns."""
    put(page, "cost", cost(rounds, seconds))


if __name__ == "__main__":
    main()

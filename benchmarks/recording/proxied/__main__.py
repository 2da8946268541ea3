"""Real clients through the proxy, each log beside its server's own and audited; the proxy, its server and its clients
killed; and what it costs. ``--page`` puts the tables into a page. Does not know how the proxy works."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click
import psycopg

from benchmarks.recording.proxied.compared import compared
from benchmarks.recording.proxied.cost import cost
from benchmarks.recording.proxied.killing import kills
from benchmarks.recording.proxied.servers import BINARIES, Postgres, postgres, proxy
from troubadour.formats import read_log

HERE = Path(__file__).parent / "clients"
BUILD = Path("build/proxied")
UNSAFE = "fsync = off\nsynchronous_commit = off\nfull_page_writes = off\nlog_statement = all"
TABLES = """
DROP TABLE IF EXISTS accounts, notes;
CREATE TABLE accounts (id INT PRIMARY KEY, owner TEXT, balance NUMERIC(12,2) NOT NULL);
CREATE TABLE notes (id SERIAL PRIMARY KEY, text TEXT, day DATE);
INSERT INTO accounts SELECT i, 'owner ' || i, 100 FROM generate_series(1, 10) i
"""
PACKAGES = ("psycopg[binary]", "psycopg2-binary", "asyncpg", "pg8000", "sqlalchemy")
MODULES = ("pg", "knex", "sequelize")
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


def commands(port: int) -> dict[str, Sequence[str] | None]:
    """By client, what to run; None where it is not to be had."""
    found: dict[str, Sequence[str] | None] = {}
    at = ["-h", "127.0.0.1", "-p", str(port), "-U", "postgres"]
    for mode in ("simple", "extended", "prepared"):
        found[f"pgbench -M {mode}"] = [
            str(BINARIES / "pgbench"), "-n", "-M", mode, "-c", "4", "-t", "100", *at, "shop"
        ]  # fmt: skip
    found["psql"] = [str(BINARIES / "psql"), "-q", *at, "shop", "-f", str(BUILD / "psql.sql")]
    python = BUILD / "python" / "bin" / "python"
    for name in ("psycopg", "psycopg2", "asyncpg", "pg8000", "sqlalchemy"):
        found[name] = [str(python), str(HERE / "drivers.py"), name, str(port)] if python.exists() else None
    for name in MODULES:
        there = (BUILD / "node_modules" / name).exists()
        found[f"node: {name}"] = ["node", str(BUILD / "node.js"), name, str(port)] if there else None
    jars = sorted(Path.home().glob(".m2/repository/org/postgresql/postgresql/*/postgresql-*.jar"))
    found["JDBC"] = ["java", "-cp", str(jars[-1]), str(HERE / "Jdbc.java"), str(port)] if jars else None
    return found


def prepare() -> None:
    """The clients, in folders that may be thrown away."""
    BUILD.mkdir(parents=True, exist_ok=True)
    (BUILD / "psql.sql").write_text(PSQL)
    shutil.copy(HERE / "node.js", BUILD)
    if not (BUILD / "python").exists():
        subprocess.run([sys.executable, "-m", "venv", str(BUILD / "python")], check=True)
        subprocess.run([str(BUILD / "python/bin/pip"), "install", "--quiet", *PACKAGES], check=False)
    if not (BUILD / "node_modules").exists() and shutil.which("npm"):
        subprocess.run(["npm", "install", "--silent", "--prefix", str(BUILD), *MODULES], check=False)
    if shutil.which("mvn") and not list(Path.home().glob(".m2/repository/org/postgresql/postgresql/*/*.jar")):
        get = "org.postgresql:postgresql:42.7.13"
        subprocess.run(["mvn", "-q", "dependency:get", f"-Dartifact={get}"], check=False)


def client(server: Postgres, name: str, place: int, folder: Path) -> Row | None:
    """One client, from empty tables to the verdict."""
    log = folder / f"{place}.jsonl"
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute(TABLES.encode())
    if name.startswith("pgbench"):
        initialize = ["-h", str(server.folder), "-p", str(server.port), "-U", "postgres", "shop"]
        subprocess.run([str(BINARIES / "pgbench"), "-i", "-q", *initialize], check=True, capture_output=True)
    with proxy(server.dsn, log) as running:
        before = len(server.logged())
        command = commands(running.port)[name]
        if command is None:
            return None
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        if ended.returncode:
            click.echo(f"{name}: {ended.stderr[-1000:]}", err=True)
        running.end()
    found = read_log([log])
    count, unseen, invented = compared(server.logged()[before:], found)
    audited = subprocess.run(
        [sys.executable, "-c", "from troubadour.cli.main import main; main()", "audit", str(log), "--format", "json"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    verdict = json.loads(audited.stdout)
    coverage = verdict["coverage"]
    share = 100 * coverage["judged"] / max(coverage["statements"], 1)
    left = [f"{one['statements']} x {one['construct']}" for one in coverage["unjudged"]]
    left += [gap.reason for gap in found.header.gaps]
    places = sum(transaction.commit is not None for transaction in found.transactions)
    return Row(
        name, len(found.transactions), count, unseen, invented, verdict["verdict"], share, places, left
    )  # fmt: skip


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
def clients(names: tuple[str, ...], page: Path | None) -> None:
    """Each client through the proxy, beside the server's own log."""
    prepare()
    lines, missing = [], []
    with postgres(UNSAFE) as server, tempfile.TemporaryDirectory() as folder:
        for place, name in enumerate(commands(0)):
            if names and name not in names:
                continue
            row = client(server, name, place, Path(folder))
            if row is None:
                missing.append(name)
                continue
            for text in row.unseen[:5]:
                click.echo(f"{name}: unseen: {text[:200]}", err=True)
            for text in row.invented[:5]:
                click.echo(f"{name}: invented: {text[:200]}", err=True)
            lines.append(
                f"| {row.client} | {row.transactions:,} | {row.statements:,} | {len(row.unseen)} |"
                f" {len(row.invented)} | {row.verdict} | {row.share:.1f}% | {row.places:,} | {'; '.join(row.left)} |"
            )
            click.echo(lines[-1], err=True)
    if missing:
        lines.append(f"\nNot to be had on this machine: {', '.join(missing)}.")
    put(page, "clients", "\n".join([HEAD, *lines]))


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
@click.option("--runs", default=300, show_default=True)
@click.option("--page", type=click.Path(dir_okay=False, path_type=Path))
def _kills(runs: int, page: Path | None) -> None:
    """The proxy, its decoder, the server, a client killed at random moments, in turns."""
    put(page, "kills", kills(runs))


@main.command(name="cost")
@click.option("--rounds", default=3, show_default=True)
@click.option("--seconds", default=8, show_default=True)
@click.option("--page", type=click.Path(dir_okay=False, path_type=Path))
def _cost(rounds: int, seconds: int, page: Path | None) -> None:
    """Throughput and processor time beside the bare server and an empty forwarder, in turns."""
    put(page, "cost", cost(rounds, seconds))


if __name__ == "__main__":
    main()

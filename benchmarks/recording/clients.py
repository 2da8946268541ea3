"""One small application on each client that the recorder knows: how the logs in logs/clients were made.

A bank with orders: transfers with an error inside a savepoint, rollbacks, refusals, reports; several threads. Does not
know how its log is judged.

    python -m benchmarks.recording.clients psycopg --out psycopg.jsonl.gz
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any

import click
import psycopg

from troubadour.record import EmbeddedPostgres, recorder

SCHEMA = (
    "CREATE TABLE accounts (id INTEGER PRIMARY KEY, owner VARCHAR(40) NOT NULL, balance INTEGER NOT NULL)",
    "CREATE TABLE entries (no INTEGER PRIMARY KEY, account INTEGER NOT NULL, amount INTEGER NOT NULL)",
)
ACCOUNTS = [(number, f"owner {number % 7}", 100) for number in range(1, 21)]
Open = Callable[[], Any]


class Bank:
    """What a teller does, on any DB-API connection; `mark` is the driver's placeholder."""

    def __init__(self, connection: Any, errors: type[Exception], mark: str, savepoints: bool) -> None:
        self.connection = connection
        self.errors = errors
        self.mark = mark
        self.savepoints = savepoints

    def run(self, sql: str, *params: object) -> list[Any]:
        """One statement and its rows."""
        cursor = self.connection.cursor()
        cursor.execute(sql.replace("?", self.mark), params)
        return list(cursor.fetchall()) if cursor.description is not None else []

    def transfer(self, number: int, first: int, second: int, amount: int) -> None:
        """From one account to another, with an entry that may be there already."""
        (row,) = self.run("SELECT balance FROM accounts WHERE id = ?", first)
        if row[0] < amount:
            self.connection.rollback()
            return
        self.run("UPDATE accounts SET balance = balance - ? WHERE id = ?", amount, first)
        self.run("UPDATE accounts SET balance = balance + ? WHERE id = ?", amount, second)
        if self.savepoints:
            self.run("SAVEPOINT entry")
            try:
                self.run("INSERT INTO entries VALUES (?, ?, ?)", number % 200, first, amount)
            except self.errors:
                self.run("ROLLBACK TO SAVEPOINT entry")
                self.run("DELETE FROM entries WHERE no = ?", number % 200)
        else:
            self.run("INSERT INTO entries VALUES (?, ?, ?)", number, first, amount)
        self.connection.commit()

    def report(self, owner: str) -> None:
        """What an owner has, and how many entries there are."""
        self.run("SELECT count(*), sum(balance) FROM accounts WHERE owner = ?", owner)
        self.run("SELECT account, sum(amount) FROM entries GROUP BY account ORDER BY account")
        self.connection.commit()

    def work(self, random: Random, number: int) -> None:
        """One transaction."""
        try:
            if random.random() < 0.25:
                self.report(f"owner {random.randrange(7)}")
            else:
                first, second = random.sample(range(1, 21), 2)
                self.transfer(number, first, second, random.randint(1, 60))
        except self.errors:
            with suppress(self.errors):  # DuckDB has rolled back at the failed COMMIT
                self.connection.rollback()


def tellers(open_one: Open, errors: type[Exception], mark: str, savepoints: bool, each: int, threads: int) -> None:
    """Run the application."""
    connections = [open_one() for _ in range(threads)]

    def teller(index: int) -> None:
        bank, random = Bank(connections[index], errors, mark, savepoints), Random(index)
        for number in range(each):
            bank.work(random, index + threads * number)
        bank.connection.close()

    with ThreadPoolExecutor(threads) as pool:
        for future in [pool.submit(teller, index) for index in range(threads)]:
            future.result()


def fill(cursor: Any, mark: str) -> None:
    """Tables and first rows."""
    for statement in SCHEMA:
        cursor.execute(statement)
    cursor.executemany(f"INSERT INTO accounts VALUES ({mark}, {mark}, {mark})", ACCOUNTS)


def on_psycopg(out: Path, each: int) -> None:
    """psycopg 3 at REPEATABLE READ."""
    with EmbeddedPostgres({"default_transaction_isolation": "repeatable read"}) as server:
        with psycopg.connect(server.dsn) as setup:
            fill(setup.cursor(), "%s")
        tellers(lambda: recorder.connect(server.dsn, log=out), psycopg.Error, "%s", True, each, 4)
        recorder.close()


def on_sqlite3(out: Path, each: int) -> None:
    """sqlite3 on a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bank.db"
        setup = sqlite3.connect(path)
        fill(setup.cursor(), "?")
        setup.commit()
        setup.close()

        def open_one() -> Any:
            return recorder.wrap(sqlite3.connect(path, timeout=0.05, check_same_thread=False), log=out)

        tellers(open_one, sqlite3.Error, "?", True, each, 3)
        recorder.close()


def on_duckdb(out: Path, each: int) -> None:
    """DuckDB in memory."""
    import duckdb

    database = duckdb.connect()
    fill(database.cursor(), "?")
    connection = recorder.wrap(database, log=out)

    class Session:
        """A DuckDB cursor as a DB-API connection that begins by itself."""

        def __init__(self) -> None:
            self._session = connection.cursor()

        def cursor(self) -> Any:
            if self._session.recording.tape.current is None:
                self._session.begin()
            return self._session

        def __getattr__(self, name: str) -> Any:
            return getattr(self._session, name)

    tellers(Session, duckdb.Error, "?", False, each, 3)
    recorder.close()


@contextmanager
def mariadb() -> Iterator[tuple[str, str]]:
    """The socket of a MariaDB of one's own, and a database on it."""
    from troubadour.record.drivers import mysql
    from troubadour.record.servers import embedded_mariadb

    reason = embedded_mariadb.missing()
    if reason is not None:
        raise click.ClickException(reason)
    with embedded_mariadb.PrivateMariaDB() as server, mysql.scratch_database(server.dsn) as database:
        yield server.dsn.partition("unix_socket=")[2].partition("&")[0], database


def on_pymysql(out: Path, each: int) -> None:
    """PyMySQL on MariaDB at SERIALIZABLE."""
    import pymysql

    with mariadb() as (socket, database):

        def plain() -> Any:
            return pymysql.connect(
                unix_socket=socket,
                user="root",
                database=database,
                charset="utf8mb4",
                collation="utf8mb4_bin",
                init_command="SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE",
            )

        setup = plain()
        fill(setup.cursor(), "%s")
        setup.commit()
        setup.close()
        tellers(lambda: recorder.wrap(plain(), log=out), pymysql.MySQLError, "%s", True, each, 3)
        recorder.close()


def on_sqlalchemy(out: Path, each: int) -> None:
    """SQLAlchemy over psycopg at SERIALIZABLE: an engine that other code knows nothing of."""
    import sqlalchemy
    from sqlalchemy import exc, text

    with EmbeddedPostgres() as server:
        with psycopg.connect(server.dsn) as setup:
            fill(setup.cursor(), "%s")
        url = server.dsn.replace("postgresql://", "postgresql+psycopg://")
        engine = sqlalchemy.create_engine(url, isolation_level="SERIALIZABLE", pool_size=4)
        recorder.listen(engine, log=out)

        def teller(index: int) -> None:
            random = Random(index)
            for _ in range(each):
                first, second = random.sample(range(1, 21), 2)
                try:
                    with engine.begin() as connection:
                        query = text("SELECT balance FROM accounts WHERE id IN (:a, :b) ORDER BY id")
                        found = connection.execute(query, {"a": first, "b": second}).scalars().all()
                        change = text("UPDATE accounts SET balance = :n WHERE id = :a")
                        amount = random.randint(-20, 20)
                        low, high = sorted((first, second))
                        connection.execute(change, {"a": low, "n": found[0] + amount})
                        connection.execute(change, {"a": high, "n": found[1] - amount})
                except exc.OperationalError:
                    pass  # serialization failures: the next one

        with ThreadPoolExecutor(4) as pool:
            for future in [pool.submit(teller, index) for index in range(4)]:
                future.result()
        engine.dispose()
        recorder.close()


CLIENTS: dict[str, Callable[[Path, int], None]] = {
    "psycopg": on_psycopg,
    "sqlite3": on_sqlite3,
    "duckdb": on_duckdb,
    "pymysql": on_pymysql,
    "sqlalchemy": on_sqlalchemy,
}


@click.command()
@click.argument("client", type=click.Choice(list(CLIENTS)))
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), required=True)
@click.option("--each", default=100, show_default=True, help="Transactions of each thread.")
def main(client: str, out: Path, each: int) -> None:
    """Run the application on a client, recorded."""
    out.unlink(missing_ok=True)
    CLIENTS[client](out, each)


if __name__ == "__main__":
    main()

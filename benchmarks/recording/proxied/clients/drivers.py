# mypy: ignore-errors
# (run by an interpreter of its own, with packages that the project does not have)
"""What drivers of Python do through a proxy: transfers between a few accounts at every level, and what each driver does
in its own way. Run as ``python drivers.py DRIVER PORT``, by an interpreter that has the driver."""

import asyncio
import io
import sys
from datetime import date
from decimal import Decimal
from threading import Thread

ROUNDS = 60
LEVELS = ("READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE")


def transfers(connect, mark, refused, seed):
    """Some of them are refused by the server, and rolled back."""
    connection = connect()
    cursor = connection.cursor()
    for n in range(ROUNDS):
        try:
            level = LEVELS[(n + seed) % 3]
            cursor.execute(f"SET TRANSACTION ISOLATION LEVEL {level}")
            cursor.execute(f"SELECT balance, owner FROM accounts WHERE id = {mark}", (n % 5 + 1,))
            ((balance, _),) = cursor.fetchall()
            cursor.execute(f"UPDATE accounts SET balance = {mark} WHERE id = {mark}", (balance + 1, n % 5 + 1))
            cursor.execute(
                f"UPDATE accounts SET balance = balance - {mark} WHERE id = {mark}", (Decimal("0.50"), seed + 6)
            )
            if n % 7 == 0:
                connection.rollback()
            else:
                connection.commit()
        except refused:
            connection.rollback()
    connection.close()


def threads(connect, mark, refused):
    """Transfers on three connections at once."""
    running = [Thread(target=transfers, args=(connect, mark, refused, seed)) for seed in range(3)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()


def psycopg(port):
    """Pipelines, binary rows, a named cursor, COPY, several statements in one text."""
    import psycopg

    def connect():
        return psycopg.connect(f"host=127.0.0.1 port={port} user=postgres dbname=shop")

    threads(connect, "%s", psycopg.Error)
    with connect() as connection:
        with connection.pipeline():
            for n in range(20):
                connection.execute("INSERT INTO notes (text, day) VALUES (%s, %s)", (f"p{n}", date(2020, 1, 31)))
        connection.commit()
        with connection.cursor(binary=True) as cursor:
            cursor.execute("SELECT id, balance, owner FROM accounts ORDER BY id").fetchall()
        with connection.cursor("named") as named:
            named.itersize = 3
            named.execute("SELECT id FROM notes WHERE id > %s ORDER BY id", (0,)).fetchall()
        with connection.cursor().copy("COPY notes (text) FROM STDIN") as copy:
            for n in range(10):
                copy.write_row((f"c\t{n}'\\",))
        connection.commit()
        connection.autocommit = True
        connection.execute(
            "UPDATE accounts SET owner = 'x' WHERE id = 1; DELETE FROM notes WHERE id = 3; SELECT count(*) FROM notes"
        )
        with connection.pipeline():
            connection.execute("INSERT INTO notes (text) VALUES ('q')")
            connection.execute("UPDATE accounts SET balance = balance + 1 WHERE id = 9")


def psycopg2(port):
    """Values in one statement, batches, a named cursor, COPY."""
    import psycopg2
    from psycopg2.extras import execute_batch, execute_values

    def connect():
        return psycopg2.connect(host="127.0.0.1", port=port, user="postgres", dbname="shop")

    threads(connect, "%s", psycopg2.Error)
    connection = connect()
    cursor = connection.cursor()
    execute_values(cursor, "INSERT INTO notes (text, day) VALUES %s", [(f"v{n}", date(2020, 1, 31)) for n in range(10)])
    execute_batch(cursor, "UPDATE accounts SET balance = balance + %s WHERE id = %s", [(1, n) for n in range(1, 5)])
    connection.commit()
    named = connection.cursor("named")
    named.itersize = 4
    named.execute("SELECT id, text FROM notes ORDER BY id")
    named.fetchall()
    cursor.copy_from(io.StringIO("a\nb\n"), "notes", columns=("text",))
    connection.commit()
    connection.set_session(isolation_level="SERIALIZABLE", readonly=True)
    cursor.execute("SELECT sum(balance) FROM accounts")
    cursor.fetchall()
    connection.commit()
    connection.close()


def pg8000(port):
    """Transfers alone."""
    import pg8000.dbapi

    def connect():
        return pg8000.dbapi.connect(host="127.0.0.1", port=port, user="postgres", database="shop")

    threads(connect, "%s", pg8000.dbapi.Error)


def asyncpg(port):
    """A pool, executemany, a cursor in parts, COPY."""
    import asyncpg

    async def work(pool, seed):
        for n in range(ROUNDS):
            async with pool.acquire() as connection:
                level = LEVELS[(n + seed) % 3].lower().replace(" ", "_")
                try:
                    async with connection.transaction(isolation=level):
                        balance = await connection.fetchval("SELECT balance FROM accounts WHERE id = $1", n % 5 + 1)
                        await connection.execute(
                            "UPDATE accounts SET balance = $1 WHERE id = $2", balance + 1, n % 5 + 1
                        )
                except asyncpg.SerializationError:
                    pass

    async def main():
        pool = await asyncpg.create_pool(
            host="127.0.0.1", port=port, user="postgres", database="shop", min_size=2, max_size=4
        )
        await asyncio.gather(*[work(pool, seed) for seed in range(3)])
        async with pool.acquire() as connection:
            rows = [(f"m{n}", date(2020, 1, 31)) for n in range(10)]
            await connection.executemany("INSERT INTO notes (text, day) VALUES ($1, $2)", rows)
            async with connection.transaction():
                async for _ in connection.cursor("SELECT id FROM notes WHERE id < $1 ORDER BY id", 30, prefetch=7):
                    pass
            await connection.copy_records_to_table("notes", records=[("k",)], columns=["text"])
        await pool.close()

    asyncio.run(main())


def sqlalchemy(port):
    """Transactions by its engine, over three drivers."""
    from sqlalchemy import create_engine, text

    for driver in ("psycopg", "psycopg2", "pg8000"):
        engine = create_engine(
            f"postgresql+{driver}://postgres@127.0.0.1:{port}/shop", isolation_level="REPEATABLE READ"
        )
        for n in range(20):
            with engine.begin() as connection:
                found = connection.execute(text("SELECT balance FROM accounts WHERE id = :id"), {"id": n % 5 + 1})
                given = {"balance": found.scalar_one() + 1, "id": n % 5 + 1}
                connection.execute(text("UPDATE accounts SET balance = :balance WHERE id = :id"), given)
        engine.dispose()


def mariadb(module, port):
    """Transfers, and several rows in one call, over a driver of MariaDB's."""

    def connect():
        return module.connect(host="127.0.0.1", port=port, user="root", password="", database="shop")

    threads(connect, "%s", module.Error)
    connection = connect()
    cursor = connection.cursor()
    cursor.executemany("INSERT INTO notes (text, day) VALUES (%s, %s)", [(f"it's {n}", "2020-01-31") for n in range(5)])
    connection.commit()
    cursor.execute("SELECT COUNT(*), MAX(text) FROM notes")
    cursor.fetchall()
    connection.close()


def pymysql(port):
    """As `mariadb`."""
    import pymysql

    mariadb(pymysql, port)


def connector(port):
    """As `mariadb`, and statements that are prepared."""
    import mysql.connector

    mariadb(mysql.connector, port)
    connection = mysql.connector.connect(host="127.0.0.1", port=port, user="root", database="shop", use_pure=True)
    cursor = connection.cursor(prepared=True)
    for n in range(10):
        cursor.execute("SELECT balance, owner FROM accounts WHERE id = %s", (n % 5 + 1,))
        cursor.fetchall()
    connection.close()


def piccolo(port):
    """Tables, transactions and savepoints of an ORM over asyncpg."""
    from piccolo.columns import Integer, Numeric, Serial, Text
    from piccolo.engine.postgres import PostgresEngine
    from piccolo.table import Table

    engine = PostgresEngine({"host": "127.0.0.1", "port": port, "user": "postgres", "database": "shop"})

    class Account(Table, tablename="accounts", db=engine):
        id = Integer(primary_key=True)
        owner = Text(null=True)
        balance = Numeric(digits=(12, 2))

    class Note(Table, tablename="notes", db=engine):
        id = Serial(primary_key=True)
        text = Text(null=True)

    async def work(seed):
        for n in range(30):
            async with engine.transaction():
                row = await Account.select().where(Account.id == n % 5 + 1).first().lock_rows()
                await Account.update({Account.balance: row["balance"] + 1}).where(Account.id == n % 5 + 1)
                async with engine.transaction(allow_nested=True):
                    await Account.count()

    async def main():
        await asyncio.gather(*[work(seed) for seed in range(3)])
        await Note.insert(Note(text="it's"), Note(text="b"))
        note = await Note.objects().get(Note.text == "b")
        note.text = "c"
        await note.save()
        await Note.delete().where(Note.text == "c")
        await Account.select(Account.owner).where(Account.balance > 100).order_by(Account.id).limit(3)
        await Account.exists().where(Account.id == 1)

    asyncio.run(main())


if __name__ == "__main__":
    named = (psycopg, psycopg2, pg8000, asyncpg, sqlalchemy, pymysql, connector, piccolo)
    {function.__name__: function for function in named}[sys.argv[1]](int(sys.argv[2]))

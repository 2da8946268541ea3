"""Tryton: its modules ir and res, with users and groups. `python tryton_parties.py setup|run URL`."""

import os
import sys
from pathlib import Path
from urllib.parse import urlsplit

from trytond.config import config

FOLDER, FILE = os.path.split(urlsplit(sys.argv[2]).path)
NAME = FILE.removesuffix(".db")
config.set("database", "uri", "sqlite://")
config.set("database", "path", FOLDER)


def setup(pool):
    from trytond.transaction import Transaction

    with Transaction().start(NAME, 0, context={}) as transaction:
        transaction.database.init()
        transaction.commit()
    pool.init(update=["ir", "res"])


def run(pool):
    from trytond.transaction import Transaction

    pool.init()
    for number in range(3):
        with Transaction().start(NAME, 1, context={}) as transaction:
            (group,) = pool.get("res.group").create([{"name": f"group {number}"}])
            new = {"name": f"user {number}", "login": f"u{number}", "groups": [("add", [group.id])]}
            pool.get("res.user").create([new])
            transaction.commit()
        with Transaction().start(NAME, 1, context={}) as transaction:
            users = pool.get("res.user")
            found = users.search([("login", "like", "u%")], order=[("name", "DESC")])
            assert len(found) == number + 1
            users.write(found[:1], {"signature": f"s {number}"})
            transaction.commit()
    with Transaction().start(NAME, 1, context={}) as transaction:
        users = pool.get("res.user")
        users.write(users.search([("login", "=", "u0")]), {"active": False})
        transaction.commit()


if __name__ == "__main__":
    from trytond.pool import Pool

    Path(FOLDER, f"{NAME}.sqlite").touch()
    Pool.start()
    {"setup": setup, "run": run}[sys.argv[1]](Pool(NAME))

"""SQLite's date and time functions beside SQLite: random moments, modifiers and formats."""

from __future__ import annotations

import random
import sqlite3

from sql_semantics.errors import Unsupported
from sql_semantics.library import SqlLibrary
from sql_semantics.run import MemoryView
from sql_semantics.values.dialect import Dialect

FORMATS = ("%Y-%m", "%Y-%m-%d %H:%M:%S", "%s", "%j", "%w", "%f", "%d.%m.%Y", "100%%", "%H")
UNITS = ("second", "minutes", "hour", "days", "day", "month", "months", "year")


def moment(chance: random.Random) -> str:
    """A text that is a moment, or nearly one."""
    day = f"{chance.randrange(1, 9999):04d}-{chance.randrange(1, 14):02d}-{chance.randrange(1, 33):02d}"
    clock = f"{chance.randrange(25):02d}:{chance.randrange(60):02d}"
    tail = chance.choice(["", f":{chance.randrange(60):02d}", f":{chance.randrange(60):02d}.{chance.randrange(1000)}"])
    zone = chance.choice(["", "", "", "Z", "+02:00", "-11:30"])
    forms = [day, f"{day} {clock}{tail}{zone}", f"{day}T{clock}{tail}", f"{clock}{tail}", "soon", f"{day}x"]
    return chance.choice(forms)


def modifier(chance: random.Random) -> str:
    step = f"{chance.choice(['+', '-', ''])}{chance.randrange(400)} {chance.choice(UNITS)}"
    return chance.choice([step, step, step, "start of month", "start of day", "start of year"])


def test_dates_of_sqlite() -> None:
    chance, compared = random.Random(8), 0
    library, engine = SqlLibrary(Dialect("sqlite"), []), sqlite3.connect(":memory:")
    for _ in range(1_500):
        name = chance.choice(["date", "time", "datetime", "julianday", "unixepoch", "strftime"])
        arguments = [moment(chance), *(modifier(chance) for _ in range(chance.choice([0, 0, 1, 2])))]
        if name == "strftime":
            arguments.insert(0, chance.choice(FORMATS))
        written = ", ".join("'" + argument + "'" for argument in arguments)
        sql = f"SELECT {name}({written})"
        try:
            ((found,),) = library.program(sql).run(MemoryView({}), ()).results[0].rows
        except Unsupported:
            continue
        if name == "unixepoch" and sqlite3.sqlite_version_info < (3, 38):
            continue
        ((expected,),) = engine.execute(sql).fetchall()
        assert (found, type(found)) == (expected, type(expected)), sql
        compared += 1
    assert compared > 900

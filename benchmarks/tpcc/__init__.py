"""TPC-C as stored procedures with cursors, on a small database: schema, procedures in two languages, a seeded workload.

Data and calls come from one seed, so that any engine can be given the same. Does not know who runs them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

WAREHOUSES, DISTRICTS, CUSTOMERS, ITEMS = 2, 2, 12, 40
_NAMES = ("BARBAR", "OUGHTABLE", "PRIPRES", "ESEANTI")
_FOLDER = Path(__file__).parent


def schema() -> list[str]:
    """The CREATE TABLE statements."""
    return [text.strip() for text in (_FOLDER / "schema.sql").read_text(encoding="utf-8").split(";") if text.strip()]


def procedures(dialect: str) -> list[str]:
    """The routines, in PL/pgSQL for ``postgres`` and in SQL/PSM for ``mysql``."""
    name, mark = ("plpgsql.sql", "$$;") if dialect == "postgres" else ("psm.sql", "//")
    text = (_FOLDER / name).read_text(encoding="utf-8")
    text = "\n".join(line for line in text.splitlines() if not line.startswith("--"))
    parts = [part.strip() for part in text.split(mark) if part.strip()]
    return [part + ("$$" if dialect == "postgres" else "") for part in parts]


def rows(seed: int) -> Iterator[str]:
    """INSERT statements for the initial database."""
    draw = random.Random(seed)
    for w in range(1, WAREHOUSES + 1):
        yield f"INSERT INTO warehouse VALUES ({w}, 'W{w}', 0.{draw.randint(0, 2000):04}, 300000.00)"
        for d in range(1, DISTRICTS + 1):
            yield f"INSERT INTO district VALUES ({w}, {d}, 'D{w}{d}', 0.{draw.randint(0, 2000):04}, 30000.00, 1)"
            for c in range(1, CUSTOMERS + 1):
                credit = "BC" if draw.random() < 0.2 else "GC"
                first, last = f"F{draw.randint(0, 99)}", draw.choice(_NAMES)
                yield (
                    f"INSERT INTO customer VALUES ({w}, {d}, {c}, '{first}', 'OE', '{last}',"
                    f" '{credit}', 0.{draw.randint(0, 5000):04}, -10.00, 10.00, 1, 0, 'data{draw.randint(0, 999)}')"
                )
        for i in range(1, ITEMS + 1):
            yield (
                f"INSERT INTO stock VALUES ({w}, {i}, {draw.randint(10, 100)}, 'a{draw.randint(0, 99):02}',"
                f" 'b{draw.randint(0, 99):02}', 0, 0, 0, 'stock{i}')"
            )
    for i in range(1, ITEMS + 1):
        yield f"INSERT INTO item VALUES ({i}, 'item{i}', {draw.randint(1, 99)}.{draw.randint(0, 99):02}, 'data{i}')"


def calls(seed: int, count: int, dialect: str) -> Iterator[str]:
    """Statements of the standard mix: 45 of 100 are new orders, 43 payments, 4 each of the others. A new order is two
    statements: the lines, then the call; one line in a hundred has an item that does not exist."""
    draw = random.Random(seed)
    postgres = dialect == "postgres"
    for number in range(1, count + 1):
        w, d, c = draw.randint(1, WAREHOUSES), draw.randint(1, DISTRICTS), draw.randint(1, CUSTOMERS)
        kind = draw.random()
        by_name = draw.random() < 0.6
        customer = f"NULL, '{draw.choice(_NAMES)}'" if by_name else f"{c}, NULL"
        if kind < 0.45:
            lines = []
            for line in range(1, draw.randint(5, 15) + 1):
                item = ITEMS + 1 if draw.random() < 0.01 else draw.randint(1, ITEMS)
                supply = draw.randint(1, WAREHOUSES) if draw.random() < 0.1 else w
                lines.append(f"({number}, {line}, {item}, {supply}, {draw.randint(1, 10)})")
            yield f"INSERT INTO cart VALUES {', '.join(lines)}"
            yield f"CALL new_order_tx({w}, {d}, {c}, {number}, {number}{', NULL, NULL' if postgres else ''})"
        elif kind < 0.88:
            amount = f"{draw.randint(1, 4999)}.{draw.randint(0, 99):02}"
            last = ", NULL" if postgres else ""
            yield f"CALL payment_tx({w}, {d}, {w}, {d}, {customer}, {amount}, {number}{last})"
        elif kind < 0.92:
            call = f"order_status_tx({w}, {d}, {customer})"
            yield f"SELECT * FROM {call}" if postgres else f"CALL {call}"
        elif kind < 0.96:
            yield f"CALL delivery_tx({w}, {draw.randint(1, 10)}, {number}{', NULL' if postgres else ''})"
        else:
            call = f"stock_level_tx({w}, {d}, {draw.randint(10, 20)})"
            yield f"SELECT {call}" if postgres else f"CALL {call}"

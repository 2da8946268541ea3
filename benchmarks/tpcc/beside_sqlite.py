"""TPC-C's NewOrder in the interpreter beside SQLite in memory driven from Python.

Ours is the PL/pgSQL procedure called on the versioned state map with read records, each call a transaction whose writes
are placed as the next state; SQLite's is a Python function that runs the procedure's statements one by one. Both get
the same seeded orders in turns and must give the same totals. Run as ``python -m benchmarks.tpcc.beside_sqlite``. Knows
no isolation levels and no logs.
"""

from __future__ import annotations

import sqlite3
import sys
import time
from decimal import Decimal

from benchmarks.tpcc.texts import drawn, rows, small
from sql_semantics.errors import SqlError
from sql_semantics.library import SqlLibrary
from sql_semantics.run import MemoryView
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import Kind, Value
from troubadour.execution.free.choices import Choices
from troubadour.execution.states.state_map import StateMap
from troubadour.execution.views.concrete import ConcreteView
from troubadour.workloads.tpcc.client import lines_of

ORDERS = 600
_CALL = "CALL new_order_tx($1, $2, $3, $4, $5, NULL, NULL)"


def in_sqlite(connection: sqlite3.Connection, w: int, d: int, c: int, text: str, now: int) -> Decimal | None:
    """The total of one order; None where an item does not exist (all is undone)."""
    run = connection.execute
    run("SAVEPOINT new_order")
    discount, w_tax = run(
        "SELECT c_discount, w_tax FROM warehouse, customer"
        " WHERE w_id = ? AND c_w_id = w_id AND c_d_id = ? AND c_id = ?",
        (w, d, c),
    ).fetchone()
    order, d_tax = run(
        "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = ? AND d_id = ?"
        " RETURNING d_next_o_id - 1, d_tax",
        (w, d),
    ).fetchone()
    lines = lines_of(text)
    count, local = len(lines), int(all(supply == w for _, supply, _ in lines))
    run("INSERT INTO orders VALUES (?, ?, ?, ?, ?, NULL, ?, ?)", (w, d, order, c, now, count, local))
    run("INSERT INTO new_order VALUES (?, ?, ?)", (w, d, order))
    total = Decimal(0)
    for number, (item, supply, quantity) in enumerate(lines, 1):
        priced = run("SELECT i_price FROM item WHERE i_id = ?", (item,)).fetchone()
        if priced is None:
            run("ROLLBACK TO new_order")
            return None
        price = Decimal(str(priced[0]))
        stock = run("SELECT * FROM stock WHERE s_w_id = ? AND s_i_id = ?", (supply, item)).fetchone()
        info = stock[2 + d]
        left = stock[2] - quantity if stock[2] >= quantity + 10 else stock[2] - quantity + 91
        run(
            "UPDATE stock SET s_quantity = ?, s_ytd = s_ytd + ?, s_order_cnt = s_order_cnt + 1,"
            " s_remote_cnt = s_remote_cnt + CASE WHEN ? <> ? THEN 1 ELSE 0 END WHERE s_w_id = ? AND s_i_id = ?",
            (left, quantity, supply, w, supply, item),
        )
        amount = quantity * price
        run(
            "INSERT INTO order_line VALUES (?, ?, ?, ?, ?, ?, NULL, ?, ?, ?)",
            (w, d, order, number, item, supply, quantity, float(amount), info),
        )
        total += amount
    run("RELEASE new_order")
    factor = (1 - Decimal(str(discount))) * (1 + Decimal(str(w_tax)) + Decimal(str(d_tax)))
    return round(total * factor, 2)


def main() -> None:
    """Run the same orders in both and print the ratio of the medians."""
    workload = small("postgres")
    library = SqlLibrary(Dialect("postgres", collation="C"), workload.schema, workload.procedures)
    memory = MemoryView({name: [] for name in library.catalog.tables})
    connection = sqlite3.connect(":memory:", isolation_level=None)
    for sql in workload.schema:
        connection.execute(sql)
    connection.execute("BEGIN")
    for sql in rows(workload):
        library.program(sql).run(memory, ())
        connection.execute(sql)
    orders = [params for sql, params in drawn(workload, 2, 3 * ORDERS) if "new_order_tx" in sql]
    initial = {name: [row for _, row in memory.scan(name)] for name in library.catalog.tables}
    states = StateMap(library.catalog.tables, initial)
    program = library.program(_CALL, (Kind.INT, Kind.INT, Kind.INT, Kind.TEXT, Kind.INT))
    ours: list[float] = []
    theirs: list[float] = []
    for number, order in enumerate(orders[:ORDERS]):
        begun = time.perf_counter()
        view = ConcreteView(states, f"t{number}", Choices(states.length))
        view.enter_statement(0)
        total: Value | None
        try:
            total = program.run(view, tuple(order)).results[-1].rows[0][-1]
            states.place(dict(view.writes()))
        except SqlError:
            total = None
        middle = time.perf_counter()
        expected = in_sqlite(connection, *order)
        ended = time.perf_counter()
        assert total == expected, (order, total, expected)
        ours.append(middle - begun)
        theirs.append(ended - middle)
    own, other = sorted(ours)[len(ours) // 2] * 1e6, sorted(theirs)[len(theirs) // 2] * 1e6
    sys.stdout.write(
        f"NewOrder: {own:.0f} us, sqlite {other:.0f} us, ratio {own / other:.2f} (medians of {len(ours)})\n"
    )


if __name__ == "__main__":
    main()

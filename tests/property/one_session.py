"""Generated statements in one session, one after the other, with what the interpreter answers on the newest rows.

Such a log is correct at every level of its product: at each of them a transaction may see the newest state. What runs
statements where rows may be newer than those read, read apart or locked, is held to what runs them plainly. Does not
know whether the plain answers are the product's (`tests.differential` does).
"""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import msgspec

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.frontend import bind, read_schema
from sql_semantics.ir.schema import Catalog
from sql_semantics.library import SqlLibrary
from sql_semantics.outcome import Outcome
from sql_semantics.run import MemoryView, compile_statement
from sql_semantics.values.dialect import Dialect
from tests.differential.beside import doubled
from tests.differential.comparison import only_way
from troubadour.hunt.generate.generator import Generator
from troubadour.model.log import Header, Log, ObservedRows, Statement, Transaction

COLLATIONS = {"postgres": "C", "mysql": "utf8mb4_bin"}
PLAIN = 2
"""The plainest schemas of the generator: keys and NOT NULL, nothing generated."""

Run = Callable[[MemoryView, tuple[()]], Outcome]


def one_session(product: str, seed: int, statements: int = 14) -> tuple[Log, SqlLibrary]:
    """A log of inserts and about so many generated statements, one to three in a transaction; those that fail or are
    not modelled are left out. Raises Unsupported from the schema."""
    generator = Generator(seed, product, PLAIN)
    schema = tuple(table.ddl() for table in generator.tables)
    collation = COLLATIONS.get(product)
    dialect = Dialect(product, collation=collation, foreign_keys=product == "sqlite" or None)
    catalog = Catalog(read_schema(schema, dialect), {})
    texts = [insert for table in generator.tables for insert in table.inserts()]
    texts += [str(generator.statement().piece) for _ in range(statements)]
    done: list[Run] = []
    answered: list[Statement] = []
    view = _again(catalog, done)
    for text in texts:
        try:
            run: Run = compile_statement(bind(text, None, catalog, dialect).statement, catalog, dialect)
            outcome = run(view, ())
        except (SqlError, Unsupported):
            view = _again(catalog, done)
            continue
        if doubled(catalog, view) is not None:
            # what the product refuses, and the interpreter leaves to its caller
            view = _again(catalog, done)
            continue
        done.append(run)
        answered.append(Statement(text, (), results=_shown(outcome), affected=outcome.affected))
    each = random.Random(seed).choice((1, 1, 2, 3))
    header = Header(dialect=product, schema=schema, settings={"collation": collation} if collation else {})
    parts = [answered[at : at + each] for at in range(0, len(answered), each)]
    log = Log(header, [_sent(place, part) for place, part in enumerate(parts)], "")
    return log, SqlLibrary(dialect, schema)


def _sent(place: int, statements: Sequence[Statement]) -> Transaction:
    start = 100 * place
    timed = tuple(
        msgspec.structs.replace(statement, invoked=start + 2 + 4 * number, returned=start + 5 + 4 * number)
        for number, statement in enumerate(statements)
    )
    return Transaction(f"t{place}", "committed", timed, place, session="a", invoked=start + 1, returned=start + 80)


def _again(catalog: Catalog, done: Sequence[Run]) -> MemoryView:
    """The rows that these statements made."""
    view = MemoryView({name: [] for name in catalog.tables})
    view.picking = only_way
    for run in done:
        run(view, ())
    return view


def _shown(outcome: Outcome) -> tuple[ObservedRows, ...] | None:
    """The rows as a log has them; None where they are not told: bytes, and sums that hang on their order."""
    if not outcome.results:
        return None
    result = outcome.results[0]
    end = None if result.limit is None else result.offset + result.limit
    rows = result.rows[result.offset : end]
    if result.rounded or any(isinstance(value, bytes) for row in rows for value in row):
        return None
    names = tuple(f"c{number}" for number in range(len(result.types)))
    return (ObservedRows(names, tuple(tuple(_told(value) for value in row) for row in rows)),)


def _told(value: Any) -> Any:
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, datetime.datetime):
        return value.isoformat(sep=" ")
    return value.isoformat() if isinstance(value, datetime.date) else value

"""A long VALUES list means the same whether the parser reads all of it or the rows that show how it is written.

`in_full` of what is bound from these is, to the letter, what is bound from the whole text, and both run alike: the same
rows stored, the same answer, the same error. Does not know which of the two is right: tests beside real engines do.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from sql_semantics.errors import SqlSemanticsError
from sql_semantics.frontend import Bound, ParamShape, binding, read_schema
from sql_semantics.ir.listed import in_full
from sql_semantics.ir.schema import Catalog
from sql_semantics.ir.statements import Insert
from sql_semantics.run import compile_statement
from sql_semantics.run.memory import MemoryView
from sql_semantics.values.dialect import Dialect
from tests.property.long_lists import SCHEMAS, Inserted, random_insert
from troubadour.execution.prepared import arguments_of
from troubadour.model.values import param_shape

FAST, SLOW = range(50), range(50, 20_000)


def catalog_of(dialect: str) -> Catalog:
    return Catalog(read_schema([SCHEMAS[dialect]], Dialect(dialect), lenient=True))


def bound(sql: str, shape: ParamShape, catalog: Catalog, dialect: Dialect) -> Bound | tuple[str, ...]:
    try:
        return binding.bind(sql, shape, catalog, dialect)
    except SqlSemanticsError as error:
        return type(error).__name__, str(error)


def ran(found: Bound, given: Inserted, catalog: Catalog, dialect: Dialect) -> Any:
    """What is stored and answered, or which error there is."""
    try:
        arguments = arguments_of(given.params, found.parameters, dialect)
    except (ValueError, SqlSemanticsError) as error:
        return (str(error),)
    view = MemoryView({"t": []})
    try:
        outcome = compile_statement(found.statement, catalog, dialect)(view, arguments)
    except SqlSemanticsError as error:
        return type(error).__name__, str(error), getattr(error, "may", None), repr(view.rows("t"))
    return repr(view.rows("t")), repr(outcome)


def compare(dialect: str, seeds: range, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    catalog, product = catalog_of(dialect), Dialect(dialect)
    found: Counter[str] = Counter()
    for seed in seeds:
        given = random_insert(seed, dialect)
        shape = param_shape(given.params)
        short = bound(given.sql, shape, catalog, product)
        with monkeypatch.context() as patched:
            patched.setattr(binding, "listing", lambda *args, **options: None)
            whole = bound(given.sql, shape, catalog, product)
        if isinstance(short, Bound) and isinstance(short.statement, Insert) and short.statement.listed is not None:
            assert isinstance(whole, Bound), (seed, given, whole)
            assert repr(in_full(short.statement)) == repr(whole.statement), (seed, given)
            assert dict(short.parameters) == dict(whole.parameters), (seed, given)
            assert (short.read_only, short.left_out) == (whole.read_only, whole.left_out), (seed, given)
            ended = ran(short, given, catalog, product)
            assert ended == ran(whole, given, catalog, product), (seed, given)
            found["alike"] += 1
            found["stored" if len(ended) == 2 else "failed"] += 1
        else:
            assert isinstance(whole, Bound) == isinstance(short, Bound), (seed, given)
            found["whole"] += 1
            found["bound"] += isinstance(whole, Bound)
    return found


@pytest.mark.parametrize("dialect", SCHEMAS)
def test_a_list_means_what_its_rows_say(dialect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = compare(dialect, FAST, monkeypatch)
    assert found["stored"] > len(FAST) // 15 and found["failed"] > len(FAST) // 40, found


@pytest.mark.slow
@pytest.mark.parametrize("dialect", SCHEMAS)
def test_many_lists_mean_what_their_rows_say(dialect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    compare(dialect, SLOW, monkeypatch)

"""Expressions over columns of every type: the guarded runtime equals the concrete one under every assignment.

The expressions are those that are also tried on the real engines. Knows no engine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.frontend import bind, read_schema
from sql_semantics.guarded import compile_guarded
from sql_semantics.guarded.native import expressions
from sql_semantics.ir.schema import Catalog
from sql_semantics.outcome import Outcome
from sql_semantics.run import MemoryView, compile_statement
from sql_semantics.terms import TRUE, Scalar, atom, choose, conj, evaluate, evaluate_guard, neg
from sql_semantics.values.dialect import Dialect
from tests.differential.typed_expressions import Expressions, read_grammar
from tests.guarded_view import Choice, GuardedMemory

ATOMS = ("a", "b")
COLLATIONS = {"postgres": "C", "mysql": "utf8mb4_0900_bin", "sqlite": None, "duckdb": None}


def compare(product_name: str, seed: int, count: int) -> Counter[str]:
    """One row whose every column has two or three cases; `count` expressions on it."""
    seen: Counter[str] = Counter()
    grammar = read_grammar(product_name)
    dialect = Dialect(product_name, collation=COLLATIONS[product_name])
    catalog = Catalog(read_schema([grammar.ddl("typed")], dialect))
    filled = MemoryView({"typed": []})
    for row in grammar.rows(3):
        bound = bind(f"INSERT INTO typed VALUES {row}", None, catalog, dialect)
        compile_statement(bound.statement, catalog, dialect)(filled, ())
    first, second, third = filled.rows("typed")
    a, b = atom("a"), atom("b")
    guards = (a, conj(neg(a), b), conj(neg(a), neg(b)))
    cells: list[Scalar] = [
        choose(zip(guards, leaves, strict=True)) for leaves in zip(first, second, third, strict=True)
    ]
    view = GuardedMemory({"typed": [(TRUE, tuple(cells))]})
    choices = [Choice(dict(zip(ATOMS, truths, strict=True))) for truths in product((False, True), repeat=2)]
    source = Expressions(grammar, seed)
    for _ in range(count):
        expression = source.expression()
        try:
            statement = bind(f"SELECT {expression} FROM typed", None, catalog, dialect).statement
            run = compile_statement(statement, catalog, dialect)
            guarded = compile_guarded(statement, catalog, dialect)(view, (), TRUE)
        except (SqlError, Unsupported) as refusal:
            seen[type(refusal).__name__] += 1
            continue
        for choice in choices:
            failures = {error.sqlstate for guard, error in guarded.errors if evaluate_guard(guard, choice)}
            expected = ending(run, view.concrete(choice))
            if isinstance(expected, SqlError):
                assert expected.sqlstate in failures, (expression, seed)
                seen["errors"] += 1
                continue
            assert not failures, (expression, seed)
            answer = evaluate(guarded.results[0].rows[0][0], choice)
            assert (answer, type(answer)) == (expected, type(expected)) or answer != answer, (expression, seed)
            seen["answers"] += 1
    return seen


def ending(run: Callable[..., Outcome], view: MemoryView) -> Any:
    """The one value of the answer, or the error."""
    try:
        return run(view, ()).results[0].rows[0][0]
    except SqlError as error:
        return error


@pytest.mark.parametrize("bound", [16, 0])
@pytest.mark.parametrize("name", sorted(COLLATIONS))
def test_guarded_expressions(name: str, bound: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expressions, "DIRECT", bound)  # 0: node by node
    monkeypatch.setattr(expressions, "SINGLE", bound)
    seen = compare(name, 7, 150)
    assert seen["answers"] > 300, seen

"""The guarded runtime equals the concrete one under every assignment of atoms and unknowns (paper Definition 5.1).

Random guarded tables, random statements and procedures; failures print the seed, the statement and the assignment.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.frontend.routines.procedures import read_procedures
from sql_semantics.guarded import Mode, compile_guarded, lifting
from sql_semantics.guarded.native import access, aggregate, counting, expressions
from sql_semantics.ir.schema import Catalog
from sql_semantics.ir.statements import Statement
from sql_semantics.outcome import GuardedOutcome, GuardedResult, Outcome, ResultSet
from sql_semantics.run import Arguments, MemoryView, compile_statement
from sql_semantics.terms import FALSE, TRUE, evaluate, evaluate_guard
from tests.guarded_view import Choice, GuardedMemory
from tests.property.guarded_cases import ATOMS, Cases
from tests.property.routine_statements import random_routine
from tests.property.wider_statements import wider_sql

Run = Callable[[MemoryView, Arguments], Outcome]

FAST, SLOW = range(30, 40), range(30, 1000)
WIDER, MANY_WIDER = range(8), range(120)
CALLED, MANY_CALLED = range(5), range(60)
"""`make slow` has the second of each, and thousands."""


def assignments(cases: Cases) -> Iterator[Choice]:
    keys = list(cases.unknowns)
    for truths in product((False, True), repeat=len(ATOMS)):
        atoms: dict[Hashable, bool] = dict(zip(ATOMS, truths, strict=True))
        options = list(product(*(cases.unknowns[key] for key in keys)))
        for values in options if len(options) <= 4 else cases.random.sample(options, 4):
            yield Choice(atoms, dict(zip(keys, values, strict=True)))


def lines(keys: Any, rows: Any) -> Any:
    """What ORDER BY promises: the sequence of keys, and per key the rows as a multiset."""
    if keys is None:
        return Counter(rows)
    return list(keys), Counter(zip(keys, rows, strict=True))


def present(guarded: GuardedResult, choice: Choice) -> Any:
    kept = [i for i, guard in enumerate(guarded.guards) if evaluate_guard(guard, choice)]
    rows = [tuple(evaluate(value, choice) for value in guarded.rows[i]) for i in kept]
    keys = None if guarded.keys is None else [guarded.keys[i] for i in kept]
    return guarded.types, lines(keys, rows), guarded.offset, guarded.limit


def concrete_lines(result: ResultSet[Any]) -> Any:
    return result.types, lines(result.keys, result.rows), result.offset, result.limit


def compare(guarded: GuardedOutcome, outcome: Outcome, choice: Choice) -> None:
    results = [result for result in guarded.results if evaluate_guard(result.present, choice)]
    assert len(results) == len(outcome.results)
    for result, concrete in zip(results, outcome.results, strict=True):
        if result.arranged is None:
            assert present(result, choice) == concrete_lines(concrete)
        else:  # what sorts them is open: the order is told by what is shown
            assert present(result, choice) == concrete_lines(replace(concrete, keys=None))
            assert result.arranged(concrete.rows)
    assert evaluate(guarded.affected, choice) == outcome.affected
    assert evaluate(guarded.matched, choice) == outcome.matched


def ending(run: Run, view: MemoryView) -> Outcome | SqlError | Unsupported:
    try:
        return run(view, ())
    except (SqlError, Unsupported) as error:
        return error


def check(cases: Cases, statement: Statement, seen: Counter[str], mode: Mode) -> None:
    """Run symbolically once, concretely under every assignment, and compare; `seen` counts what happened."""
    before = GuardedMemory(cases.tables())
    after = GuardedMemory({t: list(rows.values()) for t, rows in before.tables.items()})
    path = cases.guard() if cases.random.random() < 0.4 else TRUE
    if path is FALSE:
        path = TRUE
    run = compile_statement(statement, cases.catalog, cases.dialect)
    try:
        guarded = compile_guarded(statement, cases.catalog, cases.dialect, mode=mode)(after, (), path)
    except Unsupported as error:
        seen["unsupported"] += 1
        seen[f"unsupported: {error.construct}"] += 1
        return
    for choice in assignments(cases):
        if not evaluate_guard(path, choice):
            assert after.under(choice) == before.under(choice)
            assert not any(evaluate_guard(result.present, choice) for result in guarded.results)
            assert not any(evaluate_guard(guard, choice) for guard, _ in guarded.errors)
            assert not any(evaluate_guard(guard, choice) for result in guarded.results for guard in result.guards)
            continue
        errors = {error.sqlstate for guard, error in guarded.errors if evaluate_guard(guard, choice)}
        view = before.concrete(choice)
        outcome = ending(run, view)
        if isinstance(outcome, SqlError):
            seen["errors"] += 1
            assert outcome.sqlstate in errors, (outcome, guarded.errors)
            continue
        if isinstance(outcome, Unsupported):
            seen["concretely unsupported"] += 1
            assert errors or "LIMIT" in outcome.construct, outcome
            continue
        seen["answers"] += 1
        assert not errors
        compare(guarded, outcome, choice)
        expected = {table: Counter(view.rows(table)) for table in after.tables}
        assert {table: Counter(rows) for table, rows in after.under(choice).items()} == expected


def run_seeds(
    seeds: range,
    dialect: str,
    *,
    terms: bool,
    procedures: bool = False,
    mode: Mode = Mode.NATIVE,
    wider: bool = False,
    routines: bool = False,
) -> Counter[str]:
    seen: Counter[str] = Counter()
    for seed in seeds:
        cases = Cases(seed, dialect, terms=terms)
        sql = "a procedure" if procedures else wider_sql(cases) if wider else cases.sql()
        text = ""
        if routines:
            text, sql = random_routine(cases.random, dialect)
            tables = cases.catalog.tables
            cases.catalog = Catalog(tables, read_procedures((text,), tables, cases.dialect))
        try:
            statement = cases.call() if procedures else cases.statement(sql)
            check(cases, statement, seen, mode)
        except SqlError:
            seen["refused"] += 1  # certainly an error, found while binding
        except Unsupported as error:
            seen["not bound"] += 1
            seen[f"not bound: {error.construct}"] += 1
        except (AssertionError, TypeError, RuntimeError) as error:
            error.add_note(f"seed {seed}, {dialect}: {sql} {text}")
            raise
    return seen


VARIANTS = [
    pytest.param(dialect, terms, procedures, id=f"{dialect}{'-terms' if terms else ''}{'-calls' if procedures else ''}")
    for dialect in ("postgres", "mysql")
    for terms in (False, True)
    for procedures in (False, True)
]
ROUTES = {
    "as it is": {},
    "node by node": {expressions: ("DIRECT", "SINGLE"), access: ("KEY_LIMIT",)},
    "folded into terms": {
        aggregate: ("CASE_LIMIT", "SUM_LIMIT"),
        counting: ("COUNT_LIMIT",),
        lifting: ("CASE_LIMIT", "NARROW"),
    },
}
"""Bounds set to 1, so that small cases take the ways meant for large ones."""


@pytest.fixture(params=ROUTES)
def route(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    for module, bounds in ROUTES[request.param].items():
        for bound in bounds:
            monkeypatch.setattr(module, bound, 1)


@pytest.mark.usefixtures("route")
@pytest.mark.parametrize("seeds", [FAST, pytest.param(range(30, 60), marks=pytest.mark.slow)], ids=str)
@pytest.mark.parametrize(("dialect", "terms", "procedures"), VARIANTS)
def test_statements(dialect: str, terms: bool, procedures: bool, seeds: range) -> None:
    seen = run_seeds(seeds, dialect, terms=terms, procedures=procedures)
    assert seen["answers"] > 2.5 * len(seeds), seen
    assert seen["errors"] > 1, seen
    assert seen["unsupported"] + seen["not bound"] < 0.5 * len(seeds), seen


@pytest.mark.parametrize("seeds", [FAST, pytest.param(SLOW, marks=pytest.mark.slow)], ids=str)
@pytest.mark.parametrize("mode", [Mode.FORKED, Mode.STEPS_FORKED], ids=str)
@pytest.mark.parametrize(("dialect", "terms", "procedures"), VARIANTS)
def test_forked_statements(dialect: str, terms: bool, procedures: bool, mode: Mode, seeds: range) -> None:
    seen = run_seeds(seeds, dialect, terms=terms, procedures=procedures, mode=mode)
    assert seen["answers"] > 2.5 * len(seeds), seen
    assert seen["errors"] > 1, seen
    assert seen["unsupported"] + seen["not bound"] < 0.5 * len(seeds), seen


@pytest.mark.parametrize("seeds", [WIDER, pytest.param(MANY_WIDER, marks=pytest.mark.slow)], ids=str)
@pytest.mark.parametrize("mode", [Mode.NATIVE, Mode.FORKED], ids=str)
@pytest.mark.parametrize("terms", [False, True], ids=["cases", "terms"])
@pytest.mark.parametrize("dialect", ["postgres", "mysql"])
def test_wider_statements(dialect: str, terms: bool, mode: Mode, seeds: range) -> None:
    seen = run_seeds(seeds, dialect, terms=terms, mode=mode, wider=True)
    assert seen["answers"] > len(seeds) / 1.2, seen


@pytest.mark.parametrize("seeds", [CALLED, pytest.param(MANY_CALLED, marks=pytest.mark.slow)], ids=str)
@pytest.mark.parametrize("mode", [Mode.NATIVE, Mode.FORKED], ids=str)
@pytest.mark.parametrize("terms", [False, True], ids=["cases", "terms"])
@pytest.mark.parametrize("dialect", ["postgres", "mysql"])
def test_routines(dialect: str, terms: bool, mode: Mode, seeds: range) -> None:
    seen = run_seeds(seeds, dialect, terms=terms, mode=mode, routines=True)
    assert seen["answers"] > len(seeds) / 0.3, seen
    assert seen["unsupported"] + seen["not bound"] < 0.25 * len(seeds), seen


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["wider", "routines"])
@pytest.mark.parametrize("terms", [False, True], ids=["cases", "terms"])
@pytest.mark.parametrize("dialect", ["postgres", "mysql"])
def test_thousands_of_wider_statements_and_routines(dialect: str, terms: bool, kind: str) -> None:
    for mode in (Mode.NATIVE, Mode.FORKED):
        seen = run_seeds(
            range(2000, 4000), dialect, terms=terms, mode=mode, wider=kind == "wider", routines=kind == "routines"
        )
        assert seen["answers"] > 5000, seen


@pytest.mark.slow
@pytest.mark.usefixtures("route")
@pytest.mark.parametrize(("dialect", "terms", "procedures"), VARIANTS)
def test_thousands_of_statements(dialect: str, terms: bool, procedures: bool) -> None:
    seen = run_seeds(range(1000, 3000), dialect, terms=terms, procedures=procedures)
    assert seen["answers"] > 6000, seen


def test_the_helper_view_is_as_concrete_as_it_claims() -> None:
    cases = Cases(1, "postgres", terms=False)
    view = GuardedMemory(cases.tables())
    for choice in assignments(cases):
        assert isinstance(view.concrete(choice), MemoryView)
        assert view.concrete(choice).rows("t") == view.under(choice)["t"]

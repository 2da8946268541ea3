"""`savepoint` and `rollback` of every concrete view: writes since a mark are gone, marks can be used again."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sql_semantics.frontend import read_schema
from sql_semantics.library import SqlLibrary
from sql_semantics.run import MemoryView
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import Value
from sql_semantics.view import View
from troubadour.execution.free.choices import Choices
from troubadour.execution.states.state_map import StateMap
from troubadour.execution.views.concrete import ConcreteView
from troubadour.replay.store import Store
from troubadour.replay.view import WitnessView

SCHEMA = ["CREATE TABLE t (id INT PRIMARY KEY, v INT)"]
ROWS: dict[str, list[tuple[Value, ...]]] = {"t": [(1, 10), (2, 20), (3, 30)]}


def memory() -> View:
    return MemoryView(ROWS)


def concrete() -> View:
    tables = read_schema(SCHEMA, Dialect("postgres"))
    states = StateMap(tables, ROWS)
    return ConcreteView(states, "t1", Choices(0))


def witness() -> View:
    return WitnessView(Store(SqlLibrary(Dialect("postgres"), SCHEMA), ROWS), "t1", 0)


def seen(view: View) -> list[tuple[object, ...]]:
    return sorted(row for _, row in view.scan("t"))


def found(view: View, key: int) -> list[tuple[object, ...]]:
    return [row for _, row in view.lookup("t", (0,), (key,)) if row[0] == key]


@pytest.mark.parametrize("make", [memory, concrete, witness])
def test_rollback_undoes_every_kind_of_write(make: Callable[[], View]) -> None:
    view = make()
    view.begin()
    assert found(view, 1) == [(1, 10)]
    ids = {row[0]: name for name, row in view.scan("t")}
    view.update("t", ids[1], (1, 11))
    mark = view.savepoint()
    for again in range(2):
        view.update("t", ids[1], (5, 12))
        inner = view.savepoint()
        view.delete("t", ids[2])
        new = view.insert("t", (4, again))
        view.update("t", new, (4, 40))
        assert seen(view) == [(3, 30), (4, 40), (5, 12)]
        view.rollback(inner)
        assert seen(view) == [(2, 20), (3, 30), (5, 12)]
        assert (found(view, 4), found(view, 5)) == ([], [(5, 12)])
        view.rollback(mark)
        assert seen(view) == [(1, 11), (2, 20), (3, 30)]
        assert (found(view, 1), found(view, 2), found(view, 5)) == ([(1, 11)], [(2, 20)], [])


@pytest.mark.parametrize("make", [memory, concrete, witness])
def test_inserted_rows_are_named_alike_after_a_rollback(make: Callable[[], View]) -> None:
    view = make()
    view.begin()
    mark = view.savepoint()
    view.insert("t", (4, 1))
    view.rollback(mark)
    view.insert("t", (4, 2))
    assert found(view, 4) == [(4, 2)]
    view.rollback(mark)
    assert seen(view) == sorted(ROWS["t"])

"""SAVEPOINT, ROLLBACK TO and RELEASE: how they are read, and what they do to guarded rows."""

from __future__ import annotations

import pytest

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.frontend.routines.savepoints import bind_savepoint
from sql_semantics.ir.statements import Release, RollbackTo, Savepoint
from sql_semantics.library import SqlLibrary
from sql_semantics.terms import FALSE, TRUE, atom, evaluate, evaluate_guard
from sql_semantics.values.dialect import Dialect
from tests.guarded_view import Choice, GuardedMemory
from troubadour.execution.states.state_map import StateMap
from troubadour.execution.views.guarded import GuardedStates

POSTGRES = Dialect("postgres")


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("savepoint Abc", Savepoint("abc")),
        ('SAVEPOINT "Abc";', Savepoint("Abc")),
        ("/* c */ SAVEPOINT savepoint -- d", Savepoint("savepoint")),
        ("ROLLBACK TO SAVEPOINT a", RollbackTo("a")),
        ("rollback work to savepoint", RollbackTo("savepoint")),
        ("RELEASE a", Release("a")),
        ("RELEASE SAVEPOINT a", Release("a")),
        ("ROLLBACK", None),
        ("SELECT 1", None),
        ("-- SAVEPOINT a\nSELECT 1", None),
    ],
)
def test_postgres_spelling(text: str, bound: object) -> None:
    assert bind_savepoint(text, POSTGRES) == bound


def test_mysql_names_never_heed_case() -> None:
    assert bind_savepoint("SAVEPOINT `Abc`", Dialect("mysql")) == Savepoint("abc")


@pytest.mark.parametrize(("dialect", "state"), [("postgres", "42601"), ("mysql", "42000"), ("duckdb", "42601")])
@pytest.mark.parametrize("text", ["SAVEPOINT", "SAVEPOINT 'a'", "ROLLBACK TO", "RELEASE SAVEPOINT 1"])
def test_what_no_product_takes(dialect: str, state: str, text: str) -> None:
    with pytest.raises(SqlError) as caught:
        bind_savepoint(text, Dialect(dialect))
    assert caught.value.sqlstate == state


def test_more_than_a_name_is_refused() -> None:
    with pytest.raises(Unsupported, match="SAVEPOINT with more than a name"):
        bind_savepoint("SAVEPOINT a, b", POSTGRES)


def test_guarded_rows_come_back() -> None:
    library = SqlLibrary(POSTGRES, ["CREATE TABLE t (id INT PRIMARY KEY, v INT)"])
    there = atom("there")
    view = GuardedMemory({"t": [(there, (1, 10)), (TRUE, (2, 20))]})

    def run(sql: str) -> list[tuple[object, SqlError]]:
        return list(library.program(sql).run_guarded(view, (), TRUE).errors)

    run("UPDATE t SET v = v + 1")
    run("SAVEPOINT a")
    run("DELETE FROM t WHERE v = 11")
    run("INSERT INTO t VALUES (3, 30)")
    assert view.under(Choice({"there": True})) == {"t": [(2, 21), (3, 30)]}
    assert not run("ROLLBACK TO a")
    for given, rows in ((True, [(1, 11), (2, 21)]), (False, [(2, 21)])):
        assert view.under(Choice({"there": given})) == {"t": rows}
    ((guard, error),) = run("RELEASE b")
    assert guard is TRUE
    assert error.sqlstate == "3B001"


def test_a_rollback_under_a_guard_undoes_there_only() -> None:
    library = SqlLibrary(POSTGRES, ["CREATE TABLE t (id INT PRIMARY KEY, v INT)"])
    view = GuardedStates(StateMap(library.catalog.tables, {"t": [(1, 10)]}), "t1", 0, 0, 0, row_scope=False)
    view.enter_statement(0)
    ((row, _, _),) = view.scan("t")
    mark = view.savepoint()
    view.update("t", row, TRUE, (1, 11))
    view.insert("t", TRUE, (2, 20))
    here = atom("here")
    view.rollback(mark, here)
    choices = (Choice({"here": False}), Choice({"here": True}))

    seen = [
        sorted(
            tuple(evaluate(value, choice) for value in values)
            for _, guard, values in view.scan("t")
            if evaluate_guard(guard, choice)
        )
        for choice in choices
    ]
    assert seen == [[(1, 11), (2, 20)], [(1, 10)]]
    view.rollback(mark, TRUE)
    assert view.writes() == {}
    assert [guard for _, guard in view.inserted] == [FALSE]

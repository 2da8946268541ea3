"""Short hands for tests of the guarded runtime: a table written out by hand, SQL text in, outcome out. Knows no
expectation.
"""

from __future__ import annotations

from sql_semantics.frontend import bind, read_schema
from sql_semantics.guarded import compile_guarded
from sql_semantics.ir.expressions import Const
from sql_semantics.ir.schema import Catalog
from sql_semantics.ir.statements import Call, Procedure, Statement
from sql_semantics.outcome import GuardedOutcome
from sql_semantics.terms import (
    TRUE,
    Cases,
    Guard,
    Scalar,
    Term,
    atom,
    choose,
    neg,
)
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import INT, Kind, Value
from tests.guarded_view import GuardedMemory

A, B = atom("a"), atom("b")
POSTGRES = Dialect("postgres", collation="C")
SCHEMA = ("CREATE TABLE t (id INT PRIMARY KEY, v INT NOT NULL CHECK (v >= 0), n NUMERIC(6,2), s TEXT)",)
CATALOG = Catalog(read_schema(SCHEMA, POSTGRES))
BALANCE = choose(((A, 310), (neg(A), 300)))

Row = tuple[Guard, tuple[Scalar, ...]]


def database(*rows: Row) -> GuardedMemory:
    return GuardedMemory({"t": rows})


def row(guard: Guard, identity: Scalar, v: Scalar, n: Scalar = None, s: Scalar = None) -> Row:
    return guard, (identity, v, n, s)


def bound(sql: str, *kinds: Kind) -> Statement:
    return bind(sql, kinds, CATALOG, POSTGRES).statement


def run(sql: str, view: GuardedMemory, *args: Value, path: Guard = TRUE) -> GuardedOutcome:
    kinds = [Kind.INT if isinstance(arg, int) else Kind.TEXT for arg in args]
    return compile_guarded(bound(sql, *kinds), CATALOG, POSTGRES)(view, args, path)


def call(view: GuardedMemory, *body: Statement, path: Guard = TRUE) -> GuardedOutcome:
    procedure = Procedure("p", ("x",), (INT, INT), body)
    catalog = Catalog(CATALOG.tables, {"p": procedure})
    return compile_guarded(Call("p", (Const(1, INT),)), catalog, POSTGRES)(view, (), path)


def cases(scalar: Scalar) -> dict[Value, Guard]:
    assert isinstance(scalar, Cases)
    return {leaf: guard for guard, leaf in scalar.items if not isinstance(leaf, Term)}

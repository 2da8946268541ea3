"""Which places of a log hold the same values, and what is done with these: a walk over bound expressions and queries
(the flow of values, not of control). Does not know statements (`programs` does), nor any value.

Every column of an environment row is a place, as `sql_semantics.ir` counts them: `rows[0]` is the row of the query
at hand, `rows[depth]` what an `Outer` reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from sql_semantics.ir.expressions import (
    Binary,
    Case,
    Cast,
    Column,
    Const,
    Exists,
    Expr,
    Free,
    Function,
    InList,
    InQuery,
    Invoke,
    IsNull,
    IsTruth,
    Like,
    Outer,
    Param,
    Quantified,
    ScalarQuery,
    Unary,
    Variable,
)
from sql_semantics.ir.queries import (
    Aggregate,
    BaseTable,
    CommonScan,
    CommonTable,
    Derived,
    FunctionScan,
    Identified,
    Joined,
    OrderKey,
    OutputColumn,
    Query,
    Relation,
    Select,
    Series,
    SetOperation,
    Source,
    Unnest,
    Values,
    Window,
    WorkingTable,
    WrittenTable,
)
from sql_semantics.ir.routines import Routine
from sql_semantics.values.types import INTEGER_KINDS, INTEGER_RANGE, Kind, SqlType
from troubadour.tools.anonymize.domains import Domains, Place

EQUAL = frozenset({"=", "<>", "is_distinct", "is_not_distinct"})
COMPARING = EQUAL | {"<", "<=", ">", ">="}
PASSING = frozenset({"coalesce", "nullif", "greatest", "least", "ifnull"})
"""Functions that give one of their arguments."""
RANKING = frozenset({"row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile"})

Row = Sequence[Place]
Rows = tuple[Row, ...]


class Frame(Protocol):
    """What a walk has to know of the statement or routine that it is in."""

    def param(self, key: int | str) -> Place:
        """A statement's parameter."""

    def variable(self, slot: int) -> Place:
        """A routine's variable."""


class Flow:
    """One walk over everything that a log runs; what it finds is in `domains`."""

    def __init__(self) -> None:
        self.domains = Domains()
        self.unknown = ""
        """What was met that is not understood, so that all values have to stay; empty for nothing."""
        self._common: dict[int, tuple[Any, Row]] = {}

    # -- expressions

    def values(self, expressions: Iterable[Expr], rows: Rows, frame: Frame) -> list[Place]:
        """The places of several values."""
        return [self.value(expression, rows, frame) for expression in expressions]

    def read(self, expressions: Iterable[Expr | None], rows: Rows, frame: Frame) -> None:
        """Expressions whose values are conditions."""
        for expression in expressions:
            if expression is not None:
                self.value(expression, rows, frame)

    def value(self, expr: Expr, rows: Rows, frame: Frame) -> Place:
        """The place of an expression's value."""
        if self._condition(expr, rows, frame):
            return self.domains.another("a truth value")
        match expr:
            case Const():
                return self.domains.another("" if expr.value is None else "a literal")
            case Column(index):
                return rows[0][index]
            case Outer(depth, index):
                return rows[depth][index]
            case Param(key):
                return frame.param(key)
            case Variable(slot):
                return frame.variable(slot)
            case Unary(op, operand):
                return self._spent([self.value(operand, rows, frame)], f"operator {op}")
            case Binary(op, left, right):
                return self._spent(self.values((left, right), rows, frame), f"operator {op}")
            case Like(operand, pattern):
                return self._spent(self.values((operand, pattern), rows, frame), "LIKE")
            case Case(whens, otherwise):
                self.read((condition for condition, _ in whens), rows, frame)
                return self._same(self.values((*(result for _, result in whens), otherwise), rows, frame))
            case Function(name, arguments):
                places = self.values(arguments, rows, frame)
                if name not in PASSING:
                    return self._spent(places, f"function {name}()")
                place = self._same(places)
                if name in ("greatest", "least"):
                    self.domains.order(place)
                return place
            case Cast(operand, type):
                return self._cast(self.value(operand, rows, frame), operand.type, type)
            case Free():
                return self.domains.another("values that the DBMS chooses")
            case ScalarQuery(query):
                return self.query(query, rows, frame)[0]
            case Invoke(routine, arguments):
                self.called(routine, self.values(arguments, rows, frame))
                return answer(routine, 0)
        raise AssertionError(expr)

    def _condition(self, expr: Expr, rows: Rows, frame: Frame) -> bool:
        """Walk over a truth value that is made of comparisons. False for any other expression."""
        match expr:
            case Binary(op, left, right) if op in COMPARING:
                self._compare(self.value(left, rows, frame), self.value(right, rows, frame), op)
            case Binary(("and" | "or"), left, right):
                self.read((left, right), rows, frame)
            case Unary("not", operand) | IsNull(operand) | IsTruth(operand):
                self.value(operand, rows, frame)
            case InList(operand, items):
                place = self.value(operand, rows, frame)
                for item in self.values(items, rows, frame):
                    self._compare(place, item, "=")
            case Exists(query):
                self.query(query, rows, frame)
            case InQuery(operands, query, items):
                inner = (self.query(query, rows, frame), *rows)
                for operand, item in zip(operands, items, strict=True):
                    self._compare(self.value(operand, rows, frame), self.value(item, inner, frame), "=")
            case Quantified():
                inner = (self.query(expr.query, rows, frame), *rows)
                self._compare(self.value(expr.operand, rows, frame), self.value(expr.item, inner, frame), expr.op)
            case _:
                return False
        return True

    def called(self, routine: Routine, given: Sequence[Place]) -> None:
        """A user-defined function takes values."""
        names = [parameter.name for parameter in routine.signature.parameters]
        places = [variable(routine, names.index(each.name)) for each in routine.signature.given]
        if routine.procedure is None or len(places) < len(given):
            self.unknown = self.unknown or f"routine {routine.signature.name}"
        for place, value in zip(places, given, strict=False):
            self.domains.join(place, value)

    def _compare(self, one: Place, other: Place, op: str) -> None:
        place = self.domains.join(one, other)
        if op not in EQUAL:
            self.domains.order(place)

    def _same(self, places: Sequence[Place]) -> Place:
        first, *others = places
        for other in others:
            self.domains.join(first, other)
        return first

    def _spent(self, places: Iterable[Place], reason: str) -> Place:
        for place in places:
            self.domains.keep(place, reason)
        return self.domains.another(reason)

    def _cast(self, place: Place, source: SqlType, target: SqlType) -> Place:
        if source.kind in INTEGER_KINDS and target.kind in INTEGER_KINDS:
            self.domains.narrow(place, INTEGER_RANGE[target.kind])
            return place
        if source.kind is target.kind or Kind.NULL in (source.kind, target.kind):
            return place
        return self._spent([place], f"CAST of {source} to {target}")

    # -- queries

    def query(self, query: Query, around: Rows, frame: Frame) -> Row:
        """The places of a query's columns; `around` are the rows of the queries that it stands in."""
        match query:
            case Select():
                return self._select(query, around, frame)
            case SetOperation():
                left = (self.query(query.left, around, frame), *around)
                right = (self.query(query.right, around, frame), *around)
                ours = self.values(query.left_items, left, frame)
                theirs = self.values(query.right_items, right, frame)
                result = [self.domains.join(one, other) for one, other in zip(ours, theirs, strict=True)]
            case Values(rows):
                made = [self.values(row, ((), *around), frame) for row in rows]
                result = [self._same(column) for column in zip(*made, strict=True)]
            case Unnest():
                self._spent(
                    [
                        part
                        for items in (self.values(item, ((), *around), frame) for item in query.arrays)
                        for part in items
                    ],
                    "an array",
                )
                result = [self.domains.another("an array") for _ in query.outputs]
            case Series():
                self._spent(self.values((query.start, query.stop, query.step), ((), *around), frame), "a series")
                result = [self.domains.another("a series")]
        return self.outputs(query.outputs, (result, *around), frame)

    def outputs(self, outputs: Iterable[OutputColumn], rows: Rows, frame: Frame) -> Row:
        """The places of a select list or of RETURNING."""
        return [self.value(output.expression, rows, frame) for output in outputs]

    def joined(self, sources: Iterable[Source], around: Rows, frame: Frame) -> list[Place]:
        """The environment row of FROM items."""
        row: list[Place] = []
        for source in sources:
            columns = self._relation(source.relation, source.width, row, around, frame)
            row[source.offset :] = columns
            if source.on is not None:
                self.value(source.on, (row, *around), frame)
        return row

    def _select(self, query: Select, around: Rows, frame: Frame) -> Row:
        row = self.joined(query.sources, around, frame)
        rows = (row, *around)
        self.read((query.where,), rows, frame)
        if query.groups is not None:
            keys = self.values(query.groups, rows, frame)
            row = keys + [self._aggregate(aggregate, rows, frame) for aggregate in query.aggregates]
            rows = (row, *around)
        self.read((query.having,), rows, frame)
        row = [*row, *(self._window(window, rows, frame) for window in query.windows)]
        rows = (row, *around)
        outputs = self.outputs(query.outputs, rows, frame)
        self.read((query.qualify, *query.distinct_on), rows, frame)
        for key in query.order:
            self.order(key, rows, frame, outputs)
        limits = [part for part in (query.limit, query.offset) if part is not None]
        self._spent(self.values(limits, ((), *around), frame), "LIMIT")
        return outputs

    def order(self, key: OrderKey, rows: Rows, frame: Frame, outputs: Row = ()) -> Place:
        """One ORDER BY key."""
        if key.expression is not None:
            place = self.value(key.expression, rows, frame)
        else:
            assert key.output is not None
            place = outputs[key.output]
        self.domains.order(place)
        return place

    def _relation(self, relation: Relation, width: int, left: Row, around: Rows, frame: Frame) -> Row:
        match relation:
            case BaseTable(name):
                return [column(name, index) for index in range(width)]
            case Identified(name):
                return [*(column(name, index) for index in range(width - 1)), ("identity", name)]
            case Derived(query, lateral):
                return self.query(query, (left, *around) if lateral else around, frame)
            case CommonScan(table, levels):
                return self._common_table(table, around[levels:], frame)
            case Joined(sources):
                return self.joined(sources, around, frame)
            case FunctionScan(routine, arguments):
                self.called(routine, self.values(arguments, ((), *around), frame))
                return [answer(routine, index) for index in range(width)]

    def define(self, table: CommonTable | WorkingTable | WrittenTable, row: Row) -> None:
        """The columns of a WITH item."""
        self._common[id(table)] = (table, row)  # and the table stays, so that nothing else has its id

    def _common_table(self, table: CommonTable | WorkingTable | WrittenTable, around: Rows, frame: Frame) -> Row:
        known = self._common.get(id(table))
        if known is not None:
            return known[1]
        if not isinstance(table, CommonTable):  # what writes or recurs was defined before it is read
            self.unknown = self.unknown or f"WITH item {table.name}"
            return _Endless(table.name)
        row = self.query(table.query, around, frame)
        self.define(table, row)
        if table.step is not None:
            if table.working is not None:
                self.define(table.working, row)
            for one, other in zip(row, self.query(table.step, around, frame), strict=True):
                self.domains.join(one, other)
        return row

    def _aggregate(self, aggregate: Aggregate, rows: Rows, frame: Frame) -> Place:
        places = self.values(aggregate.arguments, rows, frame)
        self.read((aggregate.filter,), rows, frame)
        for key in aggregate.order:
            self.order(key, rows, frame)
        match aggregate.function:
            case "count" | "count_star" | "grouping":
                return self.domains.another("a number of rows")
            case "min" | "max" | "bare" | "bare_min" | "bare_max":
                for place in places:
                    self.domains.order(place)
                return places[0]
        return self._spent(places, f"aggregate {aggregate.function}()")

    def _window(self, window: Window, rows: Rows, frame: Frame) -> Place:
        places = self.values(window.arguments, rows, frame)
        self.read(window.partition, rows, frame)
        keys = [self.order(key, rows, frame) for key in window.order]
        offsets = [end.offset for end in (window.frame.start, window.frame.end) if end.offset is not None]
        if offsets:
            self._spent([*self.values(offsets, rows, frame), *keys], "the frame of a window")
        if window.aggregate is not None:
            return self._aggregate(window.aggregate, rows, frame)
        if window.function in RANKING:
            return self._spent(places, f"window function {window.function}()")
        first, *others = places
        if window.function in ("lag", "lead") and len(others) > 1:
            self.domains.join(first, others[1])
        if others:
            self._spent(others[:1], f"window function {window.function}()")
        return first


class _Endless(Sequence[Place]):
    """A row of places of which nothing is known."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __len__(self) -> int:
        return 0

    def __getitem__(self, index: Any) -> Any:
        return ("row", self._name, index)


def column(table: str, index: int) -> Place:
    """A table's column."""
    return ("column", table, index)


def variable(routine: Routine, slot: int) -> Place:
    """A routine's variable; its parameters come first."""
    return ("variable", routine, slot)


def answer(routine: Routine, index: int) -> Place:
    """A column of what a function returns."""
    return ("answer", routine, index)

"""What a statement with subqueries carries through its expressions.

An expression is a function of its row, the parameters and the frame. A `QueryFrame` is a frame that also holds the
view, the environment rows of the enclosing queries and what was evaluated already; statements without subqueries run
with a plain list and pay nothing. One per statement execution. Does not know what a query is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from sql_semantics.run.expressions.expressions import Arguments, Frame, Row
from sql_semantics.values.types import Value
from sql_semantics.view import View

T = TypeVar("T")


class QueryFrame(list[Value]):
    """`rows` are the environment rows around the query that runs, the innermost last; `memo` keeps results of
    subqueries by what they are and by the outer values that they read."""

    __slots__ = ("memo", "rows", "view")

    def __init__(self, view: View, frame: Frame) -> None:
        super().__init__(frame)
        self.view = view
        self.rows: list[Row] = []
        self.memo: dict[object, dict[Row, Any]] = {}


def query_frame(frame: Frame) -> QueryFrame:
    """The frame of a statement that was compiled by `with_queries`."""
    return cast(QueryFrame, frame)


def with_queries(run: Callable[[View, Arguments, Frame], T], needed: bool) -> Callable[[View, Arguments, Frame], T]:
    """`run` on a fresh `QueryFrame` per execution; `run` itself where that is not needed."""
    if not needed:
        return run
    return lambda view, args, frame: run(view, args, QueryFrame(view, frame))


def memoized(
    token: object, reads: list[tuple[int, int]], evaluate: Callable[[Arguments, QueryFrame], T]
) -> Callable[[Arguments, QueryFrame], T]:
    """`evaluate`, once per statement execution and combination of the outer values at `reads` (depth, position)."""
    if not reads:

        def once(args: Arguments, frame: QueryFrame) -> T:
            known = frame.memo.get(token)
            if known is None:
                known = frame.memo[token] = {(): evaluate(args, frame)}
            return cast(T, known[()])

        return once

    def per_key(args: Arguments, frame: QueryFrame) -> T:
        known = frame.memo.get(token)
        if known is None:
            known = frame.memo[token] = {}
        rows = frame.rows
        key = tuple([rows[-depth][index] for depth, index in reads])
        if key not in known:
            known[key] = evaluate(args, frame)
        return cast(T, known[key])

    return per_key

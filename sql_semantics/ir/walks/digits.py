"""What becomes of digits that a computed DECIMAL's scale has no room for, where its value stays within a statement
(MySQL; tried on MariaDB 10.11). Does not know the values.
"""

from __future__ import annotations

from typing import Literal

from sql_semantics.ir.queries import Query, Select
from sql_semantics.ir.walks.traverse import outer_reads

Digits = Literal["checked", "whole", "declared"]
"""They are kept, they are rounded away, or it may be either, so that values that have such digits are refused."""


def digits_of_scalar(query: Query) -> Digits:
    """In a scalar subquery: one that aggregates all rows into one, the same for every row around it, is held as it was
    computed."""
    once = (
        isinstance(query, Select)
        and query.groups == ()
        and not (query.distinct or query.order or query.windows)
        and query.limit is None
        and query.offset is None
        and not outer_reads(query)
    )
    return "whole" if once else "checked"


def digits_in_from(query: Query) -> Digits:
    """In a query in FROM: one with aggregates is never merged into the query around it, and stands in a temporary
    table, by its types."""
    return "declared" if isinstance(query, Select) and query.groups is not None else "checked"

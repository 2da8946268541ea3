"""In which direction an item of ORDER BY sorts, and where NULLs come (PostgreSQL manual 7.5; DuckDB, ORDER BY).

Does not know what is sorted.
"""

from __future__ import annotations

from sql_semantics.frontend.text.syntax import Node
from sql_semantics.values.dialect import Dialect


def direction(item: Node, dialect: Dialect) -> tuple[bool, bool]:
    """Whether it descends, and whether NULLs come first."""
    said = item.args.get("desc")
    descending = dialect.descends if said is None else bool(said)
    nulls_first = bool(item.args.get("nulls_first"))
    if item.meta.get("places NULLs"):
        return descending, nulls_first
    match dialect.null_order:
        case "parsed":
            return descending, nulls_first
        case "small":
            return descending, not descending
        case "large":
            return descending, descending
        case end:
            return descending, end == "first"

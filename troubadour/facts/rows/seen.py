"""Which rows of a table a query can see at all: those that meet what it asks of a row by itself, wherever it looks.

Does not know what is made of the rows that are seen.
"""

from __future__ import annotations

from sql_semantics.ir.expressions import Const, Expr, Outer
from sql_semantics.ir.queries import BaseTable, OutputColumn, Query, Select, Source
from sql_semantics.ir.walks.parts import walk_parts
from sql_semantics.ir.walks.traverse import conjunction, conjuncts, has_free, has_subquery
from sql_semantics.records import replace
from sql_semantics.values.types import BOOLEAN
from troubadour.facts.rows.joined import is_of, moved

SEEN = (OutputColumn("seen", Const(True, BOOLEAN)),)


def seen_by(query: Query) -> list[tuple[str, Select]] | None:
    """For each place of a query that looks at a table, that table, and a query of the rows that may be seen there; None
    where it looks at rows in another way."""
    found: list[tuple[str, Select]] = []
    parts = list(walk_parts(query))
    for select in parts:
        if not isinstance(select, Select) or any(source.kind not in ("cross", "inner") for source in select.sources):
            continue
        asked = [*conjuncts(select.where), *(part for source in select.sources for part in conjuncts(source.on))]
        for source in select.sources:
            if isinstance(source.relation, BaseTable):
                own = [moved(part, source.offset) for part in asked if is_alone(part, source)]
                alone = replace(source, kind="cross", on=None, offset=0)
                found.append((source.relation.name, Select((alone,), conjunction(tuple(own)), None, (), None, SEEN)))
    # what stands in another clause, or is joined otherwise, sees every row
    return found if len(found) == sum(isinstance(part, BaseTable) for part in parts) else None


def is_alone(condition: Expr, source: Source) -> bool:
    """Whether a condition is about a row of a source, and nothing else."""
    if has_subquery(condition) or has_free(condition) or any(isinstance(part, Outer) for part in walk_parts(condition)):
        return False
    return is_of(condition, source)

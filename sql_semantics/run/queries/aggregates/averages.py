"""How DuckDB 2 divides for AVG of DECIMALs, which its optimizer decides query by query (its rewriting of AVG to SUM and
COUNT, tried on 2.0.0).

Rewritten, the sum is divided by its power of ten and then by the count; otherwise once, in long double. The last digits
tell the two apart. Does not know rows.
"""

from __future__ import annotations

from dataclasses import replace

from sql_semantics.ir.queries import Aggregate, Select
from sql_semantics.ir.walks.traverse import outer_reads
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import Kind


def planned_aggregates(select: Select, dialect: Dialect) -> tuple[Aggregate, ...]:
    """The aggregates, an AVG of DECIMALs as ``avg_in_steps`` or ``avg_at_once`` where it is known which it is."""
    if not dialect.plans_averages:
        return select.aggregates
    return tuple(
        replace(aggregate, function=_division(aggregate, select)) if _is_of_decimals(aggregate) else aggregate
        for aggregate in select.aggregates
    )


def _is_of_decimals(aggregate: Aggregate) -> bool:
    argument = aggregate.argument
    return aggregate.function == "avg" and argument is not None and argument.type.kind is Kind.NUMERIC


def _division(average: Aggregate, select: Select) -> str:
    if average.distinct or average.filter is not None:
        return "avg_at_once"
    plain = [other for other in select.aggregates if not other.distinct and other.filter is None]
    if any(other.function == "sum" and other.arguments == average.arguments for other in plain):
        return "avg_in_steps"
    if not select.groups and select.grouping_sets is None:
        # one that reads the rows around it is planned with groups
        return "avg" if outer_reads(select) else "avg_in_steps"
    if any(other.function in ("count", "count_star") for other in plain):
        return "avg"
    return "avg_at_once"

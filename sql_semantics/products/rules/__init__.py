"""The rules of a product, by area, as data. Does not know how they are carried out."""

from __future__ import annotations

from sql_semantics.products.rules.definitions import DefinitionRules
from sql_semantics.products.rules.expressions import ExpressionRules
from sql_semantics.products.rules.queries import QueryRules
from sql_semantics.products.rules.running import RunRules
from sql_semantics.products.rules.text import TextRules
from sql_semantics.products.rules.types import TypeRules
from sql_semantics.products.rules.values import ValueRules
from sql_semantics.products.rules.writes import WriteRules
from sql_semantics.records import dataclass

__all__ = [
    "DefinitionRules",
    "ExpressionRules",
    "QueryRules",
    "Rules",
    "RunRules",
    "TextRules",
    "TypeRules",
    "ValueRules",
    "WriteRules",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What one product, by the `name` of its dialect, answers in every area."""

    name: str
    types: TypeRules
    text: TextRules
    expressions: ExpressionRules
    queries: QueryRules
    writes: WriteRules
    definitions: DefinitionRules
    values: ValueRules
    running: RunRules

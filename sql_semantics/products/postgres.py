"""The rules of PostgreSQL, all in one place. Does not know what they are needed for."""

from __future__ import annotations

from sql_semantics.products.rules import (
    DefinitionRules,
    ExpressionRules,
    QueryRules,
    Rules,
    RunRules,
    TextRules,
    TypeRules,
    ValueRules,
    WriteRules,
)

POSTGRES = Rules(
    name="postgres",
    types=TypeRules(),
    text=TextRules(),
    expressions=ExpressionRules(),
    queries=QueryRules(),
    writes=WriteRules(),
    definitions=DefinitionRules(),
    values=ValueRules(),
    running=RunRules(),
)

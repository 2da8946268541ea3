"""What the later clauses of a SELECT need of its earlier ones (paper §3.1). Does not know any clause's rules."""

from __future__ import annotations

from sqlglot import exp

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.frontend.expressions.windows import WindowScope
from sql_semantics.frontend.names.scope import Context, Scope
from sql_semantics.frontend.text.syntax import Node
from sql_semantics.ir.expressions import Expr
from sql_semantics.ir.queries import Aggregate, OutputColumn, Source
from sql_semantics.records import dataclass


@dataclass(slots=True)
class Block:
    """What a query's later clauses need of its earlier ones."""

    context: Context
    scope: Scope
    sources: tuple[Source, ...]
    outputs: tuple[OutputColumn, ...]
    explicit: tuple[bool, ...]
    aggregates: list[Aggregate]
    windows: WindowScope

    def aliases(self) -> dict[str, Expr]:
        """The select list's explicit aliases; one that stands for two different things is left out."""
        names: dict[str, Expr] = {}
        twice: set[str] = set()
        for output, explicit in zip(self.outputs, self.explicit, strict=True):
            if explicit and names.setdefault(output.name, output.expression) != output.expression:
                twice.add(output.name)
        return {name: expression for name, expression in names.items() if name not in twice}

    def position(self, node: Node, clause: str) -> int | None:
        """The output that an integer constant stands for (0-based), None for any other node."""
        if isinstance(node, (exp.Paren, exp.Neg)) and isinstance(node.this, (exp.Literal, exp.Paren, exp.Neg)):
            raise Unsupported(f"constant in {clause}")
        if not isinstance(node, exp.Literal):
            return None
        text, rules = str(node.this), self.context.dialect.rules.text
        if node.args["is_string"] or not text.isdigit():
            if rules.constant_key_error is not None:
                raise SqlError(rules.constant_key_error, f"non-integer constant in {clause}")
            raise Unsupported(f"constant in {clause}")
        if not 1 <= int(text) <= len(self.outputs):
            if rules.position_error is None:
                raise Unsupported(f"{clause} position {text}")
            raise SqlError(rules.position_error, f"{clause} position {text} is not in select list")
        return int(text) - 1

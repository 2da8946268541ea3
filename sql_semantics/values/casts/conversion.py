"""What a conversion is asked to do, shared by the modules that know how. Does not convert anything itself."""

from __future__ import annotations

from collections.abc import Callable

from sql_semantics.errors import SqlError, Unsupported
from sql_semantics.products.rules import ValueRules
from sql_semantics.records import dataclass
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import SqlType, Value

Converter = Callable[[Value], Value]


@dataclass(frozen=True, slots=True)
class Conversion:
    """One cast. `may`: whether its errors depend on the order of evaluation."""

    source: SqlType
    target: SqlType
    assignment: bool
    dialect: Dialect
    may: bool

    @property
    def rules(self) -> ValueRules:
        """What the product answers for values."""
        return self.dialect.rules.values

    def unmodelled(self) -> Unsupported:
        """The refusal that names the pair of types."""
        return Unsupported(f"conversion of {self.source} to {self.target} in {self.dialect.name}")

    def fail(self, state: str, message: str) -> SqlError:
        """The error of a value that does not fit."""
        return SqlError(state, message, may=self.may)

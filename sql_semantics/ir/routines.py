"""What a routine looks like from outside, and the handle that calls hold (paper §3.1, Fig. 2).

A handle exists before the body is bound, so that routines may call each other and themselves. Does not know bodies'
statements.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sql_semantics.records import dataclass
from sql_semantics.values.types import SqlType

if TYPE_CHECKING:
    from sql_semantics.ir.expressions import Expr
    from sql_semantics.ir.schema import Catalog
    from sql_semantics.ir.statements import Procedure


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter: `mode` is in, out or inout; `default` a closed expression of its type, or None for none."""

    name: str
    type: SqlType
    mode: str = "in"
    default: Expr | None = None


@dataclass(frozen=True, slots=True)
class Signature:
    """`results` are the columns of what a function returns (one for a scalar, none for void and procedures).

    `rows`: it returns a set. `record`: one row of several columns, or a set of rows, rather than a value. `strict`: a
    NULL argument makes the result NULL (no rows) without a call. `stable`: its statements read what the calling
    statement reads. `psm`: the body is SQL/PSM. `void`: what it returns that returns nothing, NULL where the body is
    SQL and an empty text where it is PL/pgSQL. `trigger`: it is run by a trigger, and returns a row of its table, none,
    or (where it has no results) anything.
    """

    name: str
    parameters: tuple[Parameter, ...]
    function: bool = False
    results: tuple[tuple[str, SqlType], ...] = ()
    rows: bool = False
    record: bool = False
    strict: bool = False
    stable: bool = False
    psm: bool = False
    void: str | None = None
    trigger: bool = False

    @property
    def given(self) -> tuple[Parameter, ...]:
        """The parameters that take a value from the caller."""
        return tuple(parameter for parameter in self.parameters if parameter.mode != "out")

    @property
    def answered(self) -> tuple[Parameter, ...]:
        """The parameters that hand a value back."""
        return tuple(parameter for parameter in self.parameters if parameter.mode != "in")


class Routine:
    """A routine by identity. `procedure` is set once its body is bound; `compiled` is the runtime's, by dialect."""

    __slots__ = ("catalog", "compiled", "procedure", "signature")

    def __init__(self, signature: Signature, catalog: Catalog) -> None:
        self.signature = signature
        self.catalog = catalog
        self.procedure: Procedure | None = None
        self.compiled: dict[Any, Any] = {}

    def __repr__(self) -> str:
        return f"Routine({self.signature.name})"

"""What a session may be set to without changing what is modelled, as a function of the name and the value.

Used by probes that set what a parameter gives (PostgreSQL's set_config). Does not know which settings these are.
"""

from __future__ import annotations

from sql_semantics.errors import Unsupported
from sql_semantics.values.functions.rule import Call, Implementation, Rule, Table, exactly
from sql_semantics.values.settings import keeps_meaning
from sql_semantics.values.types import BOOLEAN, TEXT


def _kept(call: Call) -> Implementation:
    def apply(name: str, value: str) -> bool:
        if not keeps_meaning(name, value, call.dialect):
            raise Unsupported(f"set_config() of {name}")
        return True

    return apply


POSTGRES: Table = {"kept setting": (Rule(exactly(TEXT, TEXT), BOOLEAN, _kept, stable=True),)}

"""What a session may be set to without changing what is modelled, as a function of the name and the value, and what
set_config() of PostgreSQL answers then (manual 9.28.1: the value as SHOW writes it).

Used by probes that set what a parameter gives, too. Does not know which settings these are.
"""

from __future__ import annotations

from collections.abc import Sequence

from sql_semantics.errors import Unsupported
from sql_semantics.values.functions.rule import Call, Implementation, Rule, Table, exactly
from sql_semantics.values.settings import keeps_meaning
from sql_semantics.values.types import BOOLEAN, TEXT, SqlType, Value

_SHOWN = {name.lower(): name for name in ("UTC", "Etc/UTC", "GMT", "Etc/GMT", "Universal", "Zulu")}
"""Time zones are shown as the time zone database spells them, whatever the case they were given in."""


def _kept(call: Call) -> Implementation:
    def apply(name: str, value: str) -> bool:
        if not keeps_meaning(name, value, call.dialect):
            raise Unsupported(f"set_config() of {name}")
        return True

    return apply


def _told(types: Sequence[SqlType], values: Sequence[Value]) -> SqlType:
    """Raises Unsupported but for the time zone, of which is known how each value is shown: an extension may write the
    values of its own settings in another way than they were given."""
    name, value, _ = values
    shown = value is None or str(value).lower() in _SHOWN
    if not isinstance(name, str) or name.lower() != "timezone" or not shown:
        raise Unsupported("function set_config()")
    return TEXT


def _set(call: Call) -> Implementation:
    def apply(name: str, value: str | None, local: bool | None) -> str:
        if value is None or value.lower() not in _SHOWN or not keeps_meaning(name, value, call.dialect):
            raise Unsupported(f"set_config() of {name}")
        return _SHOWN[value.lower()]

    return apply


POSTGRES: Table = {
    "kept setting": (Rule(exactly(TEXT, TEXT), BOOLEAN, _kept, stable=True),),
    "set_config": (Rule(exactly(TEXT, TEXT, BOOLEAN), _told, _set, strict=False, stable=True),),
}

"""Regular expressions that are compiled at their first use: the modules that an audit imports have 200, most of which a
log does not need, and compiling them takes a tenth of a small audit. Does not know what they are for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

__all__ = ["pattern"]


class _Pattern:
    """As a `re.Pattern`; what is asked of it is kept, so that it is found as fast the next time."""

    def __init__(self, text: str, flags: int = 0) -> None:
        self._given = text, flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = getattr(re.compile(*self._given), name)
        setattr(self, name, found)
        return found

    def __repr__(self) -> str:
        return f"pattern{self._given!r}"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._given


if TYPE_CHECKING:
    pattern = re.compile
else:
    pattern = _Pattern

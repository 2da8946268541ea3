"""Z3, imported when it is first used: most logs that are searched are decided without it.

Does not know what is done with it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["z3", "z3core"]


class _Late:
    """A module that is imported when something of it is first asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        found = getattr(import_module(self._name), name)
        setattr(self, name, found)
        return found


if TYPE_CHECKING:
    import z3
    from z3 import z3core
else:
    z3, z3core = _Late("z3"), _Late("z3.z3core")

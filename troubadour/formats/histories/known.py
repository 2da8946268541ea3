"""The formats by their names, and which of them a file seems to be of.

Does not read a history itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from troubadour.formats.histories import awdit, chronos, cobra, dbcop, elle, polysi
from troubadour.formats.histories.imported import Imported

FORMATS: Mapping[str, Callable[[Path], Imported]] = {
    "elle": elle.read,
    "chronos": chronos.read,
    "dbcop": dbcop.read,
    "polysi": polysi.read,
    "cobra": cobra.read,
    "awdit": awdit.read,
}
"""`--from NAME`, and what reads it. Plume's and IsoVista's text is PolySI's."""

_EVENT = rb'(?::type\s+:|"type"\s*:\s*")(?:invoke|ok|info|fail)'
_SIGNS = (
    ("elle", rb"(?:[\s\[(,]|;[^\n]*\n)*(?:#jepsen[\w.]*)?\{[^}]{0,400}?" + _EVENT),
    ("chronos", rb'\s*\[\s*\{(?=[^\0]{0,4000}"[sc]ts")'),
    ("dbcop", rb'\s*\[\s*\[\s*\{\s*"(?:events|committed)"'),
    ("dbcop", rb'\s*\{[^\0]{0,2000}"data"\s*:\s*\['),
    ("dbcop", rb"(?:\s|//[^\n]*)*\[\s*\w+\s*(?::=|==)"),
    ("polysi", rb"\s*[rw]\(-?\d+,-?\d+,-?\d+,-?\d+\)"),
    ("awdit", rb"[\s=-]*[rw] -?\d+ -?\d+\s*(?:\n|\Z)"),
)


def told_apart(path: Path) -> str | None:
    """The name of the format that a file or folder seems to be of, None where it seems to be of none. A guess for
    messages: the beginning is looked at, and nothing is checked. Raises OSError."""
    if path.is_dir():
        return "cobra" if any(path.glob("T*.log")) else "elle" if any(path.rglob("history.edn")) else None
    with path.open("rb") as file:
        head = file.read(8192)
    for name, sign in _SIGNS:
        if re.match(sign, head):
            return name
    if path.suffix == ".bincode":
        return "dbcop"
    return "cobra" if head[:1] == b"S" and b"\0" in head[:9] else None


def read_history(path: Path, form: str) -> Imported:
    """Read a file (a folder of Cobra's). `form` is one of `FORMATS`. Raises HistoryError and OSError."""
    return FORMATS[form](path)

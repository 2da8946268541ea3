"""The text of PolySI, Plume and IsoVista: ``w(key,value,session,transaction)`` and ``r(...)``, a line each.

Committed transactions only, in program order; keys hold 0 at first, or what transaction 0 of session 0 writes, where
there are other sessions and it does nothing else. Does not know times: the format has none.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sql_semantics.patterns import pattern
from troubadour.formats.histories.imported import Imported, Sessions, brief, wrong

_LINE = pattern(r"([rw])\(\s*(-?\d+)\s*,\s*(-?\d+)\s*,\s*(-?\d+)\s*,\s*(-?\d+)\s*\)")


def read(path: Path) -> Imported:
    """Raises HistoryError and OSError."""
    found: dict[tuple[int, int], list[list[Any]]] = {}
    with path.open(encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            text = line.strip()
            if not text:
                continue
            match = _LINE.fullmatch(text)
            if match is None:
                raise wrong(
                    path, f"line {number}", f"neither r(key,value,session,transaction) nor w(...): {brief(text)}"
                )
            key, value, session, transaction = map(int, match.groups()[1:])
            found.setdefault((session, transaction), []).append([match[1], "kv", key, value])
    built = Sessions(initial=0)
    first = found.get((0, 0))
    if first is not None and all(op[0] == "w" for op in first) and {session for session, _ in found} != {0}:
        del found[0, 0]
        built.rows.update({op[2]: op[3] for op in first})
    for (session, _), ops in found.items():
        built.add(str(session), ops)
    return built.imported()

"""AWDIT's own text: ``w key value`` and ``r key value``, ``-----`` between transactions, ``=====`` between sessions.

The first version of a key is one that the history writes itself. Does not know times: the format has none.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sql_semantics.patterns import pattern
from troubadour.formats.histories.imported import Imported, Sessions, brief, wrong

_LINE = pattern(r"([rw])\s+(-?\d+)\s+(-?\d+)")


def read(path: Path) -> Imported:
    """Raises HistoryError and OSError."""
    built = Sessions(initial=None)
    session, ops = 0, list[list[Any]]()
    with path.open(encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            text = line.strip()
            if not text:
                continue
            if set(text) in ({"-"}, {"="}):
                if ops:
                    built.add(str(session), ops)
                    ops = []
                session += text[0] == "="
                continue
            match = _LINE.fullmatch(text)
            if match is None:
                raise wrong(path, f"line {number}", f"neither `r key value` nor `w key value`: {brief(text)}")
            ops.append([match[1], "kv", int(match[2]), int(match[3])])
    if ops:
        built.add(str(session), ops)
    return built.imported()

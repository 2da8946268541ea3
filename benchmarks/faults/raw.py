"""A log as its lines, so that a fault can be put into it.

Does not know what a line means to an audit.
"""

from __future__ import annotations

import copy
import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Line = dict[str, Any]


@dataclass(slots=True)
class RawLog:
    """`head`: the header and the initial rows; `transactions`: in the order of the file."""

    head: list[Line]
    transactions: list[Line]

    @classmethod
    def read(cls, path: Path) -> RawLog:
        """Intents and the end line are left out."""
        content = path.read_bytes()
        lines = (gzip.decompress(content) if path.suffix == ".gz" else content).splitlines()
        entries = [json.loads(line) for line in lines]
        of_head = [entry for entry in entries if "format" in entry or entry.get("kind") == "rows"]
        return cls(of_head, [entry for entry in entries if "id" in entry and entry.get("kind") != "intent"])

    def write(self, path: Path) -> None:
        """As a log without an end line."""
        with path.open("w", encoding="utf-8") as file:
            for line in (*self.head, *self.transactions):
                file.write(json.dumps(line) + "\n")

    def copy(self) -> RawLog:
        """One that can be changed."""
        return RawLog(self.head, copy.deepcopy(self.transactions))

    def cut(self, committed: int) -> RawLog:
        """The beginning with so many committed transactions."""
        kept: list[Line] = []
        for transaction in self.transactions:
            kept.append(transaction)
            committed -= transaction["status"] == "committed"
            if committed <= 0:
                break
        return RawLog(self.head, kept)

    @property
    def committed(self) -> list[Line]:
        """Those that committed."""
        return [transaction for transaction in self.transactions if transaction["status"] == "committed"]


def reads_of(transaction: Line) -> Iterator[Line]:
    """Its statements with rows."""
    return (one for one in transaction["statements"] if one.get("result", {}).get("rows"))


def writes_of(transaction: Line) -> Iterator[Line]:
    """Its statements that changed rows."""
    return (one for one in transaction["statements"] if one.get("affected"))

"""Readings that replay refused. A search that finds one is at fault, or replay is; until the fault is mended it goes on
without that reading (docs/architecture.md). Does not know why it was refused.
"""

from __future__ import annotations

from collections.abc import Sequence

from troubadour.execution.free.choices import Choices


class Refused:
    """Transactions with what they read, each behind those that stood before it. `count`: how many."""

    __slots__ = ("_known", "count")

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], list[tuple[tuple[int, ...], object]]] = {}
        self.count = 0

    def add(self, before: Sequence[int], item: int, choices: Choices) -> None:
        """Exclude what an item read behind those placed before it."""
        if self.has(before, item, choices):
            return
        self._known.setdefault((item, len(before)), []).append((tuple(before), _reading(choices)))
        self.count += 1

    def has(self, before: Sequence[int], item: int, choices: Choices) -> bool:
        """Whether that is excluded."""
        known = self._known.get((item, len(before)))
        return known is not None and (tuple(before), _reading(choices)) in known


def _reading(choices: Choices) -> object:
    apart = choices.exceptions, choices.statements, choices.newests, choices.cuts, choices.picks
    return (choices.state, choices.newest, choices.hidden, *(frozenset((part or {}).items()) for part in apart))

"""The switches of the search. Does not know what any of them does."""

from __future__ import annotations

from sql_semantics.records import dataclass


@dataclass(frozen=True, slots=True)
class Heuristics:
    """The four heuristics (§7.1), each switchable; verdicts never depend on them.

    `index` is H1, `window` H2 (the number of newest states tried first, None: all at once), `concretize` H3,
    `stronger_first` H4. `straight`: before all else it is asked whether every transaction read the newest state, where
    H4 is on.
    """

    index: bool = True
    window: int | None = 8
    concretize: bool = True
    stronger_first: bool = True
    straight: bool = True

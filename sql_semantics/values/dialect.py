"""Which product's rules apply (DESIGN §3, §5). Does not hold the rules themselves; they stand where they act."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Dialect:
    """`name` is ``postgres``, ``mysql``, ``sqlite`` or ``duckdb``; the rest are the log's `settings`.

    `collation` None means unknown: comparisons that hang on it are not modelled. `found_rows`: the client asked MySQL
    for matched instead of changed rows.
    """

    name: str
    collation: str | None = None
    found_rows: bool = False

"""Which product's rules apply (DESIGN §3, §5). Does not hold the rules themselves; they stand where they act."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Dialect:
    """`name` is ``postgres``, ``mysql``, ``sqlite`` or ``duckdb``; the rest are the log's `settings`.

    `collation` None means unknown: comparisons that hang on it are not modelled. `found_rows`: the client asked MySQL
    for matched instead of changed rows. `writing`: within an INSERT, UPDATE or DELETE, where MySQL's strict mode (its
    default) makes errors of what are warnings elsewhere (manual 5.1.11).
    """

    name: str
    collation: str | None = None
    found_rows: bool = False
    writing: bool = False

    def in_write(self) -> Dialect:
        """The rules for the expressions of a statement that changes data."""
        return replace(self, writing=True) if self.name == "mysql" else self

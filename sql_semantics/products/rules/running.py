"""What products differ in: what statements do when they run (`run`, `guarded`, what follows them in `troubadour`).

Each field is a capability or a choice that every product answers, with the manual's section where one says it. Does not
know which product answers how.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRules:
    """See the module."""

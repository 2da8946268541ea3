"""What products differ in: how types are found, coerced and compared before a statement runs (`frontend.types`).

Each field is a capability or a choice that every product answers, with the manual's section where one says it. Does not
know which product answers how.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeRules:
    """See the module."""

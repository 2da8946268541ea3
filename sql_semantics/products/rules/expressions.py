"""What products differ in: which expressions are read and how they are bound (`frontend.expressions`).

Each field is a capability or a choice that every product answers, with the manual's section where one says it. Does not
know which product answers how.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpressionRules:
    """See the module."""

"""What products differ in: how statements are spelled: literals, names, keywords (`frontend.text`, `frontend.names`).

Each field is a capability or a choice that every product answers, with the manual's section where one says it. Does not
know which product answers how.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TextRules:
    """See the module."""

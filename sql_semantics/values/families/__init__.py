"""Types whose values have a class of their own: enums, arrays, composites, jsonb. Such a type is one module here.

What the rest asks of such a type is `Family`; its kind stands in `types.Kind`, its name among those that
`frontend.text.dialects` or `frontend.text.named` know. Does not know expressions.
"""

from __future__ import annotations

from typing import Any, Protocol


class Family(Protocol):
    """What a type says of its values. It is compared and hashed with the type, so that it is frozen data."""

    @property
    def name(self) -> str:
        """The type's name in SQL."""

    @property
    def equated(self) -> bool:
        """Whether ``=`` of two values is modelled; it is that of Python then."""

    def ordered(self, by_letters: bool) -> bool:
        """Whether ``<`` of two values is modelled, where texts are ordered letter by letter, or not; it is that of
        Python then."""

    def given(self, json: Any) -> Any:
        """The value that a log writes so. Raises ValueError where it is none, Unsupported where that is not known."""

    def another(self, number: int) -> Any:
        """Some value, another one for another number as far as there are several."""

"""Type names that the parser takes for another type than the product does.

The parser knows one list of names for all products, and afterwards the tree does not tell STRING from TEXT. PostgreSQL
has no STRING; SQLite goes by the letters of a name, so that a STRING column holds numbers (datatype3.html §3.1).
Works on tokens; does not know which types are modelled.
"""

from __future__ import annotations

from collections.abc import Sequence

from sql_semantics.errors import Unsupported
from sql_semantics.products.rules import TextRules

_CASTS = frozenset({"CAST", "TRY_CAST"})
_BEFORE_COLUMNS = frozenset({"(", ",", "COLUMN", "ADD", "EXISTS"})
_NO_COLUMNS = frozenset({"(", ",", ".", "CHECK", "NOT", "UNIQUE", "KEY", "CONSTRAINT", "SELECT"})


def check_type_names(words: Sequence[str], rules: TextRules) -> None:
    """Raises Unsupported for such a name, in a cast or a column's definition; `words` are the tokens in capitals."""
    casts: list[bool] = []
    defines = words[:1] in (["CREATE"], ["ALTER"]) and "TABLE" in words[1:5]
    for place, word in enumerate(words):
        before = words[place - 1] if place else ""
        if word == "(":
            casts.append(before in _CASTS)
        elif word == ")" and casts:
            casts.pop()
        cast = before == "::" or (before == "AS" and casts[-1:] == [True])
        column = defines and before not in _NO_COLUMNS and words[max(place - 2, 0)] in _BEFORE_COLUMNS
        if (cast and word in rules.foreign_casts) or (column and word in rules.foreign_types):
            raise Unsupported(f"type {word}")

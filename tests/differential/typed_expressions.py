"""Seeded random expressions over typed columns, by product, as SQL text. Knows no engine and no expected result.

The grammars are data, `grammars/*.txt`: ``{int}`` stands for any expression of that family, a column, a literal or a
template again. Ill typed and failing expressions are wanted too, so some templates mix families.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from pathlib import Path

Templates = dict[str, tuple[str, ...]]


@dataclass(frozen=True)
class Grammar:
    """`columns`: name, SQL type, family, values as literals. `literals` and `templates` by family."""

    columns: tuple[tuple[str, str, str, tuple[str, ...]], ...]
    literals: Templates
    templates: Templates

    def ddl(self, table: str) -> str:
        """The table whose columns the expressions read."""
        return f"CREATE TABLE {table} (k INTEGER, {', '.join(f'{name} {kind}' for name, kind, _, _ in self.columns)})"

    def rows(self, count: int) -> list[str]:
        """VALUES lists, one per row; every column runs through its values and NULL."""
        result = []
        for place in range(count):
            cells = [(*values, "NULL")[(place * (shift + 1)) % (len(values) + 1)]
                     for shift, (_, _, _, values) in enumerate(self.columns)]  # fmt: skip
            result.append(f"({place}, {', '.join(cells)})")
        return result


class Expressions:
    """All choices come from one `random.Random(seed)`."""

    def __init__(self, grammar: Grammar, seed: int) -> None:
        self.grammar = grammar
        self.random = random.Random(seed)
        self.families = sorted(grammar.templates)

    def expression(self, depth: int = 2) -> str:
        """An expression of a random family."""
        return self._expand(self.random.choice(self.families), depth)

    def _leaf(self, family: str) -> str:
        columns = [name for name, _, of, _ in self.grammar.columns if of == family]
        if columns and self.random.random() < 0.7:
            return self.random.choice(columns)
        return self.random.choice(self.grammar.literals.get(family, ("NULL",)))

    def _expand(self, family: str, depth: int) -> str:
        choice = self.random.random()
        if depth == 0 or choice < 0.1 or family not in self.grammar.templates:
            return self._leaf(family)
        if choice < 0.22:
            generic = self.random.choice(_GENERIC)
            return self._fill(generic.replace("{self}", "{" + family + "}"), depth)
        return self._fill(self.random.choice(self.grammar.templates[family]), depth)

    def _fill(self, template: str, depth: int) -> str:
        def put(match: re.Match[str]) -> str:
            return self._expand(match.group(1), depth - 1 if self.random.random() < 0.8 else 0)

        return re.sub(r"\{(\w+)\}", put, template)


_GENERIC = (
    "CASE WHEN {bool} THEN {self} ELSE {self} END",
    "COALESCE({self}, {self})",
    "NULLIF({self}, {self})",
    "CASE {self} WHEN {self} THEN {self} END",
)


def read_grammar(product: str) -> Grammar:
    """``[column name / type / family]``, ``[literal family]`` and ``[template family]`` sections, one item a line."""
    columns: list[tuple[str, str, str, tuple[str, ...]]] = []
    sections: dict[str, Templates] = {"literal": {}, "template": {}}
    text = (Path(__file__).parent / "grammars" / f"{product}.txt").read_text(encoding="utf-8")
    for block in text.strip().split("\n\n"):
        header, *items = block.splitlines()
        kind, _, rest = header.strip("[]").partition(" ")
        if kind == "column":
            name, type_, family = rest.split(" / ")
            columns.append((name, type_, family, tuple(items)))
        else:
            sections[kind][rest] = tuple(items)
    return Grammar(tuple(columns), sections["literal"], sections["template"])

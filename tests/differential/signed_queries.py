"""Queries in the manner of sqllogictest's random files (https://sqlite.org/sqllogictest): signs before anything, blanks
before parentheses, ALL and DISTINCT, three small tables. Knows no engine and no expected result.
"""

from __future__ import annotations

import random

TABLES = ("tab0", "tab1", "tab2")
COLUMNS = ("col0", "col1", "col2")


def schema(source: random.Random) -> list[str]:
    """The tables and their rows."""
    texts = [f"CREATE TABLE {name} ({', '.join(f'{column} INTEGER' for column in COLUMNS)})" for name in TABLES]
    for name in TABLES:
        rows = ", ".join(f"({', '.join(str(source.randint(0, 99)) for _ in COLUMNS)})" for _ in range(3))
        texts.append(f"INSERT INTO {name} VALUES {rows}")
    return texts


class Queries:
    """All choices come from one `random.Random`. `mysql`: that product's spelling."""

    def __init__(self, source: random.Random, mysql: bool) -> None:
        self.random = source
        self.integer = "SIGNED" if mysql else "INTEGER"
        self.divide = "DIV" if mysql else "/"
        self.call = "{}( {} )" if mysql else "{} ( {} )"

    def _signs(self) -> str:
        return "".join(self.random.choice(("+ ", "- ", "")) for _ in range(self.random.choice((0, 1, 1, 2))))

    def _leaf(self, columns: list[str], depth: int, grouped: bool) -> str:
        r = self.random
        kind = r.random()
        if columns and kind < 0.5:
            return r.choice(columns)
        if grouped and kind < 0.65:
            function = r.choice(("COUNT", "MIN", "MAX", "SUM"))
            inside = "*" if function == "COUNT" else r.choice(("ALL ", "DISTINCT ", "")) + self.value([], 0, False)
            return self.call.format(function, inside)
        if depth and kind < 0.72:
            items = ", ".join(self.value(columns, depth - 1, grouped) for _ in range(2))
            return f"{r.choice(('COALESCE', 'NULLIF'))} ( {items} )"
        if depth and kind < 0.78:
            inside = self.value(columns, depth - 1, grouped)
            return self.call.format("CAST", f"{r.choice((inside, 'NULL'))} AS {self.integer}")
        if depth and kind < 0.84:
            parts = [self.value(columns, depth - 1, grouped) for _ in range(3)]
            return f"CASE {parts[0]} WHEN {parts[1]} THEN {parts[2]} ELSE NULL END"
        if depth and kind < 0.9:
            return f"( {self.value(columns, depth - 1, grouped)} )"
        return str(r.randint(0, 99))

    def value(self, columns: list[str], depth: int, grouped: bool) -> str:
        """An expression over these columns; `grouped`: with aggregates."""
        text = self._signs() + self._leaf(columns, depth, grouped)
        for _ in range(self.random.choice((0, 0, 1, 2))):
            operator = self.random.choice(("+", "-", "*", "*", self.divide))
            operand = (
                str(self.random.randint(1, 99)) if operator == self.divide else self._leaf(columns, depth, grouped)
            )
            text += f" {operator} {self._signs()}{operand}"
        return text

    def _condition(self, columns: list[str]) -> str:
        left, right = self.value(columns, 1, False), self.value(columns, 0, False)
        kind = self.random.randrange(4)
        test = (
            f"{left} {self.random.choice(('<', '>', '=', '<>', '<=', '>='))} {right}",
            f"( {left} ) IS {self.random.choice(('', 'NOT '))}NULL",
            f"{left} {self.random.choice(('', 'NOT '))}BETWEEN {right} AND {self.value(columns, 0, False)}",
            f"{left} {self.random.choice(('', 'NOT '))}IN ( {right}, {self.value(columns, 0, False)} )",
        )[kind]
        return f"NOT ( {test} )" if self.random.random() < 0.3 else test

    def query(self) -> str:
        """One SELECT."""
        r = self.random
        quantifier = r.choice(("", "ALL ", "DISTINCT "))
        kind = r.random()
        if kind < 0.35:
            items = ", ".join(f"{self.value([], 2, True)} AS col{i}" for i in range(r.choice((1, 1, 2))))
            return f"SELECT {quantifier}{items}"
        first = r.choice(TABLES)
        join = r.choice(("", f", {r.choice(TABLES)} AS cor1", f" CROSS JOIN {r.choice(TABLES)} AS cor1"))
        columns = [f"cor0.{column}" for column in COLUMNS]
        source = f" FROM {first} AS cor0{join}"
        where = f" WHERE {self._condition(columns)}" if r.random() < 0.4 else ""
        if kind < 0.6:
            keys = r.sample(columns, r.choice((1, 2)))
            item = self.value(keys, 1, r.random() < 0.5)
            having = f" HAVING {self._condition(keys)}" if r.random() < 0.3 else ""
            return f"SELECT {quantifier}{item} AS col0{source}{where} GROUP BY {', '.join(keys)}{having}"
        return f"SELECT {quantifier}{self.value(columns, 2, False)} AS col0{source}{where}"

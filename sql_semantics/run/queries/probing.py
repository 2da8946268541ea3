"""The inner loops of joins, as generated code: left rows against what is found by their keys (paper §7.1).

`Found` maps a key to right rows, from a hash table made of all of them or by lookups that it remembers. A condition
that the hash table has decided already is not tested again. Does not know where rows come from.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from sql_semantics.ir.expressions import Expr
from sql_semantics.ir.walks.traverse import conjunction, conjuncts
from sql_semantics.plan.access import AccessPath, access_path
from sql_semantics.run.expressions.expressions import Arguments, Emitter, Frame, Row
from sql_semantics.values.dialect import Dialect
from sql_semantics.view import View

Join = Callable[[list[Row], "Found", Arguments, Frame], list[Row]]
Key = Any
"""The key column's value, or the tuple of several."""


class Found(dict[Key, Sequence[Row]]):
    """Right rows by key; `others` are those for every key that is not there."""

    __slots__ = ("others",)

    def __init__(self, rows: Mapping[Key, Sequence[Row]], others: Sequence[Row] = ()) -> None:
        super().__init__(rows)
        self.others = others

    def __missing__(self, key: Key) -> Sequence[Row]:
        return self.others


class LookedUp(Found):
    """Rows that are looked up when their key is first met, those that `keep` keeps; `identified` ones carry their
    identity behind."""

    __slots__ = ("columns", "identified", "keep", "table", "view")

    def __init__(
        self,
        view: View,
        table: str,
        columns: tuple[int, ...],
        identified: bool,
        keep: Callable[[list[Row]], list[Row]] | None,
    ) -> None:
        self.view, self.table, self.columns, self.identified, self.keep = view, table, columns, identified, keep

    def __missing__(self, key: Key) -> Sequence[Row]:
        columns = self.columns
        values = (key,) if len(columns) == 1 else key
        if None in values:
            return ()
        pairs = self.view.lookup(self.table, columns, values)
        if self.identified:
            rows = [(*row, identity) for identity, row in pairs]
        else:
            rows = [row for _, row in pairs]
        if self.keep is not None:
            rows = self.keep(rows)
        self[key] = rows
        return rows


def hashed(rows: list[Row], columns: Sequence[int]) -> Found:
    """All rows by the values of these columns; a NULL is equal to nothing."""
    single = len(columns) == 1
    (column,) = columns[:1]
    keys: list[Key] = [row[column] for row in rows] if single else [tuple([row[c] for c in columns]) for row in rows]
    index: dict[Key, Sequence[Row]]
    if len(set(keys)) == len(rows):
        index = dict(zip(keys, zip(rows, strict=True), strict=True))
    else:
        several: defaultdict[Key, list[Row]] = defaultdict(list)
        for key, row in zip(keys, rows, strict=True):
            several[key].append(row)
        index = dict(several)
    for known in [known for known in index if known is None or (not single and None in known)]:
        del index[known]
    return Found(index)


def compile_join(
    keys: Sequence[Expr],
    on: Expr | None,
    after: Expr | None,
    outer_width: int | None,
    dialect: Dialect,
    *,
    hashed: bool = False,
) -> Join:
    """f(left rows, found, args, frame) -> the joined rows that `on` and `after` are true for. Without keys, `found`
    holds all right rows under None. `outer_width` (LEFT JOIN): the number of NULLs beside a left row without a match.
    `hashed`: `found` holds every key that has rows.
    """
    emitter = Emitter(dialect, True)
    test = "True" if on is None else emitter.truth(on)
    emitter.may = dialect.rules.running.elides_errors
    last = "True" if after is None else emitter.truth(after)
    emitter.row = "one"
    parts = [emitter.value(key) for key in keys]
    key = "None" if not parts else parts[0] if len(parts) == 1 else f"({', '.join(parts)})"
    found = f"get({key}, ())" if hashed else f"found[{key}]"
    if outer_width is None and ":=" not in key:  # which may not stand in a comprehension's iterable
        tests = " and ".join(part for part in (test, last) if part != "True")
        body = (
            f"    return [row for one in left for right in {found} for row in (one + right,)"
            f"{f' if {tests}' if tests else ''}]\n"
        )
    else:
        body = (
            "    joined = []\n"
            "    append = joined.append\n"
            "    for one in left:\n"
            "        alone = True\n"
            f"        for right in {found}:\n"
            "            row = one + right\n"
            f"            if {test}:\n"
            "                alone = False\n"
            f"                if {last}: append(row)\n"
        )
        if outer_width is not None:
            body += (
                "        if alone:\n"
                f"            row = one + {(None,) * outer_width!r}\n"
                f"            if {last}: append(row)\n"
            )
        body += "    return joined\n"
    if hashed:
        body = f"    get = found.get\n{body}"
    return cast(Join, emitter.define(f"def join(left, found, args, frame):\n{body}", "join"))


def undecided(condition: Expr | None, path: AccessPath, dialect: Dialect, offset: int, width: int) -> Expr | None:
    """What of a condition a hash table over the path's columns has not decided."""
    known = dict(zip(path.columns, path.keys, strict=True))
    left: list[Expr] = []
    for part in conjuncts(condition):
        alone = access_path(part, dialect, offset=offset, width=width)
        decided = alone is not None and not alone.padded and known.get(alone.columns[0]) == alone.keys[0]
        if not decided:
            left.append(part)
    return conjunction(tuple(left))

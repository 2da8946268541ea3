"""Numbers of rows that make no difference to any answer: those of tables to which rows are only added, where neither
the statements that add them nor anything else looks at the number. Does not know what was answered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from sql_semantics.ir.expressions import Column, Expr, Free
from sql_semantics.ir.schema import Catalog, Table
from sql_semantics.ir.statements import Insert, Statement
from sql_semantics.ir.walks.effects import reached, touched_tables
from sql_semantics.ir.walks.parts import walk_parts

_NUMBERING = frozenset({"nextval", "auto", "rowid"})
_LOOKS_BACK = frozenset({"currval", "lastval", "last_insert_id"})


def idle_numbers(statements: Sequence[Statement], catalog: Catalog) -> frozenset[str]:
    """The names of the numberings whose values no answer of these statements, all that a log has, hangs on."""
    if not statements or reached(statements, catalog):
        return frozenset()
    found: dict[str, tuple[Table, int]] = {}
    uses = Counter(part.name for part in walk_parts(tuple(catalog.tables.values())) if isinstance(part, Free))
    for table in catalog.tables.values():
        for place, column in enumerate(table.columns):
            default = next((part for part in walk_parts((column.default,)) if isinstance(part, Free)), None)
            if default is not None and default.source in _NUMBERING and uses[default.name] == 1:
                found[default.name] = table, place
    for statement in statements:
        drawn = [part for part in walk_parts((statement,)) if isinstance(part, Free)]
        if any(part.source in _LOOKS_BACK for part in drawn):
            return frozenset()
        touched = touched_tables(statement, catalog)
        for name, (table, place) in list(found.items()):
            named = sum(part.name == name for part in drawn)
            adds = isinstance(statement, Insert) and statement.table == table.name
            children = {child.name for child, _ in catalog.references_to(table.name)}
            if (adds and not _only_adds(statement, table, place, name, catalog)) or (
                not adds and (touched & {table.name, *children} or named)
            ):
                del found[name]
    return frozenset(name for name, (table, place) in found.items() if not _is_looked_at(table, place, catalog))


def _only_adds(statement: Statement, table: Table, place: int, name: str, catalog: Catalog) -> bool:
    """Whether an INSERT into the table adds numbered rows, and hangs on the number in nothing else."""
    assert isinstance(statement, Insert)
    conflict, query = statement.conflict, statement.query
    if query is not None and table.name in touched_tables(query, catalog):
        return False
    drawn = sum(isinstance(part, Free) and part.name == name for part in walk_parts((statement,)))
    given = [row[place] for row in (*statement.rows, statement.from_query) if row]
    numbered = sum(isinstance(one, Free) and one.name == name for one in given)
    if numbered < drawn:
        return False
    if numbered < len(given) and any(place in key.columns for key in table.keys):
        # a number that is given itself may be the same
        return False
    if conflict is not None:
        arbiters = None if conflict.keys is None else [table.keys[key] for key in conflict.keys]
        if arbiters is None or any(place in key.columns for key in arbiters) or conflict.action == "replace":
            return False
        if any(target == place for target, _ in conflict.assignments):
            return False
        if _reads([*(expr for _, expr in conflict.assignments), conflict.where], place, len(table.columns)):
            return False
    return not _reads([output.expression for output in statement.returning or ()], place, len(table.columns))


def _reads(expressions: Iterable[Expr | None], place: int, width: int) -> bool:
    """Whether some read the column, of the old row or of the new one."""
    parts = walk_parts(tuple(expr for expr in expressions if expr is not None))
    return any(isinstance(part, Column) and part.index % width == place for part in parts)


def _is_looked_at(table: Table, place: int, catalog: Catalog) -> bool:
    """Whether a definition looks at the number: a check, a generated column, a reference, a key with others."""
    width = len(table.columns)
    computed = [check.condition for check in table.checks] + [column.generated for column in table.columns]
    partial = [part for key in table.keys for part in (*key.parts, key.where)]
    return (
        _reads([*computed, *partial], place, width)
        or any(place in key.columns for key in table.foreign_keys)
        or any(child.name == table.name for child, _ in catalog.references_to(table.name))
        or bool(table.fires)
    )

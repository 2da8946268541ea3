"""Tables of which a part is renamed or gone, with all that names its columns by their places (PostgreSQL ALTER TABLE,
sqlite.org/lang_altertable). Does not know SQL texts, nor what becomes of rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sql_semantics.errors import Unsupported
from sql_semantics.frontend.queries.grouping import columns_of
from sql_semantics.ir.expressions import Column, Expr
from sql_semantics.ir.schema import ForeignKey, SpelledKey, Table, Unique
from sql_semantics.ir.walks.rebuilding import rebuild
from sql_semantics.values.dialect import Dialect


def rename_table(table: Table, name: str, tables: dict[str, Table]) -> Table:
    """The table under another name; those of `tables` that refer to it follow. Raises Unsupported for a name in use."""
    if name in tables:
        raise Unsupported(f"RENAME to {name}, which exists")
    del tables[table.name]
    for other in list(tables.values()):
        tables[other.name] = _referring(other, table.name, name)
    renamed = replace(_referring(table, table.name, name), name=name)
    tables[name] = renamed
    return renamed


def _referring(table: Table, old: str, new: str) -> Table:
    keys = (replace(key, parent=new) if key.parent == old else key for key in table.foreign_keys)
    spelled = (replace(key, parent=new) if key.parent == old else key for key in table.spelled)
    return replace(table, foreign_keys=tuple(keys), spelled=tuple(spelled))


def spelling_column(table: Table, owner: str, old: str, new: str) -> Table:
    """The table with its spelled references, where a column of `owner` goes by another name from now on."""
    if not table.spelled:
        return table
    return replace(table, spelled=tuple(_spelling(key, table.name, owner, old, new) for key in table.spelled))


def _spelling(key: SpelledKey, table: str, owner: str, old: str, new: str) -> SpelledKey:
    if table == owner:
        key = replace(key, columns=tuple(new if name == old else name for name in key.columns))
    if key.parent == owner:
        key = replace(key, parent_columns=tuple(new if name == old else name for name in key.parent_columns))
    return key


def is_read(place: int, table: Table, tables: Mapping[str, Table]) -> bool:
    """Whether a constraint or generated column computes with a column, or a foreign key, on either side, has it."""
    computed = [check.condition for check in table.checks]
    computed += [part for key in table.keys for part in (*key.parts, *(() if key.where is None else (key.where,)))]
    computed += [column.generated for column in table.columns if column.generated is not None]
    if any(column.index == place for expression in computed for column in columns_of(expression)):
        return True
    if any(place in key.columns for key in table.foreign_keys):
        return True
    return any(place in key.parent_columns for key in _references(table, tables))


def _references(table: Table, tables: Mapping[str, Table]) -> list[ForeignKey]:
    return [key for other in tables.values() for key in other.foreign_keys if key.parent == table.name]


def without_column(table: Table, place: int, tables: dict[str, Table], dialect: Dialect) -> Table:
    """The table without a column; constraints that have it go along (PostgreSQL), those of `tables` that refer to
    others of its columns count anew. Raises Unsupported where something else hangs on it."""
    if any(place in key.parent_columns for key in _references(table, tables)):
        raise Unsupported("DROP of a column that foreign keys refer to")
    if any(column.generated is not None and _reads(column.generated, place) for column in table.columns):
        raise Unsupported("DROP of a column that a generated column reads")
    if any(table.columns[place].name in key.columns for key in table.spelled):
        raise Unsupported(f"DROP of a column that constraints have in {dialect.name}")
    if table.loose or table.fires:
        raise Unsupported("DROP of a column beside constraints or triggers that are not modelled")
    keys = [key for key in table.keys if not _has(key, place)]
    checks = [check for check in table.checks if not _reads(check.condition, place)]
    references = [key for key in table.foreign_keys if place not in key.columns]
    stays = (len(keys), len(checks), len(references)) == (len(table.keys), len(table.checks), len(table.foreign_keys))
    if not dialect.rules.definitions.drop_column_takes_constraints and not stays:
        raise Unsupported(f"DROP of a column that constraints have in {dialect.name}")
    for other in list(tables.values()):
        if other.name != table.name:
            tables[other.name] = _counting(other, table.name, place)
    columns = [column for n, column in enumerate(table.columns) if n != place]
    found = replace(
        table,
        columns=tuple(
            column if column.generated is None else replace(column, generated=_shifted(column.generated, place))
            for column in columns
        ),
        keys=tuple(_key_without(key, place) for key in keys),
        checks=tuple(replace(check, condition=_shifted(check.condition, place)) for check in checks),
        foreign_keys=tuple(replace(key, columns=_less(key.columns, place)) for key in references),
    )
    return _counting(found, table.name, place)


def with_last_at(table: Table, place: int, tables: dict[str, Table]) -> Table:
    """The table with its last column at another place; those of `tables` that refer to others of its columns count
    anew. Raises Unsupported where that cannot be told of something that hangs on it."""
    if table.loose or table.fires:
        raise Unsupported("ADD COLUMN FIRST or AFTER beside constraints or triggers that are not modelled")
    for other in list(tables.values()):
        if other.name != table.name:
            tables[other.name] = _referring_later(other, table.name, place)
    *columns, last = (
        column if column.generated is None else replace(column, generated=_later(column.generated, place))
        for column in table.columns
    )
    found = replace(
        table,
        columns=(*columns[:place], last, *columns[place:]),
        keys=tuple(
            replace(
                key,
                columns=_more(key.columns, place),
                parts=tuple(_later(part, place) for part in key.parts),
                where=None if key.where is None else _later(key.where, place),
            )
            for key in table.keys
        ),
        checks=tuple(replace(check, condition=_later(check.condition, place)) for check in table.checks),
        foreign_keys=tuple(replace(key, columns=_more(key.columns, place)) for key in table.foreign_keys),
    )
    return _referring_later(found, table.name, place)


def _referring_later(table: Table, parent: str, place: int) -> Table:
    if all(key.parent != parent for key in table.foreign_keys):
        return table
    keys = (
        replace(key, parent_columns=_more(key.parent_columns, place)) if key.parent == parent else key
        for key in table.foreign_keys
    )
    return replace(table, foreign_keys=tuple(keys))


def _more(columns: tuple[int, ...], place: int) -> tuple[int, ...]:
    return tuple(column + (column >= place) for column in columns)


def _later(expression: Expr, place: int) -> Expr:
    if isinstance(expression, Column):
        return replace(expression, index=expression.index + (expression.index >= place))
    return rebuild(expression, lambda part: _later(part, place))


def _counting(table: Table, parent: str, place: int) -> Table:
    """The table with its references to columns of `parent`, of which one is gone."""
    if all(key.parent != parent for key in table.foreign_keys):
        return table
    keys = (
        replace(key, parent_columns=_less(key.parent_columns, place)) if key.parent == parent else key
        for key in table.foreign_keys
    )
    return replace(table, foreign_keys=tuple(keys))


def _key_without(key: Unique, place: int) -> Unique:
    return replace(
        key,
        columns=_less(key.columns, place),
        parts=tuple(_shifted(part, place) for part in key.parts),
        where=None if key.where is None else _shifted(key.where, place),
    )


def _has(key: Unique, place: int) -> bool:
    return place in key.columns or (key.where is not None and _reads(key.where, place))


def _reads(expression: Expr, place: int) -> bool:
    return any(column.index == place for column in columns_of(expression))


def _less(columns: tuple[int, ...], place: int) -> tuple[int, ...]:
    return tuple(column - (column > place) for column in columns)


def _shifted(expression: Expr, place: int) -> Expr:
    if isinstance(expression, Column):
        return replace(expression, index=expression.index - (expression.index > place))
    return rebuild(expression, lambda part: _shifted(part, place))


def with_constraint_named(table: Table, old: str, new: str) -> Table:
    """The table with a constraint, or an index that is a key, under another name. Raises Unsupported for one that is
    not known, or a name in use."""
    names = [one.name for some in (table.keys, table.checks, table.foreign_keys) for one in some]
    if names.count(old) != 1 or new in names:
        raise Unsupported("RENAME of a constraint that is not known by its name")
    return replace(
        table,
        keys=tuple(replace(key, name=new) if key.name == old else key for key in table.keys),
        checks=tuple(replace(check, name=new) if check.name == old else check for check in table.checks),
        foreign_keys=tuple(replace(key, name=new) if key.name == old else key for key in table.foreign_keys),
    )


def without_constraint(table: Table, name: str, tables: Mapping[str, Table], *, optional: bool) -> Table:
    """The table without its constraint of that name. Raises Unsupported for one that is not known, or on which a
    foreign key hangs."""
    keys = tuple(key for key in table.keys if key.name != name)
    checks = tuple(check for check in table.checks if check.name != name)
    references = tuple(key for key in table.foreign_keys if key.name != name)
    gone = len(table.keys) - len(keys) + len(table.checks) - len(checks) + len(table.foreign_keys) - len(references)
    if gone == 0 and optional and not table.loose:
        return table
    if gone != 1:
        raise Unsupported("DROP of a constraint that is not known by its name")
    for reference in _references(table, tables):
        if not any(set(key.columns) == set(reference.parent_columns) for key in keys):
            raise Unsupported("DROP of a key that foreign keys refer to")
    return replace(table, keys=keys, checks=checks, foreign_keys=references)

"""What changes of definitions ask of foreign keys in SQLite, and do to them, where `foreign_keys` is on or off
(sqlite.org/foreignkeys, 5; sqlite.org/lang_altertable).

Does not know what else a change does.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from sql_semantics.errors import Unsupported
from sql_semantics.frontend.definitions.alteration import Altered
from sql_semantics.frontend.names.tables import table_name
from sql_semantics.frontend.text.syntax import Node
from sql_semantics.ir.schema import References, Table
from sql_semantics.values.dialect import Dialect

_RENAMES_ALWAYS = (3, 26)
"""Since this version of SQLite a table that is renamed is so in other tables' references, whatever `foreign_keys` is
(sqlite.org/lang_altertable; not with `legacy_alter_table`)."""


def check_renamed(tree: Node, tables: Mapping[str, Table], references: References, dialect: Dialect) -> None:
    """Raise Unsupported where it is not known whether references follow a table to its new name."""
    renames = any(isinstance(action, exp.AlterRename) for action in tree.args.get("actions") or ())
    if not dialect.rules.definitions.references_by_name or references == "kept" or not renames:
        return
    name = table_name(tree.this, dialect)
    follows = dialect.version is not None and dialect.version >= _RENAMES_ALWAYS
    if not follows and any(key.parent == name for table in tables.values() for key in table.spelled):
        raise Unsupported("RENAME of a table that foreign keys refer to, with foreign_keys off, in this version")


def check_added(altered: Altered, references: References) -> None:
    """Raise Unsupported for a column with a reference and a default: where references are kept, SQLite adds none to a
    table with rows."""
    old = {column.name for column in altered.origin.columns}
    added = {column.name for column in altered.table.columns if column.default is not None} - old
    if references != "ignored" and any(not added.isdisjoint(key.columns) for key in altered.table.spelled):
        raise Unsupported("ADD COLUMN with REFERENCES and a default")


def check_dropped(name: str, tables: Mapping[str, Table], references: References) -> None:
    """Raise Unsupported for a table of which the rows that go, where references are kept, take others along or may not
    go (sqlite.org/foreignkeys, 5)."""
    if references == "ignored":
        return
    referring = [(table, key) for table in tables.values() for key in table.spelled if key.parent == name]
    if any(table.name != name or key.on_delete == "restrict" for table, key in referring):
        raise Unsupported(f"DROP of {name}, to which foreign keys refer")

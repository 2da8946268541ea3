"""What a PostgreSQL database looks like, as the statements that would make it, and its rows.

Read from the catalogs, in one transaction that has every table locked against writers: what they had under way is
in, and nothing comes later. What the audit does not model (triggers, policies, types of one's own) is listed all the
same, so that it says so. Does not know transactions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import msgspec
from psycopg import sql

from troubadour.record.core.segments import Captured
from troubadour.record.errors import RecordError
from troubadour.record.postgres.wire import result_rows
from troubadour.record.servers.server import Connection, describe
from troubadour.record.statements.texts import POSTGRES_LEVELS

_OWN = """
    n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\\_%'
    AND NOT EXISTS (SELECT 1 FROM pg_depend e WHERE e.objid = {oid} AND e.deptype = 'e')
"""
_IN_PATH = "n.nspname = ANY (current_schemas(false))"
_OF_TABLES = (
    " FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
    " WHERE c.relkind IN ('r', 'p', 'f') AND c.relpersistence <> 't' AND NOT c.relispartition"
    f" AND {_OWN.format(oid='c.oid')}"
)
_SHOWN = f"SELECT c.oid::text, c.relname, c.relkind::text, n.nspname, pg_get_partkeydef(c.oid){_OF_TABLES}"
_TABLES = f"{_SHOWN} AND {_IN_PATH} ORDER BY c.relname, n.nspname"
_ELSEWHERE = (
    f"{_SHOWN} AND NOT {_IN_PATH} AND c.relkind <> 'f'"
    " AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')"
    " AND has_table_privilege(c.oid, 'UPDATE, DELETE, TRUNCATE') ORDER BY c.relname, n.nspname"
)
_LOOKS_ELSEWHERE = (
    "SELECT (SELECT source <> 'client' AND source <> 'session' FROM pg_settings WHERE name = 'search_path') AND"
    f" (SELECT count(*) <= 200 AND coalesce(sum(pg_table_size(c.oid)), 0) <= 67108864{_OF_TABLES} AND NOT {_IN_PATH})"
)
"""Whether tables of schemas that are not in the search path are recorded, which statements may name with the schema: a
connection that says where it looks means these; and more tables than these are another application's."""
_PARTITIONS = """
    WITH RECURSIVE part AS (
      SELECT i.inhrelid, i.inhparent, 1 AS depth FROM pg_inherits i WHERE i.inhparent = $1::oid
      UNION ALL SELECT i.inhrelid, i.inhparent, depth + 1 FROM pg_inherits i JOIN part ON i.inhparent = part.inhrelid)
    SELECT n.nspname, c.relname, pn.nspname, p.relname, pg_get_expr(c.relpartbound, c.oid), pg_get_partkeydef(c.oid),
           (c.relkind = 'f' OR EXISTS (SELECT 1 FROM pg_constraint k WHERE k.conrelid = c.oid AND k.conparentid = 0
               AND k.coninhcount = 0 AND k.contype IN ('p', 'u', 'c', 'x', 'f'))
            OR EXISTS (SELECT 1 FROM pg_index x WHERE x.indrelid = c.oid AND x.indisunique
               AND NOT EXISTS (SELECT 1 FROM pg_inherits y WHERE y.inhrelid = x.indexrelid))
            OR EXISTS (SELECT 1 FROM pg_trigger t WHERE t.tgrelid = c.oid AND NOT t.tgisinternal
               AND coalesce(to_jsonb(t) ->> 'tgparentid', '0') = '0')
            OR EXISTS (SELECT 1 FROM pg_attribute a JOIN pg_attribute b ON b.attrelid = p.oid AND b.attname = a.attname
               WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attnotnull <> b.attnotnull))::text
    FROM part JOIN pg_class c ON c.oid = part.inhrelid JOIN pg_namespace n ON n.oid = c.relnamespace
      JOIN pg_class p ON p.oid = part.inhparent JOIN pg_namespace pn ON pn.oid = p.relnamespace
    WHERE c.relispartition ORDER BY depth, c.relname
"""
_INHERITED = (
    "SELECT 'ALTER TABLE ' || i.inhrelid::regclass || ' INHERIT ' || i.inhparent::regclass FROM pg_inherits i"
    " JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = $1::oid AND NOT c.relispartition AND c.relkind = 'r'"
    " ORDER BY 1"
)
_COLUMNS = """
    SELECT a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, pg_get_expr(d.adbin, d.adrelid),
           a.attidentity::text, a.attgenerated::text, CASE WHEN a.attcollation <> t.typcollation THEN k.collname END
    FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
    LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    LEFT JOIN pg_collation k ON k.oid = a.attcollation
    WHERE a.attrelid = $1::oid AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""
_CONSTRAINTS = """
    SELECT conname, pg_get_constraintdef(oid), contype::text FROM pg_constraint
    WHERE conrelid = $1::oid AND contype IN ('p', 'u', 'c', 'x', 'f') AND conparentid = 0
    ORDER BY contype = 'f', contype <> 'p', conname
"""
_SEQUENCES = (
    "SELECT quote_ident(c.relname), s.seqstart, s.seqincrement, s.seqcycle FROM pg_sequence s"
    " JOIN pg_class c ON c.oid = s.seqrelid JOIN pg_namespace n ON n.oid = c.relnamespace"
    f" WHERE pg_table_is_visible(c.oid) AND {_OWN.format(oid='c.oid')} AND NOT EXISTS"
    " (SELECT 1 FROM pg_depend i WHERE i.objid = c.oid AND i.deptype = 'i') ORDER BY c.relname"
)
_INDEXES = """
    SELECT CASE WHEN i.indisvalid THEN replace(pg_get_indexdef(i.indexrelid), ' ON ONLY ', ' ON ')
           ELSE pg_get_indexdef(i.indexrelid) END FROM pg_index i
    WHERE i.indrelid = $1::oid AND i.indisunique AND NOT EXISTS
      (SELECT 1 FROM pg_constraint c WHERE c.conindid = i.indexrelid AND c.contype IN ('p', 'u', 'x'))
    ORDER BY 1
"""
_VIEWS = (
    "SELECT c.relname, pg_get_viewdef(c.oid), c.relkind::text, n.nspname, c.oid FROM pg_class c"
    " JOIN pg_namespace n ON n.oid = c.relnamespace"
    f" WHERE c.relkind IN ('v', 'm') AND {_IN_PATH} AND {_OWN.format(oid='c.oid')} ORDER BY c.oid"
)
_TRIGGERS = (
    "SELECT pg_get_triggerdef(oid) FROM pg_trigger"
    " WHERE tgrelid = $1::oid AND NOT tgisinternal AND tgenabled IN ('O', 'A') ORDER BY tgname"
)
_VIEW_WRITES = (
    "SELECT 'ALTER VIEW ' || $1::oid::regclass || ' ALTER COLUMN ' || quote_ident(a.attname) || ' SET DEFAULT ' ||"
    " pg_get_expr(d.adbin, d.adrelid) FROM pg_attrdef d JOIN pg_attribute a ON a.attrelid = d.adrelid"
    " AND a.attnum = d.adnum WHERE d.adrelid = $1::oid UNION ALL"
    " SELECT 'ALTER VIEW ' || oid::regclass || ' SET (' || option || ')' FROM pg_class, unnest(reloptions) AS option"
    " WHERE oid = $1::oid AND option LIKE 'check_option=%' ORDER BY 1"
)
"""What a view has by itself that concerns writes through it."""
_RULES = (
    "SELECT pg_get_ruledef(oid) FROM pg_rewrite WHERE ev_class = $1::oid AND rulename <> '_RETURN' UNION ALL"
    " SELECT 'CREATE POLICY ' || quote_ident(polname) || ' ON ' || polrelid::regclass FROM pg_policy"
    " WHERE polrelid = $1::oid ORDER BY 1"
)
_ROUTINES = (
    "SELECT pg_get_functiondef(p.oid) FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace"
    f" WHERE p.prokind IN ('f', 'p') AND pg_function_is_visible(p.oid) AND {_OWN.format(oid='p.oid')}"
    " ORDER BY p.proname, p.oid"
)
_TYPES = (
    "SELECT CASE t.typtype WHEN 'e' THEN 'CREATE TYPE ' || format_type(t.oid, NULL) || ' AS ENUM (' ||"
    " (SELECT string_agg(quote_literal(enumlabel), ', ' ORDER BY enumsortorder) FROM pg_enum WHERE enumtypid = t.oid)"
    " || ')' WHEN 'c' THEN 'CREATE TYPE ' || format_type(t.oid, NULL) || ' AS (' || (SELECT"
    " string_agg(quote_ident(a.attname) || ' ' || format_type(a.atttypid, a.atttypmod) || CASE WHEN a.attcollation <>"
    " y.typcollation THEN ' COLLATE ' || quote_ident(k.collname) ELSE '' END, ', ' ORDER BY a.attnum)"
    " FROM pg_attribute a JOIN pg_type y ON y.oid = a.atttypid LEFT JOIN pg_collation k ON k.oid = a.attcollation"
    " WHERE a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped) || ')'"
    " ELSE 'CREATE DOMAIN ' || format_type(t.oid, NULL) || ' AS ' || format_type(t.typbasetype, t.typtypmod)"
    " || coalesce(' DEFAULT ' || t.typdefault, '') || CASE WHEN t.typnotnull THEN ' NOT NULL' ELSE '' END ||"
    " coalesce((SELECT string_agg(' ' || pg_get_constraintdef(k.oid), '') FROM pg_constraint k"
    " WHERE k.contypid = t.oid AND k.contype = 'c'), '') END"
    " FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace"
    f" WHERE (t.typtype IN ('e', 'd') OR t.typtype = 'c' AND EXISTS (SELECT 1 FROM pg_class c WHERE c.oid = t.typrelid"
    f" AND c.relkind = 'c')) AND pg_type_is_visible(t.oid) AND {_OWN.format(oid='t.oid')} ORDER BY t.oid"
)
_CASTS = (
    "SELECT 'CREATE CAST (' || format_type(c.castsource, NULL) || ' AS ' || format_type(c.casttarget, NULL) ||"
    " ') WITH FUNCTION ' || c.castfunc::regprocedure ||"
    " CASE c.castcontext WHEN 'a' THEN ' AS ASSIGNMENT' WHEN 'i' THEN ' AS IMPLICIT' ELSE '' END"
    " FROM pg_cast c JOIN pg_proc p ON p.oid = c.castfunc JOIN pg_namespace n ON n.oid = p.pronamespace"
    f" WHERE p.provolatile = 'v' AND {_OWN.format(oid='c.oid')} ORDER BY c.oid"
)
_OPERATORS = (
    "SELECT 'CREATE OPERATOR ' || o.oprname || ' (' ||"
    " coalesce('LEFTARG = ' || format_type(nullif(o.oprleft, 0), NULL) || ', ', '') || 'RIGHTARG = ' ||"
    " format_type(o.oprright, NULL) || ', FUNCTION = ' || p.oid::regproc || ')'"
    " FROM pg_operator o JOIN pg_proc p ON p.oid = o.oprcode JOIN pg_namespace n ON n.oid = o.oprnamespace"
    f" WHERE p.provolatile = 'v' AND {_OWN.format(oid='o.oid')} ORDER BY o.oid"
)
"""Those that may write: functions that are not volatile may not."""
_PATH = "SELECT quote_ident(s) || '.' FROM unnest(current_schemas(false)) s"
_WRITERS = (
    "SELECT p.proname FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace"
    f" WHERE p.provolatile = 'v' AND {_OWN.format(oid='p.oid')}"
)


Name = tuple[str, str]
"""Of a table: its schema, and its own."""
Found = tuple[str, Name, str]
"""A table: oid, name, and what stands after PARTITION BY, empty for nothing."""


def capture(connection: Connection, tables: Sequence[str] | None = None, level: str | None = None) -> Captured:
    """Schema, routines and rows of what is visible in the search path, or of `tables` only; `level` for the header,
    None for the server's default. Raises RecordError where a table cannot be read."""
    connection.execute(b"SET lock_timeout = '30s'")
    with connection.transaction():
        connection.execute(b"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        found = _found(connection, tables)
        if found:
            # waits for whoever writes, before the snapshot is taken; the list of tables is checked after it
            names = sql.SQL(", ").join(sql.Identifier(*name) for _, name, _ in found)
            connection.execute(sql.SQL("LOCK TABLE {} IN SHARE MODE").format(names))
    with connection.transaction():
        connection.execute(b"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        if found:
            connection.execute(sql.SQL("LOCK TABLE {} IN SHARE MODE").format(names))
        if found != _found(connection, tables):
            raise RecordError("tables are being made or dropped while the log begins: try again")
        made = definitions(connection, found)
        rows = []
        for _, name, _ in found:
            columns = made.columns[name]
            own = f"{_quoted(connection, name[0])}." in made.path[:1]
            rows.append((name[1] if own else ".".join(name), columns, _rows(connection, name, columns)))
        default = _one(connection.execute(b"SELECT current_setting('default_transaction_isolation')").fetchone())
        schemas = [schema.removesuffix(".").strip('"') for schema in made.path]
        looked_in = {} if schemas == ["public"] else {"search_path": ",".join(schemas)}
        described = describe(connection)
        header = {
            **described,
            "settings": {**cast("dict[str, object]", described["settings"]), **looked_in},
            "isolation": level or POSTGRES_LEVELS[default.upper()],
            "schema": made.schema,
            "procedures": made.routines,
        }
    return Captured(header, rows)


@dataclass(frozen=True, slots=True)
class Definitions:
    """What a database has, as the statements that would make it; `columns` of its tables that are stored, and `path`,
    the schemas that are searched, each as a prefix."""

    schema: list[str]
    routines: list[str]
    columns: dict[Name, list[str]]
    path: list[str]


def definitions(connection: Connection, found: Sequence[Found] | None = None) -> Definitions:
    """The definitions of tables (those that the search path shows, where they are not given) and of what is on them, of
    types, sequences, views and routines, in an order in which they could be made. Takes no locks."""
    found = _found(connection, None) if found is None else found
    path = [_one(row) for row in connection.execute(_PATH.encode())]
    home = path[:1]
    schema = [_one(row) for row in connection.execute(_TYPES.encode())]
    schema += [_sequence(row) for row in connection.execute(_SEQUENCES.encode())]
    stored: dict[Name, list[str]] = {}
    indexes: list[str] = []
    references: list[str] = []
    later: list[str] = []
    partitions: list[str] = []
    for oid, name, key in found:
        columns = connection.execute(_COLUMNS.encode(), (oid,)).fetchall()
        constraints = connection.execute(_CONSTRAINTS.encode(), (oid,)).fetchall()
        called = _called(connection, name, home)
        whole = _table(connection, called, columns, constraints)
        schema.append(f"{whole} PARTITION BY {key}" if key else whole)
        if key:
            partitions += _partitions(connection, oid, home)
        later += [_one(row) for row in connection.execute(_INHERITED.encode(), (oid,))]
        references += [
            f"ALTER TABLE {called} ADD CONSTRAINT {_quoted(connection, str(k))} {definition}"
            for k, definition, kind in constraints
            if kind == "f"
        ]
        indexes += [_plain(_one(row), home) for row in connection.execute(_INDEXES.encode(), (oid,))]
        for query in (_TRIGGERS, _RULES):
            later += [_plain(_one(row), home) for row in connection.execute(query.encode(), (oid,))]
        stored[name] = [str(column[0]) for column in columns if not column[5]]
    for query in (_CASTS, _OPERATORS):
        later += [_one(row) for row in connection.execute(query.encode())]
    views = connection.execute(_VIEWS.encode()).fetchall()
    later += [_view(connection, row, home) for row in views]
    for query in (_TRIGGERS, _RULES, _VIEW_WRITES):
        for *_, view in views:
            later += [_plain(_one(row), home) for row in connection.execute(query.encode(), (str(view),))]
    routines = [_plain(_one(row), path) for row in connection.execute(_ROUTINES.encode())]
    # a reference may be to the columns of a unique index, and what is on a table comes after it
    return Definitions([*schema, *partitions, *indexes, *references, *later], routines, stored, path)


def writing_functions(connection: Connection) -> frozenset[str]:
    """Names of the functions that may write though they are called in a query, and of those of the system's that do."""
    own = {_one(row).lower() for row in connection.execute(_WRITERS.encode())}
    return frozenset(own | {"setval", "lo_create", "lo_unlink", "pg_logical_emit_message"})


def _plain(definition: str, path: Sequence[str]) -> str:
    """A definition whose object, in the search path, is named without its schema."""
    opening = _OPENING.match(definition)
    end = len(definition) if opening is None else opening.end()
    head = definition[:end]
    for schema in path:
        head = head.replace(f" {schema}", " ", 1)
    return head + definition[end:]


_OPENING = re.compile(r'(?:[^"(]|"(?:[^"]|"")*")*')
"""What stands before the first parenthesis outside of a name."""


def _called(connection: Connection, name: Name, home: Sequence[str]) -> str:
    """What statements of the log call a table: by its name alone, if its schema is the first in the search path."""
    schema, own = (_quoted(connection, part) for part in name)
    return own if f"{schema}." in home else f"{schema}.{own}"


def _found(connection: Connection, tables: Sequence[str] | None) -> list[Found]:
    """The tables that are recorded."""
    found = []
    listed = connection.execute(_TABLES.encode()).fetchall()
    if tables is None and connection.execute(_LOOKS_ELSEWHERE.encode()).fetchone() == (True,):
        listed += connection.execute(_ELSEWHERE.encode()).fetchall()
    for oid, name, kind, schema, key in listed:
        if tables is not None and name not in tables:
            continue
        if kind == "f":
            raise RecordError(f"table {name} is foreign, which is not recorded; name the tables of the log, without it")
        found.append((str(oid), (str(schema), str(name)), str(key or "")))
    missing = set(tables or ()) - {name for _, (_, name), _ in found}
    if missing:
        raise RecordError(f"there is no table {', '.join(sorted(missing))} in the search path")
    return found


def _table(
    connection: Connection, called: str, columns: Sequence[Sequence[object]], constraints: Sequence[Sequence[object]]
) -> str:
    parts = []
    for column, type, not_null, default, identity, generated, collation in columns:
        part = f"{_quoted(connection, str(column))} {type}"
        if collation:
            part += f" COLLATE {_quoted(connection, str(collation))}"
        if generated:
            part += f" GENERATED ALWAYS AS ({default}) {'STORED' if generated == 's' else 'VIRTUAL'}"
        elif identity:
            part += f" GENERATED {'ALWAYS' if identity == 'a' else 'BY DEFAULT'} AS IDENTITY"
        elif default is not None:
            part += f" DEFAULT {default}"
        if not_null:
            part += " NOT NULL"
        parts.append(part)
    parts += [f"CONSTRAINT {_quoted(connection, str(k))} {text}" for k, text, kind in constraints if kind != "f"]
    return f"CREATE TABLE {called} ({', '.join(parts)})"


def _partitions(connection: Connection, table: str, home: Sequence[str]) -> list[str]:
    """The definitions of a table's partitions, and of theirs. One that has constraints of its own says so, and no
    more."""
    found = []
    for schema, name, of_schema, of, bound, key, more in connection.execute(_PARTITIONS.encode(), (table,)):
        part = _called(connection, (str(schema), str(name)), home)
        whole = _called(connection, (str(of_schema), str(of)), home)
        own = " (CONSTRAINT its_own CHECK (true))" if more == "true" else ""
        keyed = f" PARTITION BY {key}" if key else ""
        found.append(f"CREATE TABLE {part} PARTITION OF {whole}{own} {bound}{keyed}")
    return found


def _sequence(row: Sequence[object]) -> str:
    # its type only says where it ends, which no answer in the log depends on but an error that may always happen
    name, start, increment, cycle = row
    text = f"CREATE SEQUENCE {name} START WITH {start} INCREMENT BY {increment}"
    return text + " CYCLE" if cycle else text


def _view(connection: Connection, row: Sequence[object], home: Sequence[str]) -> str:
    name, query, kind, schema, _ = row
    called = _called(connection, (str(schema), str(name)), home)
    return f"CREATE {'MATERIALIZED ' if kind == 'm' else ''}VIEW {called} AS {query}"


def _rows(connection: Connection, table: Name, columns: Sequence[str]) -> list[msgspec.Raw]:
    if not columns:
        return []
    shown = sql.SQL(", ").join(map(sql.Identifier, columns))
    query = sql.SQL("SELECT {} FROM {}").format(shown, sql.Identifier(*table))
    answer = connection.execute(query).pgresult
    assert answer is not None
    return [msgspec.Raw(row) for row in result_rows(answer)]


def _quoted(connection: Connection, name: str) -> str:
    """A name as it must be written: quoted only where it needs to be."""
    return _one(connection.execute(b"SELECT quote_ident($1::text)", (name,)).fetchone())


def _one(row: Sequence[object] | None) -> str:
    if row is None or not isinstance(row[0], str):
        raise RecordError("the catalogs gave no text")
    return row[0]

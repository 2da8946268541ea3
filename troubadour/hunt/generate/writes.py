"""Rules for INSERT, UPDATE, DELETE and their kin. Does not know how queries are made."""

from __future__ import annotations

from troubadour.hunt.generate.expressions import condition, expression, leaf, literal, where
from troubadour.hunt.generate.grammar import Column, Grammar, Scope
from troubadour.hunt.generate.pieces import EMPTY, Piece, clause, listed, piece
from troubadour.hunt.generate.schemas import NUMBERED, ColumnSpec, TableSpec
from troubadour.hunt.generate.sources import from_clause


def _scope(table: TableSpec, prefix: str = "") -> Scope:
    columns = [Column(f"{prefix}{c.name}", c.family, f"{prefix or table.name + '.'}{c.name}") for c in table.columns]
    return Scope(columns, order=["k"] if table.key else None)


def _returning(g: Grammar, table: TableSpec, prefix: str = "") -> Piece:
    if not g.chance(0.25, "RETURNING", "psd"):
        return EMPTY
    if g.random.random() < 0.3:
        return clause(" RETURNING *")
    return clause(" RETURNING ", expression(g, g.pick(g.families), _scope(table, prefix), 1))


# --- INSERT -----------------------------------------------------------------------------------------------------


def insert(g: Grammar) -> Piece:
    """INSERT of rows or of a query, perhaps with a rule for conflicts."""
    r = g.random
    table = g.pick(g.tables)
    free = table.writable()
    numbered = table.columns[0].suffix in NUMBERED.values() and r.random() < 0.5
    columns = free if r.random() < 0.7 else [c for c in free if r.random() < 0.6 or c.name == "k"]
    if numbered and len(columns) > 1:
        g.features.append("numbered key")
        columns = [c for c in columns if c.name != "k"]
    verb, tail = "INSERT INTO", EMPTY
    if g.chance(0.06, "INSERT IGNORE", "m"):
        verb = "INSERT IGNORE INTO"
    elif g.chance(0.06, "REPLACE", "ms"):
        verb = "REPLACE INTO"
    elif g.chance(0.05, "INSERT OR IGNORE", "sd" if table.key else "s"):
        verb = "INSERT OR IGNORE INTO"
    elif g.chance(0.05, "INSERT OR REPLACE", "sd" if table.key else ""):
        verb = "INSERT OR REPLACE INTO"
    elif g.chance(0.25, "ON CONFLICT", "psd" if table.key else ""):
        tail = _on_conflict(g, table)
    elif g.chance(0.2, "ON DUPLICATE KEY UPDATE", "m"):
        tail = _on_duplicate(g, table)
    if g.chance(0.02, "DEFAULT VALUES", "psd"):
        return piece(f"{verb} {table.name} DEFAULT VALUES", tail)
    head = f"{verb} {table.name} ({', '.join(c.name for c in columns)}) "
    if r.random() < 0.25:
        g.features.append("INSERT ... SELECT")
        body = _selected(g, columns, bool(tail.parts))
    else:
        body = piece("VALUES ", listed([_row(g, columns) for _ in range(r.choice((1, 1, 2, 3)))]))
    return piece(head, body, tail, _returning(g, table) if verb == "INSERT INTO" else EMPTY)


def _row(g: Grammar, columns: list[ColumnSpec]) -> Piece:
    items: list[str | Piece] = []
    for column in columns:
        if g.chance(0.05, "DEFAULT", "pmd"):
            items.append("DEFAULT")
        elif column.name == "k" and g.random.random() < 0.8:
            items.append(str(g.random.randint(-3, 20)))
        else:
            items.append(expression(g, column.family, Scope(), g.random.choice((0, 0, 1))))
    # Not a list that shrinks: each place belongs to a column.
    return Piece(("(", *[part for i, item in enumerate(items) for part in ((", ", item) if i else (item,))], ")"))


def _selected(g: Grammar, columns: list[ColumnSpec], conflict: bool) -> Piece:
    text, scope = from_clause(g, None)
    outputs: list[str | Piece] = []
    for column in columns:
        outputs += [", "] if outputs else []
        if column.name == "k" and scope.of("int"):
            outputs.append(piece(g.pick(scope.of("int")), f" + {g.random.randint(0, 30)}"))
        else:
            outputs.append(expression(g, column.family, scope, 1))
    made = where(g, scope)
    if conflict and g.dialect == "sqlite" and not made.parts:
        made = piece(" WHERE TRUE")  # SQLite's grammar wants it before ON CONFLICT
    if conflict and g.dialect == "mysql" and not made.parts:
        made = piece(" WHERE TRUE")  # MariaDB takes ON DUPLICATE for a second ON of the last join
    return piece("SELECT ", Piece(tuple(outputs)), " FROM ", text, made)


def _on_conflict(g: Grammar, table: TableSpec) -> Piece:
    target = " (k)" if g.random.random() < 0.8 else ""
    if not target or g.random.random() < 0.4:
        return piece(f" ON CONFLICT{target} DO NOTHING")
    chosen = g.pick([c for c in table.writable() if c.name != "k"] or table.writable()[:1])
    value: str | Piece = f"excluded.{chosen.name}"
    if g.random.random() < 0.5:
        mixed = Scope([*_scope(table, f"{table.name}.").columns, *_scope(table, "excluded.").columns])
        value = expression(g, chosen.family, mixed, 1)
    narrow = EMPTY
    if g.chance(0.2, "DO UPDATE ... WHERE"):
        narrow = clause(" WHERE ", condition(g, _scope(table, f"{table.name}."), 1))
    return piece(f" ON CONFLICT (k) DO UPDATE SET {chosen.name} = ", value, narrow)


def _on_duplicate(g: Grammar, table: TableSpec) -> Piece:
    chosen = g.pick([c for c in table.writable() if c.name != "k"] or table.writable()[:1])
    if g.random.random() < 0.5:
        return piece(f" ON DUPLICATE KEY UPDATE {chosen.name} = VALUES({chosen.name})")
    return piece(
        f" ON DUPLICATE KEY UPDATE {chosen.name} = ", expression(g, chosen.family, _scope(table, f"{table.name}."), 1)
    )


# --- UPDATE -----------------------------------------------------------------------------------------------------


def _assignments(g: Grammar, table: TableSpec, scope: Scope, prefix: str = "") -> Piece:
    free = [c for c in table.writable() if c.name != "k" or g.random.random() < 0.3] or table.writable()
    chosen = g.random.sample(free, min(len(free), g.random.choice((1, 1, 2))))
    items = []
    for column in chosen:
        if g.chance(0.04, "SET ... = DEFAULT", "pmd"):
            items.append(piece(f"{prefix}{column.name} = DEFAULT"))
        else:
            items.append(
                piece(f"{prefix}{column.name} = ", expression(g, column.family, scope, g.random.choice((0, 1, 2))))
            )
    return listed(items)


def update(g: Grammar) -> Piece:
    """UPDATE, also from another table."""
    table = g.pick(g.tables)
    other = g.pick([t for t in g.tables if t.key] or g.tables)
    if other.key and g.chance(0.12, "UPDATE ... FROM", "psd"):
        both = Scope([*_scope(table, f"{table.name}.").columns, *_scope(other, "o.").columns])
        sets = _assignments(g, table, both)
        own = g.pick(_scope(table, f"{table.name}.").of("int"))
        more = clause(" AND ", condition(g, both, 1)) if g.random.random() < 0.4 else EMPTY
        tail = EMPTY if g.dialect == "duckdb" else _returning(g, table, f"{table.name}.")
        return piece(f"UPDATE {table.name} SET ", sets, f" FROM {other.name} AS o WHERE {own} = o.k", more, tail)
    if other.key and table is not other and g.chance(0.1, "UPDATE ... JOIN", "m"):
        both = Scope([*_scope(table, f"{table.name}.").columns, *_scope(other, "o.").columns])
        own = g.pick(_scope(table, f"{table.name}.").of("int"))
        sets = _assignments(g, table, both, f"{table.name}.")
        return piece(f"UPDATE {table.name} JOIN {other.name} AS o ON {own} = o.k SET ", sets, where(g, both))
    scope = _scope(table)
    if g.chance(0.05, "row assignment", "psd"):
        pair = g.random.sample(table.writable(), min(2, len(table.writable())))
        names = ", ".join(c.name for c in pair)
        values = Piece(
            tuple(p for i, c in enumerate(pair) for p in ((", ",) if i else ()) + (expression(g, c.family, scope, 1),))
        )
        row = "ROW" if g.dialect == "postgres" and len(pair) == 1 else ""
        return piece(f"UPDATE {table.name} SET ({names}) = {row}(", values, ")", where(g, scope))
    tail = _returning(g, table)
    if table.key and g.chance(0.12, "UPDATE ... LIMIT", "m"):
        tail = clause(f" ORDER BY {g.pick(('k', 'k DESC'))} LIMIT {g.random.randint(0, 3)}")
    return piece(f"UPDATE {table.name} SET ", _assignments(g, table, scope), where(g, scope), tail)


# --- DELETE -----------------------------------------------------------------------------------------------------


def delete(g: Grammar) -> Piece:
    """DELETE, TRUNCATE, DELETE ... USING."""
    table = g.pick(g.tables)
    scope = _scope(table)
    if g.chance(0.03, "TRUNCATE", "p"):
        return piece(f"TRUNCATE {table.name}")
    if g.chance(0.15, "DELETE ... USING", "pd"):
        other = g.pick(g.tables)
        both = Scope([*_scope(table, f"{table.name}.").columns, *_scope(other, "o.").columns])
        own, theirs = g.pick(_scope(table, f"{table.name}.").of("int")), g.pick(_scope(other, "o.").of("int"))
        return piece(
            f"DELETE FROM {table.name} USING {other.name} AS o WHERE {own} = {theirs} AND ", condition(g, both, 1)
        )
    if g.chance(0.12, "DELETE ... JOIN", "m"):
        other = g.pick([t for t in g.tables if t is not table] or g.tables)
        own, theirs = g.pick(_scope(table, "x.").of("int")), g.pick(_scope(other, "o.").of("int"))
        both = Scope([*_scope(table, "x.").columns, *_scope(other, "o.").columns])
        joined = f"DELETE x FROM {table.name} AS x JOIN {other.name} AS o ON {own} = {theirs} WHERE "
        return piece(joined, condition(g, both, 1))
    column = g.pick(scope.columns)
    narrow: Piece = piece(column.name, " = ", literal(g, column.family), family="bool")
    if g.random.random() > 0.6:
        narrow = listed([condition(g, scope, 1), piece(leaf(g, "int", scope), " > 0", family="bool")], " AND ")
    tail = _returning(g, table)
    if table.key and g.chance(0.12, "DELETE ... LIMIT", "m"):
        tail = clause(f" ORDER BY {g.pick(('k', 'k DESC'))} LIMIT {g.random.randint(0, 3)}")
    return piece(f"DELETE FROM {table.name} WHERE ", narrow, tail)

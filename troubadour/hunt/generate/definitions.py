"""Seeded random definitions beside the tables, as each product has them: indexes of every kind, a sequence, triggers
and routines, with the statements that use them. Does not know how other statements are made.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from sql_semantics.records import dataclass
from troubadour.hunt.generate.pieces import Piece, clause, piece
from troubadour.hunt.generate.schemas import ColumnSpec, TableSpec

INDEXED = ("int", "num", "date", "float", "text", "bool")


@dataclass(frozen=True, slots=True)
class Defined:
    """Texts in the order in which they are run; `uses`: what makes a statement, by the construct that it needs."""

    texts: tuple[str, ...]
    uses: tuple[tuple[str, Callable[[], Piece]], ...]


def is_routine(text: str) -> bool:
    """Whether a definition is of a function or a procedure: these have a place of their own in a log."""
    return text.startswith(("CREATE FUNCTION", "CREATE PROCEDURE"))


class Definitions:
    """All choices come from `random`."""

    def __init__(self, random: Random, dialect: str, tables: list[TableSpec]) -> None:
        self._random, self._dialect, self._tables = random, dialect, tables

    def drawn(self) -> Defined:
        """Some of each kind."""
        random = self._random
        texts = [self._index(number) for number in range(random.choice((0, 1, 1, 2, 3)))]
        uses: list[tuple[str, Callable[[], Piece]]] = []
        if self._dialect in ("postgres", "duckdb") and random.random() < 0.2:
            texts.append("CREATE SEQUENCE qa START 30")
            uses.append(("sequence", self._from_sequence))
        if self._dialect in ("postgres", "mysql", "sqlite") and len(self._tables) > 1 and random.random() < 0.25:
            texts += self._trigger()
        if self._dialect in ("postgres", "mysql") and random.random() < 0.25:
            text, use = self._routine()
            texts.append(text)
            uses.append(("routine", use))
        return Defined(tuple(texts), tuple(uses))

    # --- indexes ------------------------------------------------------------------------------------------------------

    def _index(self, number: int) -> str:
        random, table = self._random, self._random.choice(self._tables)
        columns = [c for c in table.columns if c.family in INDEXED]
        if self._dialect == "duckdb":
            columns = [c for c in columns if c.generated is None]
        column = random.choice(columns)
        unique = random.random() < 0.12 and column.generated is None
        items = [self._indexed(column, unique)]
        other = random.choice(columns)
        if other is not column and random.random() < 0.3:
            items.append(self._indexed(other, plain=True))
        method = ""
        if self._dialect == "postgres" and not unique and len(items) == 1 and random.random() < 0.25:
            methods = [" USING hash", *([" USING brin"] if column.family != "bool" else []), " USING gin"]
            methods += [" USING spgist"] * 2 if column.sql_type.startswith(("text", "varchar")) else []
            method, items = random.choice(methods), [column.name]
            if method == " USING gin":
                items = [f"(ARRAY[{column.name}])"]
        where = ""
        if self._dialect in ("postgres", "sqlite") and method != " USING brin" and random.random() < 0.25:
            where = f" WHERE {random.choice((f'{other.name} IS NOT NULL', f'{column.name} IS NULL', 'k > 1'))}"
        kind = "UNIQUE INDEX" if unique else "INDEX"
        return f"CREATE {kind} i{number} ON {table.name}{method} ({', '.join(items)}){where}"

    def _indexed(self, column: ColumnSpec, plain: bool) -> str:
        random = self._random
        if self._dialect == "mysql" and column.sql_type == "text":
            return f"{column.name}(3)"
        if not plain and self._dialect != "mysql" and random.random() < 0.3:
            if column.family == "int":
                # one that may fail, as a sum in PostgreSQL, is not judged: less of it
                others = ("< 3",) * 4 if self._dialect == "postgres" else ()
                return f"({column.name} {random.choice((*others, '+ 1'))})"
            if column.family == "text":
                return f"(lower({column.name}))"
        return column.name + (random.choice((" DESC", " ASC", "", "")) if self._dialect != "duckdb" else "")

    # --- sequences, triggers, routines --------------------------------------------------------------------------------

    def _from_sequence(self) -> Piece:
        table = self._random.choice(self._tables)
        if self._random.random() < 0.3:
            return piece("SELECT nextval('qa')")
        others = [c.name for c in table.writable() if c.name != "k" and c.not_null]
        values = "".join(f", {self._plain(c)}" for c in table.writable() if c.name in others)
        return piece(
            f"INSERT INTO {table.name} ({', '.join(['k', *others])}) VALUES (nextval('qa'){values})",
            clause(" RETURNING k"),
        )

    def _plain(self, column: ColumnSpec) -> str:
        return {"int": "3", "num": "2", "float": "1.5", "text": "'a'", "bool": "TRUE", "date": "DATE '2020-01-01'"}.get(
            column.family, "NULL"
        )

    def _settable(self, table: TableSpec) -> ColumnSpec | None:
        """A column of whole numbers that statements may set."""
        found = [c for c in table.writable() if c.family == "int" and c.name not in ("k", "r")]
        return self._random.choice(found) if found else None

    def _effect(self, table: TableSpec, key: str) -> str:
        """A statement that writes a row of a table."""
        column = self._settable(table)
        if column is None or self._random.random() < 0.2:
            return f"DELETE FROM {table.name} WHERE k = {key}"
        value = self._random.choice((f"{column.name} + 1", f"{key}", "7"))
        return f"UPDATE {table.name} SET {column.name} = {value} WHERE k = {key}"

    def _trigger(self) -> list[str]:
        random = self._random
        table, other = random.sample(self._tables, 2)
        if len(table.writable()) < len(table.columns):
            return []  # with generated columns a trigger is not modelled
        event = random.choice(("INSERT", "UPDATE", "DELETE"))
        row = "OLD" if event == "DELETE" else "NEW"
        time = random.choice(("BEFORE", "AFTER"))
        body = [f"{self._effect(other, f'{row}.k')};"]
        column = self._settable(table)
        if self._dialect != "postgres":
            return [self._own_trigger(f"{time} {event} ON {table.name}", row, body, column)]
        if column is not None and row == "NEW" and time == "BEFORE":
            body.insert(0, f"NEW.{column.name} := coalesce(NEW.{column.name}, 0) + 1;")
        if column is not None and random.random() < 0.4:
            stop = random.choice(("RAISE EXCEPTION 'no'", "RETURN NULL"))
            body.insert(0, f"IF {row}.{column.name} > 5 THEN {stop}; END IF;")
        if random.random() < 0.3:
            body = [f"IF EXISTS (SELECT 1 FROM {other.name} WHERE k = {row}.k) THEN", *body, "END IF;"]
        when = f" WHEN ({row}.k > 0)" if random.random() < 0.3 else ""
        return [
            f"CREATE FUNCTION fired() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {' '.join(body)} RETURN {row};"
            " END $$",
            f"CREATE TRIGGER m {time} {event} ON {table.name} FOR EACH ROW{when} EXECUTE FUNCTION fired()",
        ]

    def _own_trigger(self, head: str, row: str, body: list[str], column: ColumnSpec | None) -> str:
        """One that has its statements in its own text."""
        random, sqlite, before = self._random, self._dialect == "sqlite", head.startswith("BEFORE")
        if column is not None and row == "NEW" and before and not sqlite:
            body.insert(0, f"SET NEW.{column.name} = COALESCE(NEW.{column.name}, 0) + 1;")
        if column is not None and random.random() < 0.4:
            condition = f"{row}.{column.name} > 5"
            raised = random.choice(("IGNORE", "ABORT, 'no'")) if before else "ABORT, 'no'"
            stop = f"SELECT RAISE({raised}) WHERE {condition};"
            body.insert(0, stop if sqlite else f"IF {condition} THEN SIGNAL SQLSTATE '45000'; END IF;")
        when = f" WHEN {row}.k > 0" if sqlite and random.random() < 0.3 else ""
        return f"CREATE TRIGGER m {head} FOR EACH ROW{when} BEGIN {' '.join(body)} END"

    def _routine(self) -> tuple[str, Callable[[], Piece]]:
        random = self._random
        first, second = random.choice(self._tables), random.choice(self._tables)
        one, two = self._effect(first, "a"), self._effect(second, random.choice(("a", "a + 1")))

        def called(head: str) -> Callable[[], Piece]:
            return lambda: piece(f"{head}({random.randint(0, 6)})")

        if self._dialect == "mysql":
            return f"CREATE PROCEDURE pa(a int) BEGIN {one}; {two}; END", called("CALL pa")
        if random.random() < 0.5:
            body = f"BEGIN {one}; {two}; END"
            return f"CREATE PROCEDURE pa(a int) LANGUAGE plpgsql AS $$ {body} $$", called("CALL pa")
        test = f"IF (SELECT count(*) FROM {second.name} WHERE k > a) > {random.randint(0, 2)} THEN {one}; END IF;"
        body = f"BEGIN {test} {two}; RETURN (SELECT count(*)::int FROM {first.name}); END"
        head = "CREATE FUNCTION fa(a int) RETURNS int LANGUAGE plpgsql AS"
        return f"{head} $$ {body} $$", called("SELECT fa")


def changes(random: Random, dialect: str, tables: list[TableSpec]) -> list[str]:
    """Definitions that change beside a run, in the order of one session."""
    table = random.choice(tables)
    column = random.choice([c for c in table.columns if c.family in ("int", "num")])
    on = f" ON {table.name}" if dialect == "mysql" else ""
    kinds = (
        [f"CREATE INDEX ix ON {table.name} ({column.name})", f"DROP INDEX ix{on}"],
        [f"CREATE INDEX ix ON {table.name} ({column.name})"],
        [f"ALTER TABLE {table.name} ADD COLUMN z integer"],
        ["CREATE TABLE tz (k integer PRIMARY KEY, n integer)", "INSERT INTO tz VALUES (1, 2)", "SELECT k, n FROM tz"],
        ["CREATE TABLE tz (k integer PRIMARY KEY, n integer)", "INSERT INTO tz VALUES (1, 2)", "DROP TABLE tz"],
    )
    # less of what no level judges, and of tables that come and go, which MariaDB's levels do not judge
    return random.choices(kinds, (3, 9, 1, 1, 1) if dialect == "mysql" else (1, 3, 1, 3, 3))[0]


def merge(random: Random, table: TableSpec) -> Piece:
    """MERGE of one row by its key."""
    columns = [c for c in table.writable() if c.name not in ("k", "r") and c.family == "int"]
    key = random.randint(0, 6)
    change = f"UPDATE SET {columns[0].name} = s.b" if columns else "DELETE"
    names = ["k", *(c.name for c in columns[:1])]
    values = ", ".join(("s.a", "s.b")[: len(names)])
    insert = clause(f" WHEN NOT MATCHED THEN INSERT ({', '.join(names)}) VALUES ({values})")
    head = f"MERGE INTO {table.name} USING (VALUES ({key}, {random.randint(0, 9)})) s (a, b) ON {table.name}.k = s.a"
    return piece(head, f" WHEN MATCHED THEN {change}", insert)

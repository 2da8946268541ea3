"""What can be told of a statement from its text alone: whether it is modelled, and what it looks at and changes.

Asked for once per text and parameter shape. Does not know answers, transactions or times.
"""

from __future__ import annotations

from collections.abc import Iterable

from sql_semantics.errors import MisfitParameters, SqlError, UnknownTable, UnmodelledValue, Unsupported
from sql_semantics.ir.definitions import Definition
from sql_semantics.ir.expressions import Free
from sql_semantics.ir.reach import NOTHING, Reach
from sql_semantics.ir.schema import Catalog, References
from sql_semantics.ir.statements import (
    Call,
    Insert,
    JoinedWrite,
    NoEffect,
    Release,
    RollbackTo,
    Savepoint,
    Statement,
    Update,
)
from sql_semantics.ir.walks.effects import changes_of, draws, fired_by, touched_tables
from sql_semantics.ir.walks.parts import walk_parts
from sql_semantics.library import Program, SqlLibrary
from sql_semantics.records import dataclass
from sql_semantics.values.types import UNMODELLED_KINDS, Kind
from troubadour.execution.prepared import result_types
from troubadour.model.values import ParamShape


@dataclass(frozen=True, slots=True)
class Facts:
    """Of one statement. `construct`: what of it is not modelled, empty for nothing; `column`: the column of which only
    the value stored is not. `wrong`: the DBMS should refuse the text, `nameless`: it names a table that is none.

    For one that is modelled: `touched` tables, what it `changes`, whether it `commits` the transaction around it
    (MySQL 15.3.3), whether outside a transaction it comes `apart` into several, whether it `draws` numbers or chance,
    the reasons why its answer is judged in part only (`partly`), types that are not modelled in its answer (`opaque`),
    constraints that are not modelled where it writes (`loose`), whether these decide what it does (`hangs_on_loose`),
    whether its row count hangs on values that are not told apart (`miscounts`), whether it can be wrong at all
    (`idle`), what triggers may change `beside` it, the first trigger that it `fires`, whether it `recalls` the number
    that the session drew last, and whether it is a CALL that `answers_nothing`, so that all that can be seen of it is
    that it did not fail.
    """

    construct: str = ""
    column: str = ""
    wrong: bool = False
    nameless: bool = False
    touched: frozenset[str] = frozenset()
    changes: Reach = NOTHING
    commits: bool = False
    apart: bool = False
    draws: bool = False
    partly: tuple[str, ...] = ()
    opaque: tuple[str, ...] = ()
    loose: tuple[str, ...] = ()
    hangs_on_loose: bool = False
    miscounts: str = ""
    idle: bool = False
    beside: Reach = NOTHING
    fires: str = ""
    recalls: bool = False
    answers_nothing: bool = False


def facts_of(
    sql: str, shape: ParamShape, library: SqlLibrary, scope: int = 0, references: References = "kept"
) -> Facts:
    """The facts of a text under a library, in a scope of its definitions, where foreign keys are kept or not."""
    try:
        program = library.program(sql, shape, scope, references)
    except UnmodelledValue as error:
        return Facts(construct=error.construct, column=error.column)
    except Unsupported as error:
        return Facts(construct=error.construct)
    except (SqlError, MisfitParameters):
        # preparing the statement says what is wrong with the log
        return Facts(wrong=True)
    except UnknownTable:
        return Facts(nameless=True)
    return _of_program(program, library)


def _of_program(program: Program, library: SqlLibrary) -> Facts:
    statement, catalog = program.statement, program.catalog
    shown = [type_ for types in result_types(statement, catalog) or () for type_ in types]
    unknown = [type_.name for type_ in shown if type_.kind is Kind.UNKNOWN and type_.name]
    touched = touched_tables(statement, catalog)
    tables = [catalog.tables[name] for name in sorted(touched) if name in catalog.tables]
    changes, fired = changes_of(statement, catalog), fired_by(statement, catalog)
    beside = NOTHING
    for one in fired:
        beside = beside | one.reach
    return Facts(
        touched=touched,
        changes=changes | beside if fired else changes,
        beside=beside,
        fires=fired[0].construct if fired else "",
        recalls=_recalls(statement),
        commits=library.dialect.rules.running.definitions_commit and isinstance(statement, Definition),
        apart=program.comes_apart(),
        draws=draws(statement, catalog),
        partly=tuple(dict.fromkeys([*program.left_out, *unknown])),
        opaque=tuple(dict.fromkeys(type_.name for type_ in shown if type_.kind is Kind.OPAQUE)),
        loose=(*(reason for table in tables for reason in table.refusing), *_unread(statement, catalog))
        if changes.writes
        else (),
        hangs_on_loose=_arbitrates(statement, catalog),
        miscounts=_miscounted(statement, library),
        idle=is_idle(program),
        answers_nothing=answers_nothing(program),
    )


def is_idle(program: Program) -> bool:
    """Whether it answers nothing and changes nothing, so that there is nothing to judge."""
    return isinstance(program.statement, NoEffect | Savepoint | Release | RollbackTo)


def answers_nothing(program: Program) -> bool:
    """Whether it is a CALL without rows or values to answer with."""
    return isinstance(program.statement, Call) and result_types(program.statement, program.catalog) == ()


def _recalls(statement: Statement) -> bool:
    """Whether it asks for the last number, which may be one that a trigger drew."""
    return any(isinstance(part, Free) and part.source in ("lastval", "currval") for part in walk_parts(statement))


def _arbitrates(statement: Statement, catalog: Catalog) -> bool:
    """Whether constraints that are not modelled, or hang on columns of which nothing is told, decide what an INSERT
    does, and not only whether it fails."""
    return any(
        bool(catalog.tables[part.table].refusing)
        or ((part.conflict.ignore or part.conflict.action == "replace") and bool(_unread(part, catalog)))
        for part in walk_parts(statement)
        if isinstance(part, Insert) and part.conflict is not None
    )


def _unread(statement: Statement, catalog: Catalog) -> tuple[str, ...]:
    """Why nothing is told of columns of the tables that a statement inserts into: NOT NULL may refuse its rows."""
    inserts = [part for part in walk_parts(statement) if isinstance(part, Insert)]
    return tuple(column.unread for part in inserts for column in catalog.tables[part.table].columns if column.unread)


def _miscounted(statement: Statement, library: SqlLibrary) -> str:
    """What is not modelled of the values by which MySQL tells a row that changed from one that did not."""
    if not library.dialect.rules.running.strict_counts or library.dialect.found_rows:
        return ""
    for part in walk_parts(statement):
        for table, places in _assigned(part):
            for place in places:
                kind = library.catalog.tables[table].columns[place].type
                if kind.kind in UNMODELLED_KINDS:
                    return kind.name
    return ""


def _assigned(part: object) -> Iterable[tuple[str, Iterable[int]]]:
    match part:
        case Update(table=table, assignments=assignments):
            yield table, [place for place, _ in assignments]
        case Insert(table=table, conflict=conflict) if conflict is not None and conflict.action == "update":
            yield table, [place for place, _ in conflict.assignments]
        case JoinedWrite(targets=targets):
            for target in targets:
                yield target.table, [place for place, _ in target.assignments]

"""Log statements made ready to run: compiled, arguments converted, observations read (paper §5.4).

Made once per statement and shared by search and replay; knows no isolation level and no state.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Literal

import msgspec

from sql_semantics.errors import MisfitParameters, SqlError, UnknownLabel, UnknownTable, Unsupported
from sql_semantics.frontend import AT_ONCE
from sql_semantics.ir.definitions import ChangeIndex, ChangeTables, CreateTable, Definition, DropTable
from sql_semantics.ir.programs import OpenCursor, Perform, ReturnQuery, RowLoop
from sql_semantics.ir.queries import OutputColumn, Query, Select, Series, SetOperation, Values
from sql_semantics.ir.schema import Catalog
from sql_semantics.ir.statements import (
    Call,
    Delete,
    If,
    Insert,
    JoinedWrite,
    Merge,
    NoEffect,
    Procedure,
    Release,
    RollbackTo,
    Savepoint,
    SelectInto,
    SetVariable,
    Together,
    Update,
    Write,
)
from sql_semantics.ir.statements import Statement as BoundStatement
from sql_semantics.ir.walks.effects import looked_up_once, reached, touched_tables, written_tables
from sql_semantics.ir.walks.nesting import nested
from sql_semantics.library import Program, SqlLibrary
from sql_semantics.patterns import pattern
from sql_semantics.products.rules import RunRules
from sql_semantics.records import dataclass
from sql_semantics.run import Arguments
from sql_semantics.run.writes.rows.references import may_overlook
from sql_semantics.values.casts.cast import caster
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import DOUBLE, SQLITE_NUMBER, TEXT, SqlType, Value
from troubadour.execution.boundaries import misplaced
from troubadour.execution.observations.lifecycle import RUN, Fate, Judged, Step, UnclearFate, judge
from troubadour.execution.observations.misfits import beyond_model, counted, lacks_column, misshapen
from troubadour.execution.observations.observation import MisfitValue, ParsedObservation, ResultTypes, parse_observation
from troubadour.model.log import JsonValue, LogError, Statement, Transaction, TransactionId
from troubadour.model.values import ARRAYS, param_shape, read_value

_NOTHING = Catalog()

AtCommit = Literal["kept", "ignored", "loose"]
"""Whether references find their rows when a transaction commits: they do; nothing is known of them; or they do, but for
such as SQLite has not looked up: those that are others because a definition changed, and what INSERT OR REPLACE may
overlook."""
_SAVEPOINTS = (Savepoint, Release, RollbackTo)


class UnsupportedStatement(Unsupported):
    """A statement outside the modelled fragment, with its address: `transaction` and 0-based `index`."""

    def __init__(self, construct: str, transaction: TransactionId, index: int) -> None:
        super().__init__(construct)
        self.transaction = transaction
        self.index = index


@dataclass(slots=True)
class PreparedStatement:
    """One logged statement, ready to run.

    `program` is None where the statement cannot be bound: then `failure` says why (an SqlError where the DBMS would
    certainly refuse it; Unsupported only beside an observed error, which may need no run to be judged). `judged` is how
    its answer has to be explained, going by the answers around it.
    """

    statement: Statement
    index: int
    program: Program | None
    arguments: Arguments
    observation: ParsedObservation
    failure: SqlError | Unsupported | None = None
    judged: Judged = RUN


@dataclass(slots=True)
class PreparedTransaction:
    """One transaction, ready to run. `released`: the statements whose locks did not last until its end, because they
    failed or ROLLBACK TO undid them. `references`: what becomes of foreign keys at its commit."""

    transaction: Transaction
    statements: tuple[PreparedStatement, ...]
    released: frozenset[int] = frozenset()
    references: AtCommit = "kept"

    def looked_up_once(self, catalog: Catalog) -> Mapping[int, Mapping[str, bool]]:
        """By statement, what `effects.looked_up_once` says."""
        found: dict[int, Mapping[str, bool]] = {}
        for item in self.statements:
            program = item.program
            if program is not None:
                tables = program.remember("looked up once", partial(looked_up_once, program.statement, catalog))
                if tables:
                    found[item.index] = tables
        return found

    def unsupported(self, construct: str) -> UnsupportedStatement:
        """That its commit cannot be judged, said of the last statement that may have written."""
        writing = [s.index for s in self.statements if s.program is None or not s.program.read_only]
        last = len(self.statements) - 1
        return UnsupportedStatement(construct, self.transaction.id, max(writing, default=last))


def prepare(transaction: Transaction, library: SqlLibrary) -> PreparedTransaction:
    """Bind and compile the transaction's statements, convert their arguments, read their observations.

    Raises UnsupportedStatement, or LogError for a table named nowhere in the log or a value that does not fit its
    type. A statement whose observed result is an error need not bind.
    """
    statements = [
        prepare_statement(statement, index, transaction, library)
        for index, statement in enumerate(transaction.statements)
    ]
    if any(statement.error is not None or statement.outcome_unknown for statement in transaction.statements):
        _judge(transaction, statements, library.dialect.name)
    if any(item.program is not None and _checks_at_once(item.program.statement) for item in statements):
        _refuse_checked_writes(transaction, statements)
    references = _at_commit(transaction, statements, library.dialect)
    return PreparedTransaction(transaction, tuple(statements), _released(statements), references)


def _checks_at_once(statement: BoundStatement) -> bool:
    return isinstance(statement, NoEffect) and statement.what == AT_ONCE


def _refuse_checked_writes(transaction: Transaction, statements: Sequence[PreparedStatement]) -> None:
    """Raise UnsupportedStatement for SET CONSTRAINTS IMMEDIATE that failed, or before what it may make fail."""
    checks = next(s for s in statements if s.program is not None and _checks_at_once(s.program.statement))
    for item in statements[checks.index :]:
        told = item.statement.error is None and not item.statement.outcome_unknown and item.program is not None
        bound = None if item.program is None else item.program.statement
        if not told or not (item.program is None or item.program.read_only or isinstance(bound, Definition)):
            raise UnsupportedStatement(f"{AT_ONCE} before writes", transaction.id, checks.index)


def _at_commit(transaction: Transaction, statements: Iterable[PreparedStatement], dialect: Dialect) -> AtCommit:
    if transaction.references != "kept":
        return "ignored"
    rules = dialect.rules.running
    gaps = rules.overlooks_references or not rules.changes_check_references
    programs = [item.program for item in statements if item.program is not None]
    return "loose" if gaps and any(_looks_up_less(one, dialect) for one in programs) else "kept"


def _looks_up_less(program: Program, dialect: Dialect) -> bool:
    found = program.remembered.get("looks up less")
    if found is None:
        unchecked = not dialect.rules.running.changes_check_references
        changes = unchecked and isinstance(program.statement, ChangeTables)
        found = changes or may_overlook(program.statement, program.catalog, dialect)
        program.remembered["looks up less"] = found
    return bool(found)


def _judge(transaction: Transaction, statements: Sequence[PreparedStatement], dialect: str) -> None:
    steps = [
        Step(
            None if item.statement.error is None else item.statement.error.sqlstate,
            item.statement.outcome_unknown,
            _kind(item),
        )
        for item in statements
    ]
    try:
        fates = judge(steps, dialect, committed=transaction.status != "aborted")
    except UnclearFate as error:
        raise UnsupportedStatement(error.construct, transaction.id, error.index) from error
    for item, judged in zip(statements, fates, strict=True):
        item.judged = judged


def _released(statements: Sequence[PreparedStatement]) -> frozenset[int]:
    """The statements that failed or were undone."""
    found = {item.index for item in statements if item.judged.fate is not Fate.RUN}
    if not any(item.program is not None and isinstance(item.program.statement, _SAVEPOINTS) for item in statements):
        return frozenset(found)
    open_: list[tuple[str, int]] = []
    for item in statements:
        statement = None if item.program is None or item.index in found else item.program.statement
        if not isinstance(statement, _SAVEPOINTS):
            continue
        if isinstance(statement, Savepoint):
            open_.append((statement.name, item.index))
            continue
        while open_ and open_[-1][0] != statement.name:
            open_.pop()
        if not open_:
            break
        if isinstance(statement, RollbackTo):
            found.update(range(open_[-1][1] + 1, item.index))
        else:
            open_.pop()
    return frozenset(found)


def _kind(item: PreparedStatement) -> str:
    match None if item.program is None else item.program.statement:
        case RollbackTo():
            return "rollback-to"
        case Savepoint() | Release():
            return "savepoint"
    return "other"


class Preparations:
    """`prepare` with a memory of the transactions asked for last, `capacity` of them."""

    __slots__ = ("_capacity", "_library", "_recent")

    def __init__(self, library: SqlLibrary, capacity: int = 4096) -> None:
        self._library = library
        self._capacity = capacity
        self._recent: OrderedDict[TransactionId, PreparedTransaction] = OrderedDict()

    def __call__(self, transaction: Transaction) -> PreparedTransaction:
        """The prepared transaction; raises as `prepare`."""
        found = self._recent.get(transaction.id)
        if found is not None and found.transaction is transaction:
            self._recent.move_to_end(transaction.id)
            return found
        made = prepare(transaction, self._library)
        self._recent[transaction.id] = made
        if len(self._recent) > self._capacity:
            self._recent.popitem(last=False)
        return made


def prepare_statement(
    statement: Statement, index: int, transaction: Transaction, library: SqlLibrary
) -> PreparedStatement:
    """One statement, as `prepare` does. One that is not to be judged is nothing that could be run."""
    if statement.unjudged:
        return PreparedStatement(statement, index, library.nothing(), (), parse_observation(statement, None))
    boundary = misplaced(statement.sql) if statement.error is None else None
    if boundary is not None:
        raise _refused(transaction, index, boundary)
    try:
        program = library.program(statement.sql, param_shape(statement.params), statement.scope, statement.references)
        try:
            arguments = arguments_of(statement.params, program.parameters, library.dialect)
        except ValueError as error:
            if not library.dialect.reads_untyped_texts and statement.error is None:
                raise Unsupported(f"a parameter of another type than it is used as ({error})") from error
            raise
        if statement.error is not None and isinstance(program.statement, Definition):
            _check_refusal(program.statement, statement.error.sqlstate)
        _refuse_commit(program, statement, transaction, library.dialect.rules.running)
        types = _types_of(program, library)
        statement = _as_far_as_judged(statement, program.statement, transaction)
        try:
            statement = counted(statement, types, library.dialect)
            wrong = misshapen(statement, types)
            if wrong is not None:
                raise _refused(transaction, index, wrong)
            observed = parse_observation(statement, types)
        except MisfitValue as error:
            raise beyond_model(error, program.statement, library.dialect.name) or error from error
        return PreparedStatement(statement, index, program, arguments, observed)
    except SqlError as error:
        if statement.error is None and not statement.outcome_unknown:
            _check_schema(error, transaction, index, library)
        return _unbound(statement, index, error)
    except Unsupported as error:
        if statement.error is not None and not may_fail_halfway(statement, library):
            return _unbound(statement, index, error)
        raise UnsupportedStatement(error.construct, transaction.id, index) from error
    except RecursionError as error:
        raise UnsupportedStatement("a statement nested too deeply", transaction.id, index) from error
    except UnknownTable as error:
        if statement.error is not None:
            return _unbound(statement, index, SqlError("42P01", str(error)))
        raise _refused(transaction, index, f"{error}{_unread(library)}") from error
    except MisfitParameters as error:
        if statement.error is not None:
            return _unbound(statement, index, Unsupported("parameters that do not fit the placeholders"))
        raise _refused(transaction, index, str(error)) from error
    except ValueError as error:
        if statement.error is not None and not isinstance(error, MisfitValue):
            return _unbound(statement, index, SqlError("22P02", str(error)))
        raise _refused(transaction, index, str(error)) from error


def _as_far_as_judged(statement: Statement, bound: BoundStatement, transaction: Transaction) -> Statement:
    """A statement without what is not judged of its answer: all that a probe says, and the row count of a change of
    definitions."""
    if isinstance(bound, ChangeTables):
        return msgspec.structs.replace(statement, affected=None)
    if not isinstance(bound, NoEffect) or not bound.opaque:
        return statement
    if bound.alone and len(transaction.statements) > 1:
        raise Unsupported(f"{bound.what}, which commits its transaction")
    return msgspec.structs.replace(statement, results=None, affected=None)


def _refuse_commit(program: Program, statement: Statement, transaction: Transaction, rules: RunRules) -> None:
    """Raise Unsupported for what commits a transaction of MySQL's before its end, or is several transactions."""
    if is_alone(transaction) and program.comes_apart():
        raise Unsupported(CALLED_ALONE)
    undone = transaction.status != "committed" and statement.error is None
    if not rules.definitions_commit or not (undone or len(transaction.statements) > 1):
        return
    bound = program.statement
    if isinstance(bound, ChangeTables | ChangeIndex):
        raise Unsupported("a change of definitions in a transaction, which it commits in mysql")
    if isinstance(bound, CreateTable | DropTable):
        kind = "CREATE" if isinstance(bound, CreateTable) else "DROP"
        raise Unsupported(f"{kind} TABLE in a transaction, which it commits in mysql")


CALLED_ALONE = "a CALL outside a transaction, of which each statement is a transaction by itself"


def is_alone(transaction: Transaction) -> bool:
    """Whether its one statement was sent outside a transaction: a log has the times of that, and none of a COMMIT."""
    statements = transaction.statements
    lone = len(statements) == 1 and statements[0].invoked is not None
    return lone and transaction.begin is None and transaction.end is None


def may_fail_halfway(statement: Statement, library: SqlLibrary) -> bool:
    """Whether what failed may have written before: a routine or a block with transactions of its own, or in products
    that undo single statements only; what SQLite's FAIL stops, in the statement or in triggers and constraints."""
    if library.fails_halfway(statement.sql):
        return True
    rules = library.dialect.rules.running
    said = _REMARKS.sub("", statement.sql, count=1).split(None, 1)
    first = said[0].upper() if said else ""
    return first in ("CALL", "DO", "EXECUTE", "BEGIN") or (rules.loads_in_parts and first == "LOAD")


_REMARKS = pattern(r"\A(?:\s|--[^\n]*\n|/\*.*?\*/)+", re.DOTALL)


def _check_refusal(definition: Definition, sqlstate: str) -> None:
    """Raise Unsupported for errors of CREATE and DROP that do not tell whether a table exists: of the names of indexes
    and of what depends on a table nothing is known."""
    known = isinstance(definition, DropTable) and any(definition.dependents) and sqlstate == "2BP01"
    filled = isinstance(definition, CreateTable) and definition.filling is not None
    if isinstance(definition, ChangeIndex) or (sqlstate[:2] not in ("42", "HY") and not known and not filled):
        raise Unsupported(f"error {sqlstate} of CREATE or DROP")


def _unbound(statement: Statement, index: int, failure: SqlError | Unsupported) -> PreparedStatement:
    return PreparedStatement(statement, index, None, (), parse_observation(statement, None), failure)


def arguments_of(
    params: Sequence[JsonValue] | Mapping[str, JsonValue] | None,
    types: Mapping[int | str, SqlType],
    dialect: Dialect | None = None,
) -> Arguments:
    """The parameters as values of their types, as a program takes them; texts that a driver sent without a type are
    read as the `dialect` reads them. Raises ValueError for one that does not fit."""
    if params is None:
        return ()
    if type(params) is not tuple and isinstance(params, Mapping):
        given = dict(params)
        for name, value in params.items():
            if type(value) in ARRAYS:  # an array: see `frontend.names.scope.Parameters`
                del given[name]
                given |= {f"{name}[{place}]": item for place, item in enumerate(value)}
        return {name: _argument(value, types.get(name), dialect) for name, value in given.items()}
    values: Sequence[JsonValue] = params
    if not ARRAYS.isdisjoint(map(type, params)):
        values = [*params, *(item for value in params if type(value) in ARRAYS for item in value)]
    return tuple([_argument(value, types.get(position), dialect) for position, value in enumerate(values)])


def _argument(json: JsonValue, type: SqlType | None, dialect: Dialect | None) -> Value:
    if type is None:
        return None  # the statement does not use it
    try:
        return read_value(json, type)
    except ValueError as misfit:
        convert = None
        if dialect is not None and dialect.reads_untyped_texts and isinstance(json, str):
            convert = caster(TEXT, type, False, dialect)
        if convert is None:
            raise
        try:
            return convert(json)
        except SqlError:
            raise misfit from None


def _types_of(program: Program, library: SqlLibrary) -> tuple[ResultTypes, ...] | None:
    """`result_types`, once for each program; in SQLite integers stand among floats."""
    if "result types" not in program.remembered:
        found = result_types(program.statement, library.catalog)
        if found is not None and library.dialect.rules.types.values_have_classes:
            found = tuple(tuple(SQLITE_NUMBER if type == DOUBLE else type for type in types) for types in found)
        program.remembered["result types"] = found
    types: tuple[ResultTypes, ...] | None = program.remembered["result types"]
    return types


def result_types(statement: BoundStatement, catalog: Catalog) -> tuple[ResultTypes, ...] | None:
    """The column types of each result set the statement returns; None where they depend on how it runs."""
    match statement:
        case (
            Select(outputs=outputs) | SetOperation(outputs=outputs) | Values(outputs=outputs) | Series(outputs=outputs)
        ):
            return (_types(outputs),)
        case (
            Insert(returning=returning)
            | Update(returning=returning)
            | Delete(returning=returning)
            | JoinedWrite(returning=returning)
            | Merge(returning=returning)
        ):
            return () if returning is None else (_types(returning),)
        case Together(main=main):
            return result_types(main, catalog)
        case Call(procedure=name):
            procedure = catalog.procedures.get(name)
            return () if procedure is None else _call_types(procedure, catalog)
        case _:
            return ()


def _call_types(procedure: Procedure, catalog: Catalog) -> tuple[ResultTypes, ...] | None:
    """Those of a CALL: the SELECTs inside, then a row of the OUT and INOUT parameters' values. In SQL/PSM that row need
    not be shown, so that nothing is known before it runs."""
    called = reached(procedure.body, catalog)
    bodies = [procedure.body, *(inner.body for inner in called)]
    found: tuple[ResultTypes, ...] | None = ()
    if procedure in called:
        found = None
    elif any(_shows(statement) for body in bodies for statement in body):
        found = _body_types(procedure.body, catalog)
    if not procedure.answers:
        return found
    psm = procedure.routine is None or procedure.routine.signature.psm
    return None if psm or found is None else (*found, tuple(procedure.frame_types[slot] for slot in procedure.answers))


def _shows(statement: BoundStatement) -> bool:
    """Whether a statement of a body, or one inside it, shows a result set."""
    return result_types(statement, _NOTHING) != () or any(map(_shows, _inside(statement)))


def _inside(statement: BoundStatement) -> Iterable[BoundStatement]:
    """The statements inside; the queries of INTO, of cursors and of loops show nothing."""
    if isinstance(statement, RowLoop):
        return statement.body
    return () if isinstance(statement, SelectInto | Perform | OpenCursor | ReturnQuery) else nested(statement)


def _body_types(body: Sequence[BoundStatement], catalog: Catalog) -> tuple[ResultTypes, ...] | None:
    """Those of a body that runs straight through; None for any other."""
    found: list[ResultTypes] = []
    for statement in body:
        if isinstance(statement, Call | Query | Write | SelectInto | SetVariable):
            types = result_types(statement, catalog)
        elif isinstance(statement, If) and not any(map(_breaks, nested(statement))):
            types = ()
        else:
            types = None
        if types is None:
            return None
        found.extend(types)
    return tuple(found)


def _breaks(statement: BoundStatement) -> bool:
    """Whether it shows something, or what follows it may not run."""
    plain = isinstance(statement, Query | Write | SelectInto | SetVariable | If)
    return not plain or result_types(statement, _NOTHING) != () or any(map(_breaks, _inside(statement)))


def _types(outputs: Sequence[OutputColumn]) -> ResultTypes:
    return tuple([output.expression.type for output in outputs])


def _check_schema(error: SqlError, transaction: Transaction, index: int, library: SqlLibrary) -> None:
    """Raises LogError or UnsupportedStatement where a text that the DBMS took seems wrong for what the schema lacks."""
    if lacks_column(error, library):
        told = f"the schema lacks a column that the statement names ({error.message})"
        raise _refused(transaction, index, f"{told}; is it older than the log?") from error
    if isinstance(error, UnknownLabel):
        construct = f"a label that no definition has ({error.message})"
        raise UnsupportedStatement(construct, transaction.id, index) from error


def _unread(library: SqlLibrary) -> str:
    """That a name may be missing because its definition was not read."""
    reason = next(iter(library.unread.values()), "")
    return f"; the schema or the procedures have a definition that cannot be read ({reason})" if reason else ""


def _refused(transaction: Transaction, index: int, what: str) -> LogError:
    """That a statement makes the log unusable."""
    return LogError(f"transaction {transaction.id!r}, statement {index + 1}: {what}", transaction.id)


def tables_touched(program: Program, catalog: Catalog) -> frozenset[str]:
    """`touched_tables` of its statement, worked out once."""
    return program.remember("touched", lambda: touched_tables(program.statement, catalog))


def tables_written(program: Program, catalog: Catalog) -> frozenset[str]:
    """The tables of whose rows it may write some, worked out once."""
    return program.remember(
        "written", lambda: frozenset(name for name, _ in written_tables([program.statement], catalog))
    )

"""Stored procedures and functions into programs (paper §3.1, Fig. 2; §8). Does not know how a program is run.

Every routine gets its handle first, so that routines may call those defined later, and themselves where the product
allows it. Each language has a binder of its own; all of them end in the same IR.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from sql_semantics.errors import SchemaError, SqlError, UnknownTable, Unsupported
from sql_semantics.frontend.names.refusals import refuse_writes, routine_name
from sql_semantics.frontend.names.scope import Context, Parameters
from sql_semantics.frontend.names.tables import find_table
from sql_semantics.frontend.routines.bodies import Frame, Names, bind_value, read_type, stored
from sql_semantics.frontend.routines.headers import Header, WrittenParameter, read_header
from sql_semantics.frontend.routines.own_triggers import own_body
from sql_semantics.frontend.routines.plpgsql.body import Body
from sql_semantics.frontend.routines.plpgsql.reader import bind_body
from sql_semantics.frontend.routines.psm.reader import PsmBinder
from sql_semantics.frontend.routines.sqlbody import bind_sql_body
from sql_semantics.frontend.routines.triggers import (
    RowTrigger,
    WithinTriggers,
    bound_trigger,
    signature_of,
    trigger_body,
)
from sql_semantics.frontend.text.dialects import check_dialect
from sql_semantics.ir.expressions import Expr, Variable
from sql_semantics.ir.programs import Handled, Return
from sql_semantics.ir.routines import Parameter, Routine, Signature
from sql_semantics.ir.schema import Catalog, Table, Trigger
from sql_semantics.ir.statements import Call, Delete, Insert, JoinedWrite, Procedure, Statement, Update
from sql_semantics.ir.walks.effects import routines_in
from sql_semantics.ir.walks.nesting import nested
from sql_semantics.ir.walks.parts import walk_parts
from sql_semantics.records import dataclass, field, replace
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.identifiers import folded_written, folded_written_table
from sql_semantics.values.types import Kind, SqlType

_UNREAD = "a routine that cannot be read"


_WRITES = Insert | Update | Delete | JoinedWrite | Call


@dataclass(slots=True)
class _Refusals:
    """What becomes of routines that are not modelled or cannot be read: where `lenient` they go to `found`, by name,
    and their texts, if they cannot be read, to `unread`; else it is raised. `texts`: those of the routines read."""

    lenient: bool
    found: dict[str, str]
    unread: dict[str, str]
    procedures: dict[str, Procedure]
    texts: dict[str, str] = field(default_factory=dict)

    def refuse(self, key: str, construct: str) -> None:
        """Take a routine out of use."""
        if not self.lenient:
            raise Unsupported(construct)
        self.found.setdefault(key, construct)
        self.procedures.pop(key, None)

    def unreadable(self, key: str | None, text: str, error: SchemaError | UnknownTable) -> None:
        """The same for a text that cannot be read; None for one without a name."""
        if not self.lenient:
            raise error
        self.unread[text] = str(error)
        if key is not None:
            reason = str(error)
            self.refuse(key, reason if reason.startswith(_UNREAD) else f"{_UNREAD} ({reason})")

    @contextmanager
    def of(self, key: str) -> Iterator[None]:
        """Within it the routine of that name is read."""
        try:
            yield
        except SqlError as error:
            self.refuse(key, f"procedure {key}, a statement of which always fails: {error}")
        except Unsupported as error:
            self.refuse(key, error.construct)
        except (SchemaError, UnknownTable) as error:
            self.unreadable(key, self.texts[key], error)
        except RecursionError:
            self.refuse(key, "a routine nested too deeply")


def _read_header(text: str, headers: dict[str, Header], refusals: _Refusals, dialect: Dialect) -> None:
    """Take in the header of a routine, whose body waits until all are known."""
    name = routine_name(text, dialect)
    try:
        header = _header(text, dialect)
    except SchemaError as error:
        refusals.unreadable(name, text, error)
        return
    except Unsupported as error:
        if name is None:
            raise
        refusals.refuse(name, error.construct)
        return
    refusals.texts[header.name] = text
    try:
        _add_header(header, headers, refusals.found, dialect)
    except Unsupported as error:
        refusals.refuse(header.name, error.construct)


def read_procedures(
    texts: Sequence[str],
    tables: Mapping[str, Table],
    dialect: Dialect,
    refused: dict[str, str] | None = None,
    fired: Sequence[RowTrigger] = (),
    triggers: dict[str, tuple[Trigger, ...]] | None = None,
    unread: dict[str, str] | None = None,
) -> dict[str, Procedure]:
    """The procedures and functions, by lower-case name. Of the triggers that are to be run, `fired`, those that are
    modelled go to `triggers`.

    Raises SchemaError for text that cannot be read, UnknownTable, and Unsupported for what is not modelled; where
    `refused` is given, what is not modelled or cannot be read of a routine that has a name goes there, under the name,
    and of a trigger under its key; the texts that cannot be read go to `unread`, too, with the reason.
    """
    check_dialect(dialect)
    found: dict[str, str] = {} if refused is None else refused
    procedures: dict[str, Procedure] = {}
    running: dict[str, tuple[Trigger, ...]] = {} if triggers is None else triggers
    catalog = Catalog(tables, procedures, refused=found, triggers=running)
    headers: dict[str, Header] = {}
    routines: dict[str, Routine] = {}

    refusals = _Refusals(refused is not None, found, {} if unread is None else unread, procedures)
    for text in texts:
        _read_header(text, headers, refusals, dialect)
    for key, header in headers.items():
        if key not in found:
            with refusals.of(key):
                routines[key] = Routine(_signature(key, header, catalog, dialect), catalog)
    _run_triggers(fired, routines, running, catalog, dialect, refusals.refuse)
    for key, routine in routines.items():
        with refusals.of(key):
            procedures[key] = _procedure(headers[key], routine, routines, dialect)
            refuse_writes(procedures[key].body, catalog)
            routine.procedure = procedures[key]
    _spread(procedures, found)
    if not dialect.rules.definitions.recursive_routines:
        for key in _recursive(procedures):
            refusals.refuse(key, f"recursive procedure {key}")
        _spread(procedures, found)
    for trigger in (one for of_table in running.values() for one in of_table):
        hit = set() if trigger.routine.procedure is None else called(trigger.routine.procedure.body) & found.keys()
        for callee in sorted(hit)[:1]:
            refusals.refuse(trigger.construct, f"{found[callee]}, in the definition of {callee}")
    return procedures


def _run_triggers(
    fired: Sequence[RowTrigger],
    routines: Mapping[str, Routine],
    running: dict[str, tuple[Trigger, ...]],
    catalog: Catalog,
    dialect: Dialect,
    refuse: Callable[[str, str], None],
) -> None:
    """Bind the triggers that are to be run, in the order in which they are."""
    bodies: list[Procedure] = []
    within = replace(catalog, triggers=WithinTriggers(running))
    by_names = dialect.rules.definitions.trigger_order == "names"
    for written in sorted(fired, key=lambda one: one.name) if by_names else fired:
        try:
            table = find_table(written.table, catalog.tables, dialect)
            routine = Routine(signature_of(written, table), within)
            bodies.append(_trigger_procedure(written, routine, routines, table, dialect))
            trigger = bound_trigger(written, routine, table, catalog, dialect)
        except SqlError as error:
            refuse(written.key, f"{written.construct}, a statement of which always fails: {error}")
        except Unsupported as error:
            refuse(written.key, error.construct)
        except (SchemaError, UnknownTable) as error:
            refuse(written.key, f"{_UNREAD} ({error})")
        except RecursionError:
            refuse(written.key, "a routine nested too deeply")
        else:
            routine.procedure = bodies[-1]
            running[table.name] = (*running.get(table.name, ()), trigger)
    for procedure in bodies:
        try:
            refuse_writes(procedure.body, catalog)
        except Unsupported as error:
            refuse(procedure.name, error.construct)
    if any(one.outermost for of_table in running.values() for one in of_table):
        for procedure in bodies:
            if called(procedure.body):  # what it writes would fire them here
                refuse(procedure.name, f"{procedure.name}, a call beside a trigger that hangs on pg_trigger_depth()")


def _trigger_procedure(
    written: RowTrigger, routine: Routine, routines: Mapping[str, Routine], table: Table, dialect: Dialect
) -> Procedure:
    frame = Frame()
    context = Context(
        routine.catalog, dialect, Parameters.none(), in_procedure=True, routines=routines, invocation=frame.invocation,
        conflicts=written.language == "plpgsql",
    )  # fmt: skip
    if written.language == "plpgsql":
        binder, names = trigger_body(context, frame, routine.signature, table, written.events)
        body = bind_body(binder, written.body, names)
    else:
        body = own_body(written, context, frame, routine.signature, table)
    parameters = tuple(item.name for item in routine.signature.parameters)
    return Procedure(written.key, parameters, tuple(frame.types), body, routine, (), frame.own)


def _header(text: str, dialect: Dialect) -> Header:
    try:
        return read_header(text, dialect)
    except RecursionError as error:
        raise Unsupported("a routine nested too deeply") from error


def _add_header(header: Header, headers: dict[str, Header], refused: dict[str, str], dialect: Dialect) -> None:
    """Take a routine in. Raises Unsupported for a second one of the name that takes other arguments."""
    overloads = dialect.rules.definitions.overloads_routines
    key = header.name
    before = headers.get(key)
    if before is not None and (
        [item.type.split() for item in before.parameters if item.mode != "out"]
        != [item.type.split() for item in header.parameters if item.mode != "out"]
        if overloads
        else before.function is not header.function
    ):
        raise Unsupported(f"overloaded routine {key}")
    if before is not None and not header.replace:
        raise SchemaError(f"procedure {key!r} is created twice")
    if header.replace and not overloads:
        refused.pop(key, None)
    headers[key] = header


def _spread(procedures: dict[str, Procedure], refused: dict[str, str]) -> None:
    """Move the routines that call refused ones to these, until there are no more."""
    while True:
        hit = {
            name: callee
            for name, procedure in procedures.items()
            for callee in called(procedure.body)
            if callee in refused
        }
        if not hit:
            return
        for name, callee in hit.items():
            refused[name] = f"{refused[callee]}, in the definition of {callee}"
            del procedures[name]


# --- signatures ---------------------------------------------------------------------------------------------------


def _signature(key: str, header: Header, catalog: Catalog, dialect: Dialect) -> Signature:
    # PostgreSQL drops lengths and scales from the types of parameters and results.
    plain = header.language in ("plpgsql", "sql")

    def typed(text: str) -> SqlType:
        return _loosened(_read(text, catalog, dialect)) if plain else read_type(text, dialect)

    parameters: list[Parameter] = []
    seen: set[str] = set()
    for place, written in enumerate(header.parameters):
        name = written.name or f"${place + 1}"
        if name in seen:
            raise SchemaError(f"parameter {name!r} of procedure {key!r} is declared twice")
        seen.add(name)
        kind = typed(written.type)
        parameters.append(Parameter(name, kind, written.mode, _default(written, kind, catalog, dialect)))
    results, record = _results(key, header, parameters, typed, catalog, dialect)
    return Signature(
        key,
        tuple(parameters),
        header.function,
        results,
        header.rows,
        record,
        header.strict,
        header.stable,
        not plain,
        None if header.language == "sql" else "",
    )


def _results(
    key: str,
    header: Header,
    parameters: Sequence[Parameter],
    typed: Callable[[str], SqlType],
    catalog: Catalog,
    dialect: Dialect,
) -> tuple[tuple[tuple[str, SqlType], ...], bool]:
    """The columns of a function's result, and whether it is a row rather than a value."""
    if not header.function:
        return (), False
    answered = [(item.name, item.type) for item in parameters if item.mode != "in"]
    if header.table is not None:
        return tuple((column.name, typed(column.type)) for column in header.table), len(header.table) > 1
    returns = (header.returns or "").strip()
    if answered:
        return tuple(answered), len(answered) > 1
    if not returns:
        raise SchemaError(f"function {key!r} without RETURNS")
    word = returns.upper()
    if word == "VOID":
        return (), False
    if word in ("TRIGGER", "EVENT_TRIGGER"):
        raise Unsupported("trigger function")
    if word in ("RECORD", "REFCURSOR"):
        raise Unsupported(f"function that returns {word.lower()}")
    table = catalog.tables.get(folded_written_table(returns, dialect))
    if table is not None and table.refused:
        raise Unsupported(f"{table.refused}, in the definition of {table.name}")
    if table is not None and header.language != "psm":
        return tuple((column.name, column.type) for column in table.columns), True
    return ((key, typed(returns)),), False


def _read(text: str, catalog: Catalog, dialect: Dialect) -> SqlType:
    """A type, perhaps copied from a column."""
    if text.rstrip().upper().endswith("%TYPE"):
        parts = [folded_written(part.strip(), dialect) for part in text.rstrip()[:-5].split(".")]
        if len(parts) < 2:
            raise UnknownTable(parts[0])
        table = find_table(parts[-2], catalog.tables, dialect)
        for column in table.columns:
            if column.name == parts[-1]:
                return column.type
        raise Unsupported(f"type {text}")
    return read_type(text, dialect)


def _loosened(kind: SqlType) -> SqlType:
    if kind.kind in (Kind.NUMERIC, Kind.TEXT):
        return replace(kind, precision=None, scale=None, length=None)
    return kind


def _default(written: WrittenParameter, kind: SqlType, catalog: Catalog, dialect: Dialect) -> Expr | None:
    if written.default is None:
        return None
    context = Context(catalog, dialect, Parameters.none())
    target = Variable(-1, kind, written.name)
    return stored(bind_value(written.default, context, "DEFAULT"), target, context)


# --- bodies -------------------------------------------------------------------------------------------------------


def _procedure(header: Header, routine: Routine, routines: Mapping[str, Routine], dialect: Dialect) -> Procedure:
    frame = Frame()
    signature = routine.signature
    variables = [frame.slot(parameter.name, parameter.type) for parameter in signature.parameters]
    answers = [variable for variable, item in zip(variables, signature.parameters, strict=True) if item.mode != "in"]
    if header.table is not None:
        answers = [frame.slot(name, kind) for name, kind in signature.results]
    named = {variable.name: variable for variable in [*variables, *(answers if header.table is not None else ())]}
    # A parameter without a name, and any other too, is $1, $2, ... in PostgreSQL's languages.
    numbered = {
        spelling: variable for place, variable in enumerate(variables) for spelling in (f"${place + 1}", str(place + 1))
    }
    qualified = {(signature.name, name): variable for name, variable in named.items()}
    psm = header.language == "psm"
    names = Names(variables=named if psm else {**numbered, **named}, qualified={} if psm else qualified)
    context = Context(
        routine.catalog, dialect, Parameters.none(), in_procedure=True, routines=routines, invocation=frame.invocation,
        conflicts=header.language == "plpgsql", columns_first=header.language == "sql",
    )  # fmt: skip
    body: tuple[Statement, ...]
    if psm:
        if signature.function and not dialect.rules.definitions.psm_functions:
            raise Unsupported("CREATE FUNCTION without a language")
        result = signature.results[0][1] if signature.results else None
        body = PsmBinder(context, frame, result).body(header.body, names)
        if signature.function and not _returns(body):
            raise SchemaError(f"function {signature.name!r} without RETURN")
        parts = list(walk_parts(body)) if signature.function else []
        if any(isinstance(part, Handled) for part in parts) and any(isinstance(part, _WRITES) for part in parts):
            # within a query MariaDB keeps what a statement that fails has done before
            raise Unsupported("a HANDLER in a function that writes")
    elif header.language == "plpgsql":
        routine_body = Body(context, frame, signature, tuple(answers))
        body = bind_body(routine_body, header.body, names)
        if signature.function and answers and not signature.rows:
            body = (*body, Return(tuple(answers)))
    else:
        body = bind_sql_body(header.body, context, frame, signature, names)
    handed = tuple(variable.slot for variable in answers) if not signature.function else ()
    return Procedure(
        signature.name, tuple(item.name for item in signature.parameters), tuple(frame.types), body, routine, handed,
        frame.own,
    )  # fmt: skip


def _returns(body: Sequence[Statement]) -> bool:
    return any(isinstance(item, Return) or _returns(tuple(nested(item))) for item in body)


def _recursive(procedures: Mapping[str, Procedure]) -> list[str]:
    """Those that may call themselves, which MySQL's functions cannot, and its procedures only where a variable of the
    session says so."""
    calls = {name: called(procedure.body) for name, procedure in procedures.items()}

    def reaches(name: str) -> set[str]:
        found: set[str] = set()
        pending = [name]
        while pending:
            for callee in calls.get(pending.pop(), set()) - found:
                found.add(callee)
                pending.append(callee)
        return found

    return [name for name in procedures if name in reaches(name)]


def called(statements: Sequence[Statement]) -> set[str]:
    """The routines that statements call directly."""
    found = {routine.signature.name for routine in routines_in(tuple(statements))}
    pending = list(statements)
    while pending:
        item = pending.pop()
        if isinstance(item, Call):
            found.add(item.procedure)
        pending.extend(nested(item))
    return found

"""PL/pgSQL bodies into programs (PostgreSQL manual, chapter 41). Does not know how a program is run.

A name that is a variable and a column is an error, raised when its statement runs. A RECORD takes its shape from the
first query that is assigned to it; one that could be read before it is assigned is refused, and so is one with several
shapes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sql_semantics.errors import SchemaError, SqlError, UnknownTable, Unsupported
from sql_semantics.frontend.binding import bind_call, bind_text
from sql_semantics.frontend.bodies import (
    Cursor,
    Frame,
    Names,
    Record,
    bind_condition,
    bind_value,
    converted,
    expression_node,
    late,
    query_outputs,
    read_type,
    same_shape,
    single_row,
    stored,
)
from sql_semantics.frontend.coerce import comparable, settle_alone
from sql_semantics.frontend.conditions import checked_state, postgres_conditions, state_of
from sql_semantics.frontend.expressions import Binder
from sql_semantics.frontend.headers import unquoted
from sql_semantics.frontend.scope import Context, Scope
from sql_semantics.frontend.skeleton import Block, Branches, Choice, Item, Piece, Rounds, Simple, tokens
from sql_semantics.ir.expressions import Binary, Column, Const, Expr, ScalarQuery, Variable
from sql_semantics.ir.nesting import nested
from sql_semantics.ir.programs import (
    Attempt,
    CloseCursor,
    Fetch,
    Iterate,
    Labelled,
    Leave,
    Loop,
    OpenCursor,
    Perform,
    Raise,
    RangeLoop,
    Reraise,
    Return,
    ReturnNext,
    ReturnQuery,
    RowLoop,
)
from sql_semantics.ir.routines import Signature
from sql_semantics.ir.statements import (
    If,
    OutputColumn,
    Query,
    SetVariable,
    Statement,
    Write,
)
from sql_semantics.values.types import BOOLEAN, INT, INTEGER_KINDS, NULL, TEXT, Kind, SqlType

_LEVELS = frozenset({"DEBUG", "LOG", "INFO", "NOTICE", "WARNING", "EXCEPTION"})
_REFUSED = {
    "EXECUTE": "EXECUTE (dynamic SQL)",
    "COMMIT": "COMMIT in a procedure",
    "ROLLBACK": "ROLLBACK in a procedure",
    "ASSERT": "ASSERT",
    "MOVE": "MOVE",
    "SAVEPOINT": "SAVEPOINT in a procedure",
    "ABORT": "ROLLBACK in a procedure",
    "LOCK": "LOCK",
    "SET": "SET",
    "RESET": "RESET",
}
_SQLERRM = "sqlerrm"


@dataclass(slots=True)
class PlpgsqlBinder:
    """Binds one body. `found` and `count` are the slots of FOUND and ROW_COUNT, where the body uses them; `answers`
    the OUT and INOUT parameters; `assigned` the records that are certain to be assigned where binding stands."""

    context: Context
    frame: Frame
    signature: Signature
    answers: tuple[Variable, ...]
    found: int | None = None
    count: int | None = None
    assigned: frozenset[int] = frozenset()

    def body(self, block: Block, names: Names) -> tuple[Statement, ...]:
        """The routine's outermost block, behind FOUND's first value."""
        start: list[Statement] = []
        if mentions(block, "FOUND"):
            variable = self.frame.slot("found", BOOLEAN)
            self.found = variable.slot
            start.append(SetVariable(variable.slot, Const(False, BOOLEAN)))
            names = replace(names, variables={"found": variable, **names.variables})
        if mentions(block, "ROW_COUNT"):
            self.count = self.frame.slot("row_count", NULL).slot
        return (*start, *self.block(block, names))

    def within(self, names: Names, *refused: str) -> Context:
        """The context of a statement: records as their fields, as far as they are certain to be assigned."""
        qualified = dict(names.qualified)
        for name, record in names.records.items():
            qualified[name, ""] = Variable(-1, NULL, name)
            if record.fields is not None and id(record) in self.assigned:
                qualified.update({(name, field.name): field for field in record.fields})
        return replace(
            self.context,
            variables=names.variables,
            qualified=qualified,
            refused=frozenset({_SQLERRM, "sqlstate", *names.records, *names.cursors, *refused}),
        )

    # --- blocks and declarations ----------------------------------------------------------------------------------

    def block(self, block: Block, names: Names) -> tuple[Statement, ...]:
        """[DECLARE ...] BEGIN ... [EXCEPTION ...] END."""
        label = self.frame.label()
        names = names.deeper(label, None if block.label is None else block.label.lower(), False)
        before = self.assigned
        start: list[Statement] = []
        own: set[str] = set()
        for piece in block.declarations:
            names, statements = self.declare(piece, names, own, (block.label or "").lower())
            start += statements
        if block.exceptions is None:
            body = self.items(block.items, names)
        else:
            body = (self.attempt(block, names),)
        if _leaves(body, label):
            body = (Labelled(label, body),)
            self.assigned &= before
        return (*start, *body)

    def attempt(self, block: Block, names: Names) -> Statement:
        """The part with EXCEPTION clauses."""
        assert block.exceptions is not None
        before = self.assigned
        body = self.items(block.items, names)
        after = [self.assigned]
        state = self.frame.slot("sqlstate", TEXT)
        clauses = []
        for piece, items in block.exceptions:
            self.assigned = before
            inside = replace(names.with_variable("sqlstate", state), in_handler=True)
            clauses.append((postgres_conditions(piece), self.items(items, inside)))
            after.append(self.assigned)
        self.assigned = frozenset.intersection(*after)
        return Attempt(body, tuple(clauses), state.slot)

    def declare(self, piece: Piece, names: Names, own: set[str], label: str) -> tuple[Names, Sequence[Statement]]:
        """One declaration."""
        words = piece.words()
        name = _name(piece.tokens[0])
        if name in own:
            raise SchemaError(f"variable {name!r} is declared twice")
        own.add(name)
        if words[1:2] == ["CURSOR"] or words[1:3] == ["SCROLL", "CURSOR"] or words[1:4] == ["NO", "SCROLL", "CURSOR"]:
            return self.declare_cursor(piece, name, names)
        if words[1:3] == ["ALIAS", "FOR"]:
            meant = names.variables.get(_name(piece.tokens[3]))
            if meant is None:
                raise SchemaError(f"DECLARE {piece.text}")
            return names.with_variable(name, meant, label), []
        constant = words[1:2] == ["CONSTANT"]
        end = piece.find("DEFAULT", ":=", "=")
        value = None if end < 0 else piece.slice(end + 1)
        written = piece.slice(1 + constant, None if end < 0 else end)
        if written.find("NOT", "COLLATE") >= 0:
            raise Unsupported("NOT NULL or COLLATE of a variable")
        kinds = written.words()
        if kinds == ["RECORD"]:
            if value is not None:
                raise Unsupported("a record with a default")
            hidden = names.with_variable(name, Variable(-1, NULL, name))
            variables = {key: item for key, item in hidden.variables.items() if key != name}
            return replace(hidden, variables=variables, records={**hidden.records, name: Record(name)}), []
        if kinds == ["REFCURSOR"]:
            raise Unsupported("REFCURSOR variable")
        if kinds[-2:] == ["%", "ROWTYPE"]:
            return self.declare_row(written.slice(0, -2).text, name, names, value)
        if len(kinds) == 1 and _name(written.tokens[0]) in self.context.catalog.tables:
            return self.declare_row(written.text, name, names, value)
        copied = kinds[-2:] == ["%", "TYPE"]
        kind = self.copied_type(written, names) if copied else read_type(written.text, self.context.dialect)
        variable = self.frame.slot(name, kind)
        statements: Sequence[Statement] = []
        if value is not None:
            context, text = self.within(names), value
            statements = late(
                lambda: [SetVariable(variable.slot, stored(self.value(text, context), variable, context))]
            )
        elif names.loops:
            statements = [SetVariable(variable.slot, Const(None, kind))]
        return names.with_variable(name, variable, label), statements

    def copied_type(self, piece: Piece, names: Names) -> SqlType:
        """``table.column%TYPE`` or ``variable%TYPE``."""
        parts = [unquoted(text).lower() for kind, text, *_ in piece.tokens[:-2] if kind in ("NAME", "QUOTED")]
        if len(parts) == 1 and parts[0] in names.variables:
            return names.variables[parts[0]].type
        if len(parts) == 3 and parts[0] == "public":
            parts = parts[1:]
        if len(parts) == 2:
            table = self.context.catalog.tables.get(parts[0])
            if table is None:
                raise UnknownTable(parts[0])
            for column in table.columns:
                if column.name == parts[1]:
                    return column.type
        raise Unsupported(f"type {piece.text}")

    def declare_row(
        self, written: str, name: str, names: Names, value: Piece | None
    ) -> tuple[Names, Sequence[Statement]]:
        """A variable with a table's columns as fields, all NULL at first."""
        if value is not None:
            raise Unsupported("a record with a default")
        table = self.context.catalog.tables.get(unquoted(written).lower())
        if table is None:
            raise UnknownTable(written)
        fields = tuple(self.frame.slot(column.name, column.type) for column in table.columns)
        record = Record(name, fields, True)
        self.assigned |= {id(record)}
        reset = [SetVariable(field.slot, Const(None, field.type)) for field in fields] if names.loops else []
        variables = {key: item for key, item in names.variables.items() if key != name}
        return replace(names, variables=variables, records={**names.records, name: record}), reset

    def declare_cursor(self, piece: Piece, name: str, names: Names) -> tuple[Names, Sequence[Statement]]:
        """``name CURSOR [(parameters)] FOR query``."""
        start = piece.find("FOR", "IS")
        if start < 0:
            raise SchemaError(f"DECLARE {piece.text}")
        parameters: list[Variable] = []
        inner = names
        opening = next((i for i, token in enumerate(piece.tokens[:start]) if token[0] == "LPAR"), None)
        if opening is not None:
            for part in piece.slice(opening + 1, start - 1).split():
                kind = read_type(part.slice(1).text, self.context.dialect)
                parameters.append(self.frame.slot(_name(part.tokens[0]), kind))
                inner = inner.with_variable(parameters[-1].name, parameters[-1], name)
        slot = self.frame.slot(name, NULL).slot
        query = self.query(piece.slice(start + 1), inner)
        cursor = Cursor(slot, query, tuple(parameters))
        reset: list[Statement] = [SetVariable(slot, Const(None, NULL))] if names.loops else []
        variables = {key: item for key, item in names.variables.items() if key != name}
        return replace(names, variables=variables, cursors={**names.cursors, name: cursor}), reset

    # --- control flow -----------------------------------------------------------------------------------------------

    def items(self, items: Sequence[Item], names: Names) -> tuple[Statement, ...]:
        """A sequence of statements."""
        return tuple(statement for item in items for statement in self.item(item, names))

    def item(self, item: Item, names: Names) -> Sequence[Statement]:
        """One statement."""
        match item:
            case Block():
                return self.block(item, names)
            case Branches(branches, otherwise):
                context = self.within(names)
                conditions = [bind_condition(piece, context, "IF") for piece, _ in branches]
                bodies = self.alternatives([*(body for _, body in branches), otherwise], names)
                return [If(tuple(zip(conditions, bodies, strict=False)), bodies[-1])]
            case Choice():
                return late(lambda: self.choice(item, names))
            case Rounds("for_"):
                return self.for_loop(item, names)
            case Rounds():
                label, inner = self.enter(item, names)
                condition = None if item.head is None else bind_condition(item.head, self.within(names), "WHILE")
                return [Loop(label, self.round(item.body, inner), condition)]
            case Simple(piece):
                return self.simple(piece, names)
        raise AssertionError(f"{type(item).__name__} in PL/pgSQL")

    def alternatives(self, bodies: Sequence[Sequence[Item]], names: Names) -> list[tuple[Statement, ...]]:
        """Bodies of which one runs: a record is assigned after them if it is in each."""
        before, after = self.assigned, []
        bound = []
        for body in bodies:
            self.assigned = before
            bound.append(self.items(body, names))
            after.append(self.assigned)
        self.assigned = frozenset.intersection(*after)
        return bound

    def enter(self, item: Rounds, names: Names) -> tuple[int, Names]:
        """A loop's label, and the names inside."""
        label = self.frame.label()
        return label, names.deeper(label, None if item.label is None else item.label.lower(), True)

    def round(self, body: Sequence[Item], names: Names) -> tuple[Statement, ...]:
        """A loop's body, which may not run at all."""
        before = self.assigned
        bound = self.items(body, names)
        self.assigned = before
        return bound

    def choice(self, item: Choice, names: Names) -> Sequence[Statement]:
        """The CASE statement; the subject is evaluated once. 20000 where no branch is taken."""
        context = self.within(names)
        bodies = self.alternatives([*(body for _, body in item.branches), item.otherwise or ()], names)
        otherwise: tuple[Statement, ...] = bodies[-1]
        if item.otherwise is None:
            otherwise = (Raise("20000", "case not found"),)
        statements: list[Statement] = []
        conditions: list[Expr] = []
        subject: Expr | None = None
        if item.subject is not None:
            value = settle_alone(self.value(item.subject, context), context)
            kept = self.frame.slot("", value.type)
            statements.append(SetVariable(kept.slot, value))
            subject = kept
        binder = Binder(context, Scope(), "CASE")
        for piece, _ in item.branches:
            if subject is None:
                conditions.append(bind_condition(piece, context, "CASE"))
                continue
            condition: Expr | None = None
            for part in piece.split():
                found = binder.value(expression_node(part, context))
                equal = Binary("=", *comparable(subject, found, context, "="), BOOLEAN)
                condition = equal if condition is None else Binary("or", condition, equal, BOOLEAN)
            assert condition is not None
            conditions.append(condition)
        return [*statements, If(tuple(zip(conditions, bodies, strict=False)), otherwise)]

    def for_loop(self, item: Rounds, names: Names) -> Sequence[Statement]:
        """FOR over a range, a query or a cursor."""
        assert item.head is not None
        head = item.head
        into = head.find("IN")
        if into < 1:
            raise SchemaError(f"FOR {head.text}")
        if head.text.upper().startswith("FOREACH"):
            raise Unsupported("FOREACH")
        rest = head.slice(into + 1)
        if rest.words()[0] == "EXECUTE":
            raise Unsupported("EXECUTE (dynamic SQL)")
        dots = rest.find("..")
        if dots > 0:
            return self.range_loop(item, head.slice(0, into), rest, dots, names)
        label, inner = self.enter(item, names)
        first = rest.tokens[0]
        arguments: tuple[tuple[int, Expr], ...] = ()
        cursor = names.cursors.get(_name(first)) if first[0] == "NAME" else None
        if cursor is not None:
            assert cursor.query is not None
            if into != 1:
                raise SchemaError(f"FOR {head.text}")
            # The loop variable is a record of the loop's own, whatever else has its name.
            arguments = self.cursor_arguments(cursor, rest.slice(1), names)
            record = Record(_name(head.tokens[0]))
            variables = {key: value for key, value in inner.variables.items() if key != record.name}
            inner = replace(inner, variables=variables, records={**inner.records, record.name: record})
            query: Statement = cursor.query
            targets = self.shaped(record, query_outputs(query) or ())
        else:
            query = self.rows(rest, names)
            targets = self.targets(head.slice(0, into), names, query)
        columns = query_outputs(query)
        if columns is None:
            raise SchemaError(f"FOR over {rest.text}, which returns no rows")
        if len(columns) != len(targets):
            raise Unsupported("a row of another number of columns than variables")
        row = converted(columns, targets, self.within(names))
        body = self.round(item.body, inner)
        slots = tuple(target.slot for target in targets)
        assert isinstance(query, Query | Write)
        return [RowLoop(label, query, row, slots, self.found, body, arguments, None if cursor is None else cursor.slot)]

    def range_loop(self, item: Rounds, target: Piece, rest: Piece, dots: int, names: Names) -> Sequence[Statement]:
        """``FOR i IN [REVERSE] low..high [BY step]``: i is a variable of the loop's own."""
        if len(target.tokens) != 1:
            raise SchemaError(f"FOR {target.text}")
        reverse = rest.words()[0] == "REVERSE"
        step = rest.find("BY", start=dots)
        context = self.within(names)
        counter = Variable(-1, INT, "a bound of FOR")
        low = stored(self.value(rest.slice(int(reverse), dots), context), counter, context)
        high = stored(self.value(rest.slice(dots + 1, None if step < 0 else step), context), counter, context)
        by = None if step < 0 else stored(self.value(rest.slice(step + 1), context), counter, context)
        label, inner = self.enter(item, names)
        name = _name(target.tokens[0])
        variable = self.frame.slot(name, INT)
        inner = inner.with_variable(name, variable, (item.label or "").lower())
        body = self.round(item.body, inner)
        return [RangeLoop(label, variable.slot, low, high, by, reverse, self.found, body)]

    # --- statements -------------------------------------------------------------------------------------------------

    def simple(self, piece: Piece, names: Names) -> Sequence[Statement]:
        """A statement without statements inside."""
        words = piece.words()
        first = words[0]
        equals = _assignment(piece)
        if equals > 0:
            return late(lambda: self.assignment(piece, equals, names))
        match first:
            case "NULL" if len(words) == 1:
                return []
            case "RETURN":
                return late(lambda: self.return_(piece, names))
            case "RAISE":
                return late(lambda: self.raise_(piece, names))
            case "EXIT" | "CONTINUE":
                return self.jump(piece, names)
            case "PERFORM":
                return late(lambda: [Perform(self.rows(piece.slice(1), names, "SELECT "), (), (), False, self.found,
                                             self.count)])  # fmt: skip
            case "CALL":
                return late(lambda: [bind_call(piece.text, self.within(names))])
            case "OPEN":
                return late(lambda: [self.open(piece, names)])
            case "FETCH":
                return late(lambda: [self.fetch(piece, names)])
            case "CLOSE":
                return [CloseCursor(self.cursor(piece.tokens[1], names).slot)]
            case "GET":
                return self.diagnostics(piece, names)
        if first in _REFUSED:
            raise Unsupported(_REFUSED[first])
        return late(lambda: [self.sql(piece, names)])

    def assignment(self, piece: Piece, equals: int, names: Names) -> Sequence[Statement]:
        """``target := expression``."""
        target = self.target(piece.slice(0, equals), names)
        context = self.within(names)
        value = self.value(piece.slice(equals + 1), context)
        return [SetVariable(target.slot, stored(value, target, context))]

    def value(self, piece: Piece, context: Context) -> Expr:
        """An expression; what follows FROM makes it a query of one row."""
        if piece.find("FROM") < 0:
            return bind_value(piece, context, "an assignment")
        bound = bind_value(tokens(f"(SELECT {piece.text})", "plpgsql"), context, "an assignment")
        if not isinstance(bound, ScalarQuery) or not single_row(bound.query):
            raise Unsupported(f"an assignment from a query that may have several rows ({piece.text})")
        return bound

    def jump(self, piece: Piece, names: Names) -> Sequence[Statement]:
        """``EXIT | CONTINUE [label] [WHEN condition]``."""
        words = piece.words()
        condition = None
        when = piece.find("WHEN")
        if when > 0:
            condition = bind_condition(piece.slice(when + 1), self.within(names), "EXIT")
            words = words[:when]
        leave = words[0] == "EXIT"
        if len(words) == 1:
            if not names.loops:
                raise SchemaError(f"{words[0]} outside a loop")
            number = names.loops[-1]
        else:
            found = names.labels.get(words[1].lower())
            if found is None or not (found[1] or leave):
                raise SchemaError(f"{piece.text}: no such label")
            number = found[0]
        jump: Statement = Leave(number) if leave else Iterate(number)
        return [jump] if condition is None else [If(((condition, (jump,)),), ())]

    def return_(self, piece: Piece, names: Names) -> Sequence[Statement]:
        """RETURN, RETURN NEXT and RETURN QUERY."""
        signature, context = self.signature, self.within(names)
        words = piece.words()
        results = tuple(Variable(-1, kind, name) for name, kind in signature.results)
        if words[1:2] == ["QUERY"]:
            if words[2:3] == ["EXECUTE"]:
                raise Unsupported("EXECUTE (dynamic SQL)")
            query = self.rows(piece.slice(2), names)
            columns = query_outputs(query)
            if columns is None:
                raise SchemaError(piece.text)
            row = self.returned(columns)
            if row is None:
                return [Raise("42804", "structure of query does not match function result type")]
            return [ReturnQuery(query, row, self.found, self.count)]
        if words[1:2] == ["NEXT"]:
            rest = piece.slice(2)
            if not rest.tokens:
                return [ReturnNext(self.answers)]
            return [ReturnNext(self.returned_row(rest, results, names))]
        rest = piece.slice(1)
        if not rest.tokens:
            if self.signature.rows or not self.signature.function or not results:
                return [Return(())]
            if not self.answers:
                raise SchemaError("RETURN without a value")
            return [Return(self.answers)]
        if not results or self.answers or signature.rows:
            raise SchemaError(f"{piece.text} in a routine that returns no such value")
        if signature.record:
            return [Return(self.returned_row(rest, results, names))]
        return [Return((stored(self.value(rest, context), results[0], context),))]

    def returned_row(self, piece: Piece, results: tuple[Variable, ...], names: Names) -> tuple[Expr, ...]:
        """What RETURN [NEXT] gives: a record's fields, or one value."""
        context = self.within(names)
        if len(piece.tokens) == 1:
            record = names.records.get(_name(piece.tokens[0]))
            if record is not None:
                if record.fields is None or id(record) not in self.assigned:
                    raise Unsupported(f"record {record.name}, which may not be assigned yet")
                if [field.type for field in record.fields] != [result.type for result in results]:
                    raise Unsupported("RETURN of a record of another shape")
                return record.fields
        if len(results) != 1:
            raise Unsupported(f"RETURN {piece.text}")
        return (stored(self.value(piece, context), results[0], context),)

    def returned(self, columns: Sequence[OutputColumn]) -> tuple[Expr, ...] | None:
        """A query's row as the function's result; None where the types differ (no conversion is tried)."""
        results = self.signature.results
        if len(columns) != len(results):
            return None
        row: list[Expr] = []
        for place, (column, (_, kind)) in enumerate(zip(columns, results, strict=True)):
            found = column.expression.type
            if found.kind is not kind.kind:
                return None
            if found.kind is Kind.TEXT and found != kind:
                raise Unsupported(f"RETURN QUERY of {found} where {kind} is declared")
            row.append(Column(place, kind, column.name))
        return tuple(row)

    def raise_(self, piece: Piece, names: Names) -> Sequence[Statement]:
        """RAISE. Below EXCEPTION it has no effect but that its arguments are evaluated."""
        words = piece.words()
        if len(words) == 1:
            if not names.in_handler:
                return [Raise("0Z002", "RAISE without parameters outside a handler")]
            return [Reraise()]
        level, place = "EXCEPTION", 1
        if words[1] in _LEVELS:
            level, place = words[1], 2
        using = piece.find("USING", start=place)
        main = piece.slice(place, None if using < 0 else using)
        state = "P0001"
        arguments: list[Piece] = []
        if main.tokens and main.tokens[0][0] in ("STRING", "DOLLAR"):
            arguments = main.split()[1:]
        elif main.words()[:1] == ["SQLSTATE"]:
            state = checked_state(main.tokens[1][1])
        elif main.tokens:
            state = state_of(main.tokens[0][1])
        if using > 0:
            for option in piece.slice(using + 1).split():
                equals = option.find("=", ":=")
                if equals != 1:
                    raise SchemaError(f"RAISE ... USING {option.text}")
                given = option.slice(2)
                if option.words()[0] != "ERRCODE":
                    arguments.append(given)
                elif len(given.tokens) == 1 and given.tokens[0][0] == "STRING":
                    text = given.text[1:-1]
                    code = len(text) == 5 and text.isalnum() and text.upper() == text
                    state = text if code else state_of(text)
                else:
                    raise Unsupported("ERRCODE that is no literal")
        told = names.with_variable(_SQLERRM, self.frame.slot(_SQLERRM, TEXT))
        evaluated: list[Statement] = []
        for part in arguments:
            context = self.within(told)
            value = settle_alone(self.value(part, context), context)
            if not isinstance(value, Const | Variable):
                evaluated.append(SetVariable(self.frame.slot("", value.type).slot, value))
        if level != "EXCEPTION":
            return evaluated
        return [*evaluated, Raise(state, "raised")]

    def diagnostics(self, piece: Piece, names: Names) -> Sequence[Statement]:
        """``GET [CURRENT] DIAGNOSTICS variable = ROW_COUNT``."""
        start = piece.find("DIAGNOSTICS")
        if start < 0 or piece.words()[1] == "STACKED":
            raise Unsupported("GET STACKED DIAGNOSTICS")
        statements: list[Statement] = []
        for part in piece.slice(start + 1).split():
            equals = part.find("=", ":=")
            if part.words()[equals + 1 :] != ["ROW_COUNT"] or self.count is None:
                raise Unsupported(f"{part.slice(equals + 1).text} in GET DIAGNOSTICS")
            target = self.target(part.slice(0, equals), names)
            if target.type.kind not in INTEGER_KINDS:
                raise Unsupported(f"ROW_COUNT in a variable of type {target.type}")
            statements.append(SetVariable(target.slot, Variable(self.count, target.type, "row_count")))
        return statements

    # --- cursors ----------------------------------------------------------------------------------------------------

    def cursor(self, token: tuple[str, str, int, int, int], names: Names) -> Cursor:
        """A bound cursor by its name."""
        cursor = names.cursors.get(_name(token))
        if cursor is None:
            raise Unsupported(f"cursor {token[1]}, which is not bound to a query")
        return cursor

    def cursor_arguments(self, cursor: Cursor, piece: Piece, names: Names) -> tuple[tuple[int, Expr], ...]:
        """The values of a cursor's parameters, in parentheses."""
        given = piece.slice(1, -1).split() if len(piece.tokens) > 2 else []
        if len(given) != len(cursor.parameters):
            raise SchemaError(f"a cursor with {len(cursor.parameters)} parameters is given {len(given)}")
        context = self.within(names)
        return tuple(
            (parameter.slot, stored(self.value(part, context), parameter, context))
            for parameter, part in zip(cursor.parameters, given, strict=True)
        )

    def open(self, piece: Piece, names: Names) -> Statement:
        """OPEN of a bound cursor."""
        cursor = self.cursor(piece.tokens[1], names)
        assert cursor.query is not None
        return OpenCursor(cursor.slot, cursor.query, self.cursor_arguments(cursor, piece.slice(2), names))

    def fetch(self, piece: Piece, names: Names) -> Statement:
        """``FETCH [NEXT] [FROM | IN] cursor INTO targets``."""
        into = piece.find("INTO")
        words = piece.words()[1:into]
        if len(words) > 1 and words[0] == "NEXT":
            words = words[1:]
        if len(words) > 1 and words[0] in ("FROM", "IN"):
            words = words[1:]
        if len(words) != 1:
            raise Unsupported(f"{piece.text}: another direction than NEXT")
        cursor = self.cursor(piece.tokens[into - 1], names)
        assert cursor.query is not None
        targets = self.targets(piece.slice(into + 1), names, cursor.query)
        columns = query_outputs(cursor.query) or ()
        if len(columns) != len(targets):
            raise Unsupported("a row of another number of columns than variables")
        row = converted(columns, targets, self.within(names))
        return Fetch(cursor.slot, row, tuple(target.slot for target in targets), False, self.found, self.count)

    # --- SQL --------------------------------------------------------------------------------------------------------

    def rows(self, piece: Piece, names: Names, verb: str = "") -> Query | Write:
        """A query, or a write, perhaps with RETURNING."""
        statement = bind_text(verb + piece.text, self.within(names))
        if not isinstance(statement, Query | Write):
            raise Unsupported(f"{piece.words()[0]} in a procedure")
        return statement

    def query(self, piece: Piece, names: Names) -> Query:
        """The query of a cursor."""
        statement = self.rows(piece, names)
        if isinstance(statement, Write):
            raise SchemaError(f"a cursor for {piece.text}")
        return statement

    def sql(self, piece: Piece, names: Names) -> Statement:
        """An SQL statement, perhaps with INTO."""
        words = piece.words()
        start = 0
        if words[0] == "INSERT":
            start = max(piece.find("RETURNING"), 2)
        into = piece.find("INTO", start=start)
        if into < 0:
            statement = self.rows(piece, names)
            if query_outputs(statement) is not None:
                raise SqlError("42601", "query has no destination for result data")
            return Perform(statement, (), (), False, self.found, self.count)
        place = into + 1
        strict = words[place] == "STRICT"
        place += strict
        end = place
        while end < len(words) and piece.tokens[end][0] in ("NAME", "QUOTED", "PARAM"):
            end += 1
            while end + 1 < len(words) and words[end] == "." and piece.tokens[end + 1][0] in ("NAME", "QUOTED"):
                end += 2
            if end == len(words) or words[end] != ",":
                break
            end += 1
        stop = piece.tokens[end][2] if end < len(words) else len(piece.text)
        text = f"{piece.text[: piece.tokens[into][2]]} {piece.text[stop:]}"
        bound = bind_text(text, self.within(names))
        columns = query_outputs(bound)
        if columns is None or not isinstance(bound, Query | Write):
            raise SqlError("42601", "INTO used with a command that cannot return data")
        targets = self.targets(piece.slice(place, end), names, bound)
        if len(columns) != len(targets):
            raise Unsupported("a row of another number of columns than variables")
        row = converted(columns, targets, self.within(names))
        slots = tuple(target.slot for target in targets)
        return Perform(bound, row, slots, strict, self.found, self.count)

    # --- targets ----------------------------------------------------------------------------------------------------

    def targets(self, piece: Piece, names: Names, query: Statement) -> tuple[Variable, ...]:
        """The variables that a query's row goes to; a record of no shape yet takes the query's."""
        parts = piece.split()
        if len(parts) == 1 and len(parts[0].tokens) == 1:
            record = names.records.get(_name(parts[0].tokens[0]))
            if record is not None:
                return self.shaped(record, query_outputs(query) or ())
        return tuple(self.target(part, names) for part in parts)

    def shaped(self, record: Record, columns: Sequence[OutputColumn]) -> tuple[Variable, ...]:
        """A record's fields, assigned from here on."""
        if record.fields is None:
            record.fields = tuple(self.frame.slot(column.name, column.expression.type) for column in columns)
        elif not record.fixed and not same_shape(columns, record.fields):
            raise Unsupported(f"record {record.name} with several shapes")
        self.assigned |= {id(record)}
        return record.fields

    def target(self, piece: Piece, names: Names) -> Variable:
        """A variable or a record's field."""
        parts = [_name(token) for token in piece.tokens[::2]]
        if len(piece.tokens) == 1:
            variable = names.variables.get(parts[0])
            if variable is not None:
                return variable
        elif len(piece.tokens) == 3 and piece.tokens[1][1] == ".":
            variable = self.within(names).qualified.get((parts[0], parts[1]))
            if variable is not None:
                return variable
        raise Unsupported(f"assignment to {piece.text}")


def _name(token: tuple[str, str, int, int, int]) -> str:
    """A name as it is compared; ``$1`` too."""
    return unquoted(token[1]) if token[0] == "QUOTED" else token[1].lower()


def _assignment(piece: Piece) -> int:
    """The place of the sign in an assignment, or -1 for another statement."""
    words = piece.words()
    place = 1
    while words[place : place + 1] == ["."]:
        place += 2
    if words[place : place + 1] == ["["]:
        raise Unsupported("assignment to an element of an array")
    return place if words[place : place + 1] in (["="], [":="]) else -1


def _leaves(body: Sequence[Statement], label: int) -> bool:
    """Whether anything inside leaves the block with this label."""
    return any(node == Leave(label) or _leaves(tuple(nested(node)), label) for node in body)


def mentions(item: Item | Sequence[Item], word: str) -> bool:
    """Whether a word stands anywhere in the text of a statement."""
    match item:
        case Simple(piece):
            return word in piece.words()
        case Block():
            pieces = [piece for piece, _ in item.exceptions or ()]
            bodies = [item.items, *(body for _, body in item.exceptions or ())]
            pieces += item.declarations
        case Branches():
            pieces = [piece for piece, _ in item.branches]
            bodies = [*(body for _, body in item.branches), item.otherwise]
        case Choice():
            pieces = [piece for piece, _ in item.branches] + ([] if item.subject is None else [item.subject])
            bodies = [*(body for _, body in item.branches), item.otherwise or ()]
        case Rounds():
            pieces = [] if item.head is None else [item.head]
            bodies = [item.body]
        case _:
            raise AssertionError(f"{type(item).__name__} in PL/pgSQL")
    return any(word in piece.words() for piece in pieces) or any(
        mentions(inner, word) for body in bodies for inner in body
    )

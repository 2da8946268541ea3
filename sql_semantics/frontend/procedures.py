"""Stored procedures into programs (paper §3.1, Fig. 2). Does not know how a program is run.

Each DECLARE gets a slot of its own in the frame, so that inner blocks shadow outer ones without any care at run time.
Procedures may call procedures defined later; recursion is refused, because a frame would then have no fixed place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from sql_semantics.errors import SchemaError, SqlError, Unsupported
from sql_semantics.frontend.binding import bind_call, bind_text, procedure_key
from sql_semantics.frontend.coerce import assign
from sql_semantics.frontend.dialects import check_dialect, sql_type
from sql_semantics.frontend.expressions import Binder
from sql_semantics.frontend.scope import Context, Parameters, Scope
from sql_semantics.frontend.skeleton import Assign, Block, Branches, Declare, Item, Piece, Skeleton, read_skeleton
from sql_semantics.frontend.syntax import Node, only, parse_one
from sql_semantics.ir.expressions import Variable
from sql_semantics.ir.schema import Catalog, Table
from sql_semantics.ir.statements import (
    Call,
    If,
    OrderKey,
    OutputColumn,
    Procedure,
    Select,
    SelectInto,
    SetVariable,
    Statement,
)
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.types import SqlType

Variables = Mapping[str, Variable]


def read_procedures(texts: Sequence[str], tables: Mapping[str, Table], dialect: Dialect) -> dict[str, Procedure]:
    """The procedures, by lower-case name.

    Raises SchemaError for text that cannot be read, Unsupported for what is not modelled (also for a body with a
    statement that would always fail), UnknownTable.
    """
    check_dialect(dialect)
    skeletons: dict[str, Skeleton] = {}
    for text in texts:
        skeleton = read_skeleton(text, dialect.name)
        key = procedure_key(_unquoted(skeleton.name), dialect)
        if key in skeletons:
            raise SchemaError(f"procedure {key!r} is created twice")
        skeletons[key] = skeleton
    signatures = {
        key: tuple(_type(kind, dialect) for _, kind in skeleton.parameters) for key, skeleton in skeletons.items()
    }
    procedures: dict[str, Procedure] = {}
    for key, skeleton in skeletons.items():
        context = Context(Catalog(tables), dialect, Parameters({}), in_procedure=True)
        try:
            procedures[key] = _Builder(context, signatures, []).procedure(key, skeleton, signatures[key])
        except SqlError as error:
            raise Unsupported(f"procedure {key}, a statement of which always fails: {error}") from error
    _refuse_recursion(procedures)
    return procedures


def _unquoted(name: str) -> str:
    if name[:1] in ("`", '"'):
        return name[1:-1].replace(name[0] * 2, name[0])
    return name


def _type(text: str, dialect: Dialect) -> SqlType:
    """A parameter's or variable's type, read as a column's."""
    tree = parse_one(f"CREATE TABLE t (c {text})", dialect.name)
    column = tree.this.expressions[0] if isinstance(tree.this, exp.Schema) and tree.this.expressions else None
    if not isinstance(column, exp.ColumnDef) or not isinstance(column.args.get("kind"), exp.DataType):
        raise Unsupported(f"type {text}")
    only(column, "this", "kind")
    return sql_type(column.args["kind"], dialect)


def calls(statements: Sequence[Statement]) -> set[str]:
    """The procedures that statements call directly."""
    found: set[str] = set()
    for statement in statements:
        if isinstance(statement, Call):
            found.add(statement.procedure)
        elif isinstance(statement, If):
            for _, body in statement.branches:
                found |= calls(body)
            found |= calls(statement.otherwise)
    return found


def _refuse_recursion(procedures: Mapping[str, Procedure]) -> None:
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        if name in path:
            raise Unsupported(f"recursive procedure {name}")
        if name not in done:
            for callee in calls(procedures[name].body):
                visit(callee, (*path, name))
            done.add(name)

    for name in procedures:
        visit(name, ())


@dataclass(slots=True)
class _Builder:
    """Builds one procedure; `frame` are the slots' types so far."""

    context: Context
    signatures: Mapping[str, tuple[SqlType, ...]]
    frame: list[SqlType]

    def procedure(self, name: str, skeleton: Skeleton, types: tuple[SqlType, ...]) -> Procedure:
        variables: dict[str, Variable] = {}
        for (written, _), kind in zip(skeleton.parameters, types, strict=True):
            key = _unquoted(written).lower()
            if key in variables:
                raise SchemaError(f"parameter {key!r} of procedure {name!r} is declared twice")
            variables[key] = self.slot(key, kind)
        body = self.block(skeleton.body, variables)
        return Procedure(name, tuple(variables), tuple(self.frame), body)

    def slot(self, name: str, kind: SqlType) -> Variable:
        self.frame.append(kind)
        return Variable(len(self.frame) - 1, kind, name)

    def block(self, block: Block, outer: Variables) -> tuple[Statement, ...]:
        variables = dict(outer)
        own: set[str] = set()
        statements: list[Statement] = []
        late = False
        for item in block.items:
            if isinstance(item, Declare):
                if late:
                    raise SchemaError("DECLARE after another statement of its block")
                statements += self.declare(item.piece, variables, own)
            else:
                late = True
                statements += self.item(item, variables)
        return tuple(statements)

    def item(self, item: Item, variables: Variables) -> Sequence[Statement]:
        match item:
            case Block():
                return self.block(item, variables)
            case Assign(piece):
                return [self.assignment(part, variables) for part in piece.split()]
            case Branches(branches, otherwise):
                return [
                    If(
                        tuple(
                            (self.binder(variables, "IF").condition(_expression(piece, self.context)),
                             self.items(body, variables))
                            for piece, body in branches
                        ),
                        self.items(otherwise, variables),
                    )
                ]  # fmt: skip
            case Declare():
                raise SchemaError("DECLARE outside the start of a block")
        return [self.sql(item.piece, variables)]

    def items(self, items: Sequence[Item], variables: Variables) -> tuple[Statement, ...]:
        return tuple(statement for item in items for statement in self.item(item, variables))

    def within(self, variables: Variables) -> Context:
        return replace(self.context, variables=variables)

    def binder(self, variables: Variables, clause: str) -> Binder:
        return Binder(self.within(variables), Scope(), clause)

    def declare(self, piece: Piece, variables: dict[str, Variable], own: set[str]) -> list[Statement]:
        words = [text.upper() for _, text, _, _, _ in piece.tokens]
        for word in ("CURSOR", "HANDLER", "CONDITION"):
            if word in words[1:3]:
                raise Unsupported(f"{word} in a procedure")
        names: list[str] = []
        place = 0
        while place < len(words) and piece.tokens[place][0] in ("NAME", "QUOTED"):
            names.append(_unquoted(piece.tokens[place][1]).lower())
            place += 1
            if place == len(words) or piece.tokens[place][0] != "COMMA":
                break
            place += 1
        defaults = [i for i, token in enumerate(piece.tokens) if token[0] == "DEFAULT" and token[4] == 0]
        end = defaults[0] if defaults else len(words)
        if not names or end <= place:
            raise SchemaError(f"DECLARE {piece.text}")
        kind = _type(piece.slice(place, end).text, self.context.dialect)
        statements: list[Statement] = []
        value = None
        if defaults:
            node = _expression(piece.slice(end + 1), self.context)
            value = assign(self.binder(variables, "DECLARE").value(node), kind, self.within(variables), "DEFAULT")
        for name in names:
            if name in own:
                raise SchemaError(f"variable {name!r} is declared twice")
            own.add(name)
            variable = self.slot(name, kind)
            variables[name] = variable
            if value is not None:
                statements.append(SetVariable(variable.slot, value))
        return statements

    def target(self, piece: Piece, variables: Variables, what: str) -> Variable:
        """The variable that SET or INTO names."""
        if len(piece.tokens) != 1 or piece.tokens[0][0] not in ("NAME", "QUOTED", "AT"):
            raise Unsupported(f"{what} {piece.text}")
        written = piece.tokens[0][1]
        variable = variables.get(_unquoted(written.removeprefix("@")).lower())
        if variable is None:
            if written.startswith("@@"):
                raise Unsupported(f"system variable {written}")
            raise Unsupported(f"user variable {written}" if written.startswith("@") else f"{what} {written}")
        return variable

    def assignment(self, piece: Piece, variables: Variables) -> Statement:
        texts = [text for _, text, _, _, _ in piece.tokens]
        equals = texts.index("=") if "=" in texts else -1
        if equals < 1 or equals == len(texts) - 1:
            raise SchemaError(f"SET {piece.text}")
        colon = equals > 1 and texts[equals - 1] == ":"
        variable = self.target(piece.slice(0, equals - colon), variables, "SET")
        value = self.binder(variables, "SET").value(_expression(piece.slice(equals + 1), self.context))
        return SetVariable(variable.slot, assign(value, variable.type, self.within(variables), variable.name))

    def sql(self, piece: Piece, variables: Variables) -> Statement:
        first = piece.tokens[0][0]
        context = self.within(variables)
        if first == "CALL":
            return bind_call(piece.text, context, self.signatures)
        into = [i for i, t in enumerate(piece.tokens) if t[1].upper() == "INTO" and t[4] == 0 and t[0] == "NAME"]
        if first != "SELECT" or not into:
            return bind_text(piece.text, context)
        if len(into) > 1:
            raise SchemaError("two INTO clauses in one SELECT")
        start, end = into[0], into[0] + 1
        while end < len(piece.tokens) and piece.tokens[end][0] in ("NAME", "QUOTED", "AT"):
            end += 1
            if end == len(piece.tokens) or piece.tokens[end][0] != "COMMA":
                break
            end += 1
        targets = [self.target(part, variables, "SELECT INTO") for part in piece.slice(start + 1, end).split()]
        stop = piece.tokens[end][2] if end < len(piece.tokens) else len(piece.text)
        query = bind_text(f"{piece.text[: piece.tokens[start][2]]} {piece.text[stop:]}", context)
        if not isinstance(query, Select):
            raise Unsupported("INTO without SELECT")
        return _into(query, targets, context)


def _into(query: Select, targets: Sequence[Variable], context: Context) -> SelectInto:
    """The outputs converted to the variables' types; what is ordered by stays unconverted."""
    if len(targets) != len(query.outputs):
        raise Unsupported("SELECT INTO with another number of variables than columns")
    outputs = tuple(
        OutputColumn(output.name, assign(output.expression, target.type, context, target.name))
        for output, target in zip(query.outputs, targets, strict=True)
    )
    order = query.order
    if outputs != query.outputs:
        if query.distinct:
            raise Unsupported("SELECT DISTINCT ... INTO with a conversion")
        order = tuple(
            key if key.output is None
            else OrderKey(query.outputs[key.output].expression, None, key.descending, key.nulls_first)
            for key in query.order
        )  # fmt: skip
    return SelectInto(replace(query, outputs=outputs, order=order), tuple(target.slot for target in targets))


def _expression(piece: Piece, context: Context) -> Node:
    """The parse tree of an expression that stands alone."""
    if not piece.tokens:
        raise SchemaError("an expression is missing in a procedure")
    tree = parse_one(f"SELECT {piece.text}", context.dialect.name)
    if not isinstance(tree, exp.Select) or len(tree.expressions) != 1:
        raise Unsupported(f"expression {piece.text}")
    only(tree, "expressions")
    node: Node = tree.expressions[0]
    if isinstance(node, exp.Alias):
        raise SchemaError(f"expression {piece.text}")
    return node

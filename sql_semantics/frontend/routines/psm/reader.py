"""SQL/PSM bodies, as MySQL and MariaDB have them, into programs (paper Fig. 2; MySQL manual 15.6).

A local variable hides a column of its name. The paper's ``@name`` is a parameter or a local; any other ``@name`` is
state of the session and refused, but for OUT arguments. Does not know how a program is run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sql_semantics.errors import SchemaError, Unsupported
from sql_semantics.frontend.binding import bind_call, bind_text
from sql_semantics.frontend.expressions.expressions import Binder
from sql_semantics.frontend.names.scope import Context, Scope
from sql_semantics.frontend.routines.bodies import (
    Cursor,
    Frame,
    Names,
    bind_condition,
    bind_value,
    expression_node,
    late,
    read_type,
)
from sql_semantics.frontend.routines.conditions import checked_state, numbered, psm_conditions
from sql_semantics.frontend.routines.psm.statements import fetch_, jump, select_into, signal
from sql_semantics.frontend.routines.skeleton import (
    Block,
    Branches,
    Choice,
    Declare,
    HandlerItem,
    Item,
    Piece,
    Rounds,
    Simple,
)
from sql_semantics.frontend.types.coerce import assign, is_loose
from sql_semantics.frontend.types.comparison import comparable
from sql_semantics.ir.expressions import Binary, Const, Expr, Variable
from sql_semantics.ir.programs import (
    CloseCursor,
    Conditions,
    Handled,
    Handler,
    Labelled,
    Leave,
    Loop,
    OpenCursor,
    Raise,
    Return,
)
from sql_semantics.ir.queries import Query, Select
from sql_semantics.ir.statements import If, SetVariable, Statement
from sql_semantics.ir.walks.nesting import nested
from sql_semantics.records import dataclass, replace
from sql_semantics.values.identifiers import folded_written
from sql_semantics.values.types import BOOLEAN, NULL, SqlType

_REFUSED = frozenset(
    {
        *("PREPARE", "EXECUTE", "DEALLOCATE", "START", "COMMIT", "ROLLBACK", "LOCK", "UNLOCK", "GET", "DO", "XA"),
        *("CREATE", "DROP", "ALTER", "TRUNCATE", "RENAME", "SHOW", "EXPLAIN", "PERFORM", "RAISE", "FLUSH", "KILL"),
    }
)


@dataclass(slots=True)
class PsmBinder:
    """Binds one body. `result` is the type that a function returns; `marks` says which of the labels are used."""

    context: Context
    frame: Frame
    result: SqlType | None

    def body(self, block: Block, names: Names) -> tuple[Statement, ...]:
        """The routine's outermost block."""
        return self.block(block, names)

    def within(self, names: Names) -> Context:
        """The context of a statement."""
        return replace(self.context, variables=names.variables, qualified=names.qualified)

    # --- blocks -------------------------------------------------------------------------------------------------

    def block(self, block: Block, names: Names) -> tuple[Statement, ...]:
        """BEGIN ... END. What it declares is set anew each time that it is entered."""
        label = self.frame.label()
        before = names
        names = names.deeper(label, self.label(block), False)
        start: list[Statement] = []
        handlers: list[tuple[HandlerItem, int]] = []
        own: set[str] = set()
        stage = 0
        body: list[Statement] = []
        for item in block.items:
            if isinstance(item, Declare):
                words = item.piece.words()
                this = 1 if words[1:2] == ["CURSOR"] else 0
                if stage > this:
                    raise SchemaError("DECLARE after what must follow it in its block")
                stage = this
                names, statements = self.declare(item.piece, names, own)
                start += statements
            elif isinstance(item, HandlerItem):
                if stage > 2:
                    raise SchemaError("DECLARE after another statement of its block")
                stage = 2
                handlers.append((item, len(handlers)))
            else:
                stage = 3
                body += self.item(item, names)
        if not handlers:
            inner = tuple(body)
            return (*start, Labelled(label, inner)) if _leaves(inner, label) else (*start, *inner)
        outside = replace(names, labels=before.labels, in_handler=True)
        bound = tuple(self.handler(item, outside) for item, _ in handlers)
        return (*start, Handled(label, bound, tuple(body)))

    def label(self, item: Block | Rounds) -> str | None:
        """The label of a block or loop, as it is compared."""
        return None if item.label is None else folded_written(item.label, self.context.dialect)

    def handler(self, item: HandlerItem, names: Names) -> Handler:
        """One DECLARE ... HANDLER; its body knows the block's variables, but not its labels."""
        if not self.context.dialect.rules.definitions.psm_conditions:
            raise Unsupported("HANDLER in a procedure")
        if item.action == "UNDO":
            raise Unsupported("UNDO HANDLER")
        conditions = psm_conditions(item.conditions, dict(names.conditions), self.context.dialect)
        inner = replace(names, loops=(0,), labels={})
        return Handler(conditions, self.items(item.body, inner), item.action == "EXIT")

    def declare(self, piece: Piece, names: Names, own: set[str]) -> tuple[Names, list[Statement]]:
        """Variables, a cursor or a condition."""
        words = piece.words()
        first = folded_written(piece.tokens[0][1], self.context.dialect)
        if words[1:3] == ["CURSOR", "FOR"]:
            if not self.context.dialect.rules.definitions.psm_conditions:
                raise Unsupported("CURSOR in a procedure")
            self.once(first, own, "cursor ")
            query = self.query(piece.slice(3), names)
            slot = self.frame.slot(first, NULL).slot
            reset: list[Statement] = [SetVariable(slot, Const(None, NULL))] if names.loops else []
            return replace(names, cursors={**names.cursors, first: Cursor(slot, query)}), reset
        if words[1:2] == ["CURSOR"]:
            raise Unsupported("a cursor with parameters")
        if words[1:3] == ["CONDITION", "FOR"]:
            self.once(first, own, "condition ")
            value = piece.slice(3)
            conditions = (
                numbered(int(value.text)) if value.text.isdigit()
                else Conditions(states=frozenset({checked_state(value.tokens[-1][1])}))
            )  # fmt: skip
            return replace(names, conditions={**names.conditions, first: conditions}), []
        return self.variables(piece, names, own)

    def once(self, name: str, own: set[str], kind: str = "") -> None:
        """Note a declaration; raises SchemaError for the second of its name."""
        if kind + name in own:
            raise SchemaError(f"{kind or 'variable '}{name!r} is declared twice")
        own.add(kind + name)

    def variables(self, piece: Piece, names: Names, own: set[str]) -> tuple[Names, list[Statement]]:
        """``DECLARE a, b type DEFAULT value``."""
        declared: list[str] = []
        place = 0
        while place < len(piece.tokens) and piece.tokens[place][0] in ("NAME", "QUOTED", "VALUE", "FOUND"):
            declared.append(folded_written(piece.tokens[place][1], self.context.dialect))
            place += 1
            if place == len(piece.tokens) or piece.tokens[place][0] != "COMMA":
                break
            place += 1
        default = piece.find("DEFAULT")
        end = default if default >= 0 else len(piece.tokens)
        if not declared or end <= place:
            raise SchemaError(f"DECLARE {piece.text}")
        kind = read_type(piece.slice(place, end).text, self.context.dialect)
        context = self.within(names)
        statements: list[Statement] = []
        for name in declared:
            self.once(name, own)
            variable = self.frame.slot(name, kind)
            if default >= 0:
                written = piece.slice(default + 1)
                statements += late(lambda v=variable, w=written: self.set_(v, w, context))  # type: ignore[misc]
            elif names.loops:
                statements.append(SetVariable(variable.slot, Const(None, kind)))
            names = names.with_variable(name, variable)
        return names, statements

    def set_(self, variable: Variable, piece: Piece, context: Context) -> list[Statement]:
        """An assignment."""
        value = bind_value(piece, context, "SET")
        return [SetVariable(variable.slot, assign(value, variable.type, context, variable.name))]

    # --- statements ---------------------------------------------------------------------------------------------

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
                bodies = tuple(
                    (bind_condition(piece, context, "IF"), self.items(body, names)) for piece, body in branches
                )
                return [If(bodies, self.items(otherwise, names))]
            case Choice():
                return self.choice(item, names)
            case Rounds():
                return [self.loop(item, names)]
            case Simple(piece):
                return self.simple(piece, names)
        raise SchemaError("DECLARE outside the start of a block")

    def choice(self, item: Choice, names: Names) -> list[Statement]:
        """The CASE statement: 20000 where no branch is taken."""
        context = self.within(names)
        otherwise: tuple[Statement, ...] = (Raise("20000", "case not found", 1339),)
        if item.otherwise is not None:
            otherwise = self.items(item.otherwise, names)
        statements: list[Statement] = []
        branches: list[tuple[Expr, tuple[Statement, ...]]] = []
        binder = Binder(context, Scope(), "CASE")
        subject: Expr | None = None
        if item.subject is not None:
            subject = bind_value(item.subject, context, "CASE")
            if is_loose(subject):
                raise Unsupported("CASE of a literal")
            kept = self.frame.slot("", subject.type)
            statements.append(SetVariable(kept.slot, subject))
            subject = kept
        for piece, body in item.branches:
            if subject is None:
                condition = bind_condition(piece, context, "CASE")
            else:
                value = binder.value(expression_node(piece, context))
                condition = Binary("=", *comparable(subject, value, context, "="), BOOLEAN)
            branches.append((condition, self.items(body, names)))
        return [*statements, If(tuple(branches), otherwise)]

    def loop(self, item: Rounds, names: Names) -> Statement:
        """LOOP, WHILE and REPEAT."""
        label = self.frame.label()
        inner = names.deeper(label, self.label(item), True)
        head = (
            None if item.head is None else bind_condition(item.head, self.within(names), item.kind.strip("_").upper())
        )
        body = self.items(item.body, inner)
        if item.kind == "repeat":
            return Loop(label, body, until=head)
        return Loop(label, body, condition=head)

    def simple(self, piece: Piece, names: Names) -> Sequence[Statement]:
        """A statement without statements inside."""
        words = piece.words()
        context = self.within(names)
        match words[0]:
            case "SET":
                return self.assignments(piece.slice(1), names)
            case "LEAVE" | "ITERATE":
                return [jump(self, piece, names)]
            case "OPEN":
                cursor = self.cursor(piece.slice(1), names)
                assert cursor.query is not None
                return [OpenCursor(cursor.slot, cursor.query)]
            case "CLOSE":
                return [CloseCursor(self.cursor(piece.slice(1), names).slot)]
            case "FETCH":
                return late(lambda: [fetch_(self, piece, names)])
            case "SIGNAL" | "RESIGNAL":
                return [signal(self, piece, names)]
            case "RETURN":
                if self.result is None:
                    raise SchemaError("RETURN outside a function")
                result = self.result
                return late(lambda: [Return((assign(bind_value(piece.slice(1), context, "RETURN"), result, context,
                                                    "the result"),))])  # fmt: skip
            case "CALL":
                return late(lambda: [bind_call(piece.text, context)])
        if words[0] in _REFUSED:
            raise Unsupported(f"{words[0]} in a procedure")
        return late(lambda: [self.sql(piece, names)])

    def cursor(self, piece: Piece, names: Names) -> Cursor:
        """A cursor by its name."""
        cursor = names.cursors.get(folded_written(piece.text, self.context.dialect))
        if cursor is None:
            raise SchemaError(f"cursor {piece.text} is not declared")
        return cursor

    def target(self, piece: Piece, variables: Mapping[str, Variable], what: str) -> Variable:
        """The variable that SET or INTO names."""
        if len(piece.tokens) != 1 or piece.tokens[0][0] not in ("NAME", "QUOTED", "AT", "VALUE", "FOUND"):
            raise Unsupported(f"{what} {piece.text}")
        written = piece.tokens[0][1]
        variable = variables.get(folded_written(written.removeprefix("@"), self.context.dialect))
        if variable is None:
            if written.startswith("@@"):
                raise Unsupported(f"system variable {written}")
            raise Unsupported(f"user variable {written}" if written.startswith("@") else f"{what} {written}")
        return variable

    def of_new_row(self, piece: Piece, names: Names) -> Variable | None:
        """The field of a trigger's new row that SET names; None for anything else."""
        if len(piece.tokens) != 3 or piece.words()[:2] != ["NEW", "."]:
            return None
        return names.qualified.get(("new", folded_written(piece.tokens[2][1], self.context.dialect)))

    def assignments(self, piece: Piece, names: Names) -> list[Statement]:
        """``SET a = x, b := y``."""
        context = self.within(names)
        statements: list[Statement] = []
        for part in piece.split():
            equals = part.find("=", ":=")
            if equals < 1 or equals == len(part.tokens) - 1:
                raise SchemaError(f"SET {piece.text}")
            variable = self.of_new_row(part.slice(0, equals), names)
            variable = variable or self.target(part.slice(0, equals), names.variables, "SET")
            value = part.slice(equals + 1)
            statements += late(lambda v=variable, w=value: self.set_(v, w, context))  # type: ignore[misc]
        return statements

    def query(self, piece: Piece, names: Names) -> Query:
        """The query of a cursor."""
        query = bind_text(piece.text, self.within(names))
        if not isinstance(query, Query):
            raise SchemaError(f"a cursor for {piece.text}")
        return query

    def sql(self, piece: Piece, names: Names) -> Statement:
        """An SQL statement, perhaps a SELECT with INTO."""
        context = self.within(names)
        into = [
            i
            for i, token in enumerate(piece.tokens)
            if token[1].upper() == "INTO" and token[4] == 0 and token[0] == "NAME"
        ]
        if piece.tokens[0][0] != "SELECT" or not into:
            return bind_text(piece.text, context)
        if len(into) > 1:
            raise SchemaError("two INTO clauses in one SELECT")
        start, end = into[0], into[0] + 1
        while end < len(piece.tokens) and piece.tokens[end][0] in ("NAME", "QUOTED", "AT", "VALUE", "FOUND"):
            end += 1
            if end == len(piece.tokens) or piece.tokens[end][0] != "COMMA":
                break
            end += 1
        targets = [self.target(part, names.variables, "SELECT INTO") for part in piece.slice(start + 1, end).split()]
        stop = piece.tokens[end][2] if end < len(piece.tokens) else len(piece.text)
        query = bind_text(f"{piece.text[: piece.tokens[start][2]]} {piece.text[stop:]}", context)
        if not isinstance(query, Select):
            raise Unsupported("INTO without SELECT")
        return select_into(query, targets, context)


def _leaves(body: Iterable[Statement], label: int) -> bool:
    """Whether anything inside leaves the block with this label."""
    return any(node == Leave(label) or _leaves(nested(node), label) for node in body)

"""PL/pgSQL bodies into programs: blocks, branches, loops, exception clauses (PostgreSQL manual, chapter 41).

Does not know how a program is run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sql_semantics.errors import SchemaError, Unsupported
from sql_semantics.frontend.binding import bind_call
from sql_semantics.frontend.expressions.expressions import Binder
from sql_semantics.frontend.names.scope import Scope
from sql_semantics.frontend.routines.bodies import (
    Names,
    Record,
    bind_condition,
    converted,
    expression_node,
    late,
    query_outputs,
    stored,
)
from sql_semantics.frontend.routines.conditions import postgres_conditions
from sql_semantics.frontend.routines.plpgsql.body import Body, label_of, name_of
from sql_semantics.frontend.routines.plpgsql.counting import counted, refuse_failing
from sql_semantics.frontend.routines.plpgsql.declarations import declare
from sql_semantics.frontend.routines.plpgsql.statements import (
    assert_,
    diagnostics,
    fetch_,
    jump,
    open_,
    raise_,
    return_,
)
from sql_semantics.frontend.routines.skeleton import Block, Branches, Choice, Item, Piece, Rounds, Simple
from sql_semantics.frontend.types.coerce import settle_alone
from sql_semantics.frontend.types.comparison import comparable
from sql_semantics.ir.expressions import Binary, Column, Const, Expr, IsNull, Variable
from sql_semantics.ir.programs import (
    Attempt,
    CloseCursor,
    Iterate,
    Labelled,
    Leave,
    Loop,
    Perform,
    Raise,
    RangeLoop,
    Reraise,
    Return,
    RowLoop,
)
from sql_semantics.ir.queries import Derived, OrderKey, OutputColumn, Query, Select, Source, Unnest
from sql_semantics.ir.statements import If, SetVariable, Statement, Together, Write
from sql_semantics.ir.walks.nesting import nested
from sql_semantics.values.families.arrays import ArrayFamily
from sql_semantics.values.types import BIGINT, BOOLEAN, INT, TEXT

_REFUSED = {
    "EXECUTE": "EXECUTE (dynamic SQL)",
    "COMMIT": "COMMIT in a procedure",
    "ROLLBACK": "ROLLBACK in a procedure",
    "MOVE": "MOVE",
    "SAVEPOINT": "SAVEPOINT in a procedure",
    "ABORT": "ROLLBACK in a procedure",
    "LOCK": "LOCK",
    "SET": "SET",
    "RESET": "RESET",
}


def bind_body(routine: Body, block: Block, names: Names) -> tuple[Statement, ...]:
    """The routine's outermost block, behind FOUND's first value."""
    start: list[Statement] = []
    if mentions(block, "FOUND"):
        variable = routine.frame.slot("found", BOOLEAN)
        routine.found = variable.slot
        start.append(SetVariable(variable.slot, Const(False, BOOLEAN)))
        names = replace(names, variables={"found": variable, **names.variables})
    if mentions(block, "ROW_COUNT"):
        routine.count = routine.frame.slot("row_count", BIGINT).slot
        start.append(SetVariable(routine.count, Const(0, BIGINT)))
    return (*start, *bind_block(routine, block, names))


def bind_block(routine: Body, block: Block, names: Names) -> tuple[Statement, ...]:
    """[DECLARE ...] BEGIN ... [EXCEPTION ...] END."""
    label = routine.frame.label()
    names = names.deeper(label, None if block.label is None else label_of(block.label), False)
    before = routine.flow.state
    start: list[Statement] = []
    own: set[str] = set()
    for piece in block.declarations:
        names, statements = declare(routine, piece, names, own, label_of(block.label or ""))
        start += counted(statements, routine.count, routine.found)
    with routine.flow.held(block.label is not None):
        if block.exceptions is None:
            body = bind_items(routine, block.items, names)
        else:
            body = (attempt(routine, block, names),)
    if _leaves(body, label):
        body = (Labelled(label, body),)
        routine.flow.state = before
    return (*start, *body)


def attempt(routine: Body, block: Block, names: Names) -> Statement:
    """The part with EXCEPTION clauses."""
    assert block.exceptions is not None
    before = routine.flow.state
    with routine.flow.held():
        body = bind_items(routine, block.items, names)
    after = [routine.flow.state]
    state = routine.frame.slot("sqlstate", TEXT)
    clauses = []
    for piece, items in block.exceptions:
        routine.flow.state = before
        inside = replace(names.with_variable("sqlstate", state), in_handler=True)
        clauses.append((postgres_conditions(piece), bind_items(routine, items, inside)))
        after.append(routine.flow.state)
    routine.flow.join(after)
    refuse_failing(body, routine.count)
    return Attempt(body, tuple(clauses), state.slot)


def bind_items(routine: Body, items: Sequence[Item], names: Names) -> tuple[Statement, ...]:
    """A sequence of statements."""
    bound: list[Statement] = []
    for item in items:
        statements = bind_item(routine, item, names)
        if statements and _ends(statements[-1]):
            routine.flow.end()
        bound += counted(statements, routine.count, routine.found)
    return tuple(bound)


def bind_item(routine: Body, item: Item, names: Names) -> Sequence[Statement]:
    """One statement."""
    match item:
        case Block():
            return bind_block(routine, item, names)
        case Branches(branches, otherwise):
            context = routine.within(names)
            conditions = [bind_condition(piece, context, "IF") for piece, _ in branches]
            bodies = alternatives(routine, [*(body for _, body in branches), otherwise], names)
            return [If(tuple(zip(conditions, bodies, strict=False)), bodies[-1])]
        case Choice():
            return late(lambda: choice(routine, item, names))
        case Rounds("for_"):
            return for_loop(routine, item, names)
        case Rounds("foreach_"):
            return late(lambda: foreach_loop(routine, item, names))
        case Rounds():
            label, inner = enter(routine, item, names)
            condition = None if item.head is None else bind_condition(item.head, routine.within(names), "WHILE")
            return [Loop(label, bind_round(routine, item.body, inner), condition)]
        case Simple(piece):
            return simple(routine, piece, names)
    raise AssertionError(f"{type(item).__name__} in PL/pgSQL")


def alternatives(routine: Body, bodies: Sequence[Sequence[Item]], names: Names) -> list[tuple[Statement, ...]]:
    """Bodies of which one runs."""
    before, after = routine.flow.state, []
    bound = []
    for body in bodies:
        routine.flow.state = before
        bound.append(bind_items(routine, body, names))
        after.append(routine.flow.state)
    routine.flow.join(after)
    return bound


def enter(routine: Body, item: Rounds, names: Names) -> tuple[int, Names]:
    """A loop's label, and the names inside."""
    label = routine.frame.label()
    return label, names.deeper(label, None if item.label is None else label_of(item.label), True)


def bind_round(routine: Body, body: Sequence[Item], names: Names) -> tuple[Statement, ...]:
    """A loop's body, which may not run at all."""
    before = routine.flow.state
    with routine.flow.held():
        bound = bind_items(routine, body, names)
    routine.flow.state = before
    return bound


def choice(routine: Body, item: Choice, names: Names) -> Sequence[Statement]:
    """The CASE statement; the subject is evaluated once. 20000 where no branch is taken."""
    context = routine.within(names)
    bodies = alternatives(routine, [*(body for _, body in item.branches), item.otherwise or ()], names)
    otherwise: tuple[Statement, ...] = bodies[-1]
    if item.otherwise is None:
        otherwise = (Raise("20000", "case not found"),)
    statements: list[Statement] = []
    conditions: list[Expr] = []
    subject: Expr | None = None
    if item.subject is not None:
        value = settle_alone(routine.value(item.subject, context), context)
        kept = routine.frame.slot("", value.type)
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


def for_loop(routine: Body, item: Rounds, names: Names) -> Sequence[Statement]:
    """FOR over a range, a query or a cursor."""
    assert item.head is not None
    head = item.head
    into = head.find("IN")
    if into < 1:
        raise SchemaError(f"FOR {head.text}")
    rest = head.slice(into + 1)
    if rest.words()[0] == "EXECUTE":
        raise Unsupported("EXECUTE (dynamic SQL)")
    dots = rest.find("..")
    if dots > 0:
        return range_loop(routine, item, head.slice(0, into), rest, dots, names)
    label, inner = enter(routine, item, names)
    first = rest.tokens[0]
    arguments: tuple[tuple[int, Expr], ...] = ()
    cursor = names.cursors.get(name_of(first)) if first[0] in ("NAME", "QUOTED") else None
    if cursor is not None:
        assert cursor.query is not None
        if into != 1:
            raise SchemaError(f"FOR {head.text}")
        # The loop variable is a record of the loop's own, whatever else has its name.
        arguments = routine.cursor_arguments(cursor, rest.slice(1), names)
        record = Record(name_of(head.tokens[0]))
        variables = {key: value for key, value in inner.variables.items() if key != record.name}
        inner = replace(inner, variables=variables, records={**inner.records, record.name: record})
        query: Statement = cursor.query
        targets = routine.shaped(record, query_outputs(query) or ())
    else:
        query = routine.rows(rest, names)
        targets = routine.targets(head.slice(0, into), names, query)
    columns = query_outputs(query)
    if columns is None:
        raise SchemaError(f"FOR over {rest.text}, which returns no rows")
    if len(columns) != len(targets):
        raise Unsupported("a row of another number of columns than variables")
    row = converted(columns, targets, routine.within(names))
    body = bind_round(routine, item.body, inner)
    slots = tuple(target.slot for target in targets)
    assert isinstance(query, Query | Write | Together)
    return [RowLoop(label, query, row, slots, routine.found, body, arguments, None if cursor is None else cursor.slot)]


def foreach_loop(routine: Body, item: Rounds, names: Names) -> Sequence[Statement]:
    """``FOREACH target IN ARRAY array``: a round for each item. The target keeps its value where there is none."""
    assert item.head is not None
    head = item.head
    into = head.find("IN")
    if into < 1 or head.words()[into + 1 : into + 2] != ["ARRAY"]:
        raise SchemaError(f"FOREACH {head.text}")
    if into > 1 and "SLICE" in head.words()[:into]:
        raise Unsupported("FOREACH with SLICE")
    context = routine.within(names)
    array = settle_alone(routine.value(head.slice(into + 2), context), context)
    if not isinstance(array.type.family, ArrayFamily):
        raise Unsupported(f"FOREACH over {array.type}")
    target = routine.target(head.slice(0, into), names)
    kept, taken = routine.frame.slot("", array.type), routine.frame.slot("", array.type.family.item)
    item_, place = Column(0, taken.type, "unnest"), Column(1, BIGINT, "ordinality")
    columns = (OutputColumn("unnest", item_), OutputColumn("ordinality", place))
    items = Unnest(((kept,),), frozenset(), True, columns, values=frozenset({0}))
    source = Source(Derived(items), "", 0, len(columns))
    rows = Select((source,), None, None, (), None, columns, order=(OrderKey(place, None, False, False),))
    assigned = routine.assign(target, stored(taken, target, context))
    label, inner = enter(routine, item, names)
    body = (*assigned, *bind_round(routine, item.body, inner))
    return [
        SetVariable(kept.slot, array),
        If(((IsNull(kept, False), (Raise("22004", "FOREACH expression must not be null"),)),), ()),
        RowLoop(label, rows, (item_,), (taken.slot,), routine.found, body),
    ]


def range_loop(routine: Body, item: Rounds, target: Piece, rest: Piece, dots: int, names: Names) -> Sequence[Statement]:
    """``FOR i IN [REVERSE] low..high [BY step]``: i is a variable of the loop's own."""
    if len(target.tokens) != 1:
        raise SchemaError(f"FOR {target.text}")
    reverse = rest.words()[0] == "REVERSE"
    step = rest.find("BY", start=dots)
    context = routine.within(names)
    counter = Variable(-1, INT, "a bound of FOR")
    low = stored(routine.value(rest.slice(int(reverse), dots), context), counter, context)
    high = stored(routine.value(rest.slice(dots + 1, None if step < 0 else step), context), counter, context)
    by = None if step < 0 else stored(routine.value(rest.slice(step + 1), context), counter, context)
    label, inner = enter(routine, item, names)
    name = name_of(target.tokens[0])
    variable = routine.frame.slot(name, INT)
    inner = inner.with_variable(name, variable, label_of(item.label or ""))
    body = bind_round(routine, item.body, inner)
    return [RangeLoop(label, variable.slot, low, high, by, reverse, routine.found, body)]


def simple(routine: Body, piece: Piece, names: Names) -> Sequence[Statement]:
    """A statement without statements inside."""
    words = piece.words()
    first = words[0]
    equals = _assignment(piece)
    if equals > 0:
        return late(lambda: routine.assignment(piece, equals, names))
    match first:
        case "NULL" if len(words) == 1:
            return []
        case "RETURN":
            return late(lambda: return_(routine, piece, names))
        case "RAISE":
            return late(lambda: raise_(routine, piece, names))
        case "EXIT" | "CONTINUE":
            return jump(routine, piece, names)
        case "PERFORM":
            return late(lambda: [Perform(routine.rows(piece.slice(1), names, "SELECT "), (), (), False, routine.found,
                                         routine.count)])  # fmt: skip
        case "CALL":
            return late(lambda: [called(routine, piece, names)])
        case "OPEN":
            return late(lambda: [open_(routine, piece, names)])
        case "FETCH":
            return late(lambda: [fetch_(routine, piece, names)])
        case "CLOSE":
            return [CloseCursor(routine.cursor(piece.tokens[1], names).slot)]
        case "GET":
            return diagnostics(routine, piece, names)
        case "ASSERT":
            return late(lambda: assert_(routine, piece, names))
    if first in _REFUSED:
        raise Unsupported(_REFUSED[first])
    return late(lambda: [routine.sql(piece, names)])


def called(routine: Body, piece: Piece, names: Names) -> Statement:
    """CALL. Raises Unsupported where an answer goes to a NOT NULL variable."""
    call = bind_call(piece.text, routine.within(names))
    if routine.required.intersection(call.targets or ()):
        raise Unsupported("an answer of CALL in a NOT NULL variable")
    return call


def _assignment(piece: Piece) -> int:
    """The place of the sign in an assignment, or -1 for another statement."""
    words = piece.words()
    place = 1
    while words[place : place + 1] == ["."]:
        place += 2
    if words[place : place + 1] == ["["]:
        raise Unsupported("assignment to an element of an array")
    return place if words[place : place + 1] in (["="], [":="]) else -1


def _ends(statement: Statement) -> bool:
    """Whether nothing behind it is reached from it."""
    if isinstance(statement, If):
        bodies = [*(body for _, body in statement.branches), statement.otherwise]
        return all(body and _ends(body[-1]) for body in bodies)
    return isinstance(statement, Return | Raise | Reraise | Leave | Iterate)


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

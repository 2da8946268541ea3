"""The rows of a long VALUES list, bound after those that show how they are written (`frontend.text.listing`).

Every cell means what binding it by itself would say: a parameter what another of its kind does in that column, a
literal what its own text makes of it there. Where the rows that are shown do not tell that, it is `NotAlike`, and the
statement is bound as it stands. Does not know how rows are stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from sqlglot import exp

from sql_semantics.frontend.expressions.expressions import Binder
from sql_semantics.frontend.text.listing import Cells, Form, Key, Listing
from sql_semantics.frontend.text.syntax import Node
from sql_semantics.frontend.types.coerce import assign, number_literal
from sql_semantics.frontend.writes.identity import given_value
from sql_semantics.frontend.writes.unmodelled import stored_value
from sql_semantics.ir.expressions import (
    Cast,
    Column,
    Const,
    Expr,
    Free,
    Function,
    Invoke,
    Outer,
    Param,
    Subquery,
    Variable,
)
from sql_semantics.ir.listed import Listed
from sql_semantics.ir.schema import Table, TableColumn
from sql_semantics.ir.walks.rebuilding import rebuild
from sql_semantics.ir.walks.traverse import children, walk
from sql_semantics.records import dataclass, field, replace
from sql_semantics.values.types import INTEGER_KINDS, INTEGER_RANGE, NULL, TEXT, UNMODELLED_KINDS, Kind, Value

_SHORT = 9
"""Digits of a number that is an integer of 32 bits in every product."""

_PLAIN = (
    *(exp.Literal, exp.Null, exp.Boolean, exp.Paren, exp.Neg, exp.Cast, exp.DataType, exp.DataTypeParam),
    *(exp.Anonymous, exp.Identifier, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.DPipe),
)
"""What the parser makes of an expression in the same way whatever its literals are."""


class NotAlike(Exception):
    """The rows of a list that are shown do not tell what the others mean."""


def bind_listed(
    listing: Listing,
    values: Node,
    rows: Sequence[tuple[Expr, ...]],
    positions: Sequence[int],
    table: Table,
    binder: Binder,
) -> Listed:
    """All rows of a list whose shown ones are `values` in the parse tree and `rows` bound; `positions` are the columns
    that are given. Raises NotAlike, and what binding the rows themselves may raise."""
    if len(rows) != len(listing.shown) or binder.context.parameters.left_out:
        raise NotAlike
    numbers = {row: number for number, row in enumerate(listing.shown)}
    given: dict[int, _Column] = {}
    for number, cells in enumerate(listing.columns):
        place = positions[number]
        column = given[place] = _Column(table.columns[place], cells, binder)
        for form, row in cells.shown.items():
            node = values.expressions[numbers[row]].expressions[number]
            column.bind(listing.forms[form], form, node, rows[numbers[row]][place])
    return _rows(given, rows[0])


def _rows(given: Mapping[int, _Column], first: Sequence[Expr]) -> Listed:
    """The rows of columns that are given, by place, and of others that have the same value in all of them."""
    columns = list(given.values())
    count = len(columns[0].which)
    literal = {place: number for number, place in enumerate(p for p, column in given.items() if column.has_literals)}
    keyed: dict[int, int] = {}
    width = len(literal)
    for place, column in given.items():
        keyed[place] = width
        width += column.width
    combined = (
        list(zip(*(column.which for column in columns if len(column.templates) > 1), strict=True)) or [()] * count
    )
    numbers = {key: number for number, key in enumerate(dict.fromkeys(combined))}
    if len(numbers) > count // 4:
        raise NotAlike
    forms: list[tuple[Expr, ...]] = []
    for key in numbers:
        chosen = iter(key)
        row = list(first)
        for place, column in given.items():
            template = column.templates[next(chosen) if len(column.templates) > 1 else 0]
            row[place] = _moved(template, literal.get(place, 0), keyed[place])
        forms.append(tuple(row))
    values = list(zip(*(column.values for column in columns if column.has_literals), strict=True))
    keys = list(zip(*(keys for column in columns for keys in column.by_place()), strict=True))
    return Listed(forms, list(map(numbers.__getitem__, combined)), values or [()] * count, keys or [()] * count)


def _moved(template: Expr, literal: int, keyed: int) -> Expr:
    """A column's template with its literal and its first parameter at these cells of the row."""

    def change(part: Expr) -> Expr:
        if not isinstance(part, Param):
            return rebuild(part, change)
        assert isinstance(part.key, int)
        return Param(literal if part.key == _LITERAL else keyed + part.key, part.type)

    return change(template)


_LITERAL = -1
"""The key of a template's literal."""


@dataclass(slots=True)
class _Column:
    """One column of a list. `templates`: what its cells mean, ``Param(-1)`` for the literal of a cell, ``Param(i)`` for
    its i-th parameter; for each row the template and the literal's value. `width`: how many parameters a cell has at
    most."""

    column: TableColumn
    cells: Cells
    binder: Binder
    templates: list[Expr] = field(default_factory=list)
    which: list[int] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)
    has_literals: bool = False
    width: int = 0
    _numbers: dict[Expr, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.column.type.kind in UNMODELLED_KINDS or self.column.generated is not None:
            raise NotAlike
        count = len(self.cells.which)
        self.which, self.values = [0] * count, [None] * count

    def bind(self, form: Form, number: int, node: Node, bound: Expr) -> None:
        """All cells of a form, of which one is `node` in the parse tree and means `bound`."""
        cells = self.cells
        alone = len(cells.shown) == 1
        places = range(len(cells.which)) if alone else [p for p, other in enumerate(cells.which) if other == number]
        if form.kinds:
            self._parameters(bound, cells.keys[cells.shown[number]], places)
            return
        texts = cells.literals if alone else [cells.literals[place] for place in places]
        alone = not form.before and not form.after
        if not form.literal or (not alone and len(set(texts)) == 1):
            self._same(bound, places)
        elif alone and form.literal == "text" and self.column.type.kind is Kind.TEXT:
            # stored as they are: none of what is done to a text before hangs on what it says
            self._store(places, _abstract(bound)[0], texts)
        elif not (alone and form.literal == "number" and self._integers(texts, bound, places)):
            self._each(self._literal(form) if alone else self._within(form, node, texts[0]), texts, places)

    def by_place(self) -> Iterable[Sequence[Key | None]]:
        """The first parameter of every cell, the second one, ..."""
        for number in range(self.width):
            yield [keys[number] if number < len(keys) else None for keys in self.cells.keys]

    def _same(self, expression: Expr, places: Sequence[int]) -> None:
        """Cells that mean the same."""
        self.templates.append(expression)
        for place in places if len(self.templates) > 1 else ():
            self.which[place] = len(self.templates) - 1

    def _parameters(self, bound: Expr, keys: Sequence[Key], places: Sequence[int]) -> None:
        """Cells whose parameters are of the same kinds as those of the one that is bound."""
        numbers = {key: number for number, key in enumerate(keys)}
        if any(isinstance(part, Param) and part.key not in numbers for part in walk(bound)):
            raise NotAlike

        def change(part: Expr) -> Expr:
            return replace(part, key=numbers[part.key]) if isinstance(part, Param) else rebuild(part, change)

        self._same(change(bound), places)
        self.width = max(self.width, len(keys))
        parameters = self.binder.context.parameters
        for number, key in enumerate(keys):
            column = [self.cells.keys[place][number] for place in places]
            parameters.mentioned.update(column)
            if key in parameters.types:
                parameters.types.update(dict.fromkeys(column, parameters.types[key]))

    def _store(self, places: Sequence[int], template: Expr, values: Sequence[Value]) -> None:
        """Cells of one template."""
        number = self._number(template)
        self.has_literals = True
        for place, value in zip(places, values, strict=True):
            self.which[place], self.values[place] = number, value

    def _number(self, template: Expr) -> int:
        """A template in which no constant stands, by which two that are equal might still differ."""
        found = self._numbers.get(template)
        if found is None:
            found = self._numbers[template] = len(self.templates)
            self.templates.append(template)
        return found

    def _integers(self, texts: Sequence[str], bound: Expr, places: Sequence[int]) -> bool:
        """Integers that their column's type has and that are stored as they are; False for others."""
        kind = self.column.type.kind
        if kind not in INTEGER_KINDS or not isinstance(bound, Const) or max(map(len, texts)) > _SHORT:
            return False
        if not "".join(texts).isdigit():
            return False
        numbers = list(map(int, texts))
        if max(numbers) > INTEGER_RANGE[kind][1] or (self.column.identity and min(numbers) == 0):
            return False
        self._store(places, Param(_LITERAL, bound.type), numbers)
        return True

    def _each(self, bind: Callable[[str], Expr], texts: Sequence[str], places: Sequence[int]) -> None:
        """Literals that are bound each by itself."""
        self.has_literals = True
        known: dict[str, tuple[int, Value]] = {}
        template = _template(*(bind(text) for text in list(dict.fromkeys(texts))[:2]))
        for place, text in zip(places, texts, strict=True):
            found = known.get(text)
            if found is None:
                bound = bind(text)
                found = known[text] = self._placed(bound) if template is None else (0, _taken(template, bound))
            self.which[place], self.values[place] = found
        if template is not None:
            number = len(self.templates)
            self.templates.append(template)
            for place in places if number else ():
                self.which[place] = number

    def _placed(self, bound: Expr) -> tuple[int, Value]:
        """The template of a literal that is converted at most, and its value."""
        template, value = _abstract(bound)
        return self._number(template), value

    def _literal(self, form: Form) -> Callable[[str], Expr]:
        """How a literal is bound that stands alone: as `stored_value` does it."""
        column, context = self.column, self.binder.context
        what = f"column {column.name!r}"
        loose = TEXT if context.dialect.rules.writes.literals_are_texts else NULL

        def bind(text: str) -> Expr:
            literal = number_literal(text, context.dialect) if form.literal == "number" else Const(text, loose)
            return given_value(column, assign(literal, column.type, context, what), context.dialect)

        return bind

    def _within(self, form: Form, node: Node, shown: str) -> Callable[[str], Expr]:
        """How an expression is bound around a literal, which is `shown` in the parse tree."""
        node = node.copy()
        parts = list(node.find_all(exp.Expr))
        found = [part for part in parts if isinstance(part, exp.Literal) and part.is_string == (form.literal == "text")]
        found = [part for part in found if part.this == shown and part.find_ancestor(exp.DataType) is None]
        if len(found) != 1 or not all(isinstance(part, _PLAIN) for part in parts):
            raise NotAlike
        (literal,) = found

        def bind(text: str) -> Expr:
            literal.set("this", text)
            stored = stored_value(node, self.column, self.binder)
            if self.binder.context.parameters.left_out:
                raise NotAlike
            return given_value(self.column, stored, self.binder.context.dialect)

        return bind


def _abstract(bound: Expr) -> tuple[Expr, Value]:
    """The template of a literal that is converted at most, and its value; that of NULL is itself."""
    if isinstance(bound, Const):
        return (bound if bound.value is None else Param(_LITERAL, bound.type)), bound.value
    if isinstance(bound, Cast):
        template, value = _abstract(bound.operand)
        return Cast(template, bound.type, bound.assignment), value
    raise NotAlike


def _template(first: Expr, second: Expr | None = None) -> Expr | None:
    """The template of expressions around a literal, told from two that differ in it; None for plain conversions."""
    inner = first
    while isinstance(inner, Cast):
        inner = inner.operand
    if isinstance(inner, Const):
        return None
    if second is None:
        raise NotAlike

    def differing(one: Expr, other: Expr) -> Expr:
        if isinstance(one, Const) and isinstance(other, Const) and not _same(one, other):
            if one.type != other.type or one.value is None or other.value is None:
                raise NotAlike
            return Param(_LITERAL, one.type)
        if not _is_shell_of(one, other) or isinstance(one, Free | Invoke | Subquery | Column | Outer | Variable):
            raise NotAlike
        inner = iter([differing(*pair) for pair in zip(children(one), children(other), strict=True)])
        return rebuild(one, lambda _: next(inner))

    return differing(first, second)


def _taken(template: Expr, bound: Expr) -> Value:
    """The literal's value in an expression of a template. Raises NotAlike for an expression of another."""
    found: list[Const] = []
    pending = [(template, bound)]
    while pending:
        one, other = pending.pop()
        if isinstance(one, Param):
            if not isinstance(other, Const) or other.type != one.type or other.value is None:
                raise NotAlike
            found.append(other)
        elif isinstance(one, Const) or isinstance(other, Const):
            if not isinstance(one, Const) or not isinstance(other, Const) or not _same(one, other):
                raise NotAlike
        elif not _is_shell_of(one, other):
            raise NotAlike
        else:
            pending.extend(zip(children(one), children(other), strict=True))
    if not found or not all(_same(found[0], other) for other in found):
        raise NotAlike
    return found[0].value


def _same(one: Const, other: Const) -> bool:
    """Whether two constants are one, their scale and sign included."""
    return one.type == other.type and type(one.value) is type(other.value) and repr(one.value) == repr(other.value)


def _is_shell_of(one: Expr, other: Expr) -> bool:
    """Whether two expressions are the same but for their parts."""
    match one, other:
        case Cast(), Cast():
            return one.type == other.type and one.assignment == other.assignment
        case Function(), Function():
            same = one.name == other.name and one.type == other.type
            return same and len(one.arguments) == len(other.arguments)
    return _shell(one) == _shell(other)


def _shell(expr: Expr) -> Expr:
    """The expression without its parts."""
    return rebuild(expr, lambda _: _HOLE)


_HOLE = Const(None, NULL)

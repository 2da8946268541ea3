"""One text with parameters of one shape, and how its statements are read, run and compared without more ado.

Only answers that stand for themselves are compared here: whole results that are equal to what the statement gives, row
by row, and its count. Anything else is for `troubadour.execution`, which also says whether a value fits its column.
Does not know what a statement means, nor when it ran.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal

from sql_semantics.errors import Unsupported
from sql_semantics.ir.queries import Query
from sql_semantics.ir.statements import Write
from sql_semantics.library import Program, SqlLibrary
from sql_semantics.outcome import Outcome
from sql_semantics.values.types import DATETIME_KINDS, FLOAT_KINDS, INTEGER_KINDS, INTEGER_RANGE, Kind, SqlType, Value
from sql_semantics.view import Row
from troubadour.execution.prepared import result_types
from troubadour.model.log import JsonValue, Statement
from troubadour.model.values import read_value

_LOW, _HIGH = INTEGER_RANGE[Kind.INT]
_PLAIN = frozenset({int, str, bool, type(None), Decimal})
_READ_KINDS = INTEGER_KINDS | FLOAT_KINDS | DATETIME_KINDS | {Kind.NUMERIC, Kind.TEXT, Kind.BOOLEAN}
_TEXTS = 4096
"""Values of a type that are remembered by their texts."""

Reader = Callable[[JsonValue], Value]
Shape = tuple[type, ...] | None


class Misread(ValueError):
    """A value, or an answer, that has to be looked at more closely."""


def shape_of(statement: Statement) -> Shape:
    """The classes of a statement's parameters. Raises Misread for such as are named or are lists."""
    params = statement.params
    if params is None:
        return None
    if params.__class__ is not tuple:
        raise Misread
    return tuple(map(type, params))


def is_narrow(value: object) -> bool:
    """Whether a parameter looks like all of its class: of integers only those of 32 bits do."""
    return not isinstance(value, int) or _LOW <= value <= _HIGH


class Plan:
    """How the statements of one text with parameters of one shape run. `arguments` and `agrees` raise Misread, or
    ValueError, for what is not read here."""

    __slots__ = ("_count", "_readers", "_results", "_width", "run")

    def __init__(self, program: Program, library: SqlLibrary, shape: Shape) -> None:
        """Raises Misread for a statement that is never read here."""
        statement = program.statement
        types = result_types(statement, library.catalog) if isinstance(statement, Query | Write) else None
        if types is None or len(types) > 1 or not _PLAIN.issuperset(shape or ()):
            raise Misread
        rules = library.dialect.rules
        if rules.running.counts_are_rows or rules.types.values_have_classes:
            raise Misread
        self.run = program.run
        self._readers = [_argument_reader(one, program.parameters.get(n)) for n, one in enumerate(shape or ())]
        self._results = [_result_reader(one) for one in types[0]] if types else None
        self._width = len(types[0]) if types else 0

    def arguments(self, params: Iterable[JsonValue] | None) -> Row:
        """The parameters as a program takes them; of a plan's shape, so that they are not named."""
        if params is None:
            return ()
        return tuple([read(value) for read, value in zip(self._readers, params, strict=True)])

    def agrees(self, statement: Statement, outcome: Outcome) -> bool:
        """Whether the answer is what was observed; False where it differs, or may."""
        observed, affected = statement.results, statement.affected
        if observed is not None:
            readers = self._results
            if readers is None or len(observed) != 1 or statement.several:
                raise Misread
            (seen,), (given,) = observed, outcome.results
            if seen.truncated or len(seen.columns) != self._width:
                raise Misread
            if given.limit is not None or given.offset or given.subset or given.rounded:
                raise Misread
            rows, expected = seen.rows, given.rows
            if len(rows) != len(expected):
                raise Misread
            for row, values in zip(rows, expected, strict=True):
                for read, value, wanted in zip(readers, row, values, strict=True):
                    if read(value) != wanted:
                        return False
        if affected is not None:
            if outcome.affected is None:
                raise Misread
            return affected == outcome.affected
        return True


def _argument_reader(given: type, type_: SqlType | None) -> Reader:
    if type_ is None:
        return _untold if given is int else _nothing
    kind = type_.kind
    if given is type(None):
        return _nothing
    if given is int:
        if kind in INTEGER_KINDS:
            low, high = INTEGER_RANGE[kind]
            return _between(max(low, _LOW), min(high, _HIGH))
        read = _reader(type_)

        def narrow(value: JsonValue) -> Value:
            if not is_narrow(value):
                raise Misread
            return read(value)

        return narrow
    return _text if kind is Kind.TEXT and not type_.padded else _reader(type_)


def _untold(value: JsonValue) -> Value:
    if not is_narrow(value):
        raise Misread
    return None


def _nothing(value: JsonValue) -> Value:
    return None


def _between(low: int, high: int) -> Reader:
    def read(value: JsonValue) -> Value:
        if not low <= value <= high:
            raise Misread
        number: int = value
        return number

    return read


def _result_reader(type_: SqlType) -> Reader:
    if type_.kind in INTEGER_KINDS:
        return _integer
    return _text if type_.kind is Kind.TEXT and not type_.padded else _reader(type_)


def _integer(value: JsonValue) -> Value:
    """One that is out of its type's range is equal to none of that."""
    if value.__class__ is not int and value is not None:
        raise Misread
    number: int | None = value
    return number


def _text(value: JsonValue) -> Value:
    if value.__class__ is not str and value is not None:
        raise Misread
    text: str | None = value
    return text


def _reader(type_: SqlType) -> Reader:
    """`read_value` of the type, which remembers texts. Raises Misread where more is to be known than the value."""
    if type_.kind not in _READ_KINDS or type_.padded or type_.name or type_.family is not None:
        return _refuse
    known: dict[str, Value] = {}

    def read(value: JsonValue) -> Value:
        if value.__class__ is str:
            found = known.get(value)
            if found is not None:
                return found
        try:
            found = read_value(value, type_)
        except Unsupported as error:
            raise Misread from error
        if value.__class__ is str:
            if len(known) >= _TEXTS:
                known.clear()
            known[value] = found
        return found

    return read


def _refuse(value: JsonValue) -> Value:
    if value is None:
        return None
    raise Misread

"""A log without its texts and ids: each is replaced by another, the same everywhere, and they sort as the old ones do.

That is faithful where statements compare texts and order them, and do nothing else with them; what does more (LIKE,
length(), ||, casts, ...) is refused by name, found in the bound statements. Numbers and UUIDs are replaced where they
are only compared (`numbers`), else they stay, and so do dates, names of tables and other values. Transactions,
sessions, clocks and aliases (`aliases`) get other names; comments, and settings that nothing depends on, go. Does not
know isolation levels: whether the verdict is the same is for an audit to tell.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from sql_semantics.errors import SqlError, UnknownTable, Unsupported
from sql_semantics.ir.expressions import Binary, Cast, Const, Free, Function, Like
from sql_semantics.ir.queries import Aggregate
from sql_semantics.ir.schema import Table
from sql_semantics.ir.walks.traverse import fields_of
from sql_semantics.library import SqlLibrary
from sql_semantics.values.types import FAMILY_KINDS, UNMODELLED_KINDS, Kind, SqlType
from sql_semantics.values.unsettled import matters
from troubadour.execution.prepared import prepare, result_types
from troubadour.model.log import Header, InitialTable, Log, Statement, Transaction, TransactionId
from troubadour.model.values import param_shape
from troubadour.tools.aliases import Aliases
from troubadour.tools.domains import Place
from troubadour.tools.flow import COMPARING, PASSING, column
from troubadour.tools.numbers import Numbers
from troubadour.tools.programs import param, result

SETTINGS = frozenset(
    {"collation", "timezone", "sql_mode", "found_rows", "foreign_keys", "search_path", "lower_case_table_names"}
)
"""Settings that logs have by these names and an answer may depend on; those of a product stay where they may matter."""
LETTERS = "abcdefghijklmnopqrstuvwxyz"


Bound = tuple[Mapping[int | str, SqlType], tuple[tuple[SqlType, ...], ...] | None]
"""The types of a statement's parameters, and of the columns of its result sets where they are known."""
Item = tuple[Place, Any, SqlType | None]
"""A value of a log, where it stands, and its type where that is known."""


class Anonymizer:
    """Made from a log; `header` and `transactions` give the other one. Raises Unsupported with the name of the
    construct that needs more of a text than its place among the others, LogError as an audit does."""

    def __init__(self, log: Log, library: SqlLibrary) -> None:
        self._log = log
        self._library = library
        self._types: dict[tuple[str, Any], Bound] = {}
        self._numbers = Numbers(library.catalog, bool(log.header.initial_unknown))
        self._consts: dict[str, set[str]] = {}
        """The texts that stand as literals in a statement, by its own text."""
        self._lengths: set[int] = set()
        self._clocks: dict[str, str] = {}
        if library.dialect.rules.values.collations == "named" and not str(
            log.header.settings.get("collation", "")
        ).endswith("_bin"):
            raise Unsupported("a collation under which different texts are equal")
        catalog = library.catalog
        schema: set[str] = set()
        for table in catalog.tables.values():
            for item in table.columns:
                self._type(item.type)
            self._check(table, schema)
        for procedure in catalog.procedures.values():
            self._check(procedure, schema)
        self._schema = schema
        names = {name.lower() for table in catalog.tables.values() for name in (table.name, *_columns(table))}
        self._aliases = Aliases(names | {name.lower() for name in catalog.procedures}, log.header.dialect)
        self.ids: dict[TransactionId, str] = {}
        """What each transaction is called."""
        self._sessions: dict[str, str] = {}
        for number, transaction in enumerate(log.transactions, 1):
            self.ids[transaction.id] = f"t{number}"
            if transaction.session is not None:
                self._sessions.setdefault(transaction.session, f"s{len(self._sessions) + 1}")
        texts = set(schema)
        for entry in log.header.initial:
            for row in self._initial(entry):
                texts.update(self._met(row))
        for transaction in log.transactions:
            prepare(transaction, library)  # every statement is modelled, every value fits
            for statement in transaction.statements:
                texts.update(self._texts(statement))
        self._map = _tokens(texts, min(self._lengths, default=40))

    def header(self) -> Header:
        """The header, initial rows included."""
        header = self._log.header
        given = []
        for entry in header.initial:
            rows = tuple(tuple(self._value(*item) for item in row) for row in self._initial(entry))
            given.append(InitialTable(entry.table, entry.columns, rows))
        return msgspec.structs.replace(
            header,
            schema=tuple(_uncommented(self._sql(text, self._schema, False)) for text in header.schema),
            procedures=tuple(_uncommented(self._sql(text, self._schema, False)) for text in header.procedures),
            initial=tuple(given),
            settings={
                name: value
                for name, value in header.settings.items()
                if name in SETTINGS or matters(name, header.dialect)
            },
            log_id=None,
            segment=None,
            clock=self._clock(header.clock),
            gaps=tuple(
                msgspec.structs.replace(gap, reason="a gap", clock=self._clock(gap.clock)) for gap in header.gaps
            ),
        )

    def _clock(self, clock: str | None) -> str | None:
        """What a clock is called."""
        return None if clock is None else self._clocks.setdefault(clock, f"clock-{len(self._clocks) + 1}")

    def transactions(self) -> Iterator[Transaction]:
        """The transactions, in hint order."""
        for transaction in self._log.transactions:
            session, clock = transaction.session, transaction.clock
            end = transaction.end
            if end is not None and end.error is not None:
                end = msgspec.structs.replace(end, error=msgspec.structs.replace(end.error, message=""))
            statements = tuple(map(self._statement, transaction.statements))
            yield msgspec.structs.replace(
                transaction,
                id=self.ids[transaction.id],
                session=None if session is None else self._sessions[session],
                statements=statements,
                clock=None if clock == self._log.header.clock else self._clock(clock),
                end=end,
                xid=None,
                snapshot=None,
            )

    def kept(self) -> Iterator[tuple[str, str]]:
        """The columns of numbers and UUIDs whose values stay, with the reason."""
        return self._numbers.kept()

    def _statement(self, statement: Statement) -> Statement:
        params = statement.params
        given = [self._value(*item) for item in self._params(statement)]
        if isinstance(params, Mapping):
            items = iter(given)
            params = {name: _array(value, items) if _is_array(value) else next(items) for name, value in params.items()}
        elif params is not None:
            items = iter(given[len(params) :])
            params = tuple(_array(value, items) if _is_array(value) else value for value in given[: len(params)])
        results = statement.results
        if results is not None:
            results = tuple(
                msgspec.structs.replace(
                    result,
                    columns=tuple(f"c{number}" for number in range(1, len(result.columns) + 1)),
                    rows=tuple(tuple(self._value(*item) for item in row) for row in rows),
                )
                for result, rows in zip(results, self._results(statement), strict=True)
            )
        error = statement.error
        return msgspec.structs.replace(
            statement,
            sql=self._aliases.plain(self._sql(statement.sql, self._consts[statement.sql], True)),
            params=params,
            results=results,
            error=None if error is None else msgspec.structs.replace(error, message=""),
        )

    def _params(self, statement: Statement) -> Iterator[Item]:
        """The parameters, those of arrays item by item, with the keys that these have in the bound statement."""
        types, _ = self._bound(statement)
        text = statement.sql, param_shape(statement.params)
        for key, value in _flat(statement.params or ()):
            yield param(text, key), value, types.get(key)

    def _results(self, statement: Statement) -> Iterator[list[list[Item]]]:
        """The rows of each result set."""
        _, types = self._bound(statement)
        text = statement.sql, param_shape(statement.params)
        for number, found in enumerate(statement.results or ()):
            kinds = types[number] if types is not None and number < len(types) else (None,) * len(found.columns)
            places = [result(text, number, index) for index in range(len(kinds))]
            yield [list(zip(places, row, kinds, strict=True)) for row in found.rows]

    def _texts(self, statement: Statement) -> Iterator[str]:
        if statement.error is not None and statement.error.sqlstate in ("22001", "22021"):
            raise Unsupported(f"error {statement.error.sqlstate}, which hangs on the length or the letters of a text")
        yield from self._met(self._params(statement))
        yield from self._consts[statement.sql]
        for rows in self._results(statement):
            for row in rows:
                if any(type is None and isinstance(value, str) for _, value, type in row):
                    raise Unsupported("a text in a result whose columns' types depend on how a CALL runs")
                yield from self._met(row)

    def _met(self, items: Iterable[Item]) -> Iterator[str]:
        """The texts among values; the numbers are taken down."""
        for place, value, type in items:
            if _is_text(value, type):
                yield value
            else:
                self._numbers.meet(place, value, type)

    def _bound(self, statement: Statement) -> Bound:
        shape = param_shape(statement.params)
        found = self._types.get((statement.sql, shape))
        if found is None:
            consts = self._consts.setdefault(statement.sql, set())
            try:
                program = self._library.program(statement.sql, shape)
            except (SqlError, Unsupported, UnknownTable, ValueError) as error:
                if statement.error is None:
                    raise
                raise Unsupported("a statement that is not bound, as its text was refused") from error
            if program.left_out:
                raise Unsupported(program.left_out[0])
            self._check(program.statement, consts)
            found = program.parameters, result_types(program.statement, self._library.catalog)
            for given in (*found[0].values(), *(type for types in found[1] or () for type in types)):
                _kept(given)
            self._numbers.flow.text((statement.sql, shape), program.statement, found[1] is not None)
            self._types[statement.sql, shape] = found
        return found

    def _check(self, node: object, consts: set[str]) -> None:
        """Collect the literals below a node. Raises Unsupported for what does more to a text than compare it."""
        stack, met = [node], set[int]()
        while stack:
            node = stack.pop()
            if id(node) in met:
                continue
            met.add(id(node))
            _judge(node)
            if isinstance(node, Const) and node.value is not None:
                _kept(node.type)
            if isinstance(node, Const) and node.type.kind is Kind.TEXT and isinstance(node.value, str):
                consts.add(node.value)
            stack.extend(fields_of(node))

    def _type(self, type: SqlType) -> None:
        if type.kind in (Kind.JSON, Kind.BYTES) or type.kind in FAMILY_KINDS:
            raise Unsupported(f"a column of type {type}")
        if type.kind in UNMODELLED_KINDS:
            raise Unsupported(type.name)
        if type.kind is Kind.TEXT:
            if type.padded or type.scale is not None:
                raise Unsupported("a column of type CHAR(n)" if type.padded else "SQLite's DATE and DATETIME columns")
            if type.length is not None:
                self._lengths.add(type.length)

    def _initial(self, entry: InitialTable) -> Iterator[list[Item]]:
        table = self._library.catalog.tables[entry.table]
        names = entry.columns
        known = {item.name for item in table.columns}
        if not known.issuperset(names or ()):
            raise Unsupported("a table with rows whose definition changes in the log")
        places = [*range(len(table.columns))] if names is None else [table.position(name) for name in names]
        for row in entry.rows:
            yield [
                (column(table.name, place), value, table.columns[place].type)
                for value, place in zip(row, places, strict=True)
            ]

    def _value(self, place: Place, value: Any, type: SqlType | None) -> Any:
        return self._map[value] if _is_text(value, type) else self._numbers.replace(place, value, type)

    def _sql(self, text: str, consts: set[str], complete: bool) -> str:
        """The text with its literals replaced, those that are texts."""
        if not consts:
            return text
        found: set[str] = set()

        def put(match: re.Match[str]) -> str:
            if match["text"] is None:
                return match.group()
            content = match["text"].replace("''", "'")
            if content not in consts:
                return match.group()
            if match["escape"] or (escapes and "\\" in content):
                raise Unsupported("an escaped text literal")
            found.add(content)
            return f"'{self._map[content]}'"

        escapes = self._library.dialect.rules.running.backslash_escapes
        replaced = _LITERALS.sub(put, text)
        if complete and consts - found - self._schema:  # those of defaults and checks stand in the schema
            raise Unsupported("a text literal in a form that is not recognized")
        return replaced


def _kept(type: SqlType) -> None:
    """Raises Unsupported for a type whose values hold texts that would stay."""
    if type.kind in (Kind.JSON, Kind.BYTES, Kind.ANY) or type.kind in FAMILY_KINDS:
        raise Unsupported(f"a value of type {type}")


def _columns(table: Table) -> Iterator[str]:
    return (item.name for item in table.columns)


def _uncommented(text: str) -> str:
    return _COMMENTS.sub(lambda match: " " if match["comment"] else match.group(), text)


_COMMENTS = re.compile(r"""(?P<comment>--[^\n]*|/\*.*?\*/)|'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`""", re.DOTALL)
_LITERALS = re.compile(
    r"""--[^\n]*|/\*.*?\*/|"(?:[^"]|"")*"|(?P<escape>\b[eExXbBnN])?'(?P<text>(?:[^']|'')*)'""", re.DOTALL
)


def _flat(params: Sequence[Any] | Mapping[str, Any]) -> Iterator[tuple[int | str, Any]]:
    """Parameters with their keys; an array's items have keys of their own (`frontend.names.scope.Parameters`)."""
    if isinstance(params, Mapping):
        for name, value in params.items():
            if _is_array(value):
                yield from ((f"{name}[{place}]", item) for place, item in enumerate(value))
            else:
                yield name, value
    else:
        arrays = [item for value in params if _is_array(value) for item in value]
        yield from ((key, value) for key, value in enumerate((*params, *arrays)))


def _is_array(value: Any) -> bool:
    return isinstance(value, list | tuple)


def _array(value: Sequence[Any], items: Iterator[Any]) -> tuple[Any, ...]:
    """As many of the items as the array has."""
    return tuple(next(items) for _ in value)


def _is_text(value: Any, type: SqlType | None) -> bool:
    return isinstance(value, str) and type is not None and type.kind in (Kind.TEXT, Kind.NULL)


def _judge(node: object) -> None:
    """Raises Unsupported where a node does more to a text than compare it or hand it on."""
    match node:
        case Like():
            raise Unsupported("LIKE")
        case Function(name=name, arguments=arguments, type=type):
            if name not in PASSING and (type.kind is Kind.TEXT or any(a.type.kind is Kind.TEXT for a in arguments)):
                raise Unsupported(f"function {name}() of a text")
        case Binary(op=op, left=left, right=right):
            if op not in COMPARING | {"and", "or"} and Kind.TEXT in (left.type.kind, right.type.kind):
                raise Unsupported(f"operator {op} of a text")
        case Cast(operand=operand, type=type, assignment=assignment):
            kinds = (operand.type.kind, type.kind)
            if Kind.TEXT in kinds and kinds[0] is not kinds[1] and operand.type.kind is not Kind.NULL:
                raise Unsupported(f"CAST of {operand.type} to {type}")
            if type.kind is Kind.TEXT and type.length is not None and not assignment:
                raise Unsupported(f"CAST to {type}, which cuts texts")
        case Aggregate(function="string_agg"):
            raise Unsupported("aggregate of texts into one")
        case Free(type=type) if type.kind is Kind.TEXT:
            raise Unsupported("a text that the DBMS chooses")


def _tokens(texts: Iterable[str], room: int) -> dict[str, str]:
    """A word for each text, in the same order, none longer than `room`."""
    ordered = sorted(texts)
    width = 2
    while len(LETTERS) ** width < len(ordered):
        width += 1
    if width > room:
        raise Unsupported(f"varchar({room}), too short for {len(ordered)} different texts")
    tokens = {}
    for number, text in enumerate(ordered):
        word = ""
        for _ in range(width):
            number, letter = divmod(number, len(LETTERS))
            word = LETTERS[letter] + word
        tokens[text] = word
    return tokens

"""A log without its texts and ids: each is replaced by another, the same everywhere, and they sort as the old ones do.

That is faithful where statements compare texts and hand them on, whole or inside of arrays, rows, enums, bytes and
JSON; what does more (LIKE, length(), ||, ...) is refused by name, found in the bound statements (`uses`). Numbers and
UUIDs are replaced where they are only compared (`numbers`), else they stay, and so do dates, names of tables and other
values. Transactions, sessions, clocks and aliases (`aliases`) get other names; comments, and settings that nothing
depends on, go. Does not know isolation levels: whether the verdict is the same is for an audit to tell.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from sql_semantics.errors import SqlError, UnknownTable, Unsupported
from sql_semantics.ir.definitions import Definition
from sql_semantics.ir.expressions import Const
from sql_semantics.ir.schema import Table
from sql_semantics.ir.walks.traverse import fields_of
from sql_semantics.library import SqlLibrary
from sql_semantics.values.families.enums import EnumFamily, Label
from sql_semantics.values.identifiers import given_name
from sql_semantics.values.text import TextRule, text_rule
from sql_semantics.values.types import Kind, SqlType, Value
from sql_semantics.values.unsettled import OTHERS, TOLD, matters
from troubadour.coverage.untold import UNKNOWN, is_untold
from troubadour.execution.prepared import result_types
from troubadour.model.log import Header, InitialTable, Log, Statement, Transaction, TransactionId
from troubadour.model.values import ParamShape, param_shape
from troubadour.tools.anonymize.aliases import Aliases
from troubadour.tools.anonymize.domains import Place
from troubadour.tools.anonymize.flow import column
from troubadour.tools.anonymize.numbers import Numbers
from troubadour.tools.anonymize.programs import param, result
from troubadour.tools.anonymize.shapes import UNTYPED, WORDED, Shapes, has_texts, labels
from troubadour.tools.anonymize.uses import Uses
from troubadour.tools.anonymize.words import Needs, Words

Bound = tuple[Mapping[int | str, SqlType], tuple[tuple[SqlType, ...], ...] | None]
"""The types of a statement's parameters, and of the columns of its result sets where they are known."""
Item = tuple[Place, Any, SqlType | None]
"""A value of a log, where it stands, and its type where that is known."""
Constants = dict[tuple[SqlType, type, str], Value]
"""The literals of a statement that are texts or have some, by what tells them apart."""


class Anonymizer:
    """Made from a log; `header` and `transactions` give the other one. Raises Unsupported with the name of the
    construct that needs more of a text than its place among the others, LogError as an audit does."""

    def __init__(self, log: Log, library: SqlLibrary) -> None:
        self._log = log
        self._library = library
        self._types: dict[tuple[str, Any, int], Bound] = {}
        self._numbers = Numbers(library.catalog, bool(log.header.initial_unknown))
        self._consts: dict[str, Constants | None] = {}
        """The literals of a statement, by its text; None for one that is not modelled."""
        self._lengths: set[int] = set()
        self._clocks: dict[str, str] = {}
        self._needs = Needs()
        self._uses = Uses(self._needs)
        dialect = library.dialect
        own = {column.type.collation for table in library.catalog.tables.values() for column in table.columns} - {""}
        rule = TextRule.UNKNOWN if own else text_rule(dialect)
        words = Words(rule, self._needs, canonical=dialect.rules.expressions.has_jsonb)
        self._shapes = Shapes(words, dialect)
        catalog = library.catalog
        self._tables = catalog.tables
        if library.stepwise or catalog.transient:
            self._tables = {**catalog.tables, **SqlLibrary(dialect, log.header.schema).catalog.tables}
            self._numbers.keep("definitions that change in the log")
        self._schema: Constants = {}
        self._found: set[tuple[SqlType, type, str]] = set()
        """The literals that were seen in a text."""
        tables = {id(table): table for table in (*catalog.tables.values(), *self._tables.values())}.values()
        for table in tables:
            for item in table.columns:
                self._type(item.type)
                self._labels(item.type)
            self._check(table, self._schema)
        for named in dialect.named:
            self._labels(named.type)
        for procedure in catalog.procedures.values():
            self._check(procedure, self._schema)
        names = {name.lower() for table in tables for name in (table.name, *_columns(table))}
        self._aliases = Aliases(names | {name.lower() for name in catalog.procedures}, log.header.dialect)
        self.ids: dict[TransactionId, str] = {}
        """What each transaction is called."""
        self._sessions: dict[str, str] = {}
        for number, transaction in enumerate(log.transactions, 1):
            self.ids[transaction.id] = f"t{number}"
            if transaction.session is not None:
                self._sessions.setdefault(transaction.session, f"s{len(self._sessions) + 1}")
        for entry in log.header.initial:
            for row in self._initial(entry):
                self._meet(row)
        for text in self._definitions():
            self._sql(text, self._schema, loose=text in library.unread, meeting=True)
        for transaction in log.transactions:
            for statement in transaction.statements:
                self._look(statement)
        words.settle(min(self._lengths, default=None))
        # what no literal can be written for is found before anything is written
        for text in self._definitions():
            self._sql(text, self._schema, loose=text in library.unread)
        self._written = {
            text: self._sql(text, consts or {}, loose=consts is None, complete=True)
            for text, consts in self._consts.items()
        }
        """What each statement's text becomes, its aliases apart."""
        if self._schema.keys() - self._found:
            raise Unsupported("a text literal of a definition in a form that is not recognized")

    def header(self) -> Header:
        """The header, initial rows included."""
        header = self._log.header
        given = []
        for entry in header.initial:
            rows = tuple(tuple(self._value(*item) for item in row) for row in self._initial(entry))
            given.append(InitialTable(entry.table, entry.columns, rows))
        return msgspec.structs.replace(
            header,
            schema=tuple(map(self._definition, header.schema)),
            procedures=tuple(map(self._definition, header.procedures)),
            initial=tuple(given),
            settings={
                name: value for name, value in header.settings.items() if name in TOLD or matters(name, header.dialect)
            }
            | ({OTHERS: UNKNOWN} if is_untold(self._log) else {}),
            log_id=None,
            segment=None,
            clock=self._clock(header.clock),
            gaps=tuple(
                msgspec.structs.replace(gap, reason="a gap", clock=self._clock(gap.clock)) for gap in header.gaps
            ),
        )

    def _definitions(self) -> tuple[str, ...]:
        return self._log.header.schema + self._log.header.procedures

    def _definition(self, text: str) -> str:
        return _uncommented(self._sql(text, self._schema, loose=text in self._library.unread))

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
                trace_id=None,
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
            sql=self._aliases.plain(self._written[statement.sql]),
            params=params,
            results=results,
            error=None if error is None else msgspec.structs.replace(error, message=""),
        )

    def _params(self, statement: Statement) -> Iterator[Item]:
        """The parameters, those of arrays item by item, with the keys that these have in the bound statement."""
        types, _ = self._bound(statement)
        text = statement.sql, _shape(statement)
        loose = self._consts[statement.sql] is None
        for key, value in _flat(statement.params or ()):
            yield param(text, key), value, UNTYPED if loose else types.get(key)

    def _results(self, statement: Statement) -> Iterator[list[list[Item]]]:
        """The rows of each result set."""
        _, types = self._bound(statement)
        text = statement.sql, _shape(statement)
        other = UNTYPED if self._consts[statement.sql] is None else None
        for number, found in enumerate(statement.results or ()):
            kinds = types[number] if types is not None and number < len(types) else (other,) * len(found.columns)
            places = [result(text, number, index) for index in range(len(kinds))]
            yield [list(zip(places, row, kinds, strict=False)) for row in found.rows]

    def _look(self, statement: Statement) -> None:
        """Take down what a statement has."""
        if statement.error is not None and statement.error.sqlstate in ("22001", "22021"):
            raise Unsupported(f"error {statement.error.sqlstate}, which hangs on the length or the letters of a text")
        self._meet(self._params(statement))
        for rows in self._results(statement):
            for row in rows:
                if any(type is None and isinstance(value, str) for _, value, type in row):
                    raise Unsupported("a text in a result whose columns' types depend on how a CALL runs")
                self._meet(row)

    def _meet(self, items: Iterable[Item]) -> None:
        """Take values down, texts and numbers."""
        for place, value, type in items:
            if has_texts(type):
                self._shapes.meet(value, type)
            else:
                self._numbers.meet(place, value, type)

    def _bound(self, statement: Statement) -> Bound:
        shape = _shape(statement)
        found = self._types.get((statement.sql, shape, statement.scope))
        if found is None:
            found = self._types[statement.sql, shape, statement.scope] = self._read(statement, shape)
        return found

    def _read(self, statement: Statement, shape: ParamShape) -> Bound:
        """Bind a statement and take down what it does. Of one that is not modelled only the texts are known, which are
        no part of a verdict."""
        try:
            program = self._library.program(statement.sql, shape, statement.scope, statement.references)
        except (SqlError, Unsupported, UnknownTable, ValueError):
            self._consts[statement.sql] = None
            self._numbers.keep("a statement that is not modelled")
            self._sql(statement.sql, {}, loose=True, meeting=True)
            return {}, None
        consts = self._consts.setdefault(statement.sql, {})
        if consts is None:
            return {}, None
        self._check(program.statement, consts)
        if isinstance(program.statement, Definition):
            consts.update(self._schema)  # which has what any definition says
        found = program.parameters, result_types(program.statement, self._library.catalog)
        for given in (*found[0].values(), *(type for types in found[1] or () for type in types)):
            self._uses.type(given)
            self._labels(given)
        self._numbers.flow.text((statement.sql, shape), program.statement, found[1] is not None)
        return found

    def _check(self, node: object, consts: Constants) -> None:
        """Collect the literals below a node. Raises Unsupported for what does more to a text than is understood."""
        stack, met = [node], set[int]()
        while stack:
            node = stack.pop()
            if id(node) in met:
                continue
            met.add(id(node))
            self._uses.look(node)
            if isinstance(node, Const) and node.value is not None:
                self._constant(node.value, node.type, consts)
            stack.extend(fields_of(node))

    def _constant(self, value: Value, type: SqlType, consts: Constants) -> None:
        self._uses.type(type)
        if type.kind in WORDED and not isinstance(value, int | float):
            consts[type, value.__class__, str(value)] = value
            self._shapes.meet_constant(value, type)

    def _labels(self, type: SqlType) -> None:
        """The labels of an enum stand in the schema as literals."""
        family = type.family
        if isinstance(family, EnumFamily):
            for place, text in enumerate(labels(type)):
                self._constant(Label(place, text), type, self._schema)

    def _type(self, type: SqlType) -> None:
        self._uses.type(type)
        if type.kind is Kind.TEXT and type.length is not None:
            self._lengths.add(type.length)

    def _initial(self, entry: InitialTable) -> Iterator[list[Item]]:
        dialect = self._library.dialect
        table = self._tables[given_name(entry.table, self._tables, dialect, table=True)]
        known = {item.name for item in table.columns}
        places = [*range(len(table.columns))]
        if entry.columns is not None:
            places = [table.position(given_name(name, known, dialect)) for name in entry.columns]
        for row in entry.rows:
            yield [
                (column(table.name, place), value, table.columns[place].type)
                for value, place in zip(row, places, strict=True)
            ]

    def _value(self, place: Place, value: Any, type: SqlType | None) -> Any:
        if has_texts(type):
            return self._shapes.replaced(value, type)
        return self._numbers.replace(place, value, type)

    def _sql(self, text: str, consts: Constants, *, loose: bool, complete: bool = False, meeting: bool = False) -> str:
        """The text with its literals replaced, those that are texts or have some; `loose`: all. `meeting`: they are
        only met. Raises Unsupported for one that may be read as several types and, where the text has to be `complete`,
        for one that is not recognized."""
        found: set[tuple[SqlType, type, str]] = set()
        running = self._library.dialect.rules.running
        enums = [match.span() for match in _LABELS.finditer(text)]

        def put(match: re.Match[str]) -> str:
            quote = "'" if match["text"] is not None else '"'
            content = match["text"] if match["text"] is not None else match["double"]
            if content is None or (quote == '"' and not running.double_quoted_texts):
                return match.group()
            content, prefix = content.replace(quote * 2, quote), (match["prefix"] or "").lower()
            made: set[str] = set()
            for key, value in {} if meeting else consts.items():
                new = (
                    self._shapes.octets(content, value)
                    if prefix == "x"
                    else self._shapes.literal(content, value, key[0])
                )
                if new is not None:
                    found.add(key)
                    made.add(new)
            escapes = prefix == "e" or running.backslash_escapes
            escaped = prefix == "b" or (escapes and "\\" in content)
            if not made:
                free = loose or any(low <= match.start() < high for low, high in enums)
                if not (free or _SAID.search(text, 0, match.start())) or _names_something(text, match):
                    return match.group()
                if prefix == "x":
                    content = "\\x" + content
                if meeting:
                    self._shapes.meet(content, UNTYPED)
                    return match.group()
                made.add(self._shapes.replaced(content, UNTYPED).removeprefix("\\x" if prefix == "x" else ""))
            if escaped:
                raise Unsupported("an escaped text literal")
            if len(made) > 1:
                raise Unsupported("a text literal that is read as several types")
            return f"{match['prefix'] or ''}{quote}{made.pop().replace(quote, quote * 2)}{quote}"

        replaced = _LITERALS.sub(put, text)
        self._found |= found
        missing = consts.keys() - found - self._schema.keys()  # those of defaults and checks stand in the schema
        if complete and any(consts[key] not in self._needs.kept for key in missing):
            raise Unsupported("a text literal in a form that is not recognized")
        return replaced


def _names_something(text: str, literal: re.Match[str]) -> bool:
    """Whether a literal is the name of a sequence or a table."""
    return _CALLED.search(text, 0, literal.start()) is not None or text[literal.end() :].lstrip()[:5].lower() == "::reg"


def _shape(statement: Statement) -> ParamShape:
    """The shape of a statement's parameters; None too where these have none, so that it is not modelled."""
    try:
        return param_shape(statement.params)
    except Unsupported:
        return None


def _columns(table: Table) -> Iterator[str]:
    return (item.name for item in table.columns)


def _uncommented(text: str) -> str:
    return _COMMENTS.sub(lambda match: " " if match["comment"] else match.group(), text)


_COMMENTS = re.compile(r"""(?P<comment>--[^\n]*|/\*.*?\*/)|'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`""", re.DOTALL)
_LABELS = re.compile(r"\b(?:ENUM|SET)\s*\((?:[^)']|'(?:[^']|'')*')*\)", re.IGNORECASE)
_SAID = re.compile(r"\bCOMMENT\s*=?\s*\Z", re.IGNORECASE)
_CALLED = re.compile(r"\b(?:nextval|currval|setval)\s*\(\s*\Z", re.IGNORECASE)
_LITERALS = re.compile(
    r"""--[^\n]*|/\*.*?\*/|`[^`]*`|"(?P<double>(?:[^"]|"")*)"|(?P<prefix>\b[eExXbBnN])?'(?P<text>(?:[^']|'')*)'""",
    re.DOTALL,
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

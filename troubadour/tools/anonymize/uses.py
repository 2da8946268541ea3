"""What statements do with texts: what is more than comparing them and handing them on is refused by name, or noted in
`Needs`. Read off the nodes of bound statements, one by one. Does not know values, nor what stands in a text's place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from sql_semantics.errors import Unsupported
from sql_semantics.ir.expressions import Binary, Cast, Const, Expr, Free, Function, InList, Like, Quantified
from sql_semantics.ir.queries import Aggregate, OrderKey, Unnest
from sql_semantics.values.families.arrays import ArrayFamily
from sql_semantics.values.families.composites import CompositeFamily
from sql_semantics.values.types import NUMBER_KINDS, Kind, SqlType
from troubadour.tools.anonymize.flow import COMPARING, EQUAL, PASSING
from troubadour.tools.anonymize.shapes import WORDED
from troubadour.tools.anonymize.words import Needs

_FAITHFUL = frozenset({
    "array of", "array item", "cardinality", "array_length", "array_upper", "array_lower", "array_ndims",
    "array_append", "array_prepend", "array_cat", "array_remove", "array_replace", "array_position",
    "array @>", "array &&",
    "row of", "row, perhaps null", "row field", "row is null", "row is not null",
    "->", "jsonb ||", "jsonb @>", "jsonb ?", "jsonb -", "jsonb_array_length", "json_array_length", "json part",
})  # fmt: skip
"""Functions of texts, or of what has texts in it, whose results have other texts where these have, and nothing else."""
_QUANTIFIED = re.compile(r"(\S+) (?:any|all)")
_MAKERS = frozenset({
    "to_json", "to_jsonb", "json_build_object", "jsonb_build_object", "json_build_array", "jsonb_build_array",
    "array_to_json", "json_array", "json_object", "json_quote",
})  # fmt: skip
"""Functions that make JSON of values: faithful for those which stand in it as they are."""
_LOOKING = frozenset({
    "->>", "json_extract", "json", "json_valid", "json_set", "json_insert", "json_replace", "json_remove",
})  # fmt: skip
"""Functions that give what is in a document as a text or a number, or that find it by a path."""
_TOLD = {
    "jsonb_typeof": ("object", "array", "string", "number", "boolean", "null"),
    "json_type": ("object", "array", "text", "integer", "real", "true", "false", "null"),
}
"""Functions that answer one of a few words, which stay."""
_FIELDS = frozenset({"extract", "date_part", "date_trunc", "timezone", "strftime"})
"""Functions of moments, whose first argument says what of one."""
_AS_THEY_ARE = NUMBER_KINDS | {Kind.TEXT, Kind.BOOLEAN, Kind.JSON, Kind.JSONB, Kind.NULL, Kind.ENUM, Kind.ANY}
_SAME_WORDS = frozenset({Kind.TEXT, Kind.ENUM, Kind.NULL, Kind.OPAQUE})
"""Kinds between which a cast keeps the letters."""
_BY_NUMBERS = NUMBER_KINDS | {Kind.BOOLEAN, Kind.ANY}
_PREFIX = frozenset({
    "text integer", "text number", "compared number", "leading real", "compare classes", "compare numbers",
})  # fmt: skip
"""Functions that read a text as a number, or compare what may be one."""


class Uses:
    """`look` at every node; what was met is in `needs`."""

    def __init__(self, needs: Needs) -> None:
        self.needs = needs

    def look(self, node: object) -> None:
        """Take a node down. Raises Unsupported where it does more to a text than is understood."""
        match node:
            case Like():
                raise Unsupported("LIKE")
            case Function():
                self._function(node)
            case Binary(op=op, left=left, right=right):
                worded = {left.type.kind, right.type.kind} & WORDED
                if worded and op not in COMPARING | {"and", "or"}:
                    raise Unsupported(f"operator {op} of {_shown(left.type, right.type)}")
                if op in COMPARING - EQUAL:
                    self._order((left.type, right.type))
                self._compare((left.type, right.type))
            case InList(operand=operand, items=items):
                self._compare((operand.type, *(item.type for item in items)))
            case Quantified(op=op, operand=operand, item=item):
                if op in COMPARING - EQUAL:
                    self._order((operand.type, item.type))
                self._compare((operand.type, item.type))
            case Cast():
                self._cast(node)
            case Aggregate():
                self._aggregate(node)
            case Unnest(texts=texts, keys=keys) if texts or keys:
                raise Unsupported("unnest() of a text")
            case Free(type=type) if type.kind is Kind.TEXT:
                raise Unsupported("a text that the DBMS chooses")
        self._ordered_by(node)

    def type(self, type: SqlType) -> None:
        """A type of a column or of a value."""
        if type.kind is Kind.UNKNOWN:
            raise Unsupported(f"a value of type {type}")
        if type.kind is Kind.ANY or (type.kind is Kind.TEXT and type.scale == 0):
            self.needs.numbers = self.needs.numbers or "a column of any class, in which they would be numbers"
        if type.kind is Kind.BYTES and type.padded:
            raise Unsupported(f"a column of type {type}, which is padded")

    def _function(self, node: Function) -> None:
        name, given = node.name, [argument.type for argument in node.arguments]
        worded = any(type.kind in WORDED for type in (*given, node.type))
        quantified = _QUANTIFIED.fullmatch(name)
        if name in ("greatest", "least") or (quantified and quantified[1] in COMPARING - EQUAL):
            self._order(given)
        if name in ("->", "json_array_length") and given[0].kind is Kind.TEXT:
            self._look_into(f"{name} of a text")
        if not worded or name in PASSING or name in _FAITHFUL or quantified:
            return
        if name in _MAKERS and all(type.kind in _AS_THEY_ARE for type in given):
            self._look_into(f"{name}()")
        elif name in _LOOKING:
            self._look_into(f"{name}()" if name.isidentifier() else f"operator {name}")
        elif name in _TOLD:
            self._look_into(f"{name}()")
            self.needs.kept.update(_TOLD[name])
        elif name in _FIELDS and isinstance(node.arguments[0], Const) and not any(t.kind in WORDED for t in given[1:]):
            self.needs.kept.add(str(node.arguments[0].value))
        elif name in _PREFIX:
            self._keep_numbers("a text that is read as a number")
        else:
            raise Unsupported(f"function {name}() of {_shown(*given, node.type)}")

    def _look_into(self, what: str) -> None:
        self.needs.documents = True
        self._keep_numbers(what)

    def _keep_numbers(self, reason: str) -> None:
        self.needs.numbers = self.needs.numbers or reason

    def _cast(self, node: Cast) -> None:
        self._convert(node.operand.type, node.type)
        if node.type.kind is Kind.TEXT and node.type.length is not None and not node.assignment:
            raise Unsupported(f"CAST to {node.type}, which cuts texts")

    def _convert(self, source: SqlType, target: SqlType) -> None:
        if not {source.kind, target.kind} & WORDED or Kind.NULL in (source.kind, target.kind):
            return
        one, other = source.family, target.family
        if isinstance(one, ArrayFamily) and isinstance(other, ArrayFamily):
            self._convert(one.item, other.item)
        elif isinstance(one, CompositeFamily) and isinstance(other, CompositeFamily):
            for (_, field), (_, made) in zip(one.fields, other.fields, strict=False):
                self._convert(field, made)
        elif {source.kind, target.kind} <= {Kind.JSON, Kind.JSONB, Kind.TEXT} and source.kind is not target.kind:
            self._look_into(f"CAST of {source} to {target}")
        elif source.kind is not target.kind and not {source.kind, target.kind} <= _SAME_WORDS:
            if Kind.ANY not in (source.kind, target.kind) and not (
                {source.kind, target.kind} <= _BY_NUMBERS | {Kind.TEXT}
            ):
                raise Unsupported(f"CAST of {source} to {target}")
            self._keep_numbers(f"CAST of {source} to {target}")

    def _aggregate(self, node: Aggregate) -> None:
        types = [argument.type for argument in node.arguments]
        if node.function == "string_agg":
            raise Unsupported("aggregate of texts into one")
        if node.function in ("min", "max", "bare_min", "bare_max"):
            self._order(types)
        if node.function.startswith("json"):
            if not all(type.kind in _AS_THEY_ARE for type in types):
                raise Unsupported(f"aggregate {node.function}() of {_shown(*types)}")
            self._look_into(f"aggregate {node.function}()")

    def _ordered_by(self, node: object) -> None:
        """The keys of an ORDER BY, of a query, a window, an aggregate or a statement."""
        outputs = getattr(node, "outputs", ())
        for key in getattr(node, "order", ()):
            if isinstance(key, OrderKey):
                expression: Expr | None = key.expression
                if expression is None and key.output is not None and key.output < len(outputs):
                    expression = outputs[key.output].expression
                self._order([SqlType(Kind.TEXT) if expression is None else expression.type])

    def _compare(self, types: Iterable[SqlType]) -> None:
        """Values that are compared: of any class, each with one of another (SQLite's affinity)."""
        kinds = {type.kind for type in types}
        if Kind.ANY in kinds and len(kinds) > 1:
            self._keep_numbers("a comparison of values of any class")

    def _order(self, types: Iterable[SqlType]) -> None:
        for type in types:
            family = type.family
            if isinstance(family, ArrayFamily):
                self._order([family.item])
            elif isinstance(family, CompositeFamily):
                self._order([field for _, field in family.fields])
            elif type.kind in (Kind.TEXT, Kind.ANY):
                self.needs.ordered = True
            elif type.kind is Kind.JSONB:
                self.needs.sorted_json = True


def _shown(*types: SqlType) -> str:
    """The first of some types that has texts."""
    type = next(type for type in types if type.kind in WORDED)
    return "a text" if type.kind is Kind.TEXT else f"a value of type {type}"

"""JSON texts as SQLite's functions read, search and change them (sqlite.org/json1).

A text is kept in its parts as they are written: numbers and the insides of strings stay the same in what is made of it.
Only what RFC 8259 takes is read here: newer versions take more. Does not know SQL types.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from sql_semantics.errors import Unsupported
from sql_semantics.patterns import pattern
from sql_semantics.records import dataclass, field
from sql_semantics.values.numbers.sqlite_text import Version, leading_real


@dataclass(slots=True)
class Scalar:
    """A string, a number, or a word, as it is written."""

    text: str


@dataclass(slots=True)
class List:
    """An array."""

    items: list[Node] = field(default_factory=list)


@dataclass(slots=True)
class Object:
    """An object: its keys as they are written between their quotes, in order; one may come twice."""

    members: list[tuple[str, Node]] = field(default_factory=list)


Node = Scalar | List | Object
Step = str | int | None
"""Of a path: a key, a place (from the end where it is negative), or the place behind the last."""

_BLANKS = pattern(r"[ \t\n\r]*")
_STRING = pattern(r'"((?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*)"')
_NUMBER = pattern(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?", re.ASCII)
_WORD = pattern(r"true|false|null")
_DEEP = 200
MALFORMED = "a text that is no JSON by RFC 8259, in sqlite"


class _Malformed(Exception):
    """The text is none."""


def read_json(text: str) -> Node | None:
    """The text in its parts; None for one that is no JSON. Raises Unsupported for one that is very deep."""
    try:
        node, place = _node(text, _after(text, 0), 0)
    except _Malformed:
        return None
    return node if _after(text, place) == len(text) else None


def _after(text: str, place: int) -> int:
    found = _BLANKS.match(text, place)
    assert found is not None
    return found.end()


def _node(text: str, place: int, depth: int) -> tuple[Node, int]:
    if depth > _DEEP:
        raise Unsupported("a JSON text that is nested deeply, in sqlite")
    opening = text[place : place + 1]
    if opening == "[":
        return _list(text, place, depth)
    if opening == "{":
        return _object(text, place, depth)
    found = _STRING.match(text, place) or _NUMBER.match(text, place) or _WORD.match(text, place)
    if found is None:
        raise _Malformed
    return Scalar(found[0]), found.end()


def _list(text: str, place: int, depth: int) -> tuple[Node, int]:
    found = List()
    place = _after(text, place + 1)
    while text[place : place + 1] != "]":
        if found.items:
            place = _after(text, _expected(text, place, ","))
        item, place = _node(text, place, depth + 1)
        found.items.append(item)
        place = _after(text, place)
    return found, place + 1


def _object(text: str, place: int, depth: int) -> tuple[Node, int]:
    found = Object()
    place = _after(text, place + 1)
    while text[place : place + 1] != "}":
        if found.members:
            place = _after(text, _expected(text, place, ","))
        key = _STRING.match(text, place)
        if key is None:
            raise _Malformed
        place = _after(text, _expected(text, _after(text, key.end()), ":"))
        item, place = _node(text, place, depth + 1)
        found.members.append((key[1], item))
        place = _after(text, place)
    return found, place + 1


def _expected(text: str, place: int, mark: str) -> int:
    if text[place : place + 1] != mark:
        raise _Malformed
    return place + 1


def written(node: Node) -> str:
    """The text, without blanks."""
    match node:
        case Scalar(text):
            return text
        case List(items):
            return f"[{','.join(map(written, items))}]"
        case Object(members):
            return "{" + ",".join(f'"{key}":{written(item)}' for key, item in members) + "}"


def type_of(node: Node) -> str:
    """What json_type() calls it."""
    match node:
        case List():
            return "array"
        case Object():
            return "object"
        case Scalar(text):
            if text.startswith('"'):
                return "text"
            if text in ("true", "false", "null"):
                return text
            return "real" if any(mark in text for mark in ".eE") else "integer"


def value_of(node: Node, version: Version) -> int | float | str | None:
    """The value of SQL's that a node is; an array or an object is its text. Raises Unsupported."""
    kind = type_of(node)
    if not isinstance(node, Scalar):
        return written(node)
    match kind:
        case "text":
            return _unquoted(node.text)
        case "null":
            return None
        case "true" | "false":
            return int(kind == "true")
        case "integer" if -(2**63) <= int(node.text) < 2**63:
            return int(node.text)
    return leading_real(node.text, version)


def _unquoted(text: str) -> str:
    if "\\" not in text:
        return text[1:-1]
    found = str(json.loads(text))
    if any(letter == "\0" or "\ud800" <= letter <= "\udfff" for letter in found):
        raise Unsupported("a JSON string with \\u0000 or half a surrogate pair, in sqlite")
    return found


def quoted(text: str) -> Scalar:
    """A text as a JSON string. Raises Unsupported for control characters, which versions write differently."""
    if any(letter < " " and letter not in "\b\f\n\r\t" for letter in text):
        raise Unsupported("a control character in a JSON string, in sqlite")
    return Scalar(json.dumps(text, ensure_ascii=False))


# --- paths --------------------------------------------------------------------------------------------------------

_STEP = pattern(r'\.(?:"([^"]*)"|([^."\[]+))|\[([0-9]+)\]|\[#-([0-9]+)\]|\[#\]', re.ASCII)


def read_path(path: str) -> tuple[Step, ...]:
    """The steps of a path. Raises Unsupported for one that is not well-formed, or has an escape in it."""
    if not path.startswith("$") or "\\" in path or "\0" in path:
        raise Unsupported(f"the JSON path {path!r} in sqlite")
    steps: list[Step] = []
    place = 1
    while place < len(path):
        found = _STEP.match(path, place)
        if found is None:
            raise Unsupported(f"the JSON path {path!r} in sqlite")
        key = found[1] if found[1] is not None else found[2]
        if key is not None:
            steps.append(key)
        elif found[4] is not None:
            steps.append(-int(found[4]) if int(found[4]) else None)
        else:
            steps.append(None if found[3] is None else int(found[3]))
        place = found.end()
    return tuple(steps)


_LABEL = pattern(r"[A-Za-z_][A-Za-z0-9_]*")


def step_of(key: str | int) -> tuple[Step, ...]:
    """The steps of what stands behind ``->``: a path, a key or a place. Raises Unsupported for what is not plain."""
    if isinstance(key, int):
        if key < 0:
            raise Unsupported("a place from the end of a JSON array, in sqlite")
        return (key,)
    if key.startswith("$"):
        return read_path(key)
    if _LABEL.fullmatch(key) is None:
        raise Unsupported(f"the JSON path {key!r} in sqlite")
    return (key,)


def found_at(node: Node, steps: Sequence[Step]) -> Node | None:
    """What a path leads to; None for nothing. Raises Unsupported where keys are written with escapes."""
    for step in steps:
        place = _place(node, step)
        if place is None:
            return None
        node = _children(node)[place]
    return node


def _children(node: Node) -> list[Node]:
    return (
        node.items if isinstance(node, List) else [item for _, item in node.members] if isinstance(node, Object) else []
    )


def _place(node: Node, step: Step) -> int | None:
    """Where a step leads among the parts of a node; None for nowhere."""
    if isinstance(node, Object) and isinstance(step, str):
        if any("\\" in key for key, _ in node.members):
            raise Unsupported("a JSON object with escapes in its keys, in sqlite")
        return next((place for place, (key, _) in enumerate(node.members) if key == step), None)
    if isinstance(node, List) and isinstance(step, int):
        place = step if step >= 0 else len(node.items) + step
        return place if 0 <= place < len(node.items) else None
    return None


# --- changes ------------------------------------------------------------------------------------------------------


def changed(node: Node, steps: Sequence[Step], value: Node, *, overwrites: bool, creates: bool) -> Node:
    """The node with a value put where a path leads: json_set() overwrites and creates, json_insert() and json_replace()
    do one of these. Raises Unsupported where more than the last step would be created, and for all of it."""
    if not steps:
        raise Unsupported("json_set() of the whole text, in sqlite")
    above = found_at(node, steps[:-1])
    if above is None:
        if creates:
            raise Unsupported("json_set() of a place in nothing, in sqlite")
        return node
    last = steps[-1]
    place = _place(above, last)
    if place is not None:
        if overwrites and isinstance(above, List):
            above.items[place] = value
        elif overwrites and isinstance(above, Object):
            above.members[place] = above.members[place][0], value
    elif creates and isinstance(above, Object) and isinstance(last, str):
        above.members.append((quoted(last).text[1:-1], value))
    elif creates and isinstance(above, List) and (last is None or last == len(above.items)):
        above.items.append(value)
    return node


def refuse_dependent(paths: Sequence[Sequence[Step]]) -> None:
    """Raise Unsupported for paths of which one may lead to what another makes: older versions do not find it."""
    for place, path in enumerate(paths):
        for other in paths[:place]:
            shorter = min(len(path), len(other))
            if (
                any(isinstance(step, int) or step is None for step in (*path, *other))
                or path[:shorter] == other[:shorter]
            ):
                raise Unsupported("json_set() of places that hang on one another, in sqlite")


def without(node: Node, steps: Sequence[Step]) -> Node | None:
    """The node without what a path leads to; None where that is all of it."""
    if not steps:
        return None
    above = found_at(node, steps[:-1])
    place = None if above is None else _place(above, steps[-1])
    if place is not None and isinstance(above, List):
        del above.items[place]
    elif place is not None and isinstance(above, Object):
        del above.members[place]
    return node

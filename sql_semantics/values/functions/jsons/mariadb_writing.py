"""Functions that write JSON texts in MariaDB (its manual, JSON Functions). Arguments that become parts are texts of
JSON already (frontend/expressions/jsons/parts).

What is edited is written anew with one blank behind each comma and colon; numbers and strings stay as they are written.
A text that is no JSON gives NULL; in a statement that stores it is not modelled. Does not know how values become parts.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial

from sql_semantics.errors import Unsupported
from sql_semantics.values.families.json_texts import parts_of
from sql_semantics.values.functions.jsons.mariadb import is_whole, spaced, steps_of
from sql_semantics.values.functions.rule import Call, Implementation, Rule, Table, any_of, exactly, plainly
from sql_semantics.values.types import JSON, TEXT, Kind

_MOST = 16_777_216
"""Letters of a result; MariaDB gives NULL beyond `max_allowed_packet`."""
Edit = Callable[[str, "str | int", str], str]


def quoted(text: str) -> str:
    """A text as a string of JSON."""
    if not text.isprintable() and any(letter < " " and letter not in "\b\f\n\r\t" for letter in text):
        raise Unsupported("JSON of a text with control letters")
    return json.dumps(text, ensure_ascii=False)


def _array(parts: list[str]) -> str:
    return _bounded(f"[{', '.join(parts)}]")


def _object(members: list[tuple[str, str]]) -> str:
    """Of names as they are written between quotes."""
    return _bounded("{" + ", ".join(f'"{name}": {part}' for name, part in members) + "}")


def _bounded(text: str) -> str:
    if len(text) > _MOST // 4:
        raise Unsupported("a JSON text of such a length")
    return text


def _make_array(*parts: str | None) -> str:
    return _array(["null" if part is None else part for part in parts])


def _make_object(*given: str | None) -> str:
    names, parts = given[::2], given[1::2]
    if None in names:
        raise Unsupported("json_object() with a key that is NULL")
    shown = ("null" if part is None else part for part in parts)
    return _object([(quoted(str(name))[1:-1], part) for name, part in zip(names, shown, strict=True)])


def _items(text: str) -> list[str]:
    return [part for _, part in parts_of(text)]


def _members(text: str) -> list[tuple[str, str]]:
    found = [(str(name), part) for name, part in parts_of(text)]
    if len({name for name, _ in found}) < len(found):
        raise Unsupported("a JSON object with a key twice")
    return found


def _along(text: str, steps: list[str | int], edit: Callable[[str], str], within: str) -> str:
    """The text in which the value at the steps is edited; as it is where there is none."""
    if not steps:
        return edit(text)
    step, rest = steps[0], steps[1:]
    if isinstance(step, int):
        if not text.startswith("["):
            raise Unsupported(f"{within}() at a place in what is no array")
        items = _items(text)
        if step < len(items):
            items[step] = _along(items[step], rest, edit, within)
        return _array(items)
    if not text.startswith("{"):
        return text
    members = _members(text)
    return _object([(name, _along(part, rest, edit, within) if name == step else part) for name, part in members])


def _editor(edit: Callable[[str], Edit]) -> Callable[[Call], Implementation]:
    """A function of a text, and paths with parts, one after the other: the last step of a path is edited in what is
    there without it."""

    def build(call: Call) -> Implementation:
        change = edit(call.name)

        def apply(text: str | None, *given: str | None) -> str | None:
            paths, parts = given[::2], given[1::2]
            if text is None or None in paths:
                return None
            if not is_whole(text, call):
                return None
            found = spaced(text.strip(" \t\r\n"))
            for path, part in zip(paths, parts, strict=True):
                steps = steps_of(str(path))
                if not steps:
                    raise Unsupported(f"{call.name}() of the whole text")
                last, value = steps.pop(), _as_part(part)
                found = _along(found, steps, partial(_edited, change, last, value), call.name)
            return found

        return apply

    return build


def _as_part(given: str | None) -> str:
    return "null" if given is None else spaced(given) if given[:1] in "[{" else given


def _edited(change: Edit, step: str | int, part: str, text: str) -> str:
    return change(text, step, part)


def _setter(name: str) -> Edit:
    inserts, replaces = name != "json_replace", name != "json_insert"

    def change(text: str, step: str | int, part: str) -> str:
        if isinstance(step, int):
            if not text.startswith("["):
                raise Unsupported(f"{name}() at a place in what is no array")
            items = _items(text)
            if step < len(items):
                items[step] = part if replaces else items[step]
            elif inserts:
                items.append(part)
            return _array(items)
        if not text.startswith("{"):
            return text
        members = _members(text)
        if any(known == step for known, _ in members):
            members = [(known, part if known == step and replaces else old) for known, old in members]
        elif inserts:
            members.append((step, part))
        return _object(members)

    return change


def _appended(call: Call) -> Implementation:
    def apply(text: str | None, *given: str | None) -> str | None:
        paths, parts = given[::2], given[1::2]
        if text is None or None in paths or not is_whole(text, call):
            return None
        found = spaced(text.strip(" \t\r\n"))
        for path, part in zip(paths, parts, strict=True):
            there: list[str] = []
            found = _along(found, steps_of(str(path)), partial(_with_part, there, _as_part(part)), call.name)
            if not there:
                return None
        return found

    return apply


def _with_part(there: list[str], part: str, text: str) -> str:
    """The text as an array with one more part; noted in `there`."""
    there.append(text)
    old = _items(text) if text.startswith("[") else [text]
    return _array([*old, part])


def _removed(call: Call) -> Implementation:
    def apply(text: str, *paths: str) -> str | None:
        if not is_whole(text, call):
            return None
        found = spaced(text.strip(" \t\r\n"))
        for path in paths:
            steps = steps_of(path)
            if not steps:
                raise Unsupported("json_remove() of the whole text")
            found = _along(found, steps[:-1], partial(_without, steps[-1]), call.name)
        return found

    return apply


def _without(step: str | int, text: str) -> str:
    if isinstance(step, int):
        if not text.startswith("["):
            raise Unsupported("json_remove() at a place in what is no array")
        return _array([part for place, part in enumerate(_items(text)) if place != step])
    if not text.startswith("{"):
        return text
    return _object([(name, part) for name, part in _members(text) if name != step])


def _merged(call: Call) -> Implementation:
    def apply(*given: str | None) -> str | None:
        texts = [text for text in given if text is not None]
        if not all(is_whole(text, call) for text in texts) or len(texts) < len(given):
            return None  # what comes behind is not read
        found, *more = (spaced(text.strip(" \t\r\n")) for text in texts)
        for text in more:
            found = _joined(found, text)
        return found

    return apply


def _merged_patches(call: Call) -> Implementation:
    """What is patched is NULL behind a NULL, until a part comes that is no object."""

    def apply(*texts: str | None) -> str | None:
        if not all(is_whole(text, call) for text in texts if text is not None):
            return None
        found, *more = (None if text is None else spaced(text.strip(" \t\r\n")) for text in texts)
        for text in more:
            if text is None:
                found = None
            elif found is not None:
                found = _patched(found, text)
            elif not text.startswith("{"):
                found = text
        return found

    return apply


def _joined(left: str, right: str) -> str:
    """Objects by their names, everything else as one array."""
    if left.startswith("{") and right.startswith("{"):
        others = dict(_members(right))
        members = [(name, _joined(part, others.pop(name)) if name in others else part) for name, part in _members(left)]
        return _object([*members, *others.items()])
    parts = (_items(side) if side.startswith("[") else [side] for side in (left, right))
    return _array([part for side in parts for part in side])


def _patched(left: str, right: str) -> str:
    """RFC 7396: a null takes a name away."""
    if not right.startswith("{"):
        return right
    others = dict(_members(right))
    members = dict(_members(left)) if left.startswith("{") else {}
    for name, part in others.items():
        if part == "null":
            members.pop(name, None)
        else:
            members[name] = _patched(members.get(name, ""), part)
    return _object(list(members.items()))


_PART = any_of([Kind.TEXT, Kind.JSON], TEXT)
_EDITED = (*exactly(TEXT, TEXT), _PART)

MARIADB: Table = {
    "json quoted": (Rule(exactly(TEXT), TEXT, plainly(quoted)),),
    "json_array": (
        Rule((), JSON, plainly(_make_array)),
        Rule((_PART,), JSON, plainly(_make_array), variadic=True, strict=False),
    ),
    "json_object": (
        Rule((), JSON, plainly(_make_object)),
        Rule((_PART,), JSON, plainly(_make_object), variadic=True, strict=False),
    ),
    **{
        name: (Rule((*exactly(TEXT), _PART), JSON, _editor(_setter), variadic=True, strict=False),)
        for name in ("json_set", "json_insert", "json_replace")
    },
    "json_array_append": (Rule((*exactly(TEXT), _PART), JSON, _appended, variadic=True, strict=False),),
    "json_remove": (Rule(exactly(TEXT, TEXT), JSON, _removed, variadic=True),),
    **{
        name: (Rule(exactly(TEXT, TEXT), JSON, _merged, variadic=True, strict=False),)
        for name in ("json_merge", "json_merge_preserve")
    },
    "json_merge_patch": (Rule(exactly(TEXT, TEXT), JSON, _merged_patches, variadic=True, strict=False),),
}

"""Paths of json and jsonb, ``#>``, ``#>>``, ``#-`` and jsonb_set() (PostgreSQL 9.16). Does not know single keys."""

from __future__ import annotations

import re
from typing import Any

from sql_semantics.errors import Unsupported
from sql_semantics.patterns import pattern
from sql_semantics.values.families.arrays import Array
from sql_semantics.values.families.json_texts import member, parts_of, shown
from sql_semantics.values.families.jsonb import Jsonb, jsonb_of
from sql_semantics.values.functions.jsons.postgres import shown_part
from sql_semantics.values.functions.rule import Call, Implementation, Rule, Slot, Table, exactly, plainly
from sql_semantics.values.types import BOOLEAN, JSON, JSONB, TEXT, Kind

_INTEGER = pattern(r"\s*[+-]?\d+", re.ASCII)
_ABSENT = object()


def _place(step: object) -> int | None:
    """The place in an array that a step of a path names; None for another text, or a number that is no integer."""
    text = str(step)
    if _INTEGER.fullmatch(text) is None or len(text) > _LONGEST:
        return None
    place = int(text)
    return place if -(2**31) <= place < 2**31 else None


_LONGEST = 1000


def _part(tree: Any, path: Array) -> Any:
    for step in path.items:
        if isinstance(tree, dict) and step in tree:
            tree = tree[step]
        elif isinstance(tree, list) and step is not None:
            place = _place(step)
            if place is None or not -len(tree) <= place < len(tree):
                return _ABSENT
            tree = tree[place]
        else:
            return _ABSENT
    return tree


def _at(value: Jsonb, path: Array) -> Jsonb | None:
    part = _part(value.tree, path)
    return None if part is _ABSENT else jsonb_of(part)


def _shown_at(value: Jsonb, path: Array) -> str | None:
    part = _part(value.tree, path)
    return None if part is _ABSENT else shown_part(part)


def _text_at(text: str, path: Array) -> str | None:
    found: str | None = text
    if not path.items:  # a scalar keeps the blanks in front of it
        return text.strip(_BLANKS) if text.lstrip(_BLANKS).startswith(("[", "{")) else text.rstrip(_BLANKS)
    for level, step in enumerate(path.items, 1):
        if found is None or step is None:
            return None
        if found.lstrip(_BLANKS).startswith("["):
            place = _place(step)
            found = None if place is None else member(found, place)
        else:
            if level < len(path.items) and _is_twice(found, str(step)):
                raise Unsupported("a path through a JSON object with a key twice")  # may end in either value
            found = member(found, str(step))
    return found


_BLANKS = " \t\r\n"


def _is_twice(text: str, key: str) -> bool:
    return text.lstrip(_BLANKS).startswith("{") and sum(name == key for name, _ in parts_of(text)) > 1


def _shown_text_at(text: str, path: Array) -> str | None:
    found = _text_at(text, path)
    if found is None:
        return None
    bare = found.strip(_BLANKS)
    return shown(bare) if bare.startswith('"') or bare == "null" else found


class _Change:
    """A value with something set, or taken away (`new` is absent), at a path."""

    def __init__(self, call: Call, new: Any, create: bool) -> None:
        self.call, self.new, self.create = call, new, create

    def at(self, tree: Any, steps: tuple[Any, ...]) -> Any:
        """The tree changed below."""
        if steps[0] is None:
            raise self.call.fail("22004", "a path element is null")
        if isinstance(tree, dict):
            return self._in_object(tree, steps)
        return self._in_array(tree, steps) if isinstance(tree, list) else tree

    def _in_object(self, tree: dict[str, Any], steps: tuple[Any, ...]) -> Any:
        key, *rest = steps
        if key not in tree:
            return {**tree, key: self.new} if not rest and self.create and self.new is not _ABSENT else tree
        if rest:
            return {**tree, key: self.at(tree[key], tuple(rest))}
        if self.new is _ABSENT:
            return {name: item for name, item in tree.items() if name != key}
        return {**tree, key: self.new}

    def _in_array(self, tree: list[Any], steps: tuple[Any, ...]) -> Any:
        key, *rest = steps
        place = _place(key)
        if place is None:
            raise self.call.fail("22P02", "a path element is not an integer")
        ahead = place < -len(tree)
        place = place if place >= 0 else max(place + len(tree), 0)
        if not ahead and place < len(tree):
            if rest:
                return [*tree[:place], self.at(tree[place], tuple(rest)), *tree[place + 1 :]]
            return [*tree[:place], *([] if self.new is _ABSENT else [self.new]), *tree[place + 1 :]]
        if rest or not self.create or self.new is _ABSENT:
            return tree
        return [self.new, *tree] if ahead else [*tree, self.new]


def _set(call: Call) -> Implementation:
    def apply(value: Jsonb, path: Array, new: Jsonb, create: bool = True) -> Jsonb:
        return _changed(call, value, path, _Change(call, new.tree, create), "set")

    return apply


def _deleted(call: Call) -> Implementation:
    def apply(value: Jsonb, path: Array) -> Jsonb:
        return _changed(call, value, path, _Change(call, _ABSENT, False), "delete")

    return apply


def _changed(call: Call, value: Jsonb, path: Array, change: _Change, what: str) -> Jsonb:
    if not isinstance(value.tree, dict | list):
        raise call.fail("22023", f"cannot {what} path in scalar")
    if not path.items or not (value.tree or change.create):
        return value
    return jsonb_of(change.at(value.tree, tuple(path.items)))


def _keys(every: bool) -> Implementation:
    def apply(value: Jsonb, keys: Array) -> bool:
        tree = value.tree
        held = {item for item in (tree if isinstance(tree, dict | list) else [tree]) if isinstance(item, str)}
        return (all if every else any)(key in held for key in keys.items if key is not None)

    return apply


_JSON, _JSONB = Slot(frozenset({Kind.JSON})), Slot(frozenset({Kind.JSONB}), JSONB)
_TEXTS = Slot(frozenset({Kind.ARRAY}))
_ERRORS = ("22023", "22P02", "22004")
POSTGRES: Table = {
    "#>": (Rule((_JSON, _TEXTS), JSON, plainly(_text_at)), Rule((_JSONB, _TEXTS), JSONB, plainly(_at))),
    "#>>": (Rule((_JSON, _TEXTS), TEXT, plainly(_shown_text_at)), Rule((_JSONB, _TEXTS), TEXT, plainly(_shown_at))),
    "#-": (Rule((_JSONB, _TEXTS), JSONB, _deleted, errors=_ERRORS),),
    "jsonb ?|": (Rule((_JSONB, _TEXTS), BOOLEAN, plainly(_keys(False))),),
    "jsonb ?&": (Rule((_JSONB, _TEXTS), BOOLEAN, plainly(_keys(True))),),
    "jsonb_set": (
        Rule((_JSONB, _TEXTS, _JSONB), JSONB, _set, errors=_ERRORS),
        Rule((_JSONB, _TEXTS, _JSONB, *exactly(BOOLEAN)), JSONB, _set, errors=_ERRORS),
    ),
}

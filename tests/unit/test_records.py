"""Data classes whose methods are written late behave as those of the standard library, on the same definitions."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, field, fields, is_dataclass, replace
from functools import cached_property
from typing import Any

import pytest

from sql_semantics.records import dataclass

OPTIONS = [
    {"frozen": frozen, "slots": slots, "eq": eq, "kw_only": kw_only}
    for frozen in (False, True) for slots in (False, True) for eq in (False, True) for kw_only in (False, True)
]  # fmt: skip
MAKERS: tuple[Callable[..., Any], ...] = (dataclass, dataclasses.dataclass)


def shape(make: Callable[..., Any], options: dict[str, bool]) -> tuple[type[Any], type[Any]]:
    """A class with fields of every kind, and one that inherits from it."""

    @make(**options)
    class Shape:
        left: int
        right: str = "r"
        made: list[int] = field(default_factory=list, compare=False)
        hidden: int = field(default=3, repr=False)
        inner: int = field(default=4, init=False)
        inner_made: list[int] = field(default_factory=list, init=False, compare=False)
        key: int = field(default=5, kw_only=True, hash=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "hidden", self.hidden + 1)

    @make(**options)
    class Wider(Shape):
        more: float = 0.5

    return Shape, Wider


def tried(action: Callable[[], Any]) -> Any:
    """What an action gives, or how it fails."""
    try:
        return action()
    except (TypeError, AttributeError) as error:
        return type(error).__name__


def behaviour(cls: type[Any]) -> dict[str, Any]:
    """What can be seen of a class and its objects."""
    one, other, same = cls(left=1), cls(left=2, right="x", key=7), cls(left=1)
    set_again = tried(lambda: setattr(one, "left", 1))
    return {
        "repr": repr(one).replace(type(one).__qualname__, "C"),
        "equal": (one == same, one == other, one == 1, one != same),
        "hash": tried(lambda: hash(one) == hash(same)),
        "hash differs by what is compared": tried(lambda: hash(one) == hash(other)) if cls.__hash__ else None,
        "none": cls.__hash__ is None,
        "set": set_again,
        "delete": tried(lambda: delattr(cls(left=1), "left")),
        "unknown": tried(lambda: setattr(one, "unknown", 1)) is None,
        "positional": tried(lambda: (cls(1, "a", [2]).left, cls(1, "a", [2]).made)),
        "too few": tried(cls),
        "not init": tried(lambda: cls(left=1, inner=2)),
        "fresh": cls(left=1).made is not cls(left=1).made and cls(left=1).inner_made is not cls(left=1).inner_made,
        "fields": [(f.name, f.init, f.repr, f.compare, f.hash, f.kw_only) for f in fields(cls)],
        "replace": repr(replace(one, left=9).left),
        "copy": (copy.copy(one).left, copy.deepcopy(one).hidden),
        "match": cls.__match_args__,
        "dataclass": is_dataclass(one),
        "dict": hasattr(one, "__dict__"),
        "tuple": dataclasses.astuple(one),
    }


@pytest.mark.parametrize("options", OPTIONS, ids=lambda one: "-".join(name for name, on in one.items() if on) or "none")
def test_as_the_standard_librarys(options: dict[str, bool]) -> None:
    ours, theirs = (shape(make, options) for make in MAKERS)
    for mine, other in zip(ours, theirs, strict=True):
        assert behaviour(mine) == behaviour(other)


@pytest.mark.parametrize("make", MAKERS)
def test_methods_of_its_own_stay(make: Callable[..., Any]) -> None:
    @make(frozen=True)
    class Own:
        value: int

        def __eq__(self, other: object) -> bool:
            return True

        def __repr__(self) -> str:
            return "own"

    @make(frozen=True)
    class Hashed:
        value: int

        def __hash__(self) -> int:
            return 7

    @make()
    class Unhashed:
        value: int

        __hash__ = None  # type: ignore[assignment]

    assert Own(1) == Own(2)
    assert repr(Own(1)) == "own"
    assert hash(Own(1)) == hash((1,))
    assert hash(Hashed(1)) == 7
    with pytest.raises(TypeError):
        hash(Unhashed(1))


@dataclass(frozen=True, slots=True)
class Kept:
    value: int
    more: tuple[int, ...] = ()


@dataclass(frozen=True)
class Cached:
    value: int

    @cached_property
    def doubled(self) -> int:
        return 2 * self.value


class Named(Kept):
    """Inherits without being one itself."""


def test_pickled_and_copied() -> None:
    one = Kept(1, (2,))
    assert pickle.loads(pickle.dumps(one)) == one
    assert copy.deepcopy(one) == one == copy.copy(one)


def test_the_first_use_is_as_the_second() -> None:
    @dataclass(slots=True)
    class Node:
        value: int
        next: Node | None = None

    for _ in range(2):
        assert Node(1) == Node(1)
        assert Node(1) != Node(2)
    around = Node(1)
    around.next = around
    assert repr(around).endswith("Node(value=1, next=...)")
    assert Named(3).value == 3
    assert Named(3) != Kept(3)
    assert Cached(2).doubled == 4
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'value'"):
        Cached(2).value = 3  # type: ignore[misc]

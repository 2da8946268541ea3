"""Data classes that cost little until they are used.

Those of the standard library write and compile six methods for each class as the class is made, 0.28 ms, and did so for
a quarter of the time that a small audit took. Here each method is written at its first call; all else is the standard
library's, so that `fields`, `replace`, `is_dataclass`, `copy`, `pickle` and a type checker see one of its data classes.
Known are `frozen`, `slots`, `eq` and `kw_only`; of fields, what `field` knows. Does not know what is kept in them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from dataclasses import field, fields, is_dataclass, replace
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass", "field", "fields", "is_dataclass", "replace"]

_Method = Callable[..., Any]


def _dataclass(
    cls: type[Any] | None = None,
    *,
    frozen: bool = False,
    slots: bool = False,
    eq: bool = True,
    kw_only: bool = False,
) -> Any:
    """As `dataclasses.dataclass`."""

    def made(one: type[Any]) -> type[Any]:
        return _made(one, frozen, slots, eq, kw_only)

    return made if cls is None else made(cls)


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:
    dataclass = _dataclass


def _made(one: type[Any], frozen: bool, slots: bool, eq: bool, kw_only: bool) -> type[Any]:
    given = dict(one.__dict__)
    if not one.__doc__:
        one.__doc__ = one.__name__  # else the standard library would work out a signature
    cls: type[Any] = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)(one)
    members = fields(cls)
    _put(cls, given, "__init__", lambda: _init(cls, members, frozen))
    _put(cls, given, "__repr__", lambda: _repr(members))
    if frozen:
        for name, refuse in (("__setattr__", _refuse_to_set), ("__delattr__", _refuse_to_delete)):
            if name in given:
                raise TypeError(f"Cannot overwrite attribute {name} in class {cls.__name__}")
            setattr(cls, name, refuse)
        if slots:
            for name, method in (("__getstate__", _state), ("__setstate__", _set_state)):
                if name not in given:
                    setattr(cls, name, method)
    if eq:
        _put(cls, given, "__eq__", lambda: _eq(members))
        own = given.get("__hash__") is not None or ("__hash__" in given and "__eq__" not in given)
        if not own and frozen:
            _put(cls, {}, "__hash__", lambda: _hash(members))
        elif not own:
            cls.__hash__ = None  # type: ignore[assignment]  # as Python marks what cannot be hashed
    return cls


def _put(cls: type[Any], given: dict[str, Any], name: str, write: Callable[[], _Method]) -> None:
    """Give a class a method, which is written at its first call, unless the class has one of its own."""
    if name in given:
        return

    def first(self: Any, /, *values: Any, **named: Any) -> Any:
        method = write()
        method.__qualname__ = f"{cls.__qualname__}.{name}"
        setattr(cls, name, method)
        return method(self, *values, **named)

    first.__name__ = name
    setattr(cls, name, first)


_Members = Iterable["dataclasses.Field[Any]"]


def _init(cls: type[Any], members: _Members, frozen: bool) -> _Method:
    """What sets the fields, in their order, and calls `__post_init__`."""
    known: dict[str, Any] = {"_set": object.__setattr__, "_absent": dataclasses.MISSING}
    taken: dict[bool, list[str]] = {False: [], True: []}
    body = []
    for one in members:
        value = one.name
        if one.default is not dataclasses.MISSING:
            known[f"_default_{one.name}"] = one.default
            default = f"_default_{one.name}"
        elif one.default_factory is not dataclasses.MISSING:
            known[f"_make_{one.name}"] = one.default_factory
            default = "_absent"
            value = (
                f"_make_{one.name}() if {one.name} is _absent else {one.name}" if one.init else f"_make_{one.name}()"
            )
        else:
            default = ""
        if one.init:
            taken[bool(one.kw_only)].append(f"{one.name}={default}" if default else one.name)
        elif value == one.name:
            if not default:
                continue  # `__post_init__` sets it
            value = default
        body.append(f"_set(_self, {one.name!r}, {value})" if frozen else f"_self.{one.name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append("_self.__post_init__()")
    named = ["*", *taken[True]] if taken[True] else []
    return _written("__init__", ["_self", *taken[False], *named], body or ["pass"], known)


def _eq(members: _Members) -> _Method:
    compared = [one.name for one in members if one.compare]
    own, others = (f"({''.join(f'{side}.{name}, ' for name in compared)})" for side in ("_self", "_other"))
    body = [f"return {own} == {others} if _other.__class__ is _self.__class__ else NotImplemented"]
    return _written("__eq__", ["_self", "_other"], body, {})


def _hash(members: _Members) -> _Method:
    hashed = [one.name for one in members if (one.compare if one.hash is None else one.hash)]
    return _written("__hash__", ["_self"], [f"return hash(({''.join(f'_self.{name}, ' for name in hashed)}))"], {})


def _repr(members: _Members) -> _Method:
    shown = [one.name for one in members if one.repr]

    @recursive_repr()
    def __repr__(self: Any) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"

    return __repr__


def _written(name: str, parameters: list[str], body: list[str], known: dict[str, Any]) -> _Method:
    lines = "".join(f"    {line}\n" for line in body)
    found: dict[str, _Method] = {}
    exec(f"def {name}({', '.join(parameters)}):\n{lines}", known, found)
    return found[name]


def _refuse_to_set(self: Any, name: str, value: Any) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: Any, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, one.name) for one in fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for one, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, one.name, value)

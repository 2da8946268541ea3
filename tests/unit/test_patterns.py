"""Regular expressions that are compiled late are what `re.compile` gives, wherever they stand."""

from __future__ import annotations

import copy
import importlib
import pickle
import pkgutil
import re
from typing import Any

import sql_semantics
import sql_semantics.patterns as patterns
from sql_semantics.patterns import pattern


def test_as_compiled_at_once() -> None:
    late: Any = pattern(r"(a+)\s*b", re.IGNORECASE)
    early = re.compile(r"(a+)\s*b", re.IGNORECASE)
    for _ in range(2):
        assert late.sub("x", "aaa B ab") == early.sub("x", "aaa B ab")
        assert late.fullmatch("A b")[1] == "A"
        assert [one.span() for one in late.finditer("ab ab")] == [(0, 2), (3, 5)]
    assert (late.pattern, late.flags, late.groups) == (early.pattern, early.flags, early.groups)
    assert pickle.loads(pickle.dumps(late)).search("xab") is not None
    assert copy.deepcopy(late).search("xab") is not None
    assert not hasattr(late, "unknown")


def test_every_one_can_be_compiled() -> None:
    found = 0
    for module in pkgutil.walk_packages(sql_semantics.__path__, "sql_semantics."):
        for value in vars(importlib.import_module(module.name)).values():
            if isinstance(value, patterns._Pattern):
                assert value.groups >= 0
                found += 1
    assert found > 50

"""The parser's classes as ones that can be extended, where the parser is installed compiled (``sqlglot[c]``).

A compiled class refuses subclasses written in Python. The sources lie beside the compiled modules, and those of the
parser are loaded once more from there, for this front end alone: other users of the package in the process, and all of
it that is no parser, keep what is installed. Does not know what is extended, or why.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES, SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from types import ModuleType
from typing import cast

import sqlglot
from sqlglot.parser import Parser

_PARSER = "sqlglot.parser"


def extensible(parser: type[Parser]) -> type[Parser]:
    """The class, or where it is compiled the same class from its Python source."""
    module = import_module(parser.__module__)
    if not _is_compiled(module):
        return parser
    with _in_place(_from_source(import_module(_PARSER))):
        return cast("type[Parser]", getattr(_from_source(module), parser.__name__))


def _is_compiled(module: ModuleType) -> bool:
    return str(module.__file__).endswith(tuple(EXTENSION_SUFFIXES))


@cache
def _from_source(module: ModuleType) -> ModuleType:
    """The module anew, from the source beside it; not registered as an import."""
    path = str(module.__file__)
    source = next(path.removesuffix(suffix) for suffix in EXTENSION_SUFFIXES if path.endswith(suffix)) + ".py"
    loader = SourceFileLoader(module.__name__, source)
    spec = spec_from_loader(module.__name__, loader)
    assert spec is not None
    made = module_from_spec(spec)
    loader.exec_module(made)
    return made


@contextmanager
def _in_place(parser: ModuleType) -> Iterator[None]:
    """What is loaded meanwhile extends this module's classes."""
    compiled = sys.modules[_PARSER]
    sys.modules[_PARSER] = sqlglot.parser = parser
    try:
        yield
    finally:
        sys.modules[_PARSER] = sqlglot.parser = compiled

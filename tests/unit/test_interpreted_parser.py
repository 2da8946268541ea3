"""The parser where sqlglot is installed compiled: its classes come from the sources beside. `make compiled` runs the
unit tests with it; here modules only look compiled."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES

import pytest
import sqlglot.parser
from sqlglot import exp
from sqlglot.dialects.dialect import Dialect as Grammar

from sql_semantics.frontend.text import interpreted


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("sqlglot.parser", "sqlglot.parsers.postgres"):
        module = import_module(name)
        source = str(module.__file__).partition(".cpython")[0].removesuffix(".py")
        monkeypatch.setattr(module, "__file__", source + EXTENSION_SUFFIXES[0])
    interpreted._from_source.cache_clear()


@pytest.mark.usefixtures("compiled")
def test_a_parser_from_its_source() -> None:
    grammar = Grammar.get_or_raise("postgres")
    installed = sqlglot.parser
    found = interpreted.extensible(grammar.parser_class)
    assert found is not grammar.parser_class and found.__name__ == grammar.parser_class.__name__
    assert sys.modules["sqlglot.parser"] is sqlglot.parser is installed
    extended = type(found.__name__, (found,), {"FUNCTIONS": {}})
    text = "SELECT coalesce(a, 1), lower(b) FROM t WHERE c -> 'd' = $1"
    (tree,) = extended(dialect=grammar).parse(grammar.tokenize(text), text)
    assert isinstance(tree, exp.Select) and isinstance(tree.expressions[1], exp.Anonymous)
    assert interpreted.extensible(grammar.parser_class) is found


def test_a_parser_in_python_is_extended_as_it_is() -> None:
    parser = Grammar.get_or_raise("mysql").parser_class
    if sqlglot.parser.__file__.endswith(".py"):
        assert interpreted.extensible(parser) is parser
    else:
        assert interpreted.extensible(parser).__module__ == parser.__module__

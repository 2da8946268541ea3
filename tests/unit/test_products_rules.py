"""What products differ in is asked of `sql_semantics.products`, and no name decides it. Does not know the answers.

A product that is added has a file there; a comparison with a name elsewhere would pass it over in silence.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

from sql_semantics.products import PRODUCTS, Rules

ROOT = Path(__file__).parents[2]
PACKAGES = ("sql_semantics", "troubadour")
PRODUCTS_FOLDER = "sql_semantics/products/"

CHOOSING = frozenset(
    {
        "troubadour/cli/objects.py",
        "troubadour/cli/record.py",
        "troubadour/cli/reproduce.py",
        "troubadour/record/asking.py",
        "troubadour/record/begin.py",
        "troubadour/record/objects/disturb.py",
        "troubadour/record/proxy/decode/making.py",
        "troubadour/record/recording.py",
        "troubadour/record/runs/reproducing.py",
        "troubadour/record/runs/workload.py",
    }
)
"""Files that choose a server, a recorder or a driver by the name of the dialect."""


def _named(node: ast.AST | None, known: frozenset[str]) -> bool:
    """Whether an operand is the name of a product, or a collection with one."""
    match node:
        case ast.Constant(value=value):
            return value in PRODUCTS
        case ast.Tuple(elts=items) | ast.List(elts=items) | ast.Set(elts=items):
            return any(_named(item, known) for item in items)
        case ast.Dict(keys=keys):
            return any(_named(key, known) for key in keys)
        case ast.Call(func=ast.Name(id="frozenset" | "set" | "tuple" | "list"), args=[argument]):
            return _named(argument, known)
        case ast.Name(id=name):
            return name in known
    return False


def _constants(tree: ast.Module) -> frozenset[str]:
    """The module's own names for names of products."""
    found = set[str]()
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                pass
            case ast.AnnAssign(target=ast.Name(id=name), value=value) if value is not None:
                pass
            case _:
                continue
        if not isinstance(value, ast.Dict) and _named(value, frozenset()):
            found.add(name)
    return frozenset(found)


def _of_two_products(node: ast.AST) -> bool:
    """`dialect.product`: which of the two products that speak one dialect; no dialect's name."""
    return isinstance(node, ast.Attribute) and node.attr == "product"


def comparisons(source: str) -> list[int]:
    """The lines in which something is compared with the name of a product."""
    tree = ast.parse(source)
    known = _constants(tree)
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            operands = [node.left, *node.comparators]
            if any(_named(one, known) for one in operands) and not any(map(_of_two_products, operands)):
                found.append(node.lineno)
        elif isinstance(node, ast.MatchValue) and _named(node.value, known):
            found.append(node.value.lineno)
    return sorted(found)


def _files() -> Iterator[tuple[str, Path]]:
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            if not name.startswith(PRODUCTS_FOLDER):
                yield name, path


@pytest.mark.parametrize(
    "source",
    [
        'dialect.name == "postgres"',
        '"mysql" != dialect',
        'dialect in ("sqlite", "other")',
        'dialect not in frozenset({"duckdb"})',
        'kind is None or this.dialect.name == "mysql" and scale',
        'OLD = ("postgres", "mysql")\nfound = dialect.name in OLD',
        'OLD: str = "sqlite"\nfound = dialect.name == OLD',
        'dialect.name in {"mysql": 1}',
        'match dialect:\n    case "postgres":\n        pass',
        'match dialect:\n    case "other" | "duckdb":\n        pass',
    ],
)
def test_a_comparison_is_found(source: str) -> None:
    assert len(comparisons(source)) == 1


@pytest.mark.parametrize(
    "source",
    [
        "dialect.rules.queries",
        'TABLE = {"postgres": 1}\nfound = TABLE[dialect.name]',
        'parse(text, dialect="mysql")',
        'dialect.product == "mysql"',
        'dbms == "PostgreSQL"',
        'name: Literal["postgres", "mysql"] = "postgres"',
    ],
)
def test_what_is_no_comparison_is_not(source: str) -> None:
    assert not comparisons(source)


def test_no_product_is_told_by_its_name() -> None:
    found = [
        f"{name}:{line}"
        for name, path in _files()
        if name not in CHOOSING
        for line in comparisons(path.read_text(encoding="utf-8"))
    ]
    assert not found, "asked of a name, not of `dialect.rules`: " + ", ".join(found)


def test_what_may_compare_does() -> None:
    """A file that compares no more is taken off the list."""
    assert [name for name in sorted(CHOOSING) if not comparisons((ROOT / name).read_text(encoding="utf-8"))] == []


def test_every_rule_is_asked() -> None:
    asked = {
        node.attr
        for _, path in _files()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute)
    }
    areas = [(area.name, getattr(PRODUCTS["postgres"], area.name)) for area in dataclasses.fields(Rules)]
    unasked = [
        f"{area}.{rule.name}"
        for area, answers in areas
        if dataclasses.is_dataclass(answers)
        for rule in dataclasses.fields(answers)
        if rule.name not in asked
    ]
    assert not unasked


def test_every_rule_is_explained_and_has_no_default() -> None:
    for path in sorted((ROOT / PRODUCTS_FOLDER / "rules").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and node.name.endswith("Rules") and node.name != "Rules":
                fields = [(place, one) for place, one in enumerate(node.body) if isinstance(one, ast.AnnAssign)]
                for place, field in fields:
                    where = f"{path.name}:{field.lineno}"
                    after = node.body[place + 1 : place + 2]
                    assert field.value is None, f"{where} has a default"
                    assert after and ast.get_docstring(ast.Module(after, [])), f"{where} has no explanation"


@pytest.mark.parametrize("name", sorted(PRODUCTS))
def test_a_product_answers_in_the_order_of_the_rules(name: str) -> None:
    tree = ast.parse((ROOT / PRODUCTS_FOLDER / f"{name}.py").read_text(encoding="utf-8"))
    (call,) = (
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and _called(node.value) == "Rules"
    )
    for area in call.keywords:
        if isinstance(area.value, ast.Call):
            given = [answer.arg for answer in area.value.keywords]
            assert given == [one.name for one in dataclasses.fields(getattr(PRODUCTS[name], str(area.arg)))], area.arg


def _called(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else ""

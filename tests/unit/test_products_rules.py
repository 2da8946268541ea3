"""What products differ in is asked of `sql_semantics.products`, and no name decides it. Does not know the answers.

A product that is added has a file there; a comparison with a name elsewhere would pass it over in silence.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

from sql_semantics.products import PRODUCTS, Rules, base

ROOT = Path(__file__).parents[2]
PACKAGES = ("sql_semantics", "troubadour")
PRODUCTS_FOLDER = "sql_semantics/products/"

CHOOSING = frozenset(
    {
        "troubadour/cli/recording/objects.py",
        "troubadour/cli/recording/record.py",
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
WRITING = "troubadour/hunt/"
"""What starts products and writes texts for them, and knows no meaning of any: what it wrote is judged elsewhere."""


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


AREAS = tuple(field.name for field in dataclasses.fields(Rules) if field.name != "name")


def _stated(product: str) -> dict[str, set[str]]:
    """By area the fields that the file of a product states."""
    tree = ast.parse((ROOT / PRODUCTS_FOLDER / f"{product}.py").read_text(encoding="utf-8"))
    (rules,) = (one.value for one in tree.body if isinstance(one, ast.Assign) and isinstance(one.value, ast.Call))
    found: dict[str, set[str]] = {}
    for area in rules.keywords:
        if area.arg != "name":
            assert area.arg is not None
            stated = area.value.keywords if isinstance(area.value, ast.Call) else []
            found[area.arg] = {str(one.arg) for one in stated}
    return found


@pytest.mark.parametrize("product", PRODUCTS)
def test_a_product_states_what_differs_from_the_base_and_nothing_else(product: str) -> None:
    stated = _stated(product)
    assert set(stated) == set(AREAS)
    for area in AREAS:
        common, own = getattr(base, area.upper()), getattr(PRODUCTS[product], area)
        differing = {
            one.name for one in dataclasses.fields(common) if getattr(common, one.name) != getattr(own, one.name)
        }
        assert stated[area] == differing, area


@pytest.mark.parametrize("area", AREAS)
def test_the_base_answers_as_most_products_do(area: str) -> None:
    common = getattr(base, area.upper())
    for one in dataclasses.fields(common):
        assert one.default is one.default_factory is dataclasses.MISSING, one.name
        answers = [getattr(getattr(rules, area), one.name) for rules in PRODUCTS.values()]
        assert answers.count(getattr(common, one.name)) == max(map(answers.count, answers)), one.name


def test_no_product_is_told_by_its_name() -> None:
    found = [
        f"{name}:{line}"
        for name, path in _files()
        if name not in CHOOSING and not name.startswith(WRITING)
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


@pytest.mark.parametrize("name", ["base", *sorted(PRODUCTS)])
def test_answers_are_in_the_order_of_the_rules(name: str) -> None:
    tree = ast.parse((ROOT / PRODUCTS_FOLDER / f"{name}.py").read_text(encoding="utf-8"))
    found = 0
    for call in ast.walk(tree):
        area = _area(call) if isinstance(call, ast.Call) else None
        if isinstance(call, ast.Call) and area is not None:
            given = [answer.arg for answer in call.keywords]
            fields = [one.name for one in dataclasses.fields(getattr(base, area.upper()))]
            assert given == [one for one in fields if one in given], area
            found += 1
    assert found == len(AREAS)


def _area(call: ast.Call) -> str | None:
    """The area that is answered, all of it or otherwise than the base."""
    classes = {type(getattr(base, area.upper())).__name__: area for area in AREAS}
    if _called(call) == "replace" and isinstance(call.args[0], ast.Name):
        return call.args[0].id.lower()
    return classes.get(_called(call))


def _called(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else ""

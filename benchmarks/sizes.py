"""How large what decides is: ``python -m benchmarks.sizes`` or ``make sizes``.

Counted are the lines of the Python files of each package, and the numbers, or tuples of numbers, that its modules name.
Logs of operations on objects, and timestamps, are counted elsewhere. Does not know what the code does.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGES = ("search", "proof", "audit", "facts", "order", "problem")
ASIDE = ("objects", "timestamps")
"""Folders that are counted elsewhere."""
ROOT = Path(__file__).parents[1]


def files(*packages: str) -> list[Path]:
    """The Python files of some packages."""
    found = [path for name in packages for path in (ROOT / "troubadour" / name).rglob("*.py")]
    return [path for path in found if not set(ASIDE) & set(path.parts)]


def lines(path: Path) -> int:
    """The lines of a file."""
    return len(path.read_text(encoding="utf-8").splitlines())


def constants(path: Path) -> Iterator[str]:
    """What a module names of numbers."""
    for statement in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.Assign | ast.AnnAssign) and _is_number(statement.value):
            yield ast.unparse(statement)


def _is_number(value: ast.expr | None) -> bool:
    """Whether an expression is made of numbers alone."""
    match value:
        case ast.Constant(int() | float()):
            return not isinstance(value.value, bool)
        case ast.UnaryOp(operand=operand):
            return _is_number(operand)
        case ast.BinOp(left=left, right=right):
            return _is_number(left) and _is_number(right)
        case ast.Tuple(elts=[_, *_] as elements):
            return all(map(_is_number, elements))
    return False


def main() -> None:
    """Each package, and all of them together."""
    print("| package | modules | lines | constants |")
    print("|---|---:|---:|---:|")
    for name, packages in (*((name, (name,)) for name in PACKAGES), ("together", PACKAGES)):
        found = files(*packages)
        named = sum(1 for path in found for _ in constants(path))
        print(f"| {name} | {len(found)} | {sum(map(lines, found)):,} | {named} |")


if __name__ == "__main__":
    main()

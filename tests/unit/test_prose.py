"""Mechanical rules of the pages in docs: lines that fit, and citations that resolve. Does not know what they say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").glob("*.md"))
FIRST = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
WIDE = 100
"""Characters of a line of prose; a table's row or an example has as many as it needs."""
TOKENS = re.compile(r"(?:`[^`]*`|\[[^\]]*\]\([^)]*\)|\S)+")
"""What a line is not broken within: words, code, links."""


def prose(page: Path) -> Iterator[tuple[int, str]]:
    """The lines of a page that are neither code nor tables, with their numbers."""
    is_code = False
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        elif not is_code and not line.lstrip().startswith(("|", "#", "<", ">")):
            yield number, line


def is_too_long(line: str) -> bool:
    return len(line) > WIDE and len(TOKENS.findall(re.sub(r"^\s*([-*+]|\d+\.) ", "", line))) > 1


@pytest.mark.parametrize("page", [*PAGES, *FIRST], ids=lambda page: page.stem)
def test_lines_of_prose_fit(page: Path) -> None:
    assert [f"{page.name}:{number}" for number, line in prose(page) if is_too_long(line)] == []


def test_links_between_pages_resolve() -> None:
    pages = [*PAGES, ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
    links = [
        (page, link)
        for page in pages
        for link in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
        if "://" not in link
    ]
    assert len(links) > 50
    assert [f"{page.name}: {link}" for page, link in links if not (page.parent / link).exists()] == []


def test_pages_that_the_code_cites_are_there() -> None:
    sources = [path for name in ("troubadour", "sql_semantics", "benchmarks") for path in (ROOT / name).rglob("*.py")]
    cited = {
        (path.relative_to(ROOT), page)
        for path in [*sources, *PAGES, ROOT / "Makefile"]
        for page in re.findall(r"\bdocs/[\w/-]+\.md\b", path.read_text(encoding="utf-8"))
    }
    assert len(cited) > 30
    assert [f"{path}: {page}" for path, page in sorted(cited) if not (ROOT / page).exists()] == []


def test_nothing_is_cited_that_is_not_in_the_repository() -> None:
    folders = ("troubadour", "sql_semantics", "benchmarks", "docs", "tests")
    texts = [path for name in folders for end in ("py", "md") for path in (ROOT / name).rglob(f"*.{end}")]
    elsewhere = re.compile(r"\b(?:DESIGN|CONTRACT|ENGINE|HOUSE)(?:\.md)?,? §")
    assert [str(path) for path in texts if elsewhere.search(path.read_text(encoding="utf-8"))] == []

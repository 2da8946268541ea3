"""A table of last figures in a page of the manual, between two lines that mark it. Does not know what it says."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


def put(page: Path, mark: str, lines: Sequence[str]) -> None:
    """Put lines in place of those between the marks. Raises ValueError where the page has none."""
    begin, end = f"<!-- {mark} -->", f"<!-- end of {mark} -->"
    text = page.read_text(encoding="utf-8")
    if begin not in text or end not in text:
        raise ValueError(f"{page} has no place for {mark}")
    before, after = text.split(begin)[0], text.split(end)[1]
    page.write_text("\n".join([f"{before}{begin}", "", *lines, "", f"{end}{after}"]), encoding="utf-8")

"""The tables of docs/applications.md: what came of each application, as JSON and as Markdown.

Does not know how an application is recorded or judged.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

BEGIN, END = "<!-- table {} -->", "<!-- end of table {} -->"
HEAD = (
    "| application | level | transactions | statements | judged | verdict | not judged, and why |",
    "|---|---|---:|---:|---:|---|---|",
)


@dataclass
class Row:
    """What came of one application. `unjudged`: statements by construct that are not judged; `explained`: all that is
    judged has an explanation."""

    name: str
    recorded: bool = False
    level: str = ""
    statements: int = 0
    transactions: int = 0
    judged: int | None = None
    verdict: str = ""
    explained: bool = False
    unjudged: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    commit: str = ""

    def line(self, *, dated: bool = False) -> str:
        """The row of the table; `dated`: with the commit that was measured."""
        share = "" if self.judged is None or not self.statements else f"{100 * self.judged / self.statements:.1f}%"
        why = [f"{count} x {construct}" for construct, count in self.unjudged.items()]
        told = "; ".join([*why, *self.problems])[:300].replace("|", "\\|")
        if dated:
            told = f"{told}; at `{self.commit}`".removeprefix("; ")
        verdict = self.verdict or ("not judged" if self.recorded else "not recorded")
        return (
            f"| {self.name} | {self.level} | {self.transactions} | {self.statements} | {share} | {verdict} | {told} |"
        )


def commit() -> str:
    """The commit that is measured, with a mark where files were changed since."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=7"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def read_json(path: Path) -> list[Row]:
    """The rows that were written there; none where there is no file."""
    return [Row(**row) for row in json.loads(path.read_text())["applications"]] if path.exists() else []


def write_json(path: Path, rows: Sequence[Row]) -> None:
    """The rows, each with its commit."""
    path.write_text(json.dumps({"applications": [asdict(row) for row in rows]}, indent=1) + "\n")


def rewrite(page: Path, tables: Iterable[tuple[str, Sequence[Row]]]) -> None:
    """Put tables between their marks. Raises ValueError where a page has none."""
    for name, rows in tables:
        commits = {row.commit for row in rows}
        said = "Measured one by one, each at the commit in its row."
        if len(commits) == 1:
            said = f"Measured at commit `{commits.pop()}`."
        dated = len({row.commit for row in rows}) > 1
        put(page, name, [said, "", *HEAD, *(row.line(dated=dated) for row in rows)])


def put(page: Path, name: str, lines: Sequence[str]) -> None:
    """Put the lines of one table between its marks. Raises ValueError where the page has none."""
    begin, end = BEGIN.format(name), END.format(name)
    before, found, rest = page.read_text().partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise ValueError(f"{page} has no {begin}")
    page.write_text(before + "\n".join([begin, *lines, end]) + after)

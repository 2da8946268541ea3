"""What people are told of forty mistakes and twenty-four verdicts, now and at an earlier commit: ``python -m
benchmarks.messages`` writes `said.json` and `said.md` beside this file.

The earlier commit is run from an archive of it, with the dependencies of now; what was kept of it stands, where the
command is the same. Does not know what should be said.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import click

from benchmarks.messages.mistakes import MISTAKES
from benchmarks.messages.verdicts import VERDICTS

ROOT = Path(__file__).parents[2]
FOLDER = Path(__file__).parent
_EARLIER = "81b9abf"
_RUN = "from troubadour.cli.main import main; main()"


def timeless(text: str) -> str:
    """A text without what differs from run to run: times, and folders of their own."""
    text = re.sub(r"(?m)^(time +)[\d.]+ s(, [\d,]+ transactions per second)?$", r"\1...", text)
    text = re.sub(r"(?m)^(unusable  \S+ +)[\d.]+$", r"\1...", text)
    return re.sub(r"/\S*/(?=troubadour\.toml)", "", text).strip()


def said(command: Sequence[str], folder: Path, code: Path) -> dict[str, object]:
    """The status and the text that a command ends with."""
    environment = {**os.environ, "PYTHONPATH": str(code), "COLUMNS": "100"}
    ended = subprocess.run(
        [sys.executable, "-c", _RUN, *command], cwd=folder, env=environment, capture_output=True, text=True
    )
    return {"status": ended.returncode, "text": timeless(ended.stdout + ended.stderr)}


def _kept(earlier: str) -> dict[tuple[str, str], dict[str, object]]:
    """What was kept of an earlier commit, by what it was asked."""
    if not (FOLDER / "said.json").exists():
        return {}
    found = json.loads((FOLDER / "said.json").read_text(encoding="utf-8"))
    entries = found["mistakes"] + found["verdicts"] if found["before"] == earlier else []
    return {(one["what"], one["command"]): one["before"] for one in entries}


def _page(mistakes: list[dict[str, object]], verdicts: list[dict[str, object]], earlier: str, commit: str) -> str:
    lines = [
        "# What is said",
        "",
        f"Of each mistake and each question, what was said at {earlier} and what is said at {commit},",
        "one below the other. Made by `make messages`.",
    ]
    for title, entries in (("Forty mistakes", mistakes), ("Twenty-four verdicts", verdicts)):
        lines += ["", f"## {title}"]
        for number, one in enumerate(entries, 1):
            lines += ["", f"### {number}. {one['what']}", "", f"`troubadour {one['command']}`"]
            for label, key in (("before", "before"), ("now", "now")):
                found = one[key]
                assert isinstance(found, dict)
                lines += ["", f"{label}, status {found['status']}:", "", "```", str(found["text"]), "```"]
    return "\n".join([*lines, ""])


@click.command()
@click.option("--before", "earlier", default=_EARLIER, show_default=True, help="The earlier commit.")
def main(earlier: str) -> None:
    """Run all commands twice, and write both texts."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()
    kept = _kept(earlier)
    with tempfile.TemporaryDirectory() as name:
        code = Path(name) / "before"
        code.mkdir()
        archive = subprocess.run(["git", "archive", earlier], cwd=ROOT, capture_output=True, check=True)
        subprocess.run(["tar", "x"], input=archive.stdout, cwd=code, check=True)

        def both(what: str, command: Sequence[str], folder: Path) -> dict[str, object]:
            line = " ".join(command)
            before = kept.get((what, line)) or said(command, folder, code)
            return {"what": what, "command": line, "before": before, "now": said(command, folder, ROOT)}

        mistakes = []
        for number, one in enumerate(MISTAKES):
            folder = Path(name) / str(number)
            folder.mkdir()
            one.write(folder)
            mistakes.append(both(one.what, one.command, folder))
        verdicts = [both(f"{asked.whose}: {asked.what}", asked.command, ROOT) for asked in VERDICTS]
    found = {"before": earlier, "now": commit, "mistakes": mistakes, "verdicts": verdicts}
    (FOLDER / "said.json").write_text(f"{json.dumps(found, indent=1, ensure_ascii=False)}\n", encoding="utf-8")
    (FOLDER / "said.md").write_text(_page(mistakes, verdicts, earlier, commit), encoding="utf-8")
    click.echo(f"{len(mistakes)} mistakes, {len(verdicts)} verdicts")


if __name__ == "__main__":
    main()

"""What the pages say works: commands run and end as shown, links lead somewhere, levels and options exist."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from click import Context
from click.testing import CliRunner

from troubadour.cli.main import cli

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("logs/*/README.md"), *ROOT.glob("tests/*/*.md")]
)
STATUS = {"CORRECT": 0, "VIOLATION": 1, "UNDECIDED": 3}


def blocks(language: str) -> list[str]:
    found = re.findall(rf"^```{language}\n(.*?)^```", README, re.S | re.M)
    assert found
    return found


def stable(text: str) -> list[str]:
    """The lines without the times that differ from run to run."""
    return [line.rstrip() for line in text.strip().splitlines() if not line.startswith("time ")]


@pytest.mark.parametrize("block", blocks("console"))
def test_what_is_shown_is_what_one_sees(block: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "100")
    command, _, shown = block.partition("\n")
    program, *arguments = shlex.split(command.removeprefix("$ "))
    assert program == "troubadour"
    ended = CliRunner().invoke(cli, arguments)
    assert ended.exit_code == STATUS[shown.split()[0]], ended.output
    assert stable(ended.output) == stable(shown)


def commands() -> list[str]:
    lines = [line for block in blocks("sh") for line in block.splitlines()]
    return [line.split("#")[0].strip() for line in lines if line.strip()]


def test_the_other_commands_exist(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In the order of the page, on a log that stands for the reader's own."""
    log = (ROOT / "logs" / "recorded" / "bank-snapshot-20.jsonl.gz").read_bytes()
    (tmp_path / "run.jsonl.gz").write_bytes(log)
    monkeypatch.chdir(tmp_path)
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
    found = commands()
    assert len(found) >= 6
    for command in found:
        program, *arguments = shlex.split(command)
        if program == "make":
            assert set(arguments) <= targets, command
        else:
            assert program == "troubadour", command
            run = [sys.executable, "-c", "from troubadour.cli.main import main; main()", *arguments]
            ended = subprocess.run(run, capture_output=True, text=True, check=False)  # a fork of this process may crash
            assert ended.returncode == 0, f"{command}: {ended.stderr}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
        assert "://" in link or (page.parent / link).exists(), link


def test_the_page_on_the_command_line_names_every_option() -> None:
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    context = Context(cli)
    audit = cli.get_command(context, "audit")
    assert audit is not None
    for parameter in audit.params:
        if parameter.param_type_name == "option" and parameter.name != "help":
            names = [*parameter.opts, *parameter.secondary_opts]
            assert any(name in page for name in names), names
    for command in cli.list_commands(context):
        assert f"`troubadour {command}" in page

"""docs/protocols.md: its commands end as it says, its model is the tested one, its table names what is shipped."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.unit.test_protocol_check import REGISTER
from troubadour.cli.main import cli
from troubadour.protocols.loading import SHIPPED

PAGE = (Path(__file__).parents[2] / "docs" / "protocols.md").read_text(encoding="utf-8")
STATUS = {"PROVED": 0, "REFUTED": 1, "OPEN": 3}
BLOCKS = re.findall(r"^```console\n(.*?)^```", PAGE, re.S | re.M)


def stable(line: str) -> str:
    """Without the seconds."""
    return re.sub(r" · \d+ s$", "", line.rstrip())


@pytest.mark.parametrize("block", BLOCKS)
def test_what_is_shown_is_what_one_sees(block: str) -> None:
    command, *shown = block.strip().splitlines()
    program, *arguments = shlex.split(command.removeprefix("$ "))
    assert program == "troubadour"
    ended = CliRunner().invoke(cli, arguments)
    assert ended.exit_code == STATUS[shown[0].split()[0]], ended.output
    assert [stable(line) for line in ended.output.splitlines()[: len(shown)]] == [stable(line) for line in shown]


def test_the_model_is_the_tested_one() -> None:
    (model,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.S | re.M)
    # a formatter sets an empty line after a class's docstring
    assert list(filter(None, model.splitlines())) == list(filter(None, REGISTER.splitlines()))


def test_the_table_names_every_shipped_protocol() -> None:
    assert set(re.findall(r"^\| `([a-z0-9-]+)` \|", PAGE, re.M)) == set(SHIPPED)

"""docs/protocols.md: its commands end as it says, its model is the tested one, its table names what is shipped."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.unit.test_protocol_check import REGISTER
from troubadour.cli.main import cli
from troubadour.protocols.levels import PROTOCOL_LEVELS
from troubadour.protocols.loading import SHIPPED, load_model
from troubadour.protocols.proofs.obligations import obligations_of

PAGE = (Path(__file__).parents[2] / "docs" / "protocols.md").read_text(encoding="utf-8")
FIGURES = (Path(__file__).parents[2] / "benchmarks" / "protocols" / "figures.md").read_text(encoding="utf-8")
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


def test_its_figures_are_the_last_ones() -> None:
    rows = re.findall(r"^\| `[a-z0-9-]+`(?: \| [0-9.]+){9} \|$", PAGE, re.M)
    assert len(rows) == 2
    assert all(row in FIGURES.splitlines() for row in rows)
    (commit,) = re.findall(r"^Commit ([0-9a-f]{7});", FIGURES, re.M)
    assert f"at commit {commit} " in PAGE


@pytest.mark.parametrize("name", SHIPPED)
def test_its_figures_are_of_what_is_shipped(name: str) -> None:
    """Lines, invariants and obligations; S2PL in fewer than 150 lines."""
    (row,) = re.findall(rf"^\| `{name}` \| (\d+) \| (\d+) \| (\d+) \| ([\d-]+) \|", FIGURES, re.M)
    model = load_model(name)
    assert int(row[0]) + int(row[1]) == model.lines
    assert name != "s2pl" or model.lines < 150
    assert int(row[2]) == len(model.invariants)
    if row[3] != "-":
        assert int(row[3]) == len(obligations_of(model, PROTOCOL_LEVELS[model.level]))

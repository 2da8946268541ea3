"""What the command imports: nothing but itself for a list of commands, and no search where nothing is searched.

Does not measure time: docs/benchmarks.md has figures.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import click
import pytest

from benchmarks.serial import serial, written
from troubadour.cli.main import cli

AT_HELP = {
    "sql_semantics",
    "sql_semantics.errors",
    "sql_semantics.patterns",
    "sql_semantics.records",
    "troubadour",
    "troubadour.audit",
    "troubadour.audit.collector",
    "troubadour.cli",
    "troubadour.cli.common",
    "troubadour.cli.main",
    "troubadour.cli.supervision",
    "troubadour.model",
    "troubadour.model.bounds",
    "troubadour.model.log",
    "troubadour.model.visible",
}
"""All that the list of commands takes."""

NOT_STRAIGHT = ("z3", "numpy", "troubadour.solver", "troubadour.search", "troubadour.order", "troubadour.proof",
                "troubadour.facts", "sql_semantics.guarded",
                "lark", "sql_semantics.frontend.routines.procedures")  # fmt: skip
"""What a log does not take of which every transaction read the newest state."""

NOT_OF_POSTGRES = tuple(
    f"sql_semantics.values.functions.{name}"
    for name in ("products.mysql", "products.mariadb", "products.sqlite", "products.duckdb", "jsons.mariadb",
                 "moments.mysql", "moments.sqlite", "moments.duckdb", "texts.mysql", "texts.sqlite")
)  # fmt: skip
"""Functions of other products, which a log of PostgreSQL does not take."""

NOT_OF_OBJECTS = ("z3", "sqlglot", "sql_semantics.library", "sql_semantics.frontend", "troubadour.search")
"""What a log of operations on objects does not take that facts and order decide."""

HEADER = {
    "format": "troubadour-log",
    "version": 1,
    "dialect": "postgres",
    "isolation": "serializable",
    "schema": ["CREATE TABLE accounts (id INT PRIMARY KEY, balance NUMERIC(12,2) NOT NULL)"],
    "initial": {"accounts": {"columns": ["id", "balance"], "rows": [[1, "100.00"]]}},
}


def imported(*arguments: str, ends: int = 0) -> set[str]:
    """The modules that a command leaves imported, which exits with the status `ends`."""
    program = (
        "import sys\nfrom troubadour.cli.main import main\n"
        "try:\n    main(sys.argv[1:])\nexcept SystemExit as ended:\n"
        f"    assert ended.code == {ends}, ended.code\n"
        "    print('modules', *sys.modules)\n"
    )
    run = [sys.executable, "-c", program, *arguments]
    output = subprocess.run(run, check=True, capture_output=True, text=True).stdout
    return set(output.rpartition("modules ")[2].split())


def of_ours(modules: set[str]) -> set[str]:
    return {name for name in modules if name.partition(".")[0] in ("troubadour", "sql_semantics")}


@pytest.mark.parametrize("arguments", [("--help",), ("--version",)])
def test_the_list_of_commands_takes_nothing_else(arguments: tuple[str, ...]) -> None:
    modules = imported(*arguments)
    assert of_ours(modules) <= AT_HELP
    assert modules.isdisjoint({"z3", "numpy", "sqlglot", "lark", "rich"})


@pytest.mark.parametrize("form", ["text", "json"])
def test_what_goes_straight_takes_no_search(form: str, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    read = {"sql": "SELECT balance FROM accounts WHERE id = $1", "params": [1],
            "result": {"columns": ["balance"], "rows": [["100.00"]]}}  # fmt: skip
    lines = [HEADER, {"id": 1, "status": "committed", "statements": [read]}]
    log.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    modules = imported("audit", "--format", form, str(log))
    assert not {name for name in modules if name.startswith(NOT_STRAIGHT + NOT_OF_POSTGRES)}
    assert "sql_semantics.values.functions.products.postgres" in modules


@pytest.mark.parametrize("command", [("audit", "--isolation"), ("anomalies", "--expect")], ids=["audit", "anomalies"])
def test_operations_on_objects_take_no_sql(command: tuple[str, str], tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    lines = [
        {"format": "troubadour-log", "version": 1, "objects": {"r": "register"}},
        {"id": 1, "status": "committed", "ops": [["w", "r", 1, 5]]},
        {"id": 2, "status": "committed", "ops": [["r", "r", 1, 5]]},
    ]
    log.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    name, option = command
    modules = imported(name, str(log), option, "serializable")
    assert not {name for name in modules if name.startswith(NOT_OF_OBJECTS)}


def test_the_list_says_of_each_command_what_it_says_itself() -> None:
    context = click.Context(cli, info_name="troubadour")
    found = cli.get_help(context)
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command is not None
        (line,) = [line for line in found.splitlines() if line.startswith(f"  {name} ")]
        told = line.split(maxsplit=1)[1]
        assert command.get_short_help_str(1000).startswith(told.removesuffix("..."))
        assert told.endswith("...") or told == command.get_short_help_str(1000)


def test_what_is_decided_without_the_solver_does_not_import_it(tmp_path: Path) -> None:
    log = written(tmp_path / "log.jsonl", serial(50, 1, wrong=25))
    modules = imported("audit", str(log), "--isolation", "serializable", ends=1)
    assert "troubadour.search.scheduler" in modules
    assert "z3" not in modules

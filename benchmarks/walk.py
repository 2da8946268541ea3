"""The rooms that one transaction passes from log to verdict, as a reader meets them: ``python -m benchmarks.walk``.

A module is opened when a function of it is called for the first time, and read then. Modules that are opened one after
the other in one room (a package) are one stay; a stay in a room that was left before is a return. Each way is walked
in a process in which the modules are imported already, so that only what runs counts. Does not know what is slow.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from types import FrameType

from troubadour.audit.driver import Options, audit
from troubadour.coverage.library import library_of
from troubadour.formats import read_log
from troubadour.problem.heuristics import Heuristics

PACKAGES = ("troubadour", "sql_semantics")
ROOT = Path(__file__).parents[1]

HEADER = (
    '{"format": "troubadour-log", "version": 1, "dialect": "postgres", "isolation": "serializable", '
    '"schema": ["CREATE TABLE a (id INT PRIMARY KEY, v INT NOT NULL)"], "initial": {"a": {"rows": [[1, 5]]}}}'
)
PLAIN = (
    '{"id": "t1", "status": "committed", "start": 0, "commit": 1, "statements": ['
    '{"sql": "UPDATE a SET v = v + 1 WHERE id = 1", "affected": 1}, '
    '{"sql": "SELECT v FROM a WHERE id = 1", "result": {"columns": ["v"], "rows": [[6]]}}]}'
)
"""One transaction that writes a row by its key and reads it again."""


def opened(walk: Callable[[], object]) -> list[str]:
    """The modules of the project in the order in which they are first called."""
    found: dict[str, None] = {}

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and frame.f_code.co_name != "<module>":
            name = frame.f_globals.get("__name__", "")
            if name.split(".")[0] in PACKAGES:
                found.setdefault(name)

    sys.setprofile(note)
    try:
        walk()
    finally:
        sys.setprofile(None)
    return list(found)


def stays(modules: list[str]) -> list[str]:
    """The rooms of modules, those that follow one another in one room once."""
    return [room for room, _ in groupby(module.rpartition(".")[0] for module in modules)]


def walked(*, straight: bool) -> list[str]:
    """The modules that one plain transaction opens, by the run on the newest state or by the search."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "one.jsonl"
        path.write_text(f"{HEADER}\n{PLAIN}\n", encoding="utf-8")

        def walk() -> None:
            log = read_log([path])
            verdict = audit(log, library_of(log), Options(heuristics=Heuristics(straight=straight)))
            assert verdict.status.value == "correct", verdict

        walk()
        return opened(walk)


def main() -> None:
    """Both ways, with their rooms."""
    print("| way | modules | stays | rooms | returns |")
    print("|---|---:|---:|---:|---:|")
    for name, straight in (("the newest states", True), ("the search", False)):
        modules = walked(straight=straight)
        rooms = stays(modules)
        print(f"| {name} | {len(modules)} | {len(rooms)} | {len(set(rooms))} | {len(rooms) - len(set(rooms))} |")
        if "-v" in sys.argv:
            print("\n".join(f"    {module}" for module in modules))


if __name__ == "__main__":
    main()

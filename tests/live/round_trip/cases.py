"""Cases of the round trip: what is set up before recording, and what is recorded. Does not know any engine.

A script is a file of cases. A line ``## name`` begins one; its texts are separated by lines ``;;``, and those behind a
line ``== recorded`` are recorded. Ahead of a text, a line ``-- fails`` says that the engine refuses it, and a line
``-- params [...]`` gives parameters in JSON. BEGIN, COMMIT and ROLLBACK are sent as they stand.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SCRIPTS = Path(__file__).parent / "scripts"
ENGINES = ("postgres", "mysql", "sqlite", "duckdb")


@dataclass(frozen=True, slots=True)
class Sent:
    """One text with its parameters; `fails`: the engine refuses it."""

    sql: str
    params: tuple[Any, ...] = ()
    fails: bool = False


@dataclass(frozen=True, slots=True)
class Case:
    """A database and what is done to it: `setup` before recording begins, `opening` on the connection that is recorded
    then."""

    engine: str
    name: str
    setup: tuple[Sent, ...]
    recorded: tuple[Sent, ...]
    opening: tuple[Sent, ...] = ()


def case(engine: str, name: str, setup: list[str], recorded: list[str | tuple[str, tuple[Any, ...]]]) -> Case:
    """A case of texts none of which fails; a pair is a text with its parameters."""
    sent = tuple(Sent(item) if isinstance(item, str) else Sent(*item) for item in recorded)
    return Case(engine, name, tuple(map(Sent, setup)), sent)


def scripted(engine: str) -> Iterator[Case]:
    """The cases of the engine's scripts."""
    for path in sorted((SCRIPTS / engine).glob("*.sql")):
        yield from read(path, engine)


def read(path: Path, engine: str) -> Iterator[Case]:
    """The cases of one script."""
    for part in path.read_text().split("\n## ")[1:]:
        name, _, body = part.partition("\n")
        setup, _, recorded = body.partition("\n== recorded\n")
        setup, _, opening = setup.partition("\n== opening\n")
        texts = (tuple(_texts(part)) for part in (setup, recorded, opening))
        yield Case(engine, f"{path.stem}: {name.strip()}", *texts)


def _texts(body: str) -> Iterator[Sent]:
    for part in f"\n{body}\n".split("\n;;\n"):
        lines = part.strip("\n").split("\n")
        fails, params = False, ()
        while lines and (lines[0] == "-- fails" or lines[0].startswith("-- params ")):
            line = lines.pop(0)
            if line == "-- fails":
                fails = True
            else:
                params = tuple(json.loads(line.removeprefix("-- params ")))
        if text := "\n".join(lines).strip("\n"):
            yield Sent(text, params, fails)

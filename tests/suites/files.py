"""The files of others' suites, packed (`tests/data/README.md`). Does not know what they say."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

DATA = Path(__file__).parents[1] / "data"


def text_of(path: Path) -> str:
    """A file's text."""
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode()


def entries_of(path: Path) -> list[Any]:
    """The JSON values of a file, one a line."""
    return [json.loads(line) for line in text_of(path).splitlines()]


def name_of(path: Path) -> str:
    """A file's name without what says that it is packed: ``select1.test``."""
    return path.name.removesuffix(".gz")

"""Witnesses on disk: what is written is read, and what is none is refused in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from troubadour.model.witness import RowRead, TransactionView, Witness
from troubadour.replay.witness.file import WitnessError, read_witness, write_witness


@pytest.mark.parametrize("name", ["w.json", "w.json.gz"])
def test_witness_files(tmp_path: Path, name: str) -> None:
    views = (TransactionView(0), TransactionView(1, (RowRead(0, 1, 'accounts:"a":0', 0),)))
    witness = Witness("digest", None, (1, "1"), views)
    write_witness(tmp_path / name, witness)
    assert read_witness(tmp_path / name) == witness


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "not a witness"),
        ("{}", "missing required field"),
        ('{"format":"troubadour-witness","version":2,"log":"","isolation":null,"order":[],"views":[]}', "version 1"),
        ('{"format":"troubadour-witness","version":1,"log":"","isolation":null,"order":[1],"views":[]}', "0 views"),
        ('{"format":"troubadour-witness","version":1,"log":"","isolation":null,"order":[],"views":[],"x":1}', "`x`"),
        (
            '{"format":"troubadour-witness","version":1,"log":"","isolation":null,"order":[1],"views":[{"state":0,"y":1}]}',
            "unknown field 'y'",
        ),
    ],
)
def test_witness_files_that_are_none(tmp_path: Path, text: str, error: str) -> None:
    path = tmp_path / "w.json"
    path.write_text(text)
    with pytest.raises(WitnessError, match=error) as caught:
        read_witness(path)
    assert "\n" not in str(caught.value)
    with pytest.raises(WitnessError, match=r"none\.json"):
        read_witness(tmp_path / "none.json")

"""A setting that changes nothing of what a statement means is no reason not to judge what follows."""

from __future__ import annotations

import pytest

from sql_semantics.values.dialect import Dialect
from sql_semantics.values.settings import keeps_meaning


@pytest.mark.parametrize(
    ("begun", "later", "kept"),
    [
        ("STRICT_TRANS_TABLES", "IGNORE_SPACE,STRICT_TRANS_TABLES", True),
        ("IGNORE_SPACE,STRICT_TRANS_TABLES", "strict_trans_tables", True),
        ("STRICT_TRANS_TABLES", "IGNORE_SPACE,ANSI_QUOTES,STRICT_TRANS_TABLES", False),
        ("STRICT_TRANS_TABLES", "IGNORE_SPACE", False),
    ],
)
def test_a_mode_that_only_says_what_can_be_parsed(begun: str, later: str, kept: bool) -> None:
    assert keeps_meaning("sql_mode", later, Dialect("mysql", sql_mode=begun)) is kept

"""A search that has ended is let go at once, and its states with it: memory follows concurrency, not how many searches
an audit makes (a profile of two parts kept the first one's, a third more at 50,000 transactions)."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

from tests.case_files import read_case
from troubadour.coverage.library import library_of
from troubadour.execution.initial.rows import known_rows
from troubadour.problem.problem import Problem
from troubadour.search.scheduler import Search

TEXT = """
# level: serializable  expect: correct
schema: kv.sql
init kv ('x', 0) ('y', 0)
t1 @0-1  UPDATE kv SET v = v + 1
t2 @2-3  SELECT k, v FROM kv  -> ('x', 1) ('y', 1)
"""


def test_nothing_in_a_search_holds_it(tmp_path: Path) -> None:
    log = read_case(TEXT, "let go").log(tmp_path)
    library = library_of(log)
    search = Search(Problem(log, library, known_rows(log, library), isolation="serializable"))
    assert search.run().is_explained
    held = weakref.ref(search)
    gc.disable()
    try:
        del search
        assert held() is None
    finally:
        gc.enable()

"""The search where initial rows are not known: they are guessed, and guessed again.

With a guess the log is searched like any other. Where that fails, the order that failed is decided with these rows
open: then either they may be others, which is the next guess, or no rows explain it in that order. Small logs are
searched with all rows open from the start. Does not know how a guess is made.
"""

from __future__ import annotations

from collections.abc import Callable

from sql_semantics.errors import Unsupported
from troubadour.problem.budget import SEVERAL, THOROUGHLY
from troubadour.problem.orders import is_total
from troubadour.problem.problem import OutOfTime, Problem
from troubadour.search.found import Found
from troubadour.search.inference.initial_guess import guess_initial_rows
from troubadour.search.inference.values.value_closure import is_refuted_anywhere
from troubadour.search.scheduler import Search
from troubadour.search.symbolic.cegar import Contradiction, Unresolved, refine


def search_hidden(problem: Problem, progress: Callable[[int], None]) -> Found:
    """Search a log with tables of unknown initial rows; never raises for what stops it."""
    if len(problem.judged) + len(problem.unknown) <= SEVERAL or not problem.heuristics.stronger_first:
        return Search(problem, progress=progress).run()
    found: Found | None = None
    try:
        rows = guess_initial_rows(problem)
        for _ in range(SEVERAL):
            assumed = problem.assuming(rows)
            found = Search(assumed, progress=progress).run()
            if found.failure is None or found.failure.other is not None:
                return found
            result = refine(problem.guessing(rows), found.order, seconds=THOROUGHLY)
            if isinstance(result, Contradiction):
                found.contradiction, found.enumerated, found.every_order = result.kept, False, False
                failing = problem.judged[found.verified]
                bound = problem.order_recorded or is_total(problem, problem.judged)
                if bound or is_refuted_anywhere(problem.in_open_world(), failing):
                    return found
                # a wrong guess may have kept the search from the right order
                text = f"{found.failure.text}; whatever the initial rows are, in the orders that were tried"
                raise Unresolved(text)
            if result.initial == rows:
                break
            rows = result.initial
    except (Unsupported, OutOfTime, Unresolved) as error:
        trace = Search(problem).frontier.trace if found is None else found.trace
        return Found(trace, 0 if found is None else found.verified, stopped=error)
    assert found is not None
    text = "no initial rows were found that explain it, nor shown that there are none"
    return Found(found.trace, found.verified, stopped=Unresolved(text))

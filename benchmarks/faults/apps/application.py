"""A small application as a workload: its tables, the rows at first, and the steps of each operation.

Does not know at which level it runs, nor how it is recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from troubadour.record import Draws, Executor, Logic
from troubadour.record.runs.workload import Rows

IF_FOUND = "/* if found */ "
"""Before the text of a step that is left out where the step before it found nothing."""

FOUND = object()
"""The parameter that is the first value which the last query found; without one the step is left out."""

Step = tuple[str, Sequence[object]]
Draw = Callable[[Draws, str], Sequence[Step]]


@dataclass(frozen=True, slots=True)
class Application:
    """A `troubadour.record.Workload`: transactions of the steps that `drawn` gives for a dialect."""

    name: str
    texts: Sequence[str]
    columns: Mapping[str, Sequence[str]]
    first: Sequence[Rows]
    drawn: Draw
    dialect: str = "postgres"

    @property
    def schema(self) -> Sequence[str]:
        """The tables."""
        return self.texts

    @property
    def tables(self) -> Mapping[str, Sequence[str]]:
        """Their columns."""
        return self.columns

    @property
    def procedures(self) -> Sequence[str]:
        """None."""
        return ()

    def rows(self) -> Iterable[Rows]:
        """What is there before."""
        return self.first

    def draw(self, random: Draws) -> Logic:
        """One to three of its operations."""
        steps = [step for _ in range(random.randint(1, 3)) for step in self.drawn(random, self.dialect)]

        def logic(executor: Executor) -> None:
            rows: Sequence[Sequence[object]] = ()
            for sql, params in steps:
                if FOUND in params or sql.startswith(IF_FOUND):
                    if not rows:
                        continue  # what it is about is gone
                    params = [rows[0][0] if one is FOUND else one for one in params]
                    executor.execute(sql.removeprefix(IF_FOUND), params)
                    continue
                rows = executor.execute(sql, params).rows

        return logic

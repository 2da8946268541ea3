"""What is run: tables with rows, and the statements of several sessions in the order in which they are sent.

Does not know how it was generated, nor on which engine it runs.
"""

from __future__ import annotations

from sql_semantics.records import dataclass, replace
from troubadour.hunt.generate.pieces import Piece
from troubadour.hunt.generate.schemas import TableSpec

BEGIN, STATEMENT, END, ALONE = "begin", "statement", "end", "alone"
"""What a step is to its transaction; ``alone``: a statement under autocommit."""
KILL, VANISH, CANCEL = "kill", "vanish", "cancel"
"""What is no statement: the server is killed and started again; the session's connection ends, whatever it does; what
the session waits for is cancelled."""


@dataclass(frozen=True, slots=True)
class Step:
    """One text that a session sends; `transaction` is a number of the case."""

    session: int
    transaction: int
    role: str
    text: Piece


@dataclass(frozen=True, slots=True)
class Case:
    """`level` is a name of the engine's `levels`; `extra` are definitions behind the tables: views, indexes,
    triggers, routines. `features`: the constructs that were drawn for it.
    A step whose session still waits for an answer is sent as soon as it has it."""

    level: str
    tables: tuple[TableSpec, ...]
    extra: tuple[str, ...]
    steps: tuple[Step, ...]
    seed: int = 0
    flavour: str = ""
    features: frozenset[str] = frozenset()

    @property
    def sessions(self) -> tuple[int, ...]:
        """Those that send something."""
        return tuple(sorted({step.session for step in self.steps}))

    @property
    def transactions(self) -> tuple[int, ...]:
        """The numbers of the transactions, in the order of their first steps."""
        return tuple(dict.fromkeys(step.transaction for step in self.steps))

    def without(self, transactions: frozenset[int]) -> Case:
        """The case without some transactions."""
        return replace(self, steps=tuple(step for step in self.steps if step.transaction not in transactions))

    def size(self) -> tuple[int, int, int]:
        """For comparisons: steps, rows, and characters of the texts."""
        texts = [str(step.text) for step in self.steps] + [table.ddl() for table in self.tables] + list(self.extra)
        return len(self.steps), sum(len(table.rows) for table in self.tables), sum(map(len, texts))

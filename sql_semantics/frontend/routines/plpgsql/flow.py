"""Which shape each RECORD has where binding stands, along the ways that lead there (PostgreSQL manual 41.3.4).

Statements are bound in the order of the text. Where branches meet, a record keeps the shape that all those leave that
go on behind them: a branch that ends in RETURN does not. A loop's head, a handler and the end of a labelled block are
reached from places inside that are not told apart; so no record changes there from a shape that it had before. Does not
know statements.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from sql_semantics.errors import Unsupported
from sql_semantics.frontend.routines.bodies import Record
from sql_semantics.ir.expressions import Variable
from sql_semantics.records import dataclass, field, replace

Shape = tuple[Variable, ...]


@dataclass(frozen=True, slots=True)
class State:
    """The shapes that are certain; `ended`: no way leads here."""

    shapes: Mapping[Record, Shape] = field(default_factory=dict)
    ended: bool = False


@dataclass(slots=True)
class Flow:
    """The state where binding stands; `kept` are the shapes that may not change there."""

    state: State = field(default_factory=State)
    kept: Mapping[Record, Shape] = field(default_factory=dict)

    def shape(self, record: Record) -> Shape | None:
        """The record's fields; None where its shape is not certain."""
        return self.state.shapes.get(record)

    def take(self, record: Record, shape: Shape) -> None:
        """The record has this shape from here on. Raises Unsupported where it has to keep another one."""
        if self.kept.get(record, shape) is not shape:
            raise Unsupported(f"record {record.name} with another shape than before a loop or block")
        self.state = replace(self.state, shapes={**self.state.shapes, record: shape})

    def end(self) -> None:
        """What follows in the text is not reached from here."""
        self.state = replace(self.state, ended=True)

    def join(self, states: Sequence[State]) -> None:
        """The ways that lead here, at least one."""
        open_ = [state for state in states if not state.ended]
        if not open_:
            self.state = states[0]
            return
        first, *others = (state.shapes for state in open_)
        same = {key: shape for key, shape in first.items() if all(other.get(key) is shape for other in others)}
        self.state = State(same)

    @contextmanager
    def held(self, holds: bool = True) -> Iterator[None]:
        """Inside, records keep the shapes that they have here."""
        before = self.kept
        if holds:
            self.kept = {**before, **self.state.shapes}
        try:
            yield
        finally:
            self.kept = before

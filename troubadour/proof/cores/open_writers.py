"""Transactions that may have written anything, once, at any place.

Of a transaction that is not looked at it is kept which rows it may write, which key columns these certainly have and
whether it may delete them; what it writes there is unknown, and where it stands is open. Copies of it stand at several
places of an order, and at most one of them writes. Does not know which orders are asked for, nor any times.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sql_semantics.errors import Unsupported
from sql_semantics.records import dataclass
from sql_semantics.terms import FALSE, Guard, Scalar, atom, conj, is_concrete, neg
from troubadour.execution.initial.unknowns import unknown_value
from troubadour.execution.states.history import Guarded, RowHistory, WriteMap, alternatives_of
from troubadour.execution.views.open_states import OpenStates
from troubadour.isolation.times import Times
from troubadour.model.log import TransactionId
from troubadour.problem.budget import FEW
from troubadour.problem.problem import Problem
from troubadour.search.schedule.trace import Trace
from troubadour.search.symbolic.abstract_refutation import AbstractEncoder
from troubadour.search.symbolic.encoded import Encoded
from troubadour.search.symbolic.encoder import Encoder
from troubadour.solver import Session

ANY_TIME = Times(None, None, None, None, None, None, None, None, ())
"""Times that say nothing."""

Address = tuple[str, TransactionId | None, int]


@dataclass(slots=True)
class _Effect:
    """What may become of one row: the key columns that it certainly has then; whether it may be deleted, and left."""

    keys: dict[int, Scalar] | None = None
    deletes: bool = False
    leaves: bool = False

    def add(self, keys: dict[int, Scalar], *, deletes: bool, leaves: bool) -> bool:
        """Take in one more way to write it; whether that is anything new."""
        known = keys if self.keys is None else {c: v for c, v in self.keys.items() if c in keys and keys[c] == v}
        now = (known, self.deletes or deletes, self.leaves or leaves)
        changed = now != (self.keys, self.deletes, self.leaves)
        self.keys, self.deletes, self.leaves = now
        return changed


class OpenWriters:
    """What some transactions may write beside a few others, the `members`."""

    def __init__(self, problem: Problem, members: Collection[int], others: Sequence[int]) -> None:
        """Raises Unsupported where what they may write is not known."""
        self._problem = problem
        self._effects: dict[int, dict[Address, _Effect]] = {item: {} for item in others}
        encoder = Encoder(Trace(problem), Session())
        for item in sorted(members):
            encoder.leave_open(item)
        for _ in range(FEW):
            learned = [self._learn(encoder, item) for item in others]
            if not any(learned):
                break
        else:
            raise Unsupported("transactions that write ever more rows")
        self.writers = [item for item in self._relevant(members) if self._effects[item]]

    def _learn(self, encoder: Encoder, item: int) -> bool:
        """Note what an item may write where all that was met so far may have been written before."""
        self._problem.budget.left()
        encoder.leave_open(item)
        changed = False
        for row, version in encoder.encoded[len(encoder.trace)].writes.items():
            schema = encoder.trace.states.tables[row.table].schema
            columns = {column for key in schema.keys for column in key.columns}
            rows = [values for _, values in alternatives_of(version)]
            shapes = [values for values in rows if values is not None]
            keys = {c: shapes[0][c] for c in columns if shapes and is_concrete(shapes[0][c])}
            effect = self._effects[item].setdefault((row.table, row.author, row.ordinal), _Effect())
            deletes = len(shapes) < len(rows)
            changed = effect.add(keys, deletes=deletes, leaves=bool(shapes)) or changed
        return changed

    def _relevant(self, members: Collection[int]) -> list[int]:
        """Those that may write a row that a member looks at or writes, or whose keys it compares with."""
        encoder = AbstractEncoder(Trace(self._problem))
        others = list(self._effects)
        try:
            self._run_all(encoder, members)
        except Unsupported:  # what it looks at is not told where nothing is known of the others' values: anything
            return others
        writers = encoder.writers_for([item for item in members if item in encoder.looked_at])
        return [item for item in others if item in writers]

    def _run_all(self, encoder: AbstractEncoder, members: Collection[int]) -> None:
        others = list(self._effects)
        for item in (*others, *sorted(members)):
            encoder.add(item, kept=False)
        # what the others write to rows that members made is met as well
        for item in (*others, *sorted(members)):
            self._problem.budget.left()
            encoder.add(item, kept=item in members)

    def place(self, encoder: Encoder, item: int, active: Guard) -> None:
        """Place a copy of an item next, which writes only where `active` holds."""
        trace = encoder.trace
        position = len(trace) + 1
        rows = {
            (row.table, row.author, row.ordinal): row for table in trace.states.tables.values() for row in table.rows
        }
        writes: WriteMap = {}
        for address, effect in self._effects[item].items():
            own = address[1] == self._problem.transaction(item).id and address[1] is not None
            row = rows.get(address)
            if row is None:
                if not own:
                    # its author has not inserted it yet
                    continue
                row = RowHistory(*address)
            writes[row] = self._version(encoder, item, row, effect, (position, active))
        apart = self._problem.levels[item].own_states
        view = OpenStates(trace.states, self._problem.transaction(item).id, item, 0, len(trace), row_scope=apart)
        trace.states.place(writes)
        trace.timeline.append(ANY_TIME, idle=True)
        trace.place_symbolic(item)
        encoder.encoded[position] = Encoded(item, position, None, 0, position - 1, view, writes)

    def _version(self, encoder: Encoder, item: int, row: RowHistory, effect: _Effect, at: tuple[int, Guard]) -> Guarded:
        position, active = at
        name = ("copy", position, item, row.address)
        schema = encoder.trace.states.tables[row.table].schema
        keys = effect.keys or {}
        values = tuple(
            keys[index] if index in keys else unknown_value((*name, index), column.type, column.not_null)
            for index, column in enumerate(schema.columns)
        )
        wrote = conj(active, atom(("wrote", *name)))
        exists = atom(("exists", *name)) if effect.deletes and effect.leaves else None
        stays = (conj(wrote, exists) if exists is not None else wrote) if effect.leaves else FALSE
        goes = (conj(wrote, neg(exists)) if exists is not None else wrote) if effect.deletes else FALSE
        found = ((stays, values), (goes, None))
        return Guarded(tuple((guard, kept) for guard, kept in found if guard is not FALSE))

"""What a run of a transaction writes, and what the DBMS chose on its way (paper §3.2, write maps).

Half of a `View`: the other, which reads states, is in `concrete`. Does not know of states.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sql_semantics.errors import Unsupported
from sql_semantics.run.writes.rows.chosen import last_rowid
from sql_semantics.values.types import SqlType, Value
from sql_semantics.view import Acting, Mark, Row
from troubadour.execution.free.choices import Choices, Execution
from troubadour.execution.free.tagged import Address, Key, keys_of, plain
from troubadour.execution.free.values import Drawn
from troubadour.execution.given import Given
from troubadour.execution.states.history import RowHistory
from troubadour.model.log import TransactionId

Found = list[tuple[RowHistory, Row]]


class Writing:
    """The own rows of a run, by the statement and execution that it is in. `picked`: by address which of how many ways
    the run went."""

    __slots__ = (
        "_author",
        "_choices",
        "_drawn",
        "_free",
        "_insertions",
        "_last_inserted",
        "_own",
        "_tags",
        "execution",
        "picked",
        "savepoints",
        "statement",
    )

    def __init__(self, author: TransactionId, choices: Choices, given: Given) -> None:
        """Nothing is written yet."""
        self._author = author
        self._choices = choices
        self._own: dict[RowHistory, Row | None] = {}
        self._insertions: dict[str, int] = {}
        self._last_inserted: tuple[str, Sequence[Value]] | None = None
        self._free = given.free
        self._drawn: Drawn | None = None
        self._tags = given.tags
        self.savepoints: list[tuple[str, Mark]] = []
        self.picked: dict[Address, tuple[int, int]] = {}
        self.statement = 0
        self.execution = -1

    def enter_statement(self, index: int) -> None:
        """The logged statement `index` begins."""
        self.statement = index
        self.execution = -1

    def begin(self, acting: Acting = "reads") -> None:
        """See `View`."""
        self.execution += 1

    def _place(self) -> Execution:
        """The execution under way."""
        return self.statement, self.execution

    def own(self, table: str) -> Found:
        """See `View`."""
        return [(row, values) for row, values in self._own.items() if values is not None and row.table == table]

    def update(self, table: str, row: RowHistory, values: Row) -> None:
        """See `View`."""
        self._own[row] = values

    def delete(self, table: str, row: RowHistory) -> None:
        """See `View`."""
        self._own[row] = None

    def insert(self, table: str, values: Row) -> RowHistory:
        """See `View`."""
        ordinal = self._insertions.get(table, 0)
        self._insertions[table] = ordinal + 1
        row = RowHistory(table, self._author, ordinal)
        self._own[row] = values
        self._last_inserted = (table, values)
        return row

    def free(self, source: str, name: str, type: SqlType) -> Value:
        """See `View`. Raises Unsupported where nobody keeps the values."""
        told = last_rowid(name, self._last_inserted) if source == "last_insert_rowid" else None
        if told is not None:
            return told
        drawn = self._drawing(f"a value that the DBMS chooses ({source})")
        highest = (lambda: self._highest(name)) if source in ("rowid", "auto") else None
        return drawn.value(source, name, type, (self.statement, self.execution), highest)

    def _highest(self, table: str) -> int | None:
        """The highest number of a row in a table that numbers them, 0 without rows; None where that is not known."""
        return None

    def _drawing(self, what: str) -> Drawn:
        if self._drawn is None:
            if self._free is None:
                raise Unsupported(what)
            self._drawn = Drawn(*self._free)
        return self._drawn

    def failed(self) -> None:
        """A statement failed, so that what it drew is not known."""
        self._last_inserted = None
        if self._drawn is not None:
            self._drawn.failed()

    def tell(self, keys: Iterable[Key]) -> None:
        """The observations show these values, whatever was read."""
        if self._drawn is not None:
            self._drawn.tell(keys)

    @property
    def drawn(self) -> Mapping[Address, tuple[str, str, Value]]:
        """The free values of this run."""
        return {} if self._drawn is None else self._drawn.made

    @property
    def chose(self) -> bool:
        """Whether the DBMS chose anything in this run so far."""
        return self._drawn is not None

    def choose(self, count: int, what: str) -> int:
        """See `View`. Raises Unsupported where nobody keeps the choice."""
        place = self.statement, self.execution
        address = (*place, self._drawing(what).ordinal(place))
        number = min((self._choices.picks or {}).get(address, 0), count - 1)
        self.picked[address] = number, count
        return number

    def arbitrary(self, what: str) -> None:
        """See `View`. Raises Unsupported where nobody keeps the choice."""
        self._drawing(what).arbitrary(what)

    def savepoint(self) -> Mark:
        """See `View`."""
        return self._own.copy(), self._insertions.copy()

    def rollback(self, mark: Mark) -> None:
        """See `View`; ordinals are given again, so that replay names the rows alike."""
        own, insertions = mark
        self._own = own.copy()
        self._insertions = insertions.copy()

    def settle(self, row: RowHistory, values: Row | None) -> None:
        """The run is over, and a write came to this."""
        self._own[row] = values

    def writes(self) -> dict[RowHistory, Row | None]:
        """The final write map; rows inserted and deleted again are left out."""
        found = {row: values for row, values in self._own.items() if values is not None or row.positions}
        if self.drawn or self._tags:
            return {row: None if row_ is None else tuple(map(plain, row_)) for row, row_ in found.items()}
        return found

    def cells(self) -> dict[RowHistory, dict[int, Key]]:
        """Which columns of the rows written hold a free value."""
        if not self.drawn:
            return {}
        return {row: keys for row, values in self._own.items() if values is not None and (keys := keys_of(values))}

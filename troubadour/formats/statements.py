"""The transaction lines of a log of SQL statements: each checked against those before it, and left to the `Store`.

Does not know headers, nor lines of other kinds.
"""

from __future__ import annotations

from array import array

from troubadour.formats.convert import Texts, transaction_of
from troubadour.formats.entries import BadEntry, RawHeader, RawTransaction, read_transactions, shorten
from troubadour.formats.segments import InitialRows
from troubadour.formats.store import Store
from troubadour.model.ids import Hashes
from troubadour.model.log import Header, Log, Transaction, TransactionId


class StatementLog:
    """The transactions read so far."""

    def __init__(self) -> None:
        self._store = Store()
        self._texts: Texts = {}
        self._names: list[str] = []
        self._begins: list[int] = []
        """First place of each segment."""
        self._lines = array("q")
        self._hashes = array("q")
        self._seen = Hashes()
        self._earlier: dict[int, int] = {}
        """Places by hash in the segments before this one, once they were needed."""
        self._intents: dict[TransactionId, int] = {}
        """Places of intents that no transaction line has replaced yet."""
        self._numbers: dict[str, dict[int, TransactionId]] = {}
        """Transactions by session and number there, where a log numbers them."""

    def spill(self) -> None:
        """Further transactions go to a file. Raises OSError where none can be made."""
        self._store.spill_from_now()

    def begin(self, name: str) -> None:
        """Another segment begins, which messages call by this name."""
        self._names.append(name)
        self._begins.append(len(self._store))
        self._earlier = {}

    def initial(self, header: RawHeader) -> InitialRows:
        """The initial rows of a segment, as its header gives them. Raises BadEntry."""
        initial = InitialRows()
        initial.add_header(header)
        return initial

    def finish(self, header: Header, digest: str) -> Log:
        """The log."""
        transactions, counts = self._store.finish()
        return Log(header, transactions, digest, counts)

    def several(self, batch: list[bytes]) -> int:
        """How many lines to take at once."""
        return len(batch)

    def add_all(self, batch: list[bytes], number: int, header_clock: str | None) -> int | None:
        """Take many lines, the first of which has this number; how many are no intents, or None where any needs a
        closer look. Raises BadEntry."""
        entries = read_transactions(batch)
        if entries is None:
            return None
        transactions = 0
        for line_number, (entry, line) in enumerate(zip(entries, batch, strict=True), number):
            try:
                self.add(entry, line, line_number, header_clock)
            except BadEntry as error:
                error.line = line_number
                raise
            transactions += entry.kind != "intent"
        return transactions

    def add(self, raw: RawTransaction, line: bytes, number: int, header_clock: str | None) -> None:
        """Take a transaction line or an intent. Raises BadEntry."""
        place = len(self._store)
        try:
            transaction = transaction_of(raw, place, header_clock, self._texts)
        except BadEntry as error:
            raise error.within(raw.id) from error
        hashed = hash(raw.id)
        if raw.sno is not None:
            self._check_number(raw, transaction)
        dropped = not self._seen.add(hashed) and self._settle(raw, hashed, transaction)
        self._hashes.append(hashed)
        self._lines.append(number)
        self._store.append(transaction, line)
        if raw.kind == "intent":
            if dropped:
                self._store.drop(place, None)
            else:
                self._intents[raw.id] = place

    def _check_number(self, raw: RawTransaction, transaction: Transaction) -> None:
        """Raises BadEntry where another transaction of the session has the number."""
        if transaction.session is None or transaction.sno is None:
            return
        other = self._numbers.setdefault(transaction.session, {}).setdefault(transaction.sno, raw.id)
        if other != raw.id or type(other) is not type(raw.id):
            text = f"a repeated sno: {shorten(other)} is number {transaction.sno} of session {transaction.session} too"
            raise BadEntry(text, transaction=raw.id)

    def _settle(self, raw: RawTransaction, hashed: int, transaction: Transaction) -> bool:
        """What to do of an entry whose id may have been seen: replace the intent, refuse the repetition, or (True)
        drop an intent that an earlier segment's transaction line has replaced already."""
        pending = self._intents.get(raw.id)
        if raw.kind != "intent":
            if pending is not None:
                self._store.drop(self._intents.pop(raw.id), transaction)
                return False
            what = "a repeated id:"
        else:
            what = "an intent after"
        place = self._place_of(raw.id, hashed)
        if place is None:
            return False
        if raw.kind == "intent" and pending is None and place < self._begins[-1]:
            return True
        raise BadEntry(f"{what} {self._position(place)} with the same id", transaction=raw.id)

    def _place_of(self, id: TransactionId, hashed: int) -> int | None:
        """The last entry with this id; a hash alone proves nothing."""
        if not self._earlier:
            # Segments given out of order ask for many: one dictionary then, and no search.
            self._earlier = {other: place for place, other in enumerate(self._hashes[: self._begins[-1]])}
        place = self._earlier.get(hashed)
        if place is not None and self._has_id(place, id):
            return place
        for place in range(len(self._hashes) - 1, -1, -1):
            if self._hashes[place] == hashed and self._has_id(place, id):
                return place
        return None

    def _has_id(self, place: int, id: TransactionId) -> bool:
        earlier = self._store.at(place).id
        return earlier == id and type(earlier) is type(id)

    def _position(self, place: int) -> str:
        segment = max(number for number, begin in enumerate(self._begins) if begin <= place)
        return f"{self._names[segment]}:{self._lines[place]}"

"""What a session of either protocol has: bytes come, messages are cut out of them, and transactions come of these.
Where they are not understood nothing is guessed: that is a gap. Does not know either protocol.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, NamedTuple, Protocol

from troubadour.record.proxy.bodies import BROKEN
from troubadour.record.proxy.decode.transactions import Transactions
from troubadour.record.statements.texts import Text


class Piece(NamedTuple):
    """A statement of a text that a client sent: `secret` if it may hold passwords."""

    sql: str
    text: Text
    secret: bool


class Framing(Protocol):
    """Cuts the messages of one direction out of its bytes."""

    def feed(self, data: bytes) -> Iterator[tuple[int, bytes | None]]:
        """The messages that end in this piece: a number, and the body, None where it was too long to be kept. Raises
        ValueError."""


class Session(ABC):
    """One connection. `framing`: makes what cuts messages out of one direction."""

    broken: ClassVar[tuple[type[Exception], ...]] = BROKEN
    """What says that something was not understood."""
    messages: ClassVar[str] = "message"
    """What the protocol calls that which clients send."""

    def __init__(self, transactions: Transactions, framing: Callable[[], Framing]) -> None:
        self.transactions = transactions
        self._client, self._own, self._server = framing(), framing(), framing()
        self._broken = False
        self._time = 0
        """When the server sent what is looked at."""

    @property
    def records(self) -> list[Any]:
        """What is known so far, for the caller to take out."""
        return self.transactions.records

    def lose(self, reason: str, time: int) -> None:
        """From here on something is missing, or not understood."""
        self.transactions.lose(reason, time)
        self._broken = True

    def sent(self, time: int, data: bytes, *, own: bool = False) -> None:
        """The client sent this, or the proxy its `own`."""
        if self._broken:
            return
        try:
            for number, body in (self._own if own else self._client).feed(data):
                self._asked(number, body, time, own)
        except self.broken:
            self.lose(f"what a client sent is no {self.messages} of the protocol", time)

    def got(self, time: int, data: bytes) -> None:
        """The server sent this."""
        if self._broken:
            return
        self._time = time
        answered = self._answered
        try:
            for number, body in self._server.feed(data):
                answered(number, body)
        except self.broken as error:
            self.lose(f"what a server sent was not understood: {error}", time)

    def closed(self, time: int | None) -> None:
        """The connection is closed, without a time because nothing more is known of it: what was open is rolled back,
        unless it may have been committed before."""
        transactions = self.transactions
        try:
            self._left()
        except self.broken:
            transactions.lose("what was sent last was not understood", self._time)
        transactions.end("aborted", None, None)
        if time is not None:
            transactions.found(time)

    @abstractmethod
    def _asked(self, number: int, body: bytes | None, time: int, own: bool) -> None:
        """A message of the client's, or of the proxy's own."""

    @abstractmethod
    def _answered(self, number: int, body: bytes | None) -> None:
        """A message of the server's."""

    @abstractmethod
    def _left(self) -> None:
        """What was sent and is not answered will not be."""

"""What the carrier asks of a protocol, of one connection. Does not know sockets."""

from __future__ import annotations

from typing import Any, Protocol

from sql_semantics.records import dataclass

PIECE = 1 << 16
"""Bytes that are read at once."""


@dataclass(slots=True)
class Step:
    """What is to be done while a connection is being made.

    - `to_client`, `to_server`: bytes to send, in that order.
    - `connect`: a connection to the server is wanted now.
    - `secure_client`: what comes next from the client is TLS (after `to_client` was sent); `secure_server` likewise,
      after `plain_to_server` and before `to_server`.
    - `close`: there is nothing more to do.
    - `opened`: the connection is made, and this is known of it, as JSON has it; None before. With `unrecorded` it is
      passed on and not recorded, and this says why. `ask` then goes to the server first, by the proxy itself; `rest`:
      bytes of the server behind what made the connection.
    - `cancels`: the client only wants that connection's statement stopped.
    """

    to_client: bytes = b""
    to_server: bytes = b""
    plain_to_server: bytes = b""
    connect: bool = False
    secure_client: bool = False
    secure_server: bool = False
    close: bool = False
    opened: dict[str, Any] | None = None
    unrecorded: str = ""
    ask: bytes = b""
    rest: bytes = b""
    cancels: tuple[int, bytes] | None = None


class Talk(Protocol):
    """One connection. Until `Step.opened` the first two are asked, then the others."""

    @property
    def piece(self) -> int:
        """So many bytes are to be read of the client at once: those behind them may be TLS."""

    def arrived(self) -> Step:
        """A client has connected."""

    def first_sent(self, data: bytes) -> Step:
        """The client sent this."""

    def first_got(self, data: bytes) -> Step:
        """The server sent this."""

    def greeted(self) -> Step:
        """The connection to the server is there."""

    def sent(self, data: bytes) -> bytes:
        """The client sent this. Gives what the proxy is to ask the server before it is passed on."""

    def got(self, data: bytes) -> bytes:
        """The server sent this. Gives what of it is the client's."""

    def ended(self) -> bytes:
        """The server sends no more. Gives what was kept back and is the client's."""

    @property
    def busy(self) -> bool:
        """Whether the server owes an answer."""

    @property
    def asking(self) -> bool:
        """Whether it owes one to the proxy."""

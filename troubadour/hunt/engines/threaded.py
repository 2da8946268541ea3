"""A session whose statements run in a thread of its own, so that one that waits holds up no other. Does not know any
product."""

from __future__ import annotations

import os
import socket
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as StillRunning
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread

from troubadour.hunt.engines.protocol import Answer

CANCELLED = 10.0
"""Seconds that a statement that was cancelled has for its answer; then its connection is given up."""


class Threaded(ABC):
    """The half of a `Connection` that sends and awaits. The thread ends with the process, whatever its statement
    does."""

    def __init__(self) -> None:
        self._texts: SimpleQueue[tuple[str, Future[Answer]] | None] = SimpleQueue()
        self._running: Future[Answer] | None = None
        self.given_up = False
        Thread(target=self._serve, daemon=True).start()

    @abstractmethod
    def _run(self, sql: str) -> Answer:
        """The answer to one statement, however long that takes."""

    @abstractmethod
    def _descriptor(self) -> int:
        """The file descriptor of the connection's socket."""

    def _serve(self) -> None:
        while (asked := self._texts.get()) is not None:
            sql, answer = asked
            try:
                answer.set_result(self._run(sql))
            finally:
                if not answer.done():
                    answer.set_exception(RuntimeError(f"no answer could be made of {sql}"))

    @property
    def unanswered(self) -> bool:
        """Whether a statement is under way."""
        return self._running is not None and not self._running.done()

    def send(self, sql: str) -> None:
        """See `Connection`."""
        self._running = Future()
        self._texts.put((sql, self._running))

    def answer(self, seconds: float) -> Answer | None:
        """See `Connection`."""
        assert self._running is not None
        try:
            return self._running.result(seconds)
        except StillRunning:
            return None

    def ended(self, cancel: Callable[[], object]) -> bool:
        """Whether nothing runs there any more, after a cancel where something does. A statement that outlives that is
        left alone, and the connection with it."""
        if self.unanswered:
            cancel()
            if self.answer(CANCELLED) is None:
                self.give_up()
        return not self.given_up

    def give_up(self) -> None:
        """Cut the connection under the thread that waits there."""
        self.given_up = True
        with suppress(OSError, ValueError), socket.socket(fileno=os.dup(self._descriptor())) as cut:
            cut.shutdown(socket.SHUT_RDWR)

    def end(self) -> bool:
        """End the thread; False where it still runs after a while: what it uses must not be closed then."""
        self._texts.put(None)
        if self.unanswered:
            self.give_up()
            return self.answer(CANCELLED) is not None
        return True


def now() -> int:
    """Microseconds of the monotonic clock."""
    return time.monotonic_ns() // 1000

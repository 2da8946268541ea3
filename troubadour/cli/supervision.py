"""A command under bounds: its work in a process of its own, and a parent that
ends it.

The work has bounds of its own: an alarm raises `OutOfTime` in it wherever Python is, which costs the loops of generated
code nothing, and the system refuses memory to it. The parent is for what neither reaches, a long call into a library, a
crash, a page too many; it holds little, and says what the work cannot say any more. Does not know what the work is, nor
what a verdict is.
"""

from __future__ import annotations

import contextlib
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import NoReturn

from sql_semantics.records import dataclass, field
from troubadour.model.bounds import OutOfTime, end_with_parent, fork

FAULT = 70
"""Exit status of a fault of this program, where the interpreter's own 1 would look like a violation."""

_MIB = 1 << 20

_ALARM = 0.2
"""Seconds after the limit at which the alarm raises: what looks at the time itself ends first, and says more."""

_START = 1.0
"""Seconds that every audit has: what cannot be used is found in them (exit status 2 wins over undecided)."""

_AGAIN = 0.25
"""Seconds after which it raises once more, should a callback of a library have swallowed the exception."""

_PATIENCE = 0.9
"""Seconds after the limit at which the parent ends the work."""

_LOOK = 0.01
"""Seconds between two looks at the memory."""

_BLOCK = 1 << 16
_UNUSABLE = 2
"""Exit status where the input cannot be used, as was told already."""

_TOO_LONG, _TOO_LARGE = 64, 65
"""Exit statuses of work that could not even say that it was stopped."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a command may use, from `begun` on (monotonic): seconds, and MiB of memory, its parent's included."""

    timeout: float | None = None
    memory: int | None = None
    begun: float = field(default_factory=time.monotonic)

    @property
    def given(self) -> bool:
        """Whether anything is bounded."""
        return self.timeout is not None or self.memory is not None

    def left(self) -> float | None:
        """Seconds left; not below a millisecond."""
        return None if self.timeout is None else max(self.timeout - (time.monotonic() - self.begun), 0.001)

    def spent(self) -> float:
        """Seconds since it began."""
        return round(time.monotonic() - self.begun, 4)

    def too_long(self) -> str:
        """Why the work was ended for time."""
        return "the time limit was reached"

    def too_large(self) -> str:
        """Why the work was ended for memory."""
        if self.memory is None:
            return "there was no memory left"
        return f"the memory limit of {self.memory:,} MiB was reached"

    def is_memory(self, error: BaseException) -> bool:
        """Whether an error says that there was no memory left: CPython 3.11, where there is none for the frame of a
        call, raises a SystemError that has no cause."""
        return isinstance(error, MemoryError) or (
            self.memory is not None and isinstance(error, SystemError) and "without exception set" in str(error)
        )


class Work:
    """The side of the work; this one is bound by nothing, and nobody listens."""

    def tell(self, line: bytes) -> None:
        """Tell the parent a line, in place of what was told before."""

    def lift(self) -> None:
        """What was found is printed in peace: no alarm any more, and some memory."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How the work ended: its exit status and what it printed; or, where it could not end by itself, why (`reason`).
    `told` is the last that it told."""

    status: int
    out: str = ""
    reason: str | None = None
    told: bytes = b""


def supervise(work: Callable[[Work], int], bounds: Bounds) -> Ended:
    """Do the work, which answers its exit status, in a process of its own under bounds. What it writes on standard
    error passes through. Raises KeyboardInterrupt, and then the work is ended, too."""
    sys.stdout.flush()
    sys.stderr.flush()
    pipes = [os.pipe() for _ in range(3)]
    out, told, errors = (reading for reading, _ in pipes)
    # a terminal is for the progress bar; anything else takes its lines from this process
    direct = sys.stderr.isatty()
    with contextlib.suppress(OSError, ValueError):
        os.environ.setdefault("COLUMNS", str(os.get_terminal_size(sys.stdout.fileno()).columns))
    parent = os.getpid()
    child = fork()
    if child == 0:
        _work(work, bounds, pipes, direct, parent)
    for _, writing in pipes:
        os.close(writing)
    watch = _Watch(child, bounds, (out, told, errors))
    try:
        reason = watch.wait()
    finally:
        status = watch.end()
        if watch.data[errors]:
            sys.stderr.write(watch.data[errors].decode(errors="replace"))
            sys.stderr.flush()
    last = bytes(watch.data[told]).splitlines()[-1:]
    reason = reason or _stopped_by(status, bounds)
    text = watch.data[out].decode(errors="replace") if reason is None else ""
    return Ended(max(os.waitstatus_to_exitcode(status), 0), text, reason, last[0] if last else b"")


def _stopped_by(status: int, bounds: Bounds) -> str | None:
    """Why work that has ended could not end by itself, from its status."""
    code = os.waitstatus_to_exitcode(status)
    if code == -signal.SIGINT:
        raise KeyboardInterrupt
    if code == _TOO_LONG:
        return bounds.too_long()
    if code == _TOO_LARGE:
        return bounds.too_large()
    if code == -signal.SIGKILL:
        return "the process of the audit was killed, as the system does where memory runs out"
    return f"the process of the audit crashed ({signal.Signals(-code).name})" if code < 0 else None


class _Watch:
    """The work as the parent sees it: what was read from its pipes, and the limits."""

    def __init__(self, child: int, bounds: Bounds, pipes: tuple[int, ...]) -> None:
        self.data = {pipe: bytearray() for pipe in pipes}
        self._child = child
        self._bounds = bounds
        self._until = None if bounds.timeout is None else bounds.begun + max(bounds.timeout, _START) + _PATIENCE
        self._bytes = None if bounds.memory is None else bounds.memory * _MIB - resident()

    def wait(self) -> str | None:
        """Until the work has closed its pipes; why it has to be ended before, else None."""
        poll = select.poll()
        open_ = set(self.data)
        for pipe in open_:
            poll.register(pipe, select.POLLIN)
        while open_:
            left = None if self._until is None else self._until - time.monotonic()
            if left is not None and left <= 0:
                return self._bounds.too_long()
            if self._bytes is not None:
                if resident(self._child) > self._bytes:
                    return self._bounds.too_large()
                left = _LOOK if left is None else min(left, _LOOK)
            for pipe, _ in poll.poll(None if left is None else max(left * 1000, 1)):
                block = os.read(pipe, _BLOCK)
                self.data[pipe] += block
                if not block:
                    poll.unregister(pipe)
                    open_.discard(pipe)
        self._child, ended = 0, self._child
        self._status = os.waitpid(ended, 0)[1]
        return None

    def end(self) -> int:
        """End the work where it has not ended; its status as of waitpid."""
        if self._child:
            os.kill(self._child, signal.SIGKILL)
            self._status = os.waitpid(self._child, 0)[1]
        for pipe in self.data:
            os.close(pipe)
        return self._status


def resident(process: int | None = None) -> int:
    """The memory that a process, by default this one, has in use, in bytes; 0 where the system does not tell."""
    try:
        with open(f"/proc/{process or 'self'}/statm", "rb") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except (OSError, IndexError):
        return 0


class _Bounded(Work):
    """Work under an alarm and a limit of memory."""

    def __init__(self, bounds: Bounds, told: int) -> None:
        self._told = told
        self._memory = resource.getrlimit(resource.RLIMIT_DATA)
        if bounds.timeout is not None:
            signal.signal(signal.SIGALRM, _raise_out_of_time)
            sys.unraisablehook = _pass_over_the_alarm
            alarm = bounds.begun + max(bounds.timeout or 0.0, _START) + _ALARM - time.monotonic()
            signal.setitimer(signal.ITIMER_REAL, max(alarm, 0.001), _AGAIN)
        if bounds.memory is not None:
            most = max(bounds.memory * _MIB - resident(), _MIB)
            hard = self._memory[1]
            resource.setrlimit(
                resource.RLIMIT_DATA, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard)
            )

    def tell(self, line: bytes) -> None:
        os.write(self._told, line + b"\n")

    def lift(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        resource.setrlimit(resource.RLIMIT_DATA, self._memory)


def _raise_out_of_time(number: int, frame: FrameType | None) -> NoReturn:
    raise OutOfTime


def _pass_over_the_alarm(ignored: sys.UnraisableHookArgs) -> None:
    """Where the alarm strikes while an object is given back, the exception can go nowhere; it comes again."""
    if not isinstance(ignored.exc_value, OutOfTime):
        sys.__unraisablehook__(ignored)


def _work(
    work: Callable[[Work], int], bounds: Bounds, pipes: list[tuple[int, int]], direct: bool, parent: int
) -> NoReturn:
    """The work's process, from its first line to its last: nothing leaves it but its end."""
    status = _TOO_LONG
    try:
        try:
            end_with_parent(parent)
            for reading, _ in pipes:
                os.close(reading)
            out, told, errors = (writing for _, writing in pipes)
            # what a library prints by itself is no part of the answer
            os.dup2(2, 1)
            sys.stdout = os.fdopen(out, "w", encoding="utf-8", errors="backslashreplace")
            if not direct:
                sys.stderr = os.fdopen(errors, "w", encoding="utf-8", errors="backslashreplace")
            status = work(_Bounded(bounds, told))
        finally:
            error = sys.exc_info()[1]
            while _disarmed():
                pass
            status = status if error is None else _status_of(error, bounds)
            with contextlib.suppress(OSError, ValueError, MemoryError):
                sys.stdout.flush()
                sys.stderr.flush()
    finally:
        # no need to give every object back; and should the alarm have struck just before it was taken off, that is it
        os._exit(status)


def _disarmed() -> bool:
    """Take the alarm off; whether it struck meanwhile, so that this has to be done again."""
    try:
        signal.setitimer(signal.ITIMER_REAL, 0)
    except OutOfTime:
        return True
    return False


def _status_of(error: BaseException, bounds: Bounds) -> int:
    """The exit status of work that an exception ended. What the work had said of its end before the alarm struck, as
    that its input cannot be used, stands."""
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else FAULT
    led_to = [*_led_to(error)]
    if any(isinstance(one, OutOfTime) for one in led_to):
        said = [one.code for one in led_to if isinstance(one, SystemExit)]
        return _UNUSABLE if _UNUSABLE in said else _TOO_LONG
    if isinstance(error, MemoryError | SystemError) and bounds.is_memory(error):
        return _TOO_LARGE
    if isinstance(error, KeyboardInterrupt):
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    sys.excepthook(type(error), error, error.__traceback__)
    return FAULT


def _led_to(error: BaseException) -> Iterator[BaseException]:
    """An error, and those in whose place it came: the interpreter puts another one there while a class is made, and
    the alarm may strike while one is handled."""
    seen: list[BaseException] = []
    waiting = [error]
    while waiting:
        one = waiting.pop()
        if not any(one is other for other in seen):
            seen.append(one)
            yield one
            waiting += [other for other in (one.__context__, one.__cause__) if other is not None]


_ENDING = (signal.SIGTERM, signal.SIGHUP)


class _Ended(BaseException):
    """A signal that ends the process. No Exception: nothing but cleaning up is to be done."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextlib.contextmanager
def ended_by_signals() -> Iterator[None]:
    """What is done within is cleaned up, too, where a signal asks the process to end; then it ends as by the signal."""

    def end(number: int, frame: FrameType | None) -> NoReturn:
        raise _Ended(number)

    before = {one: signal.signal(one, end) for one in _ENDING}
    try:
        yield
    except _Ended as ended:
        signal.signal(ended.number, signal.SIG_DFL)
        os.kill(os.getpid(), ended.number)
        raise
    finally:
        for one, handler in before.items():
            if signal.getsignal(one) is not signal.SIG_DFL:
                signal.signal(one, handler)

"""What ends an audit before its verdict: time, or the end of the process that asked for it; how such a process begins.
Does not know how much time or memory there is.
"""

from __future__ import annotations

import gc
import os
import signal
import sys

PARENT = "TROUBADOUR_PARENT"
"""The variable that names a process's parent, with which it is to end."""

_DEATH_SIGNAL = 1
"""Linux, prctl(2): PR_SET_PDEATHSIG."""


class OutOfTime(BaseException):
    """The time limit was reached. No Exception: it may be raised inside a library that takes every Exception for its
    own, as the tokenizer of SQL does, which would call the text unreadable."""


def end_with_parent(parent: int) -> None:
    """Have the system kill this process when its parent is gone, where it can; at once where that is gone already."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def fork() -> int:
    """Fork; nothing that is garbage in this process is given back in the new one. A library's object that holds threads
    or connections, as a database of DuckDB, has none there, and giving it back there crashes."""
    collects = gc.isenabled()
    gc.disable()
    try:
        child = os.fork()
        if child == 0:
            gc.freeze()
        return child
    finally:
        if collects:
            gc.enable()

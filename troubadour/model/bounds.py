"""What ends an audit before its verdict: time, or the end of the process that asked for it.
Does not know how much time or memory there is.
"""

from __future__ import annotations

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

"""Whether every transaction read the newest state at its turn, in hint order: what nearly all logs of servers do.

A run of the log on one state that its writes make anew, without versions. It says yes, or leaves the log to what
knows more of what a level allows. Does not know any other reading than this one.
"""

from troubadour.replay.newest.judge import Explained, Unexplained, explained_by_newest
from troubadour.replay.newest.rows import NotPlain

__all__ = ["Explained", "NotPlain", "Unexplained", "explained_by_newest"]

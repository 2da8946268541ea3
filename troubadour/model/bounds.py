"""What ends an audit before its verdict (CONTRACT §2, `--timeout`). Does not know how much time or memory there is."""

from __future__ import annotations


class OutOfTime(BaseException):
    """The time limit was reached. No Exception: it may be raised inside a library that takes every Exception for its
    own, as the tokenizer of SQL does, which would call the text unreadable."""

"""What ends an audit before its verdict (CONTRACT §2, `--timeout`). Does not know how much time or memory there is."""

from __future__ import annotations


class OutOfTime(Exception):
    """The time limit was reached."""

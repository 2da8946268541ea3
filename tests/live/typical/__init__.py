"""Statements that well-known applications send, in words of our own, on the real engines. Does not judge verdicts."""

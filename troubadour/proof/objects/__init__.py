"""Contradictions of logs of operations on objects, derived again. Does not know SQL."""

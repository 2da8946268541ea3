"""Logs of operations on objects at size: reading them, and judging their witnesses."""

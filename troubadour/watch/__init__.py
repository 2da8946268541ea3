"""Logs followed as they grow, and judged meanwhile. Does not know how a finished log is judged."""

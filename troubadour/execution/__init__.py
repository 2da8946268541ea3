"""Versioned state map, reads at a state, read records and write maps (paper §3.2, §5.3, §5.4).

Knows rows, versions and positions in an order; does not know which orders or reads a level allows.
"""

"""The incremental audit: order, heuristics, prefix by prefix (paper §7).

Knows everything below it; does not know files, the command line or how a verdict is shown.
"""

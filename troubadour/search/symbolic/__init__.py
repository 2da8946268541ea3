"""Guarded execution and its questions to the solver (paper §5, §6). Does not know why it was asked."""

"""Clauses that run on guarded values by a rule of their own. Knows no paths."""

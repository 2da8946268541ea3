"""Exact and floating numbers. Does not know types."""

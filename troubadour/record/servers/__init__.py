"""Servers that are started for a recording or a test. Knows no log."""

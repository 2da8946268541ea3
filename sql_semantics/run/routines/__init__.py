"""Procedures and functions compiled statement by statement. Knows no text of theirs."""

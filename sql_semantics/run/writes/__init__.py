"""Writes of rows, with the keys and references that they are held to. Knows no isolation level."""

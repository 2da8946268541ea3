"""Scalar expressions compiled into closures over a frame. Knows no tables but through subqueries."""

"""Procedures, functions and their blocks, whatever language they are written in. Knows no calls at run time."""

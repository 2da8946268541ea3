"""Operators and functions of JSON as expressions: what is asked of their operands and arguments, and how these become
parts. What they compute is in `values.functions.jsons`."""

"""The brute-force oracle: enumerate every witness of a tiny log and ask replay.

Imports neither solver nor encodings; replay is the only judge.
"""

from troubadour.oracle.enumerate import BudgetExceeded, OracleAnswer, explain

__all__ = ["BudgetExceeded", "OracleAnswer", "explain"]

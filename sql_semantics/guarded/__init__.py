"""Guarded (symbolic) execution of bound statements (paper §5.4). Knows neither states nor a solver.

Rows exist under guards and values are cases or terms; concrete parts run through the concrete runtime's functions.
"""

from sql_semantics.guarded.native.control import Mode, compile_guarded

__all__ = ["Mode", "compile_guarded"]

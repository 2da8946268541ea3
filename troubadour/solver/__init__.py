"""The one door to Z3: guards in, satisfiable, unsatisfiable or unknown out (paper §7; STYLE habit 2).

Knows terms only; neither transactions nor levels.
"""

from troubadour.solver.session import Answer, Model, Session

__all__ = ["Answer", "Model", "Session"]

"""SQL as an executable, partially symbolic semantics (paper §3, §5.4).

A library of its own: it parses a dialect into an intermediate representation, compiles that once into
closures, and runs it against a *view*. It knows nothing of logs, isolation levels or solvers.
"""

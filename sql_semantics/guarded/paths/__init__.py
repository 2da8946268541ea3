"""Statements without a rule of their own, run concretely along each path of what is open. Knows no solver."""

"""The views that statements run on: one state, a set of commits, a state for each statement. Knows no search."""

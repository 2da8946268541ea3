"""Scalar expressions of a statement bound to types. Knows neither how queries combine rows nor how rows are written."""

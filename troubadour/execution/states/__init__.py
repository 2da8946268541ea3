"""Committed versions of rows by state number (paper §5.3). Knows no reads."""

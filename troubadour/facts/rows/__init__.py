"""What statements do to single rows and tell of them, worked out by running them on one row. Knows no order."""

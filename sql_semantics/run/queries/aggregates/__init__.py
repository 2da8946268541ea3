"""What is computed of many rows: aggregates and windows. Does not know where the rows come from."""

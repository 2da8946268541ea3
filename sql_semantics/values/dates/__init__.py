"""Dates, times and intervals: their texts, and arithmetic. Does not know the functions that use them."""

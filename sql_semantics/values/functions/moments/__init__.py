"""Functions of dates, times and intervals, by product. Knows no clock."""

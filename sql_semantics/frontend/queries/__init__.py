"""SELECT and what it is made of: sources, grouping, ordering, set operations. Knows no rows."""

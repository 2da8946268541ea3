"""Certificates at size, with faults and lies, and servers that give parts of one. Does not know the search."""

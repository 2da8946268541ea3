"""Hunting for faults of a DBMS: generate work, run it, record it, audit it, and make what is found small.

Does not know how an audit decides.
"""

"""Faults put into logs of real products, audited at the products' profiles beside a reference that knows the registers.

Does not know how the audit decides.
"""

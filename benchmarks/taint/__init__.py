"""Random schemas of which some definitions are not modelled, run on real products and audited: what such a definition
may have written is never a violation.

Does not know how that is told.
"""

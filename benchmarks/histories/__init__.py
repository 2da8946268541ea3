"""Key-value histories with verdicts that do not come from the audit: generated, altered, imported, and references.

Does not know how the audit decides.
"""

"""The shipped protocols at every level, and without each of their guards (docs/protocols.md): the figures of
`figures.md`. Does not know what should come out.
"""

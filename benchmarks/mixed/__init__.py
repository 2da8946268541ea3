"""Real runs in which every transaction has a level of its own, recorded and audited at these levels.

Does not know what a level promises.
"""

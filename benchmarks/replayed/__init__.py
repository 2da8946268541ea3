"""Real runs audited at the levels that they ran at, and the witnesses of `correct` driven on the real server again.

Does not know what a level promises.
"""

"""A corpus of logs with their verdicts: what is decided today stays decided, at no more work (``make verdicts``).

Does not know how a verdict is reached: audits are asked of the command line, each in a process of its own.
"""

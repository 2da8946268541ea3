"""Whether a witness explains a log of operations on objects: the commit tests of the general levels, on columns.

Written apart from `troubadour.replay.checker`, which judges the same witness of the same log in SQL, and must agree;
this takes seconds for millions of transactions. Shares nothing with the search.
"""

from troubadour.replay.objects.judge import Reading, by_timestamps, check, check_reading, explains

__all__ = ["Reading", "by_timestamps", "check", "check_reading", "explains"]

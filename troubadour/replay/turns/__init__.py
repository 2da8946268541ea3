"""A replay that chooses what was read: along hint order, of the states that times allow the newest that explain.

What contended logs of servers need, and all that they need nearly always: snapshots that miss what was committed since,
statements with a state each, and transactions that stand a few places earlier or later than hint order has them. Every
commit test is replay's own. Does not look far for another order, nor for values that nothing tells.
"""

from troubadour.replay.turns.run import InTurn, explained_in_turn

__all__ = ["InTurn", "explained_in_turn"]

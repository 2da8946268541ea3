"""The witness checker: concrete, small, no solver (paper Def. 3.4).

Shares neither the encodings nor the search; `correct` is never said before a witness has passed here.
"""

from troubadour.replay.checker import Replay, check
from troubadour.replay.step import Refusal
from troubadour.replay.witness.file import WitnessError, longest_for, read_witness, write_witness

__all__ = ["Refusal", "Replay", "WitnessError", "check", "longest_for", "read_witness", "write_witness"]

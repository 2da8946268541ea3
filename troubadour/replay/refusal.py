"""What replay says of a witness that does not explain its log. Does not know how it was found out."""

from __future__ import annotations

from sql_semantics.records import dataclass
from troubadour.model.log import TransactionId


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a witness does not explain the log. `condition` is one of RMR, ROS, NFR, NWC, keys, real-time, session,
    visibility, serial, time, observation, error, free, order, initial, completeness; `statement` the 0-based index
    where one is to blame."""

    transaction: TransactionId | None
    statement: int | None
    condition: str
    text: str

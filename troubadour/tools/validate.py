"""What of a log an audit would judge: everything is bound and every value read, as an audit does first.

Does not judge."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sql_semantics.errors import Unsupported
from sql_semantics.library import SqlLibrary
from troubadour.coverage.reduced import nothing_of
from troubadour.coverage.reduction import reduce_log
from troubadour.model.log import Log
from troubadour.model.verdict import Coverage, Unjudged


def validate_log(
    log: Log, opened: Callable[[], tuple[Log, SqlLibrary]]
) -> tuple[Coverage, Sequence[Unjudged], Mapping[str, str]]:
    """What would be judged, the types of which that is not known before a witness is found, and the definitions that
    cannot be read, by their texts, with the reason. `opened` gives the log as an audit sees it. Raises LogError as an
    audit would."""
    try:
        reduced = reduce_log(*opened())
    except Unsupported as error:
        return nothing_of(log, error.construct), (), {}
    coverage = reduced.coverage(spelled=True)
    known = {(item.construct, item.table) for item in coverage.unjudged}
    open_ = [item for item in reduced.coverage(spelled=False).unjudged if (item.construct, item.table) not in known]
    return coverage, open_, reduced.library.unread

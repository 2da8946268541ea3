"""Whether all of a log is modelled: everything is bound and every value read, as an audit does first. Does not
judge."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sql_semantics.errors import Unsupported
from sql_semantics.library import SqlLibrary
from troubadour.execution.prepared import UnsupportedStatement, prepare
from troubadour.model.log import Log


def not_modelled(log: Log, library: Callable[[], SqlLibrary]) -> Mapping[str, tuple[int, str]]:
    """What is not modelled: by construct, in how many transactions it is the first such thing, and where it was met
    first. Raises LogError as an audit would."""
    found: dict[str, tuple[int, str]] = {}
    try:
        made = library()
    except Unsupported as error:
        return {error.construct: (1, "schema or procedures")}
    for transaction in log.transactions:
        try:
            prepare(transaction, made)
        except UnsupportedStatement as error:
            times, where = found.get(error.construct, (0, f"{transaction.id}, statement {error.index + 1}"))
            found[error.construct] = (times + 1, where)
    return found

"""What is found of a log: its anomalies, grouped, and the levels that they rule out. Does not know how they are found,
nor how they are shown."""

from __future__ import annotations

from collections.abc import Iterable

from sql_semantics.records import dataclass
from troubadour.isolation.levels import LEVELS
from troubadour.isolation.models import ANOMALY_ORDER, MODELS, TIMED, weakest
from troubadour.model.account import Edge
from troubadour.model.log import TransactionId
from troubadour.model.verdict import Status


@dataclass(frozen=True, slots=True)
class Around:
    """What a circle lies in: how many `transactions` come before one another, and each of the `edges` between them by
    kind, earlier and later one (none where there are too many)."""

    transactions: tuple[TransactionId, ...]
    edges: tuple[tuple[str, TransactionId, TransactionId], ...]


@dataclass(frozen=True, slots=True)
class Listed:
    """Anomalies of one name and one `cause` (what their edges or answers are of): how many were found (`more`: there
    may be more), and of one of the smallest its `transactions`, `chain` and a `text`. `rules_out`: levels and models
    that do not hold; `assumed`: with what was taken for granted. `around`: the component of a
    circle, where it was asked for; `key`: the object and the key of answers that contradict one another."""

    name: str
    title: str
    aka: tuple[str, ...]
    cause: str
    transactions: tuple[TransactionId, ...]
    text: str
    count: int
    rules_out: frozenset[str]
    chain: tuple[Edge, ...] = ()
    assumed: tuple[str, ...] = ()
    more: bool = False
    around: Around | None = None
    key: tuple[str, object] | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """What an audit says of a level."""

    level: str
    status: Status
    because: str | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """All of it. `excluded`: levels and models that are ruled out, `proved`: those of which a witness was found, with
    what they imply; `open`: levels audited without an answer; `notes`: what was not looked for."""

    anomalies: tuple[Listed, ...]
    excluded: frozenset[str]
    proved: frozenset[str]
    open: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def weakest_excluded(self) -> list[str]:
        """The weakest levels that are ruled out."""
        return weakest(self.excluded)

    def also_excluded(self) -> list[str]:
        """The other ones."""
        first = set(self.weakest_excluded())
        return in_order(self.excluded - first)

    def standing(self, level: str) -> Status:
        """Whether a level or model holds."""
        if level in self.excluded:
            return Status.VIOLATION
        return Status.CORRECT if level in self.proved else Status.UNDECIDED


def called(edge: Edge) -> str:
    """An edge by its kind and what it is of."""
    return edge.kind if edge.table is None else f"{edge.kind} {edge.table}"


def cause_of(chain: Iterable[Edge]) -> str:
    """What the edges of a circle are of."""
    return ", ".join(sorted(set(map(called, chain))))


def in_order(names: Iterable[str]) -> list[str]:
    """Levels and models, those that others report by first."""
    some = set(names)
    return [one for one in (*MODELS, *LEVELS) if one in some]


def worst_first(anomalies: Iterable[Listed]) -> tuple[Listed, ...]:
    """Anomalies in the order of a report."""
    return tuple(sorted(anomalies, key=lambda one: (_rank(one.name), one.cause, str(one.transactions))))


def _rank(name: str) -> tuple[int, int]:
    timed = next((number for number, suffix in enumerate(TIMED, 1) if name.endswith(suffix)), 0)
    plain = name.removesuffix(TIMED[timed - 1]) if timed else name
    return timed, ANOMALY_ORDER.index(plain) if plain in ANOMALY_ORDER else len(ANOMALY_ORDER)

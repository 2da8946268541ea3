"""An explanation step by step: one transaction after another, what each saw of the rows that it looked at, and these
rows before and after it. Does not know how an explanation was found, nor how its steps are drawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sql_semantics.errors import SchemaError, UnknownTable, Unsupported
from sql_semantics.records import dataclass
from troubadour.audit.account.pieces import Pieces, taken_apart
from troubadour.audit.account.rerun import Rerun, Unexplained
from troubadour.audit.account.wording import told
from troubadour.coverage.library import library_for
from troubadour.model.account import Explained
from troubadour.model.log import Log, LogError, Transaction, TransactionId
from troubadour.model.verdict import Verdict
from troubadour.model.witness import Witness
from troubadour.report.transactions import name

MOST = 24
"""Steps that are shown."""
_ROWS = 10
"""Rows of one step that are shown."""


@dataclass(frozen=True, slots=True)
class RowStep:
    """A row by its key: as the step `saw` it (None: it did not look), `before` and `after` the step. A version that is
    not there is an empty text."""

    key: str
    saw: str | None
    before: str
    after: str

    @property
    def changed(self) -> bool:
        """Whether the step wrote it."""
        return self.before != self.after

    @property
    def stale(self) -> bool:
        """Whether the step saw another version than the newest one."""
        return self.saw is not None and self.saw != self.before


@dataclass(frozen=True, slots=True)
class Stepped:
    """One step: a transaction, or (`statement`, from 0) one statement of it; which state it saw, its rows, and how many
    `more` it looked at."""

    transaction: TransactionId
    statement: int | None
    sees: str
    rows: tuple[RowStep, ...]
    more: int


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps shown of `total`, `of` an explanation at a level; `marks`: what a statement, by its transaction and
    number, did that another one should not have seen."""

    level: str
    total: int
    steps: tuple[Stepped, ...] = ()
    marks: tuple[tuple[TransactionId, int, str], ...] = ()


def steps_of(verdict: Verdict, log: Log) -> Steps | None:
    """The steps of a verdict's explanation: of the whole log where it is correct, else of the one at a weaker level
    that the chain was read from. None where there is none, or it does not run by itself."""
    explained = None if verdict.account is None else verdict.account.explained
    try:
        if explained is not None:
            return _of_chain(log, explained)
        return None if verdict.witness is None else _of_witness(log, verdict.witness, verdict.isolation)
    except (Unexplained, Unsupported, SchemaError, UnknownTable, LogError):
        return None


def _of_witness(log: Log, witness: Witness, level: str) -> Steps:
    """The first transactions: those before a state explain it by themselves."""
    order = list(witness.order[:MOST])
    wanted = set(order)
    chosen: list[Transaction] = []
    for one in log.transactions:
        if one.id in wanted:
            chosen.append(one)
            if len(chosen) == len(order):
                break
    first = Witness(witness.log, witness.isolation, order, witness.views[:MOST], initial=witness.initial)
    rerun = _rerun(Log(log.header, chosen, log.digest), first, witness.isolation)
    return Steps(level, len(witness.order), tuple(_steps(rerun, range(1, len(rerun) + 1), None)))


def _of_chain(log: Log, explained: Explained) -> Steps:
    """Those of the chain, and the writers of what they saw."""
    prefix = Log(log.header, log.transactions[: explained.transactions], log.digest)
    pieces = taken_apart(prefix) if explained.apart else None
    rerun = _rerun(prefix if pieces is None else pieces.log, explained.witness, explained.level)
    names = {one for edge in explained.edges for one in (edge.earlier, edge.later)}
    if pieces is not None:
        # every statement of a transaction of which one is in the chain
        of = {pieces.of[one][0].id for one in names}
        names = {piece for piece, (transaction, _) in pieces.of.items() if transaction.id in of}
    members = [place for place in range(1, len(rerun) + 1) if rerun.at(place).id in names]
    if len(rerun) <= MOST:
        shown: Sequence[int] = range(1, len(rerun) + 1)
    else:
        seen = {
            made
            for place in members
            for statement, row in rerun.looked(place)
            if (made := rerun.seen_from(place, statement, row))
        }
        shown = sorted({*members, *sorted(seen)[: MOST - len(members)]})[:MOST]
    marks = () if pieces is None else tuple(_marks(rerun, explained, pieces))
    return Steps(explained.level, len(rerun), tuple(_steps(rerun, shown, pieces)), marks)


def _rerun(log: Log, witness: Witness, level: str | None) -> Rerun:
    return Rerun(*library_for(log, level), witness, level)


def _steps(rerun: Rerun, places: Sequence[int], pieces: Pieces | None) -> Iterator[Stepped]:
    for place in places:
        rows = _rows(rerun, place)
        # what tells stands first: rows that it wrote, then those of which it saw an older version
        rows.sort(key=lambda row: (not row.changed, not row.stale))
        identifier, statement = rerun.at(place).id, None
        if pieces is not None:
            transaction, statement = pieces.of[identifier]
            identifier = transaction.id
        shown = tuple(rows[:_ROWS])
        yield Stepped(identifier, statement, _sees(rerun, place, pieces), shown, len(rows) - len(shown))


def _sees(rerun: Rerun, place: int, pieces: Pieces | None) -> str:
    view = rerun.views[place - 1]
    more = ", and single rows of other states" if view.exceptions else ""
    if view.state == 0:
        return f"sees the initial state{more}"
    last = rerun.at(view.state).id
    if pieces is not None:
        transaction, statement = pieces.of[last]
        return f"sees the state after statement {statement + 1} of {name(transaction.id)}{more}"
    return f"sees the state after {name(last)}{more}"


def _rows(rerun: Rerun, place: int) -> list[RowStep]:
    saw: dict[str, str] = {}
    for statement, row in rerun.looked(place):
        versions = rerun.versions(row)
        if versions is not None and row not in saw:
            made = rerun.seen_from(place, statement, row)
            saw[row] = told(rerun, row, None if made is None else versions.at(made)) or ""
    found = []
    for row in dict.fromkeys([*rerun.rows_written(place), *saw]):
        versions = rerun.versions(row)
        if versions is None:
            continue
        before, after = versions.at(place - 1), versions.at(place)
        one = RowStep(
            rerun.key_text(row, after or before),
            saw.get(row),
            told(rerun, row, before) or "",
            told(rerun, row, after) or "",
        )
        if one.saw or one.before or one.after:  # else it was never there so far
            found.append(one)
    return found


def _marks(rerun: Rerun, explained: Explained, pieces: Pieces) -> Iterator[tuple[TransactionId, int, str]]:
    """Which statement wrote what another transaction read, and which of the same transaction wrote over it."""
    for edge in explained.edges:
        place = rerun.position_of(edge.earlier)
        if edge.kind != "wr" or place is None or edge.row is None:
            continue
        author, statement = pieces.of[edge.earlier]
        reader = pieces.of[edge.later][0].id
        yield author.id, statement, f"{name(reader)} read what this wrote"
        versions = rerun.versions(edge.row)
        for state in () if versions is None else versions.states:
            if state > place and pieces.of[rerun.at(state).id][0].id == author.id:
                yield author.id, pieces.of[rerun.at(state).id][1], f"wrote over what {name(reader)} read"

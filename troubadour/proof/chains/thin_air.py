"""A value that was read and that no transaction can have left in its row before it was read (Adya 1999, G1a and G1b
aside: nothing wrote it at all).

Says which transaction wrote the row last by then, as clients' times have it, what that left and what was read. Does
not know how it was found that nothing explains the read.
"""

from __future__ import annotations

from sql_semantics.records import dataclass
from troubadour.facts.sql.effects import Accounts, Known, Unknown, may_agree
from troubadour.isolation.times import sent_after, was_there
from troubadour.model.account import Edge
from troubadour.order.evidence import Evidence, Observation
from troubadour.problem.budget import HUNDREDS
from troubadour.problem.problem import Problem
from troubadour.proof.chains.versions import Versions
from troubadour.proof.wording import key_text, value_text


@dataclass(frozen=True, slots=True)
class ThinAir:
    """What a transaction, by one of its statements, read of a row that nothing wrote there; `says` it in words."""

    says: str
    edge: Edge


def thin_air(problem: Problem, evidence: Evidence, accounts: Accounts) -> ThinAir | None:
    """The value of no version that evidence is about; None where it is about more than one read, or where some version
    may have it after all, one that was written over or rolled back."""
    seen = evidence.unexplained
    if seen is None or evidence.facts or evidence.added or seen.unseen or not isinstance(seen.known, tuple):
        return None
    statement = _statement_of(problem, accounts, seen)
    if statement is None or len(problem.statuses) > HUNDREDS * HUNDREDS:
        return None
    before = _written_before(problem, accounts, seen, statement)
    if before is None:
        return None
    writer, left = before
    if not isinstance(left, tuple):
        return None
    column = next((n for n, value in enumerate(seen.known) if value not in (Unknown.VALUE, left[n])), None)
    if column is None:
        return None
    was, got = left[column], seen.known[column]
    if was is Unknown.VALUE or got is Unknown.VALUE:
        return None
    table = problem.library.catalog.tables[seen.place[0]]
    name = key_text(table, accounts.places[table.name], seen.place[1])
    has, read = f"{table.columns[column].name}={value_text(was)}", value_text(got)
    reader = problem.transaction(seen.item).id
    by = None if writer is None else problem.transaction(writer).id
    before_it = (
        f"{name} has {has} from the start"
        if by is None
        else f"{by!r}, the last one to write {name} by then, left {has}"
    )
    told = f"statement {statement + 1} of {reader!r} read {read}, which nothing can have left there: {before_it}"
    edge = Edge(
        "wr",
        reader if by is None else by,
        reader,
        f"{told}; no version of the row has what was read",
        statement=statement,
        table=table.name,
        key=name,
        seen=read,
        writer=by,
        writer_status=None if by is None else "committed",
        written=value_text(was),
    )
    return ThinAir(told, edge)


def _statement_of(problem: Problem, accounts: Accounts, seen: Observation) -> int | None:
    """The first statement by which it is told what was met."""
    statements = problem.prepared(seen.item).statements
    for count in range(1, len(statements) + 1):
        account = accounts.of_statements(seen.item, statements[:count])
        if seen.place[0] in account.wild:
            return None
        if account.met.get(seen.place) == seen.known:
            return count - 1
    return None


def _written_before(
    problem: Problem, accounts: Accounts, seen: Observation, statement: int
) -> tuple[int | None, Known] | None:
    """The last writer of the row whose COMMIT had been answered (None: there is none), and what it left; None where a
    version that was written over or rolled back may be what was read."""
    versions, reader = Versions(problem, accounts), problem.times[seen.item]
    left: tuple[float, int | None, Known] = (float("-inf"), None, versions.initial(seen.place))
    for item, status in enumerate(problem.statuses):
        times = problem.times[item]
        if item == seen.item or (reader.got and sent_after(times, reader, statement)):
            continue
        account = accounts.of(item)
        if seen.place[0] not in account.wild and seen.place not in account.wrote:
            continue
        if _had(problem, accounts, item, seen):
            return None
        there = bool(reader.put) and was_there(times, reader, reader.put[statement])
        if status == "committed" and there and times.answered is not None and times.answered >= left[0]:
            left = times.answered, item, account.wrote[seen.place].after
    return left[1:]


def _had(problem: Problem, accounts: Accounts, item: int, seen: Observation) -> bool:
    """Whether the row may have been as it was read after any statement of a transaction."""
    statements = problem.prepared(item).statements
    for count in range(1, len(statements) + 1):
        account = accounts.of_statements(item, statements[:count])
        if seen.place[0] in account.wild:
            return True
        written = account.wrote.get(seen.place)
        if written is None:
            continue
        if may_agree(written.after, seen.known):
            return True
    return False

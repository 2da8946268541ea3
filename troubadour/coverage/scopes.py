"""Where the definitions of a log change, and which hold for each of its statements (PostgreSQL manual, 13.3.1: ALTER
TABLE and DROP TABLE wait for everybody else who uses the table).

A table's definitions are followed where every transaction that changes them runs beside no other that uses the table,
or one tied to it: then real time says, at levels that keep it, which definition each statement met. Where a level does
not keep it, or no times are known, real time and the sessions' orders still tell which one the product had then, and
the states that the level lets transactions read have to bear it out (`coverage.other_scopes`). Does not know what the
definitions say.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import combinations

import msgspec

from sql_semantics.errors import Unsupported
from sql_semantics.frontend import (
    Change,
    beginning,
    changes_index,
    completes_table,
    defines_table,
    dropped_indexes,
    index_of,
    named_tables,
    names_in,
    renamed_index,
)
from sql_semantics.records import dataclass
from sql_semantics.values.dialect import Dialect
from troubadour.coverage.followable import is_bound, is_dynamic, is_followable
from troubadour.isolation.levels import LEVELS, Level, Visible
from troubadour.model.log import Log, Transaction


@dataclass(frozen=True, slots=True)
class Settled:
    """`changes` in their order; `scopes`: of each transaction, by its place in hint order, the scope of each of its
    statements; `tables`: the names whose definitions are followed so."""

    changes: tuple[Change, ...] = ()
    scopes: tuple[tuple[int, ...], ...] = ()
    tables: frozenset[str] = frozenset()

    def told(self, log: Log) -> Log:
        """The log with the scopes of its statements."""
        if not self.changes:
            return log
        transactions = [
            transaction if not any(scopes) else _in_scopes(transaction, scopes)
            for transaction, scopes in zip(log.transactions, self.scopes, strict=True)
        ]
        return log.with_transactions(transactions)


def _in_scopes(transaction: Transaction, scopes: Sequence[int]) -> Transaction:
    statements = tuple(
        msgspec.structs.replace(statement, scope=scope)
        for statement, scope in zip(transaction.statements, scopes, strict=True)
    )
    return msgspec.structs.replace(transaction, statements=statements)


def levels_of(log: Log, isolation: str | None) -> tuple[Level | None, ...]:
    """All levels that a log is held to; None for one that is not known."""
    named = [isolation] if isolation else [log.header.isolation, *(t.isolation for t in log.transactions)]
    return tuple(LEVELS.get(name) for name in sorted({name for name in named if name is not None}))


def keeps_time(log: Log, isolation: str | None) -> bool:
    """Whether all levels that a log is held to keep real time."""
    levels = levels_of(log, isolation)
    return bool(levels) and all(level is not None and level.real_time for level in levels)


def reads_states(log: Log, isolation: str | None) -> bool:
    """Whether at all levels that a log is held to each transaction reads one state."""
    levels = levels_of(log, isolation)
    return bool(levels) and all(
        level is not None and level.visible is Visible.STATE and not level.own_states and not level.dirty
        for level in levels
    )


def changes_definitions(text: str) -> bool:
    """Whether a statement may change what a table is: CREATE, ALTER or DROP of one, or of a unique index."""
    if defines_table(text) or completes_table(text) or changes_index(text):
        return True
    return beginning(text).split(None, 1)[:1] in (["DROP"], ["RENAME"])


def settle(log: Log, dialect: Dialect, *, sessions: bool = False) -> Settled:
    """The changes of definitions that can be followed. `sessions`: their orders tell, too, which definition a statement
    met."""
    return _Settling(log, dialect, sessions).settled()


class _Settling:
    def __init__(self, log: Log, dialect: Dialect, sessions: bool) -> None:
        self.log = log
        self.dialect = dialect
        self.precedes = precedes if sessions else _before
        self._names: dict[str, frozenset[str] | None] = {}
        self._above: dict[str, str] = {}
        self._indexes: dict[str, str] = {}
        self.changing: dict[int, list[int]] = {}
        for place, transaction in enumerate(log.transactions):
            found = [n for n, s in enumerate(transaction.statements) if s.error is None and changes_definitions(s.sql)]
            if found:
                self.changing[place] = found

    def settled(self) -> Settled:
        if not self.changing or not is_followable(self.log):
            return Settled()
        known = self._link()
        uses = [self._used(transaction, known) for transaction in self.log.transactions]
        groups: dict[str, list[int]] = {}
        for place, statements in self.changing.items():
            for index in statements:
                group = self._group(self.log.transactions[place].statements[index].sql)
                if group is None and renamed_index(self.log.transactions[place].statements[index].sql, self.dialect):
                    return Settled()
                if group is not None:
                    groups.setdefault(group, []).append(place)
        spans = [span_of(transaction, place) for place, transaction in enumerate(self.log.transactions)]
        routines = {self._root(name) for text in self._routines() for name in self._bound(text, known)}
        followed = {
            group
            for group, places in groups.items()
            if group not in routines and self._runs_alone(group, set(places), uses, spans)
        }
        if any(changes_index(s.sql) for t in self.log.transactions for s in t.statements) and followed < groups.keys():
            return Settled()  # which key an index is, and of which table, is known where all is followed
        return self._told(followed, uses, spans) if followed else Settled()

    def _routines(self) -> Iterator[str]:
        yield from self.log.header.procedures
        yield from filter(is_bound, self.log.header.schema)

    def _bound(self, text: str, known: frozenset[str]) -> frozenset[str]:
        """The tables that a view, a routine or a trigger may use: those whose names stand anywhere in its text."""
        said = text.lower()
        named = (name for name in known if re.search(rf"(?<!\w){re.escape(name.lower())}(?!\w)", said) is not None)
        return known if is_dynamic(text) else frozenset(named)

    # --- which tables are tied to one another ------------------------------------------------------------------------

    def _link(self) -> frozenset[str]:
        """All names of tables; those in one definition are tied."""
        texts = list(self.log.header.schema)
        for place, statements in self.changing.items():
            texts += [self.log.transactions[place].statements[index].sql for index in statements]
        for text in dict.fromkeys(texts):
            indexed = index_of(text, self.dialect)
            names = sorted(named_tables(text, self.dialect))
            if indexed is not None:
                # the name may go from one table to another, and is dropped without it
                names += [self._indexes.setdefault(*indexed)]
            for name in names:
                self._above.setdefault(name, name)
                self._above[self._root(name)] = self._root(names[0])
        renamed = [pair for text in dict.fromkeys(texts) if (pair := renamed_index(text, self.dialect)) is not None]
        for _ in renamed:  # one of them may take up the name that another gave
            for old, new in renamed:
                if old in self._indexes:
                    table = self._indexes[old]
                    self._above[self._root(self._indexes.setdefault(new, table))] = self._root(table)
        return frozenset(self._above)

    def _root(self, name: str) -> str:
        while self._above[name] != name:
            name = self._above[name]
        return name

    def _group(self, text: str) -> str | None:
        """The tables of a change, by one of them; None where it names none."""
        names: set[str] = set(named_tables(text, self.dialect))
        if not names:
            names = {self._indexes[name] for name in dropped_indexes(text, self.dialect) if name in self._indexes}
        return self._root(min(names)) if names else None

    def _mentioned(self, text: str, known: Collection[str]) -> frozenset[str]:
        if text not in self._names:
            try:
                self._names[text] = names_in(text, self.dialect).intersection(known)
            except Unsupported:
                self._names[text] = None
        found = self._names[text]
        return frozenset(known) if found is None else found

    def _used(self, transaction: Transaction, known: Collection[str]) -> frozenset[str]:
        """The groups of tables that a transaction may use."""
        names = {name for statement in transaction.statements for name in self._mentioned(statement.sql, known)}
        if self._indexes:
            dropping = (s.sql for s in transaction.statements if changes_index(s.sql))
            mentioned = {index for sql in dropping for index in dropped_indexes(sql, self.dialect)}
            names |= {self._indexes[index] for index in mentioned if index in self._indexes}
        return frozenset(self._root(name) for name in names)

    # --- who runs beside whom ----------------------------------------------------------------------------------------

    def _runs_alone(self, group: str, places: set[int], uses: Sequence[frozenset[str]], spans: Sequence[Span]) -> bool:
        for place in places:
            transaction = self.log.transactions[place]
            if transaction.status == "unknown" or not self._is_plain(transaction, place):
                return False
            timeless = spans[place].begins is None or spans[place].over is None
            if timeless and self.precedes is _before:
                return False  # when it changed them is not known
            for other, span in enumerate(spans):
                if group not in uses[other]:
                    continue
                if self.log.transactions[other].snapshot_at == "imported":
                    return False  # it may see what is older than it is
                if other != place and not (self.precedes(spans[place], span) or self.precedes(span, spans[place])):
                    return False
        return True

    def _is_plain(self, transaction: Transaction, place: int) -> bool:
        """Whether its changes stand once they are made, and are its own."""
        first = self.changing[place][0]
        if self.dialect.rules.running.definitions_commit and (
            len(transaction.statements) > 1 or transaction.status != "committed"
        ):
            return False  # it is committed as it is made
        return not any(
            " ".join(beginning(statement.sql).upper().split()[:2])
            in ("ROLLBACK TO", "ROLLBACK TRANSACTION", "ROLLBACK WORK")
            for statement in transaction.statements[first:]
        )

    # --- the scopes --------------------------------------------------------------------------------------------------

    def _told(self, followed: set[str], uses: Sequence[frozenset[str]], spans: Sequence[Span]) -> Settled:
        changes: list[Change] = []
        scopes: dict[int, tuple[int, ...]] = {}
        after: list[tuple[int, frozenset[str], int]] = []
        current = 0
        order = self._in_order([place for place in self.changing if uses[place] & followed], spans)
        if order is None:
            return Settled()
        for place in order:
            transaction = self.log.transactions[place]
            scope, own = current, []
            changed: set[str] = set()
            for index, statement in enumerate(transaction.statements):
                own.append(scope)
                group = self._group(statement.sql) if index in self.changing[place] else None
                if group in followed:
                    change = Change(scope, statement.sql, statement.references)
                    if change not in changes:  # else what was rolled back is done again
                        changes.append(change)
                    scope = changes.index(change) + 1
                    changed.add(str(group))
            scopes[place] = tuple(own)
            if transaction.status == "committed" and changed:
                current = scope
                after.append((place, frozenset(changed), scope))
        found: list[tuple[int, ...]] = []
        for place, transaction in enumerate(self.log.transactions):
            if place not in scopes:
                met = [
                    scope
                    for other, changed, scope in after
                    if changed & uses[place] and self.precedes(spans[other], spans[place])
                ]
                scopes[place] = (met[-1] if met else 0,) * len(transaction.statements)
            found.append(scopes[place])
        names = frozenset(name for name in self._above if self._root(name) in followed)
        return Settled(tuple(changes), tuple(found), names)

    def _in_order(self, places: list[int], spans: Sequence[Span]) -> list[int] | None:
        """Those that change definitions, one after the other; None where that is not known."""
        if self.precedes is _before:
            known = len({spans[place].clock for place in places}) <= 1
            return sorted(places, key=lambda place: (spans[place].begins or 0, place)) if known else None
        places = sorted(places)
        follows = (self.precedes(spans[one], spans[next_]) for one, next_ in combinations(places, 2))
        return places if all(follows) else None


@dataclass(frozen=True, slots=True)
class Span:
    """From when to when a transaction ran, by its client's clock or else the DBMS's; None where that is not known.
    `rank`: its place in hint order; `ended`: its client knew that it had ended."""

    clock: object
    begins: int | None
    over: int | None
    session: str | None
    rank: int
    ended: bool


def span_of(transaction: Transaction, rank: int) -> Span:
    """From when to when a transaction ran."""
    statements = transaction.statements
    begun = [transaction.invoked, *(statement.invoked for statement in statements[:1])]
    begins = min((time for time in begun if time is not None), default=None)
    over = _over(transaction)
    clock: object = ("client", transaction.clock)
    if begins is None or over is None:
        clock, begins, over = "server", transaction.start, transaction.commit
    ended = transaction.status != "unknown" and not any(statement.outcome_unknown for statement in statements)
    return Span(clock, begins, over, transaction.session, rank, ended)


def _over(transaction: Transaction) -> int | None:
    """By when the client had its last answer; None where something was left unanswered."""
    end, statements = transaction.end, transaction.statements
    if transaction.status == "unknown" or any(statement.outcome_unknown for statement in statements):
        return None
    last = statements[-1].returned if statements else None
    if end is not None:
        last = end.returned if end.returned is not None else transaction.returned
    elif transaction.returned is not None:
        last = transaction.returned
    elif transaction.status == "committed":
        return None  # when it was committed is not known
    if last is None:
        return None
    return max([last, *(time for s in statements for time in (s.invoked, s.returned) if time is not None)])


def _before(one: Span, other: Span) -> bool:
    """Whether one was over before the other began."""
    if one.clock != other.clock or one.over is None or other.begins is None:
        return False
    return one.over < other.begins


def precedes(one: Span, other: Span) -> bool:
    """Whether one was over before the other began, by their times or as their session had them."""
    if _before(one, other):
        return True
    in_session = one.session is not None and one.session == other.session and one.ended and one.rank < other.rank
    return in_session and not _before(other, one)


def without(runs: Iterable[Sequence[str]], tables: Collection[str], dialect: Dialect) -> tuple[tuple[str, ...], ...]:
    """Runs of definitions without those of tables that are followed."""
    left = (tuple(text for text in run if not named_tables(text, dialect) & set(tables)) for run in runs)
    return tuple(run for run in left if run)

"""What the answers about rows force, derived to a fixed point: versions of rows, their order, and what each view has.

Rows are automata of their own; an answer about several of them leaves to each the shares that the others leave, and
what all shares that are left agree on orders the reader's view among the row's writers. A contradiction excludes every
order. No case is assumed. Does not know how a contradiction is confirmed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress

from sql_semantics.errors import Unsupported
from sql_semantics.records import dataclass, field
from sql_semantics.view import Row
from troubadour.facts.rows.local import Does
from troubadour.facts.rows.programs import RowPrograms, Step, WholeQuery
from troubadour.facts.rows.tables import Key
from troubadour.facts.rows.told import NOTHING, Counted, Share, Told
from troubadour.facts.sql.effects import Account, Accounts
from troubadour.order.graph import ones
from troubadour.order.history import applies, history_of, rules_of
from troubadour.order.rows.automaton import Automata
from troubadour.order.rows.balance import Unbalanced, unbalanced
from troubadour.order.rows.events import Events, Model, events_of, model_of
from troubadour.order.rows.narrowing import Excess, Possible, narrowed
from troubadour.order.rows.states import NoWay, RowStates, Vague, Version
from troubadour.order.rows.ways import Ways
from troubadour.order.rows.written import RowsOfTable, WrittenRows
from troubadour.order.saturation import Known
from troubadour.problem.problem import Problem

MOST_KNOWN = 1_000
"""Transactions up to which reads by key are asked first where times do not order the log."""

ROW = 10
"""Units of what is done for one row of an answer."""

WAYS = 128
"""Choices of versions among which a query is run, at most."""

CUTS = 16 * WAYS
"""Sets of commits before a query that are told apart, at most."""

ROUNDS = 60
"""Rounds after which what was derived is enough."""


@dataclass(frozen=True, slots=True)
class RowConflict:
    """Why no order is left. `reader`: the transaction and statement whose answer cannot be, if it is one; `rows`: the
    rows that it is about, by table and place; `versions`: of one row, those that may have been read, each with its
    writer (None: initial, or not told); `circle`: events that would be before one another; `excess`: what the answer
    has too much or too little of; `says`: what is wrong with an answer that no rows give; `unbalanced`: versions of
    a row that do not add up."""

    reader: tuple[int, int] | None = None
    rows: tuple[tuple[str, Key], ...] = ()
    versions: tuple[tuple[int | None, Version], ...] = ()
    circle: tuple[int, ...] = ()
    excess: Excess | None = None
    says: str = ""
    unbalanced: Unbalanced | None = None


class _Refuted(Exception):
    def __init__(self, conflict: RowConflict) -> None:
        super().__init__()
        self.conflict = conflict


@dataclass(slots=True)
class _Reader:
    """An answer: of a statement of a transaction, about rows of a table; of each of its parts the rows that it may
    touch (None: any)."""

    item: int
    statement: int
    table: str
    steps: list[Step]
    told: Told
    touched: list[tuple[RowStates, list[Step]]] = field(default_factory=list)
    """The rows that it may be about, each with the steps that may touch it."""
    signature: object = None
    group: tuple[Step, RowStates] | None = None
    """Of the query of a group that is inserted, the INSERT with the row that it leaves."""
    settled: int = -1
    """How often that row was made when it was asked which groups are left."""
    left: list[tuple[RowStates, list[int]]] = field(default_factory=list)
    """Of a query, the rows of which its answer leaves some versions only, with the writers before these."""

    @property
    def answer(self) -> tuple[int, int]:
        """Which answer it is: the transaction and its statement."""
        return self.item, self.statement


@dataclass(frozen=True, slots=True)
class RowContradiction:
    """Answers about rows that contradict each other in every order of a log, and the facts that show it."""

    facts: Rows
    conflict: RowConflict


@dataclass(slots=True)
class Derived:
    """What was derived: the rows, the events with their order, and why no order is left, if none is. `rounds`: how
    often all was looked at."""

    events: Events
    rows: dict[str, RowsOfTable]
    conflict: RowConflict | None = None
    rounds: int = 0


class Rows:
    """The facts about rows of a problem, and what follows from those of some of its transactions."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.model: Model | None = model_of(problem)
        strict = self.model is not None and not self.model.views
        newer = self.model is not None and self.model.follows_values
        mixed = self.model is not None and self.model.mixes
        self.programs = RowPrograms(problem, strict=strict, newer=newer, mixed=mixed)
        self.items = sorted([*problem.committed, *problem.unknown])
        self._accounts: Accounts | None = None

    @property
    def applies(self) -> bool:
        """Whether anything is told at the level."""
        return self.model is not None and bool(self.programs.tables.keys)

    def derive(self, prefix: int | None = None, kept: Collection[int] | None = None) -> Derived | None:
        """What follows from the answers: of the first `prefix` committed transactions, where later ones and those of
        unknown outcome need not have happened; of those `kept`, where the others may have left anything where they
        may have written. None where nothing is told. Raises OutOfTime."""
        model = self.model
        if model is None or not self.applies:
            return None
        with suppress(Unsupported):
            known = None if model.level.real_time else self._known(model, prefix, kept)
            return _Propagation(self, model, prefix, kept, known).run()
        return None

    def imbalance(self, prefix: int | None = None, kept: Collection[int] | None = None) -> RowConflict | None:
        """A row whose versions do not add up, of the same. Raises OutOfTime."""
        model = self.model
        if model is None or not self.applies:
            return None
        kept = self.items if kept is None else kept
        with suppress(Unsupported):
            written = WrittenRows(self.programs, model, self.items, optional=self.optional(prefix), kept=kept)
            return imbalance_of(written, Ways(self.programs, model))
        return None

    def optional(self, prefix: int | None) -> set[int]:
        """The transactions that need not have happened, of a prefix."""
        later = () if prefix is None else self.problem.committed[prefix:]
        return {*self.problem.unknown, *later}

    def _known(self, model: Model, prefix: int | None, kept: Collection[int] | None) -> Known | None:
        """What reads by key tell of the order, where times do not; nothing where it contradicts itself."""
        problem, level = self.problem, model.level
        if not applies(problem, level) or len(self.items) > MOST_KNOWN:
            return None
        if self._accounts is None:
            self._accounts = Accounts(problem, latest=level.horizon.latest)
        accounts = self._accounts if kept is None else _Kept(self._accounts, kept)
        known = Known(history_of(problem, rules_of(problem, level), accounts, prefix), problem.budget.left)
        return known if known.saturate() is None else None


def imbalance_of(written: WrittenRows, ways: Ways) -> RowConflict | None:
    """A row whose versions do not add up."""
    found = unbalanced(ways, written)
    return None if found is None else RowConflict(rows=((found.table, found.place),), unbalanced=found)


class _Kept(Accounts):
    """The accounts of some transactions; others may have left anything in the tables that they may have written."""

    def __init__(self, accounts: Accounts, kept: Collection[int]) -> None:
        self.__dict__.update(accounts.__dict__)
        self._whole = accounts
        self._these = set(kept)

    def of(self, item: int) -> Account:
        """See `Accounts`."""
        whole = self._whole.of(item)
        if item in self._these:
            return whole
        return Account(wild=whole.wild | {place[0] for place in whole.wrote})


class _Propagation:
    def __init__(
        self, facts: Rows, model: Model, prefix: int | None, kept: Collection[int] | None, known: Known | None
    ) -> None:
        self._facts = facts
        self._model = model
        self._programs = facts.programs
        problem = facts.problem
        self._look = problem.budget.left
        self._optional = facts.optional(prefix)
        kept = set(facts.items if kept is None else kept)
        self._of = {item: facts.programs.of(item) for item in facts.items}
        self._readers: list[_Reader] = []
        queries = {
            item: sorted(
                {step.statement for step in program.steps if step.part.does is Does.READS}
                | {query.prepared.index for query in program.queries}
            )
            for item, program in self._of.items()
        }
        writers = {item for item, program in self._of.items() if program.writes}
        events = events_of(problem, model, facts.items, self._optional, writers, queries, known)
        if events is None:
            raise Unsupported("times that contradict each other")
        self._events = events
        items = events.in_play(facts.items, self._optional)
        self._asked = [item for item in items if item in kept and item not in self._optional]
        self._written = WrittenRows(facts.programs, model, items, optional=self._optional, kept=kept)
        self._rows, self._open = self._written.tables, self._written.open

    def run(self) -> Derived:
        """To a fixed point."""
        events = self._events
        self._ways = Ways(self._programs, self._model)
        self._automata = Automata(self._facts.problem, self._ways, self._model, events)
        self._written.close(events.commit)
        self._make_readers()
        derived = Derived(events, self._rows)
        try:
            self._look_at_answers()
            self._propagate(derived)
            self._ask_whole()
            # what is refuted before tells of a shorter prefix
            derived.conflict = imbalance_of(self._written, self._ways)
        except _Refuted as refuted:
            derived.conflict = refuted.conflict
        return derived

    def _look_at_answers(self) -> None:
        """Refuse an answer that no rows give."""
        for item in self._asked:
            for statement, wrong in self._of[item].wrong.items():
                raise _Refuted(RowConflict((item, statement), says=wrong))

    def _make_readers(self) -> None:
        for item in self._asked:
            by_statement: dict[tuple[int, str], list[Step]] = defaultdict(list)
            for step in self._of[item].steps:
                if step.told.something and not self._written.is_untold(step):
                    by_statement[step.statement, step.part.table].append(step)
            for (statement, _), steps in by_statement.items():
                self._readers.append(_Reader(item, statement, steps[0].part.table, steps, steps[0].told))
            blind = self._of[item].changes | self._of[item].adds
            for step in self._of[item].steps:
                asks = step.asks
                if asks is not None and asks.part.table not in blind and self._ways.groups(step) is not None:
                    (place,) = step.places or ((),)
                    group = step, self._rows[step.part.table][place]
                    self._readers.append(_Reader(item, step.statement, asks.part.table, [asks], Told(), group=group))
        for reader in self._readers:
            reader.touched = self._touched(reader.table, reader.steps)

    def _touched(self, table: str, steps: list[Step]) -> list[tuple[RowStates, list[Step]]]:
        rows = self._rows[table]
        found: dict[Key, list[Step]] = defaultdict(list)
        for step in steps:
            passed = self._programs.passed(step)
            for place, row in rows.items() if step.places is None else ():
                if row.vague or place not in passed:
                    found[place].append(step)
            for place in step.places or ():
                found[place].append(step)
        return [(rows[place], asked) for place, asked in found.items()]

    def _propagate(self, derived: Derived) -> None:
        changed = True
        while changed and derived.rounds < ROUNDS:
            derived.rounds += 1
            changed = False
            for rows in self._rows.values():
                for row in rows.values():
                    changed = self._build(row) or changed
            for reader in self._readers:
                self._look()
                if reader.group is not None and not reader.told.something:
                    changed = self._settle(reader, *reader.group) or changed
                changed = self._read(reader) or changed
                if not self._model.views and reader.steps[0].part.least is not None:
                    changed = self._pick(reader) or changed

    def _ask_whole(self) -> None:
        """Ask whether the rows of an answer were there together; run the queries of whose tables each row is told, or
        one of few versions."""
        for reader in self._readers:
            self._look()
            self._meet(reader)
        for item in self._asked:
            for query in self._of[item].queries:
                self._look()
                self._ask(item, query)

    def _ask(self, item: int, query: WholeQuery) -> None:
        program = self._of[item]
        if query.tables & (self._open | program.changes | program.adds):
            return
        rows = [(table, row) for table in query.tables for row in self._rows[table].values()]
        self._facts.problem.budget.note(ROW * len(rows))
        ways = self._versions_at(item, query, [row for _, row in rows])
        if ways is None:
            return
        for chosen in ways:
            tables: dict[str, list[Row]] = {table: [] for table in query.tables}
            for (table, _), version in zip(rows, chosen, strict=True):
                if isinstance(version, tuple):
                    tables[table].append(version)
            if not query.refutes(tables):
                return
        raise _Refuted(RowConflict((item, query.prepared.index)))

    def _versions_at(self, item: int, query: WholeQuery, rows: Sequence[RowStates]) -> list[list[Version]] | None:
        """The versions that rows may have together where a query looks at them, as far as it can see them; None where
        they are not told, or too many."""
        event = self._events.reading(self._model, item, query.prepared.index)
        fixed: dict[int, Version] = {}
        several: dict[int, list[tuple[int, Version]]] = {}
        for place, row in enumerate(rows):
            states = self._states(item, query, row, event)
            if states is None:
                return None
            found: list[tuple[int, Version]] = []
            for mask, version in states:
                if isinstance(version, Vague):
                    return None
                seen = isinstance(version, tuple) and self._programs.can_see(query, row.table, version)
                found.append((mask, version if seen else None))
            if not found:
                return None
            if len({version for _, version in found}) == 1:
                fixed[place] = found[0][1]
            elif item in row.number and self._wrote(item, row, query.prepared.index):
                return None
            else:
                several[place] = found
        cuts = self._cuts(event, [(rows[place], found) for place, found in several.items()])
        ways = {chosen for _, _, chosen in cuts}
        if not ways or len(ways) > WAYS:
            return None
        all_of = [{**fixed, **dict(zip(several, chosen, strict=True))} for chosen in ways]
        return [[versions[place] for place in range(len(rows))] for versions in all_of]

    def _states(self, item: int, query: WholeQuery, row: RowStates, event: int) -> Iterable[tuple[int, Version]] | None:
        """The states of a row that a query may look at: what its own transaction left there before; None where that is
        not told."""
        if row.states is None:
            return None
        if item not in row.number or not self._wrote(item, row, query.prepared.index):
            return self._automata.at(row, event)
        ways = row.by_writer.get(row.number[item], ())
        later = any(step.writes and step.statement > query.prepared.index for step in row.steps[item])
        inserts = any(step.part.does is Does.INSERTS for step in row.steps[item])
        if item in row.vague or later or not all(one.touches for one in ways):
            return None
        doubles = inserts or row.table in self._programs.tables.doubled
        if doubles and not self._model.whole and not row.is_own(item):
            # beside its own row its view may have an older one of that key
            return None
        return [(one.before, one.new) for one in ways]

    def _wrote(self, item: int, row: RowStates, statement: int) -> bool:
        """Whether a transaction may have changed a row before a statement of its own."""
        return item in row.vague or any(step.writes and step.statement < statement for step in row.steps[item])

    def _cuts(
        self, event: int, rows: Sequence[tuple[RowStates, Sequence[tuple[int, Version]]]]
    ) -> set[tuple[int, int, tuple[Version, ...]]]:
        """What rows may be together at an event of what each may be there, by the writers before it: each commit is
        before the event for all rows, or for none. With the events before it and after it then. At most those that are
        possible, more where they are too many to be told apart; nothing where there are too many."""
        graph = self._events.graph
        begun = graph.before[event], graph.after[event]
        cuts: set[tuple[int, int, tuple[Version, ...]]] = {(*begun, ())}
        for row, states in rows:
            following: set[tuple[int, int, tuple[Version, ...]]] = set()
            before, after = self._automata.sides(row, event)
            apart = ((1 << len(row.writers)) - 1) & ~(before | after)
            events = [(1 << number, self._events.commit[row.writers[number]]) for number in ones(apart)]
            for mask, what in {(mask & apart, what) for mask, what in states}:
                early, late = begun
                for bit, commit in events:
                    if mask & bit:
                        early |= 1 << commit | graph.before[commit]
                    else:
                        late |= 1 << commit | graph.after[commit]
                for one, two, chosen in cuts:
                    if not (one | early) & (two | late):
                        following.add((one | early, two | late, (*chosen, what)))
            cuts = following
            self._facts.problem.budget.note(len(cuts))
            if len(cuts) > CUTS:
                # those of one choice are as one: less is known of them
                cuts = {(*begun, chosen) for _, _, chosen in cuts}
                if len(cuts) > WAYS:
                    return set()
        return cuts

    def _meet(self, reader: _Reader) -> None:
        """Refuse an answer whose rows were never as it has them at one moment."""
        masks = [(row, [(mask, None) for mask in masks]) for row, masks in reader.left]
        if len(masks) > 1 and not self._cuts(self._event(reader), masks):
            raise _Refuted(RowConflict(reader.answer, tuple((row.table, row.place) for row, _ in masks)))

    def _build(self, row: RowStates) -> bool:
        try:
            built = self._automata.build(row)
        except NoWay:
            raise _Refuted(RowConflict(rows=((row.table, row.place),))) from None
        if not built:
            return False
        where = ((row.table, row.place),)
        edges = list(self._automata.ordered(row))
        for first, second in self._automata.conflicts(row):
            edges.append((self._events.commit[first], self._events.snapshot[second]))
        for first, second in edges:
            self._order(first, second, None, where)
        return True

    def _order(
        self, first: int, second: int, reader: tuple[int, int] | None, rows: tuple[tuple[str, Key], ...]
    ) -> bool:
        graph = self._events.graph
        if graph.precedes(first, second):
            return False
        if graph.insert(first, second, "rows have them so") is None:
            raise _Refuted(RowConflict(reader, rows, circle=(first, second)))
        return True

    def _settle(self, reader: _Reader, step: Step, row: RowStates) -> bool:
        """Exclude the groups that a query cannot have found; ask for the one that is left. Whether anything is new."""
        rows = self._ways.groups(step)
        assert rows is not None
        (affected,) = step.told.summed[0].total
        gone = row.forbidden[reader.answer]
        open_: dict[Row, Share] = {one: (int(affected), one) for one in sorted(rows, key=repr)}
        open_ = {one: share for one, share in open_.items() if share not in gone}
        unseen = True
        if row.states is not None and reader.item not in row.vague:
            met = {
                one.new
                for one in row.by_writer.get(row.number[reader.item], ())
                for statement, _ in one.shares or ()
                if statement == reader.statement
            }
            unseen = any(isinstance(version, Vague) for version in met)
            later = any(one.statement > step.statement and one.writes for one in row.steps[reader.item])
            if later:
                unseen = True
            else:
                open_ = {one: share for one, share in open_.items() if one in met}
        if row.built != reader.settled:
            reader.signature = None
        reader.settled = row.built
        found = self._possible(reader)
        if found is None:
            return False
        possible, _, loose = found
        excluded: set[Share] = set()
        for one, share in open_.items():
            _, told = self._programs.giving(step, one)
            if narrowed(told, {number: set(shares) for number, shares in possible.items()}, loose) is not None:
                excluded.add(share)
        gone |= excluded
        left = [one for one, share in open_.items() if share not in excluded]
        if len(left) == 1 and not unseen:
            _, reader.told = self._programs.giving(step, left[0])
            reader.signature = None
        return bool(excluded)

    def _possible(
        self, reader: _Reader
    ) -> tuple[Possible, list[tuple[RowStates, list[tuple[int | None, Share]]]], bool] | None:
        """The shares that rows may have in an answer, as far as they are told, with the writers before, and whether
        other rows may have any; None where nothing changed since it was asked for."""
        possible: Possible = {}
        seen: list[tuple[RowStates, list[tuple[int | None, Share]]]] = []
        loose = reader.table in self._open and any(step.places is None for step in reader.steps)
        touched = reader.touched
        event = self._event(reader)
        graph = self._events.graph
        signature = (graph.before[event], graph.after[event], tuple([row.built for row, _ in touched]))
        if signature == reader.signature:
            return None
        reader.signature = signature
        self._facts.problem.budget.note(ROW * len(touched))
        for number, (row, steps) in enumerate(touched):
            found = self._shares(reader, row, steps, event)
            if found is None:
                found = self._shown_at(reader, row)
            if found is None:
                loose = True
                seen.append((row, []))
                continue
            seen.append((row, found))
            possible[number] = {share for _, share in found}
            if not possible[number]:
                versions = self._readable(row, reader, event)
                raise _Refuted(RowConflict(reader.answer, ((row.table, row.place),), versions))
        return possible, seen, loose

    def _read(self, reader: _Reader) -> bool:
        """What an answer forces; whether anything is new."""
        asked = self._possible(reader) if reader.told.something else None
        if asked is None:
            return False
        possible, seen, loose = asked
        event = self._event(reader)
        before = {number: set(shares) for number, shares in possible.items()}
        excess = narrowed(reader.told, possible, loose)
        if excess is not None:
            about = [seen[number][0] for number in excess.rows] or [row for row, _ in seen]
            versions = self._readable(about[0], reader, event) if len(seen) == 1 else ()
            places = tuple((row.table, row.place) for row in about)
            raise _Refuted(RowConflict(reader.answer, places, versions, (), excess))
        changed = False
        reader.left = []
        for number, (row, found) in enumerate(seen):
            if number not in possible:
                continue
            left = possible[number]
            gone = before[number] - left
            if not left:
                raise _Refuted(RowConflict(reader.answer, ((row.table, row.place),)))
            if gone and reader.item in row.number:
                row.forbidden[reader.answer] |= gone
                changed = True
            masks = [mask for mask, share in found if share in left]
            if gone and reader.steps[0].part.does is Does.READS:
                known = [mask for mask in masks if mask is not None]
                reader.left += [(row, known)] if len(known) == len(masks) else []
            if None not in masks and gone and row.splits:
                shown = event, reader.steps[0], frozenset(left)
                changed = changed or row.shown.get(reader.answer) != shown
                row.shown[reader.answer] = shown
            if None not in masks:
                changed = self._place(row, event, masks, reader.answer) or changed
        return changed

    def _readable(self, row: RowStates, reader: _Reader, event: int) -> tuple[tuple[int | None, Version], ...]:
        """The versions that a row may have had at an event, each with its writer where there is one."""
        if row.states is None or reader.item in row.number:
            return ()
        left: dict[Version, set[int]] = defaultdict(set)
        for ways in row.by_writer.values():
            for one in ways:
                if one.touches:
                    left[one.new].add(row.writers[one.writer])
        found: dict[tuple[int | None, Version], None] = {}
        for mask, version in self._automata.at(row, event):
            items = {item for item in left[version] if mask >> row.number[item] & 1}
            found[(next(iter(items)) if len(items) == 1 else None), version] = None
        return tuple(found)

    def _pick(self, reader: _Reader) -> bool:
        """No row is changed that is picked by its key, if one that comes before it was surely asked for, too."""
        step = reader.steps[0]
        assert step.part.least is not None
        asking, first = step.part.least
        asked = self._programs.beside(step, asking)
        rows = self._rows[reader.table]
        try:
            turn = sorted(rows, reverse=not first)
        except TypeError:
            return False
        blocked = changed = False
        if step.idle:
            return self._picks_none(reader, step, asked)
        for key in turn:
            row = rows[key]
            if row.states is None:
                continue
            place = row.number.get(reader.item)
            if blocked and place is not None and reader.item not in row.vague:
                shares = {
                    share
                    for one in row.by_writer.get(place, ())
                    for statement, share in one.shares or ()
                    if statement == reader.statement
                }
                gone = {share for share in shares if isinstance(share, tuple) and share[0]} - row.forbidden[
                    reader.answer
                ]
                row.forbidden[reader.answer] |= gone
                changed = changed or bool(gone)
            if not blocked and not self._wrote_before(reader, row):
                shown = [self._ways.stepped(asked, version) for version in self._at_asking(reader, row)]
                blocked = bool(shown) and all(
                    len(one) == 1 and isinstance(one[0][1], tuple) and one[0][1][1] is not None for one in shown
                )
        return changed

    def _wrote_before(self, reader: _Reader, row: RowStates) -> bool:
        """Whether an earlier statement of the same transaction may have changed the row, or left it otherwise."""
        return reader.item in row.number and self._wrote(reader.item, row, reader.statement)

    def _picks_none(self, reader: _Reader, step: Step, asked: Step) -> bool:
        """Nothing was changed: if whatever may have been asked for would have been, nothing can have been."""
        asked_for: RowStates | None = None
        for row in self._rows[reader.table].values():
            if row.states is None or reader.item in row.number:
                return False
            shown: set[bool] = set()
            for version in self._at_asking(reader, row):
                for _, share in self._ways.stepped(asked, version):
                    if not isinstance(share, tuple):
                        return False
                    shown.add(share[1] is not None)
                    changes = [one for _, one in self._ways.stepped(step, version) if one != NOTHING]
                    if share[1] is not None and not (
                        changes and all(isinstance(one, tuple) and one[0] for one in changes)
                    ):
                        return False
            if shown == {True} and asked_for is None:
                asked_for = row
        if asked_for is not None:
            raise _Refuted(RowConflict(reader.answer, ((asked_for.table, asked_for.place),)))
        return False

    def _at_asking(self, reader: _Reader, row: RowStates) -> Iterator[Version]:
        """The versions that a row may have had where the subqueries of a write looked at it."""
        assert row.states is not None
        item = reader.item
        if not self._model.acts:
            own = 1 << row.number[item] if item in row.number else 0
            yield from (version for _, version in self._automata.at(row, self._event(reader), own))
            return
        yield from self._automata.window(row, item, reader.statement)

    def _event(self, reader: _Reader) -> int:
        if reader.steps[0].part.does is Does.READS:
            return self._events.reading(self._model, reader.item, reader.statement)
        if self._model.acts or self._model.whole:
            return self._events.commit[reader.item]
        return self._events.snapshot[reader.item]

    def _place(self, row: RowStates, event: int, masks: Iterable[int | None], answer: tuple[int, int]) -> bool:
        """Order the reader's view among the writers that all states agree on."""
        every, some = -1, 0
        for mask in masks:
            assert mask is not None
            every &= mask
            some |= mask
        before, after = self._automata.sides(row, event)
        where = ((row.table, row.place),)
        changed = False
        whole = (1 << len(row.writers)) - 1
        for place in ones(every & whole & ~before):
            changed = self._order(self._events.commit[row.writers[place]], event, answer, where) or changed
        for place in ones(whole & ~some & ~after):
            changed = self._order(event, self._events.commit[row.writers[place]], answer, where) or changed
        return changed

    def _shares(
        self, reader: _Reader, row: RowStates, steps: list[Step], event: int
    ) -> list[tuple[int | None, Share]] | None:
        """The shares that a row may have in an answer, each with the writers before (None: not told); None where it may
        have any."""
        if row.states is None or len(steps) > 1:
            return None
        item, step = reader.item, steps[0]
        place = row.number.get(item)
        if step.idle and self._model.acts:
            # it met a version of each row that was there while it ran
            if place is not None and any(one.statement <= step.statement for one in row.steps[item]):
                return None
            shares = {
                share
                for one in self._automata.window(row, item, step.statement)
                for share in self._ways.shares(step, one)
            }
            return None if Vague.SHARE in shares else [(None, share) for share in shares if isinstance(share, tuple)]
        if place is None:
            if self._model.acts and step.part.does is Does.LOCKS:
                found = self._at(step, self._automata.at(row, self._events.commit[item]))
                met = {
                    share
                    for version in self._automata.window(row, item, step.statement)
                    for _, share in self._ways.stepped(step, version)
                }
                # one that is deleted and inserted anew while its lock is waited for may be passed over
                passed = self._model.views or NOTHING in met or Vague.SHARE in met
                return [*found, (None, NOTHING)] if passed and found is not None else found
            return self._at(step, self._automata.at(row, event))
        if item in row.vague:
            return None
        result: dict[tuple[int | None, Share], None] = {}
        views = False
        for one in row.by_writer.get(place, ()):
            assert one.shares is not None
            share = next((share for statement, share in one.shares if statement == reader.statement), Vague.SHARE)
            if share is Vague.SHARE:
                return None
            if share is Vague.VIEW:
                views = True
            else:
                assert isinstance(share, tuple)
                result[None, share] = None
        if views:
            found = self._at(step, self._automata.at(row, event, 1 << place))
            if found is None:
                return None
            result.update(dict.fromkeys(found))
        return list(result)

    def _shown_at(self, reader: _Reader, row: RowStates) -> list[tuple[int | None, Share]] | None:
        """The shares that a row of which nothing is told may have by its key alone; None where it may have any."""
        step = reader.steps[0]
        if len(reader.steps) > 1 or not step.part.keyed or step.part.does is not Does.READS:
            return None
        if reader.item in row.number:
            # beside its own row its view may have an older one of that key
            return None
        match reader.told.counted:
            case [Counted(other=0, what="row", low=low)]:
                pass
            case _:
                return None
        found: list[tuple[int | None, Share]] = [(None, NOTHING)]
        for shown in low:
            assert isinstance(shown, tuple)
            place = self._programs.tables.place(tuple([shown[column] for column in step.part.keyed]))
            if place is None:
                return None
            if place == row.place:
                found.append((None, (0, shown)))
        return found

    def _at(self, step: Step, states: Iterable[tuple[int, Version]]) -> list[tuple[int | None, Share]] | None:
        found: dict[tuple[int | None, Share], None] = {}
        for mask, version in states:
            for _, share in self._ways.stepped(step, version):
                if share is Vague.SHARE:
                    return None
                if isinstance(share, tuple):
                    found[mask, share] = None
        return list(found)

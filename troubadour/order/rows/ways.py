"""What a transaction that writes a row makes of a version of it, with its own answers.

All its steps on the row, in turn, as the level reads: the version that its commit meets, that of its snapshot, or the
newest one where it writes. What its answers exclude is left out. Does not know which versions there were.
"""

from __future__ import annotations

from collections.abc import Iterator, Set

from sql_semantics.view import Row
from troubadour.facts.rows.local import Does, Effect, Untold
from troubadour.facts.rows.programs import RowPrograms, Step
from troubadour.facts.rows.told import NOTHING
from troubadour.order.rows.events import Model
from troubadour.order.rows.states import Entry, Made, RowStates, Transition, Vague, Version


class Ways:
    """Runs the steps of writers on versions of rows."""

    def __init__(self, programs: RowPrograms, model: Model) -> None:
        self.programs = programs
        self._model = model
        self.whole = model.whole
        """Whether a transaction reads the version that its commit meets."""
        self.brings_back = model.follows_values
        """Whether a write that leaves a row as its snapshot has it may replace a newer version."""

    def of(
        self,
        row: RowStates,
        place: int,
        version: Version,
        views: frozenset[Version] | None,
    ) -> Iterator[Transition]:
        """What a writer may make of a version, but for the set of writers before it."""
        item = row.writers[place]

        def way(new: Version, shares: tuple[tuple[int, Entry], ...] | None, touches: bool) -> Transition:
            return Transition(0, version, place, new, shares, touches)

        if item in row.vague:
            yield way(Vague.VERSION, None, False)
            return
        if item in row.optional:
            yield way(version, None, False)
        found: dict[Made, None] = {}
        if self._model.acts:
            for new, shares, touches in self._acted(row, item, version):
                found[new, shares, touches] = None
        elif self._model.whole:
            found.update(dict.fromkeys(self._followed(row, item, version)))
        else:
            self._at_snapshot(row, item, version, views, found)
        for new, shares, touches in found:
            if item in row.optional:
                yield way(new, None, False)
            elif not any(share in row.forbidden.get((item, statement), ()) for statement, share in shares):
                yield way(new, shares, touches)

    def _at_snapshot(
        self,
        row: RowStates,
        item: int,
        version: Version,
        views: frozenset[Version] | None,
        found: dict[Made, None],
    ) -> None:
        """A snapshot that has the version where it is changed, and that is as it is where the row is left alone."""
        steps = row.steps[item]
        untold = tuple(dict.fromkeys((step.statement, Vague.SHARE) for step in steps if step.told.something))
        if version is None and (views is None or not views <= {None}):
            found.update(dict.fromkeys((new, untold, True) for new in self._inserted_anew(steps)))
        elif version in (None, Vague.VERSION) or views is None or version in views or Vague.VERSION in views:
            for new, shares, touches in self._followed(row, item, version):
                if touches if self._model.versions else new != version or isinstance(new, Vague):
                    found[new, shares, True] = None
        if self._model.versions and any(step.writes and not step.fits(NOTHING) for step in steps):
            return
        later = {step.statement for step in steps if step.part.conditional}
        # a row that its snapshot does not have may have been in its way
        blocked = bool(later) and all(step.part.conditional for step in steps if step.writes)
        if views is None or blocked:
            found[version, untold, False] = None
        if views is None:
            return
        for view in views:
            for new, shares, touches in self._followed(row, item, view):
                changes = touches if self._model.versions else new != view
                if not changes or isinstance(new, Vague):
                    # where values are compared, what a write leaves as its snapshot has it is written all the same
                    writes = touches and not self._model.versions and view is not None
                    told = tuple((n, Vague.SHARE if n in later else share) for n, share in shares)
                    found[view if writes else version, told, False] = None

    def _inserted_anew(self, steps: list[Step]) -> set[Version]:
        """What is left where the row that a snapshot may have is deleted since. An insert meets none; what the same
        transaction reads is the old row, perhaps beside its own."""
        writing = [step for step in steps if step.writes]
        if not self._model.versions and any(step.part.does is not Does.INSERTS for step in writing):
            return {Vague.VERSION}
        return {new for new, _, touches in self._make(writing, None) if touches}

    def _followed(self, row: RowStates, item: int, version: Version) -> list[Made]:
        """All steps of a writer in turn on one version and what they make of it; nothing where they would fail."""
        found = row.made.get((item, version))
        if found is None:
            found = row.made[item, version] = self._make(row.steps[item], version)
        return found

    def _make(self, steps: list[Step], version: Version) -> list[Made]:
        ways: list[tuple[Version, dict[int, Entry], bool]] = [(version, {}, False)]
        for step in steps:
            following: list[tuple[Version, dict[int, Entry], bool]] = []
            for current, shares, touched in ways:
                for after, share in self.stepped(step, current):
                    if isinstance(share, tuple) and not step.fits(share):
                        continue
                    wrote = not isinstance(share, tuple) or share[0] > 0 or after != current or after is Vague.VERSION
                    following.append((after, self._with(shares, step, share), touched or (step.writes and wrote)))
            ways = following
        return [(after, tuple(shares.items()), touched) for after, shares, touched in ways]

    def _with(self, shares: dict[int, Entry], step: Step, share: Entry) -> dict[int, Entry]:
        """Shares with one more."""
        if not step.told.something:
            return shares
        # of two parts of one statement on one row no share is told
        return {**shares, step.statement: Vague.SHARE if step.statement in shares else share}

    def shares(self, step: Step, version: Version) -> list[Entry]:
        """The shares that a row of a version may have in a step's answer; what changes it uncounted is any share."""
        return [
            Vague.SHARE if share == NOTHING and after != version else share
            for after, share in self.stepped(step, version)
        ]

    def stepped(self, step: Step, version: Version) -> list[tuple[Version, Entry]]:
        """What a step may make of a version, each with the row's share in its answer: nothing where it would fail."""
        if step.part.blurs and step.part.does is Does.INSERTS:
            return self._grouped(step, version)
        found = self._stepped(step, version)
        if step.part.blurs:
            # what is set is not told
            found = [(Vague.VERSION if share != NOTHING else after, share) for after, share in found]
        if step.part.maybe and (version, NOTHING) not in found:
            found.append((version, NOTHING))
        return found

    def groups(self, step: Step) -> Set[Row] | None:
        """The rows that an INSERT of a group may leave and that some answer shows; None where it may leave any."""
        if step.part.group is None or self.brings_back or not step.told.summed:
            return None
        (place,) = step.places or ((),)
        return self.programs.shown(step.part.table, place)

    def _grouped(self, step: Step, version: Version) -> list[tuple[Version, Entry]]:
        """What an INSERT of a group may make of a version: nothing else where there is no group."""
        rows = self.groups(step)
        if rows is None:
            return [(Vague.VERSION, Vague.SHARE), (version, NOTHING)]
        found: list[tuple[Version, Entry]] = [(version, NOTHING)]
        (affected,) = step.told.summed[0].total
        assert isinstance(affected, int)
        for row in sorted(rows, key=repr):
            given, _ = self.programs.giving(step, row)
            if isinstance(version, Vague):
                found.append((row, (affected, row)))
                continue
            effect = self.programs.effect(given, version)
            if effect is Untold.ANYTHING:
                return [(Vague.VERSION, Vague.SHARE), (version, NOTHING)]
            if isinstance(effect, Effect):
                found.append((effect.after, (effect.affected, row)))
        return [*found, *self._another(step, version, affected)]

    def _another(self, step: Step, version: Version, affected: int) -> list[tuple[Version, Entry]]:
        """The same where it leaves a row that no answer shows."""
        if isinstance(version, Vague):
            return [(Vague.UNSEEN, (affected, None))]
        if version is None:
            effect = self.programs.effect(step, None)
            return [(Vague.UNSEEN, Vague.SHARE if isinstance(effect, Untold) else (effect.affected, None))]
        key, shares = self.programs.tables.keys[step.part.table], set[Entry]()
        # all others are counted alike, but for one that is there already
        other = tuple([v if n in key else v + 1 if isinstance(v, int) else 0 for n, v in enumerate(version)])
        for given in (self.programs.giving(step, row)[0] for row in (other, version)):
            effect = self.programs.effect(given, version)
            if effect is Untold.FAILS and given.part.plain:
                return []
            shares.add(Vague.SHARE if isinstance(effect, Untold) else (effect.affected, None))
        return [(Vague.UNSEEN, share) for share in sorted(shares, key=repr)]

    def _stepped(self, step: Step, version: Version) -> list[tuple[Version, Entry]]:
        if version is Vague.UNSEEN:
            if step.part.does in (Does.READS, Does.LOCKS):
                if not step.part.whole or not step.told.exact:
                    return [(version, Vague.SHARE)]
                return [] if step.part.every else [(version, NOTHING)]
            version = Vague.VERSION
        if isinstance(version, Vague):
            # a plain INSERT met no row there
            effect = self.programs.effect(step, None) if step.part.plain else Untold.ANYTHING
            if isinstance(effect, Untold):
                return [(version, Vague.SHARE)]
            return [(effect.after, (effect.affected, effect.shown))]
        effect = self.programs.effect(step, version)
        if effect is Untold.FAILS:
            return []
        if isinstance(effect, Untold):
            return [(Vague.VERSION if step.part.does in (Does.CHANGES, Does.INSERTS) else version, Vague.SHARE)]
        return [(effect.after, (effect.affected, effect.shown))]

    def _acted(
        self, row: RowStates, item: int, version: Version
    ) -> Iterator[tuple[Version, tuple[tuple[int, Entry], ...], bool]]:
        """Steps in turn, those that write or lock on the newest version, which stays from the first that meets it on;
        before that a statement may as well have met another one, and passed the row over."""
        only, doubled = row.is_own(item), row.table in self.programs.tables.doubled
        ways: list[tuple[Version, dict[int, Entry], bool, bool]] = [(version, {}, False, False)]
        for step in row.steps[item]:
            following: list[tuple[Version, dict[int, Entry], bool, bool]] = []
            for current, shares, held, changed in ways:
                if step.part.does is Does.READS and not changed:
                    following.append((current, self._with(shares, step, Vague.VIEW), held, changed))
                    continue
                if step.part.does is Does.READS and not only and (version is None or doubled):
                    # beside its own row its view may have an older one of that key, which is deleted
                    following.append((current, self._with(shares, step, Vague.SHARE), held, changed))
                    continue
                found = self.stepped(step, current)
                passes = step.part.does is not Does.INSERTS or step.part.conditional
                if not held and passes and (current, NOTHING) not in found:
                    found.append((current, NOTHING))
                for after, share in found:
                    if isinstance(share, tuple) and not step.fits(share):
                        continue
                    meets = share != NOTHING or after != current
                    acts = meets and step.part.does is not Does.READS
                    now = changed or (acts and step.part.does is not Does.LOCKS)
                    following.append((after, self._with(shares, step, share), held or acts, now))
            ways = following
        for current, shares, _, changed in ways:
            yield current, tuple(shares.items()), changed

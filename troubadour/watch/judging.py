"""What is told of a log before its end: by the timestamps of its operations, or by audits of what is there so far.

Nothing of it is the verdict, which the audit of the whole log gives. Does not know where lines come from.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import astuple
from heapq import heappop, heappush, nsmallest
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from troubadour.formats.entries import BadEntry, RawHeader, RawTransaction
from troubadour.formats.objects.initial import ObjectInitial
from troubadour.formats.objects.read import ObjectLogReader, UsualLine
from troubadour.isolation.levels import Level
from troubadour.model.bounds import PARENT
from troubadour.model.breaches import SHOWN, Breach
from troubadour.model.log import TransactionId
from troubadour.model.objects import KINDS, MISSING, READ
from troubadour.timestamps.ledger import Flip, Ledger, Rules, Stamped
from troubadour.timestamps.store import Store
from troubadour.timestamps.visits import Cell, Done, Fault, Visit, registers, visits_of
from troubadour.watch.ids import Ids, Numbers

Event = dict[str, Any]
_KIND = {name: number for number, name in enumerate(KINDS)}
_KEPT = (
    "_latest", "_faults_told", "_conflicts_told", "_sessions_told", "_final", "_most", "transactions", "flips", "late",
)  # fmt: skip
"""What a run has to go on from beside its ledger: plain numbers, texts and collections of them."""
RECORDS = 600_000
"""Versions and reads that are kept in memory: about 200 MiB."""


class Suspects(NamedTuple):
    """At a level, how many violations there are of each axiom, the moment at which a transaction committed with which
    the first of them is there, and the keys of all that are so, and of those that are told, by the names of their
    objects."""

    level: str
    counts: dict[str, int]
    moment: int
    cells: set[tuple[str, Any]]


class ByTimestamps:
    """Transactions of operations, each judged as it comes (Aion, Algorithm 3). A read that is wrong is told when it has
    been so for `patience` seconds of `clock`, as what it read may still come; what cannot be mended, at once."""

    def __init__(
        self,
        header: RawHeader,
        level: Level,
        rules: Rules,
        patience: float,
        clock: Callable[[], float] = time.monotonic,
        there: Callable[[TransactionId], bool] = lambda _: True,
        records: int = RECORDS,
        folder: Path | None = None,
        *,
        lasts: bool = False,
        forgets: bool = False,
        sessions: int | None = None,
    ) -> None:
        """`there` tells whether an id stands in the lines so far; it is asked where that is likely. Beyond so many
        `records` what is old is moved to a file in `folder`, which `lasts` for another run; one that `forgets` drops
        it. Of so many `sessions` the transactions come, and those of each in its order (None: that is not known)."""
        assert header.objects is not None
        self._reader = ObjectLogReader(header)
        self._initial: ObjectInitial = self._reader.initial(header)
        self._types = tuple(header.objects.values())
        self._names = {name: number for number, name in enumerate(header.objects)}
        self._plain = all(one == "register" for one in self._types)
        self.level, self._patience, self._clock = level, patience, clock
        self.ledger = Ledger(self._types, tuple(header.objects), self._first, rules)
        self._pending: dict[tuple[int, Cell], float] = {}
        self._ids = Ids(there)
        self._snos = Numbers()
        self._records = self._most = records
        self._folder, self._forgets = folder, forgets
        self._store = Store(folder, lasts=True) if lasts else None
        self._sessions = sessions
        self._unsure: list[tuple[int, int, int, Cell]] = []
        """Reads that were wrong, with their moments, as a heap: what is before the watermark is so for good."""
        self._final: set[tuple[int, Cell]] = set()
        """Reads that were told to be wrong for good."""
        self._commits = array("q")
        """Of the transactions that are in memory."""
        self._intents: dict[TransactionId, RawTransaction] = {}
        self._latest: dict[str | int, int] = {}
        self._faults_told = self._conflicts_told = 0
        self._sessions_told: set[int] = set()
        self.transactions = self.flips = self.late = 0

    def add_initial(self, line: Any) -> None:
        """A line of initial values. Raises BadEntry."""
        if self.transactions or self._intents:
            raise BadEntry("rows after the first transaction")
        self._initial.add_line(line)

    def add(self, raw: RawTransaction) -> Iterator[Event]:
        """A transaction line. Raises BadEntry, and then nothing of it is taken."""
        self._reader.check(raw)
        if self._ids.any_of((raw.id,)) or (raw.kind == "intent" and raw.id in self._intents):
            raise BadEntry("a repeated id", transaction=raw.id)
        if raw.kind == "intent":
            self._intents[raw.id] = raw
            return
        session, sno = raw.session, raw.sno
        if session is not None and sno is not None and self._snos.came(session, sno):
            raise BadEntry(f"a repeated sno: session {session} had another number {sno}", transaction=raw.id)
        writes = any(one[0] != "r" for one in raw.ops or ())
        if raw.status == "committed" and writes:
            missing = self.level.missing_timestamp(raw.start, raw.commit)
            if missing is not None:
                raise BadEntry(f"it writes, and has no {missing!r} timestamp", transaction=raw.id)
        self._ids.update((raw.id,))
        if session is not None and sno is not None:
            self._snos.add(session, sno)
        yield from self._take(raw)

    def several(self, lines: list[bytes]) -> Iterator[Event] | None:
        """Transaction lines of the usual shape, all but aborted ones with both timestamps; None, with nothing taken,
        where any is another."""
        entries = self._reader.usual(lines)
        if entries is None:
            return None
        ids = {one.id for one in entries}
        if len(ids) != len(entries) or self._ids.any_of(ids):
            return None
        for one in entries:
            if ((one.start == MISSING or one.commit == MISSING) and one.status != "aborted") or (
                one.isolation is not None and one.isolation != self.level.name
            ):
                return None
        numbers = [(one.session, one.sno) for one in entries if one.session is not None and one.sno != MISSING]
        came, add = self._snos.came, self._snos.add
        if len(set(numbers)) != len(numbers) or any(came(*one) for one in numbers):
            return None
        for session, sno in numbers:
            add(session, sno)
        self._ids.update(ids)
        return self._all_of(entries)

    def at_once(self, lines: list[bytes], at: int) -> int:
        """How many lines, from one on, to take at once."""
        return self._reader.several(lines[at : at + 64])

    def _all_of(self, entries: list[UsualLine]) -> Iterator[Event]:
        kinds, names, plain = _KIND, self._names, self._plain
        for one in entries:
            if plain:
                visited = registers(names, one.ops)
            else:
                visited = visits_of(
                    self._types,
                    [
                        (kinds[kind], names[name], key, tuple(value) if type(value) is list else value, True)
                        for kind, name, key, value in one.ops
                    ],
                )
            start, commit = one.start, one.commit
            stamped = Stamped(
                self.transactions,
                one.id,
                one.status,
                one.session,
                None if one.sno == MISSING else one.sno,
                None if start == MISSING else start,
                None if commit == MISSING else commit,
                (),
            )
            told = self._judged(stamped, *visited)
            if told:
                yield from told

    def _take(self, raw: RawTransaction) -> Iterator[Event]:
        self._intents.pop(raw.id, None)
        number = self.transactions
        yield from self._judged(
            Stamped(number, raw.id, raw.status, raw.session, raw.sno, raw.start, raw.commit, ()),
            *visits_of(self._types, self._operations(raw)),
        )

    def _judged(self, one: Stamped, visits: dict[Cell, Visit], faults: list[Fault]) -> list[Event]:
        """Put a transaction among the others; what is to be told."""
        self.transactions += 1
        told: list[Event] = []
        ledger = self.ledger
        if one.commit is not None:
            self._commits.append(one.commit)
        if one.session is None:
            self._sessions = None
        elif one.commit is not None:
            before = self._latest.get(one.session)
            if before is None or before <= one.commit:
                self._latest[one.session] = one.commit
            else:
                self.late += 1
                told.append(
                    {
                        "kind": "late",
                        "transaction": one.id,
                        "session": one.session,
                        "commit": one.commit,
                        "after": before,
                    }
                )
        flips = ledger.take(one, visits, faults)
        if flips:
            told += self._flipped(one.number, flips)
        if (
            len(ledger.faults) > self._faults_told
            or len(ledger.conflicts) > self._conflicts_told
            or len(ledger.late) > len(self._sessions_told)
        ):
            told += self._certain()
        if ledger.records > self._most:
            self._settle()
        return told

    def _settle(self) -> None:
        """Move what is older than half of the transactions in memory to disk, or than more of them where these take
        more than they may."""
        if self._store is None:
            self._store = Store(self._folder, forgets=self._forgets)
        commits = np.frombuffer(self._commits, np.int64)
        if not len(commits):
            self._most = 2 * self.ledger.records
            return
        newest = int(len(commits) * self._records / (2 * max(self._records, self.ledger.records)))
        older = len(commits) - max(1, newest)
        horizon = int(np.partition(commits, older)[older])
        newer = commits[commits >= horizon]
        self.ledger.settle(horizon, len(newer), self._store)
        self._commits = array("q", newer.tobytes())
        # what hangs on something open stays
        self._most = max(self._records, 2 * self.ledger.records)

    def close(self) -> None:
        """Let go of what is on disk."""
        if self._store is not None:
            self._store.close()

    def _flipped(self, number: int, flips: list[Flip]) -> Iterator[Event]:
        now = self._clock()
        for flip in flips:
            at = flip.number, flip.cell
            since = self._pending.pop(at, None)
            if flip.wrong:
                self._pending[at] = now
                self._doubt(at)
            else:
                self._final.discard(at)
            if flip.wrong and flip.number == number:
                continue
            self.flips += 1
            name, key = self._named(flip.cell)
            yield {
                "kind": "flip",
                "transaction": self.ledger.of(flip.number)[0],
                "object": name,
                "key": key,
                "wrong": flip.wrong,
                "after": None if since is None else round(now - since, 4),
                "final": False,
            }

    def _certain(self) -> Iterator[Event]:
        """What no later transaction mends."""
        ledger = self.ledger
        for at in range(self._faults_told, len(ledger.faults)):
            yield _violation(ledger.of_fault(at), final=True)
        self._faults_told = len(ledger.faults)
        if len(ledger.conflicts) > self._conflicts_told:
            for conflict in [*ledger.conflicts][self._conflicts_told :]:
                yield _violation(ledger.of_conflict(conflict), final=True)
            self._conflicts_told = len(ledger.conflicts)
        if len(ledger.late) > len(self._sessions_told):
            for number in ledger.late.keys() - self._sessions_told:
                self._sessions_told.add(number)
                yield _violation(ledger.of_session(number), final=True)

    def _doubt(self, at: tuple[int, Cell]) -> None:
        """Look at a wrong read again when the watermark is behind it."""
        if self._sessions is not None:
            heappush(self._unsure, (self.ledger.moment(at[0]), at[0], len(self._unsure), at[1]))

    @property
    def watermark(self) -> int | None:
        """No transaction that comes commits before this: the least of the last commits of all sessions, as a session
        commits one after another. None where that is not known."""
        if self._sessions is None or len(self._latest) != self._sessions:
            return None
        return min(self._latest.values())

    def _settled(self) -> Iterator[Event]:
        """The reads that are wrong for good, as no transaction comes that commits before them."""
        mark = self.watermark if self._unsure else None
        while mark is not None and self._unsure and self._unsure[0][0] < mark:
            _, number, _, cell = heappop(self._unsure)
            at = number, cell
            if at in self.ledger.wrong and at not in self._final:
                self._final.add(at)
                self._pending.pop(at, None)
                yield _violation(self.ledger.of_read(*at), final=True)

    def due(self) -> Iterator[Event]:
        """The reads that are wrong for good, and those that have been so for long enough."""
        if self.ledger.forgotten:
            # what was not taken may explain them
            return
        yield from self._settled()
        if not self._pending:
            return
        now = self._clock()
        while self._pending:
            at, since = next(iter(self._pending.items()))
            if now - since < self._patience:
                break
            del self._pending[at]
            yield _violation(self.ledger.of_read(*at), final=False)

    def closed(self) -> Iterator[Event]:
        """Nothing more comes: what is wrong now is so for good. Intents whose transactions never came are of unknown
        outcome."""
        for raw in [*self._intents.values()]:
            yield from self._take(msgspec.structs.replace(raw, kind="transaction", status="unknown"))
        for at in self.ledger.wrong:
            if at not in self._final and not self.ledger.forgotten:
                yield _violation(self.ledger.of_read(*at), final=True)
        for number in self.ledger.gaps:
            yield _violation(self.ledger.of_gap(number), final=True)

    def suspects(self) -> Suspects | None:
        """What of the log tells its violations; None where nothing is wrong, or more is than what some keys tell."""
        ledger = self.ledger
        untimed = any(self._end(number) == MISSING for number, *_ in ledger.faults)
        if ledger.late or ledger.gaps or ledger.forgotten or untimed or not ledger.count():
            return None
        found = [(self._end(number), number, cell) for number, cell in ledger.wrong]
        found += [(self._end(number), number, cell) for number, cell, _, _ in ledger.faults]
        first = [*found, *((self._end(second), second, cell) for _, second, cell in ledger.conflicts)]
        found += [(self._end(one), one, cell) for one, _, cell in ledger.conflicts]
        moment = min(end for end, _, _ in first)
        cells = {cell for end, _, cell in first if end == moment}
        # violations that are told are in the order of their transactions
        shown = nsmallest(SHOWN, found, key=lambda one: one[:2])
        last = max(one[:2] for one in shown)
        cells |= {one[2] for one in found if one[:2] <= last}
        return Suspects(self.level.name, ledger.breaches(0).by_axiom, moment, {self._named(cell) for cell in cells})

    def _end(self, number: int) -> int:
        _, start, commit = self.ledger.of(number)
        end = start if commit is None else commit
        return MISSING if end is None else end

    def status(self) -> Event:
        """How far it is."""
        return {
            "transactions": self.transactions,
            "violations": self.ledger.count(),
            "pending": len(self._pending),
            "flips": self.flips,
            "late": self.late,
            "settled": 0 if self._store is None else self._store.parts,
            "reloaded": self.ledger.reloads,
            **({} if self._sessions is None else {"watermark": self.watermark}),
            **({"forgotten": self.ledger.forgotten} if self._forgets else {}),
        }

    def keep(self, about: Any) -> None:
        """What another run finds in the folder is what is here now; with something `about` it."""
        assert self._store is not None
        self._store.keep(
            {
                "about": about,
                "level": (self.level.name, astuple(self.ledger.rules)),
                "ledger": self.ledger.kept(),
                "commits": self._commits.tobytes(),
                "snos": self._snos.held,
                "intents": [msgspec.json.encode(raw) for raw in self._intents.values()],
                **{name: getattr(self, name) for name in _KEPT},
            }
        )

    def resume(self) -> Any:
        """Go on from what another run kept, of which the ids are still to be told (`know`): what it was about; None
        where there is nothing to go on from."""
        assert self._store is not None
        kept = self._store.kept()
        if kept is None or kept["level"] != (self.level.name, astuple(self.ledger.rules)):
            self.clear()
            return None
        self.ledger.resume(kept["ledger"], self._store)
        self._commits = array("q", kept["commits"])
        self._snos.held = kept["snos"]
        for raw in msgspec.json.decode(b"[%s]" % b",".join(kept["intents"]), type=list[RawTransaction]):
            self._intents[raw.id] = raw
        for name in _KEPT:
            setattr(self, name, kept[name])
        now = self._clock()
        for at in self.ledger.wrong:
            self._pending[at] = now
            self._doubt(at)
        return kept["about"]

    def clear(self) -> None:
        """Let go of what another run kept."""
        if self._store is not None:
            self._store.clear()

    def know_initial(self, line: Any) -> None:
        """A line of initial values that came before. Raises BadEntry."""
        self._initial.add_line(line)

    def know(self, ids: Iterable[TransactionId]) -> None:
        """These came before."""
        self._ids.update(ids)

    def _named(self, cell: Cell) -> tuple[str, Any]:
        return self.ledger.names[cell[0]], cell[1]

    def _operations(self, raw: RawTransaction) -> Iterator[Done]:
        for one in raw.ops or ():
            kind, subject = _KIND[one[0]], self._names[one[1]]
            known = len(one) == 4
            value = one[3] if known else None
            if kind == READ and known and self._types[subject] in ("list", "set"):
                value = tuple(value or ())
            yield kind, subject, one[2], value, known

    def _first(self, cell: Cell) -> Any:
        initial = self._initial
        if self._plain and not initial.rows and not initial.defaults:
            return None
        kind = self._types[cell[0]]
        name, key = self._named(cell)
        nothing: Any = {"register": None, "counter": 0}.get(kind, ())
        value = initial.rows.get(name, {}).get(key, initial.defaults.get(name, nothing))
        if kind == "set":
            return frozenset(value or ())
        return tuple(value or ()) if kind == "list" else value


def _violation(breach: Breach, *, final: bool) -> Event:
    return {"kind": "violation", **msgspec.to_builtins(breach), "final": final}


class ByAudits:
    """Any log: what is there so far is audited again and again, in a process of its own, never more than half of the
    time."""

    def __init__(self, paths: Callable[[], Sequence[Path]], options: Sequence[str], *, every: float = 1.0) -> None:
        self._paths, self._options, self._every = paths, tuple(options), every
        self._running: subprocess.Popen[bytes] | None = None
        self._out = Path()
        """Where the audit that runs prints: a file, which takes a verdict of any length."""
        self._begun = self._next = 0.0
        self._grown = False
        self._told: tuple[Any, Any] | None = None
        self.transactions = 0

    def grown(self, transactions: int) -> None:
        """So many transactions more are there."""
        self.transactions += transactions
        self._grown = True

    def look(self) -> Iterator[Event]:
        """Begin an audit where it is time, and tell what one has found."""
        now = time.monotonic()
        running = self._running
        if running is not None:
            if running.poll() is None:
                return
            out = self._printed()
            self._running = None
            self._next = now + max(self._every, now - self._begun)
            yield from self._found(out)
        if self._grown and now >= self._next:
            self._grown, self._begun = False, now
            command = [
                sys.executable,
                "-c",
                _AUDIT,
                "audit",
                *self._options,
                "--format",
                "json",
                *map(str, self._paths()),
            ]
            descriptor, name = tempfile.mkstemp(".json", "troubadour-watch-")
            self._out = Path(name)
            with os.fdopen(descriptor, "wb") as file:
                self._running = subprocess.Popen(
                    command,
                    stdout=file,
                    stderr=subprocess.DEVNULL,
                    stdin=subprocess.DEVNULL,
                    env={**os.environ, PARENT: str(os.getpid())},
                )

    def _printed(self) -> bytes:
        text = self._out.read_bytes()
        self._out.unlink()
        return text

    def _found(self, out: bytes) -> Iterator[Event]:
        try:
            verdict = json.loads(out)
        except ValueError:
            return  # what was there could not be used: the end tells
        found = (verdict["failing_transaction"], verdict["explanation"]) if verdict["verdict"] == "violation" else None
        if found == self._told:
            return
        if found is None:
            if verdict["verdict"] == "correct":
                yield {"kind": "flip", "transaction": self._told and self._told[0], "wrong": False, "final": False}
                self._told = None
            return
        self._told = found
        names = ("isolation", "failing_transaction", "core", "anomaly", "explanation", "verified_prefix")
        yield {"kind": "violation", **{name: verdict[name] for name in names}, "final": False}

    def close(self) -> None:
        """End an audit that is under way."""
        if self._running is not None:
            self._running.kill()
            self._running.wait()
            self._printed()
            self._running = None

    def status(self) -> Event:
        """How far it is."""
        return {"transactions": self.transactions, "violations": int(self._told is not None)}


_AUDIT = "from troubadour.cli.main import main; main()"

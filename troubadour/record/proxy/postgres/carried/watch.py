"""What the carrier has to know of a PostgreSQL connection while its bytes pass: whether anything is outstanding, in
which state its transaction is, whether that wrote, and whether the bytes at hand are its COMMIT. In front of such a
COMMIT a question of the proxy's own may go, whose answer is taken out of what the client gets.

Knows of messages their types and lengths, and no values. Where it loses count it asks no more. Does not know sockets.
"""

from __future__ import annotations

import struct

_LENGTH = struct.Struct(">I")
_ENDS = frozenset(b"QSF")
"""Messages of clients that are answered up to a ReadyForQuery."""
_WRITES = frozenset(b"IUDM")
"""First letters of INSERT, UPDATE, DELETE, MERGE: tags of what a commit time is wanted of."""
_TO_CLIENT = frozenset(b"NSA")
"""What a server sends at any time, and is the client's whatever was asked: notices, settings, notifications."""
_COMMITS = frozenset({b"commit", b"end", b"commit work", b"commit transaction", b"end transaction", b"end work"})
_SHORT = 400
"""A COMMIT's messages are shorter."""

IDLE, OPEN = ord("I"), ord("T")


def is_commit(text: bytes) -> bool:
    """Whether a statement's text is COMMIT and nothing else."""
    return len(text) < 40 and text.strip(b" \t\r\n;").lower() in _COMMITS


class Watch:
    """One connection, behind its startup: nothing is outstanding, and no transaction is open."""

    def __init__(self, question: bytes | None) -> None:
        """`question`: goes in front of a COMMIT, and is answered up to a ReadyForQuery; None: nothing is asked."""
        self._question = question
        self.status = IDLE
        self.wrote = False
        """Whether the open transaction did what a commit time is wanted of."""
        self.outstanding = 0
        """So many of the client's messages are to be answered by a ReadyForQuery."""
        self.asked = 0
        """So many of the proxy's own; what comes before their ReadyForQuery is the answer to these."""
        self.lost = False
        """Whether the count cannot be trusted any more."""
        self._sent = b""
        self._sent_passing = 0
        """Of the client's last message: what is not whole of its head; how much of its body is to come."""
        self._got = b""
        self._got_passing = 0
        self._passed = 0
        """The same of the server's; and how much of `_got` the client has."""
        self._synced = 0
        """Whether the client's last message that asks for a ReadyForQuery was a Sync, 1 or 0."""
        self._withheld: bytes | None = None
        """The error that the server answered to a question, which then is the answer to COMMIT."""
        self._commits: set[bytes] = set()
        """Names of prepared statements that are COMMIT."""

    def ask(self) -> None:
        """A question of the proxy's own goes to the server now, in front of all that comes later."""
        self.asked += 1

    def sent(self, data: bytes) -> bytes:
        """The client sent this. Gives what the proxy is to ask before it is passed on: a question, or nothing."""
        quiet = not (self.outstanding or self.asked or self._sent or self._sent_passing or self.lost)
        question = b""
        if (
            quiet
            and self.wrote
            and self.status == OPEN
            and self._question is not None
            and len(data) < _SHORT
            and self._commits_now(data)
        ):
            question = self._question
            self.asked += 1
        self._count(data)
        return question

    def _count(self, data: bytes) -> None:
        if self._sent_passing:
            if len(data) <= self._sent_passing:
                self._sent_passing -= len(data)
                return
            data = data[self._sent_passing :]
            self._sent_passing = 0
        if self._sent:
            data = self._sent + data
            self._sent = b""
        place, size, unpack = 0, len(data), _LENGTH.unpack_from
        while size - place >= 5:
            (length,) = unpack(data, place + 1)
            kind, end = data[place], place + 1 + length
            if kind in _ENDS:
                self.outstanding += 1
                self._synced = 1 if kind == 83 else 0
            elif kind == 80 and self._question is not None:  # Parse
                if end > size and length < _SHORT:
                    self._sent = data[place:]
                    return
                self._prepared(data, place + 5, end)
            if length < 4:
                self.lost = True
                return
            if end > size:
                self._sent_passing = end - size
                return
            place = end
        self._sent = data[place:]

    def _prepared(self, data: bytes, place: int, end: int) -> None:
        after = data.find(0, place, end)
        name = data[place:after]
        if is_commit(data[after + 1 : data.find(0, after + 1, end)]) and after >= 0:
            if len(self._commits) < 1000:
                self._commits.add(name)
        else:
            self._commits.discard(name)

    def _commits_now(self, data: bytes) -> bool:
        """Whether whole messages make a COMMIT, by itself."""
        place, size, found = 0, len(data), b""
        names, portal = self._commits, None
        while size - place >= 5:
            (length,) = _LENGTH.unpack_from(data, place + 1)
            kind, end = data[place : place + 1], place + 1 + length
            if length < 4 or end > size:
                return False
            body = data[place + 5 : end]
            found += kind
            if kind == b"Q":
                return end == size and len(found) == 1 and is_commit(body[:-1])
            if kind == b"P":
                name, _, rest = body.partition(b"\0")
                names = names - {name} | ({name} if is_commit(rest.partition(b"\0")[0]) else set())
            elif kind == b"B":
                portal, _, rest = body.partition(b"\0")
                if rest.partition(b"\0")[0] not in names:
                    return False
            elif kind == b"E":
                if portal is None or body.partition(b"\0")[0] != portal:
                    return False
            elif kind not in (b"D", b"C", b"H", b"S"):
                return False
            place = end
        return place == size and found.count(b"E") == 1 and found.endswith(b"S") and found.count(b"S") == 1

    def got(self, data: bytes) -> bytes:
        """The server sent this. Gives what of it is the client's."""
        if self._got_passing:
            if len(data) <= self._got_passing:
                self._got_passing -= len(data)
                return data
            place, self._got_passing = self._got_passing, 0
        else:
            place = 0
        if not (self.asked or self._withheld or self._got):
            self._follow(data, place)
            return data
        before, passed = data[:place], self._passed
        data = self._got + data[place:]
        self._got, self._passed = b"", 0
        if not (self.asked or self._withheld):
            self._follow(data, 0)
            return before + data[passed:]
        mine = [before]
        place = self._strip(data, passed, mine)
        if not (self.asked or self._withheld):
            self._follow(data, place)
            mine.append(data[place:])
        else:
            self._got = data[place:]
        return b"".join(mine)

    def _follow(self, data: bytes, place: int) -> None:
        """Messages from `place` on that are all the client's, and passed on as they come."""
        size, unpack = len(data), _LENGTH.unpack_from
        while size - place >= 5:
            (length,) = unpack(data, place + 1)
            kind = data[place]
            if kind == 90 or kind == 67:  # ReadyForQuery, CommandComplete: a byte of the body is wanted
                if size - place < 6:
                    break
                if kind == 90:
                    self._ready(data[place + 5])
                elif data[place + 5] in _WRITES:
                    self.wrote = True
            elif kind == 71 or kind == 87:  # a Sync that was sent together with COPY is passed over by the server
                self.lost = self.lost or self.outstanding > 1
                self.outstanding -= self._synced
            if length < 4:
                self.lost = True
                return
            place += 1 + length
        if place < size:
            self._got, self._passed = data[place:], size - place
        else:
            self._got_passing = place - size

    def _ready(self, status: int) -> None:
        self.status = status
        self.outstanding -= 1
        if status == IDLE:
            self.wrote = False
        if self.outstanding < 0:
            self.lost = True

    def _strip(self, data: bytes, passed: int, mine: list[bytes]) -> int:
        """Take the answers to questions out, as far as messages are whole; `passed`: so much of the first the client
        has already. Gives where it ended."""
        place, size = 0, len(data)
        while (self.asked or self._withheld) and size - place >= 5:
            (length,) = _LENGTH.unpack_from(data, place + 1)
            kind, end = data[place], place + 1 + length
            if length < 4:
                self.lost, self.asked, self._withheld = True, 0, None
                break
            if end > size:
                break
            one, place = data[place + passed : end], end
            passed = 0
            if self.asked:
                if kind == 90:
                    self.asked -= 1
                elif kind in _TO_CLIENT:
                    mine.append(one)
                elif kind == 69:  # ErrorResponse
                    self._withheld = one
            elif kind == 67:
                # the question failed, and with it the transaction: that is what COMMIT is answered, no mere ROLLBACK
                mine.append(self._withheld or one)
            else:
                if kind == 90:
                    self._withheld = None
                    self._ready(one[5])
                mine.append(one)
        if passed:  # what the client has already of a message that is not whole
            self._passed = passed
        return place

    def ended(self) -> bytes:
        """The server sends no more. Gives what was kept back and is the client's."""
        kept = (self._withheld or b"") + (b"" if self.asked else self._got[self._passed :])
        self._withheld, self._got, self._passed = None, b"", 0
        return kept

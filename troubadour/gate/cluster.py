"""Audits on the machines of a Dask cluster (`distributed`): the scheduler spreads them, and starts those of a worker
that died on another one.

A worker reads a log where it stands, if it finds the same bytes under the same path, as on one machine or in a shared
folder; else it is sent the bytes. Each audit is a process of its own there, too. Does not know a policy, nor what is
made of a verdict.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import tempfile
import threading
import time
import uuid
import warnings
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from importlib.metadata import version
from pathlib import Path
from urllib.parse import quote

from distributed import Client, KilledWorker
from distributed import TimeoutError as NotInTime
from distributed.comm.addressing import get_address_host

from sql_semantics.records import dataclass, replace
from troubadour.gate.audits import Ended, audit_by
from troubadour.gate.children import Children
from troubadour.gate.policy import Rules

CONNECTING = 10.0
"""Seconds for the scheduler to answer."""
ALONE = 30.0
"""Seconds without any worker, after which what still waits is given up."""
_LOOK = 0.5
"""Seconds between two looks at what is waited for."""
_CHUNK = 1 << 20
UNUSABLE, FAULT = 2, 70
"""Exit statuses of an audit."""


class ClusterError(Exception):
    """A cluster that cannot be used, in words (exit status 2)."""


@dataclass(frozen=True, slots=True)
class SentFile:
    """A file of a log: its path as the gate was given it and in full, and what it holds; `content`: that itself, where
    the worker does not find it."""

    name: str
    path: str
    size: int
    digest: bytes
    content: bytes | None = None


@dataclass(frozen=True, slots=True)
class Done:
    """What a worker sends back; `kept`: the files of the folder, by their names in it."""

    ended: Ended
    kept: Mapping[str, bytes]


class Cluster:
    """The cluster at an address, for the audits of one gate; a context manager."""

    def __init__(self, address: str) -> None:
        """Raises ClusterError where no scheduler answers, or its workers cannot audit."""
        logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what goes wrong is told with the log
        warnings.filterwarnings("ignore", "Sending large graph")  # a log that the workers do not have
        self._address = address
        self._gate = uuid.uuid4().hex
        self._ended = threading.Event()
        self._seen = time.monotonic()
        try:
            get_address_host(address)
            self._client = Client(address, timeout=CONNECTING, set_as_default=False)
        except (OSError, ValueError) as error:
            raise ClusterError(f"no scheduler answers at {address}: {_first(error)}") from error
        try:
            self.threads = self._threads()
        except BaseException:
            self._client.close()
            raise

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *error: object) -> None:
        with contextlib.suppress(OSError, ValueError):
            self._client.run(_end, self._gate, on_error="ignore")
        self._client.close()

    def _threads(self) -> int:
        """How many audits the workers run at a time. Raises ClusterError."""
        try:
            versions = self._client.run(_version, on_error="return")
        except OSError as error:
            raise ClusterError(f"the cluster at {self._address}: {_first(error)}") from error
        if not versions:
            raise ClusterError(f"the cluster at {self._address} has no workers")
        own = version("troubadour")
        for worker, found in versions.items():
            if isinstance(found, OSError):
                continue  # it was lost meanwhile
            if isinstance(found, Exception):
                raise ClusterError(f"the worker {worker} cannot audit: {_first(found)}")
            if found != own:
                raise ClusterError(f"the worker {worker} has troubadour {found}, and this is {own}")
        return sum(self._client.nthreads().values())

    def audit(self, files: Sequence[Path], rules: Rules, folder: Path | None) -> Ended | None:
        """See `Auditor`."""
        begun = time.monotonic()
        kept = None if folder is None else str(folder.absolute())
        try:
            sent = [_described(file) for file in files]
            done = self._done(sent, rules, kept)
            if done is None and not self._ended.is_set():
                done = self._done([_with_content(one) for one in sent], rules, kept)
        except OSError as error:
            return Ended(UNUSABLE, "", f"{error.filename}: {error.strerror}", time.monotonic() - begun)
        if self._ended.is_set():
            return None
        if done is None or isinstance(done, str):
            return Ended(FAULT, "", "", time.monotonic() - begun, done or "its files changed meanwhile")
        for name, content in done.kept.items():
            assert folder is not None
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return done.ended

    def end(self) -> None:
        """End all audits, and start no more."""
        self._ended.set()

    def _done(self, sent: Sequence[SentFile], rules: Rules, kept: str | None) -> Done | str | None:
        """What a worker made of an audit; None where it did not find the files, else why there is nothing."""
        future = self._client.submit(_audit, sent, rules, self._gate, kept=kept, pure=False)
        while not self._ended.is_set():
            try:
                found: Done | str | None = future.result(timeout=_LOOK)
            except NotInTime:
                if self._client.status == "running" and self._client.nthreads():
                    self._seen = time.monotonic()
                elif time.monotonic() - self._seen > ALONE:
                    return f"no worker was there for {ALONE:.0f} s"
            except KilledWorker:
                return "the workers that began it died, one after the other"
            except CancelledError as error:
                return f"the cluster lost it: {_first(error)}"
            else:
                return found
        future.cancel()
        return None


def _first(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _described(file: Path) -> SentFile:
    size, digest = _digest(file)
    return SentFile(str(file), str(file.absolute()), size, digest)


def _with_content(one: SentFile) -> SentFile:
    return SentFile(one.name, one.path, one.size, one.digest, Path(one.path).read_bytes())


def _digest(file: Path) -> tuple[int, bytes]:
    digest, size = hashlib.sha256(), 0
    with file.open("rb") as stream:
        while block := stream.read(_CHUNK):
            digest.update(block)
            size += len(block)
    return size, digest.digest()


# What follows runs on the workers.

_children: dict[str, Children] = {}
_gone: set[str] = set()
_lock = threading.Lock()


def _version() -> str:
    return version("troubadour")


def _end(gate: str) -> None:
    """End the audits of a gate that run here, and those that would begin."""
    with _lock:
        _gone.add(gate)
        children = _children.pop(gate, None)
    if children is not None:
        children.end()


def _audit(sent: Sequence[SentFile], rules: Rules, gate: str, *, kept: str | None) -> Done | str | None:
    """Audit a log; None where it is not here, else why it could not be done. `kept`: where what it leaves will be."""
    with _lock:
        if gate in _gone:
            return None
        children = _children.setdefault(gate, Children())
    try:
        with tempfile.TemporaryDirectory(prefix="troubadour-gate-") as place:
            files = [_path(one, Path(place) / str(number)) for number, one in enumerate(sent)]
            here = [file for file in files if file is not None]
            if len(here) < len(sent):
                return None
            folder = None if kept is None else Path(place) / "kept"
            if folder is not None:
                folder.mkdir()
            ended = audit_by(children.run, here, rules, folder)
            if ended is None:
                return None
            names = {str(path): one.name for path, one in zip(here, sent, strict=True)}
            told = replace(ended, out=_renamed(ended.out, names), errors=_renamed(ended.errors, names))
            if folder is None or kept is None:
                return Done(told, {})
            links = {_link(str(path), str(folder)): _link(one.path, kept) for path, one in zip(here, sent, strict=True)}
            return Done(told, dict(_files(folder, links)))
    except OSError as error:
        return f"a worker: {error}"


def _path(one: SentFile, place: Path) -> Path | None:
    """Where a file is, or is put; None where it is not here and was not sent."""
    if one.content is not None:
        place.mkdir()
        path = place / Path(one.name).name
        path.write_bytes(one.content)
        return path
    path = Path(one.path)
    try:
        same = path.stat().st_size == one.size and _digest(path) == (one.size, one.digest)
    except OSError:
        return None
    return path if same else None


def _link(file: str, folder: str) -> bytes:
    """As the pages of reports have it."""
    return quote(os.path.relpath(file, folder).replace(os.sep, "/")).encode()


def _files(folder: Path, links: Mapping[bytes, bytes]) -> Iterator[tuple[str, bytes]]:
    """The files in a folder, the links of pages to logs changed."""
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            content = file.read_bytes()
            if file.suffix == ".html":
                for before, after in links.items():
                    content = content.replace(before, after)
            yield file.relative_to(folder).as_posix(), content


def _renamed(text: str, names: Mapping[str, str]) -> str:
    """A text in which files have the names that the gate was given."""
    for path, name in names.items():
        text = text.replace(path, name)
    return text

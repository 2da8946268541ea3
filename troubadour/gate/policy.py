"""What a pipeline demands of its logs: ``troubadour.toml``, or ``[tool.troubadour]`` of pyproject.toml.

The table ``gate`` holds the rules for every log, ``gate.log`` those for logs whose path matches a pattern,
``gate.allow`` the findings that are known and until when they may stand. Does not know how a log is audited.
"""

from __future__ import annotations

import datetime
import tomllib
from collections.abc import Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import Annotated, Any

import msgspec

Positive = Annotated[float, msgspec.Meta(gt=0)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Count = Annotated[int, msgspec.Meta(ge=0)]


class PolicyError(Exception):
    """The policy cannot be used (exit status 2). The text is one line that names the file."""


class Rules(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab", omit_defaults=True):
    """What holds for a log; None: nothing is said.

    `isolation` is the level to audit at (else the log's own), `order` ``search`` or ``recorded``, `timeout` in seconds,
    `memory` in MiB, `min_transactions` how many transactions a log must have, `min_coverage` the part of its statements
    that must be judged, `allow_unjudged` the constructs that need not be, `allow_unobserved` whether a log passes of
    which nothing was observed, `allow_undecided` texts, one of which an undecided log's reason must contain for the log
    to pass.
    """

    isolation: str | None = None
    order: str | None = None
    timeout: Positive | None = None
    memory: Annotated[int, msgspec.Meta(gt=0)] | None = None
    min_transactions: Count | None = None
    min_coverage: Share | None = None
    allow_unjudged: tuple[str, ...] | None = None
    allow_unobserved: bool | None = None
    allow_undecided: tuple[str, ...] | None = None

    def over(self, weaker: Rules) -> Rules:
        """These rules, and where they say nothing the others."""
        said = {name: getattr(self, name) for name in self.__struct_fields__ if getattr(self, name) is not None}
        return msgspec.structs.replace(weaker, **said)


class Allowed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A finding that is known: its fingerprint, why it may stand, and the last day on which it may."""

    fingerprint: Annotated[str, msgspec.Meta(min_length=8)]
    expires: datetime.date
    reason: str


class _ForLogs(Rules, frozen=True, forbid_unknown_fields=True, rename="kebab", kw_only=True):
    path: str


class _Gate(Rules, frozen=True, forbid_unknown_fields=True, rename="kebab", kw_only=True):
    log: tuple[_ForLogs, ...] = ()
    allow: tuple[Allowed, ...] = ()


class Policy:
    """The rules of one file."""

    def __init__(self, gate: _Gate | None = None, source: Path | None = None, *, unobserved: bool = False) -> None:
        self._gate = gate or _Gate()
        self.source = source
        self._unobserved = Rules(allow_unobserved=True) if unobserved else Rules()

    def letting_unobserved_pass(self) -> Policy:
        """The same policy, by which logs pass of which nothing was observed."""
        return Policy(self._gate, self.source, unobserved=True)

    def rules(self, path: Path) -> Rules:
        """What holds for a log; of patterns that match, the last says most."""
        rules = Rules().over(Rules())
        rules = _plain(self._gate).over(rules)
        for one in self._gate.log:
            if fnmatch(path.as_posix(), one.path) or fnmatch(path.name, one.path):
                rules = _plain(one).over(rules)
        return self._unobserved.over(rules)

    def allowed(self, fingerprint: str, today: datetime.date) -> Allowed | None:
        """The entry that lets a finding stand today; one that has expired lets nothing stand."""
        for one in self._gate.allow:
            if fingerprint.startswith(one.fingerprint) and today <= one.expires:
                return one
        return None

    def expired(self, today: datetime.date) -> list[Allowed]:
        """The entries whose last day is over."""
        return [one for one in self._gate.allow if today > one.expires]


def _plain(rules: Rules) -> Rules:
    return Rules(**{name: getattr(rules, name) for name in Rules.__struct_fields__})


def read_policy(config: Path | None, folder: Path) -> Policy:
    """The policy of a file, or, where none is named, of ``troubadour.toml`` or pyproject.toml in a folder.

    Raises PolicyError where a file cannot be read or says what no rule knows.
    """
    if config is not None:
        return _read(config, table="tool" if config.name == "pyproject.toml" else None)
    own, shared = folder / "troubadour.toml", folder / "pyproject.toml"
    if own.exists():
        return _read(own, table=None)
    return _read(shared, table="tool") if shared.exists() else Policy()


def _read(path: Path, table: str | None) -> Policy:
    try:
        document: Mapping[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise PolicyError(f"{path}: {error}") from error
    if table is not None:
        document = document.get(table, {}).get("troubadour", {})
    unknown = sorted(set(document) - {"gate"})
    if unknown:
        raise PolicyError(f"{path}: unknown table {unknown[0]!r}; known is 'gate'")
    try:
        return Policy(msgspec.convert(document.get("gate", {}), _Gate), path)
    except msgspec.ValidationError as error:
        raise PolicyError(f"{path}: gate: {error}") from error

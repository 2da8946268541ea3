"""What a pipeline demands of its logs: ``troubadour.toml``, or ``[tool.troubadour]`` of pyproject.toml.

The table ``gate`` holds the rules for every log, ``gate.log`` those for logs whose path matches a pattern,
``gate.allow`` the findings that are known and until when they may stand. Does not know how a log is audited.
"""

from __future__ import annotations

import datetime
import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from fnmatch import fnmatch
from pathlib import Path
from typing import Annotated, Any

import msgspec

from troubadour.isolation.levels import LEVELS
from troubadour.isolation.naming import unknown_level

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
        raise PolicyError(f"{path}: unknown table [{unknown[0]}]; the rules stand in [gate]")
    table_of_rules = document.get("gate", {})
    _check_table(table_of_rules, path)
    try:
        return Policy(msgspec.convert(table_of_rules, _Gate), path)
    except msgspec.ValidationError as error:
        raise PolicyError(f"{path}: gate: {error}") from error


_TEXTS = 'a list of texts, as ["one", "two"]'
_EXPECTED = {
    "isolation": "the name of a level, a text",
    "order": '"search" or "recorded"',
    "timeout": "seconds, a number above 0",
    "memory": "MiB, a whole number above 0",
    "min-transactions": "a whole number, 0 or more",
    "min-coverage": "a part of the statements, a number from 0 to 1",
    "allow-unjudged": _TEXTS,
    "allow-unobserved": "true or false",
    "allow-undecided": _TEXTS,
    "path": "a pattern for paths, a text",
    "fingerprint": "a text of 8 characters or more, as the gate prints it",
    "expires": "a date without quotes, as 2027-01-31",
    "reason": "a text",
    "log": "a table for each pattern, [[gate.log]]",
    "allow": "a table for each finding, [[gate.allow]]",
}
"""What each rule takes, for people."""
_FIELDS: Mapping[str, type[msgspec.Struct]] = {"gate": _Gate, "gate.log": _ForLogs, "gate.allow": Allowed}


def _check_table(table: Any, path: Path, place: str = "gate", header: str = "[gate]") -> None:
    """Raises PolicyError with the first rule that cannot be used, as the file names it."""
    if not isinstance(table, dict):
        raise PolicyError(f"{path}: {place} is a table, {header}, and not {_shown(table)}")
    fields = {one.encode_name: one for one in msgspec.structs.fields(_FIELDS[place])}
    for name, value in table.items():
        if name not in fields:
            near = get_close_matches(name.replace("_", "-"), fields, 1)
            meant = f"did you mean {near[0]}?" if near else f"known are {', '.join(fields)}"
            raise PolicyError(f"{path}: {header} has no rule {name[:60]!r}; {meant}")
        if isinstance(value, list) and f"{place}.{name}" in _FIELDS:
            for number, one in enumerate(value, 1):
                _check_table(one, path, f"{place}.{name}", f"[[{place}.{name}]] number {number}")
            continue
        try:
            msgspec.convert(value, fields[name].type)
        except msgspec.ValidationError as error:
            raise PolicyError(f"{path}: {header}: {name} is {_EXPECTED[name]}, and not {_shown(value)}") from error
        if name == "isolation" and value not in LEVELS:
            raise PolicyError(f"{path}: {header}: isolation: {unknown_level(str(value), None)}")
        if name == "order" and value not in ("search", "recorded"):
            raise PolicyError(f"{path}: {header}: order is {_EXPECTED[name]}, and not {_shown(value)}")
    for name, field in fields.items():
        if field.required and name not in table:
            raise PolicyError(f"{path}: {header} lacks {name}: {_EXPECTED[name]}")


def _shown(value: object) -> str:
    """A value of TOML, in short."""
    text = repr(value) if not isinstance(value, bool) else str(value).lower()
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


_LONGEST = 60

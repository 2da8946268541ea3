"""SET, RESET and PRAGMA: what is set, to which value. Does not know which settings change what is modelled."""

from __future__ import annotations

from collections.abc import Sequence

from sql_semantics.errors import Unsupported
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.settings import keeps_meaning

_SCOPES = frozenset({"SESSION", "LOCAL"})


def judge_setting(words: Sequence[str], dialect: Dialect) -> tuple[str, bool]:
    """What is set, and whether that commits the transaction it stands in. Raises Unsupported, naming it, for what
    changes the meaning of statements."""
    first, rest = words[0].upper(), list(words[1:])
    if first == "PRAGMA":
        return _pragma(rest, dialect), False
    if first == "RESET":
        name = " ".join(rest).lower()
        if name not in ("all", "role") and not keeps_meaning(name, None, dialect):
            raise Unsupported(f"RESET {' '.join(rest)}")
        return f"RESET {name}", False
    commits = False
    for item in _items(rest, dialect):
        upper = [word.upper() for word in item]
        if dialect.rules.definitions.set_takes_several:
            item, upper = _without_scope(item, upper)
        elif upper[:1] and upper[0] in _SCOPES:
            item, upper = item[1:], upper[1:]
        if upper[:1] == ["CHARACTERISTICS"]:
            raise Unsupported("SET SESSION CHARACTERISTICS")
        name, value = _named(item, upper)
        if value is None or not keeps_meaning(name, value, dialect):
            raise Unsupported(f"SET {name}")
        if dialect.rules.definitions.set_takes_several and "(" in item:
            raise Unsupported(f"SET {name} to an expression")  # which may call a routine
        commits = commits or (name == "autocommit" and value.lower() in ("1", "on"))
    return f"SET {' '.join(rest[:1])}", commits


def _items(words: Sequence[str], dialect: Dialect) -> list[list[str]]:
    """MySQL sets several things at once; in the other products a comma belongs to the value."""
    if not dialect.rules.definitions.set_takes_several:
        return [list(words)]
    items: list[list[str]] = [[]]
    for word in words:
        if word == ",":
            items.append([])
        else:
            items[-1].append(word)
    return items


def _without_scope(item: list[str], upper: list[str]) -> tuple[list[str], list[str]]:
    """Without ``@@``, SESSION and their kin; a GLOBAL setting is another session's matter."""
    while upper[:1] and upper[0] in ("@@", "SESSION", "LOCAL", "."):
        item, upper = item[1:], upper[1:]
    if upper[:1] == ["GLOBAL"] or upper[:1] == ["PERSIST"]:
        raise Unsupported(f"SET {upper[0]}")
    if upper[:1] == ["@"]:
        raise Unsupported(f"user variable @{''.join(item[1:2])}")
    return item, upper


def _named(item: list[str], upper: list[str]) -> tuple[str, str | None]:
    """The setting's name and its value, as one text."""
    if upper[:2] == ["TIME", "ZONE"]:
        return "time zone", " ".join(item[2:]) or None
    if upper[:1] == ["NAMES"]:
        value = item[1] if len(item) == 2 else None
        if len(item) == 4 and upper[2] == "COLLATE":
            raise Unsupported("SET NAMES with COLLATE")
        return "names", value
    name, place = (item[0], 1) if item else ("", 0)
    while upper[place : place + 1] == ["."]:
        name, place = f"{name}.{''.join(item[place + 1 : place + 2])}", place + 2
    if upper[place : place + 1] not in (["="], ["TO"], [":="]):
        return " ".join(item[:2]).lower(), None
    return name.strip('"').lower(), " ".join(item[place + 1 :]) or None


def _pragma(words: list[str], dialect: Dialect) -> str:
    upper = [word.upper() for word in words]
    if upper[1:2] == ["."]:
        words, upper = words[2:], upper[2:]
    name = words[0].strip('"').lower() if words else ""
    value = " ".join(words[2:]).removesuffix(")").strip() if upper[1:2] in (["="], ["("]) else None
    if not keeps_meaning(name, value, dialect):
        raise Unsupported(f"PRAGMA {name}")
    return f"PRAGMA {name}"

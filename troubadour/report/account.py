"""The account of a violation in rows of text: its name, its chain, differences, losses, what to look at.

Does not know how it was found, nor widths and colours.
"""

from __future__ import annotations

from troubadour.model.account import ANSWERS_ALONE, Account, Difference, Lost
from troubadour.report.transactions import name

Rows = list[tuple[str, str]]

_LINES = 8
"""Rows of an answer that are shown of each kind."""


def brief_rows(account: Account) -> Rows:
    """Name and chain."""
    rows = [("anomaly", f"{account.title} ({account.aka}): {account.meaning}")]
    for number, edge in enumerate(account.chain, 1):
        rows.append(("chain" if number == 1 else "", f"{number}. {edge.text}"))
    if account.lost is not None:
        rows.append(("lost", lost_text(account.lost)))
    return rows


def full_rows(account: Account) -> Rows:
    """What is told beside name and chain: the answer row by row, assumptions, weaker levels, what to look at."""
    rows: Rows = []
    if account.difference is not None:
        rows += _difference_rows(account.difference)
    if account.basis is not None:
        rows.append(("read from", account.basis))
    if account.holds:
        rows.append(("holds", f"up to there the log is correct at {', '.join(account.holds)}"))
    elif account.anomaly != "garbage-read" and account.basis != ANSWERS_ALONE:  # which no level explains
        rows.append(("holds", "up to there no weaker level was found to hold"))
    rows.append(("assumed", "no client outside the log wrote to its tables"))
    rows += [("next" if number == 0 else "", text) for number, text in enumerate(account.next)]
    rows.append(("see", account.citation.replace("*", "")))
    return rows


def lost_text(lost: Lost) -> str:
    """How many commits are missing, after which."""
    one = lost.commits == 1
    count = f"{lost.commits:,} acknowledged commit{' is' if one else 's are'} missing"
    if lost.last_there is None:
        return f"{count}, {name(lost.first)} first; none before is there"
    after = "" if lost.moment is None else f" after {lost.moment}"
    there = f"the last one that is there is {name(lost.last_there)}, the first that is not {name(lost.first)}"
    return f"{count}{after}: {there}"


def _difference_rows(difference: Difference) -> Rows:
    where = f"statement {difference.statement + 1} of {name(difference.transaction)}, against {difference.against}"
    rows = [("answer", f"{where}: {difference.common:,} row{'' if difference.common == 1 else 's'} in common")]
    for sign, lines in (("- expected", difference.missing), ("+ observed", difference.extra)):
        rows += [("", f"{sign} {line}") for line in lines[:_LINES]]
        if len(lines) > _LINES:
            rows.append(("", f"{sign} and {len(lines) - _LINES:,} more rows"))
    return rows

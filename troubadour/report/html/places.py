"""Links from a page to the lines of the log that it tells of. Does not know what stands there."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from pathlib import Path
from urllib.parse import quote

from troubadour.formats.place import places_of
from troubadour.model.log import TransactionId
from troubadour.report.html.inert import inert
from troubadour.report.html.page import Link


def links_to(
    paths: Sequence[str | Path], transactions: Collection[TransactionId], page: Path
) -> dict[TransactionId, Link]:
    """The line of each of these transactions, as a link that is relative to the page."""
    found = {}
    for one, place in places_of(paths, transactions).items():
        try:
            file = os.path.relpath(place.path, page.parent)
        except ValueError:  # on another drive
            continue
        target = f"./{quote(file.replace(os.sep, '/'))}#L{place.line}"
        found[one] = Link(inert(f"{Path(place.path).name}, line {place.line}", 120), target)
    return found

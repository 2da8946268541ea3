"""``troubadour audit --strongest``: every level as text, JSON or a picture. Does not know how a verdict is reached."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from sql_semantics.errors import Unsupported
from troubadour.audit.driver import Options, audit
from troubadour.audit.strongest import Standing, strongest, survey_levels
from troubadour.cli.common import emit, library_of, progress_bar, refuse, refuse_log
from troubadour.model.log import Log, LogError
from troubadour.model.verdict import Status, Verdict
from troubadour.model.visible import visible
from troubadour.report.lattice import lattice_svg, lattice_text

_EXIT = {Status.CORRECT: 0, Status.VIOLATION: 1, Status.UNDECIDED: 3}


def _left_of(timeout: float | None) -> Callable[[], float] | None:
    """The seconds that are left of a time limit, from now on."""
    if timeout is None:
        return None
    end = time.monotonic() + timeout
    return lambda: end - time.monotonic()


def tell_levels(
    log: Log,
    paths: Sequence[str],
    options: Options,
    form: str,
    picture: Path | None,
    first: Callable[[str], Verdict | None],
) -> int:
    """Print what every level of a log, read from `paths`, comes to; the exit status. `first` is asked of a level before
    the general audit is."""
    try:
        library = library_of(log)
        with progress_bar() as report:

            def decide(level: str, left: float) -> Verdict:
                found = first(level)
                return found or audit(log, library, replace(options, isolation=level, timeout=left), report)

            standings = survey_levels(log, decide, left=_left_of(options.timeout))
    except LogError as error:
        refuse_log(error, paths)
    except Unsupported as error:
        refuse(f"not modelled: {error.construct}")
    statuses = {name: one.status for name, one in standings.items()}
    if picture is not None:
        try:
            picture.write_text(lattice_svg(statuses), encoding="utf-8")
        except OSError as error:
            refuse(f"{picture}: {error.strerror}")
    asked = options.isolation or log.header.isolation
    emit(_json(standings, asked) if form == "json" else _text(standings))
    if asked in statuses:
        return _EXIT[statuses[asked]]
    if Status.CORRECT in statuses.values():
        return 0
    return 3 if Status.UNDECIDED in statuses.values() else 1


def _text(standings: Mapping[str, Standing]) -> str:
    holding = strongest(dict(standings))
    lines = [f"STRONGEST  {', '.join(holding) or 'none holds'}", ""]
    lines.append(lattice_text({name: one.status for name, one in standings.items()}))
    told = [one for one in standings.values() if one.verdict is not None and one.status is not Status.CORRECT]
    for one in told:
        assert one.verdict is not None
        lines += ["", f"{one.level}: {one.verdict.explanation or one.verdict.reason}"]
    return "\n".join(lines)


def _json(standings: Mapping[str, Standing], asked: str | None) -> str:
    levels = {
        name: {
            "verdict": one.status.value,
            "by": one.by,
            "because": None if one.verdict is None else one.verdict.explanation or one.verdict.reason,
            "failing_transaction": None if one.verdict is None else one.verdict.failing_transaction,
            "core": None if one.verdict is None or one.verdict.core is None else list(one.verdict.core),
        }
        for name, one in standings.items()
    }
    document = {"isolation": asked, "strongest": list(strongest(dict(standings))), "levels": levels}
    return visible(msgspec.json.encode(document).decode())

"""Histories of other checkers as logs, for `log import --from`, `audit --from` and `verify --from`.

Does not know a format, nor what becomes of a log.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from troubadour.cli.common import Decorated, emit, refuse
from troubadour.model.log import LogError

NAMES = ("elle", "chronos", "dbcop", "polysi", "cobra", "awdit")
"""As `troubadour.formats.histories.FORMATS`, which is not imported before it is needed."""


def from_option(command: Decorated) -> Decorated:
    """``--from FORMAT``, the parameter `source`."""
    option = click.option(
        "--from",
        "source",
        type=click.Choice(NAMES),
        metavar="FORMAT",
        help="Read a history of another checker: elle (Jepsen's EDN or JSON), chronos, dbcop, polysi (Plume's and "
        "IsoVista's too), cobra (a folder), awdit (docs/histories.md).",
    )
    return option(command)


def import_file(form: str, path: Path, out: Path) -> str:
    """Write one history as a log; what was written, in words. Raises LogError, ValueError and OSError; nothing stays
    of what could not be written whole."""
    from troubadour.formats import LogWriter
    from troubadour.formats.histories import read_history

    imported = read_history(path, form)
    counts: Counter[str] = Counter()
    try:
        with LogWriter(out, imported.header) as writer:
            for line in imported.transactions:
                writer.transaction(line)
                counts[line["status"]] += 1
    except (LogError, ValueError, OSError):
        out.unlink(missing_ok=True)
        raise
    told = ", ".join(f"{counts[status]:,} {status}" for status in ("committed", "aborted", "unknown") if counts[status])
    parts = [f"{told or 'no transactions'}", *filter(None, [imported.told]), *imported.notes]
    return "; ".join(parts)


def import_histories(form: str, paths: Sequence[str], out: Path) -> None:
    """`log import --from`: one file (of Cobra's: a folder), or a folder of Jepsen's, whose logs go to the folder
    `out`."""
    path = _only(paths)
    with _refused(path):
        if form == "elle" and path.is_dir():
            _import_store(path, out)
        else:
            emit(f"{out}: {import_file(form, path, out)}")


def _only(paths: Sequence[str]) -> Path:
    if len(paths) != 1:
        refuse("--from: one FILE at a time")
    return Path(paths[0])


@contextmanager
def _refused(path: Path) -> Iterator[None]:
    """Ends with exit status 2 and one line that names the file where it cannot be read, or its log not be written."""
    try:
        yield
    except (LogError, ValueError) as error:
        refuse(str(error) if str(path) in str(error) else f"{path}: {error}")
    except OSError as error:
        refuse(f"{error.filename or path}: {error.strerror}")


def _import_store(store: Path, out: Path) -> None:
    """Each history of a Jepsen's `store` that can be read; ends with exit status 2 where one cannot."""
    from troubadour.formats.histories.jepsen import histories_in

    found = list(histories_in(store))
    if not found:
        refuse(f"{store}: no history.edn or history.json in it")
    out.mkdir(parents=True, exist_ok=True)
    refused = []
    for each in found:
        log = out / f"{each.slug}.jsonl"
        try:
            emit(f"{log}: test {each.test}; {import_file('elle', each.path, log)}")
        except (LogError, ValueError) as error:
            refused.append(str(error))
    for text in refused:
        click.echo(f"troubadour: {text}", err=True)
    if refused:
        refuse(f"{store}: {len(refused)} of {len(found)} histories could not be imported")


@contextmanager
def as_logs(form: str | None, paths: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """The paths of logs: those given, or, of another format, of a log made of the one file for as long as it is
    needed. Ends with exit status 2 where it cannot be read."""
    if form is None:
        yield tuple(paths)
        return
    path = _only(paths)
    import tempfile  # most logs are read where they stand

    with tempfile.TemporaryDirectory(prefix="troubadour-import-") as folder:
        out = Path(folder) / f"{path.name}.jsonl"
        with _refused(path):
            import_file(form, path, out)
        yield (str(out),)

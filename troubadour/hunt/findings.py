"""What is found: told apart by fingerprints, known or new, each in a folder of its own.

Does not know how a finding came about.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict
from importlib import resources
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sql_semantics.records import dataclass
from troubadour.hunt.case import Case
from troubadour.hunt.generate.schemas import sql_literal
from troubadour.hunt.judge import Judged, shape
from troubadour.hunt.schedule import Ran, script


@dataclass(frozen=True, slots=True)
class Found:
    """`kind`: violation, crash, internal error, disagreement, lost commit, or *fault* of this program. `statement`: the
    one that it is about, where it is about one. `rate`: how often the small case showed it again, of how many.
    `small`: nothing more could be taken away."""

    kind: str
    engine: str
    dbms: str
    level: str
    seed: int
    said: str
    statement: str = ""
    anomaly: str = ""
    rate: str = ""
    small: bool = False

    @property
    def fingerprint(self) -> str:
        """The same for findings that are taken to be one."""
        product = self.dbms.split()[0]
        said = "" if self.kind == "violation" else shape(self.said.splitlines()[0] if self.said else "")[:120]
        about = shape(self.statement) or self.anomaly
        text = "/".join((product, self.kind, said, about))
        return hashlib.sha256(text.encode()).hexdigest()[:10]


@dataclass(frozen=True, slots=True)
class Known:
    """A fault or a freedom of a product that is known: patterns of `dbms`, of the statement that is accused, of all
    definitions and statements of the case, and of what was said; whether one session shows it (None: either way); why,
    and a link or a page that tells. `cure`: a statement after which the product does not go wrong so, where there is
    one. Only a case that was made small to the end is known: then what is named here is needed for it."""

    dbms: str
    statement: str
    sql: str
    said: str
    alone: bool | None
    why: str
    link: str
    cure: str = ""

    def fits(self, found: Found, case: Case) -> bool:
        """Whether a finding is this one."""
        if self.alone is not None and self.alone != (len(case.sessions) == 1):
            return False
        steps = [str(step.text) for step in case.steps]
        # the tables are read at the end, and tell of the statements before
        accused = found.statement if found.statement in steps else "\n".join(steps)
        defined = [*(table.ddl() for table in case.tables), *case.extra]
        texts = (found.dbms, accused, "\n".join([*defined, *steps]), f"{found.kind}: {found.said}")
        patterns = (self.dbms, self.statement, self.sql, self.said)
        return all(re.search(pattern, text, re.IGNORECASE) for pattern, text in zip(patterns, texts, strict=True))


def known_ones() -> tuple[Known, ...]:
    """The list that comes with this program."""
    text = resources.files("troubadour.hunt").joinpath("known.json").read_text(encoding="utf-8")
    return tuple(Known(**item) for item in json.loads(text))


def known_as(found: Found, case: Case, known: tuple[Known, ...], cured: Callable[[Case, str], bool]) -> Known | None:
    """Which known one a finding is. `cured`: whether a case is right after a statement."""
    fitting = (item for item in known if item.fits(found, case)) if found.small else ()
    return next((item for item in fitting if not item.cure or cured(case, item.cure)), None)


def write(folder: Path, found: Found, case: Case, ran: Ran, judged: Judged | None, known: Known | None) -> None:
    """Write the folder of a finding: ``log.jsonl``, ``case.sql``, ``script.txt``, ``report.txt``, ``finding.json``.
    Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    ran.write(folder / "log.jsonl")
    (folder / "script.txt").write_text(script(ran.sent), encoding="utf-8")
    (folder / "case.sql").write_text(as_sql(case, str(ran.header["dialect"])), encoding="utf-8")
    told: dict[str, Any] = {**asdict(found), "fingerprint": found.fingerprint, "troubadour": version("troubadour")}
    told["known"] = None if known is None else {"why": known.why, "link": known.link}
    (folder / "finding.json").write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    (folder / "report.txt").write_text(_report(found, judged, folder), encoding="utf-8", errors="backslashreplace")


def as_sql(case: Case, dialect: str) -> str:
    """Tables, rows and statements; with several sessions, each line says in a comment which one sends it."""
    lines = [f"{table.ddl()};" for table in case.tables]
    lines += [f"{text};" for text in case.extra]
    for table in case.tables:
        for row in table.rows:
            values = ", ".join(sql_literal(value, dialect) for value in row)
            lines.append(f"INSERT INTO {table.name} ({', '.join(table.filled())}) VALUES ({values});")
    several = len(case.sessions) > 1
    lines += [f"{step.text};" + (f" -- session {step.session}" if several else "") for step in case.steps]
    return "\n".join(lines) + "\n"


def _report(found: Found, judged: Judged | None, folder: Path) -> str:
    head = f"{found.kind} of {found.dbms} at {found.level}, seed {found.seed}\n\n{found.said}\n"
    if judged is None or judged.verdict is None:
        return head
    from troubadour.formats import read_log
    from troubadour.report.html.page import render_html
    from troubadour.report.text import render_text

    log = read_log([folder / "log.jsonl"])
    page = render_html(judged.verdict, log)
    (folder / "report.html").write_text(page, encoding="utf-8", errors="backslashreplace")
    return head + "\n" + render_text(judged.verdict, log, color=False, explain="full")


def read(folder: Path) -> Mapping[str, Any]:
    """What `write` wrote of a finding."""
    found: Mapping[str, Any] = json.loads((folder / "finding.json").read_text(encoding="utf-8"))
    return found

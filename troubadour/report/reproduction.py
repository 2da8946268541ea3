"""The core of a violation as something to run: a schedule as JSON, a spec for PostgreSQL's isolation tester, and a
plain script for two or more terminals.

Does not know how a schedule is run, nor whether its finding comes again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from sql_semantics.errors import Unsupported
from sql_semantics.frontend.rendering import quoted, render_statement
from sql_semantics.library import SqlLibrary
from sql_semantics.products import PRODUCTS
from troubadour.formats.write import write_log
from troubadour.model.account import Sight
from troubadour.model.log import Header, Log, Statement, Transaction
from troubadour.model.schedule import Schedule, Sent
from troubadour.model.verdict import Verdict
from troubadour.model.visible import visible

_SQL_LEVELS = (
    ("serializable", "SERIALIZABLE"),
    ("sqlite", "SERIALIZABLE"),
    ("snapshot", "REPEATABLE READ"),
    ("repeatable-read", "REPEATABLE READ"),
    ("prefix", "REPEATABLE READ"),
    ("duckdb", "REPEATABLE READ"),
)
"""What SQL calls the levels whose names end so; all others are READ COMMITTED."""
_CLIENTS = {"postgres": "psql", "mysql": "mariadb", "sqlite": "sqlite3", "duckdb": "duckdb"}


def schedule_of(verdict: Verdict, log: Log, library: SqlLibrary) -> Schedule | None:
    """The core and the chain as a schedule; None where no explanation says which rows were there before. Raises
    Unsupported for a statement that cannot be written with its parameters in it."""
    account = verdict.account
    if account is None or account.before is None:
        return None
    wanted = {*(verdict.core or ()), verdict.failing_transaction}
    wanted |= {one for edge in account.chain for one in (edge.earlier, edge.later)}
    core = {one.id for one in log.transactions if one.id in wanted}
    wanted |= set(account.beside)
    members = [one for one in log.transactions if one.id in wanted]
    names = {one.id: f"s{number}" for number, one in enumerate(members, 1)}
    steps = tuple(
        sent_of(names[one.id], statement, library)
        if statement is not None
        else Sent(names[one.id], "COMMIT" if one.status != "aborted" else "ROLLBACK")
        for one, statement in _in_order(list(_in_time(members)), account.sights)
    )
    isolation = level_in_sql(_recorded_at(log, members) or verdict.isolation)
    levels = {names[one.id]: level_in_sql(own) for one in members if (own := _recorded_at(log, [one])) is not None}
    cascade = library.dialect.rules.running.drops_cascade
    tables = [quoted(table, library.dialect) for table in library.catalog.tables]
    return Schedule(
        library.dialect.name,
        isolation,
        (*log.header.schema, *log.header.procedures, *account.before),
        tuple(f"DROP TABLE {table}{' CASCADE' if cascade else ''}" for table in tables),
        tuple(names.values()),
        steps,
        account.title,
        tuple(names[one.id] for one in members if one.id in core),
        levels={session: level for session, level in levels.items() if level != isolation},
    )


def _recorded_at(log: Log, members: Sequence[Transaction]) -> str | None:
    """The level at which the transactions ran, where the log says so."""
    return next((one.isolation for one in members if one.isolation is not None), log.header.isolation)


def level_in_sql(isolation: str) -> str:
    """What SQL calls a level."""
    return next((sql for ending, sql in _SQL_LEVELS if isolation.endswith(ending)), "READ COMMITTED")


def sent_of(session: str, statement: Statement, library: SqlLibrary) -> Sent:
    """A statement as a step, with its parameters in it. Raises Unsupported for one that cannot be written so."""
    results = statement.results
    return Sent(
        session,
        render_statement(statement.sql, statement.params, library.dialect),
        tuple(results[0].rows) if results is not None and len(results) == 1 else None,
        statement.affected if results is None else None,
        None if statement.error is None else statement.error.sqlstate,
    )


def _in_time(members: Sequence[Transaction]) -> Iterator[tuple[Transaction, Statement | None]]:
    """Statements, and None for the end of a transaction, as they were sent: by the clients' times where all have them,
    else by snapshots and commits, else in turns, all ends last."""
    steps: list[tuple[tuple[int, ...], Transaction, Statement | None]] = []
    sent = all(statement.invoked is not None for one in members for statement in one.statements)
    stamped = all(one.start is not None and one.commit is not None for one in members)
    for number, one in enumerate(members):
        for turn, statement in enumerate(one.statements):
            if sent:
                place: tuple[int, ...] = (statement.invoked or 0, number, turn)
            else:
                place = (one.start or 0, 1, turn, number) if stamped else (turn, number)
            steps.append((place, one, statement))
        if sent:
            end = one.end.invoked if one.end is not None and one.end.invoked is not None else one.returned
            last = max((statement.invoked or 0 for statement in one.statements), default=0)
            place = (max(end or 0, last), number, len(one.statements))
        else:
            place = (one.commit or 0, 0, 0, number) if stamped else (1 << 30, number)
        steps.append((place, one, None))
    return ((one, statement) for _, one, statement in sorted(steps, key=lambda step: step[0]))


Step = tuple[Transaction, Statement | None]


def _in_order(steps: list[Step], sights: Sequence[Sight]) -> list[Step]:
    """Steps in time, but so that each statement comes after the commits that it sees and before those it does not:
    clients' times tell only roughly when a server did something."""
    place = {(one.id, None if statement is None else one.statements.index(statement)): number
             for number, (one, statement) in enumerate(steps)}  # fmt: skip
    before: dict[int, set[int]] = {number: set() for number in range(len(steps))}
    latest: dict[object, int] = {}
    for number, (one, _) in enumerate(steps):
        if one.id in latest:
            before[number].add(latest[one.id])
        latest[one.id] = number
    for sight in sights:
        read, end = place.get((sight.reader, sight.statement)), place.get((sight.writer, None))
        if read is not None and end is not None:
            before[read if sight.seen else end].add(end if sight.seen else read)
    found: list[int] = []
    open_ = list(range(len(steps)))
    while open_:
        ready = next((number for number in open_ if before[number] <= set(found)), None)
        if ready is None:
            return steps  # no order of steps is like that: the explanation took rows of several states
        open_.remove(ready)
        found.append(ready)
    return [steps[number] for number in found]


def core_log(verdict: Verdict, log: Log) -> tuple[Header, list[Transaction]] | None:
    """The core, the chain and what stands beside as a log of its own, which begins with the rows that were there
    before; None where these are not known."""
    account = verdict.account
    if account is None or account.initial is None:
        return None
    wanted = {*(verdict.core or ()), verdict.failing_transaction, *account.beside}
    wanted |= {one for edge in account.chain for one in (edge.earlier, edge.later)}
    header = msgspec.structs.replace(
        log.header, initial=account.initial, initial_unknown=(), gaps=(), log_id=None, segment=None
    )
    return header, [one for one in log.transactions if one.id in wanted]


def write_core(folder: Path, verdict: Verdict, log: Log) -> Path | None:
    """Write the core as a log to audit; None where it cannot be written. Raises OSError."""
    found = core_log(verdict, log)
    if found is None:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / CORE
    try:
        write_log(path, *found)
    except ValueError:
        path.unlink(missing_ok=True)  # what cannot be read back is nothing to keep
        return None
    return path


def write_test(folder: Path, verdict: Verdict, *, core: bool, runs: bool) -> None:
    """Write a test for pytest: that the `core` is a violation, and, where a schedule `runs` on a server, that its
    finding does not come again. Raises OSError."""
    title = verdict.account.title if verdict.account is not None else "violation"
    parts = [_TEST_HEAD.format(title=title, level=verdict.isolation)]
    parts += [_TEST_CORE.format(level=verdict.isolation, core=CORE)] if core and "," not in verdict.isolation else []
    parts += [_TEST_SERVER] if runs else []
    (folder / "test_finding.py").write_text("\n\n".join(parts), encoding="utf-8")


CORE = "core.jsonl"
"""The file that has the core as a log."""

_TEST_HEAD = '''"""{title}, at {level}: written by `troubadour audit --reproduce`. Run it with pytest."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def troubadour(*arguments):
    command = [sys.executable, "-c", "from troubadour.cli.main import main; main()", *arguments]
    return subprocess.run(command, capture_output=True, text=True)
'''
_TEST_CORE = '''def test_the_core_is_a_violation():
    """What the clients saw: no execution that the level allows explains it."""
    ended = troubadour("audit", "--isolation", "{level}", str(HERE / "{core}"))
    assert ended.returncode == 1, ended.stdout + ended.stderr
'''
_TEST_SERVER = '''def test_the_finding_does_not_come_again():
    """The schedule on a server: that of TROUBADOUR_DSN, else an embedded one. Fails as long as the finding comes."""
    dsn = os.environ.get("TROUBADOUR_DSN")
    ended = troubadour("reproduce", str(HERE), *(["--dsn", dsn] if dsn else []))
    if ended.returncode == 2:
        pytest.skip(ended.stderr.strip())
    assert ended.returncode == 1, "the finding came again:\\n" + ended.stdout
'''


def write_reproduction(folder: Path, verdict: Verdict, log: Log, library: SqlLibrary) -> str | None:
    """Write the schedule, and what people run it by; None where they are written, else why there are none. Raises
    OSError."""
    try:
        schedule = schedule_of(verdict, log, library)
    except Unsupported as error:
        return f"not modelled: {error.construct}"
    if schedule is None:
        return "no weaker level explains the log, so that it is not known which rows were there before"
    folder.mkdir(parents=True, exist_ok=True)
    text = msgspec.json.format(msgspec.json.encode(schedule), indent=1)
    (folder / "schedule.json").write_text(visible(text.decode()) + "\n", encoding="utf-8")
    (folder / "script.txt").write_text(_for_people(script(schedule)), encoding="utf-8")
    if PRODUCTS[schedule.dialect].running.isolation_tester:
        (folder / "finding.spec").write_text(_for_people(isolation_spec(schedule), "# "), encoding="utf-8")
    return None


def _for_people(text: str, comment: str = "") -> str:
    """Hidden characters are written out, which a statement with some in it does not survive."""
    shown = visible(text)
    if shown == text:
        return text
    return f"{comment}\\u and four digits stand for characters that do not show; schedule.json has them\n\n{shown}"


def isolation_spec(schedule: Schedule) -> str:
    """A spec as `isolationtester` of PostgreSQL reads them, with one permutation."""
    lines = [f"# {schedule.anomaly or 'finding'}, at {schedule.isolation}", "", "setup", "{"]
    lines += [f"  {_one_line(sql)};" for sql in schedule.setup]
    lines += ["}", "", "teardown", "{", *(f"  {_one_line(sql)};" for sql in schedule.teardown), "}"]
    called: dict[int, str] = {}
    for session in schedule.sessions:
        lines += ["", f'session "{session}"', f"setup {{ BEGIN ISOLATION LEVEL {schedule.level_of(session)}; }}"]
        own = [(place, step) for place, step in enumerate(schedule.steps) if step.session == session]
        for number, (place, step) in enumerate(own, 1):
            called[place] = f"{session}_{number}"
            lines.append(f'step "{called[place]}" {{ {_one_line(step.sql)}; }}')
    order = " ".join(f'"{called[place]}"' for place in range(len(schedule.steps)))
    return "\n".join([*lines, "", f"permutation {order}", ""])


def script(schedule: Schedule) -> str:
    """Steps for people, a terminal for each session, with what each statement answered."""
    client = _CLIENTS.get(schedule.dialect, "client")
    lines = [
        f"{schedule.anomaly or 'Finding'}: open {len(schedule.sessions)} terminals with {client}, "
        f"called {', '.join(schedule.sessions)}.",
        "Type each line in the terminal that it names. The answer that was observed follows `->`.",
        "",
        "Before, in any of them:",
        *(f"    {_one_line(sql)};" for sql in schedule.setup),
        "",
    ]
    rules = PRODUCTS[schedule.dialect].running
    levels = {session: schedule.level_of(session) for session in schedule.sessions}
    if rules.session_levels:
        lines += [f"[{one}] SET SESSION TRANSACTION ISOLATION LEVEL {level};" for one, level in levels.items()]
    named = rules.begin_names_level
    lines += [f"[{one}] {f'BEGIN ISOLATION LEVEL {level}' if named else 'BEGIN'};" for one, level in levels.items()]
    for step in schedule.steps:
        lines.append(f"[{step.session}] {_one_line(step.sql)};")
        if (told := _answer(step)) is not None:
            lines.append(f"     -> {told}")
    lines += ["", "Afterwards:", *(f"    {_one_line(sql)};" for sql in schedule.teardown), ""]
    return "\n".join(lines)


def _answer(step: Sent) -> str | None:
    if step.error is not None:
        return f"error {step.error}"
    if step.rows is not None:
        rows = ["(" + ", ".join("NULL" if value is None else str(value) for value in row) + ")" for row in step.rows]
        return _one_line(" ".join(rows)) or "no row"
    return None if step.affected is None else f"{step.affected} rows"


def _one_line(sql: str) -> str:
    return re.sub(r"\s+", " ", sql).strip().rstrip(";")

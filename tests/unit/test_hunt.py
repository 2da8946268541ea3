"""Hunts on SQLite: what is generated, run, found and made small; what the command says and ends with.

Does not judge SQLite: a wrapper that lies is hunted where something has to be found.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from threading import Timer
from typing import Any

import pytest
from click.testing import CliRunner

from troubadour.cli.hunt import hunt
from troubadour.formats import read_log
from troubadour.hunt import campaign, findings
from troubadour.hunt.case import ALONE, KILL, VANISH, Case, Step
from troubadour.hunt.derived import contradiction
from troubadour.hunt.engines import choose, embedded
from troubadour.hunt.engines.embedded import Embedded
from troubadour.hunt.engines.protocol import Answer, Database, EngineError, Level
from troubadour.hunt.findings import Found
from troubadour.hunt.generate.cases import make
from troubadour.hunt.generate.definitions import Definitions
from troubadour.hunt.generate.generator import Generated, Generator
from troubadour.hunt.generate.hot import Hot
from troubadour.hunt.generate.pieces import piece
from troubadour.hunt.generate.schemas import ColumnSpec, TableSpec
from troubadour.hunt.generate.seldom import Seldom, seldom_from
from troubadour.hunt.judge import judge
from troubadour.hunt.libraries import Libraries
from troubadour.hunt.schedule import NotMade, run
from troubadour.hunt.shrink import shrink
from troubadour.record.servers.embedded import _bring_up


@pytest.fixture(scope="module")
def sqlite() -> Iterator[Embedded]:
    engine = Embedded("sqlite", "sqlite")
    yield engine
    engine.close()


@pytest.mark.parametrize(("python", "error"), [("false", EngineError), ("no-such-program", OSError)])
def test_a_process_that_does_not_start_leaves_no_files(
    python: str, error: type[Exception], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(error):
        Embedded("sqlite", "sqlite", python)
    assert not list(tmp_path.iterdir())


class Liar(Embedded):
    """SQLite that adds to a COUNT(*) until it is asked to be honest, or ends at a DELETE."""

    def __init__(self, crashes: bool = False) -> None:
        super().__init__("liar", "sqlite")
        self.crashes = crashes

    @contextmanager
    def database(self, flavour: str = "") -> Iterator[Database]:
        with super().database(flavour) as database:
            yield _Lies(self, database)


class _Lies:
    def __init__(self, engine: Liar, database: Database) -> None:
        self._engine, self._database = engine, database

    def connection(self, number: int, level: Level) -> Any:
        connection = self._database.connection(number, level)
        asked: list[str] = []
        send, answer = connection.send, connection.answer

        def sent(sql: str) -> None:
            asked.append(sql)
            if self._engine.crashes and sql.startswith("DELETE"):
                self._engine.kill()
            send(sql)

        def answered(seconds: float) -> Answer | None:
            found = answer(seconds)
            honest = "SELECT 'honest'" in asked
            if found is None or not found.rows or "COUNT(*)" not in asked[-1] or honest:
                return found
            return replace(found, rows=[[value + 7 if place == 0 else value for place, value in enumerate(row)]
                                        for row in found.rows if isinstance(row[0], int)])  # fmt: skip

        if not hasattr(connection, "honest"):
            connection.send, connection.answer, connection.honest = sent, answered, send
        return connection

    def crash(self) -> None:
        self._database.crash()


@pytest.mark.parametrize("dialect", ["postgres", "mysql", "sqlite", "duckdb"])
def test_a_seed_gives_one_case(dialect: str) -> None:
    one, same, other = (make(seed, dialect, "serializable", 3) for seed in (1, 1, 6))
    assert [str(step.text) for step in one.steps] == [str(step.text) for step in same.steps]
    assert [table.ddl() for table in one.tables] == [table.ddl() for table in same.tables]
    assert [str(step.text) for step in one.steps] != [str(step.text) for step in other.steps]
    assert len(one.sessions) > 1


@pytest.mark.parametrize(
    ("dialect", "constructs"),
    [
        ("postgres", {"CREATE INDEX", "CREATE UNIQUE INDEX", "CREATE SEQUENCE", "CREATE TRIGGER", "CREATE FUNCTION",
                      "CREATE PROCEDURE", "USING hash", "USING brin", ") WHERE ", " + 1)", " DESC", "nextval",
                      "CALL pa", "LATERAL", "IDENTITY", "FOR KEY SHARE", "SKIP LOCKED", "MERGE INTO",
                      "USING gin ((ARRAY[", "USING spgist", " JOIN LATERAL"}),
        ("mysql", {"CREATE UNIQUE INDEX", "CREATE PROCEDURE", "CALL pa", "AUTO_INCREMENT", "VIRTUAL", "NOWAIT"}),
        ("sqlite", {"CREATE UNIQUE INDEX", ") WHERE ", "(lower(", "VIRTUAL"}),
        ("duckdb", {"CREATE UNIQUE INDEX", "CREATE SEQUENCE", "nextval", "LATERAL", "QUALIFY", ") AS o1 FROM",
                    "EXISTS (SELECT"}),
    ],
)  # fmt: skip
def test_all_that_a_product_has_is_drawn(dialect: str, constructs: set[str]) -> None:
    """Of the hot cases and what stands beside the tables; statements of wide ones are drawn without their schema."""
    missing, seed = set(constructs), 0
    random = Random(5)
    while missing and seed < 600:
        seed += 1
        generator = Generator(seed, dialect, seed % 3, wider=True)
        defined = Definitions(random, dialect, generator.tables).drawn()
        texts = [table.ddl() for table in generator.tables] + list(defined.texts)
        texts += [str(use()) for _, use in defined.uses]
        texts += [str(generator.statement().piece) for _ in range(4)]
        hot = Hot(random, dialect, generator.tables)
        texts += [str(hot.statement()) for _ in range(4)]
        missing = {one for one in missing if not any(one in text for text in texts)}
    assert not missing


def test_one_session_alone_has_many_statements_and_now_and_then_many_rows() -> None:
    cases = [make(seed, "sqlite", "serializable", 1) for seed in (1, 2, 3, 5, 6, 7, 9)]
    assert {case.flavour for case in cases} == {"wide alone"}
    assert all(len(case.steps) >= 24 and len(case.sessions) == 1 for case in cases)
    tables = Generator(3, "duckdb", 1, wider=True, many=True).tables
    (large,) = [table for table in tables if len(table.rows) > 100]
    assert len({row[0] for row in large.rows}) == len(large.rows)
    assert not any("UNIQUE" in column.suffix for column in large.columns)


def test_constructs_that_need_a_query_around_them_are_drawn() -> None:
    wanted = {
        "derived table that reads the query around it", "predicate given out", "query given out", "window given out",
        "parts of a query", "comma", "subquery without FROM", "DISTINCT ON in FROM",
    }  # fmt: skip
    for seed in range(40):
        generator = Generator(seed, "duckdb", 0, wider=True)
        for _ in range(12):
            wanted -= generator.statement().features
    assert not wanted


def test_the_seldomest_that_is_judged_is_taken() -> None:
    often, rare, unjudged = (Generated(piece(name), frozenset({name, "SELECT"})) for name in ("often", "rare", "never"))
    seldom = Seldom()
    for _ in range(9):
        seldom.count(often.features, judged=True)
        seldom.count({"never"}, judged=False)
    seldom.count(rare.features, judged=True)
    random = Random(1)
    assert {seldom.pick(random, [often, rare, unjudged]) for _ in range(9)} == {rare}
    assert {seldom.pick(random, [often, unjudged]) for _ in range(9)} == {often}
    assert seldom_from(json.loads(json.dumps(seldom.as_json()))).weight("rare") == seldom.weight("rare")


def test_what_was_drawn_is_kept_and_changes_what_is_drawn(tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = ["sqlite", "--minutes", "0", "--seed", "2", "--out", str(out)]
    for _ in range(2):
        assert CliRunner().invoke(hunt, arguments, catch_exceptions=False).exit_code in (0, 3)
    constructs = json.loads((out / "state.json").read_text())["constructs"]
    assert constructs["drawn"] and set(constructs["judged"]) <= set(constructs["drawn"])
    seldom = seldom_from(constructs)
    fresh, later = (make(10, "sqlite", "serializable", 3, (), one) for one in (None, seldom))
    assert [str(step.text) for step in fresh.steps] != [str(step.text) for step in later.steps]
    assert later == make(10, "sqlite", "serializable", 3, (), seldom)


@pytest.mark.parametrize("seed", range(6))
def test_what_sqlite_did_is_recorded_and_never_accused(seed: int, sqlite: Embedded, tmp_path: Path) -> None:
    ran = run(sqlite, make(seed, "sqlite", "serializable", 3))
    assert ran.died is None and not ran.internal
    ran.write(tmp_path / "log.jsonl")
    log = read_log([tmp_path / "log.jsonl"])
    assert len(log.transactions) == len(ran.lines) > 2
    found = judge(tmp_path / "log.jsonl", 30)
    assert found.status in ("correct", "undecided"), found.said
    assert found.statements == ran.statements


def test_the_same_case_gives_the_same_answers(sqlite: Embedded) -> None:
    case = make(3, "sqlite", "serializable", 3)

    def told() -> list[tuple[object, ...]]:
        return [
            (line["id"], line["status"], [(s["sql"], s.get("result"), s.get("affected")) for s in line["statements"]])
            for line in run(sqlite, case).lines
        ]

    assert told() == told()


@pytest.mark.parametrize("seed", [3, 5, 7])
def test_what_outlives_a_kill_is_explained(seed: int, sqlite: Embedded, tmp_path: Path) -> None:
    plain = make(seed, "sqlite", "serializable", 3)
    place = len(plain.steps) // 2
    session = plain.steps[0].session
    kill, vanish = (Step(session, 1000 + n, role, piece(role)) for n, role in enumerate((KILL, VANISH)))
    case = replace(plain, steps=(*plain.steps[:place], kill, *plain.steps[place:-2], vanish, *plain.steps[-2:]))
    ran = run(sqlite, case)
    assert ran.died is None
    assert {KILL, VANISH} <= {step.role for step in ran.sent}
    ran.write(tmp_path / "log.jsonl")
    found = judge(tmp_path / "log.jsonl", 30)
    assert found.status in ("correct", "undecided"), found.said


def test_a_commit_that_is_lost_is_a_violation(sqlite: Embedded, tmp_path: Path) -> None:
    """The log of a kill, in which a row that was read afterwards is taken away."""
    table = TableSpec("ta", [ColumnSpec("k", "int", "int", True, " PRIMARY KEY")], key=True)
    texts = ((ALONE, "INSERT INTO ta (k) VALUES (1)"), (KILL, ""), (ALONE, "INSERT INTO ta (k) VALUES (2)"))
    steps = tuple(Step(0, number, role, piece(text)) for number, (role, text) in enumerate(texts))
    ran = run(sqlite, Case("serializable", (table,), (), steps))
    path = tmp_path / "log.jsonl"
    ran.write(path)
    assert judge(path, 30).status == "correct"
    assert ran.lines[-1]["statements"][0]["result"]["rows"] == [[1], [2]]
    del ran.lines[-1]["statements"][0]["result"]["rows"][0]
    ran.write(path)
    assert judge(path, 30).status == "violation"


def test_what_is_derived_of_the_rows_of_a_right_log_is_held_to_it(
    sqlite: Embedded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = TableSpec("ta", [ColumnSpec("k", "int", "int", True, " PRIMARY KEY")], key=True)
    texts = ("INSERT INTO ta (k) VALUES (1)", "SELECT k FROM ta", "INSERT INTO ta (k) VALUES (2)")
    steps = tuple(Step(0, number, ALONE, piece(text)) for number, text in enumerate(texts))
    ran, path = run(sqlite, Case("serializable", (table,), (), steps)), tmp_path / "log.jsonl"
    ran.write(path)
    log = read_log([path])
    assert contradiction(log, Libraries().of(log)) is None and judge(path, 30).status == "correct"
    monkeypatch.setattr("troubadour.hunt.judge.contradiction", lambda log, library: "rows contradict each other")
    assert (judge(path, 30).status, judge(path, 30).said) == ("fault", "rows contradict each other")
    assert judge(path, 30, "snapshot").status == "correct"
    ran.lines[1]["statements"][0]["result"]["rows"] = [[7]]
    ran.write(path)
    wrong = read_log([path])
    assert contradiction(wrong, Libraries().of(wrong)) == "rows of a right log contradict each other\nt1, statement 1"


def test_a_definition_that_is_refused_is_no_run(sqlite: Embedded) -> None:
    case = make(1, "sqlite", "serializable", 3)
    with pytest.raises(NotMade, match="CREATE NONSENSE"):
        run(sqlite, replace(case, extra=("CREATE NONSENSE",)))


def test_shrinking_keeps_what_is_needed_and_nothing_more() -> None:
    heads = {"UPDATE ta SET", "DELETE FROM ta"}
    cases = (make(seed, "sqlite", "serializable", 3) for seed in range(1, 100, 2))
    case = next(case for case in cases if heads <= {" ".join(str(step.text).split()[:3]) for step in case.steps})

    def shows(smaller: Case) -> bool:
        return heads <= {" ".join(str(step.text).split()[:3]) for step in smaller.steps}

    small = shrink(case, shows)
    assert shows(small)
    assert len(small.steps) == 2
    assert len(small.tables) == 1 and not small.tables[0].rows
    assert len(small.sessions) == 1


def test_a_lie_is_found_made_small_and_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(choose, "engine_named", lambda name: Liar())
    out = tmp_path / "out"
    arguments = ["liar", "--minutes", "0", "--seed", "4", "--out", str(out)]
    done = CliRunner().invoke(hunt, arguments, catch_exceptions=False)
    assert done.exit_code == 1, done.output
    assert "new findings" in done.output and "judged" in done.output
    folders = sorted(path for path in out.iterdir() if path.is_dir())
    told = [findings.read(folder) for folder in folders]
    assert {one["kind"] for one in told} == {"violation"} and all(one["rate"] == "5 of 5" for one in told)
    small = [folder for folder in folders if "COUNT(*)" in (folder / "case.sql").read_text()]
    assert small and len((small[0] / "script.txt").read_text().splitlines()) <= 4
    assert judge(small[0] / "log.jsonl", 30).status == "violation"
    assert "VIOLATION" in (small[0] / "report.txt").read_text()
    assert (small[0] / "report.html").exists()

    runs = json.loads((out / "state.json").read_text())["tally"]["runs"]
    again = CliRunner().invoke(hunt, arguments, catch_exceptions=False)
    assert again.exit_code == 1
    assert json.loads((out / "state.json").read_text())["tally"]["runs"] == runs + 1
    other = CliRunner().invoke(
        hunt, ["liar", "--minutes", "0", "--seed", "2", "--out", str(out)], catch_exceptions=False
    )
    assert other.exit_code == 2 and "another hunt" in other.output


def test_versions_that_answer_otherwise_are_a_finding(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(choose, "engine_named", lambda name: Liar() if name == "liar" else Embedded(name, "sqlite"))
    arguments = ["sqlite", "--against", "liar", "--minutes", "0", "--seed", "1", "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(hunt, arguments, catch_exceptions=False)
    assert done.exit_code == 1, done.output
    (folder,) = [path for path in (tmp_path / "out").iterdir() if path.is_dir()]
    assert findings.read(folder)["kind"] == "disagreement"
    assert "COUNT(*)" in findings.read(folder)["statement"]


def test_a_statement_without_end_is_cut_and_told(sqlite: Embedded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "PROCESSOR", 0.2)
    endless = "WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT count(*) FROM c"
    case = Case(
        "serializable", (TableSpec("ta", [ColumnSpec("k", "int", "int")]),), (), (Step(0, 0, ALONE, piece(endless)),)
    )
    assert "no answer to WITH RECURSIVE" in str(run(sqlite, case).died)
    sqlite.restart()


def test_an_engine_that_is_gone_before_a_case_is_started_again(tmp_path: Path) -> None:
    engine = Embedded("sqlite", "sqlite")
    try:
        hunted = campaign.Hunt(engine, campaign.Plan(("serializable",), 1, 1, tmp_path), lambda *found: None)
        engine.kill()
        assert hunted.until(0, lambda tally: None).runs == 1
        hunted.close()
    finally:
        engine.close()


def test_a_server_that_is_slow_to_come_up_is_waited_for(tmp_path: Path) -> None:
    told = tmp_path / "postmaster.pid"
    seen: list[str] = []

    def slow() -> None:
        seen.append(told.read_text().split()[-1] if told.exists() else "gone")
        if len(seen) == 1:
            told.write_text("1\n" * 7 + "starting\n")
            Timer(0.3, told.write_text, ["1\n" * 7 + "ready   \n"]).start()
        if len(seen) < 3:
            raise subprocess.TimeoutExpired("pg_ctl", 10)

    _bring_up(slow, tmp_path)
    assert seen == ["gone", "ready", "ready"]


def test_a_crash_is_a_finding(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(choose, "engine_named", lambda name: Liar(crashes=True))
    done = CliRunner().invoke(
        hunt, ["liar", "--minutes", "0", "--seed", "6", "--out", str(tmp_path / "out")], catch_exceptions=False
    )
    assert done.exit_code == 1, done.output
    crashes = [path for path in (tmp_path / "out").iterdir() if path.name.startswith("crash")]
    assert crashes and "DELETE" in (crashes[0] / "case.sql").read_text()


def test_an_honest_engine_ends_with_0(tmp_path: Path) -> None:
    done = CliRunner().invoke(
        hunt, ["sqlite", "--minutes", "0", "--seed", "1", "--out", str(tmp_path / "out")], catch_exceptions=False
    )
    assert done.exit_code == 0, done.output
    assert next(line for line in done.output.splitlines() if line.startswith("new findings")).split()[-1] == "0"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "ENGINE or --dsn"),
        (["sqlite", "--dsn", "host=x"], "one of both"),
        (["oracle"], "none of postgres"),
        (["sqlite", "--level", "chaos"], "no level 'chaos'"),
        (["sqlite@../x"], "no version"),
        (["sqlite", "--against", "duckdb"], "another dialect"),
        (["--dsn", "host=/nowhere"], "the server"),
    ],
)
def test_what_cannot_be_used_ends_with_2(arguments: list[str], said: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(hunt, [*arguments, "--out", str(tmp_path / "out")], catch_exceptions=False)
    assert done.exit_code == 2
    assert said in done.output


def test_a_folder_of_others_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("x")
    done = CliRunner().invoke(hunt, ["sqlite", "--minutes", "0", "--out", str(tmp_path)], catch_exceptions=False)
    assert done.exit_code == 2 and "not empty" in done.output
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_a_start_that_was_cut_short_goes_on(tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = ["sqlite", "--minutes", "0", "--seed", "1", "--out", str(out)]
    assert CliRunner().invoke(hunt, arguments, catch_exceptions=False).exit_code == 0
    (out / "state.json").rename(out / "state.new")
    assert CliRunner().invoke(hunt, arguments, catch_exceptions=False).exit_code == 0
    assert json.loads((out / "state.json").read_text())["tally"]["runs"] == 1


def test_two_hunts_do_not_share_a_folder(sqlite: Embedded, tmp_path: Path) -> None:
    plan = campaign.Plan(("serializable",), 1, 3, tmp_path / "out")
    first = campaign.Hunt(sqlite, plan, lambda found, folder, known: None)
    with pytest.raises(campaign.Unusable, match="another hunt"):
        campaign.Hunt(sqlite, plan, lambda found, folder, known: None)
    first.close()
    campaign.Hunt(sqlite, plan, lambda found, folder, known: None).close()


def case_of(*steps: tuple[int, str]) -> Case:
    """One session or more, each statement by itself."""
    return Case("", (), (), tuple(Step(session, n, ALONE, piece(text)) for n, (session, text) in enumerate(steps)))


INDEX = (0, "CREATE INDEX i0 ON ta (k)")
OWN = ((0, "BEGIN TRANSACTION"), (0, "INSERT INTO ta VALUES (1)"), (0, "DELETE FROM ta RETURNING k"))
RETURNED = "INSERT INTO ta VALUES (1) ON CONFLICT (k) DO UPDATE SET c = 2 RETURNING c"
REPLACED = (INDEX, (0, "INSERT OR REPLACE INTO ta VALUES (1)"))
UPSERT = (INDEX, (0, "INSERT INTO ta VALUES (1) ON CONFLICT (k) DO UPDATE SET c = 2"))
LOST = (INDEX, (0, "UPDATE ta SET d = 'x'"), (1, "UPDATE ta SET k = 2"), (0, "SELECT k, d FROM ta"))
JOINED = "SELECT t1.k FROM ta AS t1 FULL JOIN tb AS t2 ON t1.k = t2.k"
INDEXED = (
    (0, "SELECT k FROM tb"), (1, "DELETE FROM tb WHERE k = 1"), (0, "SELECT COUNT(*) FROM tb WHERE k BETWEEN 0 AND 2"),
)  # fmt: skip
AGAIN = ((0, "SAVEPOINT p1"), (0, "SELECT k FROM ta"), (1, "INSERT INTO ta VALUES (1)"),
         (0, "ROLLBACK TO SAVEPOINT p1"), (0, "SELECT k FROM ta"))  # fmt: skip


@pytest.mark.parametrize(
    ("dbms", "steps", "said", "kind", "why"),
    [
        ("SQLite 3.40.1", ((0, JOINED),), "observed 1 row, expected 2 rows", "violation", "RIGHT and FULL"),
        ("SQLite 3.51.1", ((0, JOINED),), "observed 1 row, expected 2 rows", "violation", None),
        ("SQLite 3.40.1", ((0, JOINED),), "succeeded, but must fail", "violation", None),
        ("SQLite 3.40.1", ((0, JOINED),), "observed 1 row, expected 2 rows", "crash", None),
        # the same statement, where it takes another session to show it
        ("SQLite 3.40.1", ((1, "DELETE FROM ta"), (0, JOINED)), "observed 1 row, expected 2 rows", "violation", None),
        # another statement is accused
        ("SQLite 3.40.1", ((0, JOINED), (0, "SELECT COUNT(*) FROM ta")), "observed 1, expected 2", "violation", None),
        ("DuckDB 1.1.3", INDEXED, "observed (0), expected (1)", "violation", "scan of an index"),
        ("DuckDB 1.4.0", INDEXED, "observed (0), expected (1)", "violation", None),
        ("DuckDB 1.1.3", INDEXED, "observed (2), expected (1)", "violation", None),
        ("DuckDB 1.1.3", INDEXED[:1] + INDEXED[2:], "observed (0), expected (1)", "violation", None),
        ("DuckDB 1.1.3", ((0, "SELECT k FROM tb"), (1, "UPDATE tb SET k = 2 WHERE k = 1"), INDEXED[2]),
         "observed (0), expected (1)", "violation", None),
        ("MariaDB 10.11.19", AGAIN, "observed 2 rows, expected 1 row", "violation", "ROLLBACK TO SAVEPOINT"),
        ("MariaDB 10.11.19", AGAIN[1:3] + AGAIN[4:], "observed 2 rows, expected 1 row", "violation", None),
        ("MariaDB 10.11.19", tuple((0, text) for _, text in AGAIN), "observed 2 rows, expected 1", "violation", None),
        ("MariaDB 10.11.19", ((0, "SELECT 1 FROM ta WHERE k = 0.5"),), "observed 1 row, expected 0", "violation", None),
        ("DuckDB 1.0.0", ((0, "INSERT INTO t VALUES (1) ON CONFLICT DO NOTHING"),), "INTERNAL Error: another",
         "internal error", None),
        ("DuckDB 2.0.0", ((0, "SELECT k FROM ta LIMIT 1"),), "observed 2 rows, expected 1 row", "violation", None),
        ("DuckDB 2.0.1", ((0, "SELECT k FROM ta LEFT JOIN tb USING (k) LIMIT 1"),), "observed 3 rows, expected 1 row",
         "violation", "drops a LIMIT"),
        ("DuckDB 2.0.1", LOST, "observed (1, 5, 'a'), expected (1, 5, 'x')", "violation", "loses an UPDATE"),
        ("DuckDB 2.0.1", LOST[1:], "observed (1, 5, 'a'), expected (1, 5, 'x')", "violation", None),
        ("DuckDB 2.0.1", ((0, "SELECT k FROM ta JOIN tb USING (k) LIMIT 1"),), "observed 3 rows, expected 1 row",
         "violation", None),
        ("DuckDB 1.4.0", OWN, "observed 0 rows, expected 1 row (1)", "violation", "does not return rows"),
        ("DuckDB 1.5.6", OWN, "observed 0 rows, expected 1 row (1)", "violation", None),
        ("DuckDB 1.4.0", (OWN[0], (0, "INSERT INTO tb VALUES (1)"), OWN[2]), "observed 0 rows, expected 1 row",
         "violation", None),
        ("DuckDB 1.1.0", ((0, RETURNED),), "observed 2, expected 3", "violation", "RETURNING of an upsert"),
        ("DuckDB 1.2.0", ((0, RETURNED),), "observed 2, expected 3", "violation", None),
        ("DuckDB 1.1.0", ((0, "SELECT ((k, 1) = (k, 1)) FROM ta"),), "observed NULL, expected true", "violation",
         "a comparison of rows"),
        ("DuckDB 1.1.3", ((0, "SELECT ((k, 1) = (k, 1)) FROM ta"),), "observed NULL, expected true", "violation", None),
        ("MariaDB 10.11.19", ((0, "SELECT k NOT IN (SELECT 1 FROM tb UNION SELECT 2 FROM tb) FROM ta"),),
         "observed NULL, expected 1", "violation", "NULL NOT IN a UNION"),
        ("MariaDB 10.11.19", ((0, "SELECT k NOT IN (SELECT 1 FROM tb) FROM ta"),), "observed NULL, expected 1",
         "violation", None),
        ("MariaDB 10.11.19", ((0, "SELECT AVG(ABS(10)) OVER () FROM ta"),), "observed 9.9999, expected 10.0000",
         "violation", "too few digits"),
        ("MariaDB 10.11.19", ((0, "SELECT AVG(ABS(10)) OVER () FROM ta"),), "observed 11.0000, expected 10.0000",
         "violation", None),
        ("Turso 0.8.3", ((0, "SELECT COUNT(k) FROM ta LIMIT 0"),), "observed 1 row, expected 0 rows", "violation",
         "LIMIT 0"),
        ("Turso 0.8.3", ((0, "SELECT COUNT(k) FROM ta LIMIT 1"),), "observed 1 row, expected 0 rows", "violation",
         None),
        ("DuckDB 0.9.2", REPLACED, "observed 1, expected 2", "violation", "leaves columns"),
        ("DuckDB 0.9.2", (REPLACED[0], (0, "INSERT OR REPLACE INTO tb VALUES (1)")), "observed 1, expected 2",
         "violation", None),
        ("DuckDB 1.0.0", (INDEX, (0, "UPDATE ta SET k = 2")), "answered error 23000", "violation", "key that stays"),
        ("DuckDB 1.0.0", (INDEX, (0, "UPDATE tb SET k = 2")), "answered error 23000", "violation", None),
        ("DuckDB 1.2.0", UPSERT, "observed 1, expected 2", "violation", "an upsert"),
        ("DuckDB 1.2.0", (INDEX, (0, "INSERT INTO tb VALUES (1) ON CONFLICT (k) DO UPDATE SET c = 2")),
         "observed 1, expected 2", "violation", None),
        ("DuckDB 0.9.2", ((0, "SELECT DATE '2020-01-01' + INTERVAL '1 day'"),),
         "observed 2020-01-02, expected 2020-01-02 00:00:00", "violation", "a date and an interval"),
        ("DuckDB 0.9.2", ((0, "SELECT 1 WHERE DATE '2020-01-01' + INTERVAL '1 day' IS NULL"),),
         "observed 1 row, expected 0 rows", "violation", None),
        ("DuckDB 0.9.2", ((0, "SELECT 1 EXCEPT ALL SELECT 2"),), "observed 0 rows, expected 1 row", "violation",
         "EXCEPT ALL"),
        ("DuckDB 0.9.2", ((0, "SELECT 1 EXCEPT ALL SELECT 2"),), "observed (3), expected (1)", "violation", None),
        ("MariaDB 10.11.19", ((0, "SELECT d.a FROM ta LEFT JOIN (SELECT 1 AS a FROM tb) AS d ON FALSE"),),
         "observed (1), expected (NULL)", "violation", "constant of a derived table"),
        ("MariaDB 10.11.19", ((0, "SELECT 1 FROM ta LEFT JOIN tb USING (k) WHERE k IN (SELECT k FROM tb)"),),
         "observed (1), expected (NULL)", "violation", None),
    ],
)  # fmt: skip
def test_a_known_one_swallows_no_other(
    dbms: str, steps: tuple[tuple[int, str], ...], said: str, kind: str, why: str | None
) -> None:
    found = Found(kind, "", dbms, "", 1, said, steps[-1][1], small=True)
    asked: list[str] = []

    def cured(_: Case, text: str) -> bool:
        asked.append(text)
        return True

    known = findings.known_as(found, case_of(*steps), findings.known_ones(), cured)
    assert asked == [known.cure] * bool(known.cure) if known is not None else not asked
    assert why in known.why if why is not None and known is not None else known is None and why is None
    # what was not made small to the end may need something else
    assert findings.known_as(replace(found, small=False), case_of(*steps), findings.known_ones(), cured) is None
    if known is not None and known.cure:  # it goes wrong all the same where that should help
        assert findings.known_as(found, case_of(*steps), findings.known_ones(), lambda *_: False) is None


def test_a_known_one_is_known_by_the_tables_at_the_end() -> None:
    """These are read by statements that the case does not have."""
    said = "statement 1 of end0 (SELECT * FROM ta): observed (1, 5, 'a'), expected (1, 5, 'x')"
    found = Found("violation", "", "DuckDB 2.0.1", "", 1, said, "SELECT * FROM ta", small=True)
    known = findings.known_as(found, case_of(*LOST[:3]), findings.known_ones(), lambda *_: True)
    assert known is not None and "loses an UPDATE" in known.why
    assert findings.known_as(found, case_of(*LOST[1:3]), findings.known_ones(), lambda *_: True) is None
    counted = replace(found, said=said.replace("(1, 5, 'a')", "0 affected rows"))
    assert findings.known_as(counted, case_of(*LOST[:3]), findings.known_ones(), lambda *_: True) is None


@pytest.mark.parametrize(("cure", "counted"), [("SELECT 'honest'", "known"), ("SELECT 'another'", "new")])
def test_a_known_one_is_cured_by_what_its_entry_says(
    cure: str, counted: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    entry = findings.Known("^SQLite", "COUNT", "", "^violation", True, "it lies", "docs", cure)
    monkeypatch.setattr(findings, "known_ones", lambda: (entry,))
    engine = Liar()
    try:
        hunted = campaign.Hunt(engine, campaign.Plan(("serializable",), 4, 3, tmp_path), lambda *found: None)
        tally = hunted.until(0, lambda tally: None)
        hunted.close()
    finally:
        engine.close()
    assert getattr(tally, counted) and not getattr(tally, {"known": "new", "new": "known"}[counted])


def test_fingerprints_look_past_names_and_numbers() -> None:
    found = Found("violation", "sqlite", "SQLite 3.40.1", "serializable", 1, "x", "SELECT c1 FROM ta AS t1 WHERE k = 3")
    same = replace(found, statement="SELECT c2 FROM tb AS t4 WHERE k = 71", seed=9)
    assert found.fingerprint == same.fingerprint
    assert found.fingerprint != replace(found, statement="SELECT c1 FROM ta AS t1 WHERE k < 3").fingerprint


def test_the_list_of_known_ones_can_be_read() -> None:
    assert all(item.why and item.link for item in findings.known_ones())


def test_an_internal_error_is_told_by_its_own_line() -> None:
    message = "Invalid Input Error: closed pending query result\nError: INTERNAL Error: No rows\nThis error signals"
    assert campaign.own_fault(message) == "INTERNAL Error: No rows"
    assert campaign.own_fault("database disk image is malformed") == "database disk image is malformed"

"""Records applications without touching their code, audits what they did, and prints the table (docs/recording.md).

    python -m tests.live.applications [NAME ...]

Packages that are not importable are installed from PyPI into a throw-away environment beside this one's. Each
application runs twice: `setup` makes its tables, unrecorded, and `run` is recorded by `troubadour record app`. Does not
know what the applications do.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import click
import psycopg

from tests.live.applications.page import HEAD, Row, commit, read_json, rewrite, write_json
from troubadour.record import EmbeddedPostgres
from troubadour.record.servers.embedded_mariadb import PrivateMariaDB, missing

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
EXPLAINED = "everything judged is explained"
"""How the reason of an audit begins that found nothing wrong with what it judged."""
MAIN = "from troubadour.cli.main import main; main()"


@dataclass(frozen=True, slots=True)
class Application:
    """`packages`: module names, and what PyPI calls them. `url`: where its database is, in the application's own
    words, of the parts that `Servers.parts` gives. `table`: in which table of the page it stands."""

    name: str
    script: str
    product: str
    url: str
    packages: Mapping[str, str]
    table: str = "seventeen"


LONGEST = 300
"""Seconds for an application, which takes ten where nothing else runs."""
POSTGRES = "postgresql://postgres@/{database}?host={host}"
SQLALCHEMY = {"sqlalchemy": "sqlalchemy>=2"}
APPLICATIONS = (
    Application("django", "django_bank", "postgres", POSTGRES, {"django": "django"}),
    Application("django-sqlite", "django_bank", "sqlite", "sqlite://{file}", {"django": "django"}),
    Application("django-migrations", "django_migrations", "sqlite", "sqlite://{file}", {"django": "django"}),
    Application("sqlalchemy", "sqlalchemy_shop", "postgres", POSTGRES.replace("ql:", "ql+psycopg:"), SQLALCHEMY),
    Application("sqlalchemy-sqlite", "sqlalchemy_shop", "sqlite", "sqlite:///{file}", SQLALCHEMY),
    Application(
        "sqlalchemy-mariadb", "sqlalchemy_shop", "mysql", "mysql+pymysql://root@/{database}?unix_socket={socket}",
        SQLALCHEMY,
    ),
    Application(
        "procrastinate", "procrastinate_jobs", "postgres", POSTGRES,
        {"procrastinate": "procrastinate", "psycopg_pool": "psycopg-pool"},
    ),
    Application("chancy", "chancy_jobs", "postgres", POSTGRES, {"chancy": "chancy"}),
    Application("pgqueuer", "pgqueuer_jobs", "postgres", POSTGRES, {"pgqueuer": "pgqueuer"}),
    Application(
        "tortoise", "tortoise_shop", "postgres", "psycopg://postgres@/{database}",
        {"tortoise": "tortoise-orm", "psycopg_pool": "psycopg-pool"},
    ),
    Application("tortoise-sqlite", "tortoise_shop", "sqlite", "sqlite://{file}", {"tortoise": "tortoise-orm"}),
    Application("peewee", "peewee_notes", "sqlite", "sqlite:///{file}", {"peewee": "peewee"}),
    Application("pony", "pony_library", "sqlite", "sqlite://{file}", {"pony": "pony"}),
    Application(
        "alembic", "alembic_migrations", "postgres", POSTGRES.replace("ql:", "ql+psycopg:"), {"alembic": "alembic"}
    ),
    Application(
        "celery", "celery_results", "postgres", POSTGRES.replace("ql:", "ql+psycopg:"),
        {"celery": "celery", **SQLALCHEMY},
    ),
    Application(
        "fastapi", "fastapi_items", "postgres", POSTGRES.replace("ql:", "ql+psycopg:"),
        {"fastapi": "fastapi", "httpx": "httpx", "greenlet": "greenlet", **SQLALCHEMY},
    ),
    Application(
        "apscheduler", "apscheduler_jobs", "postgres", POSTGRES.replace("ql:", "ql+psycopg:"),
        {"apscheduler": "apscheduler<4", **SQLALCHEMY},
    ),
    Application("oscar", "oscar_shop", "sqlite", "sqlite://{file}", {"oscar": "django-oscar"}, table="four"),
    Application("huey", "huey_tasks", "sqlite", "sqlite://{file}", {"huey": "huey"}, table="four"),
    Application("wagtail", "wagtail_pages", "sqlite", "sqlite://{file}", {"wagtail": "wagtail"}, table="four"),
    Application(
        "ledger", "ledger_entries", "postgres", POSTGRES, {"django_ledger": "django-ledger"}, table="four"
    ),
    Application("optuna", "optuna_trials", "sqlite", "sqlite:///{file}", {"optuna": "optuna"}, table="services"),
    Application(
        "eventsourcing-sqlite", "eventsourcing_school", "sqlite", "sqlite://{file}", {"eventsourcing": "eventsourcing"},
        table="services",
    ),
    Application(
        "sqlite-utils", "sqlite_utils_dogs", "sqlite", "sqlite://{file}", {"sqlite_utils": "sqlite-utils"},
        table="services",
    ),
    Application("dbos", "dbos_flows", "postgres", POSTGRES, {"dbos": "dbos"}, table="services"),
    Application(
        "mlflow", "mlflow_runs", "postgres", POSTGRES.replace("ql:", "ql+psycopg:"), {"mlflow": "mlflow"},
        table="services",
    ),
    Application("mlflow-sqlite", "mlflow_runs", "sqlite", "sqlite:///{file}", {"mlflow": "mlflow"}, table="services"),
    Application(
        "eventsourcing", "eventsourcing_school", "postgres", POSTGRES,
        {"eventsourcing": "eventsourcing", "psycopg_pool": "psycopg-pool"}, table="services",
    ),
    Application("saq", "saq_jobs", "postgres", POSTGRES, {"saq": "saq[postgres]"}, table="services"),
    Application("django-q2", "q2_tasks", "postgres", POSTGRES, {"django_q": "django-q2"}, table="services"),
    Application(
        "yoyo", "yoyo_steps", "postgres", POSTGRES.replace("ql:", "ql+psycopg:"), {"yoyo": "yoyo-migrations"},
        table="services",
    ),
    Application(
        "langgraph-sqlite", "langgraph_threads", "sqlite", "sqlite://{file}",
        {"langgraph.checkpoint.sqlite": "langgraph-checkpoint-sqlite"}, table="services",
    ),
    Application("tryton", "tryton_parties", "sqlite", "sqlite://{file}", {"trytond": "trytond"}, table="services"),
    Application("hordak", "hordak_transfers", "postgres", POSTGRES, {"hordak": "django-hordak"}, table="services"),
)  # fmt: skip


@dataclass
class Servers:
    """Servers that are started when an application needs one, and a database of its own for each."""

    folder: Path
    stack: ExitStack
    postgres: str | None = None
    mariadb: str | None = None
    made: int = 0

    def parts(self, product: str) -> dict[str, str]:
        """A database that nothing is in. Raises LookupError where there is no server."""
        self.made += 1
        database = f"app{self.made}"
        if product == "sqlite":
            return {"file": str(self.folder / f"{database}.db"), "database": database}
        if product == "mysql":
            return self._mariadb(database)
        if self.postgres is None:
            self.postgres = self.stack.enter_context(EmbeddedPostgres()).dsn
        with psycopg.connect(self.postgres, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {database}".encode())
            return {"host": connection.info.host, "database": database}

    def _mariadb(self, database: str) -> dict[str, str]:
        from troubadour.record.drivers import mysql

        if (reason := missing()) is not None:
            raise LookupError(reason)
        if self.mariadb is None:
            self.mariadb = self.stack.enter_context(PrivateMariaDB()).dsn
        with mysql.connect(self.mariadb) as connection:
            connection.cursor().execute(f"CREATE DATABASE {database} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin")
        return {"socket": self.mariadb.partition("unix_socket=")[2].partition("&")[0], "database": database}


def _is_here(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # of a package around it
        return False


def interpreter(applications: Sequence[Application], folder: Path) -> Path:
    """A Python that has what the applications need: this one, or one of an environment on top of it."""
    wanted = {module: name for one in applications for module, name in one.packages.items()}
    absent = sorted({name for module, name in wanted.items() if not _is_here(module)})
    if not absent:
        return Path(sys.executable)
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    (site,) = folder.glob("lib/python*/site-packages")
    own = [path for path in sys.path if path.endswith("site-packages")]
    (site / "beneath.pth").write_text("\n".join(own) + "\n")
    subprocess.run([python, "-m", "pip", "install", "--quiet", *absent], check=True, stderr=subprocess.DEVNULL)
    return python


def tried(application: Application, servers: Servers, python: Path, seconds: float) -> Row:
    """Set up, record, audit."""
    row = Row(application.name)
    try:
        parts = servers.parts(application.product)
    except LookupError as error:
        row.problems.append(str(error))
        return row
    url = application.url.format(**parts)
    folder = servers.folder / application.name
    folder.mkdir()
    script = [str(python), str(HERE / "scripts" / f"{application.script}.py")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore"}
    if servers.postgres is not None:
        environment["PGHOST"] = psycopg.conninfo.conninfo_to_dict(servers.postgres)["host"]
    for step in (
        [*script, "setup", url],
        [sys.executable, "-c", MAIN, "record", "app", "--log", "run-{database}.jsonl", "--", *script, "run", url],
    ):
        try:
            ended = subprocess.run(step, cwd=folder, env=environment, capture_output=True, text=True, timeout=LONGEST)
        except subprocess.TimeoutExpired:
            row.problems.append(f"still running after {LONGEST} s")
            return row
        if ended.returncode:
            row.problems.append(f"exit {ended.returncode}: {(ended.stderr.strip().splitlines() or [''])[-1]}")
            if "setup" in step[-2:]:
                return row
    logs = sorted(folder.glob(f"run-{parts['database']}.*"), key=lambda path: -path.stat().st_size)
    row.recorded = bool(logs)
    if logs:
        _judge(row, logs, environment, seconds)
    return row


def _judge(row: Row, logs: Sequence[Path], environment: Mapping[str, str], seconds: float) -> None:
    lines = [json.loads(line) for path in logs for line in path.read_text().splitlines()]
    transactions = [line for line in lines if "statements" in line]
    row.level = next((line["isolation"] for line in lines if "isolation" in line), "")
    row.transactions = len(transactions)
    row.statements = sum(len(line["statements"]) for line in transactions)
    row.problems += [f"gap: {line['reason']}" for line in lines if line.get("kind") == "gap"]
    command = [sys.executable, "-c", MAIN, "audit", "--format", "json", "--timeout", str(seconds), *map(str, logs)]
    judged = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=seconds + 120)
    if not judged.stdout:
        row.verdict = f"exit {judged.returncode}"
        row.problems.append(judged.stderr.strip()[:300])
        return
    verdict = json.loads(judged.stdout)
    row.verdict = verdict["verdict"]
    reason = str(verdict["reason"] or verdict["explanation"] or "")
    row.explained = row.verdict == "correct" or reason.startswith(EXPLAINED)
    if verdict["coverage"]:
        row.judged = verdict["coverage"]["judged"]
        for gap in verdict["coverage"]["unjudged"]:
            row.unjudged[gap["construct"]] = row.unjudged.get(gap["construct"], 0) + gap["statements"]
    if not row.explained:
        row.problems.append(reason)
    elif row.verdict != "correct":
        row.verdict += ": all that is judged is explained"


@click.command()
@click.argument("names", nargs=-1)
@click.option("--timeout", default=60.0, show_default=True, help="Seconds for each audit.")
@click.option("--keep", type=click.Path(file_okay=False, path_type=Path), help="Keep the logs here.")
@click.option("--python", type=click.Path(dir_okay=False, path_type=Path), help="One that has the packages.")
@click.option(
    "--json",
    "told",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the rows here, beside those of others that are there.",
)
@click.option("--page", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Put the tables there.")
def main(
    names: tuple[str, ...], timeout: float, keep: Path | None, python: Path | None, told: Path | None, page: Path | None
) -> None:
    """Print the table."""
    chosen = [one for one in APPLICATIONS if not names or one.name in names]
    known = {row.name: row for row in (read_json(told) if told is not None else [])}
    with ExitStack() as stack:
        folder = keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(exist_ok=True, parents=True)
        python = python or interpreter(chosen, folder / "environment")
        servers = Servers(folder, stack)
        click.echo("\n".join(HEAD))
        for application in chosen:
            row = known[application.name] = tried(application, servers, python, timeout)
            row.commit = commit()
            click.echo(row.line())
            if told is not None:
                write_json(told, list(known.values()))
    rows = [known[one.name] for one in APPLICATIONS if one.name in known]
    if page is not None:
        tables = {one.name: one.table for one in APPLICATIONS}
        kept = {table: [row for row in rows if tables[row.name] == table] for table in dict.fromkeys(tables.values())}
        rewrite(page, [(table, found) for table, found in kept.items() if found])


if __name__ == "__main__":
    main()

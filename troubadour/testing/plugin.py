"""The pytest plugin (entry point ``pytest11``): ``@pytest.mark.audited(level=...)`` and the fixture ``audited``.

What a marked test does through psycopg, sqlite3, PyMySQL or DuckDB, by SQLAlchemy or Django or without, is recorded
from before its fixtures are set up until after they are torn down, and audited then: a violation fails the test with
the reason. Imports nothing of the recorders and the audit before a marked test runs. Does not know what verdicts are.
"""

from __future__ import annotations

import warnings
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from troubadour.testing.audited import Audited

_MARK = (
    "audited(level=None, timeout=60, undecided='fail', allow_unjudged=()): record what the test does to databases, and "
    "audit it at this isolation level (None: the one that the connections had) when the test has ended. "
    "undecided='warn': a verdict of undecided only warns."
)
_KEY = pytest.StashKey["Audited"]()
_ACTIVE = pytest.StashKey["Audited"]()
_DATABASE = "django_db_setup"
"""The fixture of pytest-django that makes the test database, and drops it in the end."""


def pytest_configure(config: pytest.Config) -> None:
    """Make the mark known."""
    config.addinivalue_line("markers", _MARK)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None]:
    """Record from before the first fixture on."""
    mark = item.get_closest_marker("audited")
    if mark is None:
        return (yield)
    from troubadour.testing.audited import Audited, Wanted

    factory: pytest.TempPathFactory = item.config._tmp_path_factory  # type: ignore[attr-defined]
    audited = Audited(Wanted(*mark.args, **mark.kwargs), factory.mktemp("audited"))
    item.stash[_KEY] = item.config.stash[_ACTIVE] = audited
    audited.begin()
    try:
        return (yield)
    except BaseException:
        # the test does not run, and is not torn down by us
        audited.stop()
        del item.stash[_KEY], item.config.stash[_ACTIVE]
        raise


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
) -> Generator[None, Any, Any]:
    """Leave out how Django's test database is made. Finish the log before what outlives the test is torn down: that
    database, or the server that has to be asked for the times of commits."""
    if fixturedef.scope == "function":
        return (yield)
    stash = request.config.stash

    def finish() -> None:
        active = stash.get(_ACTIVE, None)
        # while the next test is set up, what was made for other parameters is torn down
        if active is not None and active.over:
            active.stop()

    active = stash.get(_ACTIVE, None) if fixturedef.argname == _DATABASE else None
    if active is not None:
        active.pause()
    try:
        result = yield
    finally:
        # the last to be added is the first to be run
        fixturedef.addfinalizer(finish)
        if active is not None:
            active.begin()
    return result


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None]:
    """Audit after the last fixture is gone: what it rolls back, it has rolled back."""
    audited = item.stash.get(_KEY, None)
    if audited is None:
        return (yield)
    del item.stash[_KEY]
    audited.over = True
    try:
        result = yield
    finally:
        audited.stop()
        del item.config.stash[_ACTIVE]
    told = audited.judge()
    if told.fails:
        pytest.fail(told.text, pytrace=False)
    if told.text:
        warnings.warn(pytest.PytestWarning(f"{item.nodeid}: {told.text}"), stacklevel=1)
    return result


@pytest.fixture
def audited(request: pytest.FixtureRequest) -> Audited:
    """The recording of a marked test: for connections and engines that were made before it."""
    found: Audited | None = request.node.stash.get(_KEY, None)
    if found is None:
        raise pytest.UsageError("the fixture `audited` is for tests marked with @pytest.mark.audited")
    return found

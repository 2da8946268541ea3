"""The command line inside the process of the tests. Does not know what is asked of it."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from tests.unit.commands import Ended
from troubadour.cli import main as command


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """The command, inside this process, of which the tests before have used much memory: `verify` has more than its
    usual limit, unless a test gives one."""
    monkeypatch.setattr(command.gc, "set_threshold", lambda *_: None)
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)

    def run(*arguments: str) -> Ended:
        if arguments[:1] == ("verify",) and "--memory" not in arguments:
            arguments += ("--memory", "65536")
        with pytest.raises(SystemExit) as ended:
            command.main(arguments)
        captured = capsys.readouterr()
        status = ended.value.code
        assert isinstance(status, int)
        return Ended(status, captured.out, captured.err)

    return run

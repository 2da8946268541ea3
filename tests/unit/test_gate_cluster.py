"""The gate's audits on a cluster of this machine: as those without one, whatever dies meanwhile."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.patience import until
from tests.servers import free_port
from tests.unit.commands import GOOD, HEADER, balance, transaction, write
from troubadour.gate.discover import find_logs
from troubadour.gate.findings import Outcome
from troubadour.gate.policy import Rules, read_policy
from troubadour.gate.run import audit_all

pytest.importorskip("distributed", reason="needs troubadour[cluster]")

from troubadour.gate import cluster as clusters
from troubadour.gate.cluster import Cluster, ClusterError, SentFile

BAD = transaction(params=[1], result=balance("7.00"), id="t2")
SCHEDULER = "from distributed.cli.dask_scheduler import main; main()"
WORKER = "from distributed.cli.dask_worker import main; main()"


class Machines:
    """A scheduler and workers, each a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.address = f"tcp://127.0.0.1:{free_port()}"
        port = self.address.rpartition(":")[2]
        self.running = [self.start(SCHEDULER, "--host", "127.0.0.1", "--port", port, "--no-dashboard")]

    def start(self, program: str, *options: str) -> subprocess.Popen[bytes]:
        run = [sys.executable, "-c", program, *options]
        with (self.folder / "machines.log").open("ab") as told:
            return subprocess.Popen(run, stdout=told, stderr=told, cwd=self.folder)

    def worker(self) -> subprocess.Popen[bytes]:
        one = self.start(WORKER, self.address, "--no-nanny", "--no-dashboard", "--nthreads", "1",
                         "--local-directory", str(self.folder / "workers"))  # fmt: skip
        self.running.append(one)
        return one

    def wait_for(self, workers: int) -> None:
        until(lambda: self._threads() >= workers)

    def _threads(self) -> int:
        try:
            with Cluster(self.address) as cluster:
                return cluster.threads
        except ClusterError:
            return 0

    def end(self) -> None:
        for one in reversed(self.running):
            one.kill()
            one.wait()


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    found = Machines(tmp_path_factory.mktemp("cluster"))
    try:
        found.worker()
        found.worker()
        found.wait_for(2)
        yield found
    finally:
        found.end()


def gate(*arguments: str) -> subprocess.CompletedProcess[str]:
    run = [sys.executable, "-c", "from troubadour.cli.main import main; main()", "gate", *arguments]
    return subprocess.run(run, capture_output=True, text=True)


def without_times(text: str) -> Any:
    found = json.loads(text)
    for log in found["logs"]:
        if log["verdict"] is not None:
            log["verdict"]["seconds"] = 0
    return found


def logs(folder: Path) -> None:
    folder.mkdir()
    write(folder, HEADER, GOOD, name="good.jsonl")
    write(folder, HEADER, GOOD, BAD, name="bad.jsonl")
    write(folder, HEADER, "{broken\n", name="broken.jsonl")


def test_as_without_a_cluster(machines: Machines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    logs(tmp_path / "logs")
    monkeypatch.chdir(tmp_path)
    here = gate("logs", "--format", "json")
    there = gate("logs", "--format", "json", "--cluster", machines.address, "--artifacts", "kept")
    assert (here.returncode, there.returncode) == (1, 1), there.stderr
    found = without_times(there.stdout)
    for one in found["logs"]:
        assert one.pop("artifacts")
    expected = without_times(here.stdout)
    for one in expected["logs"]:
        one.pop("artifacts")
    assert found == expected
    assert there.stderr == here.stderr
    assert json.loads((tmp_path / "kept/logs-good.jsonl/verdict.json").read_text())["verdict"] == "correct"
    assert (tmp_path / "kept/logs-good.jsonl/witness.json").exists()
    page = (tmp_path / "kept/logs-bad.jsonl/report.html").read_text(encoding="utf-8")
    assert "./../../logs/bad.jsonl#L" in page


def test_a_worker_that_dies_costs_only_its_time(machines: Machines, tmp_path: Path) -> None:
    logs(tmp_path / "logs")
    dying = machines.worker()
    machines.wait_for(3)
    with Cluster(machines.address) as cluster:
        # it stands still with what it was given, and is then killed
        os.kill(dying.pid, signal.SIGSTOP)
        killing = threading.Timer(1.5, dying.kill)
        killing.start()
        policy = read_policy(None, tmp_path)
        found = audit_all(find_logs([str(tmp_path / "logs")]), policy, jobs=3, cluster=cluster)
        killing.join()
    outcomes = {one.log.files[0].name: one.outcome for one in found}
    assert outcomes == {
        "good.jsonl": Outcome.PASSED,
        "bad.jsonl": Outcome.VIOLATION,
        "broken.jsonl": Outcome.UNUSABLE,
    }


def test_a_log_that_a_worker_does_not_have_is_sent(machines: Machines, tmp_path: Path) -> None:
    given = Path(write(tmp_path, HEADER, GOOD, BAD))
    absent = clusters._described(given)
    elsewhere = SentFile("logs/mine.jsonl", "/nowhere/mine.jsonl", absent.size, absent.digest)
    assert clusters._audit([elsewhere], Rules(), "test", kept=None) is None
    changed = SentFile(absent.name, absent.path, absent.size, bytes(32))
    assert clusters._audit([changed], Rules(), "test", kept=None) is None
    sent = SentFile("logs/mine.jsonl", "/nowhere/mine.jsonl", absent.size, absent.digest, given.read_bytes())
    done = clusters._audit([sent], Rules(), "test", kept=None)
    assert isinstance(done, clusters.Done)
    assert done.ended.status == 1
    broken = SentFile("logs/mine.jsonl", "/nowhere/mine.jsonl", 2, b"", b"{\n")
    told = clusters._audit([broken], Rules(), "test", kept=None)
    assert isinstance(told, clusters.Done)
    assert "logs/mine.jsonl" in told.ended.errors
    assert "/tmp" not in told.ended.errors


def test_what_was_ended_is_not_begun(tmp_path: Path) -> None:
    sent = clusters._described(Path(write(tmp_path, HEADER, GOOD)))
    clusters._end("ended")
    assert clusters._audit([sent], Rules(), "ended", kept=None) is None


def test_a_cluster_that_cannot_be_used(machines: Machines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, HEADER, GOOD)
    ended = gate(path, "--cluster", "nonsense://x")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert len(ended.stderr.splitlines()) == 1
    monkeypatch.setattr(clusters, "version", lambda name: "0.0.1")
    with pytest.raises(ClusterError, match=r"has troubadour .*, and this is 0\.0\.1"):
        Cluster(machines.address)
    monkeypatch.setattr(clusters, "CONNECTING", 0.2)
    with pytest.raises(ClusterError, match="no scheduler answers"):
        Cluster(f"tcp://127.0.0.1:{free_port()}")


def test_without_any_worker_nothing_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clusters, "ALONE", 0.2)
    monkeypatch.setattr(clusters, "CONNECTING", 60.0)  # the scheduler only begins
    monkeypatch.setattr(Cluster, "_threads", lambda self: 1)  # as if its only worker died right afterwards
    alone = Machines(tmp_path)
    try:
        with Cluster(alone.address) as cluster:
            ended = cluster.audit([Path(write(tmp_path, HEADER, GOOD))], Rules(), None)
            assert ended is not None
            assert ended.lost is not None
            assert "no worker" in ended.lost
    finally:
        alone.end()

"""Histories of others through the command line: imported, audited and verified; and object logs that a simulated store
made. That each format is read rightly is `test_importers`' business."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from troubadour.record.simulated.objects import FAULTS, Plan, SimulatedObjects
from troubadour.workloads.objects import Objects, Shape, Type

SKEW = """{:type :invoke :f :txn :value [[:r 1 nil] [:append 2 1]] :process 0 :index 0}
{:type :invoke :f :txn :value [[:r 2 nil] [:append 1 1]] :process 1 :index 1}
{:type :ok :f :txn :value [[:r 1 nil] [:append 2 1]] :process 0 :index 2}
{:type :ok :f :txn :value [[:r 2 nil] [:append 1 1]] :process 1 :index 3}
{:type :invoke :f :txn :value [[:r 1 nil] [:r 2 nil]] :process 0 :index 4}
{:type :ok :f :txn :value [[:r 1 [1]] [:r 2 [1]]] :process 0 :index 5}
"""
RIGHT = SKEW.replace("[[:r 2 nil] [:append 1 1]] :process 1 :index 3", "[[:r 2 [1]] [:append 1 1]] :process 1 :index 3")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """As Jepsen leaves it: two runs of a test, and a link to the last."""
    folder = tmp_path / "store"
    for time, text in (("20261126T100000", SKEW), ("20261126T110000", RIGHT)):
        run_folder = folder / "etcd append" / time
        run_folder.mkdir(parents=True)
        (run_folder / "history.edn").write_text(text)
        (run_folder / "results.edn").write_text("{:valid? true}")
    (folder / "latest").symlink_to(folder / "etcd append" / "20261126T110000")
    return folder


def test_from_a_store_to_verdicts_in_two_commands(store: Path, tmp_path: Path, run: Any) -> None:
    logs = tmp_path / "logs"
    imported = run("log", "import", "--from", "elle", str(store), "--out", str(logs))
    assert imported.status == 0
    assert [line.split(": ", 1)[1].split(";")[:3] for line in imported.out.splitlines()] == [
        ["test etcd append", " 3 committed", " workload list-append"]
    ] * 2
    names = [path.name for path in sorted(logs.iterdir())]
    assert names == ["etcd-append-20261126T100000.jsonl", "etcd-append-20261126T110000.jsonl"]
    config = tmp_path / "gate.toml"
    config.write_text('[[rule]]\npath = "**"\nisolation = "serializable"\n')
    verdicts = [
        run("audit", "--isolation", "serializable", str(logs / name), "--format", "json").json for name in names
    ]
    assert [verdict["verdict"] for verdict in verdicts] == ["violation", "correct"]


def test_a_history_is_audited_and_verified_as_it_is(store: Path, tmp_path: Path, run: Any) -> None:
    wrong, right = sorted(str(path) for path in store.glob("etcd append/*/history.edn"))
    assert run("audit", "--from", "elle", wrong, "--isolation", "snapshot").status == 0
    found = run("audit", "--from", "elle", wrong, "--isolation", "serializable", "--format", "json")
    assert (found.status, found.json["core"]) == (1, [0, 1])
    assert run("audit", "--from", "elle", wrong).status == 2  # no level is named
    witness = str(tmp_path / "witness.json")
    audited = run("audit", "--from", "elle", right, "--isolation", "serializable", "--witness", witness)
    assert audited.status == 0
    assert run("verify", "--from", "elle", right, witness).status == 0
    assert run("verify", "--from", "elle", wrong, witness).status in (1, 2)


def test_chronos_names_its_level(tmp_path: Path, run: Any) -> None:
    path = tmp_path / "h.json"
    clock = {"sts": {"p": 1, "l": 0}, "cts": {"p": 2, "l": 0}}
    path.write_text(
        json.dumps([{"tid": 1, "sid": 1, **clock, "ops": [{"t": "w", "k": 1, "v": 2}, {"t": "r", "k": 1}]}])
    )
    assert run("audit", "--from", "chronos", str(path)).status == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("audit", "--from", "elle", "{file}", "--isolation", "serializable"), "h.txt: event 0: no operation"),
        (("audit", "--from", "polysi", "nowhere", "--isolation", "serializable"), "nowhere: No such file"),
        (("audit", "--from", "polysi", "{file}", "{file}"), "one FILE at a time"),
        (("log", "import", "--from", "polysi", "{file}", "--begin", "x", "--out", "{out}"), "--begin"),
        (("log", "import", "{file}", "--out", "{out}"), "needs --begin"),
        (("log", "import", "--from", "elle", "{folder}", "--out", "{out}"), "no history.edn"),
        (("audit", "{file}", "--isolation", "serializable"), "--from polysi"),
    ],
)
def test_what_cannot_be_imported(arguments: tuple[str, ...], message: str, tmp_path: Path, run: Any) -> None:
    file = tmp_path / "h.txt"
    file.write_text("w(1,1,1,1)\n")
    places = {"{file}": str(file), "{out}": str(tmp_path / "out.jsonl"), "{folder}": str(tmp_path)}
    ended = run(*(places.get(word, word) for word in arguments))
    assert ended.status == 2
    assert message in ended.err
    assert ended.out == ""
    assert not (tmp_path / "out.jsonl").exists()


# --- the simulated store ----------------------------------------------------------------------------------------------

SMALL = Shape("list", keys=8, operations=(1, 5))


def simulated(folder: Path, shape: Shape, plan: Plan) -> str:
    made = SimulatedObjects(Objects(shape), plan)
    header = {"format": "troubadour-log", "version": 1, **made.header()}
    path = folder / "simulated.jsonl"
    path.write_text("\n".join(map(json.dumps, [header, *made.lines()])) + "\n")
    return str(path)


def test_equal_seeds_give_equal_logs(tmp_path: Path, run: Any) -> None:
    plan = Plan(200, 5, seed=3, aborts=0.1, unknown=0.1, late=0.2)
    first = Path(simulated(tmp_path, SMALL, plan)).read_text()
    assert Path(simulated(tmp_path, SMALL, plan)).read_text() == first
    lines = [json.loads(line) for line in first.splitlines()[1:]]
    assert {line["status"] for line in lines} == {"committed", "aborted", "unknown"}
    assert sorted(line["id"] for line in lines) == list(range(200))
    assert [line["id"] for line in lines] != sorted(line["id"] for line in lines)


@pytest.mark.parametrize("type", ["register", "list", "set", "counter"])
@pytest.mark.parametrize("isolation", ["snapshot", "serializable"])
def test_without_a_fault_a_run_is_correct(type: Type, isolation: str, tmp_path: Path, run: Any) -> None:
    shape = Shape(type, keys=6, operations=(1, 4), distribution="hotspot", writes_per_key=9)
    log = simulated(tmp_path, shape, Plan(30, 6, isolation=isolation, seed=1, aborts=0.1, unknown=0.05, late=0.1))
    assert run("audit", log, "--isolation", f"strict-{isolation.replace('serializable', 'snapshot')}").status == 0
    assert run("audit", log).status == 0


SHOWN = {
    "stale-snapshot": 0,
    "non-atomic-visibility": 2,
    "lost-update": 1,
    "dirty-read": 1,
    "aborted-read": 0,
    "write-dropped": 0,
    "own-write-missed": 0,
    "clock-skew": 0,
    "session": 0,
}
"""A seed with which the fault shows at strict-snapshot."""


@pytest.mark.parametrize("fault", list(SHOWN))
def test_a_fault_shows(fault: str, tmp_path: Path, run: Any) -> None:
    shape = Shape("register", keys=4, operations=(2, 4))
    plan = Plan(25, 4, isolation="serializable", seed=SHOWN[fault], fault=fault, rate=0.6)
    assert run("audit", simulated(tmp_path, shape, plan), "--isolation", "strict-snapshot", "--quiet").status == 1


@pytest.mark.parametrize("fault", list(FAULTS))
def test_every_fault_happens(fault: str) -> None:
    made = SimulatedObjects(Objects(SMALL), Plan(200, 8, isolation="serializable", seed=1, fault=fault, aborts=0.1))
    assert len(list(made.lines())) == 200
    assert made.told.happened > 0
    with pytest.raises(ValueError, match="is none of"):
        SimulatedObjects(Objects(SMALL), Plan(1, fault="uniqueness"))


def test_the_options_of_the_command(tmp_path: Path, run: Any) -> None:
    out = tmp_path / "run.jsonl"
    made = run(
        "record", "simulated", "--workload", "objects", "--type", "counter", "--operations", "1-3", "--keys", "4",
        "--distribution", "zipf", "--transactions", "30", "--fault", "lost-update", "--out", str(out),
    )  # fmt: skip
    assert made.status == 0
    assert "lost-update happened" in made.err
    assert json.loads(out.read_text().splitlines()[0])["objects"] == {"c": "counter"}
    for wrong in (("--fault", "uniqueness"), ("--operations", "5-1"), ("--isolation", "read-committed")):
        ended = run("record", "simulated", "--workload", "objects", *wrong, "--out", str(tmp_path / "no.jsonl"))
        assert ended.status == 2, wrong

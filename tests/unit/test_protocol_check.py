"""`troubadour protocol`: verdicts, exit status, refusals, and what a refutation rests on."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.unit.commands import Ended, measured, refused
from troubadour.cli.main import cli, main
from troubadour.coverage.library import library_of
from troubadour.formats import read_log
from troubadour.model.verdict import Status
from troubadour.oracle import explain
from troubadour.protocols.check import Limits, Outcome, Verdict
from troubadour.protocols.check import check as decide
from troubadour.protocols.levels import PROTOCOL_LEVELS
from troubadour.protocols.loading import load_model
from troubadour.protocols.proofs.obligations import invariants_of, obligations_of
from troubadour.protocols.proofs.prove import Clock, Prover
from troubadour.protocols.runs.machine import Bound
from troubadour.protocols.runs.possible import Possible
from troubadour.protocols.runs.simulate import read_programs
from troubadour.protocols.runs.trace import Seen, clients_of
from troubadour.report.protocol import render_check_text
from troubadour.solver.protocols import Reading
from troubadour.solver.session import Answer

REGISTER = '''
class Register(Protocol):
    """One server, no locks: a read and a write are separate steps."""
    level = "serializable"
    value = state(Key, to=Val)
    seen = state(Txn, Key, to=Val)
    phase = state(Txn, to=Enum("new", "read", "done"))

    @initial
    def start(s, t: Txn):
        return s.phase(t) == "new"

    @event(refines="skip")
    def read(s, t: Txn, k: Key):
        guard(s.phase(t) == "new", reads(t, k))
        return s.but(seen={(t, k): s.value(k)}, phase={t: "read"})

    @event(refines="commit")
    def write(s, t: Txn, k: Key, v: Val):
        guard(s.phase(t) == "read", forall(Key, lambda j: writes(t, j) == (j == k)))
        commit(t, reads=s.seen, writes={k: v})
        return s.but(value={k: v}, phase={t: "done"})

    @invariant
    def fresh(s, t: Txn, k: Key):
        return implies(s.phase(t) == "read", s.seen(t, k) == s.value(k))

    @abstraction
    def versions(s, k: Key):
        return s.value(k)
'''

SERIAL = '''
class Serial(Protocol):
    """One step does everything."""
    level = "strict-serializable"
    value = state(Key, to=Val)
    over = state(Txn, to=Bool)
    odd = state(Key, to=Bool)

    @initial
    def start(s, t: Txn, k: Key):
        return none_of(s.over(t), s.odd(k))

    @event(refines="commit")
    def all_at_once(s, t: Txn):
        guard(~s.over(t))
        commit(t, reads=lambda k: s.value(k))
        return s.but(over={t: True}, value=lambda k: ite(writes(t, k), written(t, k), s.value(k)))

    @invariant
    def over_when_committed(s, t: Txn):
        return all_of(*(kept == s.over(t) for kept in (s.issued(t), s.committed(t), s.returned(t))))

    @abstraction
    def versions(s, k: Key):
        return s.value(k)
'''


EARLY = '''
class Early(Protocol):
    """A client has its answer before its transaction takes place."""
    level = "serializable"
    value = state(Key, to=Val)
    phase = state(Txn, to=Enum("new", "answered", "done"))

    @initial
    def start(s, t: Txn):
        return s.phase(t) == "new"

    @event(refines="skip", issues=True, returns=True)
    def answer(s, t: Txn):
        guard(s.phase(t) == "new")
        return s.but(phase={t: "answered"})

    @event(refines="commit")
    def happen(s, t: Txn):
        guard(s.phase(t) == "answered")
        commit(t, reads=lambda k: s.value(k))
        return s.but(phase={t: "done"}, value=lambda k: ite(writes(t, k), written(t, k), s.value(k)))

    @invariant
    def done_when_committed(s, t: Txn):
        return s.committed(t) == (s.phase(t) == "done")

    @abstraction
    def versions(s, k: Key):
        return s.value(k)
'''


COUNTER = '''
class Counter(Protocol):
    """A transaction takes the next number and does all at once; its commit tells what the state said before it read."""
    level = "serializable"
    next = state(to=Time)
    number = state(Txn, to=Time)
    source = state(Txn, Key, to=Txn)
    latest = state(Key, to=Txn)
    over = state(Txn, to=Bool)

    @initial
    def start(s, t: Txn, k: Key):
        return (s.next() == 1) & (s.number(t) == 0) & ~s.over(t) & (s.latest(k) == initially())

    @event(refines="commit")
    def everything(s, t: Txn):
        guard(~s.over(t))
        commit(t, reads=s.source)
        return s.but(
            next=lambda: s.next() + 1,
            number={t: s.next()},
            over={t: True},
            source=lambda u, k: ite(u == t, s.latest(k), s.source(u, k)),
            latest=lambda k: ite(writes(t, k), t, s.latest(k)),
        )

    @invariant
    def latest_is_newest(s, t: Txn, k: Key):
        w = s.latest(k)
        newest = forall(Txn, lambda u: implies(s.over(u) & writes(u, k), s.number(u) <= s.number(w)))
        return newest & writes(w, k) & (s.over(w) | (w == initially()))

    @invariant
    def numbers(s, t: Txn, u: Txn):
        first = ~s.over(initially()) & (s.number(initially()) == 0) & (s.next() > 0)
        between = implies(s.over(t), (s.number(t) < s.next()) & (s.number(t) > 0))
        return first & between & implies(s.over(t) & s.over(u) & (s.number(t) == s.number(u)), t == u)

    @invariant
    def over_when_committed(s, t: Txn):
        return s.committed(t) == s.over(t)

    @invariant
    def read_newest(s, t: Txn, k: Key, u: Txn):
        w = s.source(t, k)
        seen = s.over(u) & writes(u, k) & (s.number(u) < s.number(t))
        there = (s.over(w) | (w == initially())) & writes(w, k) & (s.number(w) < s.number(t))
        return implies(s.over(t), there & implies(seen, s.number(u) <= s.number(w)))

    @abstraction
    def before(s, a: Txn, b: Txn):
        return s.number(a) < s.number(b)

    @abstraction
    def visible(s, a: Txn, t: Txn):
        return s.number(a) < s.number(t)
'''


def check(*arguments: str) -> Ended:
    ended = CliRunner().invoke(cli, ["protocol", "check", *arguments])
    return Ended(ended.exit_code, ended.stdout, ended.stderr)


def model(folder: Path, text: str) -> str:
    path = folder / "model.py"
    path.write_text(text, encoding="utf-8")
    return f"{path}:{text.split('class ')[1].split('(')[0]}"


def test_real_time_is_what_strict_serializability_adds(tmp_path: Path) -> None:
    """Serializable, as the abstract store knows no times; and by its history refuted where real time counts."""
    assert quickly(tmp_path, EARLY).verdict is Verdict.PROVED
    kept = tmp_path / "kept.jsonl"
    ended = check(model(tmp_path, EARLY), "--level", "strict-serializable", "--out", str(kept))
    assert ended.status == 1, ended.out
    log = read_log([kept])
    said = {name: explain(log, library_of(log), name).status for name in ("serializable", "strict-serializable")}
    assert said == {"serializable": Status.CORRECT, "strict-serializable": Status.VIOLATION}


def test_the_register_is_refuted(tmp_path: Path) -> None:
    kept = tmp_path / "kept.jsonl"
    ended = check(model(tmp_path, REGISTER), "--out", str(kept))
    assert ended.status == 1, ended.out
    assert "REFUTED at serializable" in ended.out
    assert "VIOLATION at serializable" in ended.out
    log = read_log([kept])
    # the oracle agrees, and a weaker level allows the lost update
    assert explain(log, library_of(log), "serializable").status is Status.VIOLATION
    assert explain(log, library_of(log), "causal").status is Status.CORRECT


def test_what_a_commit_tells_is_what_the_axioms_are_of(tmp_path: Path) -> None:
    """The state after the commit says that the newest was read; what the commit told its client is what was there
    before. But for this one obligation all would be proved."""
    name = model(tmp_path, COUNTER)
    read = load_model(name)
    prover = Prover(invariants_of(read), Clock(None))
    decided = [prover.decide(one) for one in obligations_of(read, PROTOCOL_LEVELS[read.level])]
    assert [one.obligation.name for one in decided if not one.proved] == ["what was read stays"]
    assert check(name).status == 1


def test_one_object_of_json(tmp_path: Path) -> None:
    said = check(model(tmp_path, REGISTER), "--format", "json").json
    assert (said["verdict"], said["level"], said["audit"]["verdict"]) == ("refuted", "serializable", "violation")
    assert len(said["trace"]) == 4
    assert said["counterexample_to_induction"] is None


def test_a_serial_register_is_proved(tmp_path: Path) -> None:
    ended = check(model(tmp_path, SERIAL), "--format", "json")
    assert ended.status == 0, ended.out
    assert ended.json["obligations"]["proved"] == ended.json["obligations"]["total"] > 0


def quickly(folder: Path, text: str) -> Outcome:
    """The check of a model with few runs and the least bounded search."""
    read = load_model(model(folder, text))
    return decide(read, read.level, Limits(Bound(transactions=1), operations=1, runs=2))


def test_a_counterexample_to_induction_refutes_nothing(tmp_path: Path) -> None:
    """Nothing is ever odd, but nothing says that the first writer is never over."""
    text = SERIAL.replace("over={t: True},", "over={t: True}, odd=lambda k: s.odd(k) | s.over(initially()),")
    tidy = "    @invariant\n    def tidy(s, k: Key):\n        return ~s.odd(k)\n\n"
    outcome = quickly(tmp_path, text.replace("    @abstraction", tidy + "    @abstraction"))
    assert outcome.verdict is Verdict.OPEN
    (failed,) = outcome.failed
    what = failed.obligation
    assert (what.kind, what.name, what.event) == ("consecution", "tidy", "all_at_once")
    assert outcome.lacking is not None
    (first,) = [line.partition(" = ")[2] for line in outcome.lacking.state if line.startswith("initially = ")]
    assert f"over({first}) = True" in outcome.lacking.state
    assert outcome.trace is None
    said = render_check_text(outcome, Limits(), None, 0.0)
    assert "a counterexample to induction, which need not be reachable and refutes nothing:" in said


def test_unknown_is_no_proof(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("troubadour.protocols.proofs.prove.STEPS", 1)
    monkeypatch.setattr("troubadour.protocols.proofs.prove.STEPS_QUANTIFIED", 1)
    outcome = quickly(tmp_path, SERIAL)
    assert outcome.verdict is Verdict.OPEN
    assert "unknown" in outcome.failed[0].reason


def test_a_second_decision_has_to_agree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = Reading.decide
    monkeypatch.setattr(
        Reading, "decide", lambda self, f, b, seed=0: Answer.UNKNOWN if seed else first(self, f, b, seed)
    )
    outcome = quickly(tmp_path, SERIAL)
    assert outcome.verdict is Verdict.OPEN
    assert "did not confirm" in outcome.failed[0].reason


def test_another_solver_may_decide_the_second_time(tmp_path: Path) -> None:
    read = load_model(model(tmp_path, SERIAL))
    asked: list[str] = []

    def second(text: str, seconds: float) -> Answer:
        asked.append(text)
        return Answer.UNKNOWN if len(asked) > 2 else Answer.UNSATISFIABLE

    prover = Prover(invariants_of(read), Clock(None), second)
    decided = [prover.decide(one) for one in obligations_of(read, PROTOCOL_LEVELS[read.level])[:4]]
    assert [one.proved for one in decided] == [True, True, False, False]
    assert all(text.rstrip().endswith("(check-sat)") for text in asked)


def test_a_proof_of_an_event_that_cannot_be_says_so(tmp_path: Path) -> None:
    text = SERIAL.replace(
        "    @invariant",
        """    @event(refines="skip")
    def again(s, t: Txn):
        guard(s.over(t), ~s.over(t))
        return s.but(over={t: False})

    @invariant""",
        1,
    )
    outcome = quickly(tmp_path, text)
    assert outcome.verdict is Verdict.PROVED
    assert outcome.possible["again"] is Possible.CONTRADICTORY
    assert "never taken: again, its guards contradict the invariants" in render_check_text(outcome, Limits(), None, 0.0)


def test_a_proof_of_what_never_commits_is_none(tmp_path: Path) -> None:
    text = SERIAL.replace("guard(~s.over(t))", "guard(~s.over(t), s.over(t))")
    ended = check(model(tmp_path, text), "--bound", "operations=2", "--timeout", "100")
    assert ended.status == 3, ended.out
    assert "all_at_once (its guards contradict the invariants)" in ended.out.splitlines()[0]


def test_a_commit_event_that_no_run_reaches_is_named(tmp_path: Path) -> None:
    """Its guards are satisfiable, as nothing says that no key is odd; and yet none ever is."""
    text = SERIAL.replace("guard(~s.over(t))", "guard(~s.over(t), s.odd(k))").replace(
        "(s, t: Txn):\n        guard", "(s, t: Txn, k: Key):\n        guard"
    )
    ended = check(model(tmp_path, text), "--timeout", "100")
    assert ended.status == 3, ended.out
    said = ended.out.splitlines()
    assert said[0].startswith(
        "OPEN at strict-serializable: no run within the bound reaches all_at_once (its guards are"
    )
    assert said[1] == "10 of 10 obligations proved, 10 tried"
    found = check(model(tmp_path, text), "--timeout", "100", "--format", "json").json
    assert found["unreached"] == {"all_at_once": "its guards are satisfiable"}


@pytest.mark.parametrize(
    "holds",
    [
        "forall(Time, lambda x: (x < s.at(t)) | s.over(t))",
        "forall(Bool, lambda b: b | s.over(t))",
        "forall(Val, Key, lambda v, k: v == s.value(k))",
    ],
)
def test_an_invariant_may_be_about_all_of_a_sort(tmp_path: Path, holds: str) -> None:
    """These do not hold initially, and a finite counterexample says so."""
    text = SERIAL.replace("    odd =", "    at = state(Txn, to=Time)\n    odd =")
    more = f"    @invariant\n    def wrong(s, t: Txn):\n        return {holds}\n\n    @abstraction"
    outcome = quickly(tmp_path, text.replace("    @abstraction", more))
    assert outcome.verdict is Verdict.OPEN
    assert [(one.obligation.kind, one.obligation.name) for one in outcome.failed] == [("initiation", "wrong")]
    assert outcome.lacking is not None
    assert outcome.lacking.state


def test_the_time_limit_holds_and_says_what_is_undecided() -> None:
    ended = check("eiger-port-plus", "--timeout", "0.2", "--format", "json")
    assert ended.status == 3
    assert ended.json["reason"] == "the time limit was reached"
    asked = ended.json["obligations"]
    assert asked["undecided"] > 0
    assert asked["undecided"] == asked["total"] - asked["proved"] - len(asked["failed"])
    said = check("eiger-port-plus", "--timeout", "0.2").out.splitlines()
    assert said[0] == "OPEN at causal: the time limit was reached"
    (undecided,) = [line for line in said if line.startswith("undecided: ")]
    assert re.search(r"the first of them (initiation|consecution|refinement) of ['\"].+['\"]", undecided)


LARGEST = "keys=9,clients=9,transactions=9,times=9,operations=9"


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["eiger-port-plus", "--timeout", "0.5"], 3),
        (["eiger-port-plus", "--level", "prefix", "--timeout", "1", "--bound", LARGEST], 3),
        (["s2pl", "--timeout", "1", "--bound", LARGEST], 3),
    ],
)
def test_the_time_limit_holds_from_start_to_end(arguments: list[str], status: int) -> None:
    """Of a program of its own, in its processor time."""
    command = [sys.executable, "-c", "from troubadour.cli.main import main; main()", "protocol", "check", *arguments]
    ended = measured(*command)
    assert ended.status == status, ended.out + ended.err
    assert "the time limit was reached" in ended.out
    assert ended.seconds < 1 + 2


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.5, 2.0, 5.0])
@pytest.mark.parametrize("level", ["causal", "parallel-snapshot", "serializable"])
@pytest.mark.parametrize("name", ["s2pl", "eiger-port-plus", "eiger-port", "tapir"])
def test_the_time_limit_holds_wherever_it_falls(name: str, level: str, seconds: float) -> None:
    """In runs, in proofs, in searches, in the audit of what they found."""
    said = check(name, "--level", level, "--timeout", str(seconds), "--format", "json").json
    assert said["seconds"] <= seconds + 2.0, said["reason"]


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ('@event(refines="commit")', '@event(refines="skip")', "commit"),
        ("s.but(over=", "s.but(ovr=", "unknown state name 'ovr'"),
        ("guard(~s.over(t))", "guard(~s.ovr(t))", "unknown state name 'ovr'"),
        ("guard(~s.over(t))", "raise KeyError('no')", "KeyError"),
        ("guard(~s.over(t))", "raise SystemExit(0)", "SystemExit"),
        ("reads=lambda k: s.value(k)", "reads=lambda k: 1 / 0", "commit raised ZeroDivisionError"),
        ("value=lambda k: ite(", "value=lambda k: [][0] + ite(", "value raised IndexError"),
        ("return s.value(k)", "return {}['no']", "versions raised KeyError"),
        ("guard(~s.over(t))", "guard(~s.committed(t))", "only records"),
        ("guard(~s.over(t))", "guard(s.over(t) == 'done')", "not of sort"),
        ("guard(~s.over(t))", "if s.over(t): pass", "condition is a term"),
        ('level = "strict-serializable"', 'level = "rather-good"', "unknown level"),
        ('level = "strict-serializable"', "", "names no level"),
        ("guard(~s.over(t))", "guard(forall(Time, lambda x: x < 4))", "Time has no end"),
        ("class Serial", "import nowhere_to_be_found\n\nclass Serial", "ModuleNotFoundError"),
        ("over={t: True}", "over={t: True", "SyntaxError"),
        ("import", "import", "no protocol"),
    ],
)
def test_bad_models_are_refused(tmp_path: Path, old: str, new: str, word: str) -> None:
    name = model(tmp_path, SERIAL.replace(old, new))
    refused(check(name + "x" if word == "no protocol" else name), word)


def test_a_model_without_a_commit_event_is_refused(tmp_path: Path) -> None:
    text = SERIAL.replace('refines="commit"', 'refines="skip"')
    text = "".join(line for line in text.splitlines(keepends=True) if "commit(t" not in line)
    refused(check(model(tmp_path, text)), "Serial has no event that refines commit")


def test_with_axioms_a_commit_tells_what_the_program_writes(tmp_path: Path) -> None:
    for writes in ("lambda k: written(initially(), k)", "{k: written(t, k)}"):
        text = COUNTER.replace("reads=s.source)", f"reads=s.source, writes={writes})").replace(
            "(s, t: Txn):\n        guard", "(s, t: Txn, k: Key):\n        guard"
        )
        refused(check(model(tmp_path, text)), "commit writes what the program writes")


def test_logs_that_cannot_be_written_are_refused(tmp_path: Path) -> None:
    name, nowhere = model(tmp_path, REGISTER), str(tmp_path / "none" / "run.jsonl")
    refused(check(name, "--out", nowhere), nowhere)
    for arguments, word in (
        ([name, "--out", nowhere], nowhere),
        (["s3pl", "--out", "x"], "unknown protocol"),
        (["s2pl", "--bound", "operations=2", "--out", "x"], "for check alone"),
    ):
        ended = CliRunner().invoke(cli, ["protocol", "run", *arguments])
        refused(Ended(ended.exit_code, ended.stdout, ended.stderr), word)


def test_bad_options_are_refused(tmp_path: Path) -> None:
    refused(check("s2pl", "--level", "perfect"), "unknown level 'perfect'")
    refused(check("s2pl", "--level", "snapshot"), "unknown level 'snapshot'")
    refused(check("s2pl", "--keeping", "perfect"), "unknown level 'perfect'")
    refused(check("s2pl", "--programs", "r1 q2"), "'q2' is none of")
    refused(check("s3pl"), "unknown protocol")
    refused(check(str(tmp_path / "none.py:X")), "none.py")


def test_a_bound_is_a_small_number(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["protocol", "check", "s2pl", "--bound", "keys=x"])
    said = capsys.readouterr()
    refused(Ended(int(str(ended.value)), said.out, said.err), "keys=x")


def test_the_levels_are_listed() -> None:
    ended = CliRunner().invoke(cli, ["protocol", "levels"])
    assert ended.exit_code == 0
    assert [line.split()[0] for line in ended.output.splitlines()][-2:] == ["serializable", "strict-serializable"]


def test_a_run_is_a_log(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    ended = CliRunner().invoke(cli, ["protocol", "run", "s2pl", "--seed", "3", "--out", str(path)])
    assert ended.exit_code == 0, ended.output
    audited = CliRunner().invoke(cli, ["audit", str(path), "--format", "json"])
    assert audited.exit_code == 0
    assert json.loads(audited.output)["isolation"] == "strict-serializable"
    again = tmp_path / "again.jsonl"
    CliRunner().invoke(cli, ["protocol", "run", "s2pl", "--seed", "3", "--out", str(again)])
    assert again.read_bytes() == path.read_bytes()


STRANGERS = Path(__file__).parents[1] / "data" / "strangers-3"


def test_a_proof_at_a_level_of_real_time_needs_a_run_that_has_it() -> None:
    """Only what aborts returns, so real time orders nothing that commits."""
    ended = check(f"{STRANGERS / 'stale_abort.py'}:StaleAbort", "--level", "strict-serializable", "--format", "json")
    assert (ended.status, ended.json["verdict"]) == (3, "open")
    assert ended.json["obligations"]["proved"] == ended.json["obligations"]["total"]
    assert ended.json["reason"].startswith("no committed transaction returns before another one begins")
    assert ended.json["committed"] == ["r1", "r1 r2", "w1", "w1 w2"]
    assert "r1 w1" in ended.json["never_committed"]


def test_histories_carry_their_clients_whatever_the_model_asks_for() -> None:
    name, programs = f"{STRANGERS / 'mvto.py'}:MVTO", "w1 @1; r1 @1"
    ended = check(name, "--level", "causal", "--programs", programs, "--format", "json")
    assert (ended.status, ended.json["audit"]["verdict"]) == (1, "violation")


def test_a_clients_transactions_that_overlap_are_two_clients() -> None:
    programs = read_programs("w1 @1; w1 @1; w1 @1; w1 @2", Bound(transactions=4))
    commits = tuple((t, (), ((0, t),)) for t in (2, 1, 3, 4))
    after = ((1, frozenset[int]()), (2, frozenset[int]()), (3, frozenset({1, 2})), (4, frozenset[int]()))
    clients = clients_of(programs, Seen(after, commits))
    assert clients[1] == clients[3] != clients[2] != clients[4] != clients[1]


def test_a_choice_within_the_quantifier_of_a_choice() -> None:
    assert check(f"{STRANGERS / 'nest_min.py'}:Nest", "--format", "json").status == 0


@pytest.mark.parametrize(
    ("writes", "word"),
    [
        ("{k: written(t, k)}", "commit's writes= drops a program's write"),
        ("{k: written(t, k), j: written(t, j)}", "commit's writes= adds to a program's write"),
    ],
)
def test_a_commit_that_writes_something_else_than_its_program_is_refused(
    tmp_path: Path, writes: str, word: str
) -> None:
    text = SERIAL.replace("def all_at_once(s, t: Txn)", "def all_at_once(s, t: Txn, k: Key, j: Key)")
    text = text.replace("guard(~s.over(t))", "guard(~s.over(t), writes(t, k))")
    refused(
        check(
            model(
                tmp_path,
                text.replace(
                    "s.value(k))\n        return s.but(over", f"s.value(k), writes={writes})\n        return s.but(over"
                ),
            )
        ),
        word,
    )


def test_that_a_commit_may_drop_a_write_is_an_obligation(tmp_path: Path) -> None:
    """Runs need not come to it."""
    text = SERIAL.replace("commit(t, reads=", "guard(s.odd(k) | ~writes(t, k))\n        commit(t, writes={}, reads=")
    read = load_model(
        model(tmp_path, text.replace("(s, t: Txn):\n        guard", "(s, t: Txn, k: Key):\n        guard"))
    )
    names = [one.name for one in obligations_of(read, PROTOCOL_LEVELS[read.level])]
    assert "a commit writes what its program writes" in names


def test_the_time_limit_holds_for_the_models_own_code(tmp_path: Path) -> None:
    for text in ("while True:\n    pass\n\nclass X(Protocol):\n    pass\n", _DEAF):
        said = check(model(tmp_path, text), "--timeout", "1", "--format", "json")
        assert (said.status, said.json["verdict"], said.json["reason"]) == (3, "open", "the time limit was reached")
    assert check(model(tmp_path, _DEAF), "--timeout", "1").out.startswith("OPEN: the time limit was reached")


_DEAF = """
class Deaf(Protocol):
    level = "serializable"
    value = state(Key, to=Val)

    @event(refines="commit")
    def never(s, t: Txn):
        while True:
            try:
                sum(range(1000))
            except BaseException:
                pass
"""


def test_that_a_model_is_executed_is_said() -> None:
    assert "run as Python" in " ".join(CliRunner().invoke(cli, ["protocol", "check", "--help"]).output.split())

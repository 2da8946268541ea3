"""Certificates: the server's messages, the file, the order that snapshots give, and what an audit makes of them."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tests.unit.commands import HEADER, refused, transaction, write
from troubadour.audit.certified.order import Incomplete, certified_order
from troubadour.audit.violation import blame
from troubadour.coverage.library import library_of
from troubadour.execution.initial.rows import known_rows
from troubadour.formats import read_log
from troubadour.formats.certificate import read_certificate
from troubadour.model.log import LogError
from troubadour.problem.problem import Problem
from troubadour.proof.refutation import Question
from troubadour.record.errors import RecordError
from troubadour.record.postgres.pgoutput import UNCHANGED, Decoder

ITEMS = "CREATE TABLE items (id INT PRIMARY KEY, v INT NOT NULL)"
FIG_3 = {**HEADER, "schema": [ITEMS], "initial": {}, "isolation": "serializable", "log_id": "fig-3"}
POSITIVE = "SELECT id FROM items WHERE v > 0"


def insert(id: str, key: int, **fields: Any) -> dict[str, Any]:
    return transaction(f"INSERT INTO items VALUES ({key}, 1)", id=id, affected=1, **fields)


def header(scheme: str = "snapshot", **fields: Any) -> str:
    entry = {"format": "troubadour-certificate", "version": 1, "log_id": "fig-3", "scheme": scheme, **fields}
    return json.dumps(entry) + "\n"


def certificate(folder: Path, *entries: Any, scheme: str = "snapshot", **fields: Any) -> str:
    """A certificate with its end."""
    commits = sum(entry["kind"] == "commit" for entry in entries)
    end = {"kind": "end", "commits": commits, "reads": len(entries) - commits}
    lines = [header(scheme, **fields), *(json.dumps(entry) + "\n" for entry in (*entries, end))]
    path = folder / "run.cert.jsonl"
    path.write_text("".join(lines), encoding="utf-8")
    return str(path)


def commit(xid: int, *changes: Any, place: int | None = None) -> dict[str, Any]:
    return {"kind": "commit", "xid": str(xid), "place": xid if place is None else place, "changes": list(changes)}


def read(id: str, snapshot: str, **fields: Any) -> dict[str, Any]:
    return {"kind": "read", "transaction": id, "snapshot": snapshot, **fields}


def inserted(key: int) -> list[Any]:
    return ["items", "insert", None, {"id": key, "v": 1}]


class TestMessages:
    RELATION = b"R" + struct.pack(">I", 7) + b"public\0t\0d" + struct.pack(">H", 2)
    RELATION += b"\1id\0" + struct.pack(">Ii", 23, -1) + b"\0note\0" + struct.pack(">Ii", 25, -1)
    BEGIN = b"B" + struct.pack(">QqI", 4096, 0, 99)
    COMMIT = b"C" + struct.pack(">BQQq", 0, 4096, 4100, 0)

    @staticmethod
    def row(*values: str | object | None) -> bytes:
        parts = [struct.pack(">H", len(values))]
        for value in values:
            if isinstance(value, str):
                parts.append(b"t" + struct.pack(">I", len(value.encode())) + value.encode())
            else:
                parts.append(b"n" if value is None else b"u")
        return b"".join(parts)

    def test_changes_of_a_transaction_come_with_its_commit(self) -> None:
        decoder = Decoder()
        number = struct.pack(">I", 7)
        messages = [
            self.RELATION,
            self.BEGIN,
            b"I" + number + b"N" + self.row("1", "ä"),
            b"U" + number + b"K" + self.row("1", None) + b"N" + self.row("2", UNCHANGED),
            b"D" + number + b"K" + self.row("2", None),
            b"T" + struct.pack(">IB", 1, 0) + number,
        ]
        assert [decoder.take(message) for message in messages] == [None] * len(messages)
        ended = decoder.take(self.COMMIT)
        assert ended is not None
        assert (ended.place, ended.xid) == (4096, 99)
        assert [(c.kind, c.old, c.new) for c in ended.changes] == [
            ("insert", None, ("1", "ä")),
            ("update", ("1", None), ("2", UNCHANGED)),
            ("delete", ("2", None), None),
            ("truncate", None, None),
        ]

    def test_what_is_not_of_the_protocol_is_refused(self) -> None:
        with pytest.raises(RecordError):
            Decoder().take(b"Z")
        with pytest.raises(RecordError):
            Decoder().take(b"I" + struct.pack(">I", 7))


@pytest.mark.parametrize(
    ("lines", "word"),
    [
        ([""], "line 1"),
        ([header(), '{"kind":"end","commits":0,"reads":0}'], "torn"),
        ([header()], "the end line is missing"),
        ([header(), json.dumps(commit(1)) + "\n", json.dumps(commit(1)) + "\n"], "commits twice"),
        ([header(), json.dumps(read("a", "5:3:")) + "\n"], "contradicts itself"),
        ([header(), json.dumps(read("a", "3:5:9")) + "\n"], "contradicts itself"),
        ([header(), json.dumps(read("a", "x")) + "\n"], "line 2"),
        ([header(), '{"kind":"commit","xid":"1","plaice":2}\n'], "line 2"),
        ([header(), '{"kind":"end","commits":1,"reads":0}\n'], "it counts 1 commits"),
        ([header("serialization-order"), json.dumps(read("a", "1:1:")) + "\n"], "timestamp"),
    ],
)
def test_a_file_that_cannot_be_used_names_its_line(tmp_path: Path, lines: list[str], word: str) -> None:
    path = tmp_path / "c.jsonl"
    path.write_text("".join(lines) or "\n")
    with pytest.raises(LogError, match=word) as refusal:
        read_certificate(path)
    assert "\n" not in str(refusal.value)


class TestOrder:
    def order(self, folder: Path, *entries: Any) -> list[str]:
        """Three writers t1 to t3, as the ids 11 to 13, and a reader r."""
        transactions = [insert(f"t{n}", n, xid=str(10 + n)) for n in (1, 2, 3)]
        log = read_log([write(folder, FIG_3, *transactions, transaction(POSITIVE, id="r"))])
        library = library_of(log)
        problem = Problem(log, library, known_rows(log, library), isolation="snapshot")
        found = certified_order(problem, read_certificate(certificate(folder, *entries)))
        return [str(problem.transaction(item).id) for item in found.order]

    COMMITS = (commit(11, place=300), commit(12, place=200), commit(13, place=100))

    def test_a_commit_stands_where_the_first_snapshot_has_it_and_ties_go_by_its_record(self, tmp_path: Path) -> None:
        reads = (read("t1", "11:11:"), read("t2", "11:11:"), read("t3", "11:11:"), read("r", "12:12:"))
        assert self.order(tmp_path, *self.COMMITS, *reads) == ["t1", "r", "t3", "t2"]

    def test_snapshots_that_see_the_same_are_one_place(self, tmp_path: Path) -> None:
        reads = (read("t1", "11:11:"), read("t2", "11:12:11"), read("t3", "10:11:10"), read("r", "13:14:13"))
        assert self.order(tmp_path, *self.COMMITS, *reads) == ["t2", "t1", "r", "t3"]

    def test_snapshots_that_form_no_chain_say_nothing(self, tmp_path: Path) -> None:
        reads = (read("t1", "11:11:"), read("t2", "11:11:"), read("t3", "11:13:11"), read("r", "12:13:12"))
        with pytest.raises(Incomplete, match="no chain"):
            self.order(tmp_path, commit(11), commit(12), commit(13), *reads)

    def test_a_snapshot_that_is_missing_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(Incomplete, match="its snapshot is missing") as missing:
            self.order(tmp_path, *self.COMMITS, *(read(f"t{n}", "11:11:") for n in (1, 2, 3)))
        assert missing.value.transaction == "r"

    def test_ids_that_have_wrapped_around_are_refused(self, tmp_path: Path) -> None:
        with pytest.raises(LogError, match="wrapped around"):
            self.order(tmp_path, commit(11 + 2**32))


class TestCommand:
    """Emme's Figure 3: serializable, but not in the order that the database says it keeps."""

    def log(self, folder: Path, seen: list[int]) -> str:
        rows = {"columns": ["id"], "rows": [[one] for one in seen]}
        return write(folder, FIG_3, insert("T1", 1), insert("T2", 2), transaction(POSITIVE, id="T3", result=rows))

    def stamps(self, folder: Path) -> str:
        entries = [{"kind": "read", "transaction": f"T{n}", "timestamp": n} for n in (1, 2, 3)]
        return certificate(folder, *entries, scheme="serialization-order")

    def test_answers_as_the_database_says_it_ran_are_accepted(self, run: Any, tmp_path: Path) -> None:
        log, stamps = self.log(tmp_path, [1, 2]), self.stamps(tmp_path)
        ended = run("audit", log, "--certificate", stamps, "--require-certificate", "--format", "json")
        assert ended.status == 0
        assert ended.json["certificate"]["status"] == "accepted"

    def test_answers_of_another_order_are_correct_but_refuted(self, run: Any, tmp_path: Path) -> None:
        log, stamps = self.log(tmp_path, [1]), self.stamps(tmp_path)
        ended = run("audit", log, "--certificate", stamps, "--format", "json")
        assert (ended.status, ended.json["certificate"]["status"]) == (0, "refuted")
        assert ended.json["certificate"]["transaction"] == "T3"
        ended = run("audit", log, "--certificate", stamps, "--require-certificate", "--format", "json")
        assert (ended.status, ended.json["scope"], ended.json["failing_transaction"]) == (1, "certificate", "T3")
        assert "the answers are possible, but not as the database says it ran" in ended.json["explanation"]

    def test_a_certificate_that_is_not_whole_leaves_the_log_undecided_where_it_is_required(
        self, run: Any, tmp_path: Path
    ) -> None:
        log = self.log(tmp_path, [1, 2])
        part = certificate(
            tmp_path, {"kind": "read", "transaction": "T1", "timestamp": 1}, scheme="serialization-order"
        )
        assert run("audit", log, "--certificate", part).status == 0
        ended = run("audit", log, "--certificate", part, "--require-certificate", "--format", "json")
        assert (ended.status, ended.json["certificate"]["status"]) == (3, "incomplete")

    def test_a_writer_outside_the_log_is_no_violation(self, run: Any, tmp_path: Path) -> None:
        rows = {"columns": ["id"], "rows": [[9]]}
        log = write(tmp_path, FIG_3, transaction(POSITIVE, id="r", result=rows))
        assert run("audit", log).status == 1
        outside = certificate(tmp_path, commit(99, inserted(9)), read("r", "100:100:"))
        ended = run("audit", log, "--certificate", outside, "--format", "json")
        assert ended.status == 3
        assert "99, which is not in the log, changed items" in ended.json["reason"]

    def test_a_row_that_the_write_ahead_log_has_otherwise_is_named(self, run: Any, tmp_path: Path) -> None:
        log = write(tmp_path, FIG_3, insert("T1", 1, xid="11"))
        other = ["items", "insert", None, {"id": 1, "v": 7}]
        told = certificate(tmp_path, commit(11, other), read("T1", "11:11:", xid="11"))
        ended = run("audit", log, "--certificate", told, "--format", "json")
        assert (ended.status, ended.json["certificate"]["status"]) == (0, "refuted")
        assert ended.json["certificate"]["because"] == "T1: v of items(id=1) is 1, and 7 in the write-ahead log"

    def test_a_certificate_of_another_log_is_refused(self, run: Any, tmp_path: Path) -> None:
        other = certificate(tmp_path, log_id="other")
        refused(run("audit", self.log(tmp_path, [1]), "--certificate", other), "of log 'other'")

    def test_columns_that_the_schema_lacks_are_refused(self, run: Any, tmp_path: Path) -> None:
        strange = certificate(tmp_path, commit(11, ["items", "insert", None, {"id": 1, "w": 1}]))
        refused(run("audit", self.log(tmp_path, [1]), "--certificate", strange), "no column 'w'")

    def test_a_certificate_that_is_required_must_be_given(self, run: Any, tmp_path: Path) -> None:
        refused(run("audit", self.log(tmp_path, [1]), "--require-certificate"), "no --certificate")


def audited(run: Any, log: str, told: str, *options: str) -> Any:
    return run("audit", log, "--certificate", told, "--format", "json", *options)


class TestEachRowOfTheTable:
    """What a certificate comes to, without and with --require-certificate."""

    def seen(self, *ids: int) -> dict[str, Any]:
        return {"columns": ["id"], "rows": [[one] for one in ids]}

    def log(self, folder: Path, *seen: int, isolation: str = "snapshot") -> str:
        """Two writers, ids 11 and 12, and a reader."""
        reader = transaction(POSITIVE, id="r", result=self.seen(*seen))
        header = {**FIG_3, "isolation": isolation}
        return write(folder, header, insert("T1", 1, xid="11"), insert("T2", 2, xid="12"), reader)

    def whole(self, snapshot: str = "12:12:") -> list[dict[str, Any]]:
        first, second = commit(11, inserted(1)), commit(12, inserted(2))
        return [first, second, read("T1", "11:11:"), read("T2", "11:11:"), read("r", snapshot)]

    @pytest.mark.parametrize("isolation", ["snapshot", "serializable", "postgres:serializable"])
    def test_what_replays_is_accepted(self, run: Any, tmp_path: Path, isolation: str) -> None:
        log, told = self.log(tmp_path, 1, isolation=isolation), certificate(tmp_path, *self.whole())
        ended = audited(run, log, told, "--require-certificate")
        expected = {"status": "accepted", "transaction": None, "because": None}
        assert (ended.status, ended.json["certificate"]) == (0, expected)

    def test_what_does_not_but_is_possible_is_refuted(self, run: Any, tmp_path: Path) -> None:
        log, told = self.log(tmp_path, 1), certificate(tmp_path, *self.whole("13:13:"))
        ended = audited(run, log, told)
        assert (ended.status, ended.json["verdict"], ended.json["certificate"]["status"]) == (0, "correct", "refuted")
        assert "statement 1 of r" in ended.json["certificate"]["because"]
        assert ended.json["certificate"]["because"].endswith("the answer is wrong, not the certificate")
        ended = audited(run, log, told, "--require-certificate")
        assert (ended.status, ended.json["scope"], ended.json["core"]) == (1, "certificate", ["r"])

    def test_where_two_answers_differ_neither_is_blamed(self, run: Any, tmp_path: Path) -> None:
        readers = [transaction(POSITIVE, id=id, result=self.seen(1)) for id in ("r", "s")]
        log = write(tmp_path, {**FIG_3, "isolation": "snapshot"}, insert("T1", 1, xid="11"), *readers)
        reads = [read("T1", "11:11:"), read("r", "11:11:"), read("s", "11:11:")]
        because = audited(run, log, certificate(tmp_path, commit(11, inserted(1)), *reads)).json["certificate"][
            "because"
        ]
        assert "statement 1 of r" in because
        assert "wrong" not in because

    def test_a_commit_sent_after_the_answer_is_the_certificates_fault(self, run: Any, tmp_path: Path) -> None:
        writer = insert("T1", 1, xid="11", invoked=30, returned=40)
        reader = transaction(POSITIVE, id="r", result=self.seen(1), invoked=10, returned=20)
        log = write(tmp_path, {**FIG_3, "isolation": "snapshot"}, writer, reader)
        told = certificate(tmp_path, commit(11, inserted(1)), read("T1", "11:11:"), read("r", "12:12:"))
        because = audited(run, log, told).json["certificate"]["because"]
        assert because.startswith("the certificate contradicts the clients' times: r")

    def test_what_nothing_explains_is_a_violation_with_two_explanations(self, run: Any, tmp_path: Path) -> None:
        log, told = self.log(tmp_path, 3), certificate(tmp_path, *self.whole())
        for options in ((), ("--require-certificate",)):
            ended = audited(run, log, told, *options)
            assert (ended.status, ended.json["certificate"]["status"]) == (1, "refuted")
            assert ended.json["explanation"]
            assert "statement 1 of r" in ended.json["certificate"]["because"]
        assert audited(run, log, told).json["scope"] == "every-order"

    @pytest.mark.parametrize("isolation", ["snapshot", "serializable"])
    def test_another_image_is_named_with_both_values(self, run: Any, tmp_path: Path, isolation: str) -> None:
        told = certificate(tmp_path, commit(11, ["items", "insert", None, {"id": 1, "v": 9}]), *self.whole()[1:])
        log = self.log(tmp_path, 1, isolation=isolation)
        assert audited(run, log, told).json["certificate"] == {
            "status": "refuted",
            "transaction": "T1",
            "because": "T1: v of items(id=1) is 1, and 9 in the write-ahead log",
        }
        assert audited(run, log, told, "--require-certificate").status == 1

    @pytest.mark.parametrize("isolation", ["snapshot", "serializable"])
    @pytest.mark.parametrize(
        ("left_out", "instead", "because"),
        [
            (4, None, "its snapshot is missing"),
            (0, None, "its commit is missing"),
            (4, read("r", "11:13:11"), "the snapshots form no chain"),
        ],
    )
    def test_what_is_missing_leaves_it_to_the_search(
        self, run: Any, tmp_path: Path, isolation: str, left_out: int, instead: dict[str, Any] | None, because: str
    ) -> None:
        entries = self.whole()
        entries[left_out : left_out + 1] = [] if instead is None else [instead]
        if instead is not None:
            entries[3] = read("T2", "12:12:")  # has T1's and not T2's commit, r's the other way round
        told, log = certificate(tmp_path, *entries), self.log(tmp_path, 1, isolation=isolation)
        ended = audited(run, log, told)
        assert (ended.status, ended.json["certificate"]["status"]) == (0, "incomplete")
        assert because in ended.json["certificate"]["because"]
        ended = audited(run, log, told, "--require-certificate")
        assert (ended.status, ended.json["verdict"]) == (3, "undecided")

    def test_a_level_of_statements_is_not_told(self, run: Any, tmp_path: Path) -> None:
        told = certificate(tmp_path, *self.whole())
        ended = audited(run, self.log(tmp_path, 1, isolation="read-committed"), told)
        assert ended.json["certificate"]["status"] in ("accepted", "incomplete")
        ended = audited(run, self.log(tmp_path, 1, isolation="postgres:read-committed"), told)
        assert ended.json["certificate"]["status"] == "incomplete"


class TestCommitsThatCountTogether:
    """A join of which two commits make one side each: either alone changes nothing."""

    HEADER: ClassVar[dict[str, Any]] = {
        **FIG_3,
        "schema": [f"CREATE TABLE {name} (id INT PRIMARY KEY)" for name in "lrt"],
    }

    def test_the_reader_stands_before_one_of_them(self, run: Any, tmp_path: Path) -> None:
        joined = transaction(
            "SELECT l.id FROM l JOIN r ON l.id = r.id", id="T", xid="13", result={"columns": ["id"], "rows": []}
        )
        joined["statements"].append({"sql": "INSERT INTO t VALUES (1)", "affected": 1})
        sides = [transaction(f"INSERT INTO {name} VALUES (1)", id=name, affected=1) for name in "lr"]
        sides[0]["xid"], sides[1]["xid"] = "11", "12"
        log = write(tmp_path, self.HEADER, *sides, joined)
        commits = [commit(xid, [name, "insert", None, {"id": 1}]) for xid, name in ((11, "l"), (12, "r"), (13, "t"))]
        told = certificate(tmp_path, *commits, *(read(id, "11:11:") for id in ("l", "r", "T")))
        ended = audited(run, log, told, "--require-certificate")
        assert (ended.status, ended.json["certificate"]["status"]) == (0, "accepted")


class TestConcurrentUpserts:
    """INSERT ... ON CONFLICT DO UPDATE beside a commit that it did not see: what is in its way is what it read, not
    its own version, nor others that it did not see."""

    HEADER: ClassVar[dict[str, Any]] = {**FIG_3, "initial": {"items": {"rows": [[1, 1], [2, 2]]}}}

    def log(self, folder: Path, *, skewed: bool) -> str:
        upsert = transaction(
            "INSERT INTO items VALUES (1, 7) ON CONFLICT (id) DO UPDATE SET v = excluded.v",
            id="a",
            xid="11",
            affected=1,
        )
        seen = {"columns": ["max"], "rows": [[2 if skewed else None]]}
        above = 1 if skewed else 5
        upsert["statements"].append({"sql": f"SELECT max(v) FROM items WHERE id > {above}", "result": seen})
        counted = {"columns": ["count"], "rows": [[0]]}
        other = transaction("SELECT count(*) FROM items WHERE v = 7", id="b", xid="12", result=counted)
        other["statements"].append({"sql": "UPDATE items SET v = 3 WHERE id = 2", "affected": 1})
        return write(folder, self.HEADER, upsert, other)

    def told(self, folder: Path) -> str:
        changes = [["items", "update", None, {"id": 1, "v": 7}]], [["items", "update", None, {"id": 2, "v": 3}]]
        commits = [commit(11 + number, *changed) for number, changed in enumerate(changes)]
        return certificate(folder, *commits, read("a", "11:11:", xid="11"), read("b", "11:11:", xid="12"))

    def test_the_other_one_stands_before_it(self, run: Any, tmp_path: Path) -> None:
        ended = audited(run, self.log(tmp_path, skewed=False), self.told(tmp_path), "--isolation", "serializable")
        assert (ended.status, ended.json["certificate"]["because"]) == (0, None)
        assert ended.json["certificate"]["status"] == "accepted"

    def test_each_missing_the_other_is_a_circle_of_named_edges(self, run: Any, tmp_path: Path) -> None:
        ended = audited(run, self.log(tmp_path, skewed=True), self.told(tmp_path), "--isolation", "serializable")
        assert (ended.status, ended.json["certificate"]["status"]) == (1, "refuted")
        steps = {step.strip() for step in ended.json["certificate"]["because"].partition(":")[2].split(";")}
        assert steps == {
            "b comes before a, whose write of items(id=1) it did not see (rw, predicate)",
            "a comes before b, whose write of items(id=2) it did not see (rw, predicate)",
        }


class TestUnknownOutcome:
    """A COMMIT that was not answered: its client learnt neither its id nor its snapshot."""

    def log(self, folder: Path, *seen: int) -> str:
        rows = {"columns": ["id"], "rows": [[one] for one in seen]}
        lost = insert("lost", 2, status="unknown")
        return write(folder, FIG_3, insert("T1", 1, xid="11"), lost, transaction(POSITIVE, id="r", result=rows))

    @pytest.mark.parametrize("isolation", ["snapshot", "serializable"])
    def test_that_it_committed_is_told(self, run: Any, tmp_path: Path, isolation: str) -> None:
        both = [commit(11, inserted(1)), commit(12, inserted(2))]
        told = certificate(tmp_path, *both, read("T1", "11:11:"), read("r", "13:13:"))
        ended = audited(run, self.log(tmp_path, 1, 2), told, "--isolation", isolation, "--require-certificate")
        assert (ended.status, ended.json["certificate"]["status"]) == (0, "accepted")
        assert "lost, of unknown outcome, committed, as the certificate says" in ended.json["notes"]

    def test_that_it_did_not_is_told(self, run: Any, tmp_path: Path) -> None:
        told = certificate(tmp_path, commit(11, inserted(1)), read("T1", "11:11:"), read("r", "13:13:"))
        ended = audited(run, self.log(tmp_path, 1), told, "--require-certificate")
        assert ended.status == 0
        assert "lost, of unknown outcome, did not commit, as the certificate says" in ended.json["notes"]

    def test_a_commit_that_is_not_its_is_of_a_writer_outside_the_log(self, run: Any, tmp_path: Path) -> None:
        log = self.log(tmp_path, 1, 9)
        assert run("audit", log).status == 1
        both = [commit(11, inserted(1)), commit(12, inserted(9))]
        ended = audited(run, log, certificate(tmp_path, *both, read("T1", "11:11:"), read("r", "13:13:")))
        assert (ended.status, ended.json["certificate"]["status"]) == (3, "incomplete")
        assert "ids that the log does not know" in ended.json["reason"]


@pytest.mark.parametrize(
    ("entries", "word"),
    [
        ([commit(11), commit(11)], "commits twice"),
        ([read("r", "12:11:")], "contradicts itself"),
        ([read("r", "eleven")], "line 2"),
        ([commit(11, ["items", "insert", None, {"id": 1, "w": 1}])], "no column 'w'"),
        ([commit(11, ["items", "insert", None, {"id": "one"}]), read("T1", "11:11:")], "does not fit"),
        ([commit(11 + 2**32)], "wrapped around"),
        ([read("T1", "11:11:"), read("T1", "11:11:")], "reads twice"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(run: Any, tmp_path: Path, entries: list[dict[str, Any]], word: str) -> None:
    log = write(tmp_path, FIG_3, insert("T1", 1, xid="11"))
    refused(run("audit", log, "--certificate", certificate(tmp_path, *entries)), word)


def test_a_torn_certificate_is_refused(run: Any, tmp_path: Path) -> None:
    log, told = write(tmp_path, FIG_3, insert("T1", 1, xid="11")), certificate(tmp_path, commit(11, inserted(1)))
    whole = Path(told).read_text()
    for torn in (whole[:-1], whole[: whole.rindex('{"kind": "end"')]):
        Path(told).write_text(torn)
        refused(run("audit", log, "--certificate", told), "torn")
    refused(run("audit", log, "--certificate", str(tmp_path / "none")), "cannot be read")


STRANGERS = Path(__file__).parents[1] / "data" / "strangers-3"


@pytest.mark.parametrize(
    ("log", "told", "transaction", "because"),
    [
        ("cert-si", "cert-sees-itself", "s1-1", "has the snapshot 778:778: in the certificate, 755:755: in the log"),
        ("del", "del-lost", "a", "its deletion of kv(k=1) is not in the write-ahead log"),
        ("ww", "ww-swapped", "b", "sees a, whose commit record, 20, comes after its own, 10"),
        ("del", "del-true", None, None),
    ],
)
def test_what_contradicts_the_log_or_itself_is_refuted(
    run: Any, log: str, told: str, transaction: str | None, because: str | None
) -> None:
    paths = str(STRANGERS / f"{log}.jsonl"), str(STRANGERS / f"{told}.cert.jsonl")
    ended = audited(run, *paths, "--require-certificate")
    assert ended.json["certificate"]["transaction"] == transaction
    if because is None:
        assert (ended.status, ended.json["certificate"]["status"]) == (0, "accepted")
        return
    assert (ended.status, ended.json["scope"]) == (1, "certificate")
    assert because in ended.json["certificate"]["because"]
    assert audited(run, *paths).json["certificate"]["status"] == "refuted"


class TestBesideTheLog:
    """What a certificate tells of that the log does not have, and ids and snapshots that the log has otherwise."""

    def standing(self, run: Any, folder: Path, *told: Any, **fields: Any) -> tuple[str, str | None, list[str]]:
        one = insert("T1", 1, xid="11", **fields)
        aborted = transaction("INSERT INTO items VALUES (2, 1)", id="gone", status="aborted", affected=1, xid="12")
        log = write(folder, {**FIG_3, "isolation": "snapshot"}, one, aborted)
        ended = audited(run, log, certificate(folder, *told))
        examined = ended.json["certificate"]
        return examined["status"], examined["because"], ended.json["notes"]

    def test_reads_and_tables_that_the_log_lacks_are_noted(self, run: Any, tmp_path: Path) -> None:
        change = commit(11, inserted(1), ["elsewhere", "insert", None, {"id": 1}])
        told = change, read("T1", "11:11:"), read("T7", "11:11:"), read(7, "11:11:")
        assert self.standing(run, tmp_path, *told) == (
            "accepted",
            None,
            [
                "the certificate tells what T7, 7 read, and the log has none of them",
                "the certificate has changes of tables that the log does not have: elsewhere",
            ],
        )

    def test_a_commit_of_nobody_knows_which_changes_is_of_a_writer_outside_the_log(
        self, run: Any, tmp_path: Path
    ) -> None:
        told = commit(11, inserted(1)), {"kind": "commit", "xid": "13", "place": 13}, read("T1", "11:11:")
        status, because, _ = self.standing(run, tmp_path, *told)
        assert (status, because) == (
            "incomplete",
            "transaction id 13, which is not in the log, committed, and what it changed is not told",
        )

    @pytest.mark.parametrize(
        ("told", "fields", "because"),
        [
            ([commit(12, inserted(2)), read("T1", "11:11:")], {}, "gone commits in the certificate, and aborted"),
            ([read("T1", "11:11:", xid="14")], {}, "T1 has the id 14 in the certificate, and 11 in the log"),
            ([read("T1", "11:11:")], {"snapshot": "10:11:10"}, "has the snapshot 11:11: in the certificate, 10:11:10"),
            ([read("T1", "12:12:")], {}, "the snapshot 12:12: of T1 contains its own commit, 11"),
            ([read("T1", "11:12:")], {}, "the snapshot 11:12: of T1 contains its own commit, 11"),
        ],
    )
    def test_what_the_log_has_otherwise_refutes_it(
        self, run: Any, tmp_path: Path, told: list[Any], fields: dict[str, Any], because: str
    ) -> None:
        status, said, _ = self.standing(run, tmp_path, commit(11, inserted(1)), *told, **fields)
        assert status == "refuted"
        assert because in str(said)

    def test_an_id_older_than_its_snapshot_is_no_commit_that_it_contains(self, run: Any, tmp_path: Path) -> None:
        """As after LOCK TABLE: its own id is among the running ones, and not told in its own snapshot."""
        told = commit(11, inserted(1)), read("T1", "11:13:")
        assert self.standing(run, tmp_path, *told)[0] == "accepted"


def test_transactions_that_are_suspected_are_asked_about_in_each_of_their_orders(tmp_path: Path) -> None:
    counted = {"columns": ["count"], "rows": [[0]]}
    skewed = [
        transaction(f"SELECT count(*) FROM items WHERE id = {3 - key}", id=f"w{key}", result=counted) for key in (1, 2)
    ]
    for key, one in enumerate(skewed, 1):
        one["statements"].append({"sql": f"INSERT INTO items VALUES ({key}, 1)", "affected": 1})
    log = read_log([write(tmp_path, FIG_3, insert("other", 7), *skewed)])
    library = library_of(log)
    problem = Problem(log, library, known_rows(log, library), isolation="serializable")
    assert blame(Question(problem, suspects=frozenset({0}))) is None
    verdict = blame(Question(problem, suspects=frozenset({1, 2})))
    assert verdict is not None
    assert (verdict.core, verdict.failing_transaction, verdict.verified_prefix) == (("w1", "w2"), "w2", 2)

"""The page of a verdict: it is well formed, says what the verdict says, and hostile text in a log stays text."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import zlib
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("jinja2", reason="--report needs Jinja2")

from troubadour.audit.driver import Options, audit
from troubadour.coverage.library import library_for
from troubadour.formats import read_log
from troubadour.model.account import Account, Edge
from troubadour.model.log import Header, Log, Statement, Transaction
from troubadour.model.verdict import Status, Verdict
from troubadour.report.html.drawing import Linked, circle
from troubadour.report.html.figures import duration, written
from troubadour.report.html.inert import inert
from troubadour.report.html.page import render_html
from troubadour.report.html.stepping import RowStep, steps_of

LOGS = Path(__file__).parents[2] / "logs" / "anomalies"
EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'>"
VOID = {"meta", "input", "br", "img", "link"}


class Page(HTMLParser):
    """A page's elements; closing ones must match."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("style", "script"):
            self.text += data

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def hostile() -> tuple[Verdict, Log]:
    statement = Statement(f"SELECT '{EVIL}'", params=("A" * 1_000_000, "\u202egnp.exe", EVIL))
    transactions = [
        Transaction(EVIL, "committed", (statement,), 0, session=EVIL, invoked=0, returned=5),
        Transaction("t\u202e2", "committed", (statement,), 1, session="b", invoked=1, returned=9),
    ]
    edges = (
        Edge("rw", EVIL, "t\u202e2", f"{EVIL} comes before", key=EVIL),
        Edge("ww", "t\u202e2", EVIL, "and \u202e after", key=EVIL),
    )
    account = Account("lost-update", EVIL, "P4", EVIL, EVIL, edges, next=(EVIL,))
    verdict = Verdict(
        Status.VIOLATION,
        "snapshot",
        2,
        2,
        0,
        0,
        1,
        failing_transaction="t\u202e2",
        core=(EVIL, "t\u202e2"),
        explanation=EVIL,
        account=account,
    )
    return verdict, Log(Header("postgres", ()), transactions, "")


def test_hostile_text_is_inert() -> None:
    text = render_html(*hostile())
    page = Page(text)
    assert len(page.named("script")) == 1
    assert page.named("img") == []
    assert not any(name.startswith("on") for _, attributes in page.elements for name in attributes)
    assert EVIL in page.text
    assert "\u202e" not in text
    assert "\\u202e" in page.text
    assert len(text) < 100_000


def test_nothing_is_loaded() -> None:
    text = render_html(*hostile())
    page = Page(text)
    assert not any(key in attributes for _, attributes in page.elements for key in ("src", "srcset", "action"))
    assert {(one["href"] or "")[0] for one in page.named("a")} == {"#"}
    assert "url(" not in re.sub(r"url\(#arrow-\w+\)", "", text)
    (policy,) = [one["content"] for one in page.named("meta") if "http-equiv" in one]
    assert policy is not None
    assert policy.startswith("default-src 'none'")


def test_the_page_of_a_violation(run: Any, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    log = LOGS / "write-skew.jsonl"
    ended = run("audit", "--isolation", "serializable", "--quiet", "--report", str(file), str(log))
    assert (ended.status, ended.out) == (1, "VIOLATION at serializable: write skew at transaction t2\n")
    page = Page(file.read_text(encoding="utf-8"))
    for words in ("write skew", "t2 comes before t1", "t1 comes before t2", "Step by step", "kv(k='x')"):
        assert words in page.text
    pictures = [one for one in page.named("svg") if one.get("id")]
    assert {one["id"] for one in pictures} == {"timeline", "circle"}
    assert all(one["role"] == "img" and one["aria-labelledby"] for one in pictures)
    bars = [one["class"] for one in page.named("g") if one.get("data-session")]
    assert bars == ["transaction core t1 committed", "transaction core t0 committed"]


def test_the_page_of_a_correct_log(run: Any, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    log = LOGS / "write-skew.jsonl"
    assert run("audit", "--isolation", "snapshot", "--report", str(file), str(log)).status == 0
    page = Page(file.read_text(encoding="utf-8"))
    assert "CORRECT" in page.text
    assert not [one for one in page.named("svg") if one.get("id") == "circle"]


def shown(run: Any, tmp_path: Path, *options: str, log: str) -> Page:
    """The page of an audit of a log that stands beside it."""
    shutil.copy(LOGS / log, tmp_path / log)
    file = tmp_path / "report.html"
    run("audit", *options, "--quiet", "--report", str(file), str(tmp_path / log))
    return Page(file.read_text(encoding="utf-8"))


def identified(page: Page) -> set[str]:
    """The ids of a page, each of which stands once."""
    ids = [attributes["id"] or "" for _, attributes in page.elements if "id" in attributes]
    assert len(set(ids)) == len(ids)
    return set(ids)


@pytest.mark.parametrize(
    ("log", "level", "steps"),
    [("write-skew", "serializable", 2), ("write-skew", "snapshot", 2), ("long-fork", "snapshot", 4),
     ("intermediate-read", "postgres:read-committed", 3), ("garbage-read", "serializable", 0)],
)  # fmt: skip
def test_an_explanation_is_shown_step_by_step(run: Any, tmp_path: Path, log: str, level: str, steps: int) -> None:
    page = shown(run, tmp_path, "--isolation", level, log=f"{log}.jsonl")
    ids = identified(page)
    assert {one for one in ids if one.startswith("step-")} == {f"step-{n}" for n in range(1, steps + 1)}
    inside = {one["href"] for one in page.named("a") if (one["href"] or "").startswith("#")}
    assert {f"#{one}" for one in ids} >= inside
    # without scripts, each step leads to the next
    assert inside >= {f"#step-{n}" for n in range(1, steps + 1) if steps > 1}


def test_a_step_has_the_rows_as_seen_before_and_after(tmp_path: Path) -> None:
    log = read_log([LOGS / "lost-update.jsonl"])
    verdict = audit(*library_for(log, "snapshot"), Options("snapshot", accounts=True))
    found = steps_of(verdict, log)
    assert found is not None
    assert [(one.transaction, one.sees, one.rows) for one in found.steps] == [
        ("t1", "sees the initial state", (RowStep("kv(k='x')", "v=0", "v=0", "v=10"),)),
        ("t2", "sees the initial state", (RowStep("kv(k='x')", "v=0", "v=10", "v=20"),)),
    ]
    assert [(row.changed, row.stale) for one in found.steps for row in one.rows] == [(True, False), (True, True)]


@pytest.mark.parametrize(
    ("log", "marks"),
    [("intermediate-read", ["t2 read what this wrote", "wrote over what t2 read"]),
     ("aborted-read", ["t2 read what this wrote"])],
)  # fmt: skip
def test_what_was_read_too_early_is_shown_with_its_writer(run: Any, tmp_path: Path, log: str, marks: list[str]) -> None:
    """The writer's statements are on the page, the one that was read and the one that wrote over it are marked."""
    page = shown(run, tmp_path, "--isolation", "postgres:read-committed", log=f"{log}.jsonl")
    assert {"t1", "t1-1", "t2", "t2-1"} <= identified(page)
    at = [page.text.index(mark) for mark in marks]
    assert at == sorted(at)


def test_edges_and_statements_lead_to_their_places(run: Any, tmp_path: Path) -> None:
    """An edge, in the chain and in both pictures, to its statement; a transaction to its line in the log."""
    page = shown(run, tmp_path, "--isolation", "serializable", log="write-skew.jsonl")
    leads = [one["href"] for one in page.named("a")]
    assert (leads.count("#t1-1"), leads.count("#t2-1")) == (3, 3)
    lines = {one for one in leads if one is not None and one.startswith("./")}
    assert lines == {"./write-skew.jsonl#L2", "./write-skew.jsonl#L3"}
    content = (tmp_path / "write-skew.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(content[line - 1])["id"] for line in (2, 3)] == ["t1", "t2"]


def test_all_findings_are_on_one_page(run: Any, tmp_path: Path) -> None:
    log, file = tmp_path / "run.jsonl", tmp_path / "all.html"
    header = {"format": "troubadour-log", "version": 1, "isolation": "snapshot", "objects": {"kv": "register"}}
    lines: list[dict[str, Any]] = [header]
    for key in (1, 2):  # a lost update, and a write skew beside it
        lines += [
            {"id": f"{EVIL}{key}", "status": "committed", "ops": [["r", "kv", key, None], ["w", "kv", key, 1]]},
            {"id": f"b{key}", "status": "committed", "ops": [["r", "kv", key, None], ["w", "kv", key, 2]]},
        ]
    lines += [
        {"id": "c", "status": "committed", "ops": [["r", "kv", 3, None], ["w", "kv", 4, 1]]},
        {"id": "d", "status": "committed", "ops": [["r", "kv", 4, None], ["w", "kv", 3, 1]]},
    ]
    log.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    ended = run("anomalies", str(log), "--report", str(file), "--format", "json")
    assert ended.status == 1
    found = ended.json["anomalies"]
    page = Page(file.read_text(encoding="utf-8"))
    assert len(found) > 1
    ids = identified(page)
    assert {f"a{number}" for number in range(1, len(found) + 1)} <= ids
    assert all(one["name"] in page.text and one["transactions"][0] in page.text for one in found)
    leads = {one["href"] or "" for one in page.named("a")}
    assert {one for one in leads if one.startswith("#")} <= {f"#{one}" for one in ids}
    assert {one for one in leads if not one.startswith("#")} <= {f"./run.jsonl#L{line}" for line in range(2, 8)}
    assert (page.named("script"), page.named("img")) == ([], [])


def test_of_many_transactions_some_are_shown_and_all_are_counted() -> None:
    statement = Statement("SELECT v FROM kv WHERE k = 1")
    transactions = [
        Transaction(f"t{n}", "committed", (statement,), n, session=f"s{n % 8}", invoked=100 * n, returned=100 * n + 150)
        for n in range(3000)
    ]
    verdict = Verdict(
        Status.VIOLATION, "snapshot", 3000, 3000, 0, 0, 2000, "t2000", tuple(f"t{n}" for n in range(2001))
    )
    text = render_html(verdict, Log(Header("postgres", ()), transactions, ""))
    page = Page(text)
    assert 20 < len([one for one in page.named("g") if one.get("data-session")]) <= 60
    assert "3,000 transactions" in page.text
    assert "Under way at once" in page.text
    assert len(text) < 200_000


def test_inert_text_is_cut_and_written_out() -> None:
    assert inert("a" * 700).endswith("… (700 characters)")
    assert inert("a" * 20, 8) == "aaaaaaaa…"
    assert inert("a\u202eb\x00c") == "a\\u202eb\\u0000c"


def test_the_page_is_read_by_keyboard_and_by_voice() -> None:
    """The first thing that takes the focus leads to the reason; what can be operated is what browsers know; pictures
    have titles, tables heads, and sections names."""
    page = Page(render_html(*hostile()))
    operated = [
        (tag, attributes)
        for tag, attributes in page.elements
        if tag in ("a", "button", "select", "input", "summary") or "tabindex" in attributes
    ]
    assert operated[0] == ("a", {"class": "skip", "href": "#why"})
    assert {tag for tag, attributes in operated if attributes.get("tabindex") is not None} == {"div"}
    assert all(attributes.get("tabindex") in (None, "0") for _, attributes in operated)
    titles = {attributes["id"] for _, attributes in page.elements if "id" in attributes}
    named = [attributes["aria-labelledby"] for _, attributes in page.elements if "aria-labelledby" in attributes]
    assert set(named) <= titles
    assert all("aria-labelledby" in section for section in page.named("section"))
    assert all(one.get("scope") == "col" for one in page.named("th"))
    assert page.named("html") == [{"lang": "en"}]


def chromium(*arguments: str) -> str:
    """What a headless browser prints."""
    browser = shutil.which("chromium")
    if browser is None:
        pytest.skip("no chromium here")
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def first_pixel(picture: Path, row: int) -> tuple[int, ...]:
    """The first pixel of a row of a PNG of 8 bits: of a row's filters only the first column matters here."""
    data = picture.read_bytes()
    chunks, place = b"", 8
    width = int.from_bytes(data[16:20])
    size = {2: 3, 6: 4}[data[25]]
    while place < len(data):
        length = int.from_bytes(data[place : place + 4])
        if data[place + 4 : place + 8] == b"IDAT":
            chunks += data[place + 8 : place + 8 + length]
        place += 12 + length
    raw = zlib.decompress(chunks)
    above = [0] * size
    for number in range(row + 1):
        begin = number * (width * size + 1)
        kind, values = raw[begin], raw[begin + 1 : begin + 1 + size]
        # left of the first pixel there are zeros, so that Up and Paeth add what is above, Average half of it
        add = {0: [0] * size, 1: [0] * size, 2: above, 3: [one // 2 for one in above], 4: above}[kind]
        above = [(one + other) % 256 for one, other in zip(values, add, strict=True)]
    return tuple(above[:3])


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "paper"), [("0", (0x15, 0x15, 0x19)), ("1", (0xFB, 0xFA, 0xF7))])
def test_the_page_is_light_or_dark_as_the_reader_wants(tmp_path: Path, scheme: str, paper: tuple[int, ...]) -> None:
    file, picture = tmp_path / "report.html", tmp_path / "report.png"
    file.write_text(render_html(*hostile()), encoding="utf-8")
    chromium(f"--blink-settings=preferredColorScheme={scheme}", f"--screenshot={picture}", file.as_uri())
    assert first_pixel(picture, 100) == paper


@pytest.mark.slow
def test_the_page_is_read_without_scripts(run: Any, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    run("audit", "--isolation", "serializable", "--report", str(file), str(LOGS / "write-skew.jsonl"))
    text, count = re.subn("script-src '[^']*'", "script-src 'none'", file.read_text(encoding="utf-8"))
    assert count == 1
    file.write_text(text, encoding="utf-8")
    shown = chromium("--dump-dom", file.as_uri())
    assert '<p class="tools" hidden="">' in shown
    page = Page(re.sub(r"<script>.*</script>", "", shown, flags=re.DOTALL))
    for words in ("t2 comes before t1", "What to look at next", "UPDATE kv SET v = 1 WHERE k = 'x'", "Time line"):
        assert words in page.text


@pytest.mark.slow
def test_one_step_is_shown_at_a_time_where_there_are_scripts(run: Any, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    run("audit", "--isolation", "snapshot", "--report", str(file), str(LOGS / "long-fork.jsonl"))
    shown = chromium("--dump-dom", f"{file.as_uri()}#step-3")
    assert re.findall(r'<li class="step now" id="(step-\d)"', shown) == ["step-3"]
    assert ">step 3 of 4<" in shown


@pytest.mark.slow
@pytest.mark.parametrize(("keys", "step"), [("n", 2), ("nn", 3), ("nnnnn", 4), ("np", 1), ("p", 1), (">><", 2)])
def test_keys_go_from_step_to_step(run: Any, tmp_path: Path, keys: str, step: int) -> None:
    """As pressed on the page: the policy of the page would not let a test's script run."""
    file = tmp_path / "report.html"
    run("audit", "--isolation", "snapshot", "--report", str(file), str(LOGS / "long-fork.jsonl"))
    text, count = re.subn(r"<meta http-equiv[^>]*>", "", file.read_text(encoding="utf-8"))
    assert count == 1
    names = {"<": "ArrowLeft", ">": "ArrowRight"}
    pressed = json.dumps([names.get(key, key) for key in keys])
    event = "new KeyboardEvent('keydown', {key, bubbles: true})"
    press = f"for (const key of {pressed}) document.body.dispatchEvent({event})"
    file.write_text(text.replace("</body>", f"<script>{press}</script></body>"), encoding="utf-8")
    shown = chromium("--dump-dom", file.as_uri())
    assert re.findall(r'<li class="step now" id="step-(\d)"', shown) == [str(step)]


@pytest.mark.slow
def test_a_browser_shows_it_and_runs_nothing_else(tmp_path: Path) -> None:
    browser = shutil.which("chromium")
    if browser is None:
        pytest.skip("no chromium here")
    file = tmp_path / "report.html"
    file.write_text(render_html(*hostile()), encoding="utf-8")
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=2000", "--dump-dom"]
    shown = subprocess.run([*command, file.as_uri()], capture_output=True, text=True, check=True).stdout
    # our script ran and took the attribute away
    assert '<p class="tools">' in shown
    assert "<img" not in shown
    assert shown.count("<script>") == 1
    picture = tmp_path / "report.png"
    subprocess.run(
        [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--screenshot={picture}", file.as_uri()],
        capture_output=True,
        check=True,
    )
    assert picture.stat().st_size > 10_000


@pytest.mark.slow
def test_a_million_transactions_fit_into_two_megabytes(tmp_path: Path) -> None:
    file = tmp_path / "large.jsonl"
    header = {"format": "troubadour-log", "version": 1, "dialect": "postgres", "isolation": "snapshot"}
    with file.open("w", encoding="utf-8") as stream:
        stream.write(json.dumps(header | {"schema": ["CREATE TABLE kv (k INT PRIMARY KEY, v INT)"]}) + "\n")
        for n in range(1_000_000):
            sql = f"UPDATE kv SET v = {n} WHERE k = {n % 1000}"
            entry = {
                "id": n,
                "session": f"s{n % 32}",
                "status": "committed",
                "invoked": 50 * n,
                "returned": 50 * n + 900,
            }
            stream.write(json.dumps(entry | {"statements": [{"sql": sql}]}) + "\n")
    log = read_log([file])
    verdict = Verdict(
        Status.VIOLATION, "snapshot", 1_000_000, 1_000_000, 0, 0, 700_000, 700_000, tuple(range(600_000, 700_001))
    )
    assert len(render_html(verdict, log).encode()) < 2_000_000


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0"),
        (0.00012, "0.00012"),
        (2.5, "2.5"),
        (99.94, "99.9"),
        (101, "101"),
        (10163, "10,160"),
        (1e6, "1,000,000"),
    ],
)
def test_numbers_are_written_as_people_do(value: float, shown: str) -> None:
    assert written(value) == shown


@pytest.mark.parametrize(
    ("microseconds", "shown"),
    [
        (21, "21 µs"),
        (3400, "3.4 ms"),
        (12_500_000, "12.5 s"),
        (119e6, "119 s"),
        (320e6, "5 min 20 s"),
        (7500e6, "2 h 5 min"),
    ],
)
def test_times_are_written_as_people_do(microseconds: float, shown: str) -> None:
    assert duration(microseconds) == shown


def test_labels_of_two_do_not_overlap() -> None:
    """The two labels of a circle of two stand on either side of its axis."""
    edges = [Edge("rw", one, other, "told", key="accounts(id=123456)") for one, other in (("t1", "t2"), ("t2", "t1"))]
    drawn = circle([Linked(edge, None, "") for edge in edges], {"t1": 0, "t2": 1})
    width, *_ = re.findall(r'viewBox="0 0 (\d+)', drawn)
    labels = {side: float(x) for side, x in re.findall(r'<text class="(\w+)" x="([\d.]+)"', drawn)}
    assert labels["to"] < int(width) / 2 < labels["from"]
    assert labels["from"] + 19 * 8.2 < int(width)
    assert labels["to"] - 19 * 8.2 > 0

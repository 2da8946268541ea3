"""Random logs survive writing and reading; random damage is refused or harmless, never a traceback."""

from __future__ import annotations

import gzip
import tempfile
from decimal import Decimal
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from troubadour.formats import read_log, write_log
from troubadour.model.log import (
    End,
    Header,
    InitialTable,
    LogError,
    ObservedError,
    ObservedRows,
    Statement,
    Transaction,
)
from troubadour.model.values import REDACTED

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
names = texts.filter(bool)
decimals = st.decimals(allow_nan=False, allow_infinity=False).filter(
    lambda d: {".", "E"} & set(str(d))  # others are integers once written
)
scalars = st.none() | st.booleans() | st.integers() | st.integers(2**60, 2**90) | decimals | texts
values = scalars | st.just(REDACTED)
times = st.none() | st.integers(-(2**63) + 1, 2**63 - 1)
errors = st.builds(ObservedError, st.from_regex(r"[0-9A-Z]{5}", fullmatch=True), texts)


@st.composite
def observed_rows(draw: st.DrawFn) -> ObservedRows:
    columns = draw(st.lists(texts, max_size=3))
    row = st.tuples(*[values] * len(columns))
    return ObservedRows(tuple(columns), tuple(draw(st.lists(row, max_size=3))), draw(st.booleans()))


@st.composite
def spans(draw: st.DrawFn) -> tuple[int | None, int | None]:
    first, second = draw(times), draw(times)
    return (first, second) if first is None or second is None else (min(first, second), max(first, second))


@st.composite
def statements(draw: st.DrawFn) -> Statement:
    observation: dict[str, Any] = draw(
        st.just({})
        | st.fixed_dictionaries({"results": observed_rows().map(lambda r: (r,)), "affected": st.none() | st.just(3)})
        | st.fixed_dictionaries({"results": st.lists(observed_rows(), max_size=2).map(tuple), "several": st.just(True)})
        | st.fixed_dictionaries({"affected": st.integers(0, 2**70)})
        | st.fixed_dictionaries({"error": errors})
        | st.just({"outcome_unknown": True})
    )
    invoked, returned = draw(spans())
    params = draw(st.none() | st.lists(values, max_size=3).map(tuple) | st.dictionaries(texts, values, max_size=3))
    sql = draw(texts.filter(str.strip))
    return Statement(sql, params, invoked=invoked, returned=returned, **observation)


@st.composite
def transactions(draw: st.DrawFn, id: str | int, place: int) -> Transaction:
    status = draw(st.sampled_from(["committed", "aborted", "unknown"]))
    (start, commit), (invoked, returned) = draw(spans()), draw(spans())
    error = draw(st.none() | errors) if status != "committed" else None
    end = End(*draw(spans()), error)
    return Transaction(
        id,
        status,
        tuple(draw(st.lists(statements(), max_size=3))),
        place,
        draw(st.none() | texts),
        draw(st.none() | names),
        draw(st.none() | st.booleans()),
        start,
        commit,
        invoked,
        returned,
        draw(st.none() | st.just(end)),
        draw(st.none() | names),
        draw(st.none() | st.just("745")),
        draw(st.none() | st.sampled_from(["740:740:", "740:745:741,743"])),
    )


@st.composite
def logs(draw: st.DrawFn) -> tuple[Header, list[Transaction]]:
    ids = draw(st.lists(texts | st.integers(), unique_by=lambda i: (type(i), i), max_size=5))
    initial = draw(st.lists(st.tuples(values.filter(lambda v: v is not REDACTED)), min_size=1, max_size=3).map(tuple))
    header = Header(
        draw(st.sampled_from(["postgres", "mysql", "sqlite", "duckdb"])),
        tuple(draw(st.lists(names, max_size=2))),
        isolation=draw(st.none() | names),
        initial=draw(st.just(()) | st.just((InitialTable("t", draw(st.none() | st.just(("a",))), initial),))),
        initial_unknown=draw(st.just(()) | st.just(("u",))),
        order=draw(st.sampled_from(["exact", "hint"])),
        settings=draw(st.dictionaries(texts, scalars, max_size=2)),
        clock=None,
        log_id=draw(st.none() | texts),
        segment=draw(st.none() | texts | st.integers()),
    )
    return header, [draw(transactions(id, place)) for place, id in enumerate(ids)]


def exactly(value: object) -> str:
    """Tells 1 from True and 1.0 from 1.00, which are equal."""
    return repr(value)


@given(logs(), st.sampled_from(["log.jsonl", "log.jsonl.gz"]), st.sampled_from([0, 1 << 20]))
def test_round_trip(log: tuple[Header, list[Transaction]], name: str, spill_bytes: int) -> None:
    header, written = log
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        write_log(path, header, written)
        read = read_log([path], spill_bytes=spill_bytes)
        assert exactly(read.header) == exactly(header)
        assert exactly(sorted(read.transactions, key=lambda t: t.place)) == exactly(written)
        assert (read.committed, read.aborted, read.unknown) == tuple(
            sum(t.status == status for t in written) for status in ("committed", "aborted", "unknown")
        )


SAMPLE = b"""\
{"format":"troubadour-log","version":1,"dialect":"postgres","schema":["CREATE TABLE t (id INT)"],\
"initial":{"t":{"columns":["id"],"rows":[[1]]}}}
{"kind":"rows","table":"t","columns":["id"],"rows":[[2],[3]]}
{"id":"t1","status":"committed","commit":5,"start":1,"invoked":3,"returned":9,"statements":[{"sql":"SELECT",\
"params":[1,null],"result":{"columns":["a","b"],"rows":[["x",1.5],[true,{"redacted":true}]]}}],\
"end":{"invoked":7,"returned":8}}
{"kind":"intent","id":2,"status":"unknown","statements":[{"sql":"DELETE","affected":1,"invoked":3,"returned":4}]}
{"id":2,"status":"aborted","statements":[{"sql":"DELETE","error":{"sqlstate":"40001"}}],"session":"s","clock":"c"}
{"kind":"end","transactions":2}
"""

PIECES = st.binary(max_size=3) | st.sampled_from(
    [b'"', b"{", b"}", b"[", b"]", b",", b":", b"null", b"true", b"1e999", b"-1", b"\n", b"\\u", b"\\ud800", b"\xff"]
)


@given(
    st.lists(st.tuples(st.integers(0, len(SAMPLE)), st.integers(0, 12), PIECES), min_size=1, max_size=4),
    st.integers(0, 3),
)
def test_damage_is_refused_in_one_line(damage: list[tuple[int, int, bytes]], packing: int) -> None:
    content = SAMPLE
    if packing == 1:
        content = gzip.compress(content)
    for at, cut, piece in damage:
        content = content[:at] + piece + content[at + cut :]
    if packing == 2:
        content = gzip.compress(content)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log"
        path.write_bytes(content)
        try:
            log = read_log([path], spill_bytes=0 if packing == 3 else 1 << 20)
        except LogError as error:
            message = str(error)
            assert message.startswith(f"{path}:")
            assert len(message.splitlines()) == 1
            assert message[len(str(path)) + 1 :].split(":")[0].isdigit()
        else:
            for transaction in log.transactions:
                assert isinstance(transaction.id, (str, int))


def test_the_undamaged_sample_is_good() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log"
        path.write_bytes(SAMPLE)
        assert [t.id for t in read_log([path]).transactions] == ["t1", 2]
        values = read_log([path]).transactions[0].statements[0].results
        assert values is not None
        assert values[0].rows[0][1] == Decimal("1.5")

"""Regular expressions and to_char() patterns beside a real PostgreSQL: random ones that the library does not refuse."""

from __future__ import annotations

import random
from datetime import datetime
from typing import Any

import pytest

from sql_semantics.errors import Unsupported
from sql_semantics.library import SqlLibrary
from sql_semantics.run import MemoryView
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.functions.moments import written
from sql_semantics.values.functions.texts import regular
from sql_semantics.values.functions.texts.regular import all_matched, read_regex

ATOMS = (
    *("a", "b", "c", "A", "0", " ", "-", "_", ".", r"\.", r"\d", r"\w", r"\s", r"\D", r"\S", r"\W", "[ab]", "[^a]"),
    *("[a-c]", "[]a]", "[a-]", "[-a]", "[^]b]", "[0-9a]", "[[:alpha:]]", r"[\da]", "[a^]", "[.]", "(a|b)", "(ab)"),
    *("(a|bc)", "(^a|b)", r"\+", r"\(", "}", "[[:space:]_]", r"\-", "[*+]"),
)
QUANTIFIERS = (*[""] * 6, "*", "+", "?", "{2}", "{1,2}", "{0,1}", "{1,}", "{0}")


def test_regular_expressions(postgres: Any) -> None:
    chance = random.Random(4)
    tried = replaced = cut = 0
    for _ in range(400):
        atoms = [chance.choice(ATOMS) + chance.choice(QUANTIFIERS) for _ in range(chance.randrange(1, 5))]
        pattern = chance.choice(["", "", "^"]) + chance.choice(["", "", "|"]).join(atoms) + chance.choice(["", "$"])
        ignore_case = chance.random() < 0.3
        try:
            read = read_regex(pattern, ignore_case)
        except Unsupported:
            continue
        compiled = read.compiled
        texts = ["".join(chance.choices("aabbccA09 -_.\n\t+(*]^}", k=chance.randrange(7))) for _ in range(12)]
        operator = "~*" if ignore_case else "~"
        sql = f"SELECT x {operator} %s FROM unnest(%s::text[]) WITH ORDINALITY AS u (x, n) ORDER BY n"
        answer = [row[0] for row in postgres.execute(sql, (pattern, texts)).fetchall()]
        assert answer == [compiled.search(text) is not None for text in texts], (pattern, texts)
        tried += 1
        if read.definite and not ignore_case:
            sql = "SELECT substring(x FROM %s) FROM unnest(%s::text[]) WITH ORDINALITY AS u (x, n) ORDER BY n"
            answer = [row[0] for row in postgres.execute(sql, (pattern, texts)).fetchall()]
            extract = regular.POSTGRES["substring"][0].build(None)  # type: ignore[arg-type]
            assert answer == [extract(text, pattern) for text in texts], (pattern, texts)
            cut += 1
        if read.definite and not read.optional:
            flags = "gi" if ignore_case else "g"
            sql = (
                "SELECT regexp_replace(x, %s, '<>', %s) FROM unnest(%s::text[]) WITH ORDINALITY AS u (x, n) ORDER BY n"
            )
            answer = [row[0] for row in postgres.execute(sql, (pattern, flags, texts)).fetchall()]
            assert answer == [compiled.sub("<>", text) for text in texts], (pattern, texts)
            replaced += 1
            sql = (
                "SELECT regexp_match(x, %s, %s), regexp_split_to_array(x, %s, %s), "
                "(SELECT array_agg(to_jsonb(m)) FROM regexp_matches(x, %s, %s) AS m) "
                "FROM unnest(%s::text[]) WITH ORDINALITY AS u (x, n) ORDER BY n"
            )
            flag = flags[1:]
            parts = postgres.execute(sql, (pattern, flag, pattern, flag, pattern, flags, texts)).fetchall()
            match = regular.POSTGRES["regexp_match"][1].build(None)  # type: ignore[arg-type]  # it hangs on no call
            for text, (first, split, every) in zip(texts, parts, strict=True):
                found = match(text, pattern, flag)
                assert first == (None if found is None else list(found.items)), (pattern, text)
                assert split == list(regular.split_by_pattern(text, pattern, flag).items), (pattern, text)
                assert (every or []) == [list(one.items) for one in all_matched(text, pattern, flags).items]
    assert tried > 200
    assert replaced > 50
    assert cut > 50


CALLS = (
    "SELECT t.id, x FROM t, regexp_split_to_table(t.v, '[ ,]') AS x",
    "SELECT id, regexp_split_to_table(v, ' +') AS x FROM t",
    "SELECT x, n FROM regexp_split_to_table('aXbxc', 'x', 'i') WITH ORDINALITY AS w (x, n)",
    "SELECT m[1], m[2] FROM regexp_matches('a1b22', '([a-z])([0-9]+)', 'g') AS m",
    "SELECT id, regexp_matches(v, '[a-z]', 'g')::text AS m FROM t",
    "SELECT id, (regexp_match(v, '([a-z]) ([a-z])'))[2] FROM t",
    "SELECT id FROM t WHERE 'b' = ANY (regexp_split_to_array(v, ' '))",
    "SELECT id, (SELECT m[1] FROM regexp_matches(v, '(.) ') AS m) FROM t",
)
ROWS = [(1, "a b,c"), (2, ""), (3, None), (4, "x y z")]


@pytest.mark.parametrize("sql", CALLS)
def test_calls(postgres: Any, sql: str) -> None:
    schema = "CREATE TABLE t (id int PRIMARY KEY, v text)"
    postgres.execute(schema)
    postgres.cursor().executemany("INSERT INTO t VALUES (%s, %s)", ROWS)
    program = SqlLibrary(Dialect("postgres", collation="C"), [schema]).program(sql, ())
    found = program.run(MemoryView({"t": ROWS}), ()).results[0].rows
    assert sorted(map(repr, found)) == sorted(map(repr, postgres.execute(sql).fetchall()))


def test_moments(postgres: Any) -> None:
    chance = random.Random(4)
    words = [*written.KNOWN, "TH", "SSSS", "Y", "J"]
    write = written.POSTGRES["to_char"][0].build(None)  # type: ignore[arg-type]
    tried = 0
    for _ in range(400):
        parts = [
            chance.choice(["", "", "FM"]) + chance.choice(words) + chance.choice(["", "-", " ", ":", '"T"', ", "])
            for _ in range(chance.randrange(1, 6))
        ]
        pattern = "".join(parts)
        at = datetime(*(chance.randrange(1, top) for top in (10000, 13, 29, 24, 60, 60)), chance.randrange(10**6))
        try:
            expected = write(at, pattern)
        except Unsupported:
            continue
        answer = postgres.execute("SELECT to_char(%s::timestamp, %s)", (at, pattern)).fetchone()
        assert answer == (expected,), (pattern, at)
        tried += 1
    assert tried > 200

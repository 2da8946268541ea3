"""Regular expressions and to_char() patterns beside a real PostgreSQL: random ones that the library does not refuse."""

from __future__ import annotations

import random
from datetime import datetime
from typing import Any

from sql_semantics.errors import Unsupported
from sql_semantics.values.functions.moments import written
from sql_semantics.values.functions.texts import regular
from sql_semantics.values.functions.texts.regular import read_regex

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
    assert tried > 200
    assert replaced > 50
    assert cut > 50


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

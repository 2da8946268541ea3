"""MariaDB's variances, bits of rows, lists that are cut, FORMAT, INTERVAL, PASSWORD and NAME_CONST, and numbers stored
as moments, on the server. Knows no other function."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

import pytest

from sql_semantics.frontend import read_schema
from sql_semantics.ir.schema import Catalog
from sql_semantics.values.dialect import Dialect
from tests.differential.beside import Beside
from tests.differential.engines import MariaDB

TABLE = (
    "CREATE TABLE n (k int PRIMARY KEY, i bigint, m decimal(12,3), e decimal(5,0), t varchar(20),"
    " u smallint unsigned, f double, w varchar(9))"
)
SPREADS = ("std", "stddev", "stddev_pop", "stddev_samp", "variance", "var_pop", "var_samp")
TEXTS = ("", "a", "bc", "def", "\u00e9", "xyzxyzxyzxyz", None)


def _beside(engine: MariaDB, collation: str, **told: Any) -> Beside:
    dialect = Dialect("mysql", product="mariadb", version=(10, 11), collation=collation, **told)
    return Beside(engine, dialect, Catalog(read_schema([TABLE], dialect), {}))


def _filled(connection: Any, collation: str, rng: random.Random, digits: int = 4) -> Beside:
    engine = MariaDB(connection, collation)
    engine.clear()
    assert engine.run(TABLE).error is None
    beside = _beside(engine, collation, quotient_digits=digits)
    for k in range(rng.randint(0, 9)):
        big = rng.choice((1, 10, 1000, 10**5))
        i, m = rng.randint(-big, big), rng.randint(-big, big) / 1000
        text = rng.choice(TEXTS)
        shown = "NULL" if text is None else f"'{text}'"
        null = rng.random() < 0.2
        row = f"{k}, {'NULL' if null else i}, {m:.3f}, {rng.randint(-3, 3)}, {shown}, {rng.randint(0, 9)}, {i / 7}, 'w'"
        step = beside.step(f"INSERT INTO n VALUES ({row})")
        assert step.problem is None and step.outside is None, step
    return beside


def _compare(beside: Beside, asked: Iterable[str]) -> list[str]:
    """What was left out. Fails where a statement differs."""
    outside = []
    for sql in asked:
        step = beside.step(sql)
        assert step.problem is None, f"{sql}: {step.problem}"
        outside += [f"{sql}: {step.outside}"] if step.outside is not None else []
    return outside


@pytest.mark.parametrize("rounds", [6, pytest.param(600, marks=pytest.mark.slow)])
def test_spreads(mariadb: Any, rounds: int) -> None:
    """Nearly all are told; those of doubles, and those that are computed with, are not."""
    connection, collation = mariadb
    rng = random.Random(7)
    asked, left = 0, []
    for _ in range(rounds):
        digits = rng.choice((0, 4, 4, 7))
        beside = _filled(connection, collation, rng, digits)
        assert beside.engine.run(f"SET div_precision_increment = {digits}").error is None
        try:
            statements = []
            for _ in range(8):
                of = rng.choice(("i", "m", "e", "u", "k", "2", "m / 3", "i + u", "-e", "i + 1000000000"))
                items = ", ".join(f"{rng.choice(SPREADS)}({of}) AS s{n}" for n in range(3))
                tail = rng.choice(("", "", " WHERE k < 2", " GROUP BY e", " GROUP BY e ORDER BY e", " GROUP BY k"))
                statements.append(f"SELECT {items} FROM n{tail}")
            left += _compare(beside, statements)
            asked += len(statements)
        finally:
            beside.engine.run("SET div_precision_increment = DEFAULT")
    assert len(left) < asked / 8, left


def test_spreads_that_are_not_only_shown(mariadb: Any) -> None:
    connection, collation = mariadb
    beside = _filled(connection, collation, random.Random(3))
    asked = (
        "SELECT std(f) FROM n",
        "SELECT std(t) FROM n",
        "SELECT std(i) * 1 FROM n",
        "SELECT concat(std(i)) FROM n",
        "SELECT std(i) AS s FROM n GROUP BY e ORDER BY s",
        "SELECT std(i) FROM n GROUP BY e ORDER BY 1",
        "SELECT e, std(i) AS s FROM n GROUP BY e HAVING s > 1",
        "SELECT s * 1000 FROM (SELECT std(i) AS s FROM n) AS d",
        "SELECT DISTINCT std(i) FROM n",
        "SELECT std(i) FROM n UNION SELECT 1",
        "SELECT k FROM n WHERE i > (SELECT std(i) FROM n)",
        "UPDATE n SET f = (SELECT std(2) FROM dual)",
        "INSERT INTO n (k, f) SELECT 100, std(i) FROM n",
    )
    assert len(_compare(beside, asked)) == len(asked)


@pytest.mark.parametrize("rounds", [6, pytest.param(1000, marks=pytest.mark.slow)])
def test_lists_that_are_cut(mariadb: Any, rounds: int) -> None:
    connection, collation = mariadb
    rng = random.Random(11)
    for _ in range(rounds):
        longest = rng.choice((4, 5, 9, 20, 1024))
        engine = _filled(connection, collation, rng).engine
        assert engine.run(f"SET group_concat_max_len = {longest}").error is None
        try:
            beside = _beside(engine, collation, list_bytes=longest)
            beside.load()
            asked = [
                f"SELECT group_concat({rng.choice(('', 'DISTINCT '))}{rng.choice('ktmiu')} ORDER BY k) FROM n"
                if rng.random() < 0.3
                else f"SELECT e, group_concat({rng.choice('ktmiu')} ORDER BY k{rng.choice((' DESC', ''))}"
                f"{rng.choice(('', '', ' SEPARATOR ;', ' SEPARATOR --'))}) FROM n GROUP BY e"
                for _ in range(6)
            ]
            _compare(beside, asked)
            stores = "INSERT INTO n (k, w) SELECT 77, group_concat('abcdefgh') FROM n WHERE k < 2"
            if longest == 4 and len(beside.view.rows("n")) > 1:
                assert _compare(beside, [stores]), "an error in a statement that stores"
        finally:
            engine.run("SET group_concat_max_len = DEFAULT")


@pytest.mark.parametrize("rounds", [4, pytest.param(500, marks=pytest.mark.slow)])
def test_bits_of_rows(mariadb: Any, rounds: int) -> None:
    """Of no rows, too; of other than integers nothing is told."""
    connection, collation = mariadb
    rng = random.Random(64)
    for _ in range(rounds):
        beside = _filled(connection, collation, rng)
        folds = ", ".join(f"bit_{rng.choice(('and', 'or', 'xor'))}({rng.choice('iuk')})" for _ in range(3))
        tails = ("", " WHERE k > 99", " GROUP BY e", " GROUP BY u HAVING bit_or(i) > 5")
        assert _compare(beside, [f"SELECT {folds} FROM n{tail}" for tail in tails]) == []
    assert len(_compare(beside, [f"SELECT bit_or({of}) FROM n" for of in ("f", "t", "m", "NULL", "DISTINCT i")])) == 5


def test_spreads_and_bits_over_a_window_are_not_told(mariadb: Any) -> None:
    """The server sets the 32nd bit and those above of a window's BIT_XOR by a shift of an int."""
    connection, collation = mariadb
    beside = _filled(connection, collation, random.Random(4))
    asked = [f"SELECT {call} OVER () * 1 FROM n" for call in ("std(k)", "var_samp(i)", "bit_xor(-k)", "bit_and(i)")]
    assert len(_compare(beside, asked)) == len(asked)


MOMENTS = (
    "20200102030405", "20200102", "20200230", "20200102030461", "200102030405", "200102", "0", "70101", "-20200102",
    "10000102030405", "99991231235959", "19700101000000", "19700101000001", "20380119031407", "20380119031408", "NULL",
)  # fmt: skip


def test_numbers_that_are_stored_as_moments(mariadb: Any) -> None:
    connection, collation = mariadb
    engine = MariaDB(connection, collation)
    engine.clear()
    table = "CREATE TABLE w (k int PRIMARY KEY, a datetime, b date, c timestamp NULL)"
    assert engine.run(table).error is None
    dialect = Dialect("mysql", product="mariadb", version=(10, 11), collation=collation)
    beside = Beside(engine, dialect, Catalog(read_schema([table], dialect), {}))
    asked = []
    for place, number in enumerate(MOMENTS):
        kept = (("a", number), ("b", number), ("c", number))
        asked += [
            f"INSERT INTO w (k, {name}) VALUES ({3 * place + at}, {text})" for at, (name, text) in enumerate(kept)
        ]
    asked += ["UPDATE w SET a = 20210304, b = 20210304, c = 20210304050607 WHERE k = 1", "SELECT * FROM w ORDER BY k"]
    assert len(_compare(beside, asked)) < len(asked) * 2 / 3


def test_lists_in_the_order_of_null_and_of_long_texts(mariadb: Any) -> None:
    """A NULL among the keys sorts as an empty value, and keys are cut as lists are: neither is told."""
    connection, collation = mariadb
    engine = _filled(connection, collation, random.Random(1)).engine
    engine.run("DELETE FROM n")
    rows = "(1, 0, 'aaaab'), (2, -1, 'aaaaa'), (3, NULL, NULL), (4, 7, '')"
    assert engine.run(f"INSERT INTO n (k, i, t) VALUES {rows}").error is None
    assert engine.run("SET group_concat_max_len = 4").error is None
    try:
        beside = _beside(engine, collation, list_bytes=4)
        untold = [f"SELECT group_concat(k ORDER BY {key}) FROM n" for key in ("i", "i DESC", "k > 2, i", "t", "t DESC")]
        assert len(_compare(beside, untold)) == len(untold)
        untold = ["SELECT group_concat(k ORDER BY concat(t, repeat('a', 600))) FROM n WHERE k < 3"]
        assert len(_compare(beside, untold)) == 1
        told = (
            "SELECT group_concat(k ORDER BY i) FROM n WHERE k = 3",
            "SELECT group_concat(k ORDER BY i DESC, k) FROM n",
        )
        assert _compare(beside, [told[0], f"{told[1]} WHERE i < 8"]) == []
    finally:
        engine.run("SET group_concat_max_len = DEFAULT")


NUMBERS = (
    "0", "1", "-1", "999", "1000", "-1234567.885", "0.005", "-0.004", "-0.005", "999.995", "12345678901234567890.5",
    "1e0/3", "2.5e0", "-0.4e0", "1.005e0", "1e3/7", "123456.789e0", "-99999.5e0", "0.5e0", "NULL", "1e300",
)  # fmt: skip


def test_format_and_interval(mariadb: Any) -> None:
    connection, collation = mariadb
    rng = random.Random(5)
    beside = _filled(connection, collation, rng)
    asked = [f"SELECT format({number}, {digits})" for number in NUMBERS for digits in (-2, 0, 1, 2, 7, 30, "NULL")]
    wide = (
        "99999999999999999999999999999999999999.5",
        "12345678901234567890123456789012345678901234567890.5",
        "i",
        "0e0",
    )
    many = [f"SELECT format({number}, {digits}) FROM n" for number in wide for digits in (30, 31, 40, 2**64 - 1)]
    _compare(beside, [*many, "SELECT format(1, 2, 'en_US', 3)"])
    asked += [f"SELECT format({column}, {digits}, 'en_US') FROM n" for column in "imeuf" for digits in (0, 2, 5)]
    for _ in range(60):
        numbers = [rng.choice(("NULL", "0", "1", "2.5", "-7", "12", "3")) for _ in range(rng.randint(2, 9))]
        ranked = sorted(numbers, key=lambda one: -(10**9) if one == "NULL" else float(one))
        asked.append(f"SELECT interval({', '.join(rng.choice((numbers, ranked)))})")
        asked.append(f"SELECT interval({rng.choice('ime')}, {', '.join(ranked)}) FROM n")
    left = _compare(beside, asked)
    assert len(left) < len(asked) / 3, left
    told = ("SELECT interval(3, 1, 1 + 1, 7)", "SELECT format(1234.567, 2)", "SELECT format(1e3/7, 3)")
    assert _compare(beside, told) == []


def test_passwords_and_named_constants(mariadb: Any) -> None:
    connection, collation = mariadb
    beside = _filled(connection, collation, random.Random(2))
    texts = ("''", "' '", "'a b'", "'a\\tb'", "'\u00e9\u20ac'", "NULL", "12", "x'00ff'", "repeat('long ', 99)", "1.50")
    asked = [f"SELECT password({text}), old_password({text})" for text in texts]
    asked += ["SELECT password(t), old_password(t), length(password(t)) FROM n", "SELECT password('a') = '*667f'"]
    asked += ["SELECT name_const('a', 1), name_const('b', -1.5), name_const('c', NULL), name_const('d', 'x')"]
    asked += ["SELECT concat(name_const('d', 'x'), 'y'), name_const('a', 7) + 1"]
    assert _compare(beside, asked) == []
    wrong = ("1 + 1", "now()", "upper('a')", "k", "f(1)", "concat('a', 'b')", "-(1)", "-k", "-'x'", "rand()", "1 = 1")
    assert len(_compare(beside, [f"SELECT name_const('a', {value}) FROM n" for value in wrong])) < 8
    right = ("_binary'x' COLLATE 'binary'", "_utf8mb4'x'", "'x' COLLATE utf8mb4_bin", "x'41'", "0x41", "b'1'", "true")
    _compare(
        beside,
        [f"SELECT name_const('a', {value})" for value in (*right, "n'x'", "date'2020-01-01'", "-1e0", "'x' 'y'")],
    )

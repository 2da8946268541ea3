"""What answers tell of rows without a search, of rows that are found, written or picked in less usual ways.

By another key than the primary one; by one transaction alone; after another write of the same transaction. Does not
test how the order is found.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from troubadour.coverage.library import library_of
from troubadour.execution.initial.rows import known_rows, unknown_tables
from troubadour.formats import read_log
from troubadour.order.rows.propagation import Rows
from troubadour.problem.problem import Problem

TABLE = (
    "CREATE TABLE seats (id INT PRIMARY KEY, flight INT NOT NULL, seat INT NOT NULL, price INT NOT NULL, "
    "UNIQUE (flight, seat))"
)
INSERT = "INSERT INTO seats VALUES ($1, $2, $3, $4)"
UPSERT = f"{INSERT} ON CONFLICT (flight, seat) DO UPDATE SET price = seats.price + 1"
NOTHING = f"{INSERT} ON CONFLICT DO NOTHING"
READ = "SELECT seat, price FROM seats WHERE flight = 1 ORDER BY seat"
Sent = tuple[str, Sequence[int], Any]
"""A statement, its parameters, and the rows that it shows or the number of those that it affects."""


def told(
    path: Path,
    level: str,
    transactions: Sequence[Sequence[Sent]],
    rows: Sequence[Sequence[int | None]] = ((1, 1, 1, 5),),
    schema: str = TABLE,
    turns: Mapping[int, tuple[int, int, int]] | None = None,
    **settings: object,
) -> Rows:
    """What is told of rows by transactions one after the other; of some (`turns`) of one statement when that was sent
    and answered, and when the commit was sent."""
    lines: list[dict[str, Any]] = [
        {
            "format": "troubadour-log",
            "version": 1,
            "dialect": "mysql" if level.startswith("mysql") else "postgres",
            "settings": settings,
            "schema": ["CREATE TABLE days (day INT PRIMARY KEY, sold INT NOT NULL)", schema],
            "initial": {"seats": {"rows": rows}, "days": {"rows": []}},
        }
    ]
    clock = 0
    for number, sent in enumerate(transactions):
        begun = clock + 1
        statements: list[dict[str, Any]] = []
        for sql, params, answer in sent:
            told: dict[str, Any] = {"affected": answer}
            if isinstance(answer, list):
                told = {"result": {"columns": ["a", "b"], "rows": answer}}
            statements.append({"sql": sql, "params": params, "invoked": clock + 1, "returned": clock + 2, **told})
            clock += 2
        end = {"invoked": clock + 1, "returned": clock + 2}
        named = {"id": f"t{number}", "session": f"s{number}", "status": "committed", "invoked": begun}
        clock += 2
        if turns is not None and number in turns:
            statements[0]["invoked"], statements[0]["returned"], sent_end = turns[number]
            end = {"invoked": sent_end, "returned": sent_end + 1}
            named["invoked"], clock = turns[number][0], 30
        lines.append({**named, "returned": end["returned"], "statements": statements, "end": end})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    log = read_log([path])
    library = library_of(log)
    problem = Problem(log, library, known_rows(log, library), isolation=level, unknown=unknown_tables(log, library))
    return Rows(problem)


def refuted(*log: Any, **more: Any) -> bool:
    """Whether what is told of rows contradicts itself, of a log as of `told`."""
    derived = told(*log, **more).derive()
    assert derived is not None
    return derived.conflict is not None


LEVELS = ["postgres:read-committed", "postgres:repeatable-read", "strict-serializable"]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("shown", "wrong"),
    [
        ([[1, 6], [2, 7]], False),
        ([[1, 6]], True),
        ([[1, 5], [2, 7]], True),
        ([[1, 6], [2, 7], [3, 7]], True),
    ],
)
def test_an_upsert_finds_its_row_by_the_key_that_it_names(
    level: str, shown: object, wrong: bool, tmp_path: Path
) -> None:
    log: list[list[Sent]] = [[(UPSERT, [2, 1, 2, 7], 1)], [(UPSERT, [3, 1, 1, 9], 1)], [(READ, [], shown)]]
    assert refuted(tmp_path / "log.jsonl", level, log) is wrong


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("affected", "shown", "wrong"),
    [
        # the number of a row is taken, or its seat
        (0, [[1, 5]], False),
        (0, [[1, 5], [2, 7]], True),
        (1, [[1, 5], [2, 7]], False),
        (1, [[1, 5]], True),
    ],
)
def test_another_row_may_be_in_the_way(level: str, affected: int, shown: object, wrong: bool, tmp_path: Path) -> None:
    log: list[list[Sent]] = [[(NOTHING, [1 if affected == 0 else 2, 1, 2, 7], affected)], [(READ, [], shown)]]
    assert refuted(tmp_path / "log.jsonl", level, log) is wrong


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("shown", "wrong"), [([[1, 5], [2, 7]], False), ([[1, 5], [3, 7]], True), ([[1, 5]], True)])
def test_a_transaction_reads_the_row_that_it_alone_ever_inserted(
    level: str, shown: object, wrong: bool, tmp_path: Path
) -> None:
    log: list[list[Sent]] = [[(INSERT, [2, 1, 2, 7], 1), (READ, [], shown)]]
    assert refuted(tmp_path / "log.jsonl", level, log) is wrong


@pytest.mark.parametrize("level", ["postgres:repeatable-read", "snapshot", "strict-serializable"])
@pytest.mark.parametrize(("last", "wrong"), [(5, False), (4, True)])
def test_a_write_picks_what_the_one_before_it_left(level: str, last: int, wrong: bool, tmp_path: Path) -> None:
    sold = "UPDATE seats SET price = price - 5 WHERE id = (SELECT MIN(id) FROM seats WHERE price > 0)"
    log: list[list[Sent]] = [[(sold, [], 1), (sold, [], 1)], [(READ, [], [[1, 0], [2, 0], [3, last]])]]
    assert refuted(tmp_path / "log.jsonl", level, log, [(n, 1, n, 5) for n in (1, 2, 3)]) is wrong


@pytest.mark.parametrize("level", ["mysql:read-committed", "mysql:repeatable-read", "postgres:repeatable-read"])
@pytest.mark.parametrize(("affected", "before"), [(1, None), (1, 3)])
def test_what_a_subquery_sets_may_be_anything(level: str, affected: int, before: int | None, tmp_path: Path) -> None:
    nullable = "CREATE TABLE seats (id INT PRIMARY KEY, flight INT NOT NULL, seat INT NOT NULL, price INT)"
    priced = "UPDATE seats SET price = (SELECT COUNT(*) FROM days) WHERE id = 1"
    log: list[list[Sent]] = [[(priced, [], affected)], [(READ, [], [[1, 0]])]]
    assert not refuted(tmp_path / "log.jsonl", level, log, [(1, 1, 1, before)], nullable)


@pytest.mark.parametrize("level", ["mysql:read-committed", "mysql:repeatable-read", *LEVELS])
@pytest.mark.parametrize(
    ("shown", "wrong"),
    [([[1, 1]], False), ([[1, 2]], True), ([[2, 1]], True), ([], True), ([[1, 1], [2, 1]], True)],
)
def test_a_query_inserts_at_the_key_that_its_condition_gives(
    level: str, shown: object, wrong: bool, tmp_path: Path
) -> None:
    taken = "ON CONFLICT (day) DO UPDATE SET sold = excluded.sold"
    if level.startswith("mysql"):
        taken = "ON DUPLICATE KEY UPDATE sold = VALUES(sold)"
    added = f"INSERT INTO days SELECT flight, COUNT(*) FROM seats WHERE flight = 1 GROUP BY flight {taken}"
    log: list[list[Sent]] = [[(added, [], 1)], [("SELECT day, sold FROM days ORDER BY day", [], shown)]]
    assert refuted(tmp_path / "log.jsonl", level, log) is wrong


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("first", [1, 2])
@pytest.mark.parametrize("last", [1, 2, 3])
def test_what_a_query_left_is_what_it_can_have_found(level: str, first: int, last: int, tmp_path: Path) -> None:
    added = "INSERT INTO days SELECT flight, COUNT(*) FROM seats WHERE flight = 1 GROUP BY flight"
    added += " ON CONFLICT (day) DO UPDATE SET sold = excluded.sold"
    look = "SELECT day, sold FROM days"
    log: list[list[Sent]] = [
        [(added, [], 1)],
        [(look, [], [[1, first]])],
        [(INSERT, [2, 1, 2, 7], 1)],
        [(added, [], 1)],
    ]
    log.append([(look, [], [[1, last]])])
    assert refuted(tmp_path / "log.jsonl", level, log) is ((first, last) != (1, 2))


@pytest.mark.parametrize("level", ["mysql:read-committed", "mysql:repeatable-read", *LEVELS])
@pytest.mark.parametrize("before", [9, 5])
def test_a_group_leaves_what_a_check_allows_and_what_is_there_already(level: str, before: int, tmp_path: Path) -> None:
    schema = "CREATE TABLE seats (flight INT PRIMARY KEY, price INT NOT NULL CHECK (price <= 9))"
    added = "INSERT INTO seats (flight, price) SELECT day, SUM(sold) FROM days WHERE day = 1 GROUP BY day"
    mysql = level.startswith("mysql")
    by = (
        "ON DUPLICATE KEY UPDATE price = VALUES(price)"
        if mysql
        else "ON CONFLICT (flight) DO UPDATE SET price = excluded.price"
    )
    log: list[list[Sent]] = [[("INSERT INTO days VALUES (1, 5)", [], 1)]]
    log.append([(f"{added} {by}", [], 2 if mysql and before != 5 else 1)])
    log.append([("SELECT price, price FROM seats", [], [[5, 5]])])
    settings = {"found_rows": True} if mysql else {}
    assert refuted(tmp_path / "log.jsonl", level, log, [(1, before)], schema, None, **settings) is False


@pytest.mark.parametrize("level", ["mysql:read-committed", "mysql:repeatable-read", "mysql:serializable"])
@pytest.mark.parametrize(("first", "last"), [(1, 1), (2, 2), (1, 2), (2, 1)])
def test_two_transactions_saw_the_same_version(level: str, first: int, last: int, tmp_path: Path) -> None:
    rows = ((1, 1, 1, 5), (2, 1, 2, 5))
    log: list[list[Sent]] = [[("UPDATE seats SET price = 9 WHERE flight = 1 LIMIT 1", [], 1)]]
    for nine in (first, last):
        log.append([(READ, [], [[seat, 9 if seat == nine else 5] for seat in (1, 2)])])
    assert refuted(tmp_path / "log.jsonl", level, log, rows) is (first != last)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("seen", "wrong"), [(7, False), (8, True)])
def test_a_row_is_its_own_though_others_may_change_it(level: str, seen: int, wrong: bool, tmp_path: Path) -> None:
    log: list[list[Sent]] = [[(INSERT, [2, 1, 2, 7], 1), (READ, [], [[1, 5], [2, seen]])]]
    log.append([("UPDATE seats SET price = price + 1 WHERE flight = 1", [], 2)])
    assert refuted(tmp_path / "log.jsonl", level, log) is wrong


@pytest.mark.parametrize(("price", "wrong"), [(9, False), (10, True)])
def test_rows_are_followed_by_the_key_of_upserts_where_others_give_it_up(
    price: int, wrong: bool, tmp_path: Path
) -> None:
    delete = "DELETE FROM seats WHERE flight = ? AND seat = ?"
    log: list[list[Sent]] = [
        [(MYSQL_UPSERT, [2, 1, 1, 9], 2)],
        [(delete, [1, 1], 1)],
        [(MYSQL_UPSERT, [3, 1, 1, 9], 1)],
    ]
    assert refuted(tmp_path / "log.jsonl", "mysql:repeatable-read", [*log, [(READ, [], [[1, price]])]]) is wrong


@pytest.mark.parametrize("level", ["mysql:repeatable-read", "mysql:serializable", "strict-serializable"])
@pytest.mark.parametrize(("price", "wrong"), [(11, False), (12, True)])
def test_what_was_answered_does_not_hang_on_what_was_sent_later(
    level: str, price: int, wrong: bool, tmp_path: Path
) -> None:
    path = tmp_path / "log.jsonl"
    log: list[list[Sent]] = [[("UPDATE seats SET price = price + 1 WHERE id = 1", [], 1)]]
    log.append([("UPDATE seats SET price = price * 2 WHERE id = 1", [], 1)])
    assert refuted(path, level, [*log, [(READ, [], [[1, price]])]], turns={0: (2, 10, 20), 1: (1, 3, 5)}) is wrong


@pytest.mark.parametrize("level", ["serializable", "strict-serializable"])
@pytest.mark.parametrize(("price", "wrong"), [(9, False), (8, True)])
def test_what_was_sent_later_may_have_left_the_same(level: str, price: int, wrong: bool, tmp_path: Path) -> None:
    log: list[list[Sent]] = [[("UPDATE seats SET price = 9 WHERE id = 1", [], 1)]] * 2
    log = [*log, [(READ, [], [[1, price]])]]
    turns = {0: (2, 10, 20), 1: (1, 3, 25)}
    assert refuted(tmp_path / "log.jsonl", level, log, turns=turns) is wrong


MYSQL_INSERT = "INSERT INTO seats VALUES (?, ?, ?, ?)"
MYSQL_UPSERT = f"{MYSQL_INSERT} ON DUPLICATE KEY UPDATE price = seats.price + 1"


@pytest.mark.parametrize("level", ["mysql:read-committed", "mysql:repeatable-read", "mysql:serializable"])
@pytest.mark.parametrize(("price", "wrong"), [(6, False), (7, True)])
def test_a_key_that_each_insert_gives_anew_is_in_the_way_of_none(
    tmp_path: Path, level: str, price: int, wrong: bool
) -> None:
    upserts = [[(MYSQL_UPSERT, [2, 1, 1, 9], 2)], [(MYSQL_UPSERT, [3, 1, 2, 9], 1)]]
    log = tmp_path / "log.jsonl"
    assert refuted(log, level, [*upserts, [(READ, [], [[1, price], [2, 9]])]]) is wrong


@pytest.mark.parametrize(
    ("others", "shown"),
    [
        ([(MYSQL_UPSERT, [1, 1, 3, 9], 2), (MYSQL_UPSERT, [3, 1, 2, 9], 1)], [[1, 7], [2, 9]]),
        ([("UPDATE seats SET id = id + 2 WHERE seat = ?", [1], 1), (MYSQL_UPSERT, [3, 1, 2, 9], 2)], [[1, 7]]),
        (
            [
                ("INSERT INTO seats SELECT id + 2, flight, seat + 5, price FROM seats WHERE seat = ?", [1], 1),
                (MYSQL_UPSERT, [3, 1, 2, 9], 2),
            ],
            [[1, 6], [6, 7]],
        ),
    ],
    ids=["given twice", "changed", "inserted by a query"],
)
def test_one_that_another_row_has_is_in_the_way(tmp_path: Path, others: list[Sent], shown: list[list[int]]) -> None:
    transactions: list[list[Sent]] = [[(MYSQL_UPSERT, [2, 1, 1, 9], 2)], *([one] for one in others)]
    transactions.append([(READ, [], shown)])
    assert not refuted(tmp_path / "log.jsonl", "mysql:read-committed", transactions)


SET = "UPDATE seats SET price = price + $1 WHERE id = $2"


@pytest.mark.parametrize(("seen", "wrong"), [([5, 7], False), ([6, 6], False), ([5, 6], True), ([6, 7], True)])
def test_rows_are_of_one_moment_where_none_of_them_tells_which(tmp_path: Path, seen: list[int], wrong: bool) -> None:
    up_and_up = [(SET, [1, 1], 1), (SET, [1, 2], 1)]
    down_and_up = [(SET, [-1, 1], 1), (SET, [1, 2], 1)]
    reader = [(READ, [], [[1, seen[0]], [2, seen[1]]])]
    rows = ((1, 1, 1, 5), (2, 1, 2, 5))
    assert refuted(tmp_path / "log.jsonl", "serializable", [up_and_up, down_and_up, reader], rows) is wrong


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("last", "wrong"), [(6, False), (7, True)])
def test_a_write_changes_the_rows_that_it_shows(tmp_path: Path, level: str, last: int, wrong: bool) -> None:
    rows = [(number, 1, number, 5) for number in range(1, 13)]
    first = "SELECT id FROM seats WHERE flight = $1 ORDER BY price, id LIMIT 1"
    claim = f"UPDATE seats SET price = price + 1 WHERE id = ({first}) RETURNING id, price"
    claims = [[(claim, [1], [[number, 6]])] for number, *_ in rows]
    shown = [[number, 6] for number in range(1, 12)] + [[12, last]]
    assert refuted(tmp_path / "log.jsonl", level, [*claims, [(READ, [], shown)]], rows) is wrong


@pytest.mark.parametrize(("shown", "wrong"), [([[2, 9]], False), ([[1, 7], [2, 9]], True)])
@pytest.mark.parametrize("own", [False, True])
def test_rows_that_a_query_cannot_see_do_not_matter(
    tmp_path: Path, shown: list[list[int]], wrong: bool, own: bool
) -> None:
    rows = [(1, 1, 1, 7), *((number, 2, number, 5) for number in range(10, 20))]
    rows += [] if own else [(2, 1, 2, 9)]
    others = [[(SET, [1, number], 1)] for number in range(10, 20)]
    mean = "SELECT AVG(price) FROM seats WHERE flight = $1"
    query = f"SELECT seat, price FROM seats WHERE flight = $1 AND price >= ({mean}) ORDER BY seat"
    reader = [(INSERT, [2, 1, 2, 9], 1)] if own else []
    assert refuted(tmp_path / "log.jsonl", "serializable", [*others, [*reader, (query, [1], shown)]], rows) is wrong


@pytest.mark.parametrize(("affected", "wrong"), [(1, False), (2, True)])
@pytest.mark.parametrize("where", ["id = (SELECT MAX(id) FROM seats)", "$1 = id", "flight = 1 AND seat = 1"])
def test_one_row_at_most_has_a_key(tmp_path: Path, where: str, affected: int, wrong: bool) -> None:
    write = [(f"UPDATE seats SET price = 1 WHERE {where}", [1] if "$1" in where else [], affected)]
    assert refuted(tmp_path / "log.jsonl", "serializable", [write], ((1, 1, 1, 5),)) is wrong


def test_a_row_of_its_own_may_stand_beside_one_of_its_snapshot(tmp_path: Path) -> None:
    # which another transaction has deleted since
    delete = "DELETE FROM seats WHERE flight = $1 AND seat = $2"
    writer = [(INSERT, [2, 1, 1, 9], 1), (delete, [1, 1], 2)]
    assert not refuted(tmp_path / "log.jsonl", "snapshot", [writer, [(delete, [1, 1], 1)]], ((1, 1, 1, 5),))


def test_a_row_that_was_inserted_is_there_whatever_else_its_transaction_changed(tmp_path: Path) -> None:
    joined = "UPDATE seats SET price = price + days.sold FROM days WHERE days.day = seats.id"
    writer = [(INSERT, [3, 1, 3, 9], 1), (joined, [], 0)]
    assert not refuted(tmp_path / "log.jsonl", "serializable", [writer, [(READ, [], [[1, 5], [3, 9]])]])


@pytest.mark.parametrize("level", LEVELS)
def test_what_is_sent_later_hides_no_wrong_answer(level: str, tmp_path: Path) -> None:
    dearer: list[Sent] = [("UPDATE seats SET price = price + 1 WHERE seat = 1", [], 1)]
    log: list[Sequence[Sent]] = [dearer] * 200
    log[20] = [(READ, [], [[1, 24]])]
    rows = told(tmp_path / "log.jsonl", level, log)
    assert [derived is not None and derived.conflict is not None for derived in map(rows.derive, (20, 21, 22))] == [
        False,
        True,
        True,
    ]


OF_FLIGHT = "SELECT seat, price FROM seats WHERE flight = 2 ORDER BY seat"
DELETE = ("DELETE FROM seats WHERE id = $1", [1], 1)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    "writes",
    [
        [("UPDATE seats SET flight = $1 WHERE id = 1", [2], 1)],
        [DELETE, (INSERT, [1, 2, 1, 5], 1)],
        [("INSERT INTO seats VALUES (1, 9, 9, 9) ON CONFLICT (id) DO UPDATE SET flight = $1", [2], 1)],
        [("UPDATE seats SET flight = 2 FROM days WHERE days.day = seats.price - $1", [5], 1)],
        [("UPDATE seats SET flight = (SELECT MAX(day) + 2 FROM days) WHERE id = $1", [1], 1)],
    ],
    ids=["updated", "inserted anew", "upserted", "joined", "told by a query"],
)
def test_a_row_meets_a_condition_that_it_did_not_meet_at_first(level: str, writes: list[Sent], tmp_path: Path) -> None:
    day: list[Sent] = [("INSERT INTO days VALUES (0, $1)", [1], 1)]
    assert not refuted(tmp_path / "log.jsonl", level, [day, writes, [(OF_FLIGHT, [], [[1, 5]])]])


@pytest.mark.parametrize(("seen", "wrong"), [([[1, 5]], True), ([], False)])
def test_a_row_never_meets_a_condition_on_a_column_that_nothing_sets(
    seen: list[list[int]], wrong: bool, tmp_path: Path
) -> None:
    others: list[Sent] = [("UPDATE seats SET price = price + 1 WHERE flight = $1 AND price < 9", [2], 0)]
    own: list[Sent] = [("UPDATE seats SET price = price + 1 WHERE flight = $1 AND price < 9", [1], 1)]
    more: list[Sent] = [("UPDATE seats SET price = price + 1 WHERE flight > $1", [1], 1)]
    rows = told(
        tmp_path / "log.jsonl", LEVELS[0], [others, own, more, [(OF_FLIGHT, [], seen)]], ((1, 1, 1, 5), (2, 3, 1, 5))
    )
    derived = rows.derive()
    assert derived is not None
    assert (derived.conflict is not None) is wrong
    assert [derived.rows["seats"][place,].writers for place in (1, 2)] == [[1], [2]]


def test_a_column_that_the_dbms_sets_may_meet_any_condition(tmp_path: Path) -> None:
    schema = TABLE.replace("UNIQUE", "twice INT GENERATED ALWAYS AS (price * 2) STORED, UNIQUE")
    write: list[Sent] = [("UPDATE seats SET price = $1 WHERE id = 1", [6], 1)]
    read: list[Sent] = [("SELECT seat, price FROM seats WHERE twice = 12", [], [[1, 6]])]
    insert: list[Sent] = [("INSERT INTO seats (id, flight, seat, price) VALUES ($1, 1, 1, 5)", [1], 1)]
    assert not refuted(tmp_path / "log.jsonl", LEVELS[0], [insert, write, read], (), schema)


def test_a_reference_that_moves_with_its_row_may_meet_any_condition(tmp_path: Path) -> None:
    schema = TABLE.replace(
        "flight INT NOT NULL", "flight INT NOT NULL REFERENCES days (day) ON UPDATE CASCADE ON DELETE CASCADE"
    )
    day: list[Sent] = [("INSERT INTO days VALUES (1, $1)", [1], 1), (INSERT, [1, 1, 1, 5], 1)]
    write: list[Sent] = [("UPDATE days SET day = 2 WHERE day = $1", [1], 1)]
    assert not refuted(tmp_path / "log.jsonl", LEVELS[0], [day, write, [(OF_FLIGHT, [], [[1, 5]])]], (), schema)

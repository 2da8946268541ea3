"""What is not modelled of a log never makes it a violation that it is not, nor correct.

Random logs that are modelled, of which some statements are then told in words that are not, or a column has a type that
is not; and logs to which something is added that has nothing to do with them. The oracle judges what is left as the
search does. Does not know how much of a log should be left.
"""

from __future__ import annotations

import random
import re
from functools import cache

import msgspec
import pytest

from sql_semantics.errors import Unsupported
from sql_semantics.library import SqlLibrary
from sql_semantics.values.dialect import Dialect
from tests.property.random_logs import random_log, write
from tests.property.random_statements import ACCOUNTS, ROUTINES, TOKENS, library
from troubadour.audit.driver import Options, audit
from troubadour.coverage.reduced import Reduced
from troubadour.coverage.reduction import reduce_log
from troubadour.model.log import Log, Statement, Transaction
from troubadour.model.values import param_shape
from troubadour.model.verdict import Status, Verdict
from troubadour.oracle import explain

LEVELS = (
    "read-committed",
    "snapshot",
    "strict-snapshot",
    "serializable",
    "strict-serializable",
    "postgres:read-committed",
)
BLOCK = 20
FAST, SLOW = range(8), range(8, 1500)
SECONDS = 600.0
ODD = "json_array_length('[1]')"
"""A function of PostgreSQL's that is not modelled."""


def blocks(seeds: range) -> list[range]:
    return [seeds[start : start + BLOCK] for start in range(0, len(seeds), BLOCK)]


FAST_AND_MORE = pytest.mark.parametrize(
    "seeds", [*blocks(FAST), pytest.param(SLOW[:BLOCK], marks=pytest.mark.slow)], ids=str
)


def judged(log: Log, compiled: SqlLibrary, level: str, *allowed: str) -> Verdict:
    return audit(log, compiled, Options(level, timeout=SECONDS, allowed=allowed))


@cache
def whole(seed: int, level: str) -> Verdict:
    return judged(random_log(seed, wider=seed % 3 == 2), library(), level)


def obscured(rng: random.Random, sql: str) -> str:
    """A statement that does what this one does, for all that is known of it."""
    verb = sql.split()[0]
    if verb == "CALL":
        return re.sub(r"CALL \w+", "CALL nowhere", sql)
    if verb in ("SELECT", "WITH"):
        return sql.replace("SELECT ", f"SELECT {ODD}, ", 1)
    if verb == "INSERT" and "$2" in sql:
        return sql.replace("$2", f"$2 + {ODD}", 1)
    if verb == "UPDATE" and rng.random() < 0.5:
        return re.sub(r"SET (\w+) = ", rf"SET \1 = {ODD} + ", sql, count=1)
    return sql.replace(" WHERE ", f" WHERE {ODD} = 1 AND ", 1)


def in_other_words(log: Log, rng: random.Random, share: float) -> Log:
    """The log with some statements told so."""

    def told(statement: Statement) -> Statement:
        if rng.random() > share:
            return statement
        return msgspec.structs.replace(statement, sql=obscured(rng, statement.sql))

    return log.with_transactions(
        [msgspec.structs.replace(t, statements=tuple(map(told, t.statements))) for t in log.transactions]
    )


def test_the_other_words_are_not_modelled() -> None:
    rng = random.Random("other words")
    changed = 0
    for seed in range(200):
        for transaction in random_log(seed, wider=seed % 3 == 2).transactions:
            for statement in transaction.statements:
                sql = obscured(rng, statement.sql)
                if sql != statement.sql:
                    changed += 1
                    with pytest.raises(Unsupported):
                        library().program(sql, param_shape(statement.params))
    assert changed > 500


def check_against_the_whole(seed: int, level: str) -> tuple[Status, bool]:
    log = random_log(seed, wider=seed % 3 == 2)
    told = in_other_words(log, random.Random(f"words {seed} {level}"), 0.25)
    verdict, before = judged(told, library(), level), whole(seed, level)
    text = f"seed {seed} at {level}: {before.status}, then {verdict}\n{write(told)}"
    assert verdict.coverage is not None
    gaps = bool(verdict.coverage.unjudged)
    assert verdict.status is not Status.VIOLATION or before.status is Status.VIOLATION, text
    assert verdict.status is not Status.CORRECT or not gaps, text
    if gaps:
        assert verdict.coverage.judged < verdict.coverage.statements, text
        allowed = judged(told, library(), level, "all")
        assert (allowed.status is Status.VIOLATION) is (verdict.status is Status.VIOLATION), text
        assert allowed.coverage == verdict.coverage, text
    else:
        assert verdict.status is before.status, text
    return verdict.status, gaps


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("seeds", blocks(FAST), ids=str)
def test_what_is_not_modelled_accuses_nobody(seeds: range, level: str) -> None:
    found = [check_against_the_whole(seed, level) for seed in seeds]
    assert sum(gaps for _, gaps in found) > len(seeds) // 3


@pytest.mark.slow
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("seeds", blocks(SLOW), ids=str)
def test_what_is_not_modelled_accuses_nobody_in_many(seeds: range, level: str) -> None:
    for seed in seeds:
        check_against_the_whole(seed, level)


def reduced_of(seed: int, level: str) -> Reduced:
    log = random_log(seed)
    return reduce_log(in_other_words(log, random.Random(f"words {seed} {level}"), 0.15), library(), level)


@pytest.mark.parametrize("level", LEVELS[:-1])
@FAST_AND_MORE
def test_search_and_oracle_agree_on_what_is_left(seeds: range, level: str) -> None:
    for seed in seeds:
        reduced = reduced_of(seed, level)
        answer = explain(reduced.log, reduced.library, level)
        log = random_log(seed)
        verdict = judged(in_other_words(log, random.Random(f"words {seed} {level}"), 0.15), library(), level)
        text = f"seed {seed} at {level}: {answer}, {verdict}"
        assert (answer.status is Status.VIOLATION) is (verdict.status is Status.VIOLATION), text
        assert answer.verified_prefix == verdict.verified_prefix, text


@FAST_AND_MORE
@pytest.mark.parametrize("level", ["snapshot", "serializable"])
def test_what_has_nothing_to_do_with_it_hides_no_violation(seeds: range, level: str) -> None:
    other = "CREATE TABLE other (a INT PRIMARY KEY, b TSVECTOR)"
    compiled = SqlLibrary(Dialect("postgres", collation="C"), (ACCOUNTS, TOKENS, other), ROUTINES)
    strange = (
        "SELECT set_config('app.user', 'x', false)",
        "SELECT pg_advisory_unlock(1)",
        "INSERT INTO other SELECT 1, to_tsvector('a')",
        "UPDATE other SET b = to_tsvector('b') WHERE b @@ to_tsquery('b')",
        "LISTEN here",
    )
    unmodelled = sum("to_tsvector" in sql for sql in strange)
    violations = 0
    for seed in seeds:
        log = random_log(seed)
        before = whole(seed, level) if seed % 3 != 2 else judged(log, library(), level)
        more = [
            Transaction(f"strange {n}", "committed", (Statement(sql),), len(log.transactions) + n)
            for n, sql in enumerate(strange)
        ]
        header = msgspec.structs.replace(log.header, schema=(*log.header.schema, other))
        counts = (log.committed + len(more), log.aborted, log.unknown)
        longer = Log(header, [*log.transactions, *more], log.digest, counts)
        verdict = judged(longer, compiled, level)
        text = f"seed {seed}: {before}\n{verdict}\n{write(log)}"
        wanted = Status.VIOLATION if before.status is Status.VIOLATION else Status.UNDECIDED
        # with more transactions not every fate of those of unknown outcome is tried
        assert verdict.status is wanted or (log.unknown and verdict.status is Status.UNDECIDED), text
        assert verdict.coverage is not None
        assert verdict.coverage.statements - verdict.coverage.judged == unmodelled, text
        violations += verdict.status is Status.VIOLATION
    assert violations


@pytest.mark.parametrize("level", LEVELS)
@FAST_AND_MORE
def test_a_column_of_an_unmodelled_type_accuses_nobody(seeds: range, level: str) -> None:
    schema = (ACCOUNTS.replace("TEXT", "TSVECTOR"), TOKENS)
    compiled = SqlLibrary(Dialect("postgres", collation="C"), schema, ROUTINES)
    statuses = set()
    for seed in seeds:
        log = random_log(seed)
        before = whole(seed, level) if seed % 3 != 2 else judged(log, library(), level)
        other = Log(
            msgspec.structs.replace(log.header, schema=schema),
            log.transactions,
            log.digest,
            (log.committed, log.aborted, log.unknown),
        )
        verdict = judged(other, compiled, level)
        text = f"seed {seed} at {level}: {before}\n{verdict}\n{write(other)}"
        assert verdict.status is not Status.VIOLATION or before.status is Status.VIOLATION, text
        assert verdict.status is not Status.CORRECT or before.status is Status.CORRECT, text
        statuses.add(verdict.status)
    assert Status.CORRECT in statuses or Status.UNDECIDED in statuses

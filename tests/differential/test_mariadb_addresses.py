"""Random addresses of the internet, most of them broken, on MariaDB and by the interpreter. Knows no other function."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from sql_semantics.ir.schema import Catalog
from sql_semantics.values.dialect import Dialect
from tests.differential.beside import Beside
from tests.differential.engines import MariaDB

_CALLS = (
    "inet_aton({0})",
    "is_ipv4({0})",
    "is_ipv6({0})",
    "hex(inet6_aton({0}))",
    "inet6_ntoa(inet6_aton({0}))",
    "is_ipv4_compat(inet6_aton({0}))",
    "is_ipv4_mapped(inet6_aton({0}))",
)


def addresses(rng: random.Random) -> Iterator[str]:
    """Without end."""
    while True:
        four = ".".join(rng.choice(("0", "1", "12", "255", "256", "007", "0001", "")) for _ in range(rng.randint(3, 5)))
        groups = [rng.choice(("0", "0", "0", "1", "ffff", "FFFF", "0abc", "g", "12345")) for _ in range(8)]
        where, length = rng.randrange(9), rng.randrange(9)
        six = ":".join(groups[:where]) + rng.choice(("::", "::", ":")) + ":".join(groups[where + length :])
        mixed = rng.choice(("::", "::ffff:", "1::", "0:0:0:0:0:0:")) + rng.choice((four, "1.2.3.4", "0.0.0.1"))
        text = rng.choice((four, six, six, ":".join(groups), mixed))
        if rng.random() < 0.2:
            place = rng.randrange(len(text) + 1)
            text = text[:place] + rng.choice((":", ".", "0", " ", "-")) + text[place + rng.randrange(2) :]
        yield text


def statements(seed: int, count: int) -> Iterator[str]:
    """As many texts, ten in each statement."""
    found = addresses(random.Random(seed))
    for _ in range(count // 10):
        texts = [f"'{next(found)}'" for _ in range(10)]
        yield "SELECT " + ", ".join(call.format(text) for text in texts for call in _CALLS)


def test_addresses(mariadb: Any) -> None:
    connection, collation = mariadb
    dialect = Dialect("mysql", product="mariadb", version=(10, 11), collation=collation)
    beside = Beside(MariaDB(connection, collation), dialect, Catalog({}, {}))
    found = {sql: beside.step(sql) for sql in statements(34, 300)}
    assert not {sql: (step.outside, step.problem) for sql, step in found.items() if step.outside or step.problem}

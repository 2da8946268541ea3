"""What a schema says of one partition by itself takes the whole table out of use: nothing is accused by it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sql_semantics.errors import Unsupported
from sql_semantics.frontend.definitions.schema import read_schema
from sql_semantics.values.dialect import Dialect
from tests.unit.commands import HEADER, transaction, write

POSTGRES = Dialect("postgres")
SCHEMA = (
    "CREATE TABLE q (id INT PRIMARY KEY)",
    "CREATE TABLE p (a INT, b INT) PARTITION BY LIST (a)",
    "CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1) PARTITION BY LIST (b)",
    "CREATE TABLE p2 PARTITION OF p FOR VALUES IN (2)",
    "CREATE TABLE p11 PARTITION OF p1 DEFAULT",
)
OWN = (
    "ALTER TABLE ONLY {} ADD CONSTRAINT k PRIMARY KEY (b)",
    "ALTER TABLE {} ADD CHECK (b > 9)",
    "ALTER TABLE {} ADD FOREIGN KEY (b) REFERENCES q (id)",
    "ALTER TABLE {} ALTER COLUMN b SET NOT NULL",
    "CREATE UNIQUE INDEX i ON {} (b)",
    "CREATE INDEX i ON public.{} (b)",
    "CREATE TRIGGER t BEFORE INSERT ON {} FOR EACH ROW EXECUTE FUNCTION f()",
    "CREATE RULE r AS ON INSERT TO {} DO INSTEAD NOTHING",
    "DROP TABLE {}",
)


def refused(*texts: str, lenient: bool = True) -> dict[str, Any]:
    return {name: table.refused for name, table in read_schema(texts, POSTGRES, lenient=lenient).items()}


@pytest.mark.parametrize("part", ["p2", "p11", '"p1"'])
@pytest.mark.parametrize("own", OWN)
def test_a_definition_of_a_partition_takes_the_table_out_of_use(own: str, part: str) -> None:
    for later in ((), ("CREATE TABLE p3 PARTITION OF p FOR VALUES IN (3)",)):
        found = refused(*SCHEMA, own.format(part), *later)
        assert all(found[name] for name in ("p", "p1", "p2", "p11")), found
        assert later == () or found["p3"]


def test_a_partition_of_a_partition_that_is_not_read_takes_the_whole_table_out_of_use() -> None:
    found = refused(*SCHEMA, "CREATE TABLE p12 PARTITION OF p1 (CONSTRAINT its_own CHECK (b > 9)) FOR VALUES IN (7)")
    assert all(found[name] for name in ("p", "p1", "p2", "p11")), found


@pytest.mark.parametrize("own", OWN)
def test_read_strictly_it_is_not_modelled(own: str) -> None:
    with pytest.raises(Unsupported, match="a definition of the partition p2 by itself"):
        read_schema([*SCHEMA, own.format("p2")], POSTGRES)


@pytest.mark.parametrize(
    "text",
    [
        "ALTER TABLE p ADD CHECK (b > 9)",
        "CREATE UNIQUE INDEX i ON q (id)",
        "CREATE VIEW v AS SELECT b FROM p2",
        "ALTER TABLE q ADD COLUMN p22 INT",
    ],
)
def test_what_names_no_partition_is_read(text: str) -> None:
    assert not any(refused(*SCHEMA, text, lenient=False).values())


def test_one_that_the_log_gives_leaves_what_it_may_concern_unjudged(run: Any, tmp_path: Path) -> None:
    header = HEADER | {"isolation": "serializable", "schema": list(SCHEMA), "initial": {}}
    again = "INSERT INTO p VALUES (2, 5) ON CONFLICT DO NOTHING"
    for own, status in ((OWN[0].format("p2"), 3), (OWN[4].format("p2"), 3), ("ALTER TABLE q ADD COLUMN p22 INT", 1)):
        log = write(
            tmp_path,
            header,
            transaction("INSERT INTO p VALUES (2, 5)", affected=1),
            transaction(own, id="t2"),
            transaction(again, id="t3", affected=0),
        )
        assert run("audit", log).status == status, own
        in_schema = write(
            tmp_path,
            header | {"schema": [*SCHEMA, own]},
            transaction("INSERT INTO p VALUES (2, 5)", affected=1),
            transaction(again, id="t3", affected=0),
        )
        assert run("audit", in_schema).status == status, own

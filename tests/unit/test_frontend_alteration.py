"""ALTER TABLE and the other statements of a dump: what the tables are in the end."""

from __future__ import annotations

import pytest

from sql_semantics.errors import SchemaError, Unsupported
from sql_semantics.frontend import read_schema
from sql_semantics.ir.expressions import Const
from sql_semantics.values.dialect import Dialect

POSTGRES = Dialect("postgres")

DUMP = (
    "SET statement_timeout = 0",
    "SET client_encoding = 'UTF8'",
    "SELECT pg_catalog.set_config('search_path', '', false);",
    "CREATE TABLE public.p (id integer NOT NULL, k integer DEFAULT 1, CONSTRAINT p_k CHECK ((k > 0)))",
    "ALTER TABLE public.p OWNER TO postgres",
    "COMMENT ON TABLE public.p IS 'parents; and more'",
    "CREATE TABLE public.c (id integer NOT NULL, p integer)",
    "ALTER TABLE ONLY public.p ADD CONSTRAINT p_pkey PRIMARY KEY (id)",
    "ALTER TABLE ONLY public.p ADD CONSTRAINT p_k_key UNIQUE (k)",
    "ALTER TABLE ONLY public.c ADD CONSTRAINT c_pkey PRIMARY KEY (id)",
    "ALTER TABLE ONLY public.c ADD CONSTRAINT c_p_fkey FOREIGN KEY (p) REFERENCES public.p(id) ON DELETE CASCADE",
)


def test_a_dump_of_postgres() -> None:
    tables = read_schema(DUMP, POSTGRES)
    assert [(key.name, key.columns, key.primary) for key in tables["p"].keys] == [
        ("p_pkey", (0,), True),
        ("p_k_key", (1,), False),
    ]
    assert [check.name for check in tables["p"].checks] == ["p_k"]
    (reference,) = tables["c"].foreign_keys
    assert (reference.columns, reference.parent, reference.parent_columns) == ((1,), "p", (0,))
    assert reference.on_delete == "cascade"


def test_columns() -> None:
    tables = read_schema(
        (
            "CREATE TABLE t (a INT, b INT DEFAULT 1)",
            "ALTER TABLE t ADD COLUMN c INT NOT NULL UNIQUE DEFAULT 5",
            "ALTER TABLE t ALTER COLUMN a SET DEFAULT 7",
            "ALTER TABLE t ALTER COLUMN b DROP DEFAULT",
            "ALTER TABLE t ALTER COLUMN a SET NOT NULL",
            "ALTER TABLE t ALTER COLUMN c DROP NOT NULL",
        ),
        POSTGRES,
    )
    a, b, c = tables["t"].columns
    assert isinstance(a.default, Const)
    assert (a.default.value, a.not_null, b.default, c.not_null) == (7, True, None, False)
    assert [key.columns for key in tables["t"].keys] == [(2,)]


def test_a_column_and_a_name_that_change() -> None:
    """What counts columns counts anew, and what refers to the table goes by its new name."""
    further = (
        "ALTER TABLE p ADD COLUMN m INT, ADD CONSTRAINT m_k UNIQUE (m)",
        "ALTER TABLE p DROP COLUMN k",
        "ALTER TABLE p RENAME TO q",
        "ALTER TABLE q RENAME m TO n",
    )
    tables = read_schema((*DUMP, *further), POSTGRES)
    assert "p" not in tables
    table = tables["q"]
    assert [column.name for column in table.columns] == ["id", "n"]
    assert [(key.name, key.columns) for key in table.keys] == [("p_pkey", (0,)), ("m_k", (1,))]
    assert not table.checks  # it had been one of k
    assert tables["c"].foreign_keys[0].parent == "q"


def test_drop_before_create() -> None:
    texts = ("DROP TABLE IF EXISTS t", "CREATE TABLE t (a INT)", "DROP TABLE t", "CREATE TABLE t (b TEXT)")
    assert [column.name for column in read_schema(texts, Dialect("mysql"))["t"].columns] == ["b"]


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("ALTER TABLE p ADD CONSTRAINT again PRIMARY KEY (k)", SchemaError),
        ("ALTER TABLE p ALTER COLUMN z SET DEFAULT 1", SchemaError),
        ("ALTER TABLE c ADD CONSTRAINT f FOREIGN KEY (p) REFERENCES nowhere (id)", SchemaError),
        ("ALTER TABLE z ADD CONSTRAINT f UNIQUE (p)", SchemaError),
        ("DROP TABLE z", SchemaError),
        ("DROP TABLE p", Unsupported),
        ("ALTER TABLE p RENAME TO c", Unsupported),
        ("ALTER TABLE p DROP COLUMN id", Unsupported),
        ("ALTER TABLE p DROP CONSTRAINT p_pkey", Unsupported),
    ],
)
def test_what_cannot_be(text: str, refusal: type[Exception]) -> None:
    with pytest.raises(refusal):
        read_schema((*DUMP, text), POSTGRES)


@pytest.mark.parametrize("circle", [False, True])
def test_a_schema_says_what_there_is_and_not_when(circle: bool) -> None:
    """A recorder may list tables by name, also those that refer to each other in a circle."""
    dialect = Dialect("mysql", collation="utf8mb4_bin", sql_mode="STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO")
    child = "CREATE TABLE a (id INT PRIMARY KEY, b INT, FOREIGN KEY (b) REFERENCES b (id))"
    parent = "CREATE TABLE b (id INT PRIMARY KEY, a INT" + (", FOREIGN KEY (a) REFERENCES a (id))" if circle else ")")
    other = "CREATE TABLE c (id INT PRIMARY KEY, a INT, FOREIGN KEY (a) REFERENCES a (id))"
    tables = read_schema([other, child, parent], dialect, lenient=True)
    assert not any(table.refused for table in tables.values())
    assert [len(tables[name].foreign_keys) for name in "abc"] == [1, int(circle), 1]

"""JSON values read by the type of their column."""

from __future__ import annotations

import copy
import math
import pickle
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from sql_semantics.errors import Unsupported
from sql_semantics.values.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INT,
    INTERVAL,
    JSON,
    NULL,
    NUMERIC,
    REAL,
    SMALLINT,
    SQLITE_NUMERIC,
    TEXT,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    UUID_TYPE,
    Interval,
    Kind,
    SqlType,
    Value,
)  # fmt: skip
from troubadour.model.values import REDACTED, param_kind, param_shape, read_value

MONEY = SqlType(Kind.NUMERIC, 12, 2)
NAME = SqlType(Kind.TEXT, length=3)
PADDED = SqlType(Kind.TEXT, length=3, padded=True)


@pytest.mark.parametrize(
    ("json", "type", "value"),
    [
        *((None, type, None) for type in (SMALLINT, INT, BIGINT, NUMERIC, DOUBLE, TEXT, BOOLEAN, NULL)),
        (310, INT, 310),
        ("310", INT, 310),
        ("-7", SMALLINT, -7),
        (2**63 - 1, BIGINT, 2**63 - 1),
        (310, NUMERIC, Decimal(310)),
        ("310", MONEY, Decimal(310)),
        ("310.00", MONEY, Decimal("310.00")),
        (Decimal("310.5"), NUMERIC, Decimal("310.5")),
        (310.1, NUMERIC, Decimal("310.1")),
        ("1e3", NUMERIC, Decimal(1000)),
        (".5", NUMERIC, Decimal("0.5")),
        (10**40, NUMERIC, Decimal(10**40)),
        ("310.005", MONEY, Decimal("310.005")),
        (1, DOUBLE, 1.0),
        (Decimal("0.1"), DOUBLE, 0.1),
        (0.1, DOUBLE, 0.1),
        ("Infinity", DOUBLE, math.inf),
        ("-Infinity", DOUBLE, -math.inf),
        ("310", TEXT, "310"),
        ("", NAME, ""),
        ("abcd", NAME, "abcd"),
        (True, BOOLEAN, True),
        (0, BOOLEAN, False),
    ],
)
def test_fits(json: Any, type: SqlType, value: Value) -> None:
    read = read_value(json, type)
    assert read == value
    assert read.__class__ is value.__class__


def test_nan() -> None:
    double = read_value("NaN", DOUBLE)
    assert isinstance(double, float)
    assert math.isnan(double)
    with pytest.raises(Unsupported):
        read_value("NaN", NUMERIC)


@pytest.mark.parametrize(
    ("json", "type"),
    [
        ("abc", INT),
        ("1.0", INT),
        (Decimal("1.0"), INT),
        (1.0, INT),
        (True, INT),
        ("", INT),
        ("١", INT),
        (2**31, INT),
        (-(2**15) - 1, SMALLINT),
        ("9223372036854775808", BIGINT),
        (True, NUMERIC),
        ("abc", NUMERIC),
        ("1_000", NUMERIC),
        (" 1", NUMERIC),
        ("sNaN", NUMERIC),
        (Decimal("1e999999999"), NUMERIC),
        ("1e999999", NUMERIC),
        (math.inf, NUMERIC),
        (True, DOUBLE),
        ("1.5", DOUBLE),
        (Decimal("1e400"), DOUBLE),
        (10**400, DOUBLE),
        (1, TEXT),
        (True, TEXT),
        ("true", BOOLEAN),
        (2, BOOLEAN),
        (Decimal(1), BOOLEAN),
        (0, NULL),
        ("x", NULL),
        (REDACTED, TEXT),
        (REDACTED, INT),
    ],
)
def test_does_not_fit(json: Any, type: SqlType) -> None:
    with pytest.raises(ValueError, match=r"does not fit a column of type|out of range") as caught:
        read_value(json, type)
    assert len(str(caught.value)) < 150


def test_infinite_numeric_is_not_modelled() -> None:
    with pytest.raises(Unsupported):
        read_value("Infinity", NUMERIC)


def test_stored_values_keep_to_their_column() -> None:
    scaled = read_value("310", MONEY, stored=True)
    assert str(scaled) == "310.00"
    assert str(read_value("9999999999.99", MONEY, stored=True)) == "9999999999.99"
    assert read_value("abc   ", NAME, stored=True) == "abc   "
    assert read_value("abc", PADDED, stored=True) == "abc"
    for json, type in (("310.005", MONEY), ("10000000000", MONEY), ("abcd", NAME)):
        with pytest.raises(ValueError, match=r"more digits|longer"):
            read_value(json, type, stored=True)


def test_parameters() -> None:
    assert param_shape(None) is None
    assert param_shape((1, 2**40, 2**70, "x", None, True, Decimal("1.5"), 1.5)) == (
        Kind.INT,
        Kind.BIGINT,
        Kind.NUMERIC,
        Kind.TEXT,
        Kind.NULL,
        Kind.BOOLEAN,
        Kind.DOUBLE,
        Kind.DOUBLE,
    )
    assert param_shape({"b": 1, "a": "x"}) == (("a", Kind.TEXT), ("b", Kind.INT))
    with pytest.raises(Unsupported, match="REDACTED"):
        param_kind(REDACTED)


def test_there_is_one_redacted() -> None:
    assert copy.deepcopy(REDACTED) is REDACTED
    assert pickle.loads(pickle.dumps(REDACTED)) is REDACTED
    assert REDACTED != "REDACTED"


@pytest.mark.parametrize(
    ("json", "type", "value"),
    [
        ("2020-01-31", DATE, date(2020, 1, 31)),
        ("10:11:12.5", TIME, time(10, 11, 12, 500000)),
        ("2020-01-31T10:11:12", TIMESTAMP, datetime(2020, 1, 31, 10, 11, 12)),
        ("2020-01-31 10:11:12.25", TIMESTAMP, datetime(2020, 1, 31, 10, 11, 12, 250000)),
        ("2020-01-31T10:00:00+02", TIMESTAMPTZ, datetime(2020, 1, 31, 8, tzinfo=UTC)),
        ("1 mon 2 days", INTERVAL, Interval(1, 2)),
        ("\\x6869", BYTES, b"hi"),
        ("A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", UUID_TYPE, UUID("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11")),
        ('{"a":  1}', JSON, '{"a":  1}'),
        (0.1, REAL, 0.10000000149011612),
        (200, SqlType(Kind.UTINYINT), 200),
        (10.0, SQLITE_NUMERIC, 10),
    ],
)
def test_values_of_other_types(json: Any, type: SqlType, value: Value) -> None:
    found = read_value(json, type)
    assert (found, found.__class__) == (value, value.__class__)


@pytest.mark.parametrize(
    ("json", "type"),
    [
        ("2020-02-30", DATE),
        (20200131, DATE),
        ("6869", BYTES),
        ("\\x686", BYTES),
        ("a0eebc99", UUID_TYPE),
        (1, JSON),
        (256, SqlType(Kind.UTINYINT)),
        (-1, SqlType(Kind.UINT)),
    ],
)
def test_values_of_other_types_that_do_not_fit(json: Any, type: SqlType) -> None:
    with pytest.raises(ValueError, match=r"fit|range"):
        read_value(json, type)


def test_dates_that_are_not_modelled() -> None:
    for json in ("infinity", "12020-01-01", "0044-03-15 BC"):
        with pytest.raises(Unsupported):
            read_value(json, DATE)

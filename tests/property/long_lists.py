"""Random INSERTs of many rows: literals of every kind, expressions, parameters, in every dialect, well typed or not.

Does not know what they mean, nor which of them are taken apart without the parser.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

SCHEMAS: dict[str, str] = {
    "postgres": "CREATE TABLE t (id INT PRIMARY KEY, small SMALLINT, big BIGINT, v VARCHAR(8), c CHAR(5),"
    " s TEXT NOT NULL DEFAULT 'd', n NUMERIC(8,2), m NUMERIC, f DOUBLE PRECISION, r REAL, b BOOLEAN, d DATE,"
    " ts TIMESTAMP, tz TIMESTAMPTZ, j JSONB, u UUID, x BYTEA, l INT DEFAULT 7 CHECK (l <> 13), k SERIAL,"
    " a INT[], e INET)",
    "mysql": "CREATE TABLE t (id INT PRIMARY KEY, small SMALLINT, big BIGINT UNSIGNED, v VARCHAR(8), c CHAR(5),"
    " s VARCHAR(40) NOT NULL DEFAULT 'd', n DECIMAL(8,2), f DOUBLE, r FLOAT, b TINYINT(1), d DATE, ts DATETIME,"
    " tz TIMESTAMP NULL, l INT DEFAULT 7 CHECK (l <> 13), k INT NOT NULL AUTO_INCREMENT UNIQUE)",
    "sqlite": "CREATE TABLE t (id INTEGER PRIMARY KEY, small SMALLINT, v VARCHAR(8), s TEXT NOT NULL DEFAULT 'd',"
    " n NUMERIC(8,2), f REAL, b BOOLEAN, d DATE, x BLOB, l INT DEFAULT 7 CHECK (l <> 13))",
    "duckdb": "CREATE TABLE t (id INTEGER PRIMARY KEY, small SMALLINT, big HUGEINT, v VARCHAR,"
    " s VARCHAR NOT NULL DEFAULT 'd', n DECIMAL(8,2), f DOUBLE, r FLOAT, b BOOLEAN, d DATE, ts TIMESTAMP, u UUID,"
    " x BLOB, l INT DEFAULT 7 CHECK (l <> 13))",
}
COLUMNS = {
    dialect: [item.split()[0] for item in schema[schema.index("(") + 1 :].replace("(8,2)", "").split(",")]
    for dialect, schema in SCHEMAS.items()
}
FITTING = {
    "id": ("counter",),
    "k": ("counter", "counter", "short"),
    **dict.fromkeys(("small", "big", "l"), ("short", "short", "digits", "negative", "in quotes")),
    **dict.fromkeys(("v", "c", "s"), ("word", "word", "text")),
    **dict.fromkeys(("n", "m", "f", "r"), ("decimal", "decimal", "short", "negative decimal", "exponent")),
    "b": ("truth",),
    "d": ("date",),
    "ts": ("moment",),
    "tz": ("moment",),
    "j": ("json",),
    "u": ("uuid",),
}
"""What a column is given most of the time."""

_WORDS = ("", "a", "abc", "x y", "tail  ", "it''s", "''", "naïve", "ABC", "eight ch")
_TEXTS = (
    *_WORDS,
    *(
        "back\\slash",
        "\\",
        "\\'",
        "a\nb",
        "100%",
        "%s",
        "$1",
        "?",
        ":name",
        "-- no",
        "/* no */",
        "12",
        "1.5",
        "t",
        "no",
        "NULL",
    ),
)
_TRUTHS = ("TRUE", "FALSE", "true", "NULL")


def _literal(kind: str, rng: random.Random, row: int, dialect: str) -> str:
    match kind:
        case "counter":
            return str(row + 1)
        case "short":
            return str(
                rng.choice(
                    (0, 1, 5, rng.randrange(100), rng.randrange(32000), rng.choice((13, 40000)) if row == 9 else 14)
                )
            )
        case "digits":
            return rng.choice(
                ("007", "32768", "2147483648", "999999999", "9223372036854775808", "1" * 40, "1" * 30, "0")
            )
        case "negative":
            return rng.choice(("-", "- ", "-", "+", "- -")) + rng.choice(
                ("1", "0", "5", "32768", "32769", "2147483648")
            )
        case "in quotes":
            odd = rng.choice((70000, "1.5", "x", "1e2", "")) if row == 9 else 3
            return f"'{rng.choice((1, 5, ' 7 ', -3, '+4', odd))}'"
        case "word":
            return f"'{'longer than eight' if row == 9 and rng.random() < 0.1 else rng.choice(_WORDS)}'"
        case "text":
            return f"'{rng.choice(_TEXTS)}'"
        case "decimal":
            return rng.choice(
                ("1.25", "0.5", "1.00", "1.0", "345.678", "9999999.5" if row == 9 else "1.5", f"{row}.25")
            )
        case "negative decimal":
            return rng.choice(("-1.25", "-0.0", "- 2.5", "-99999999.0" if row == 9 else "-3.0"))
        case "exponent":
            return rng.choice(
                (
                    "1e2",
                    "1.5e-3",
                    "1E+3",
                    "2e-1",
                    rng.choice(("1e400", ".5", "5.", "1_000", "0x1F")) if row == 9 else "3e1",
                )
            )
        case "truth":
            return rng.choice(_TRUTHS) if row % 8 else rng.choice(("1", "0", "'t'", "'yes'", "'2'"))
        case "date":
            return (
                f"'{rng.choice(('2024-01-01', f'2024-02-{row % 28 + 1:02}', '2024-02-30', '1999-12-31', 'today', ''))}'"
            )
        case "moment":
            return (
                f"'{rng.choice(('2024-01-01 10:00:00', f'2024-01-01 10:00:{row % 60:02}.5', '2024-01-01', '25:00'))}'"
            )
        case "json":
            found = ("{}", "[1, 2]", f'{{"a": {row}}}', "null", "{" if row == 9 else "2", "1.0", "1.00", "\"it''s\"")
            return f"'{rng.choice(found)}'"
        case "uuid":
            return f"'{rng.choice((f'00000000-0000-0000-0000-{row:012}', 'no uuid' if row == 9 else '0' * 32))}'"
        case "null":
            return rng.choice(("NULL", "null"))
        case "default":
            return rng.choice(("DEFAULT", "default"))
        case "cast":
            inner = _literal(rng.choice(("in quotes", "short", "text", "date", "decimal")), rng, row, dialect)
            target = rng.choice(("INTEGER", "NUMERIC(6,1)", "VARCHAR(3)", "DATE", "CHAR(4)", "SIGNED", "TEXT", "REAL"))
            form = "{}::{}" if dialect in ("postgres", "duckdb") and rng.random() < 0.5 else "CAST({} AS {})"
            return form.format(inner, target)
        case "typed":
            word = rng.choice(("DATE", "TIMESTAMP", "INTERVAL", "X", "E", "N", "_utf8"))
            before = rng.choice(("", "2024-01-", "a\\'b"))
            return f"{word}{rng.choice((' ', ''))}'{before}{row % 28 + 1:02}'"
        case "call":
            text = _literal(rng.choice(("word", "text", "short")), rng, row, dialect)
            return rng.choice(
                ("upper({})", "lower({})", "length({})", "coalesce(NULL, {})", "abs({})", "trim({})", "concat('a', {})")
            ).format(text)
        case "sum":
            return rng.choice(
                ("1 + 1", f"{row} + 1", f"1+{row}", "2*3", "10 / 2", f"({row})", f"(({row}))", "1 - -1", "1--1")
            )
        case "chosen":
            return rng.choice(("now()", "CURRENT_TIMESTAMP", "current_date", "random()", "NOW()", "nextval('s')"))
    return rng.choice(
        ("(SELECT 1)", "id", "x.y", "/* c */ 1", "1 -- c\n", '"q"', "ROW(1)", "(1, 2)", "1 < 2", "1 IN (1, 2)", "")
    )


_ANYWHERE = ("null", "null", "default", "cast", "typed", "call", "sum", "chosen", "word", "short", "decimal", "odd")
_VALUES: dict[str, Callable[[random.Random, int], Any]] = {
    "counter": lambda rng, row: row + 1,
    "short": lambda rng, row: rng.choice((0, 1, 12, -7, 32767, 40000 if row == 9 else 13 if row == 8 else 5)),
    "digits": lambda rng, row: rng.choice((2**31, -(2**31), 2**62, 2**80 if row == 9 else 5)),
    "word": lambda rng, row: rng.choice(("a", "", "tail ", "it's", "longer than eight")),
    "text": lambda rng, row: rng.choice(("12", "1.5", "\\", "100%", "2024-01-01", "x")),
    "decimal": lambda rng, row: rng.choice(("1.25", "345.678", "9999999.5" if row == 9 else "2", 1.5, 2)),
    "truth": lambda rng, row: rng.choice((True, False, 1, None)),
    "date": lambda rng, row: rng.choice(("2024-01-01", f"2024-02-{row % 28 + 1:02}", None)),
    "moment": lambda rng, row: rng.choice(("2024-01-01 10:00:00", "2024-01-01T10:00:00+00:00", None)),
    "json": lambda rng, row: rng.choice(('{"a": 1}', "[]", "{" if row == 9 else "1.0")),
    "uuid": lambda rng, row: f"00000000-0000-0000-0000-{row:012}",
    "null": lambda rng, row: None,
    "list": lambda rng, row: [1, 2],
}
_AROUND = ("{} + 1", "upper({})", "coalesce({}, 1)", "CAST({} AS INTEGER)", "abs({})", "({})")


@dataclass(frozen=True, slots=True)
class Inserted:
    """A statement with its parameters."""

    sql: str
    params: Sequence[Any] | dict[str, Any] | None


class _Placeholders:
    def __init__(self, style: str) -> None:
        self.style = style
        self.values: list[Any] = []

    def __call__(self, value: Any, again: bool = False) -> str:
        if not again or self.style in ("?", "%s"):
            self.values.append(value)
        number = len(self.values)
        return {"$": f"${number}", ":": f":p{number}", "%(": f"%(p{number})s"}.get(self.style, self.style)

    def params(self) -> Sequence[Any] | dict[str, Any] | None:
        if not self.style:
            return None
        if self.style in (":", "%("):
            return {f"p{number + 1}": value for number, value in enumerate(self.values)}
        return tuple(self.values)


def random_insert(seed: int | str, dialect: str) -> Inserted:
    """An INSERT of a few dozen rows."""
    rng = random.Random(f"{dialect} {seed}")
    names = COLUMNS[dialect]
    chosen = ["id", *rng.sample(names[1:], rng.randint(0, min(4, len(names) - 1)))]
    if rng.random() < 0.1:
        chosen = names[: len(chosen)]
    count = rng.choice((15, 16, 17, 24, 40))
    place = _Placeholders(rng.choice(("", "", "$", "?", "%s", ":", "%(")))
    columns = [_column(name, rng, bool(place.style)) for name in chosen]
    blank = rng.choice(("", " ", "\n\t"))
    rows = []
    for row in range(count):
        cells = [_cell(forms, rng, row, dialect, place) for forms in columns]
        if rng.random() < 0.002:
            cells.append("1")
        rows.append(f"({blank}{f',{blank}'.join(cells)}{blank})")
    listed = "" if chosen == names[: len(chosen)] and rng.random() < 0.5 else f" ({', '.join(chosen)})"
    values = f"{rng.choice(('VALUES', 'values'))} {f',{blank}'.join(rows)}"
    sql = f"{_head(rng, dialect)} t{listed} {values}{_tail(rng, dialect, place)}"
    if place.style in ("%s", "%(") and rng.random() < 0.5:
        sql = sql.replace("100%", "100%%")
    return Inserted(sql, place.params())


def _column(name: str, rng: random.Random, given: bool) -> list[tuple[str, str]]:
    """What the cells of a column are: kinds of literals (""), or of parameters with what stands around them."""
    fitting = FITTING.get(name, ("null", "text"))
    kinds = [rng.choice(fitting if rng.random() < 0.93 else _ANYWHERE)]
    if rng.random() < 0.3:
        kinds.append(rng.choice(("null", "default", *fitting) if rng.random() < 0.7 else _ANYWHERE))
    if given and rng.random() < 0.7:
        around = "{}" if rng.random() < 0.8 else rng.choice(_AROUND)
        return [(kind if kind in _VALUES else rng.choice(("null", "short")), around) for kind in kinds]
    return [(kind, "") for kind in kinds]


def _cell(forms: Sequence[tuple[str, str]], rng: random.Random, row: int, dialect: str, place: _Placeholders) -> str:
    kind, around = forms[0] if len(forms) == 1 or rng.random() < 0.8 else rng.choice(forms)
    if not around:
        return _literal(kind, rng, row, dialect)
    value = _VALUES[kind](rng, row) if rng.random() < 0.995 else rng.choice((None, "x", 2**40, 1.5, True))
    return around.format(place(value, again=bool(place.values) and rng.random() < 0.001))


def _head(rng: random.Random, dialect: str) -> str:
    heads = ["INSERT INTO", "INSERT INTO", "insert into", "\nINSERT  INTO"]
    if dialect == "mysql":
        heads += ["REPLACE INTO", "INSERT IGNORE INTO", "INSERT"]
    if dialect == "sqlite":
        heads += ["REPLACE INTO", "INSERT OR IGNORE INTO", "INSERT OR REPLACE INTO"]
    return rng.choice(heads)


def _tail(rng: random.Random, dialect: str, place: _Placeholders) -> str:
    tails = ["", "", "", "", ";", " RETURNING id", " -- done"]
    if rng.random() < 0.02:
        return rng.choice((" garbage", ", ()", ",", " UNION SELECT 1"))
    if dialect == "mysql":
        tails += [" ON DUPLICATE KEY UPDATE l = VALUES(l)", " AS new ON DUPLICATE KEY UPDATE l = new.l"]
    else:
        tails += [" ON CONFLICT DO NOTHING", " ON CONFLICT (id) DO UPDATE SET l = excluded.l RETURNING *"]
    if place.style and rng.random() < 0.3:
        what = "DUPLICATE KEY UPDATE l" if dialect == "mysql" else "CONFLICT (id) DO UPDATE SET l"
        return f" ON {what} = {place(5)}"
    return rng.choice(tails)

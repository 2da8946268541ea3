"""Operators and functions as data: a template, the family it gives, those of its operands, the products that have it.

Products by letter: p PostgreSQL, m MySQL and MariaDB, s SQLite, d DuckDB. `small` is a small integer literal. A
template means one thing in each product that it is listed for, not the same thing in all. Knows no engine.
"""

from __future__ import annotations

from sql_semantics.records import dataclass

LETTER = {"postgres": "p", "mysql": "m", "sqlite": "s", "duckdb": "d"}


@dataclass(frozen=True, slots=True)
class Operation:
    """`template` with one ``{}`` per operand."""

    template: str
    result: str
    operands: tuple[str, ...]
    products: str
    weight: int


def _operation(line: str) -> Operation:
    template, result, operands, products, weight = (part.strip() for part in line.split("|"))
    return Operation(template.replace("¦", "|"), result, tuple(operands.split()), products, int(weight))


_TABLE = """
({} + {})                         | int  | int int     | pmsd | 6
({} - {})                         | int  | int int     | pmsd | 4
({} * {})                         | int  | int int     | pmsd | 3
({} / {})                         | int  | int int     | ps   | 2
({} DIV {})                       | int  | int int     | m    | 2
({} // {})                        | int  | int int     | d    | 2
({} % {})                         | int  | int int     | pmsd | 2
MOD({}, {})                       | int  | int int     | pmd  | 1
ABS({})                           | int  | int         | pmsd | 2
(- {})                            | int  | int         | pmsd | 1
LENGTH({})                        | int  | text        | pmsd | 2
CHAR_LENGTH({})                   | int  | text        | pm   | 1
GREATEST({}, {})                  | int  | int int     | pmd  | 1
LEAST({}, {})                     | int  | int int     | pmd  | 1
MAX({}, {})                       | int  | int int     | s    | 1
POSITION({} IN {})                | int  | text text   | pmd  | 1
INSTR({}, {})                     | int  | text text   | msd  | 1
CAST({} AS int)                   | int  | num         | pd   | 1
CAST({} AS int)                   | int  | float       | p    | 1
CAST({} AS int)                   | int  | bool        | pd   | 1
CAST({} AS bigint)                | int  | int         | pd   | 1
CAST({} AS SIGNED)                | int  | num         | m    | 1
CAST({} AS SIGNED)                | int  | int         | m    | 1
CAST({} AS INTEGER)               | int  | text        | s    | 1
CAST({} AS INTEGER)               | int  | float       | s    | 1
IFNULL({}, {})                    | int  | int int     | msd  | 1
IF({}, {}, {})                    | int  | bool int int | m   | 2
IIF({}, {}, {})                   | int  | bool int int | s   | 1
({} - {})                         | int  | date date   | pd   | 2
DATEDIFF({}, {})                  | int  | date date   | m    | 2
YEAR({})                          | int  | date        | md   | 1
EXTRACT(MONTH FROM {})            | int  | date        | md   | 1
EXTRACT(DAY FROM {})              | int  | ts          | md   | 1
EXTRACT(YEAR FROM {})             | num  | date        | p    | 1
EXTRACT(HOUR FROM {})             | num  | ts          | p    | 1
({} + {})                         | num  | num num     | pmd  | 4
({} - {})                         | num  | num num     | pmd  | 3
({} * {})                         | num  | num num     | pmd  | 2
({} / {})                         | num  | num num     | pm   | 2
({} % {})                         | num  | num num     | pm   | 1
({} + {})                         | num  | num int     | pmd  | 2
({} * {})                         | num  | int num     | pmd  | 2
({} / {})                         | num  | num int     | pm   | 2
({} / {})                         | num  | int int     | m    | 2
ROUND({}, {})                     | num  | num small   | pmd  | 2
ROUND({})                         | num  | num         | pm   | 1
ABS({})                           | num  | num         | pmd  | 1
FLOOR({})                         | num  | num         | pm   | 1
CEIL({})                          | num  | num         | pm   | 1
TRUNC({}, {})                     | num  | num small   | p    | 1
TRUNCATE({}, {})                  | num  | num small   | m    | 1
CAST({} AS numeric(8,2))          | num  | int         | pd   | 1
CAST({} AS DECIMAL(8,2))          | num  | int         | m    | 1
CAST({} AS numeric(6,1))          | num  | num         | pd   | 1
CAST({} AS DECIMAL(6,1))          | num  | num         | m    | 1
GREATEST({}, {})                  | num  | num num     | pmd  | 1
LOWER({})                         | text | text        | pmsd | 2
UPPER({})                         | text | text        | pmsd | 2
({} ¦¦ {})                        | text | text text   | psd  | 3
CONCAT({}, {})                    | text | text text   | pmd  | 2
SUBSTRING({}, {}, {})             | text | text small small | pmd | 2
SUBSTR({}, {})                    | text | text small  | psd  | 1
SUBSTR({}, {}, {})                | text | text small small | s | 1
LEFT({}, {})                      | text | text small  | pmd  | 1
RIGHT({}, {})                     | text | text small  | pmd  | 1
TRIM({})                          | text | text        | pmsd | 1
LTRIM({})                         | text | text        | pmsd | 1
REPLACE({}, {}, {})               | text | text text text | pmsd | 1
REVERSE({})                       | text | text        | pmd  | 1
REPEAT({}, {})                    | text | text small  | pmd  | 1
LPAD({}, {}, 'xy')                | text | text small  | pmd  | 1
CAST({} AS text)                  | text | int         | psd  | 1
CAST({} AS CHAR)                  | text | int         | m    | 1
CAST({} AS varchar(3))            | text | text        | p    | 1
GREATEST({}, {})                  | text | text text   | pd   | 1
({} + {})                         | float | float float | pmsd | 2
({} - {})                         | float | float int  | pmsd | 2
({} * {})                         | float | float float | pmsd | 1
({} * {})                         | float | float num  | pm   | 1
({} / {})                         | float | float float | pms | 2
({} / {})                         | float | float int  | pmsd | 1
ABS({})                           | float | float      | pmsd | 1
CAST({} AS double precision)      | float | int        | pd   | 1
CAST({} AS double precision)      | float | num        | p    | 1
CAST({} AS REAL)                  | float | int        | s    | 1
SQRT(ABS({}))                     | float | float      | pmd  | 1
({} + {})                         | date | date small  | pd   | 2
({} - {})                         | date | date small  | pd   | 1
({} + INTERVAL {} DAY)            | date | date small  | m    | 2
DATE_ADD({}, INTERVAL {} MONTH)   | date | date small  | m    | 1
CAST({} AS date)                  | date | ts          | pmd  | 1
CAST({} AS timestamp)             | ts   | date        | pd   | 1
({} + INTERVAL '1 day')           | ts   | ts          | pd   | 2
({} - INTERVAL '2 months')        | ts   | ts          | pd   | 1
({} + INTERVAL '90 minutes')      | ts   | date        | pd   | 1
({} + INTERVAL {} HOUR)           | ts   | ts small    | m    | 2
DATE_TRUNC('month', {})           | ts   | ts          | p    | 1
LENGTH({})                        | int  | bytes       | pms  | 1
OCTET_LENGTH({})                  | int  | bytes       | pmd  | 1
CAST({} AS bytea)                 | bytes | text       | p    | 1
CAST({} AS blob)                  | bytes | text       | sd   | 1
CAST({} AS text)                  | text | uuid        | pd   | 2
CAST({} AS text)                  | text | json        | p    | 2
CAST({} AS json)                  | json | text        | p    | 1
({} LIKE 'a%')                    | bool | text        | pmsd | 1
({} NOT LIKE '%b')                | bool | text        | pmsd | 1
({} LIKE '_b%')                   | bool | text        | pmsd | 1
({} ILIKE 'A_c')                  | bool | text        | pd   | 1
(NOT {})                          | bool | bool        | pmsd | 3
({} AND {})                       | bool | bool bool   | pmsd | 6
({} OR {})                        | bool | bool bool   | pmsd | 6
({} IS TRUE)                      | bool | bool        | pmd  | 1
({} IS NOT FALSE)                 | bool | bool        | pmd  | 1
({} IS UNKNOWN)                   | bool | bool        | pm   | 1
({} XOR {})                       | bool | bool bool   | m    | 1
(({}, {}) = ({}, {}))             | bool | int text int text | pmsd | 1
(({}, {}) < ({}, {}))             | bool | int int int int | pmsd | 1
"""

OPERATIONS = tuple(_operation(line) for line in _TABLE.strip().splitlines())

COERCED = tuple(
    _operation(line)
    for line in """
({} + {})       | int  | text int   | s | 1
({} + {})       | int  | int bool   | m | 2
({} + {})       | float | text int  | m | 1
({} = {})       | bool | text int   | m | 1
({} = {})       | bool | int text   | s | 1
({} < {})       | bool | num float  | pm | 1
({} = {})       | bool | int float  | pmsd | 1
({} = {})       | bool | int num    | pmd | 2
({} < {})       | bool | num int    | pmd | 2
({} = {})       | bool | bool int   | m | 1
({} AND {})     | bool | int bool   | ms | 2
({} OR {})      | bool | num int    | m | 1
(NOT {})        | bool | int        | ms | 2
(NOT {})        | bool | text       | m | 1
CONCAT({}, {})  | text | text int   | pmd | 1
({} ¦¦ {})      | text | text int   | psd | 1
({} = {})       | bool | date ts    | pmd | 1
""".strip().splitlines()
)
"""Operands of different families, converted as the product does it."""

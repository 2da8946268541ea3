"""Which product's rules apply. Does not hold the rules themselves; they stand where they act."""

from __future__ import annotations

import re
from typing import Literal

from sql_semantics.products import PRODUCTS, Rules
from sql_semantics.records import dataclass, replace
from sql_semantics.values.types import SqlType

Writing = Literal["value", "condition"]
NullOrder = Literal["parsed", "first", "last", "small", "large"]


@dataclass(frozen=True, slots=True)
class NamedType:
    """A type of the schema's own. A domain has what it refuses: NULL, and rows for which one of its `checks`, a name
    with the text of a condition over VALUE, is FALSE; `default` is the text of its default, empty for none."""

    name: str
    type: SqlType
    domain: bool = False
    not_null: bool = False
    checks: tuple[tuple[str, str], ...] = ()
    default: str = ""

    @property
    def refuses(self) -> bool:
        """Whether it takes fewer values than its type."""
        return self.not_null or bool(self.checks)


@dataclass(frozen=True, slots=True)
class Dialect:
    """`name` is ``postgres``, ``mysql``, ``sqlite`` or ``duckdb``; the rest are the log's `settings`.

    `collation` None means unknown: comparisons that hang on it are not modelled. `literals`: the collation of texts
    that are of no column, where it is another one. `found_rows`: the client asked MySQL
    for matched instead of changed rows. `foreign_keys`: whether SQLite enforces them (its default is not to; None:
    unknown), `sets_foreign_keys`: whether its connections set that themselves, so that each statement is told what it
    ran under; `like_keeps_case`: whether its LIKE does. `writing` is set within MySQL's INSERT, UPDATE and DELETE,
    where strict mode (the default) makes errors of what are warnings elsewhere (manual 5.1.11): ``value`` for what is
    stored, ``condition`` for everything else, where the plan decides whether the error comes (MariaDB gives none
    while it first collects the rows of an UPDATE of a key). `timezone` is the session's time zone where it is not
    UTC: conversions that hang on it are not modelled. `sql_mode` None means the product's default. `folds_tables`:
    case does not tell MySQL's tables apart (its ``lower_case_table_names`` is not 0). `product` tells the dialect
    ``mysql``'s ``mysql`` and ``mariadb`` apart; None: what both do, else MariaDB's way. `version` is the product's,
    where the log tells it. `search_path`: the schemas that unqualified names are looked up in, () for the product's
    default. `named`: the types that the schema defines, by folded name. `ignores_checks`: no CHECK is enforced.
    `descends`: ORDER BY that says no direction descends; `null_order`: where NULLs come in one that does not say that,
    as the parser has it for the product, at one end, or where less or more than all values would. `quotient_digits`:
    how many digits more than its dividend MySQL's quotient of DECIMALs has (div_precision_increment). `list_bytes`:
    after how many bytes MySQL cuts GROUP_CONCAT, where the log tells (group_concat_max_len). `answers`: what a query
    finds goes to the client, and not into a routine, where strict mode makes an error of a list that is cut.
    """

    name: str
    collation: str | None = None
    literals: str | None = None
    found_rows: bool = False
    foreign_keys: bool | None = None
    sets_foreign_keys: bool = False
    like_keeps_case: bool = False
    writing: Writing | None = None
    timezone: str | None = None
    sql_mode: str | None = None
    folds_tables: bool = False
    search_path: tuple[str, ...] = ()
    product: Literal["mysql", "mariadb"] | None = None
    version: tuple[int, ...] | None = None
    named: tuple[NamedType, ...] = ()
    ignores_checks: bool = False
    descends: bool = False
    null_order: NullOrder = "parsed"
    quotient_digits: int = 4
    list_bytes: int | None = None
    answers: bool = True

    @property
    def home_schema(self) -> str | None:
        """The schema, MySQL's database, whose tables are called by their names alone; None where it is not known."""
        return self.search_path[0] if self.search_path else self.rules.text.home_schema

    @property
    def sql_modes(self) -> frozenset[str] | None:
        """What `sql_mode` switches on, in capitals; None where it is not known, or the product has none."""
        if not self.rules.text.has_sql_modes or self.sql_mode is None:
            return None
        return frozenset(mode.strip().upper() for mode in self.sql_mode.split(",") if mode.strip())

    @property
    def lax(self) -> bool:
        """Whether MySQL's `sql_mode` has it store something else in place of what it would refuse (7.1.11)."""
        modes = self.sql_modes
        if modes is None:
            return False
        strict = not modes.isdisjoint(("STRICT_TRANS_TABLES", "STRICT_ALL_TABLES"))
        return not strict or "ERROR_FOR_DIVISION_BY_ZERO" not in modes

    @property
    def rules(self) -> Rules:
        """What the product answers where products differ."""
        return PRODUCTS[self.name]

    @property
    def reads_untyped_texts(self) -> bool:
        """Whether drivers send texts without a type, which the server reads as the type that it finds for them."""
        return self.rules.values.reads_untyped_texts

    @property
    def reads_own_target(self) -> bool:
        """Whether a subquery may read the table that an UPDATE or DELETE writes to (not in MySQL: error 1093)."""
        return self.product == "mariadb" and self.version is not None and self.version >= (10, 3)

    @property
    def finds_rows_first(self) -> bool:
        """Whether an UPDATE or DELETE with a subquery in its WHERE finds all rows before it writes one (SQLite: tried
        from 3.43.1 on; not so in 3.40)."""
        first = self.rules.running.finds_rows_first_from
        return first is not None and self.version is not None and self.version >= first

    @property
    def null_quotients(self) -> bool:
        """Whether ``//`` and ``%`` of zero are NULL (DuckDB before 2)."""
        end = self.rules.values.null_quotients_before
        return end is not None and self.version is not None and self.version < end

    @property
    def types_by_value(self) -> bool:
        """Whether a parameter is of the type of its value, whatever it meets."""
        return self.rules.values.types_by_value

    @property
    def averages_at_once(self) -> bool:
        """Whether AVG of DECIMALs divides once, in long double (DuckDB before 2)."""
        first = self.rules.running.averages_in_steps_from
        return first is not None and self.version is not None and self.version < first

    @property
    def plans_averages(self) -> bool:
        """Whether the optimizer decides how AVG of DECIMALs divides (DuckDB 2; see run/queries/averages)."""
        first = self.rules.running.averages_in_steps_from
        return first is not None and self.version is not None and self.version >= first

    @property
    def check_error(self) -> tuple[str, int | None]:
        """SQLSTATE and number of a CHECK that fails (MySQL 8.0: ER_CHECK_CONSTRAINT_VIOLATED, MariaDB:
        ER_CONSTRAINT_FAILED)."""
        running = self.rules.running
        return next((found for name, found in running.check_errors if name == self.product), running.check_error)

    def named_type(self, name: str) -> NamedType | None:
        """The type of the schema's that has this name."""
        return next((found for found in self.named if found.name == name), None)

    def in_write(self, writing: Writing) -> Dialect:
        """The rules for expressions of a statement that changes data."""
        return replace(self, writing=writing) if self.rules.values.strict_writes else self

    def in_routine(self) -> Dialect:
        """The rules for the statements of a routine, which may be called within such a statement."""
        return replace(self, writing=None, answers=False) if self.writing is not None or self.answers else self


def read_product(dbms: str | None) -> Literal["mysql", "mariadb"] | None:
    """Which of the two products that speak the dialect ``mysql``; None where the text does not tell."""
    name = (dbms or "").strip().lower()
    return "mariadb" if "mariadb" in name else "mysql" if name.startswith("mysql") else None


def read_version(dbms: str | None) -> tuple[int, ...] | None:
    """The version in a text like ``DuckDB 2.0.0``; None where there is none."""
    found = re.search(r"\b(\d+(?:\.\d+)*)", dbms or "")
    return None if found is None else tuple(map(int, found[1].split(".")))

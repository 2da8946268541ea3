"""What a statement that is not modelled may have changed (it is taken to have written anything that it can
reach). Does not know how that is told from a text.
"""

from __future__ import annotations

from collections.abc import Mapping

from sql_semantics.records import dataclass, replace


@dataclass(frozen=True, slots=True)
class Reach:
    """`rows`: tables in which rows may have come, gone or changed; `columns`: (table, column) of which values alone may
    have changed; `everything`: any table, and any sequence.

    `defines`: names may mean something else from there on; `session`: so may the statements that follow on the same
    connection; `ends`: the transaction may have ended there, and another one begun. `harmless`: what it evaluates
    changes nothing by itself, so that values that it stores may be left out. `named`: the tables that the text names.
    """

    rows: frozenset[str] = frozenset()
    columns: frozenset[tuple[str, str]] = frozenset()
    everything: bool = False
    defines: bool = False
    session: bool = False
    ends: bool = False
    harmless: bool = False
    named: frozenset[str] = frozenset()

    def __or__(self, other: Reach) -> Reach:
        """What either may have changed."""
        return Reach(
            self.rows | other.rows,
            self.columns | other.columns,
            self.everything or other.everything,
            self.defines or other.defines,
            self.session or other.session,
            self.ends or other.ends,
            self.harmless and other.harmless,
            self.named | other.named,
        )

    def renamed(self, names: Mapping[str, str]) -> Reach:
        """The same, where tables are called otherwise; those that are not named keep their names."""
        return replace(
            self,
            rows=frozenset(names.get(name, name) for name in self.rows),
            columns=frozenset((names.get(name, name), column) for name, column in self.columns),
            named=frozenset(names.get(name, name) for name in self.named),
        )

    @property
    def writes(self) -> bool:
        """Whether it may have changed any row."""
        return self.everything or bool(self.rows) or bool(self.columns)

    @property
    def tables(self) -> frozenset[str]:
        """The tables that it may have changed, unless it is everything."""
        return self.rows | {table for table, _ in self.columns}


NOTHING = Reach(harmless=True)
ANYTHING = Reach(everything=True, defines=True, session=True, ends=True)


@dataclass(frozen=True, slots=True)
class Hidden:
    """What a name of the schema may lead to, by the texts of its definitions: what may be changed where a statement
    that is not modelled mentions it, by reading too (`used`), and where one writes to it (`written`)."""

    used: Reach = NOTHING
    written: Reach = NOTHING

    def __or__(self, other: Hidden) -> Hidden:
        """What either may lead to."""
        return Hidden(self.used | other.used, self.written | other.written)


UNHIDDEN = Hidden()
"""What a name leads to that no definition has."""

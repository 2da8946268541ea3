"""SQL text to the intermediate representation: the only place that knows a parser (paper §3.1, §5.4).

`bind` and its kin resolve names, decide types, insert conversions, and refuse by name whatever is outside the modelled
fragment (docs/sql-fragment.md). Nothing here knows rows, states or logs.
"""

from sql_semantics.frontend.binding import Bound, bind
from sql_semantics.frontend.definitions.changes import (
    Change,
    dropped_indexes,
    index_of,
    named_tables,
    read_changes,
    renamed_index,
    standing_in_states,
)
from sql_semantics.frontend.definitions.forgetting import Forgotten
from sql_semantics.frontend.definitions.named import with_types
from sql_semantics.frontend.definitions.schema import read_schema
from sql_semantics.frontend.definitions.transient import completes_table, defines_table, read_definitions
from sql_semantics.frontend.hidden import hidden_reaches, with_hidden
from sql_semantics.frontend.names.refusals import (
    changes_index,
    changes_view,
    drops_type,
    is_definition,
    names_anew,
    refuse_altered,
    refuse_dangling,
    refuse_parted,
    refuse_writes,
    renames_table,
)
from sql_semantics.frontend.names.scope import ParamShape
from sql_semantics.frontend.reach import names_in, reach_of
from sql_semantics.frontend.sessions import AT_ONCE
from sql_semantics.frontend.text.beginnings import beginning
from sql_semantics.frontend.triggers import read_routines

__all__ = [
    "AT_ONCE",
    "Bound",
    "Change",
    "Forgotten",
    "ParamShape",
    "beginning",
    "bind",
    "changes_index",
    "changes_view",
    "completes_table",
    "defines_table",
    "dropped_indexes",
    "drops_type",
    "hidden_reaches",
    "index_of",
    "is_definition",
    "named_tables",
    "names_anew",
    "names_in",
    "reach_of",
    "read_changes",
    "read_definitions",
    "read_routines",
    "read_schema",
    "refuse_altered",
    "refuse_dangling",
    "refuse_parted",
    "refuse_writes",
    "renamed_index",
    "renames_table",
    "standing_in_states",
    "with_hidden",
    "with_types",
]

"""The functions of PostgreSQL. Does not know those of others."""

from __future__ import annotations

from sql_semantics.values.functions import arrays, bits, composites, listed, numeric, settings
from sql_semantics.values.functions.jsons import making as json_making
from sql_semantics.values.functions.jsons import paths as json_paths
from sql_semantics.values.functions.jsons import postgres as jsons
from sql_semantics.values.functions.moments import temporal, written
from sql_semantics.values.functions.rule import Table, merged
from sql_semantics.values.functions.texts import encoded, figures, figures_read, formatted, regular, text

FUNCTIONS: Table = merged(
    numeric.POSTGRES,
    text.POSTGRES,
    temporal.POSTGRES,
    bits.POSTGRES,
    regular.POSTGRES,
    written.POSTGRES,
    figures.POSTGRES,
    figures_read.POSTGRES,
    encoded.POSTGRES,
    formatted.POSTGRES,
    settings.POSTGRES,
    arrays.POSTGRES,
    composites.POSTGRES,
    jsons.POSTGRES,
    json_making.POSTGRES,
    listed.POSTGRES,
    json_paths.POSTGRES,
)

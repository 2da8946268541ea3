"""PL/pgSQL, from its grammar to programs of the representation. Knows no other procedure language."""

"""CREATE, ALTER and DROP read into catalogues: tables, views, indexes, sequences. Knows no rows."""

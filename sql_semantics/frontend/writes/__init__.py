"""INSERT, UPDATE, DELETE, MERGE and upserts bound to the columns that they write. Knows no rows."""

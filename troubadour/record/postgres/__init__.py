"""Recording PostgreSQL through psycopg 3. Does not know how a log is judged."""

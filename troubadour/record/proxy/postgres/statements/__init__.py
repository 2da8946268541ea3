"""What the statements of a PostgreSQL session say, and what is made of those that the other recorders refuse. Knows no
bytes of the protocol."""

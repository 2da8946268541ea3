"""What the carrier needs of PostgreSQL while bytes pass. Knows no statement but COMMIT."""

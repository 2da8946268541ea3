"""Seeded random schemas, rows, statements and transactions. Knows no engine and no expected answer."""

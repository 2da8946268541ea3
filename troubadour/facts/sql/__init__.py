"""What the answers of SQL statements tell of what was read and written. Knows no order."""

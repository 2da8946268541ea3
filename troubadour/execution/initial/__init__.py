"""The rows before the first transaction, given or unknown. Knows no isolation level."""

"""A log that is read once, transaction by transaction, and what is kept of it on disk."""

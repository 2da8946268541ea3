"""One module per clause of a query, each compiled into a closure that gives rows. Writes nothing."""

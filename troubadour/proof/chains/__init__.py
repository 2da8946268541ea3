"""A contradiction kept as a chain of facts, and its check. Does not know how the chain was found."""

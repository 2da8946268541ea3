"""One module per way of changing an order. Each undoes what did not help."""

"""Changes of the order that give a transaction a place. Does not know what a failure proves."""

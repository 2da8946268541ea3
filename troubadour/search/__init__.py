"""The search for a witness (paper §4.1, §7). Does not know what a failure proves."""

"""One order of transactions and the reads in it, executed concretely. Does not choose the order."""

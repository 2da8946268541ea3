"""What the answers about rows force of the order of transactions, without a search. Does not know how it is proved."""

"""What a client observed against what a run gave. Knows no order of transactions."""
